"""Which items could be identified in groups of rounds of which only the click counts are known (`proofs`)."""

from dataclasses import dataclass

import numpy as np

from cascadebai_cli.engines.proofs import SLACK, mean_bounds
from cascadebai_cli.learners.racing import RacingRule
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray


class Suspects:
    """Which items could be identified in which of `rows` consecutive groups of rounds.

    Args:
        rule: the racing rule.
        k: number of items still to be accepted.
        T: count of every survivor at the borders of the groups, shape `(rows + 1,)`.
        S: clicks of the survivors at the borders, shape `(rows + 1, d)`.

    Attributes:
        mask: whether an item is suspect in a group, shape `(rows, d)`.
        accept_level, reject_level: what a lower bound must exceed, and an upper bound stay below, shape `(rows,)`.
    """

    def __init__(self, rule: RacingRule, k: int, T: IntArray, S: IntArray) -> None:
        T_end = T[1:, None]
        self.means = mean_bounds(T[:-1, None], S[:-1], T_end, S[1:], k)
        accept_level = rule.upper(self.means.next_best, T_end) - (rule.epsilon + SLACK)
        reject_level = rule.lower(self.means.last_good, T_end) - (rule.epsilon - SLACK)
        self.accept_level, self.reject_level = accept_level[:, 0], reject_level[:, 0]
        self.mask: BoolArray = rule.above(self.means.high, T_end, accept_level)
        self.mask |= rule.below(self.means.low, T_end, reject_level)

    def stay(self, row: int, accepted: IntArray, rejected: IntArray) -> bool:
        """Whether the groups from `row` on stay proven once these columns are removed (`proofs`, removals)."""
        if row == len(self.mask):
            return True
        low, high, next_best, last_good = self.means
        above = len(accepted) == 0 or (high[row:, accepted] > last_good[row:]).all()
        return bool(above and (len(rejected) == 0 or (low[row:, rejected] < next_best[row:]).all()))


def first_suspect_round(rule: RacingRule) -> int:
    """The smallest count at which a rule could fire, whatever the means."""

    def quiet(T: int) -> bool:
        return bool(rule.lower(1.0, T) <= rule.upper(0.0, T) - rule.epsilon)

    low, high = 0, 1
    while quiet(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if quiet(middle) else (low, middle)
    return high


@dataclass
class Round:
    """One round at single steps.

    Attributes:
        rule: the racing rule.
        T, S: count and clicks of the survivors before the round, `S` of shape `(d,)`.
        new: their clicks in the round, shape `(d,)`.
    """

    rule: RacingRule
    T: int
    S: IntArray
    new: BoolArray

    def suspect_ends(self, ends: IntArray, items: IntArray, accept_level: float, reject_level: float) -> IntArray:
        """Indices of the step ends at which one of `items` passes a level; `ends` are places in the round."""
        if len(items) == 0 or len(ends) == 0:
            return np.zeros(0, np.int64)
        T = np.array([[self.T], [self.T + 1]])
        mean = (self.S[items] + np.stack([np.zeros(len(items), bool), self.new[items]])) / np.maximum(T, 1)
        hot = self.rule.above(mean, T, accept_level) | self.rule.below(mean, T, reject_level)
        passing: BoolArray = np.where(items <= ends[:, None], hot[1], hot[0]).any(axis=1)
        return passing.nonzero()[0]

    def means(self, ends: IntArray) -> tuple[FloatArray, IntArray]:
        """Means and counts of the survivors once those up to each of the `ends` were observed, a row an end."""
        observed = np.arange(len(self.S)) <= ends[:, None]
        T = self.T + observed
        return (self.S + (self.new & observed)) / np.maximum(T, 1), T

    def removed(self, gone: BoolArray) -> "Round":
        """The round without some of its items."""
        return Round(self.rule, self.T, self.S[~gone], self.new[~gone])
