"""What clicks and views say about click probabilities.

Clicks are binomial. Each item's `w` has the same law beforehand, a mixture of beta laws, of which the log leaves
many possible (`mixture`). The single beta law of the largest likelihood says in two numbers how much the items differ.
"""

from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, logit

from cascadebai_cli.model.instance import FloatArray, IntArray
from cascadebai_cli.model.mixture import SMALLEST_COUNT, STRONGEST, drawn, laws, log_likelihood, pooled_rate

SAMPLE = 1000
"""Items from which laws are estimated, where there are more."""
NUMBERS = 5_000_000
"""Most numbers that are drawn for intervals, and for the test that all rates are equal."""
TABLES = 9_999
"""Most tables that are drawn for that test."""
AT_ONCE = 1_000_000
"""Numbers that are drawn at once."""


@dataclass(frozen=True)
class Homogeneity:
    """Pearson's test that all items have one click probability.

    Attributes:
        chi_square, degrees: its value and degrees of freedom; items without views do not count.
        p_value: chance of a value as large or larger were that so, by parametric bootstrap; never below 1 over the
            number of tables drawn and one.
    """

    chi_square: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False)
class Rates:
    """Posterior of the click probabilities: a mixture of `D` products of beta laws.

    Attributes:
        clicks, views: counts of each item, shape `(L,)`.
        mean, strength: the likeliest single beta law; its mean counts as `strength` more views of each item. The
            strength is infinite if the items differ no more than by chance.
        homogeneity: the test of that.
        expected: posterior mean of each item, shape `(L,)`; the same for the same counts.
        a, b: `w(i) ~ Beta(a[d, i], b[d, i])` under the law `d`, shape `(D, L)`.
    """

    clicks: FloatArray
    views: FloatArray
    mean: float
    strength: float
    homogeneity: Homogeneity
    expected: FloatArray
    a: FloatArray
    b: FloatArray

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """A draw of all click probabilities under each law, shape `(D, L)`."""
        return rng.beta(self.a, self.b)

    def interval(self, level: float = 0.9) -> FloatArray:
        """Equal-tailed interval of each item, from draws, shape `(2, L)`."""
        each = int(np.clip(NUMBERS // self.a.size, 1, 10))
        drawn = np.random.default_rng(0).beta(self.a, self.b, (each, *self.a.shape)).reshape(-1, len(self.clicks))
        return np.asarray(np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0))


def first_draws(clicks: ArrayLike, views: ArrayLike, draws: int) -> FloatArray:
    """Draws of all click probabilities under the likeliest single beta law, shape `(draws, L)`: rough, and quick."""
    c, n = np.asarray(clicks, dtype=np.float64), np.asarray(views, dtype=np.float64)
    rng = np.random.default_rng(len(c))
    seen = _sample(n, rng)
    mean, strength = _likeliest(c[seen], n[seen])
    s = min(strength, STRONGEST * float(n.max()))
    return rng.beta(c + s * mean, n - c + s * (1 - mean), (draws, len(c)))


def rates_of(clicks: ArrayLike, views: ArrayLike, draws: int = 400, seed: int = 0) -> Rates:
    """What a log leaves open. Items without views say nothing and have the law of the others.

    Args:
        clicks: number of clicks of each item, `0 <= clicks <= views`, one of them larger than 0.
        views: number of views of each item, 0 or larger.
        draws: number of laws.
        seed: where they come from.
    """
    c, n = np.asarray(clicks, dtype=np.float64), np.asarray(views, dtype=np.float64)
    rng = np.random.default_rng([seed, len(c)])
    seen = _sample(n, rng)
    a, b = np.empty((2, draws, len(c)))
    expected = np.zeros(len(c))
    for d, law in enumerate(islice(laws(c[seen], n[seen], rng), draws)):
        weights = law.weights(c, n)
        owner = drawn(weights, rng)
        a[d], b[d] = c + law.a[owner], n - c + law.b[owner]
        expected += (weights * (c[:, None] + law.a) / (n[:, None] + law.a + law.b)).sum(axis=1) / draws
    return Rates(c, n, *_likeliest(c[seen], n[seen]), homogeneity(c, n), expected, a, b)


def _sample(views: FloatArray, rng: np.random.Generator) -> IntArray:
    """Items from which laws are estimated."""
    seen = np.flatnonzero(views > 0)
    return np.sort(rng.choice(seen, SAMPLE, replace=False)) if len(seen) > SAMPLE else seen


def homogeneity(clicks: FloatArray, views: FloatArray) -> Homogeneity:
    """Pearson's chi-square of a table with one column an item.

    Its usual law holds where clicks are expected on every item. With very unequal views a single click on an item of
    few views makes a large part of the value, so that 5 % of the logs without a difference become 20 %. So tables are
    drawn with the pooled rate and the views of the log (parametric bootstrap), always the same for the same counts.
    """
    c, n = clicks[views > 0], views[views > 0]
    whole = np.rint(n) > 0  # corrected views are fractions
    return Homogeneity(float(_chi_square(c, n)), len(c) - 1, _chance(np.rint(c[whole]), np.rint(n[whole])))


def _chi_square(clicks: FloatArray, views: FloatArray) -> FloatArray:
    """Of tables with clicks of shape `(..., L)`, each with the pooled rate of its own; 0 if all are clicks, or none."""
    pooled = clicks.sum(axis=-1, keepdims=True) / views.sum()
    spread = pooled * (1 - pooled)
    parts = np.divide((clicks - views * pooled) ** 2, views * spread, out=np.zeros_like(clicks), where=spread > 0)
    return np.asarray(parts.sum(axis=-1))


def _chance(clicks: FloatArray, views: FloatArray) -> float:
    """Share of tables with equal rates, the log among them, whose chi-square is as large as that of the log."""
    if not len(views):
        return 1.0
    rng = np.random.default_rng(len(views))
    pooled, seen = clicks.sum() / views.sum(), _chi_square(clicks, views) * (1 - 1e-9)
    tables, rows = min(TABLES, NUMBERS // len(views)), -(-AT_ONCE // len(views))
    sizes = [min(rows, tables - start) for start in range(0, tables, rows)]
    drawn = (rng.binomial(views.astype(np.int64), pooled, (size, len(views))).astype(np.float64) for size in sizes)
    return float((1 + sum(int((_chi_square(table, views) >= seen).sum()) for table in drawn)) / (tables + 1))


def _likeliest(clicks: FloatArray, views: FloatArray) -> tuple[float, float]:
    """Mean and strength of the likeliest beta law; the strength is infinite if none is strong enough."""
    pairs, items = np.unique(np.stack([clicks, views]), axis=1, return_counts=True)
    middle = logit(pooled_rate(clicks, views))
    low, high = np.log(2 * SMALLEST_COUNT), np.log(STRONGEST * views.max())

    def lack(place: FloatArray) -> float:
        mean, strength = expit(place[0]), np.exp(place[1])
        a, b = strength * mean, strength * (1 - mean)
        if min(a, b) < SMALLEST_COUNT:
            return 1e300
        return -float(items @ log_likelihood(pairs[0], pairs[1], a, b))

    starts = [np.array([middle, log]) for log in np.linspace(low, high, 15)]
    found = minimize(
        lack,
        min(starts, key=lack),
        method="Nelder-Mead",
        bounds=[(middle - 5, middle + 5), (low, high)],
        options={"xatol": 1e-6, "fatol": 1e-7},
    )
    mean, strength = float(expit(found.x[0])), float(np.exp(found.x[1]))
    return mean, strength if found.x[1] < high - np.log(10) else float("inf")
