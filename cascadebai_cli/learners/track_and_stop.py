"""Track-and-stop, and the plans of lists that it follows to tell the best items apart as soon as possible."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.bounds import all_refuted, best_means, refuse_tolerance, told_apart
from cascadebai_cli.learners.protocol import by_mean, check_list_length
from cascadebai_cli.model.problem import BoolArray, Feedback, FloatArray, Instance, IntArray, divergence, evidence
from cascadebai_cli.theory.lists import Levels, Lists
from cascadebai_cli.theory.maximin import Contest, Mixture, maximin

# --- Planning lists: which to show next so that the best items are told apart from the others as soon as possible ----
#
# The *mixture* (shares of lists) is the one that would make the evidence largest after `_AHEAD` times as many further
# lists as were shown already, if the click probabilities were the present means; the observations so far count too
# (`theory.maximin`). `G`, the least evidence of a pair, is concave and homogeneous in the counts, hence
# `G(T + B n) >= G(T) + B G(n)`: a plan that looks ahead is never worse than adding lists in the proportions that are
# optimal from the start, and it makes up for items that were observed too seldom by bad luck or because of wrong means.
#
# Let `J` be the `K` items with the largest means. Means are taken as `(S + 1/2) / (T + 1)`, never 0 or 1. Each item
# counts as at least one standard deviation away from the boundary `theta`, which lies half way between the items of `J`
# and the others. Near the stop this changes nothing; before, it keeps a near tie from taking all lists, and a tie from
# a division by 0. Items on one side at nearly the same distance are one *level* of the mixture. Within a level the item
# with the least evidence for its side goes first, and the level counts as observed no better than this one, since one
# item that lags behind delays the stop for all. Once there is a mixture, `theta` is the pooled mean of the pair that it
# leaves hardest to tell apart, as this is where the evidence of both sides is weighed.


_AHEAD = 0.3
"""How far a mixture looks ahead, in units of the lists shown so far."""
_TOLERANCE = 0.005
"""Relative gap of a mixture, with the observations so far; that of what it adds may be 1.3 / 0.3 times as large."""
_RATIO = 1.3
"""Largest factor by which distances from the boundary differ within one level."""
_INSIDE = 1e-3
"""The weight of a level stays away from 0 and 1 by this part of the boundary's distance from them."""


class _RepeatedList(NamedTuple):
    """One list and how often it is shown in a row."""

    items: tuple[int, ...]
    repeats: int


@dataclass(frozen=True, eq=False)
class Reading:
    """What counts and clicks say about the items.

    Attributes:
        mean: `(S + 1/2) / (T + 1)`, shape `(L,)`.
        inside: mask of `J`.
        theta: boundary between `J` and the others.
        distance: distance of each item from `theta` on its own side, at least a standard deviation of its mean.
    """

    mean: FloatArray
    inside: BoolArray
    theta: float
    distance: FloatArray

    @classmethod
    def of(cls, T: IntArray, S: IntArray, K: int, theta: float = np.nan) -> "Reading":
        """Read positive counts and clicks; a `theta` that is not between both sides is put half way."""
        mean, inside = (S + 0.5) / (T + 1), best_means(S / T, K)
        low, high = float(mean[~inside].max()), float(mean[inside].min())
        theta = theta if low < theta < high else (low + high) / 2
        side = np.where(inside, mean - theta, theta - mean)
        return cls(mean, inside, theta, np.maximum(side, np.sqrt(mean * (1 - mean) / T)))

    @property
    def per_look(self) -> FloatArray:
        """Evidence that a look at an item brings for its side: `d` between a mean at its distance and `theta`."""
        return divergence(_weights(self.theta, self.inside, self.distance), self.theta)


@dataclass(frozen=True, eq=False)
class _Plan:
    """A mixture, and the level of each item in it.

    Attributes:
        level: number of the level of each item, shape `(L,)`.
        lists: lists of levels, the most frequent one first.
        shares: share of each list.
        due: number of steps of each list, as far as the mixture looks ahead, rounded up.
        theta: the pooled mean of the two levels that the mixture leaves hardest to tell apart.
    """

    level: IntArray
    lists: tuple[Levels, ...]
    shares: FloatArray
    due: IntArray
    theta: float


def _planned(T: IntArray, reading: Reading, lists: int, M: int) -> _Plan:
    """Return the plan with the best mixture of lists of `M` items for the present means, after `lists` lists."""
    near = np.where(reading.inside, reading.distance[reading.inside].min(), reading.distance[~reading.inside].min())
    band = np.floor(np.log(reading.distance / near) / np.log(_RATIO)).astype(np.int64)
    _, level, sizes = np.unique(2 * band + reading.inside, return_inverse=True, return_counts=True)

    def average(values: FloatArray) -> FloatArray:
        return np.bincount(level, values) / sizes

    inside = average(reading.inside.astype(float)) > 0
    weights = _weights(reading.theta, inside, average(reading.distance**-2.0) ** -0.5)
    shown = Lists(average(reading.mean), sizes, M)
    least = np.full(len(sizes), np.inf)
    np.minimum.at(least, level, T * reading.per_look)
    contest = Contest(weights, inside, shown, least / divergence(weights, reading.theta) / (_AHEAD * lists))
    mixture = _thinned(maximin(contest, _TOLERANCE), shown)
    g, x = contest.evidence(contest.looks(mixture.rates))
    order = np.argsort(-mixture.shares, kind="stable")
    due = np.ceil(mixture.shares[order] * _AHEAD * lists).astype(np.int64)
    return _Plan(level, tuple(mixture.lists[i] for i in order), mixture.shares[order], due, float(x.flat[g.argmin()]))


def _thinned(mixture: Mixture, lists: Lists) -> Mixture:
    """Return a mixture with the same looks and at most one list more than there are levels (Carathéodory's theorem).

    Shares are rounded and lists are preferred in a fixed order, so that rounding of a processor does not change plans.
    """
    from scipy.optimize import nnls

    rates = mixture.rates
    columns = np.array([lists.rates(shown) for shown in mixture.lists]) / np.where(rates > 0, rates, 1)
    preferred = np.linspace(1, 2, len(columns))
    sides = np.column_stack([columns, np.ones(len(columns))]).T * preferred
    shares = np.round(nnls(sides, np.append(rates > 0, True).astype(np.float64))[0] * preferred, 6)
    used = np.flatnonzero(shares)
    return replace(mixture, lists=tuple(mixture.lists[i] for i in used), shares=shares[used] / shares.sum())


def _weights(theta: float, inside: BoolArray, distance: FloatArray) -> FloatArray:
    above = np.minimum(theta + distance, 1 - _INSIDE * (1 - theta))
    return np.where(inside, above, np.maximum(theta - distance, _INSIDE * theta))


def _blocks(plan: _Plan, shown: IntArray, T: IntArray, reading: Reading, steps: int, most: int) -> list[_RepeatedList]:
    """Return lists of items for the next steps, in the proportions of the mixture.

    The list that was shown least for its share is next, so that each has its turn before one has a second: a far item
    that needs a few more looks gets them at once, or all others would wait for it. No block is longer than what is due
    of its list. The items that stand for their level are chosen block by block, from the counts to be expected.

    Args:
        plan: the mixture.
        shown: how often each of its lists was shown; these steps are added.
        T: observations of each item so far.
        reading: what is known about the items.
        steps: number of steps of all blocks.
        most: largest number of steps of a block.
    """
    per_look, expected = reading.per_look, T.astype(float)
    made = []
    while steps:
        chosen = int(np.argmin(shown / plan.shares))
        size = min(steps, most, int(plan.due[chosen]))
        items = _standing(plan, plan.lists[chosen], expected * per_look)
        expected[items] += size * np.concatenate([[1.0], np.cumprod(1 - reading.mean[items])[:-1]])
        made.append(_RepeatedList(tuple(items), size))
        shown[chosen] += size
        steps -= size
    return made


def _standing(plan: _Plan, shown: Levels, evidence: FloatArray) -> list[int]:
    """Return the items that stand for a list of levels: in each level, those with the least evidence."""
    order = np.argsort(evidence, kind="stable")
    members = plan.level[order]
    turns = {level: iter(order[members == level].tolist()) for level in set(shown)}
    return [next(turns[level]) for level in shown]


# --- Track-and-stop for cascading feedback: lists are shown in proportions that are optimal for the present means ---
#
# After Garivier and Kaufmann (2016). The run is divided into *stretches*, each planned ahead from the counts at its
# beginning:
#
# 1. *Forced exploration.* While an item was observed less often than the root of the average count (or never), the
#    least observed items are shown once, the least observed one first, so that it is observed for certain.
# 2. *Tracking.* Otherwise a stretch has `1 / _STRETCH` of the steps made so far, at least one. It is divided into
#    blocks of equal lists, none longer than `1 / _BLOCKS` of the stretch, in the proportions of the mixture, which is
#    computed anew whenever the steps have grown by the factor `_RENEWAL`.
# 3. *Stopping.* At the end of each stretch, by `told_apart` (`bounds`) or `all_refuted` (`mixture`), which err with
#    probability at most `delta` whatever is shown and whenever they are asked.
#
# So a run depends on outcomes only through the counts at the ends of stretches, and an engine may draw a whole block
# of equal lists at once.


_STRETCH = 32
"""Number of steps made before a stretch, for each step of it."""
_BLOCKS = 32
"""Smallest number of blocks of a stretch that is long enough."""
_RENEWAL = 1.25
"""Factor by which the number of steps grows before the mixture is computed anew."""
_FIRST_LOOKS, _GROWTH = 10**9, 10**4
"""Looks at each item before the limit is looked for, so many that whole numbers do not matter, and by what it grows."""


_Stopping = Literal["glr", "mixture"]
_MAY_STOP = MappingProxyType({"glr": told_apart, "mixture": all_refuted})


class TrackAndStop:
    """Track-and-stop step by step.

    Args:
        L: number of items.
        K: number of items to find.
        delta: largest probability of a wrong answer, in `(0, 1)`.
        epsilon: must be 0.
        list_length: `M`, the number of items shown at once; `K` if `None`.
        stopping: `glr` to stop once all pairs are told apart, `mixture` once all wrong answers are refuted.

    Attributes:
        engines: the fast engine that is exact for it.
        T, S: observations and clicks of each item.
        blocks: lists planned for the whole stretch.
        steps: lists shown before this stretch.
        finished: whether the learner has stopped.

    Raises:
        ConfigError: for `epsilon > 0`, or another `stopping`.
    """

    engines = ("planned",)
    any_order = True  # the proof holds whatever decides that an item is looked at

    def __init__(
        self,
        L: int,
        K: int,
        delta: float,
        epsilon: float = 0.0,
        list_length: int | None = None,
        stopping: _Stopping = "glr",
    ) -> None:
        refuse_tolerance("track-and-stop", epsilon)
        check_list_length(list_length)
        if stopping not in _MAY_STOP:
            raise ConfigError(f"stopping is {stopping!r}, but must be {' or '.join(_MAY_STOP)}")
        self.L, self.K, self.M, self.delta, self.stopping = L, K, min(list_length or K, L), delta, stopping
        self.T: IntArray = np.zeros(L, np.int64)
        self.S: IntArray = np.zeros(L, np.int64)
        self.steps, self.finished = 0, False
        self._plan: _Plan | None = None
        self._listed: IntArray = np.zeros(0, np.int64)
        self._renewal, self._block, self._shown = 0.0, 0, 0
        self.blocks = self._next_blocks()

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The `K` largest means, in descending order."""
        return tuple(by_mean(self.S / np.maximum(self.T, 1))[: self.K].tolist())

    @property
    def answer(self) -> tuple[int, ...]:
        """The items that the learner would return now."""
        return self.recommendation

    def select(self) -> list[int]:
        """Return the list of the present block."""
        return list(self.blocks[self._block].items)

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Count the outcomes, and go on to the next block or stretch when one is over."""
        for item, outcome in zip(shown, outcomes, strict=False):
            self.T[item] += 1
            self.S[item] += outcome
        self._shown += 1
        if self._shown == self.blocks[self._block].repeats:
            self._block, self._shown = self._block + 1, 0
        if self._block == len(self.blocks):
            self.end_stretch()

    def end_stretch(self) -> None:
        """Stop, or plan the next stretch, from the counts after all of `blocks`."""
        self.steps += sum(block.repeats for block in self.blocks)
        self.finished = _MAY_STOP[self.stopping](self.T, self.S, self.K, self.delta)
        self._block = 0
        self.blocks = [] if self.finished else self._next_blocks()

    def limit(self, instance: Instance, feedback: Feedback) -> float:
        """Return steps over evidence in the long run, if looks and clicks are as many as are expected."""
        known = type(self)(self.L, self.K, self.delta, list_length=self.M)
        known.T, known.steps = np.full(self.L, _FIRST_LOOKS), _FIRST_LOOKS * self.L // self.M
        ratios, end = [], _GROWTH * known.steps
        while known.steps < end:
            known.S = np.rint(known.T * instance.weights).astype(np.int64)
            known.blocks = known._next_blocks()
            for items, repeats in known.blocks:
                reached = np.cumprod(1 - instance.weights[list(items)])[:-1]
                looks = repeats * np.append(1.0, np.ones_like(reached) if feedback.observes_all else reached)
                known.T[list(items)] += np.rint(looks).astype(np.int64)
                known.steps += repeats
            if known.steps > end / 10:
                ratios.append(known.steps / _least_evidence(known.T, instance))
        return float(np.mean(ratios))

    def _next_blocks(self) -> list[_RepeatedList]:
        if self.T.min() < max(1, np.sqrt(self.T.mean())):
            least = np.argsort(self.T, kind="stable")[: self.M]
            return [_RepeatedList(tuple(least.tolist()), 1)]
        reading = Reading.of(self.T, self.S, self.K, self._plan.theta if self._plan else np.nan)
        if self._plan is None or self.steps >= self._renewal:
            self._plan, self._renewal = _planned(self.T, reading, self.steps, self.M), _RENEWAL * self.steps
            self._listed = np.zeros(len(self._plan.lists), np.int64)
        steps = max(1, self.steps // _STRETCH)
        return _blocks(self._plan, self._listed, self.T, reading, steps, -(-steps // _BLOCKS))


def _least_evidence(T: IntArray, instance: Instance) -> float:
    """Return the least evidence of a pair, if the means are the weights; of equal weights, the least counts matter."""
    w, level = np.unique(instance.weights, return_inverse=True)
    least = np.full(len(w), np.inf)
    np.minimum.at(least, level, T)
    best = w >= instance.sorted_weights[instance.K - 1]
    return float(evidence(least[best, None], w[best, None], least[~best], w[~best])[0].min())
