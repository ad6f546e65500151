"""What clicks and views say about click probabilities."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, expit, logit, logsumexp

from cascadebai_cli.learners.posterior import BetaMixture, Laws
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

# --- Laws of click probabilities that a log leaves possible: mixtures of beta laws, drawn by Gibbs sampling ---------
#
# An item belongs to component `t` with chance `p(t)`, and then `w ~ Beta(s m, s (1 - m))` with that component's mean
# `m` and strength `s`; its clicks are binomial. `p` has a Dirichlet law with small parameters, so that components which
# are not needed stay empty. Such a mixture can be a single beta law, a few levels (each a strong component), or have
# long tails.


_COMPONENTS = 6
_SMALLEST_COUNT = 0.05
"""Smallest `s m` and `s (1 - m)`, so that no draw is 0 or 1."""
_STRONGEST = 1000.0
"""Largest strength of a law, as a multiple of the largest number of views of an item."""
_BURN_IN, _THIN = 300, 2
"""Sweeps of the sampler before the first law, and between two laws."""
_STEPS = 5
"""Metropolis steps of each component in a sweep."""
_SCALES = (-7.0, 1.0)
"""Logs of the smallest and the largest size of a Metropolis step, so that strong components move too."""


@dataclass(frozen=True, eq=False)
class Law:
    """A mixture of beta laws: chances of the components, `a = s m` and `b = s (1 - m)`, each of shape `(T,)`."""

    chances: FloatArray
    a: FloatArray
    b: FloatArray

    def weights(self, clicks: FloatArray, views: FloatArray) -> FloatArray:
        """Return the chance of each component given the counts of an item, shape `(L, T)`."""
        heights = _log_likelihood(clicks[:, None], views[:, None], self.a, self.b)
        with np.errstate(divide="ignore"):
            heights += np.log(self.chances)
        chances = np.exp(heights - heights.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _drawn(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw a component for each item with these weights; shape `(L,)`."""
    sums = weights.cumsum(axis=1)
    return np.asarray((sums < rng.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1))


def laws(clicks: FloatArray, views: FloatArray, rng: np.random.Generator) -> Iterator[Law]:
    """Yield laws drawn from those that the counts leave possible, without end.

    Args:
        clicks, views: counts of each item, shape `(L,)`; views are larger than 0.
        rng: source of the draws.
    """
    base = _Base.of(clicks, views)
    places = np.repeat([[base.middle], [base.first]], _COMPONENTS, axis=1)
    owner = np.zeros(len(clicks), dtype=np.int64)
    sweep = 0
    while True:
        counts = np.bincount(owner, minlength=_COMPONENTS)
        places = base.moved(places, owner, counts, rng)
        law = Law(rng.dirichlet(1 / _COMPONENTS + counts), *_counts(places))
        owner = _drawn(law.weights(clicks, views), rng)
        if sweep >= _BURN_IN and sweep % _THIN == 0:
            yield law
        sweep += 1


@dataclass(frozen=True, eq=False)
class _Base:
    """The counts, and the prior of a component.

    The log odds of its mean are normal around those of the pooled rate; their standard deviation is that of the items'
    log odds, and at least 1. Its strength `s` makes `s / (s + typical)` uniform, where `typical` is the median of the
    views: all degrees of shrinkage are equally likely.
    """

    clicks: FloatArray
    views: FloatArray
    middle: float
    spread: float
    typical: float
    strongest: float

    @property
    def first(self) -> float:
        """Log of a strength that is possible together with the middle mean."""
        return float(np.log(max(self.typical, 2 * _SMALLEST_COUNT * (2 + np.exp(abs(self.middle))))))

    @classmethod
    def of(cls, clicks: FloatArray, views: FloatArray) -> "_Base":
        pooled = _pooled_rate(clicks, views)
        odds = logit((clicks + pooled) / (views + 1))
        typical = float(np.median(views))
        return cls(
            clicks, views, float(logit(pooled)), max(1.0, float(odds.std())), typical, float(_STRONGEST * views.max())
        )

    def moved(self, places: FloatArray, owner: IntArray, counts: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return log odds of the means and logs of the strengths after some Metropolis steps, shape `(2, T)`."""
        fresh = self._fresh(rng)
        places = np.where((counts == 0) & self._possible(*_counts(fresh)), fresh, places)
        height = self._height(places, owner)
        for _ in range(_STEPS):
            scale = np.exp(rng.uniform(*_SCALES, places.shape))
            proposed = places + scale * rng.standard_normal(places.shape)
            new = self._height(proposed, owner)
            taken = np.log(rng.random(_COMPONENTS)) < new - height
            places, height = np.where(taken, proposed, places), np.where(taken, new, height)
        return places

    def _fresh(self, rng: np.random.Generator) -> FloatArray:
        """Draw components from their prior; some may not be possible."""
        share = rng.random(_COMPONENTS)
        middles = rng.normal(self.middle, self.spread, _COMPONENTS)
        return np.stack([middles, np.log(self.typical) + logit(share)])

    def _possible(self, a: FloatArray, b: FloatArray) -> BoolArray:
        return (np.minimum(a, b) >= _SMALLEST_COUNT) & (a + b <= self.strongest)

    def _height(self, places: FloatArray, owner: IntArray) -> FloatArray:
        """Return the log posterior of each component with its items, up to a constant, shape `(T,)`."""
        a, b = _counts(places)
        middles, logs = places
        before = -0.5 * ((middles - self.middle) / self.spread) ** 2 + logs
        before -= 2 * np.log(np.exp(logs) + self.typical)
        terms = _log_likelihood(self.clicks, self.views, a[owner], b[owner])
        return np.where(self._possible(a, b), before + np.bincount(owner, terms, _COMPONENTS), -np.inf)


def _counts(places: FloatArray) -> tuple[FloatArray, FloatArray]:
    strength = np.exp(np.minimum(places[1], 700))
    return strength * expit(places[0]), strength * expit(-places[0])


def _log_likelihood(clicks: FloatArray, views: FloatArray, a: FloatArray | float, b: FloatArray | float) -> FloatArray:
    """Return the log likelihood of the counts, up to binomial coefficients."""
    return np.asarray(betaln(clicks + a, views - clicks + b) - betaln(a, b))


def _pooled_rate(clicks: FloatArray, views: FloatArray) -> float:
    """Return the rate of all items together, never 0 or 1."""
    return float((clicks.sum() + 0.5) / (views.sum() + 1))


# --- What clicks and views say about click probabilities ------------------------------------------------------------
#
# Clicks are binomial. Each item's `w` has the same prior law, a mixture of beta laws; the log leaves many such mixtures
# possible (`laws`). The single beta law of the largest likelihood says in two numbers how much the items differ.


_SAMPLE = 1000
"""Largest number of items from which laws are estimated."""
_NUMBERS = 5_000_000
"""Largest number of values drawn for intervals, and for the test that all rates are equal."""
_TABLES = 9_999
"""Largest number of tables drawn for that test."""
_AT_ONCE = 1_000_000
"""Number of values drawn at once."""
_FITTED, _APART = 16, 10
"""Number of laws of a prior, and how many draws of those that a log leaves possible lie from one to the next."""
_UNIFORM_SHARE = 0.1
"""Share of that prior that is left to the uniform law, for items that are unlike those of the log."""
_RAREST, _DIGITS = 1e-6, 12
"""Chance up to which a component of that prior is left out, and the digits of its numbers."""


@dataclass(frozen=True)
class Homogeneity:
    """Pearson's test that all items have one click probability.

    Attributes:
        chi_square, degrees: statistic and degrees of freedom; items without views do not count.
        p_value: chance of a value at least as large if all rates are equal, by parametric bootstrap; at least
            1 / (1 + number of drawn tables).
    """

    chi_square: float
    degrees: int
    p_value: float

    @classmethod
    def of(cls, clicks: FloatArray, views: FloatArray) -> "Homogeneity":
        """Test by Pearson's chi-square whether all items have one rate, in a table with one column per item.

        The chi-square law holds only if clicks are expected on every item. With very unequal views a single click on an
        item with few views makes up much of the statistic, and a test at level 5 % rejects 20 % of the logs with equal
        rates. So the p-value comes from tables drawn with the pooled rate and the views of the log (parametric
        bootstrap), always the same tables for the same counts.
        """
        c, n = clicks[views > 0], views[views > 0]
        whole = np.rint(n) > 0  # corrected views are no whole numbers
        return cls(float(_chi_square(c, n)), len(c) - 1, _chance(np.rint(c[whole]), np.rint(n[whole])))


@dataclass(frozen=True, eq=False)
class RateLaw:
    """Posterior of the click probabilities: a mixture of `D` products of beta laws.

    Attributes:
        clicks, views: counts of each item, shape `(L,)`.
        mean, strength: the likeliest single beta law; its mean counts like `strength` more views of each item. The
            strength is infinite if the items differ no more than by chance.
        homogeneity: the test whether all items have one rate.
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
        """Draw all click probabilities once under each law, shape `(D, L)`."""
        return rng.beta(self.a, self.b)

    def interval(self, level: float = 0.9) -> FloatArray:
        """Return an equal-tailed interval of each item, estimated from draws, shape `(2, L)`."""
        each = int(np.clip(_NUMBERS // self.a.size, 1, 10))
        drawn = np.random.default_rng(0).beta(self.a, self.b, (each, *self.a.shape)).reshape(-1, len(self.clicks))
        return np.asarray(np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0))

    @classmethod
    def of(cls, clicks: ArrayLike, views: ArrayLike, draws: int = 400, seed: int = 0) -> "RateLaw":
        """Return what a log leaves open. Items without views say nothing and have the law of the others.

        Args:
            clicks: number of clicks of each item, `0 <= clicks <= views`, one of them larger than 0; or, where they are
                not known exactly, one row for each law, shape `(D, L)`.
            views: number of views of each item, 0 or larger.
            draws: number `D` of laws.
            seed: seed of the draws.
        """
        n = np.asarray(views, dtype=np.float64)
        rows = np.broadcast_to(np.asarray(clicks, dtype=np.float64), (draws, len(n)))
        c = rows.mean(axis=0) if np.ndim(clicks) > 1 else rows[0]
        rng = np.random.default_rng([seed, len(c)])
        seen = _sample(n, rng)
        a, b = np.empty((2, draws, len(c)))
        expected = np.zeros(len(c))
        for d, law in enumerate(islice(laws(c[seen], n[seen], rng), draws)):
            mine = rows[d]
            weights = law.weights(mine, n)
            owner = _drawn(weights, rng)
            a[d], b[d] = mine + law.a[owner], n - mine + law.b[owner]
            expected += (weights * (mine[:, None] + law.a) / (n[:, None] + law.a + law.b)).sum(axis=1) / draws
        return cls(c, n, *_likeliest(c[seen], n[seen]), Homogeneity.of(c, n), expected, a, b)


def first_draws(clicks: ArrayLike, views: ArrayLike, draws: int) -> FloatArray:
    """Draw all click probabilities from the likeliest single beta law, shape `(draws, L)`: rough, and quick."""
    c, n = np.asarray(clicks, dtype=np.float64), np.asarray(views, dtype=np.float64)
    rng = np.random.default_rng(len(c))
    seen = _sample(n, rng)
    mean, strength = _likeliest(c[seen], n[seen])
    s = min(strength, _STRONGEST * float(n.max()))
    return rng.beta(c + s * mean, n - c + s * (1 - mean), (draws, len(c)))


def _sample(views: FloatArray | IntArray, rng: np.random.Generator) -> IntArray:
    """Return the items from which laws are estimated."""
    seen = np.flatnonzero(views > 0)
    return np.sort(rng.choice(seen, _SAMPLE, replace=False)) if len(seen) > _SAMPLE else seen


def fitted_prior(looks: IntArray, clicks: IntArray, start: Sequence[int] | slice = slice(None)) -> Laws:
    """Return laws drawn from those that the counts of a log leave possible, each mixed with the uniform law.

    Args:
        looks, clicks: counts of each item of the log, shape `(L,)`.
        start: which of these counts a test begins with. After them all laws have the same chance, so that the weight of
            each before is smaller by what they say for it.
    """
    rng = np.random.default_rng(int((looks > 0).sum()))
    seen = _sample(looks, rng)
    drawn_laws = laws(clicks[seen].astype(np.float64), looks[seen].astype(np.float64), rng)
    found = [_with_uniform(law) for law in islice(drawn_laws, 0, _FITTED * _APART, _APART)]
    return tuple((_rounded(-_height(law, clicks[start], looks[start])), law) for law in found)


def _with_uniform(law: Law) -> BetaMixture:
    kept = (1 - _UNIFORM_SHARE) * law.chances
    components = [one for one in zip(kept, law.a, law.b, strict=True) if one[0] > _RAREST]
    return (*((_rounded(q), _rounded(a), _rounded(b)) for q, a, b in components), (_UNIFORM_SHARE, 1.0, 1.0))


def _height(law: BetaMixture, clicks: IntArray, looks: IntArray) -> float:
    """Return the log likelihood of the counts of all items, up to binomial coefficients."""
    chances, a, b = np.array(law).T
    of_item = _log_likelihood(clicks[:, None].astype(np.float64), looks[:, None].astype(np.float64), a, b)
    return float(logsumexp(of_item, b=chances, axis=1).sum())


def _rounded(number: float) -> float:
    """Return a parameter of a law without the digits that differ between processors."""
    return float(f"{number:.{_DIGITS}g}")


def _chi_square(clicks: FloatArray, views: FloatArray) -> FloatArray:
    """Return chi-square of tables with clicks of shape `(..., L)`, each with its own pooled rate.

    It is 0 where all views are clicks, or none is.
    """
    pooled = clicks.sum(axis=-1, keepdims=True) / views.sum()
    spread = pooled * (1 - pooled)
    parts = np.divide((clicks - views * pooled) ** 2, views * spread, out=np.zeros_like(clicks), where=spread > 0)
    return np.asarray(parts.sum(axis=-1))


def _chance(clicks: FloatArray, views: FloatArray) -> float:
    """Return the share of tables with equal rates, the log among them, whose chi-square is at least that of the log."""
    if not len(views):
        return 1.0
    rng = np.random.default_rng(len(views))
    pooled, seen = clicks.sum() / views.sum(), _chi_square(clicks, views) * (1 - 1e-9)
    tables, rows = min(_TABLES, _NUMBERS // len(views)), -(-_AT_ONCE // len(views))
    sizes = [min(rows, tables - start) for start in range(0, tables, rows)]
    drawn = (rng.binomial(views.astype(np.int64), pooled, (size, len(views))).astype(np.float64) for size in sizes)
    return float((1 + sum(int((_chi_square(table, views) >= seen).sum()) for table in drawn)) / (tables + 1))


def _likeliest(clicks: FloatArray, views: FloatArray) -> tuple[float, float]:
    """Return mean and strength of the likeliest beta law; the strength is infinite if no finite one is large enough."""
    from scipy.optimize import minimize

    pairs, items = np.unique(np.stack([clicks, views]), axis=1, return_counts=True)
    middle = logit(_pooled_rate(clicks, views))
    low, high = np.log(2 * _SMALLEST_COUNT), np.log(_STRONGEST * views.max())

    def lack(place: FloatArray) -> float:
        mean, strength = expit(place[0]), np.exp(place[1])
        a, b = strength * mean, strength * (1 - mean)
        if min(a, b) < _SMALLEST_COUNT:
            return 1e300
        return -float(items @ _log_likelihood(pairs[0], pairs[1], a, b))

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
