"""Stopping by the posterior probability that the answer is right, with lists by top-two Thompson sampling.

Each click probability has an independent beta law at first, the *prior*; after `S` clicks in `T` looks its law is
`Beta(a + S, b + T - S)`. What is shown depends on the past alone, so that this holds whatever decides what is shown.
The run stops as soon as the answer, the `K` largest posterior means, is right with posterior probability `1 - delta`.

What that guarantees: the posterior probability of an event, given what was seen, is the mean of its indicator. So for
any stopping time at which it is at least `1 - delta`, the answer is wrong with probability at most `delta` **on average
over click probabilities that are drawn from the prior**. There is no union bound over time to pay for. **Nothing is
promised in the worst case**: on an instance with small gaps, the prior finds them unlikely, and the answer may be wrong
more often than `delta`. For a promise on every instance take `kl-lucb++`.

The lists follow top-two Thompson sampling (Russo, 2016): take one draw of all click probabilities from the posterior,
and the first other draw with another set of `K` best items. The items that tell these two sets apart are shown. A rule
that is greedy on its posterior can stick to a wrong belief; draws come back to every item that may still matter.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import betainc, betaincc, betaln, ndtr

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.learners.protocol import check_list_length
from cascadebai_cli.learners.racing import by_mean
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

Prior = Literal["uniform", "jeffreys"]
PRIORS = {"uniform": 1.0, "jeffreys": 0.5}
"""Name of a prior -> both parameters of its beta law."""

# --- The chance that an answer is wrong -----------------------------------------------------------------------------
#
# The answer `A` counts as right if `min_A w > max_B w - epsilon`, where `B` holds the other items. Then it is
# epsilon-good, that is, `w(a) > w(K) - epsilon` for each `a` in `A`: if `A` is not the set of the `K` best, one of
# these, `b`, is in `B`, so that `max_B w >= w(b) >= w(K)`. (If `A` is that set, nothing is to be shown.)
#
# With `G` the law of `min_A w` and `F_b` that of `w(b)`, the chance that it is wrong is
#
#     `int (1 - prod_b F_b(x + epsilon)) dG(x)`.
#
# With `x = sin(t)^2` the density of each item becomes `2 sin(t)^(2a-1) cos(t)^(2b-1) / B(a, b)`, which has no
# singularity for the priors here, and the standard deviation of `t` is near `1 / (2 sqrt(a + b + 1))` for all means.


_TAIL = 8.0
"""Standard deviations of `t` beyond which no item has a mass that matters: less than 1e-9 for the priors here."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_WIDTH = 1.5
"""Width of a panel in standard deviations of the narrowest law there."""


def chance_of_error(a: FloatArray, b: FloatArray, inside: BoolArray, epsilon: float = 0.0) -> float:
    """Return the probability that an answer is wrong where items have independent beta laws; exact to 1e-6.

    Args:
        a, b: parameters of the laws, at least 1/2 each, shape `(L,)`.
        inside: mask of the answer.
        epsilon: tolerance.
    """
    edges = _edges(a, b, inside, epsilon)
    half = np.diff(edges) / 2
    t = (edges[:-1, None] + half[:, None] * (1 + _NODES)).ravel()
    x = np.sin(t) ** 2
    below = betainc(a[~inside], b[~inside], np.minimum(x + epsilon, 1)[:, None])
    with np.errstate(divide="ignore"):
        wrong = -np.expm1(np.log(below).sum(axis=1))
    mass = np.outer(half, _WEIGHTS).ravel() * _density_of_smallest(a[inside], b[inside], t, x)
    return float(np.clip(mass @ wrong, 0, 1))


def _density_of_smallest(a: FloatArray, b: FloatArray, t: FloatArray, x: FloatArray) -> FloatArray:
    """Return the density of the smallest click probability at `x = sin(t)^2`, with respect to `t`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = (2 * a - 1) * np.log(np.sin(t))[:, None] + (2 * b - 1) * np.log(np.cos(t))[:, None]
    density = 2 * np.exp(powers - betaln(a, b))
    above = betaincc(a, b, x[:, None])
    return np.asarray(above.prod(axis=1) * (density / np.maximum(above, 1e-300)).sum(axis=1))


def _edges(a: FloatArray, b: FloatArray, inside: BoolArray, epsilon: float) -> FloatArray:
    """Return the edges of panels that cover the law of the smallest item inside, short where a law is narrow.

    Items outside count at the place to which the tolerance shifts them.
    """
    spread = 0.5 / np.sqrt(a + b + 1)
    mean = a / (a + b)
    centre = np.arcsin(np.sqrt(mean))
    low = max((centre - _TAIL * spread)[inside].min(), 0.0)
    end = np.arcsin(np.sqrt(max(1 - epsilon, 0.0)))  # beyond it no answer is wrong, and laws outside rise steeply there
    high = min((centre + _TAIL * spread)[inside].min(), end)
    place = np.where(inside, centre, np.arcsin(np.sqrt(np.maximum(mean - epsilon, 0))))
    edges = [min(low, high)]
    while edges[-1] < high:
        now = edges[-1]
        step = _WIDTH * np.maximum(spread, np.abs(place - now) / 6).min()
        edges.append(min(now + min(step, max((end - now) / 2, 1e-5)), high))
    return np.array(edges)


# --- The learner ----------------------------------------------------------------------------------------------------


_DRAWS = 64


class Posterior:
    """Stops by the posterior probability that its answer is right; see above for what that guarantees.

    Args:
        L: number of items.
        K: number of items to find.
        delta: risk on average over the prior, in `(0, 1)`.
        epsilon: tolerance, 0 or larger.
        prior: `uniform`, which is Beta(1, 1), or `jeffreys`, Beta(1/2, 1/2), for each item.
        list_length: `M`, the number of items shown at once; `K` if `None`.
        rng: generator of the draws.

    Raises:
        ConfigError: for another prior, or a `list_length` that is none.
    """

    any_order = True  # what is shown depends on the past alone, so that the posterior is the same whatever decides it
    engines = ()

    def __init__(
        self,
        L: int,
        K: int,
        delta: float,
        epsilon: float = 0.0,
        prior: Prior = "uniform",
        list_length: int | None = None,
        *,
        rng: np.random.Generator,
    ) -> None:
        check_list_length(list_length)
        if prior not in PRIORS:
            raise ConfigError(f"prior is {prior!r}; {suggest(str(prior), PRIORS)}")
        self.K, self.delta, self.epsilon, self._rng = K, delta, epsilon, rng
        self.M, self._start = min(list_length or K, L), PRIORS[prior]
        self.take_place(np.zeros(L, np.int64), np.zeros(L, np.int64))

    def take_place(self, T: IntArray, S: IntArray) -> None:
        """Go on from these counts and clicks, shape `(L,)`."""
        self.T, self.S = T.copy(), S.copy()
        self.steps = self._next_look = self._lists = self._next_draw = 0
        self._wrong = 1.0

    @property
    def a(self) -> FloatArray:
        """First parameter of the law of each item."""
        return np.asarray(self.S + self._start)

    @property
    def b(self) -> FloatArray:
        """Second parameter of the law of each item."""
        return np.asarray(self.T - self.S + self._start)

    @property
    def mean(self) -> FloatArray:
        """Posterior means."""
        return np.asarray(self.a / (self.T + 2 * self._start))

    @property
    def inside(self) -> BoolArray:
        """Mask of the answer."""
        mask = np.zeros(len(self.T), bool)
        mask[by_mean(self.mean)[: self.K]] = True
        return mask

    @property
    def chance_of_error(self) -> float:
        """Posterior probability that the answer is wrong."""
        return chance_of_error(self.a, self.b, self.inside, self.epsilon)

    @property
    def finished(self) -> bool:
        """Whether the answer was right with posterior probability `1 - delta` when this was computed last.

        That is more and more seldom, and only if it may matter: a posterior probability may be looked at at any time.
        """
        if self._wrong > self.delta and self.steps >= self._next_look:
            self._next_look = self.steps + 1 + self.steps // 64
            if self._may_be_over():
                self._wrong = self.chance_of_error
        return self._wrong <= self.delta

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The items of the largest posterior means, in descending order."""
        return tuple(by_mean(self.mean)[: self.K].tolist())

    @property
    def answer(self) -> tuple[int, ...]:
        """The items to name now."""
        return self.recommendation

    def select(self) -> list[int]:
        """Return the items that tell two draws from the posterior apart, and others near the boundary, by looks.

        Each call takes another pair of draws, so that several lists may be taken before their outcomes are known.
        """
        if self._lists >= self._next_draw:
            self._renew()
        ranked = self._matter(self._lists % _DRAWS)[: self.M]
        self._lists += 1
        order: list[int] = ranked[np.argsort(self.T[ranked], kind="stable")].tolist()
        return order

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Update counts and sums of the items that were observed."""
        seen = np.array(shown[: len(outcomes)])
        self.T[seen] += 1
        self.S[seen] += np.array(outcomes)
        self.steps += 1

    def _may_be_over(self) -> bool:
        """Return whether each pair across the boundary may be in order, by a normal law, with twice the risk."""
        inside, mean = self.inside, self.mean
        spread = mean * (1 - mean) / (self.T + 2 * self._start + 1)
        gap = mean[inside][:, None] - mean[~inside] + self.epsilon
        return bool(ndtr(-(gap / np.sqrt(spread[inside][:, None] + spread[~inside])).min()) <= 2 * self.delta)

    def _renew(self) -> None:
        """Draw anew, and remember which items are among the best in each draw."""
        self._next_draw = self._lists + 1 + self._lists // 32
        drawn = self._rng.beta(self.a, self.b, (_DRAWS, len(self.T)))
        best = np.argpartition(-drawn, self.K - 1, axis=1)[:, : self.K]
        self._tops = np.zeros(drawn.shape, bool)
        np.put_along_axis(self._tops, best, True, axis=1)
        self._doubt = (self._tops != self.inside).mean(axis=0) + 1e-3 * self._nearness()

    def _nearness(self) -> FloatArray:
        """Return how near each item is to the boundary in its standard deviations, from 0 to 1 for at the boundary."""
        mean = self.mean
        border = np.sort(mean)[::-1][self.K - 1 : self.K + 1].mean()
        return np.asarray(
            1 / (1 + np.abs(mean - border) * np.sqrt((self.T + 2 * self._start + 1) / (mean * (1 - mean))))
        )

    def _matter(self, first: int) -> IntArray:
        """Return all items, those first that tell the draw `first` from the next one with another set of best items."""
        tops = np.roll(self._tops, -first, axis=0)
        apart = (tops != tops[0]).any(axis=1)
        differ = tops[0] != tops[apart.argmax()]  # nothing, if all draws agree
        return np.lexsort((-self._doubt, np.where(differ, self.T, 0), ~differ))
