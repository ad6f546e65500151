"""Track-and-stop, and the plans of lists that it follows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cascadebai_cli.learners.bounds import best_means, refuse_tolerance, told_apart
from cascadebai_cli.learners.protocol import check_list_length
from cascadebai_cli.learners.racing import by_mean
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray, divergence
from cascadebai_cli.theory.maximin import Contest, Levels, Lists, Mixture, maximin

# --- Which lists to show next so that the best items are told apart from the others soonest, as far as is known -----
#
# The *mixture* is the one that would leave the largest evidence after `_AHEAD` times as many lists as were shown
# already, what was observed so far included, if the click probabilities were the present means (`theory.maximin`). `G`,
# the least evidence of a pair, is concave and homogeneous in the counts, hence `G(T + B n) >= G(T) + B G(n)`: a plan
# that looks ahead is never worse than adding lists in the proportions that are optimal from the start, and it makes up
# for what was observed too seldom by bad luck or for wrong means.
#
# Means are read with care. They are `(S + 1/2) / (T + 1)`, never 0 or 1. An item counts as at least one standard
# deviation away from the boundary `theta`, which lies half way between the items of `J` and the others: near the stop
# this binds nobody, before it no near tie takes all lists, and a tie divides by nothing. Items on one side at nearly
# the same distance are one *level* of the mixture; within a level the item with the least evidence for its side goes
# first, and the level counts as observed no better than this one, since one item that lags behind delays the stop for
# all. Once there is a mixture, `theta` is the pooled mean of the pair that it leaves hardest to tell apart, which is
# where the evidence of both sides is weighed.


_AHEAD = 0.3
"""How far a mixture looks ahead, in units of the lists shown so far."""
_TOLERANCE = 0.005
"""Relative gap of a mixture, what was seen included: what it adds may be 1.3 / 0.3 times as far from the best."""
_RATIO = 1.3
"""Distances from the boundary of one level differ by this factor at most."""
_INSIDE = 1e-3
"""A level keeps off 0 and 1 by this part of the distance of the boundary."""


class RepeatedList(NamedTuple):
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
        distance: of each item from `theta` on its own side, at least a standard deviation of its mean.
    """

    mean: FloatArray
    inside: BoolArray
    theta: float
    distance: FloatArray

    @property
    def per_look(self) -> FloatArray:
        """Evidence that a look at an item brings for its side: `d` of a mean at its distance from `theta`."""
        return divergence(_weights(self.theta, self.inside, self.distance), self.theta)


def read(T: IntArray, S: IntArray, K: int, theta: float = np.nan) -> Reading:
    """Read counts, all of them positive, and clicks; `theta` is half way where it is not between both sides."""
    mean, inside = (S + 0.5) / (T + 1), best_means(S / T, K)
    low, high = float(mean[~inside].max()), float(mean[inside].min())
    theta = theta if low < theta < high else (low + high) / 2
    side = np.where(inside, mean - theta, theta - mean)
    return Reading(mean, inside, theta, np.maximum(side, np.sqrt(mean * (1 - mean) / T)))


@dataclass(frozen=True, eq=False)
class Plan:
    """A mixture and who belongs to its levels.

    Attributes:
        level: number of the level of each item, shape `(L,)`.
        lists: lists of levels, the most frequent one first.
        shares: of each list.
        due: steps of each list as far as the mixture looks ahead, rounded up.
        theta: the pooled mean of the two levels that the mixture leaves hardest to tell apart.
    """

    level: IntArray
    lists: tuple[Levels, ...]
    shares: FloatArray
    due: IntArray
    theta: float


def plan(T: IntArray, reading: Reading, lists: int, M: int) -> Plan:
    """The mixture of lists of `M` items for the present means, after `lists` lists."""
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
    return Plan(level, tuple(mixture.lists[i] for i in order), mixture.shares[order], due, float(x.flat[g.argmin()]))


def _thinned(mixture: Mixture, lists: Lists) -> Mixture:
    """The same looks by one list more than there are levels at most, as so many points of a hull always suffice.

    Shares are rounded and no two lists are preferred alike, so that a processor that rounds otherwise plans the same.
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


def _blocks(plan: Plan, shown: IntArray, T: IntArray, reading: Reading, steps: int, most: int) -> list[RepeatedList]:
    """Lists of items for the next steps, in the proportions of the mixture.

    The list that was shown least for its share is next, so each has its turn before one has a second: an item far away
    that needs a few looks more gets them at once, or all others would wait for it. No block is longer than what is due
    of its list. Which items stand for their level is decided block by block from the counts to be expected.

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
        made.append(RepeatedList(tuple(items), size))
        shown[chosen] += size
        steps -= size
    return made


def _standing(plan: Plan, shown: Levels, evidence: FloatArray) -> list[int]:
    """Items for a list of levels, those with the least evidence."""
    order = np.argsort(evidence, kind="stable")
    members = plan.level[order]
    turns = {level: iter(order[members == level].tolist()) for level in set(shown)}
    return [next(turns[level]) for level in shown]


# --- Track-and-stop for cascading feedback: show lists in the proportions that are optimal for the present means ----
#
# After Garivier and Kaufmann (2016). The run is divided into *stretches*, each planned ahead (`list_plans`) from the
# counts at its beginning:
#
# 1. *Forced exploration.* While an item was observed less often than the root of the average count (or never), the
#    least observed items are shown once, the least observed one first, so that it is observed for certain.
# 2. *Tracking.* Otherwise a stretch has one step, or one part in `_STRETCH` of the steps made so far: blocks of a list
#    each, none longer than one part in `_BLOCKS` of it, in the proportions of the mixture, which is made anew whenever
#    the steps have grown by the factor `_RENEWAL`.
# 3. *Stopping.* At the end of each stretch, by `told_apart`, which errs with probability at most `delta` whatever
#    is shown and whenever it is asked.
#
# So a run depends on outcomes through the counts at the ends of stretches only, and an engine may draw a whole block of
# equal lists at once.


_STRETCH = 32
"""A stretch is one part in so many of the steps made before it."""
_BLOCKS = 32
"""A block is one part in so many of a stretch at most."""
_RENEWAL = 1.25
"""Growth of the number of steps after which the mixture is made anew."""


class TrackAndStop:
    """Track-and-stop step by step.

    Args:
        L: number of items.
        K: number of items to find.
        delta: risk, in `(0, 1)`.
        epsilon: must be 0.
        list_length: `M`, the number of items shown at once; `K` if `None`.

    Attributes:
        engines: the fast engine that is exact for it.
        T, S: observations and clicks of each item.
        blocks: lists planned up to the end of the stretch.
        steps: lists shown before this stretch.
        finished: whether the learner has stopped.

    Raises:
        ConfigError: for `epsilon > 0`.
    """

    engines = ("planned",)

    def __init__(self, L: int, K: int, delta: float, epsilon: float = 0.0, list_length: int | None = None) -> None:
        refuse_tolerance("track-and-stop", epsilon)
        check_list_length(list_length)
        self.L, self.K, self.M, self.delta = L, K, min(list_length or K, L), delta
        self.T: IntArray = np.zeros(L, np.int64)
        self.S: IntArray = np.zeros(L, np.int64)
        self.steps, self.finished = 0, False
        self._plan: Plan | None = None
        self._listed: IntArray = np.zeros(0, np.int64)
        self._renewal, self._block, self._shown = 0.0, 0, 0
        self.blocks = self._next_blocks()

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The `K` largest means, in descending order."""
        return tuple(by_mean(self.S / np.maximum(self.T, 1))[: self.K].tolist())

    @property
    def answer(self) -> tuple[int, ...]:
        """The items to name now."""
        return self.recommendation

    def select(self) -> list[int]:
        """The list of the present block."""
        return list(self.blocks[self._block].items)

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Count, and go on to the next block or stretch when it is time."""
        for item, outcome in zip(shown, outcomes, strict=False):
            self.T[item] += 1
            self.S[item] += outcome
        self._shown += 1
        if self._shown == self.blocks[self._block].repeats:
            self._block, self._shown = self._block + 1, 0
        if self._block == len(self.blocks):
            self.end_stretch()

    def end_stretch(self) -> None:
        """Stop, or plan the next stretch, from the counts after all of `_blocks`."""
        self.steps += sum(block.repeats for block in self.blocks)
        self.finished = told_apart(self.T, self.S, self.K, self.delta)
        self._block = 0
        self.blocks = [] if self.finished else self._next_blocks()

    def _next_blocks(self) -> list[RepeatedList]:
        if self.T.min() < max(1, np.sqrt(self.T.mean())):
            least = np.argsort(self.T, kind="stable")[: self.M]
            return [RepeatedList(tuple(least.tolist()), 1)]
        reading = read(self.T, self.S, self.K, self._plan.theta if self._plan else np.nan)
        if self._plan is None or self.steps >= self._renewal:
            self._plan, self._renewal = plan(self.T, reading, self.steps, self.M), _RENEWAL * self.steps
            self._listed = np.zeros(len(self._plan.lists), np.int64)
        steps = max(1, self.steps // _STRETCH)
        return _blocks(self._plan, self._listed, self.T, reading, steps, -(-steps // _BLOCKS))
