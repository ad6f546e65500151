"""Intervals of means and of error rates, and the number of trials that makes an interval narrow enough."""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, stdtrit

from cascadebai_cli.model.problem import FloatArray
from cascadebai_cli.store.journal import Stored
from cascadebai_cli.study.fields import Enough

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
        level: confidence level.
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


def mean_interval(values: FloatArray, level: float = 0.95) -> MeanInterval:
    """Return the mean of some values and its t interval, whose ends are nan for a single value."""
    n, mean = len(values), float(values.sum() / len(values))
    sd = float(np.sqrt(((mean - values) ** 2).sum() / (n - 1))) if n > 1 else math.nan
    se = sd / n**0.5
    half = t_quantile(n, level) * se
    return MeanInterval(mean, sd, se, mean - half, mean + half)


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

Limits = Mapping[str, int]
"""Cell -> number of its trials."""


def limits_of(trials: int | Enough, stored: Stored, cell_ids: Iterable[str]) -> Limits:
    """Return the number of trials of each cell."""
    return {cell_id: wanted(trials, stored.of(cell_id)) for cell_id in cell_ids}


def trials_of(config: Mapping[str, Any]) -> int | Enough:
    """Return the number of trials that a resolved config asks for, or the rule for it."""
    trials = config["trials"]
    return Enough.model_validate(trials) if isinstance(trials, Mapping) else trials


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
        stage = ceil(min(max(more, _SMALLEST_STAGE * stage), _LARGEST_STAGE * stage))
    return min(stage, trials.at_most)


def _needed(aims: Enough, rows: NDArray[Any]) -> Iterator[float]:
    """Yield for each aim the number of trials that is likely to reach it; that of `rows` if these reach it."""
    n = len(rows)
    if aims.relative_error is not None:
        wider = max(1.0, relative_half_width(rows["steps"]) / aims.relative_error)
        yield n * wider * wider  # `**` would raise an error for a large number, and not give infinity
    if aims.max_errors is not None:
        errors = int((rows["correct"] == 0).sum())
        yield n * max(1.0, aims.max_errors / errors if errors else inf)
