"""What clicks and views say about click probabilities: a beta-binomial model, by maximum likelihood.

Item `i` has `w(i) ~ Beta(a, b)` with `a = strength * mean`, `b = strength * (1 - mean)`, and its clicks are binomial.
`mean` and `strength` are estimated from all items; what the log leaves open about them is kept, on a grid.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import betaincinv, betaln, expit, logit
from scipy.stats import chi2

from cascadebai_cli.model.instance import BoolArray, FloatArray

GRID = 15
"""Points of each axis of the grid of priors."""
ZOOMS = 4
UNLIKELY = 16.0
"""Log likelihood below the largest from where a prior is left out."""
SMALLEST_COUNT = 0.05
"""Least `a` and `b` of a prior, so that draws are no zeros and ones."""
SAMPLE = 3000
"""Items from which the prior is estimated, where there are more."""


@dataclass(frozen=True)
class Homogeneity:
    """Pearson's test that all items have one click probability.

    Attributes:
        chi_square, degrees: its value and degrees of freedom; items without views do not count.
        p_value: chance of a value as large or larger.
    """

    chi_square: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False)
class Rates:
    """Posterior of the click probabilities.

    Attributes:
        clicks, views: counts of each item, shape `(L,)`.
        mean, strength: the likeliest prior; it counts as `strength` more views of each item. The strength is infinite
            if the items differ no more than by chance.
        homogeneity: the test of that.
        priors: means and strengths of priors that the log leaves possible, shape `(2, G)`.
        chances: their weights, shape `(G,)`.
    """

    clicks: FloatArray
    views: FloatArray
    mean: float
    strength: float
    homogeneity: Homogeneity
    priors: FloatArray
    chances: FloatArray

    @property
    def expected(self) -> FloatArray:
        """Posterior mean of each item, shape `(L,)`."""
        total = np.zeros(len(self.clicks))
        for mean, strength, chance in zip(*self.priors, self.chances, strict=True):
            total += chance * (self.clicks + strength * mean) / (self.views + strength)
        return total

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        """`n` draws of all click probabilities, shape `(n, L)`, each with a prior of its own."""
        which = rng.choice(len(self.chances), n, p=self.chances)
        mean, strength = self.priors[:, which, None]
        drawn: FloatArray = rng.beta(self.clicks + strength * mean, self.views - self.clicks + strength * (1 - mean))
        return drawn

    def interval(self, level: float = 0.9) -> FloatArray:
        """Equal-tailed interval of each item under the likeliest of the priors on the grid, shape `(2, L)`."""
        mean, strength = self.priors[:, np.argmax(self.chances)]
        a, b = self.clicks + strength * mean, self.views - self.clicks + strength * (1 - mean)
        return np.asarray(betaincinv(a, b, np.array([[(1 - level) / 2], [(1 + level) / 2]])))


def rates_of(clicks: ArrayLike, views: ArrayLike) -> Rates:
    """Estimate the prior of a log and what it leaves open.

    The strength has a flat prior in `s / (s + n)`, with `n` the median of the views: all degrees of shrinkage are as
    likely; the mean is flat. Items without views say nothing and get the prior.

    Args:
        clicks: number of clicks of each item, `0 <= clicks <= views`, one of them larger than 0.
        views: number of views of each item, 0 or larger.
    """
    c, n = np.asarray(clicks, dtype=np.float64), np.asarray(views, dtype=np.float64)
    counts = _Counts.of(c[n > 0], n[n > 0])
    axes = _zoomed(counts)
    logits, logs = np.meshgrid(*axes, indexing="ij")
    heights = np.array([counts.posterior(m, s) for m, s in zip(logits.ravel(), logs.ravel(), strict=True)])
    chances = np.exp(heights - heights.max())
    priors = np.array([expit(logits.ravel()), np.exp(logs.ravel())])
    mean, strength = _likeliest(counts, logits.ravel()[heights.argmax()], logs.ravel()[heights.argmax()])
    kept = chances > np.exp(-UNLIKELY)
    return Rates(c, n, mean, strength, homogeneity(c, n), priors[:, kept], chances[kept] / chances[kept].sum())


def homogeneity(clicks: FloatArray, views: FloatArray) -> Homogeneity:
    """Pearson's chi-square of a table with one column an item."""
    c, n = clicks[views > 0], views[views > 0]
    pooled = c.sum() / n.sum()
    spread = pooled * (1 - pooled)
    value = float(((c - n * pooled) ** 2 / (n * spread)).sum()) if spread > 0 else 0.0
    degrees = len(c) - 1
    return Homogeneity(value, degrees, float(chi2.sf(value, degrees)) if degrees else 1.0)


@dataclass(frozen=True, eq=False)
class _Counts:
    """Distinct pairs of clicks and views, how many items have them, and the pooled rate."""

    clicks: FloatArray
    views: FloatArray
    items: FloatArray
    pooled: float
    typical: float

    @classmethod
    def of(cls, clicks: FloatArray, views: FloatArray) -> "_Counts":
        pairs, items = np.unique(np.stack([clicks, views]), axis=1, return_counts=True)
        weights = items.astype(np.float64)
        if len(weights) > SAMPLE:
            every = np.linspace(0, len(weights) - 1, SAMPLE).astype(int)
            pairs, weights = pairs[:, every], weights[every] * weights.sum() / weights[every].sum()
        pooled = (clicks.sum() + 0.5) / (views.sum() + 1)
        return cls(pairs[0], pairs[1], weights, float(pooled), float(np.median(views)))

    def likelihood(self, logit_mean: float, log_strength: float) -> float:
        """Log of it, but for binomial coefficients, relative to one rate for all."""
        mean, strength = expit(logit_mean), np.exp(log_strength)
        a, b = strength * mean, strength * (1 - mean)
        if min(a, b) < SMALLEST_COUNT:
            return -np.inf
        terms = betaln(self.clicks + a, self.views - self.clicks + b) - betaln(a, b)
        return float((self.items * terms).sum())

    def posterior(self, logit_mean: float, log_strength: float) -> float:
        """Log of it: flat in the mean and in `s / (s + typical)`."""
        s, mean = np.exp(log_strength), expit(logit_mean)
        flat = np.log(mean * (1 - mean)) + np.log(s * self.typical) - 2 * np.log(s + self.typical)
        return self.likelihood(logit_mean, log_strength) + float(flat)

    @property
    def strongest(self) -> float:
        """Log of a strength from which on a prior is as good as one rate for all."""
        return float(np.log(1000 * self.views.max()))


def _zoomed(counts: _Counts) -> list[FloatArray]:
    """Axes of a grid around all priors that the log leaves possible."""
    low, high = np.log(2 * SMALLEST_COUNT), counts.strongest
    middle = logit(counts.pooled)
    axes = [np.linspace(middle - 4, middle + 4, GRID), np.linspace(low, high, GRID)]
    for _ in range(ZOOMS):
        heights = np.array([[counts.posterior(m, s) for s in axes[1]] for m in axes[0]])
        possible = heights > heights.max() - UNLIKELY
        axes = [_shrunk(axis, possible.any(axis=1 - i)) for i, axis in enumerate(axes)]
    return axes


def _shrunk(axis: FloatArray, possible: BoolArray) -> FloatArray:
    """The axis around its possible points, and one more on each side."""
    places = np.flatnonzero(possible)
    low, high = max(places[0] - 1, 0), min(places[-1] + 1, len(axis) - 1)
    return np.linspace(axis[low], axis[high], len(axis))


def _likeliest(counts: _Counts, logit_mean: float, log_strength: float) -> tuple[float, float]:
    """Mean and strength of the largest likelihood, from a point near it."""
    low, high = np.log(2 * SMALLEST_COUNT), counts.strongest
    found = minimize(
        lambda x: -max(counts.likelihood(*x), -1e300),
        np.array([logit_mean, log_strength]),
        method="Nelder-Mead",
        bounds=[(logit_mean - 5, logit_mean + 5), (low, high)],
        options={"xatol": 1e-6, "fatol": 1e-7},
    )
    mean, strength = float(expit(found.x[0])), float(np.exp(found.x[1]))
    return mean, strength if found.x[1] < high - np.log(10) else float("inf")
