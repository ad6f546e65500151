"""Laws of click probabilities that a log leaves possible: mixtures of beta laws, drawn by Gibbs sampling.

An item belongs to component `t` with chance `p(t)`, and then `w ~ Beta(s m, s (1 - m))` with that component's mean `m`
and strength `s`; its clicks are binomial. `p` has a Dirichlet law whose numbers are small, so that components which are
not needed stay empty. One beta law is a mixture, and so are few levels, each a strong component, and long tails.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, expit, logit

from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

COMPONENTS = 6
SMALLEST_COUNT = 0.05
"""Least `s m` and `s (1 - m)`, so that draws are no zeros and ones."""
STRONGEST = 1000.0
"""Largest strength of a law over the most views of an item."""
BURN_IN, THIN = 300, 2
"""Sweeps before the first law, and between two."""
STEPS = 5
"""Metropolis steps of each component in a sweep."""
SCALES = (-7.0, 1.0)
"""Logs of the smallest and the largest step, so that strong components move too."""


@dataclass(frozen=True, eq=False)
class Law:
    """A mixture: chances, and means and strengths as counts `a = s m`, `b = s (1 - m)`, each of shape `(T,)`."""

    chances: FloatArray
    a: FloatArray
    b: FloatArray

    def weights(self, clicks: FloatArray, views: FloatArray) -> FloatArray:
        """Chance of each component given an item's counts, shape `(L, T)`."""
        heights = log_likelihood(clicks[:, None], views[:, None], self.a, self.b)
        with np.errstate(divide="ignore"):
            heights += np.log(self.chances)
        chances = np.exp(heights - heights.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def drawn(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """A component for each item, by its weights, shape `(L,)`."""
    sums = weights.cumsum(axis=1)
    return np.asarray((sums < rng.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1))


def laws(clicks: FloatArray, views: FloatArray, rng: np.random.Generator) -> Iterator[Law]:
    """Laws drawn from what the counts leave possible, without end.

    Args:
        clicks, views: of each item, shape `(L,)`; views are larger than 0.
        rng: where the draws come from.
    """
    base = _Base.of(clicks, views)
    places = np.repeat([[base.middle], [base.first]], COMPONENTS, axis=1)
    owner = np.zeros(len(clicks), dtype=np.int64)
    sweep = 0
    while True:
        counts = np.bincount(owner, minlength=COMPONENTS)
        places = base.moved(places, owner, counts, rng)
        law = Law(rng.dirichlet(1 / COMPONENTS + counts), *_counts(places))
        owner = drawn(law.weights(clicks, views), rng)
        if sweep >= BURN_IN and sweep % THIN == 0:
            yield law
        sweep += 1


@dataclass(frozen=True, eq=False)
class _Base:
    """The counts, and what is thought of a component beforehand.

    The log odds of its mean are normal around the pooled rate, with the spread of the items' and at least 1; its
    strength is flat in `s / (s + typical)`, the typical one being the median of the views: all degrees of shrinkage are
    as likely.
    """

    clicks: FloatArray
    views: FloatArray
    middle: float
    spread: float
    typical: float
    strongest: float

    @property
    def first(self) -> float:
        """Log of a strength that is possible with the middle mean."""
        return float(np.log(max(self.typical, 2 * SMALLEST_COUNT * (2 + np.exp(abs(self.middle))))))

    @classmethod
    def of(cls, clicks: FloatArray, views: FloatArray) -> "_Base":
        pooled = pooled_rate(clicks, views)
        odds = logit((clicks + pooled) / (views + 1))
        typical = float(np.median(views))
        return cls(
            clicks, views, float(logit(pooled)), max(1.0, float(odds.std())), typical, float(STRONGEST * views.max())
        )

    def moved(self, places: FloatArray, owner: IntArray, counts: IntArray, rng: np.random.Generator) -> FloatArray:
        """Log odds of the means and logs of the strengths after some Metropolis steps, shape `(2, T)`."""
        fresh = self._fresh(rng)
        places = np.where((counts == 0) & self._possible(*_counts(fresh)), fresh, places)
        height = self._height(places, owner)
        for _ in range(STEPS):
            scale = np.exp(rng.uniform(*SCALES, places.shape))
            proposed = places + scale * rng.standard_normal(places.shape)
            new = self._height(proposed, owner)
            taken = np.log(rng.random(COMPONENTS)) < new - height
            places, height = np.where(taken, proposed, places), np.where(taken, new, height)
        return places

    def _fresh(self, rng: np.random.Generator) -> FloatArray:
        """Components as they are thought of beforehand, some of which may not be possible."""
        share = rng.random(COMPONENTS)
        middles = rng.normal(self.middle, self.spread, COMPONENTS)
        return np.stack([middles, np.log(self.typical) + logit(share)])

    def _possible(self, a: FloatArray, b: FloatArray) -> BoolArray:
        return (np.minimum(a, b) >= SMALLEST_COUNT) & (a + b <= self.strongest)

    def _height(self, places: FloatArray, owner: IntArray) -> FloatArray:
        """Log of the chance of each component and its items, shape `(T,)`."""
        a, b = _counts(places)
        middles, logs = places
        before = -0.5 * ((middles - self.middle) / self.spread) ** 2 + logs
        before -= 2 * np.log(np.exp(logs) + self.typical)
        terms = log_likelihood(self.clicks, self.views, a[owner], b[owner])
        return np.where(self._possible(a, b), before + np.bincount(owner, terms, COMPONENTS), -np.inf)


def _counts(places: FloatArray) -> tuple[FloatArray, FloatArray]:
    strength = np.exp(np.minimum(places[1], 700))
    return strength * expit(places[0]), strength * expit(-places[0])


def log_likelihood(clicks: FloatArray, views: FloatArray, a: FloatArray | float, b: FloatArray | float) -> FloatArray:
    """Log of the chance of the counts, but for binomial coefficients."""
    return np.asarray(betaln(clicks + a, views - clicks + b) - betaln(a, b))


def pooled_rate(clicks: FloatArray, views: FloatArray) -> float:
    """The rate of all items together, never 0 or 1."""
    return float((clicks.sum() + 0.5) / (views.sum() + 1))
