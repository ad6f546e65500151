"""`summary.csv` of a sweep, read back and checked: somebody may have edited the file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.reading import AGAIN, read_table

NAMES = ("cell_id", "study", "instance", "learner")
GRID = ("L", "K", "w_star", "w_prime", "delta", "epsilon")
STATISTICS = ("n", "mean_steps", "sd_steps", "se_steps", "ci_low", "ci_high", "n_capped")
FURTHER = ("mean_observations", "error_rate")
"""Statistics that are not always there."""
COUNTS = ("L", "K", "n", "n_capped")
MOST = 2**53
"""Beyond this, numbers with a decimal point are not exact any more."""


def read_summary(path: Path) -> pd.DataFrame:
    """One row a cell; names are text, counts are integers.

    Raises:
        ConfigError: if the file is missing, has no row, or a value that no sweep writes.
    """
    numbers = (*GRID, *STATISTICS, *FURTHER)
    words = dict.fromkeys(NAMES, str)
    summary = read_table(
        path, (*NAMES, *GRID, *STATISTICS), numbers, AGAIN, dtype=words, keep_default_na=False, na_values=[""]
    )
    if summary.empty:
        raise ConfigError(f"{path}: no cell has a trial yet; run the sweep first")
    for column, right, what in _checks(summary):
        if not right.all():
            wrong = summary.loc[~right, column].iloc[0]
            shown = "an empty cell" if pd.isna(wrong) else wrong
            raise ConfigError(f"{path}: column {column}: {shown} is not {what}; {AGAIN}")
    return summary.astype(dict.fromkeys(COUNTS, int))


def _checks(t: pd.DataFrame) -> Iterator[tuple[str, "pd.Series[bool]", str]]:
    """Each column, where it is right, and what is."""
    for name in NAMES:
        yield name, t[name].notna(), "a name"
    yield "L", _whole(t["L"], 2), "a whole number from 2 on"
    yield "K", _whole(t["K"], 1) & (t["K"] < t["L"]), "a whole number from 1 on and less than L"
    yield "w_star", t["w_star"].between(0, 1), "a number from 0 to 1"
    yield "w_prime", t["w_prime"].between(0, t["w_star"]), "a number from 0 to w_star"
    yield "delta", t["delta"].between(0, 1, inclusive="neither"), "a number between 0 and 1"
    yield "epsilon", t["epsilon"].between(0, float("inf"), inclusive="left"), "a number from 0 on"
    yield "n", _whole(t["n"], 1), "a whole number from 1 on"
    yield "n_capped", _whole(t["n_capped"], 0) & (t["n_capped"] <= t["n"]), "a whole number from 0 to n"
    for name in ("mean_steps", *({"mean_observations"} & set(t))):
        yield name, t[name].between(0, float("inf"), inclusive="neither"), "a positive number"
    low, mean, high = t["ci_low"], t["mean_steps"], t["ci_high"]
    yield "ci_low", (low <= mean) | low.isna(), "at most mean_steps"
    yield "ci_high", (high >= mean) | high.isna(), "at least mean_steps"
    if "error_rate" in t:
        yield "error_rate", t["error_rate"].between(0, 1) | t["error_rate"].isna(), "a number from 0 to 1"


def _whole(values: "pd.Series[Any]", least: int) -> "pd.Series[bool]":
    return values.between(least, MOST) & (values % 1 == 0)
