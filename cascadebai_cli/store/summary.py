"""Statistics over the trials of a cell: intervals, how many trials are enough, the rows of `summary.csv`, doubts."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, betaincinv, stdtrit

from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray
from cascadebai_cli.store.columns import CELL, STATUSES, SUMMARY_CSV, TABLES
from cascadebai_cli.store.journal import Stored
from cascadebai_cli.study.fields import Enough
from cascadebai_cli.study.kinds import QUANTILES
from cascadebai_cli.text import count, percent

# --- Intervals: of a proportion, of a mean, and relative to a mean of whole numbers ---------------------------------


class MeanInterval(NamedTuple):
    """A mean with the standard deviation of the values, its standard error and the ends of its interval."""

    value: float
    sd: float
    se: float
    low: float
    high: float


@lru_cache(maxsize=4096)
def binomial_interval(successes: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of Clopper and Pearson (1934) for a proportion.

    Args:
        successes: from 0 to `n`; no whole number if it comes from a mean of several shares.
        n: number of trials; if it is 0, both ends are nan.
    """
    if n == 0:
        return math.nan, math.nan
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))
    return low, high


@lru_cache(maxsize=4096)
def t_quantile(n: int, level: float = 0.95) -> float:
    """Return how many standard errors the t interval of a mean of `n` values has on each side; nan below two values."""
    return float(stdtrit(n - 1, (1 + level) / 2)) if n > 1 else math.nan


def mean_interval(values: FloatArray, level: float = 0.95, *, positive: bool = False) -> MeanInterval:
    """Return the mean of some values and its t interval, whose ends are nan for a single value.

    Args:
        positive: give an interval of positive ends, the t interval on a log scale: its ends are `mean * exp(-h)` and
            `mean * exp(h)`, where `h` is half the t interval over the mean.
    """
    n, mean = len(values), float(values.sum() / len(values))
    sd = float(np.sqrt(((mean - values) ** 2).sum() / (n - 1))) if n > 1 else math.nan
    se = sd / n**0.5
    half = t_quantile(n, level) * se
    if not positive:
        return MeanInterval(mean, sd, se, mean - half, mean + half)
    factor = float(np.exp((mean + half - mean) / mean)) if mean > 0 else 1.0
    return MeanInterval(mean, sd, se, mean / factor, mean * factor)


def relative_half_width(values: NDArray[Any], level: float = 0.95) -> float:
    """Return half the width of the t interval over the mean, for positive whole numbers; nan below two of them.

    Sums of whole numbers are exact, so that no decision depends on the order of an addition.
    """
    whole = [int(value) for value in values]
    n, total = len(whole), sum(whole)
    if n < 2:
        return math.nan
    squares = n * sum(value**2 for value in whole) - total**2
    return t_quantile(n, level) * math.sqrt(squares / (n - 1)) / total if squares else 0.0


# --- How many trials a cell needs, given those that it has ----------------------------------------------------------
#
# The answer depends only on the trials with the first numbers, looked at in stages that follow from them, so that it
# is the same whatever was run when and where. Measuring until an interval is narrow makes it a little too narrow; as
# the stages are few, the effect is small.

_SMALLEST_STAGE, _LARGEST_STAGE = 1.25, 4
"""Smallest and largest factor by which the next stage has more trials."""


def limits_of(trials: int | Enough, stored: Stored, cell_ids: Iterable[str]) -> Mapping[str, int]:
    """Return the number of trials of each cell."""
    return {cell_id: wanted(trials, stored.of(cell_id)) for cell_id in cell_ids}


def wanted(trials: int | Enough, rows: NDArray[Any]) -> int:
    """Return the number of trials of one cell.

    Args:
        trials: the number of the config, or its rule.
        rows: the finished trials, sorted by trial.
    """
    if isinstance(trials, int):
        return trials
    stage = trials.at_least
    while stage < trials.at_most:
        there = rows[rows["trial"] < stage]
        if len(there) < stage:
            break
        more = max(_needed(trials, there), default=0.0)
        if more <= stage:
            break
        stage = math.ceil(min(max(more, _SMALLEST_STAGE * stage), _LARGEST_STAGE * stage))
    return min(stage, trials.at_most)


def misses_aim(trials: int | Enough, rows: Any) -> bool:
    """Return whether the trials of a cell, with columns `steps` and `correct`, do not reach the aim of a rule."""
    return not isinstance(trials, int) and max(_needed(trials, rows), default=0.0) > len(rows)


def likely_number(trials: int | Enough, rows: Any) -> int:
    """Return the number of trials that a cell is likely to get, by the `steps` and `correct` of the first of them."""
    if isinstance(trials, int):
        return trials
    if len(rows) < 2:
        return trials.at_least
    return math.ceil(min(max(trials.at_least, *_needed(trials, rows)), trials.at_most))


def _needed(aims: Enough, rows: Any) -> Iterator[float]:
    """Yield for each aim the number of trials that is likely to reach it; that of `rows` if these reach it."""
    n = len(rows)
    if aims.relative_error is not None:
        wider = max(1.0, relative_half_width(rows["steps"]) / aims.relative_error)
        yield n * wider * wider  # `**` would raise an error for a large number, and not give infinity
    if aims.max_errors is not None:
        errors = int((rows["correct"] == 0).sum())
        yield n * max(1.0, aims.max_errors / errors if errors else math.inf)


# --- The rows of `summary.csv`, one for each cell -------------------------------------------------------------------

_CAPPED = STATUSES.index("capped")


def summarise(trials: Iterable[pd.DataFrame], rule: int | Enough = 0) -> pd.DataFrame:
    """Return statistics of each cell, in the order in which the cells appear.

    The steps of a capped trial are the cap; the error rate is that of the trials that gave an answer. Intervals are
    at 95 %: t for the mean, exact binomial for the error rate.

    Args:
        trials: tables of whole cells, as `trials.csv` has them.
        rule: the number of trials of the config, or the rule for it.

    Returns:
        the columns of `summary.csv`.
    """
    return TABLES[SUMMARY_CSV].frame(row for table in trials for row in _rows(table, rule))


def summarise_stored(
    cells: Iterable[Mapping[str, Any]], stored: Stored, limits: Mapping[str, int] | None, rule: int | Enough
) -> pd.DataFrame:
    """Return the same table from a journal, for the cells of the grid that have rows; `limits` as for `Stored.of`."""
    return TABLES[SUMMARY_CSV].frame(_rows_of_stored(cells, stored, limits, rule))


def _rows(trials: pd.DataFrame, rule: int | Enough) -> Iterator[dict[str, Any]]:
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


def _rows_of_stored(
    cells: Iterable[Mapping[str, Any]], stored: Stored, limits: Mapping[str, int] | None, rule: int | Enough
) -> Iterator[dict[str, Any]]:
    for cell in cells:
        rows = stored.of(cell["cell_id"], limits)
        if not len(rows):
            continue
        stopped = rows["status"] != _CAPPED
        steps, observations, right = (rows[name].astype(float) for name in ("steps", "observations", "right"))
        further = {} if cell["budget"] is None else _right(cell["budget"], right)
        wrong = (rows["correct"] == 0) & stopped
        numbers = _statistics(steps, observations, stopped, wrong)
        yield {**{name: cell[name] for name in CELL}, **numbers, **_aim(rule, rows), **further}


def _aim(rule: int | Enough, rows: Any) -> dict[str, int]:
    return {} if isinstance(rule, int) else {"aim_missed": int(misses_aim(rule, rows))}


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


# --- Quantiles of the steps of a cell, which no file holds ----------------------------------------------------------


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


def is_limit_of_quantile(cells: pd.DataFrame, level: float) -> "pd.Series[bool]":
    """Return for which cells a quantile of the steps is a lower limit, since a trial that reached the cap has it."""
    return cells["n"] - cells["n_capped"] < _rank_of(level, cells["n"])


# --- What a reader of a summary must know ---------------------------------------------------------------------------

_MOST_NAMED = 3
"""Largest number of cells that a sentence names."""
ABOVE_DELTA = " > delta"
"""Behind an error rate whose interval lies above delta."""


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
