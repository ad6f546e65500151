"""Confidence bounds from the Kullback-Leibler divergence of clicks, valid for all numbers of observations at once.

After `T` observations with mean `m`, the interval `{p : T kl(m, p) <= ln(2 sqrt(T) / alpha)}` misses the click
probability at some `T` with probability at most `alpha`: the likelihood ratio of the Beta(1/2, 1/2) mixture of all
`p` against the true one is a martingale of mean 1, which exceeds `1 / alpha` at some time with probability at most
`alpha` (Ville's inequality), and its logarithm is at least `T kl(m, p) - ln(2 sqrt(T))` (Krichevsky and Trofimov).

`p` solves an equation of a convex function, and Newton's steps from outside the interval never cross the solution.
Every entry of an array goes its own way, so a bound does not depend on which others are computed beside it: engines
that compute them one by one or in bulk get the same floats.
"""

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.learners.racing import RacingRule
from cascadebai_cli.model.instance import BoolArray, FloatArray

STEPS = 60
"""Newton's steps at most; about five are taken."""
SMALL = 1e-15
"""Steps below it are rounding."""


def kl(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """`kl(p, q)` of clicks with probabilities `p` and `q`, for `0 < q < 1`.

    The rows of learners with these bounds are decided by it, to the last bit; `model.divergence` is the exacter one.
    """
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return np.asarray(_entropy(p) - p * np.log(q) - (1 - p) * np.log1p(-q))


def _entropy(p: FloatArray) -> FloatArray:
    """`p ln p + (1 - p) ln(1 - p)`; the place holder 1 has logarithm 0, as has `0 ln 0`."""
    skip = 1 - p
    return p * np.log(np.where(p > 0, p, 1)) + skip * np.log(np.where(skip > 0, skip, 1))


def threshold(T: ArrayLike, alpha: float) -> FloatArray:
    """`ln(2 sqrt(T) / alpha)`, inf for `T = 0`."""
    count = np.asarray(T, dtype=np.float64)
    return np.where(count > 0, np.log(2 / alpha) + 0.5 * np.log(np.maximum(count, 1)), np.inf)


def kl_upper(mean: ArrayLike, T: ArrayLike, alpha: float) -> FloatArray:
    """Upper bound; 1 for `T = 0`, increasing in `mean` and decreasing in `T`.

    Args:
        mean: empirical means.
        T: numbers of observations, broadcast with `mean`.
        alpha: probability that the interval misses the click probability at some time.
    """
    level = threshold(T, alpha) / np.maximum(T, 1)
    return _upper(*np.broadcast_arrays(np.asarray(mean, dtype=np.float64), level))


def kl_lower(mean: ArrayLike, T: ArrayLike, alpha: float) -> FloatArray:
    """Lower bound; 0 for `T = 0`, increasing in `mean` and in `T`. Skips are the clicks of another world."""
    return 1 - kl_upper(1 - np.asarray(mean, dtype=np.float64), T, alpha)


def _upper(mean: FloatArray, level: FloatArray) -> FloatArray:
    """The largest `p` with `kl(mean, p) <= level`; `-expm1(-level)` and 1 where nothing or all was clicked."""
    inside = (mean > 0) & (mean < 1) & np.isfinite(level)
    m, b = np.where(inside, mean, 0.5), np.where(inside, level, 1.0)
    p = _solve(m, b, _outside(m, b))
    return np.where(inside, p, np.where(mean < 1, -np.expm1(-level), 1.0))


def _outside(m: FloatArray, b: FloatArray) -> FloatArray:
    """A point above the solution: the smallest that three inequalities give.

    `kl(m, p) >= (p - m)^2 / (2 v)` with `v` the largest `x (1 - x)` in between, itself at most 1/4, `p` and
    `1 - m`; and `kl(m, p) >= -H(m) - (1 - m) ln(1 - p)`.
    """
    near = np.sqrt(2 * b * np.minimum(0.25, 1 - m))
    small = b + np.sqrt(b * (b + 2 * m))
    far = -np.expm1((_entropy(m) - b) / (1 - m))
    return np.minimum(m + np.minimum(near, small), np.minimum(far, 1 - 2**-53))


def _solve(m: FloatArray, b: FloatArray, p: FloatArray) -> FloatArray:
    """Newton's steps down from `p`, each entry until it moves no more."""
    for _ in range(STEPS):
        rise = p - m
        excess = -m * np.log1p(rise / m) - (1 - m) * np.log1p(-rise / (1 - m)) - b
        step = excess * p * (1 - p) / np.maximum(rise, SMALL)
        moves = step > SMALL
        if not moves.any():
            return p
        p = np.where(moves, p - step, p)
    return p


class KLRule(RacingRule):
    """A rule with these bounds."""

    @property
    @abstractmethod
    def alpha(self) -> float:
        """Risk of one item."""

    def lower(self, mean: ArrayLike, T: ArrayLike) -> FloatArray:
        """Smallest `p` of the interval."""
        return kl_lower(mean, T, self.alpha)

    def upper(self, mean: ArrayLike, T: ArrayLike) -> FloatArray:
        """Largest `p` of the interval."""
        return kl_upper(mean, T, self.alpha)

    def above(self, mean: ArrayLike, T: ArrayLike, level: ArrayLike) -> BoolArray:
        """Whether `lower(mean, T) > level`: `level` lies below the mean and outside the interval."""
        m, q = np.asarray(mean), np.asarray(level)
        return np.asarray((q < 0) | ((q < m) & self._outside(m, T, q)))

    def below(self, mean: ArrayLike, T: ArrayLike, level: ArrayLike) -> BoolArray:
        """Whether `upper(mean, T) < level`."""
        m, q = np.asarray(mean), np.asarray(level)
        return np.asarray((q > 1) | ((q > m) & self._outside(m, T, q)))

    def _outside(self, m: FloatArray, T: ArrayLike, q: FloatArray) -> BoolArray:
        return np.multiply(kl(m, np.clip(q, 1e-300, 1 - 2**-53)), T) > threshold(T, self.alpha)
