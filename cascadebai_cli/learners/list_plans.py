"""Which lists to show next so that the best items are told apart from the others soonest, as far as is known.

The *mixture* is the one that would leave the largest evidence after `AHEAD` times as many lists as were shown
already, what was observed so far included, if the click probabilities were the present means (`theory.maximin`). `G`,
the least evidence of a pair, is concave and homogeneous in the counts, hence `G(T + B n) >= G(T) + B G(n)`: a plan
that looks ahead is never worse than adding lists in the proportions that are optimal from the start, and it makes up
for what was observed too seldom by bad luck or for wrong means.

Means are read with care. They are `(S + 1/2) / (T + 1)`, never 0 or 1. An item counts as at least one standard
deviation away from the boundary `theta`, which lies half way between the items of `J` and the others: near the stop
this binds nobody, before it no near tie takes all lists, and a tie divides by nothing. Items on one side at nearly the
same distance are one *level* of the mixture; within a level the item with the least evidence for its side goes first,
and the level counts as observed no better than this one, since one item that lags behind delays the stop for all. Once
there is a mixture, `theta` is the pooled mean of the pair that it leaves hardest to tell apart, which is where the
evidence of both sides is weighed.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cascadebai_cli.learners.glr import best_means
from cascadebai_cli.model.divergence import divergence
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray
from cascadebai_cli.theory.lists import Levels, Lists
from cascadebai_cli.theory.maximin import Contest, maximin

AHEAD = 0.3
"""How far a mixture looks ahead, in units of the lists shown so far."""
TOLERANCE = 0.05
"""Relative gap of a mixture."""
RATIO = 1.3
"""Distances from the boundary of one level differ by this factor at most."""
INSIDE = 1e-3
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
    band = np.floor(np.log(reading.distance / near) / np.log(RATIO)).astype(np.int64)
    _, level, sizes = np.unique(2 * band + reading.inside, return_inverse=True, return_counts=True)

    def average(values: FloatArray) -> FloatArray:
        return np.bincount(level, values) / sizes

    inside = average(reading.inside.astype(float)) > 0
    weights = _weights(reading.theta, inside, average(reading.distance**-2.0) ** -0.5)
    shown = Lists(average(reading.mean), sizes, M)
    least = np.full(len(sizes), np.inf)
    np.minimum.at(least, level, T * reading.per_look)
    contest = Contest(weights, inside, shown, least / divergence(weights, reading.theta) / (AHEAD * lists))
    mixture = maximin(contest, TOLERANCE)
    g, x = contest.evidence(contest.looks(mixture.rates))
    order = np.argsort(-mixture.shares, kind="stable")
    due = np.ceil(mixture.shares[order] * AHEAD * lists).astype(np.int64)
    return Plan(level, tuple(mixture.lists[i] for i in order), mixture.shares[order], due, float(x.flat[g.argmin()]))


def _weights(theta: float, inside: BoolArray, distance: FloatArray) -> FloatArray:
    above = np.minimum(theta + distance, 1 - INSIDE * (1 - theta))
    return np.where(inside, above, np.maximum(theta - distance, INSIDE * theta))


def blocks(plan: Plan, shown: IntArray, T: IntArray, reading: Reading, steps: int, most: int) -> list[RepeatedList]:
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
