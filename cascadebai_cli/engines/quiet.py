"""Proofs that no rule can fire in groups of rounds of which only the click counts are known.

A group of rounds takes an item's count from `Ta` to `Tb` and its clicks from `Sa` to `Sb = Sa + c`. Whatever the order
of the `c` clicks, its mean stays between `Sa / (Tb - c)` (skips first) and `Sb / (Ta + c)` (clicks first). Order
statistics are monotone, bounds grow with the mean and tighten with the count. So by the contract of
`RacingRule.identify` an item can be accepted only if `lower(largest mean, Tb) > upper(m, Tb) - epsilon`, `m` the
(k+1)-th largest of the smallest means, and rejected only if `upper(smallest mean, Tb) < lower(m', Tb) - epsilon`,
`m'` the k-th largest of the largest means.
"""

from dataclasses import dataclass

import numpy as np

from cascadebai_cli.learners.racing import RacingRule
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

SLACK = 1e-11
"""Far above the rounding of means and bounds, far below a difference that matters."""


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
        d, T_end = S.shape[1], T[1:, None]
        new = S[1:] - S[:-1]
        self.high: FloatArray = S[1:] / np.maximum(T[:-1, None] + new, 1)
        self.low: FloatArray = S[:-1] / np.maximum(T_end - new, 1)
        self.next_best: FloatArray = np.partition(self.low, d - 1 - k, axis=1)[:, d - 1 - k]
        self.last_good: FloatArray = np.partition(self.high, d - k, axis=1)[:, d - k]
        self.accept_level = rule.upper(self.next_best, T[1:]) - (rule.epsilon + SLACK)
        self.reject_level = rule.lower(self.last_good, T[1:]) - (rule.epsilon - SLACK)
        self.mask: BoolArray = rule.above(self.high, T_end, self.accept_level[:, None])
        self.mask |= rule.below(self.low, T_end, self.reject_level[:, None])

    def stay(self, row: int, accepted: IntArray, rejected: IntArray) -> bool:
        """Whether the groups from `row` on stay proven once these columns are removed.

        Taking out an accepted item lowers `k` by one, so both levels stay where they are, or move to the safe
        side, while it ranks above `last_good` in every one of these groups; likewise for a rejected item that
        ranks below `next_best`.
        """
        if row == len(self.mask):
            return True
        above = len(accepted) == 0 or (self.high[row:, accepted] > self.last_good[row:, None]).all()
        return bool(above and (len(rejected) == 0 or (self.low[row:, rejected] < self.next_best[row:, None]).all()))


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
