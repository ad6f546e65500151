"""One row a cell: how many steps, how sure, how often wrong."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.intervals import binomial_interval, t_quantile

CELL = ["cell_id", "study", "instance", "learner", "L", "K", "w_star", "w_prime", "delta", "epsilon"]
STATISTICS = [
    "n",
    "mean_steps",
    "sd_steps",
    "se_steps",
    "ci_low",
    "ci_high",
    "mean_observations",
    "n_capped",
    "error_rate",
    "error_low",
    "error_high",
]


_FORMAT: dict[str, Any] = {
    "dtype": {**dict.fromkeys(["cell_id", "study", "instance", "learner", "status"], str), "correct": "Int8"},
    "keep_default_na": False,
    "na_values": {"correct": [""]},
}
CHUNK = 20_000
"""Rows that are in memory at once, unless a single cell has more."""


def read_trials(path: Path, chunk: int = CHUNK) -> Iterator[pd.DataFrame]:
    """`trials.csv` in tables of whole cells; names stay text, `correct` is missing for capped trials.

    Args:
        path: a file sorted by cell.
        chunk: a table has about this many rows, more if a cell has.
    """
    rest: list[pd.DataFrame] = []
    with pd.read_csv(path, chunksize=chunk, **_FORMAT) as parts:
        for part in parts:
            if part.empty:
                break
            table = pd.concat([*rest, part])
            last = table["cell_id"] == table["cell_id"].iloc[-1]
            if not last.all():
                yield table[~last]
            rest = [table[last]]
    yield from rest


def summarise_file(path: Path, chunk: int = CHUNK) -> pd.DataFrame:
    """`summarise` of a `trials.csv` of any length.

    Raises:
        ConfigError: if it is not what a sweep writes.
    """
    try:
        return _table(row for table in read_trials(path, chunk) for row in _rows(table))
    except KeyError as error:
        raise ConfigError(f"{path}: column {error} is missing; run the sweep again") from error
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}: not the trials of a sweep ({str(error).strip()}); run it again") from error


def summarise(trials: pd.DataFrame) -> pd.DataFrame:
    """Statistics of each cell, in the order in which the cells appear.

    Steps of capped trials count with the cap; the error rate is that of the trials that stopped. Intervals are
    95 %: t for the mean, exact binomial for the error rate.

    Args:
        trials: as `trials.csv`.

    Returns:
        the columns `CELL` and `STATISTICS`.
    """
    return _table(_rows(trials))


def _table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=[*CELL, *STATISTICS])


def _rows(trials: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for _, part in trials.groupby("cell_id", sort=False):
        yield {**{name: part[name].iloc[0] for name in CELL}, **_statistics(part)}


def _statistics(part: pd.DataFrame) -> dict[str, Any]:
    n, steps = len(part), part["steps"].astype(float)
    mean, sd = float(steps.mean()), float(steps.std(ddof=1))
    se = sd / n**0.5
    half = t_quantile(n) * se
    return {
        "n": n,
        "mean_steps": mean,
        "sd_steps": sd,
        "se_steps": se,
        "ci_low": mean - half,
        "ci_high": mean + half,
        "mean_observations": float(part["observations"].mean()),
        "n_capped": int((part["status"] == "capped").sum()),
        **_errors(part),
    }


def _errors(part: pd.DataFrame) -> dict[str, float]:
    stopped = part[part["status"] == "stopped"]
    n, wrong = len(stopped), int((stopped["correct"] == 0).sum())
    low, high = binomial_interval(wrong, n)
    return {"error_rate": wrong / n if n else float("nan"), "error_low": low, "error_high": high}
