"""Intervals for a proportion and for a mean."""

import math
from functools import lru_cache

from scipy.special import betaincinv, stdtrit


@lru_cache(maxsize=4096)
def binomial_interval(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of Clopper and Pearson (1934) for a proportion.

    Args:
        successes: `0 <= successes <= n`.
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
