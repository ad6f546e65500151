"""`summary.csv`, and the writing of all tables."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import bdtr

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray
from cascadebai_cli.store.columns import CELL, STATUSES, SUMMARY_CSV, TABLES, TIMINGS_CSV, TRIALS_CSV
from cascadebai_cli.store.files import AGAIN, Held, write_atomically
from cascadebai_cli.store.journal import Recording, Stored
from cascadebai_cli.store.manifest import Manifest, grid_of, now, read_manifest, write_manifest
from cascadebai_cli.store.trials import (
    CHUNK,
    InGrid,
    Limits,
    binomial_interval,
    mean_interval,
    misses_aim,
    read_table,
    read_trials,
    trials_of,
    write_timings,
    write_trials,
)
from cascadebai_cli.study.fields import Enough
from cascadebai_cli.study.kinds import QUANTILES
from cascadebai_cli.text import count, percent

# --- `summary.csv`, which has one row for each cell: computed, written, read and checked ----------------------------

_CAPPED = STATUSES.index("capped")


def summary_text(directory: Path) -> str:
    """Return the `summary.csv` that follows from `trials.csv` and the manifest; errors as for `summarise_file`."""
    return _text(summarise_file(directory / TRIALS_CSV, trials=trials_of(read_manifest(directory).config)))


def summarise_file(path: Path, chunk: int = CHUNK, trials: int | Enough = 0) -> pd.DataFrame:
    """Return what `summarise` does for a `trials.csv` of any length; errors as for `read_trials`.

    Args:
        path, chunk: as for `read_trials`.
        trials: the number of trials of the config, or the rule for it.
    """
    return TABLES[SUMMARY_CSV].frame(row for table in read_trials(path, chunk) for row in _rows(table, trials))


def summarise(trials: pd.DataFrame) -> pd.DataFrame:
    """Return statistics of each cell, in the order in which the cells appear.

    The steps of a capped trial are the cap; the error rate is that of the trials that gave an answer. Intervals are
    at 95 %: t for the mean, exact binomial for the error rate.

    Returns:
        the columns of `summary.csv`.
    """
    return TABLES[SUMMARY_CSV].frame(_rows(trials))


def _text(summary: pd.DataFrame) -> str:
    return summary.to_csv(index=False, lineterminator="\n")


def _rows(trials: pd.DataFrame, rule: int | Enough = 0) -> Iterator[dict[str, Any]]:
    """Yield one row for each cell; computed on arrays, as making a table for each of many cells would be slow."""
    codes, _ = pd.factorize(trials["cell_id"])
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    heads: list[dict[Any, Any]] = trials.iloc[order[starts]][list(CELL)].to_dict("records")
    steps, observations = (trials[name].to_numpy(dtype=float)[order] for name in ("steps", "observations"))
    stopped = (trials["status"] != "capped").to_numpy(dtype=bool)[order]
    wrong = (trials["correct"] == 0).fillna(False).to_numpy(dtype=bool)[order] & stopped
    budget, right = (trials[name].to_numpy()[order] if name in trials else None for name in ("budget", "right"))
    for head, start, end in zip(heads, starts, [*starts, len(order)][1:], strict=True):
        cell = slice(start, end)
        further = {} if budget is None or right is None else _right(int(budget[start]), right[cell].astype(float))
        numbers = _statistics(steps[cell], observations[cell], stopped[cell], wrong[cell])
        yield {**head, **numbers, **_aim(rule, trials.iloc[order[cell]]), **further}


def _aim(rule: int | Enough, rows: Any) -> dict[str, int]:
    return {} if isinstance(rule, int) else {"aim_missed": int(misses_aim(rule, rows))}


def _rows_of_stored(
    cells: Iterable[InGrid], stored: Stored, shown: Limits | None, rule: int | Enough
) -> Iterator[dict[str, Any]]:
    """Yield the same from packed rows, for the cells that have any."""
    for cell in cells:
        rows = stored.of(cell["cell_id"], shown)
        if not len(rows):
            continue
        stopped = rows["status"] != _CAPPED
        steps, observations, right = (rows[name].astype(float) for name in ("steps", "observations", "right"))
        further = {} if cell["budget"] is None else _right(cell["budget"], right)
        wrong = (rows["correct"] == 0) & stopped
        numbers = _statistics(steps, observations, stopped, wrong)
        yield {**{name: cell[name] for name in CELL}, **numbers, **_aim(rule, rows), **further}


def _statistics(steps: FloatArray, observations: FloatArray, stopped: BoolArray, wrong: BoolArray) -> dict[str, Any]:
    return {**_means(steps, observations), **_errors(int(stopped.sum()), int(wrong.sum()), len(steps))}


def _right(budget: int, right: FloatArray) -> dict[str, Any]:
    mean = mean_interval(right)
    return {"budget": budget, "mean_right": mean.value, "right_low": mean.low, "right_high": mean.high}


def _means(steps: FloatArray, observations: FloatArray) -> dict[str, Any]:
    n, names = len(steps), ("mean_steps", "sd_steps", "se_steps", "ci_low", "ci_high")
    return {
        "n": n,
        **dict(zip(names, mean_interval(steps), strict=True)),
        "mean_observations": float(observations.sum() / n),
    }


def _errors(stopped: int, wrong: int, n: int) -> dict[str, float]:
    low, high = binomial_interval(wrong, stopped)
    rate = wrong / stopped if stopped else float("nan")
    return {"n_capped": n - stopped, "error_rate": rate, "error_low": low, "error_high": high}


def _rank_of(share: float, n: ArrayLike) -> IntArray:
    """Return the rank, from 1, of the value that is this quantile of `n` values."""
    return np.asarray(np.maximum(1, np.ceil(share * np.asarray(n))), np.int64)


def quantiles_of(steps: FloatArray, level: float = 0.95) -> dict[str, float]:
    """Return quantiles of some values, each of which is one of them, and intervals of the upper ones.

    The ends of an interval are values too, of ranks that hold whatever the distribution is (binomial); nan if there
    are too few values for it.

    Args:
        steps: in ascending order.
    """
    n = len(steps)
    found = {name: float(steps[_rank_of(share, n) - 1]) for name, share in QUANTILES.items()}
    for name in ("median", "q90"):
        ranks = bdtr(np.arange(n + 1), n, QUANTILES[f"{name}_steps"])
        low, high = (int(np.searchsorted(ranks, tail)) for tail in ((1 - level) / 2, (1 + level) / 2))
        ends = (float(steps[low - 1]), float(steps[high])) if low >= 1 and high < n else (math.nan, math.nan)
        found |= dict(zip((f"{name}_low", f"{name}_high"), ends, strict=True))
    return found


def read_summary(path: Path) -> pd.DataFrame:
    """Return the cells of `summary.csv`, which may have been edited by hand; names are text, counts are integers.

    Raises:
        ConfigError: if the file is missing, has no row, or a value that no sweep writes.
    """
    summary = read_table(path, AGAIN)
    if summary.empty:
        raise ConfigError(f"{path}: no cell has a trial yet; run the sweep first")
    there = [column for column in TABLES[SUMMARY_CSV].columns if column.name in summary]
    for column in there:
        if not (right := column.right(summary)).all():
            wrong = summary.loc[~right, column.name].iloc[0]
            shown = "an empty cell" if pd.isna(wrong) else wrong
            raise ConfigError(f"{path}: column {column.name}: {shown} is not {column.check[0]}; {AGAIN}")
    return summary.astype({column.name: int for column in there if column.type is int})


# --- What a reader of a summary must know --------------------------------------------------------------------------

_MOST_NAMED = 3
"""Largest number of cells that a sentence names."""
ABOVE_DELTA = " > delta"
"""Behind an error rate whose interval lies above delta."""


def is_limit_of_quantile(cells: pd.DataFrame, level: float) -> "pd.Series[bool]":
    """Return for which cells a quantile of the steps is a lower limit, since a trial that reached the cap has it."""
    return cells["n"] - cells["n_capped"] < _rank_of(level, cells["n"])


def wrong_too_often(cells: pd.DataFrame) -> "pd.Series[bool]":
    """Return which cells are wrong more often than delta beyond chance; a budget promises nothing.

    The 95 % interval of the error rate of such a cell lies above its `delta`.
    """
    above = cells["error_low"] > cells["delta"]
    return above & cells["budget"].isna() if "budget" in cells else above


def doubts(summary: pd.DataFrame) -> list[str]:
    """Return a sentence about the cells that missed the aim of `trials`, and one about those wrong too often."""
    rows = summary.to_dict("records")
    missed = [_named(row) for row in rows if row.get("aim_missed") == 1]
    wrong = [
        f"{_named(row)}, {percent(row['error_rate'])}" for row in summary[wrong_too_often(summary)].to_dict("records")
    ]
    told = {"missed the aim of trials; a larger at_most may reach it": missed, "wrong more often than delta": wrong}
    return [
        f"{count(len(cells))} of {count(len(rows))} cells {'are ' * (cells is wrong)}{what}: {_listed(cells)}"
        for what, cells in told.items()
        if cells
    ]


def _named(row: Mapping[Any, Any]) -> str:
    return f"{row['instance']}, {row['learner']} at K = {row['K']}, delta = {row['delta']:g}"


def _listed(names: Sequence[str]) -> str:
    more = [f"{count(len(names) - _MOST_NAMED)} more"] if len(names) > _MOST_NAMED else []
    return "; ".join([*names[:_MOST_NAMED], *more])


# --- The tables of a result directory, made from its journal --------------------------------------------------------


def write_tables(
    held: Held, manifest: Manifest, stored: Stored, limits: Limits, *, asked_only: bool, packed: bool = False
) -> tuple[int, pd.DataFrame]:
    """Write the tables and close the manifest.

    Args:
        limits: the number of trials of each cell.
        asked_only: whether trials beyond `limits` are left out of the tables.

    Returns:
        how many trials of the config are missing, and the summary.

    Raises:
        ConfigError: if the manifest does not describe its cells.
        CascadeError: if a file cannot be written, or the directory is not there any more.
    """
    cells = grid_of(held.directory, manifest)
    held.check()
    shown = limits if asked_only else None
    digest = write_trials(held.directory, cells, stored, shown, packed=packed)
    held.check()
    rule = trials_of(manifest.config)
    summary = TABLES[SUMMARY_CSV].frame(_rows_of_stored(cells, stored, shown, rule))
    tables = {
        TIMINGS_CSV: write_timings(held.directory, cells, stored, shown),
        SUMMARY_CSV: write_atomically(held.directory / SUMMARY_CSV, [_text(summary)]),
        **stored.write_records(held.directory, cells, shown),
    }
    held.check()
    wanted = Recording.of(manifest.config)
    missing = sum(len(stored.missing(cell_id, trials, wanted)) for cell_id, trials in limits.items())
    end = {"end": manifest.end or now(), "complete": not missing, "rows_sha256": digest, "tables": tables}
    write_manifest(held.directory, manifest.model_copy(update=end))
    return missing, summary
