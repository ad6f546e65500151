"""The intervals of tables: for a proportion, for a mean, and for a mean of whole numbers over itself."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, stdtrit

from cascadebai_cli.model.instance import FloatArray


class Mean(NamedTuple):
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


def mean_interval(values: FloatArray, level: float = 0.95) -> Mean:
    """The t interval of the mean of some values; without ends, nan, for a single one."""
    n, mean = len(values), float(values.sum() / len(values))
    sd = float(np.sqrt(((mean - values) ** 2).sum() / (n - 1))) if n > 1 else math.nan
    se = sd / n**0.5
    half = t_quantile(n, level) * se
    return Mean(mean, sd, se, mean - half, mean + half)


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
