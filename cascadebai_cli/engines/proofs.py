"""The lemma of the engines that skip: when no rule can fire in a window of a run whose two ends alone are known.

In a window the count of survivor `i` grows from `T_i` to `T'_i` and its clicks from `S_i` to `S'_i`, in any order.
At a moment in it let `t_i`, `s_i` be its count and clicks. No item has been identified since the window began.

*Means.* Clicks and skips only grow, so `S_i <= s_i <= S'_i` and `T_i - S_i <= t_i - s_i <= T'_i - S'_i`. The mean
`s / (s + skips)` grows with the clicks and falls with the skips: it lies between
`low_i = S_i / (S_i + T'_i - S'_i)` and `high_i = S'_i / (S'_i + T_i - S_i)` (0/0 is 0, the mean of an item that was
never observed). A rounded quotient is monotone too, so the computed bounds hold for computed means.

*Ranks.* If every term of a list grows, so does its r-th largest. So the (k+1)-th largest mean is at least the
(k+1)-th largest `low`, called `next_best`, and the k-th largest mean is at most the k-th largest `high`, called
`last_good`. The items with these two means, `j*` and `j'`, are in the *boundary*: the items with `high_i >= next_best`
and `low_i <= last_good`. Of the others, those with `low_i > last_good` rank above both `j*` and `j'`, and those with
`high_i < next_best` below both, strictly, at every moment.

*Levels.* Bounds grow with the mean and tighten with the count. Let no count exceed `T'` in the window. The rules
compare a bound of `i` with one number: the upper bound of `j*`, whose mean is at least `next_best`, or the lower bound
of `j'`, whose mean is at most `last_good`. The first is never below `upper(next_best, T')`, the *accept level*, and the
second never above `lower(last_good, T')`, the *reject level*, whichever items `j*` and `j'` are. Hence `i` can be
accepted at some moment only if `lower(high_i, T') > accept level - epsilon`, and rejected only if
`upper(low_i, T') < reject level - epsilon`: then it is a *suspect*. Without a suspect, no item is identified in the
window, its ends included. Rules that take the (k+1)-th largest upper bound, or a larger one, and the k-th largest
lower bound obey the same levels: `k + 1` items have a mean of at least `next_best`, and all but `k - 1` items have one
of at most `last_good`.

*Unequal counts.* If each item ends at a count `T'_i` of its own and these are far apart, the levels above prove little.
The following is for the rule of Algorithm 1, which compares with the items of these *means*, and not for rules that
rank bounds. As `j*` is in the boundary and its mean is at least `max(low_j*, next_best)`, its upper bound is at least
the smallest `upper(max(low_j, next_best), T'_j)` of all `j` in the boundary: this is then the accept level. The reject
level is the largest `lower(min(high_j, last_good), T'_j)`.

*Removals.* Let the other items go on after some were removed. Taking out an accepted item lowers `k` by one. If its
`high` exceeds `last_good`, then `last_good` stays; `next_best` stays or grows in any case. Taking out a rejected item
whose `low` is below `next_best` leaves `next_best`, and `last_good` stays or falls. So both levels stay or move to the
safe side, and no item joins the boundary: what was proven for this window, or in the same way for a later one, holds.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cascadebai_cli.learners.protocol import RacingRule
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

_SLACK = 1e-11
"""Margin of comparisons: far above the rounding of bounds, far below any difference that matters."""
_LEAST_SLACK = 1e-14
"""Margin of comparisons of bounds that are nearly 0 or 1, whose rounding is that much smaller."""

_OfMean = Callable[[FloatArray], FloatArray]
"""A confidence bound as a function of means."""


class WindowBounds(NamedTuple):
    """Bounds of the means in some windows.

    Attributes:
        low, high: smallest and largest mean of each item, shape `(..., d)`; negative for those that do not survive.
        next_best: the (k+1)-th largest `low`, shape `(..., 1)`.
        last_good: the k-th largest `high`, shape `(..., 1)`.
    """

    low: FloatArray
    high: FloatArray
    next_best: FloatArray
    last_good: FloatArray

    def of(self, windows: Any) -> "WindowBounds":
        """Return the bounds of the windows that an index selects."""
        return WindowBounds(*(part[windows] for part in self))

    @property
    def boundary(self) -> BoolArray:
        """Mask of the items that may have the k-th or the (k+1)-th largest mean, shape `(..., d)`."""
        return (self.high >= self.next_best) & (self.low <= self.last_good)


def mean_bounds(
    T: IntArray,
    S: IntArray | FloatArray,
    T_end: IntArray,
    S_end: IntArray | FloatArray,
    k: IntArray | int,
    alive: BoolArray | None = None,
) -> WindowBounds:
    """Return bounds of the means between two states of each window.

    Args:
        T, S: counts and clicks when the windows begin, shape `(..., d)`; `(..., 1)` for equal counts.
        T_end, S_end: the same when they end.
        k: items still to be accepted, broadcast to shape `(...)`; less than the number of survivors.
        alive: the survivors, broadcast to shape `(..., d)`, all by default.
    """
    first, before, last, after = (np.asarray(part, np.float64) for part in (T, S, T_end, S_end))  # to divide faster
    low = before / np.maximum(before + (last - after), 1)
    high = after / np.maximum(after + (first - before), 1)
    if alive is not None:
        absent = np.where(alive, 0.0, 2.0)
        low -= absent
        high -= absent
    return WindowBounds(low, high, _largest(low, np.add(k, 1)), _largest(high, np.asarray(k)))


def _largest(values: FloatArray, rank: IntArray) -> FloatArray:
    """Return the `rank`-th largest value of each row, from 1 on, shape `(..., 1)`."""
    place: IntArray = np.zeros(values.shape[:-1], np.int64)
    place += np.arange(1, place.size + 1).reshape(place.shape) * values.shape[-1] - rank
    return np.sort(values, axis=-1).ravel()[place][..., None]


def levels(rule: RacingRule, means: WindowBounds, T_end: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the accept and the reject level less `epsilon`, with slack, shape `(..., 1)`; no count exceeds `T_end`."""
    upper, lower = rule.upper(means.next_best, T_end), rule.lower(means.last_good, T_end)
    return upper - (rule.epsilon + _slack(upper)), lower - (rule.epsilon - _slack(lower))


def _slack(level: FloatArray) -> FloatArray:
    """Return the margin at a level `q`, of which `kl` near it, rounded in the last place, tells only so much.

    The derivative of `kl(m, q)` is `(q - m) / (q (1 - q))`, and `(q - m)^2` is about `2 q (1 - q) ln(...) / T` where it
    matters, so that the rounding of `q` goes with the root of `q (1 - q)`. With rare clicks the means move so slowly
    that a margin which does not would hold for millions of rounds.
    """
    return np.maximum(2 * _SLACK * np.sqrt(np.maximum(level * (1 - level), 0)), _LEAST_SLACK)


def levels_of_boundary(means: WindowBounds, upper: _OfMean, lower: _OfMean) -> tuple[FloatArray, FloatArray]:
    """Return the accept and the reject level with slack, shape `(rows, 1)`, for bounds at the final counts."""
    floor, ceiling = upper(np.maximum(means.low, means.next_best)), lower(np.minimum(means.high, means.last_good))
    accept: FloatArray = np.where(means.boundary, floor, np.inf).min(axis=1, keepdims=True) - _SLACK
    reject: FloatArray = np.where(means.boundary, ceiling, -np.inf).max(axis=1, keepdims=True) + _SLACK
    return accept, reject


def suspects(rule: RacingRule, means: WindowBounds, T_end: IntArray) -> BoolArray:
    """Return which items could be identified in the windows, shape `(..., d)`; ignore entries of non-survivors."""
    accept, reject = levels(rule, means, T_end)
    return rule.above(means.high, T_end, accept) | rule.below(means.low, T_end, reject)


def first_suspect_round(rule: RacingRule) -> int:
    """Return the smallest count at which a rule could fire, whatever the means."""

    def quiet(T: int) -> bool:
        return bool(rule.lower(1.0, T) <= rule.upper(0.0, T) - rule.epsilon)

    low, high = 0, 1
    while quiet(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if quiet(middle) else (low, middle)
    return high
