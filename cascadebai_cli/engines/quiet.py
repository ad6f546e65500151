"""Proofs that no rule can fire in groups of rounds of which only the click counts are known.

A group of rounds takes an item's count from `Ta` to `Tb` and its clicks from `Sa` to `Sb = Sa + c`. Whatever the order
of the `c` clicks, its mean stays between `Sa / (Tb - c)` (skips first) and `Sb / (Ta + c)` (clicks first). Order
statistics are monotone and radii decrease, so by the contract of `RacingRule.identify` an item can be accepted only if
its largest mean exceeds the (k+1)-th largest of the smallest means by more than `2 C(Tb) - epsilon`, and rejected only
if the k-th largest of the largest means exceeds its smallest mean by more than `2 C(Tb) + epsilon`.
"""

import numpy as np

from cascadebai_cli.learners.racing import RacingRule
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

SLACK = 1e-12
"""Far above the rounding of means and radii, far below a difference that matters."""


class Suspects:
    """Which items could be identified in which of `rows` consecutive groups of rounds.

    Args:
        rule: the racing rule.
        k: number of items still to be accepted.
        T: count of every survivor at the borders of the groups, shape `(rows + 1,)`.
        S: clicks of the survivors at the borders, shape `(rows + 1, d)`.
    """

    def __init__(self, rule: RacingRule, k: int, T: IntArray, S: IntArray) -> None:
        d = S.shape[1]
        new = S[1:] - S[:-1]
        self.high: FloatArray = S[1:] / np.maximum(T[:-1, None] + new, 1)
        self.low: FloatArray = S[:-1] / np.maximum(T[1:, None] - new, 1)
        twice = 2 * rule.radius(T[1:]) - SLACK
        self.next_best = np.partition(self.low, d - 1 - k, axis=1)[:, d - 1 - k]
        self.last_good = np.partition(self.high, d - k, axis=1)[:, d - k]
        accept = self.high > (self.next_best + twice - rule.epsilon)[:, None]
        reject = self.low < (self.last_good - twice - rule.epsilon)[:, None]
        self.mask: BoolArray = accept | reject

    def survive(self, row: int, accepted: IntArray, rejected: IntArray) -> bool:
        """Whether the groups after `row` stay proven once these columns are removed.

        Taking out an accepted item lowers `k` by one, so both borders stay where they are while it ranks
        above them in every later group; likewise for a rejected item that ranks below them.
        """
        above = self.high[row + 1 :, accepted] > self.last_good[row + 1 :, None]
        below = self.low[row + 1 :, rejected] < self.next_best[row + 1 :, None]
        return bool(above.all() and below.all())


def first_suspect_round(rule: RacingRule) -> int:
    """The smallest count at which a rule could fire: means differ by at most 1, so `2 C(T) - epsilon < 1`."""
    low, high = 0, 1
    while 2 * rule.radius(high) - rule.epsilon >= 1:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if 2 * rule.radius(middle) - rule.epsilon >= 1 else (low, middle)
    return high


Found = tuple[int, FloatArray, BoolArray, BoolArray]


def first_suspect_end(rule: RacingRule, k: int, T: int, S: IntArray, new: BoolArray, ends: IntArray) -> Found | None:
    """The first step end of a round at which items are identified.

    Args:
        rule, k: the rule and the number of items still to be accepted.
        T, S: count and clicks of the survivors before the round.
        new: their clicks in this round.
        ends: places at which steps end; at a step end the survivors up to that place were observed.

    Returns:
        index into `ends`, means at that step end, and masks of the accepted and the rejected; or None.
    """
    places, radii = np.arange(len(S)), rule.radius(np.array([T, T + 1]))
    observed = places <= ends[:, None]
    mean = (S + (new & observed)) / np.maximum(T + observed, 1)
    for index in _candidates(rule.epsilon, k, mean, observed, radii):
        radius = np.where(observed[index], radii[1], radii[0])
        accept, reject = rule.identify(mean[index], radius, k)
        if accept.any() or reject.any():
            return int(index), mean[index], accept, reject
    return None


def _candidates(epsilon: float, k: int, mean: FloatArray, observed: BoolArray, radii: FloatArray) -> IntArray:
    """Rows in which a rule may fire: true order statistics, with the smaller radius for the item compared with."""
    d = mean.shape[1]
    own = np.where(observed, radii[1], radii[0])
    next_best = np.partition(mean, d - 1 - k, axis=1)[:, d - 1 - k, None]
    last_good = np.partition(mean, d - k, axis=1)[:, d - k, None]
    accept = mean - own > next_best + (radii[1] - epsilon - SLACK)
    reject = mean + own < last_good - (radii[1] + epsilon - SLACK)
    return np.flatnonzero((accept | reject).any(axis=1))
