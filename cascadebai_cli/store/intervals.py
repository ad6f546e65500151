"""Intervals of means and of error rates, and the trials that an interval asks for."""

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

# --- The intervals of tables: for a proportion, for a mean, and for a mean of whole numbers over itself -------------


class MeanInterval(NamedTuple):
    """A mean with the standard deviation of the values, its standard error and the ends of its interval."""

    value: float
    sd: float
    se: float
    low: float
    high: float


@lru_cache(maxsize=4096)
def binomial_interval(successes: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of Clopper and Pearson (1934) for a proportion.

    Args:
        successes: `0 <= successes <= n`; part of one where it is a mean of several shares.
        n: number of trials; without any, nothing is known and both ends are nan.
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
    """Standard errors on either side of the mean of `n` values that make its t interval; nan below two values."""
    return float(stdtrit(n - 1, (1 + level) / 2)) if n > 1 else math.nan


def mean_interval(values: FloatArray, level: float = 0.95) -> MeanInterval:
    """The t interval of the mean of some values; without ends, nan, for a single one."""
    n, mean = len(values), float(values.sum() / len(values))
    sd = float(np.sqrt(((mean - values) ** 2).sum() / (n - 1))) if n > 1 else math.nan
    se = sd / n**0.5
    half = t_quantile(n, level) * se
    return MeanInterval(mean, sd, se, mean - half, mean + half)


def relative_half_width(values: NDArray[Any], level: float = 0.95) -> float:
    """Half the width of the same interval over the mean, for positive whole numbers; nan below two of them.

    Sums of whole numbers are exact, so that no decision hangs on the order of an addition.
    """
    whole = [int(value) for value in values]
    n, total = len(whole), sum(whole)
    if n < 2:
        return math.nan
    squares = n * sum(value**2 for value in whole) - total**2
    return t_quantile(n, level) * math.sqrt(squares / (n - 1)) / total if squares else 0.0


# --- How many trials a cell is to have, given those that it has -----------------------------------------------------
#
# The answer rests on the first trials by number alone, looked at in stages that follow from them, so that it is the
# same whatever was run when and where. A mean that stops being measured once its interval is narrow has an interval
# that is a little too narrow; the stages are few, so that this is little.


_SMALLEST_STAGE, _LARGEST_STAGE = 1.25, 4
"""How many times as many trials the next stage has."""

Limits = Mapping[str, int]
"""Cell -> number of its trials."""


def limits_of(trials: int | Enough, stored: Stored, cell_ids: Iterable[str]) -> Limits:
    """The number of trials of each cell."""
    return {cell_id: wanted(trials, stored.of(cell_id)) for cell_id in cell_ids}


def trials_of(config: Mapping[str, Any]) -> int | Enough:
    """What a resolved config says of trials."""
    trials = config["trials"]
    return Enough.model_validate(trials) if isinstance(trials, Mapping) else trials


def wanted(trials: int | Enough, rows: NDArray[Any]) -> int:
    """The number of trials of one cell.

    Args:
        trials: what the config says.
        rows: those that are there, sorted by trial.
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
    """For each aim the number of trials that is likely to reach it; that of `rows` if they do."""
    n = len(rows)
    if aims.relative_error is not None:
        wider = max(1.0, relative_half_width(rows["steps"]) / aims.relative_error)
        yield n * wider * wider  # a power of a large number is an error, and no infinity
    if aims.max_errors is not None:
        errors = int((rows["correct"] == 0).sum())
        yield n * max(1.0, aims.max_errors / errors if errors else inf)
