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
that is greedy on its posterior can stick to a wrong belief; draws come back to every item that may still matter. What
is shown needs no exact law: draws are normal on the scale of `arcsin(sqrt(w))`.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.learners.protocol import by_mean, check_list_length
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

_Whole = TypeVar("_Whole", int, IntArray)
BetaMixture = tuple[tuple[float, float, float], ...]
"""A mixture of beta laws: the chance and both parameters of each component."""
Laws = tuple[tuple[float, BetaMixture], ...]
"""Laws of which one, unknown which, is that of all items: the log of the weight of each at first, and the law."""
PRIORS: dict[str, Laws] = {"uniform": ((0.0, ((1.0, 1.0, 1.0),)),), "jeffreys": ((0.0, ((1.0, 0.5, 0.5),)),)}
"""Name of a prior -> its only law."""

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
# singularity for `a` and `b` from 1/2 on, and a standard deviation near `1 / (2 sqrt(a + b))` for all means.


_TAIL = 7.0
"""Standard deviations of `t` beyond which no item has a mass that matters: less than 1e-8 for the priors here."""
_WIDTH = 3.0
"""Width of a panel in standard deviations of the narrowest law there."""
_FINEST = 24
"""Panels that replace the first or the last one where densities are steep, each a fourth of the one before."""
_NEAREST = 1e-7
"""Distance from the place of `w = 1` from which on floats tell items apart."""
_RARE = 1e-9
"""Components of a mixture with smaller chances have no panels of their own, and laws with smaller ones do not count."""


@cache
def _gauss() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what integrates over a panel `[-1, 1]`: nodes, weights, and weights for the integral from each node on."""
    from numpy.polynomial import legendre  # as `scipy.special` below: a worker without posteriors does not load it

    nodes, weights = legendre.leggauss(10)
    integrals = legendre.legint(np.eye(len(nodes)))
    rest = legendre.legval(1, integrals) - legendre.legval(nodes, integrals).T
    return nodes, weights, rest @ np.linalg.inv(legendre.legvander(nodes, len(nodes) - 1))


def chance_of_error(
    a: FloatArray, b: FloatArray, inside: BoolArray, epsilon: float = 0.0, chances: FloatArray | None = None
) -> float:
    """Return the probability that an answer is wrong where items have independent laws; exact to 1e-6.

    A parameter below 1/2 puts mass so near 0 or 1 that floats cannot tell items apart; this mass counts as wrong.

    Args:
        a, b: parameters of the beta laws, shape `(L,)`; or of mixtures of `C`, shape `(C, L)`.
        inside: mask of the answer.
        epsilon: tolerance.
        chances: chance of each component of a mixture, shape `(C, L)`.
    """
    a, b = np.atleast_2d(a, b)
    chances = np.ones(a.shape) if chances is None else chances
    known = np.where(chances < _RARE, np.nan, 1.0)
    edges = _edges(a, b, known, inside, epsilon)
    steep = bool(np.nanmin(known * np.minimum(a, b)) < 0.5)
    if steep and len(edges) > 1:
        edges = _finer(edges)
    nodes, weights, _ = _gauss()
    half = np.diff(edges) / 2
    t = (edges[:-1, None] + half[:, None] * (1 + nodes)).ravel()
    x = np.sin(t) ** 2
    best, rest = (np.stack([chances, a, b], axis=1)[..., items] for items in (inside, ~inside))
    density, top = _density(best, t), np.sin(edges[-1:]) ** 2
    if len(a) == 1 or steep:
        law, below = _at_most(best, x), _at_most(rest, np.minimum(x + epsilon, 1))
    else:  # components are many, and their laws slow to compute one by one
        size, u = np.repeat(half, len(nodes))[:, None], np.arcsin(np.sqrt(np.minimum(x + epsilon, 1)))
        slope = size * (np.sin(2 * t) / np.maximum(np.sin(2 * u), 1e-300))[:, None]
        law = _at_most(best, top) - _to_the_end(size * density)
        below = _at_most(rest, np.minimum(top + epsilon, 1)) - _to_the_end(slope * _density(rest, u))
    with np.errstate(divide="ignore"):
        wrong = -np.expm1(np.log(np.maximum(below, 0)).sum(axis=1))
    above = np.maximum(1 - law, 1e-300)  # `betaincc` is slow
    smallest = above.prod(axis=1) * (density / above).sum(axis=1)
    mass = np.outer(half, weights).ravel() * smallest
    untold = 0.0
    if steep:
        right = float((1 - _at_most(best, top)).prod()) if epsilon else 0.0
        untold = max(1 - float(mass.sum()) - right, 0.0)
    return float(np.clip(mass @ wrong + untold, 0, 1))


def _density(components: FloatArray, t: FloatArray) -> FloatArray:
    """Return the density of each item at `w = sin(t)^2`, with respect to `t`, shape `(n, L)`.

    Components are their chances and both parameters for each item, shape `(C, 3, L)`.
    """
    from scipy.special import betaln

    with np.errstate(divide="ignore", invalid="ignore"):
        sine, cosine = np.log(np.sin(t))[:, None], np.log(np.cos(t))[:, None]
    logs = ((q, (2 * a - 1) * sine + (2 * b - 1) * cosine - betaln(a, b)) for q, a, b in components)
    return np.asarray(sum(2 * q * np.exp(log) for q, log in logs))


def _at_most(components: FloatArray, x: FloatArray) -> FloatArray:
    """Return the chance of each item that its click probability is at most `x`, shape `(n, L)`."""
    from scipy.special import betainc

    return np.asarray(sum(q * betainc(a, b, x[:, None]) for q, a, b in components))


def _to_the_end(values: FloatArray) -> FloatArray:
    """Return integrals from each node to the end of the last panel; shape `(n, L)`, as the values at the nodes."""
    nodes, weights, rest = _gauss()
    panels = values.reshape(-1, len(nodes), values.shape[1])
    sums = weights @ panels
    after = sums[::-1].cumsum(axis=0)[::-1] - sums
    return np.asarray((rest @ panels + after[:, None]).reshape(values.shape))


def _edges(a: FloatArray, b: FloatArray, known: FloatArray, inside: BoolArray, epsilon: float) -> FloatArray:
    """Return the edges of panels that cover the law of the smallest item inside, short where a law is narrow.

    Items outside count at the place to which the tolerance shifts them. Components that are not `known` do not count.
    """
    centre, spread = _normal(a, b)
    centre, spread = centre * known, spread * known
    low = max(float(np.nanmin((centre - _TAIL * spread)[:, inside])), 0.0)
    end = float(np.arcsin(np.sqrt(max(1 - epsilon, 0.0))))  # beyond it no answer is wrong; laws outside rise steeply
    high = min(float(np.nanmax(centre + _TAIL * spread, axis=0)[inside].min()), end)
    place = np.where(inside, centre, np.arcsin(np.sqrt(np.maximum(np.sin(centre) ** 2 - epsilon, 0))))
    edges = [min(low, high)]
    while edges[-1] < high:
        now = edges[-1]
        step = _WIDTH * float(np.nanmin(np.maximum(spread, np.abs(place - now) / 6)))
        edges.append(min(now + min(step, max((end - now) / 2, 1e-5)), high))
    return np.array(edges)


def _finer(edges: FloatArray) -> FloatArray:
    """Return the edges with smaller and smaller panels towards 0 and 1, but for the last bit, where nothing is told."""
    shares, left = 4.0 ** -np.arange(_FINEST), np.pi / 2 - edges[-2:]
    low = edges[1] * shares if edges[0] == 0 else edges[:1]
    high = np.pi / 2 - left[0] * shares[left[0] * shares > _NEAREST] if left[1] < _NEAREST else edges[-1:]
    return np.unique(np.concatenate([low, edges[1:-1], high]))


def _normal(a: NDArray[Any], b: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the normal law that `arcsin(sqrt(w))` nearly has."""
    return np.arcsin(np.sqrt(a / (a + b))), 0.5 / np.sqrt(a + b)


# --- The rule -------------------------------------------------------------------------------------------------------


DRAWS = 32
"""Number of draws from the posterior that are made at once."""
_FAR = np.int64(1) << 40
"""More looks than an item ever has."""
_CELLS = 12
"""Cells of the rough sum by which most states are known not to end a run."""


@dataclass(frozen=True)
class PosteriorRule:
    """The part that does not change during a run; its methods take arrays whose last axis is that of the items.

    Arguments are those of `Posterior`, with `M` items of a list.
    """

    L: int
    K: int
    delta: float
    epsilon: float
    prior: Laws
    M: int

    @cached_property
    def _start(self) -> FloatArray:
        """Chances and parameters of the components of all laws, shape `(3, C, 1)`, with an axis for the items."""
        return np.array([component for _, law in self.prior for component in law]).T[:, :, None]

    @cached_property
    def _law(self) -> IntArray:
        """Number of the law of each component, shape `(C,)`."""
        return np.repeat(np.arange(len(self.prior)), [len(law) for _, law in self.prior])

    def laws(self, T: IntArray, S: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return what is believed after these counts, of the laws and of each item under each law.

        Returns:
            the chance of each law, shape `(..., D)`; and the chance of each component given its law, and both of its
            parameters, shape `(..., C, L)` each, where the components of all laws stand one after another.
        """
        chances, a0, b0 = self._start
        a, b = a0 + S[..., None, :], b0 + (T - S)[..., None, :]
        if len(chances) == 1:
            return np.ones((*a.shape[:-2], 1)), np.ones(a.shape), a, b
        from scipy.special import betaln, softmax

        heights = np.log(chances) + betaln(a, b) - betaln(a0, b0)
        found, logs = [], []
        for law, (log, _) in enumerate(self.prior):
            part = heights[..., self._law == law, :]
            most = part.max(axis=-2, keepdims=True)
            weights = np.exp(part - most)
            sums = weights.sum(axis=-2, keepdims=True)
            found.append(weights / sums)
            logs.append(log + (most + np.log(sums)).sum(axis=(-2, -1)))
        return softmax(np.stack(logs, axis=-1), axis=-1), np.concatenate(found, axis=-2), a, b

    def components(self, T: IntArray, S: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return chances and parameters of the components of each item's own law, shape `(..., C, L)`."""
        of_law, chances, a, b = self.laws(T, S)
        return chances * of_law[..., self._law, None], a, b

    def drawn(self, T: IntArray, S: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw the click probabilities of all items `n` times from the posterior, shape `(n, L)`.

        Each draw has one law for all items, and each law its share of the draws.
        """
        of_law, chances, a, b = self.laws(T, S)
        law = np.searchsorted(of_law.cumsum()[:-1], (np.arange(n) + 0.5) / n)
        sums = ((self._law == law[:, None])[:, :, None] * chances).cumsum(axis=1)
        component = (rng.random((n, 1, self.L)) > sums[:, :-1]).sum(axis=1)
        return rng.beta(*(np.take_along_axis(of, component, axis=0) for of in (a, b)))

    def mean(self, T: IntArray, S: IntArray) -> FloatArray:
        """Return the posterior means."""
        return self.moments(T, S)[0]

    def moments(self, T: IntArray, S: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return posterior means, and centres and spreads of the normal laws that `arcsin(sqrt(w))` nearly has."""
        chances, a, b = self.components(T, S)
        centre, spread = _normal(a, b)
        middle = (chances * centre).sum(axis=-2)
        away = centre - middle[..., None, :]
        return (chances * a / (a + b)).sum(axis=-2), middle, np.sqrt((chances * (spread**2 + away**2)).sum(axis=-2))

    def inside(self, mean: FloatArray) -> BoolArray:
        """Return the mask of the answer."""
        return np.asarray(np.argsort(by_mean(mean), axis=-1) < self.K)  # the rank of each item

    def chance_of_error(self, T: IntArray, S: IntArray, answer: BoolArray | None = None) -> float:
        """Return the posterior probability that an answer is wrong, by default that of the largest means."""
        return sum(self._shares_of_error(T, S, answer))

    def is_sure(self, T: IntArray, S: IntArray) -> bool:
        """Return whether the answer is wrong with at most the risk, as soon as laws enough are asked to say so."""
        return not any(known > self.delta for known in itertools.accumulate(self._shares_of_error(T, S)))

    def _shares_of_error(self, T: IntArray, S: IntArray, answer: BoolArray | None = None) -> Iterator[float]:
        """Yield the probability that a law is the true one and an answer is wrong, by laws from the likeliest on."""
        of_law, chances, a, b = self.laws(T, S)
        inside = self.inside(self.mean(T, S)) if answer is None else answer
        for law in np.argsort(-of_law, kind="stable").tolist():
            if of_law[law] > _RARE:
                part = self._law == law
                yield of_law[law] * chance_of_error(a[part], b[part], inside, self.epsilon, chances[part])

    def may_be_over(self, T: IntArray, S: IntArray) -> BoolArray:
        """Return whether the answer is wrong with twice the risk at most, by a rough sum with normal laws."""
        from scipy.special import ndtr

        mean, centre, spread = self.moments(T, S)
        order = by_mean(mean)
        best, rest = order[..., : self.K], order[..., self.K :]
        (m, s), (n, r) = ([np.take_along_axis(of, at, -1) for of in (centre, spread)] for at in (best, rest))
        low, high = (m - 4 * s).min(-1)[..., None], (m + 4 * s).min(-1)[..., None]
        t = low + (high - low) * np.linspace(0, 1, _CELLS + 1)
        above = ndtr((m[..., None, :] - t[..., None]) / s[..., None, :]).prod(axis=-1)
        middle = (t[..., 1:] + t[..., :-1]) / 2
        if self.epsilon:
            middle = np.arcsin(np.sqrt(np.minimum(np.sin(np.clip(middle, 0, np.pi / 2)) ** 2 + self.epsilon, 1)))
        below = ndtr((middle[..., None] - n[..., None, :]) / r[..., None, :]).prod(axis=-1)
        return np.asarray(((above[..., :-1] - above[..., 1:]) * (1 - below)).sum(axis=-1) <= 2 * self.delta)

    def pause(self, steps: _Whole) -> _Whole:
        """Return how many steps to make until the next question whether the run is over."""
        return 1 + steps // 64

    def renewal(self, lists: _Whole) -> _Whole:
        """Return how many lists are made with the same draws."""
        return 1 + lists // 32

    def draw(self, T: IntArray, S: IntArray, noise: FloatArray) -> tuple[BoolArray, IntArray]:
        """Return for each draw which items tell it from the next other one, and the items by how doubtful they are.

        Args:
            T, S: counts and clicks, shape `(..., L)`.
            noise: standard normal numbers, shape `(..., draws, L)`.

        Returns:
            a mask, shape `(..., draws, L)`, and the items in descending order of doubt, shape `(..., L)`.
        """
        mean, centre, spread = self.moments(T, S)
        drawn = centre[..., None, :] + spread[..., None, :] * noise
        tops = drawn >= np.partition(drawn, self.L - self.K, axis=-1)[..., self.L - self.K, None]
        border = np.partition(mean, (self.L - self.K - 1, self.L - self.K), axis=-1)
        border = border[..., self.L - self.K - 1 : self.L - self.K + 1].sum(axis=-1, keepdims=True) / 2
        near = 1 / (1 + np.abs(np.arcsin(np.sqrt(border)) - centre) / spread)
        doubt = (tops != self.inside(mean)[..., None, :]).mean(axis=-2) + 1e-3 * near
        return _apart(tops), np.argsort(-doubt, axis=-1, kind="stable")

    def listed(self, T: IntArray, apart: BoolArray, doubtful: IntArray) -> tuple[IntArray, IntArray]:
        """Return the items of the next list, the least observed first, and their counts, shape `(..., M)` each.

        These are the least observed of the items that tell two draws `apart`, then others by doubt, given the counts in
        the steps made, a row of the mask that `draw` returned, and its order, shape `(..., L)` each.
        """
        bits = self.L.bit_length()  # a count and a place in one number, as sorting numbers is fast
        key = np.take_along_axis(np.where(apart, T, _FAR), doubtful, -1) << bits | np.arange(self.L)
        first = np.take_along_axis(doubtful, np.sort(key, axis=-1)[..., : self.M] & (1 << bits) - 1, -1)
        turn = np.sort(np.take_along_axis(T, first, -1) << bits | np.arange(self.M), axis=-1)
        return np.take_along_axis(first, turn & (1 << bits) - 1, -1), turn >> bits


def _apart(tops: BoolArray) -> BoolArray:
    """Return for each draw in which items the next draw with another set differs; in none if all agree."""
    n = tops.shape[-2]
    changes = (tops != np.roll(tops, 1, axis=-2)).any(axis=-1)
    place = np.where(np.concatenate([changes, changes], axis=-1), np.arange(2 * n), 2 * n)
    following = np.minimum.accumulate(place[..., ::-1], axis=-1)[..., ::-1][..., 1 : n + 1]
    other = np.where(following < 2 * n, following, np.arange(n)) % n
    return np.asarray(tops != np.take_along_axis(tops, other[..., None], axis=-2))


# --- The learner ----------------------------------------------------------------------------------------------------


def _counts_of(known: Sequence[Sequence[int]], L: int) -> tuple[IntArray, IntArray]:
    """Return the looks and the clicks of pairs, one for each item.

    Raises:
        ConfigError: naming what is wrong.
    """
    if len(known) != L:
        raise ConfigError(f"known has {len(known)} pairs, but there are {L} items; give [looks, clicks] for each")
    for place, pair in enumerate(known, 1):
        if len(pair) != 2 or any(type(number) is not int for number in pair) or not 0 <= pair[1] <= pair[0]:
            needed = "[looks, clicks], two whole numbers of which clicks is from 0 to looks"
            raise ConfigError(f"known: pair {place} is {list(pair)!r}, but must be {needed}")
    looks, clicks = np.array(known, np.int64).T
    return looks, clicks


class Posterior:
    """Stops by the posterior probability that its answer is right; see above for what that guarantees.

    Args:
        delta: risk on average over the prior, in `(0, 1)`.
        epsilon: tolerance, 0 or larger.
        prior: `uniform`, which is Beta(1, 1), or `jeffreys`, Beta(1/2, 1/2), for each item; or laws of
            which one, unknown which, is that of all items.
        list_length: `M`, the number of items shown at once; `K` if `None`.
        known: looks and clicks of each item before the first step, such as those of a log; none if `None`.
        rng: generator of the draws.

    Attributes:
        T, S: looks and clicks of each item in the steps made, shape `(L,)`.
        known_T, known_S: those before the first step.

    Raises:
        ConfigError: for another prior, a `list_length` that is none, or pairs in `known` that are no counts.
    """

    any_order = True  # what is shown depends on the past alone, so that the posterior is the same whatever decides it

    def __init__(
        self,
        L: int,
        K: int,
        delta: float,
        epsilon: float = 0.0,
        prior: Literal["uniform", "jeffreys"] | Laws = "uniform",
        list_length: int | None = None,
        known: list[list[int]] | None = None,
        *,
        rng: np.random.Generator,
    ) -> None:
        check_list_length(list_length)
        law = PRIORS.get(prior) if isinstance(prior, str) else prior
        if law is None:
            raise ConfigError(f"prior is {prior!r}; {suggest(str(prior), PRIORS)}")
        self.rule, self._rng = PosteriorRule(L, K, delta, epsilon, law, min(list_length or K, L)), rng
        self.known_T, self.known_S = np.zeros((2, L), np.int64) if known is None else _counts_of(known, L)
        self.apart, self.doubtful = np.zeros((DRAWS, L), bool), np.arange(L)
        self.take_place(np.zeros(L, np.int64), np.zeros(L, np.int64))

    def take_place(self, T: IntArray, S: IntArray) -> None:
        """Go on from these counts and clicks, shape `(L,)`, and with new draws."""
        self.T, self.S = T.copy(), S.copy()
        self.steps = self.next_look = self.lists = self.next_draw = 0
        self.over = False

    @property
    def engines(self) -> tuple[str, ...]:
        """Fast engine that is exact: lockstep, but not for a derived class."""
        return ("lockstep",) if type(self) is Posterior else ()

    @property
    def _all(self) -> tuple[IntArray, IntArray]:
        """Looks and clicks of each item, with those before the first step."""
        return self.known_T + self.T, self.known_S + self.S

    @property
    def mean(self) -> FloatArray:
        """Posterior means."""
        return self.rule.mean(*self._all)

    @property
    def finished(self) -> bool:
        """Whether the answer was right with posterior probability `1 - delta` when this was computed last.

        That is more and more seldom, and only if it may matter: a posterior probability may be looked at at any time.
        """
        if not self.over and self.steps >= self.next_look:
            self.next_look = self.steps + self.rule.pause(self.steps)
            self.over = bool(self.rule.may_be_over(*self._all)) and self.rule.is_sure(*self._all)  # the latter is slow
        return self.over

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The items of the largest posterior means, in descending order."""
        return tuple(by_mean(self.mean)[: self.rule.K].tolist())

    answer = recommendation

    def select(self) -> list[int]:
        """Return the items that tell two draws from the posterior apart, and others near the boundary, by looks.

        Each call takes another pair of draws, so that several lists may be taken before their outcomes are known.
        """
        if self.lists >= self.next_draw:
            self.next_draw = self.lists + self.rule.renewal(self.lists)
            self.apart, self.doubtful = self.rule.draw(*self._all, self.noise())
        shown: list[int] = self.rule.listed(self.T, self.apart[self.lists % DRAWS], self.doubtful)[0].tolist()
        self.lists += 1
        return shown

    def noise(self) -> FloatArray:
        """Return the numbers for the next draws."""
        return self._rng.standard_normal((DRAWS, self.rule.L))

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Update counts and sums of the items that were observed."""
        seen = np.array(shown[: len(outcomes)])
        self.T[seen] += 1
        self.S[seen] += np.array(outcomes)
        self.steps += 1
