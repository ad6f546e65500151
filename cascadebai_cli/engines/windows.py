"""Proof that no rule of Algorithm 1 can fire in some rows before any item was observed a few more times.

The stacks are known some way ahead: of each item the clicks now and at the end of a window are given, in between the
clicks can only grow. That bounds its mean, both confidence bounds, and the bounds of `j*` and `j'`.
"""

from typing import NamedTuple

import numpy as np

from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

GUARD = 1e-12
"""Covers rounding: a comparison closer than this is not proven."""


class Window(NamedTuple):
    """The items of some rows at the beginning and at the end of a window; all arrays have shape `(rows, L)`.

    Attributes:
        alive: the survivors; the other entries are ignored.
        T, S: observations and clicks now.
        T_end, S_end: observations and clicks at the end.
        radius: smallest radius in the window, the one at `T_end`.
    """

    alive: BoolArray
    T: IntArray
    S: IntArray
    T_end: IntArray
    S_end: IntArray
    radius: FloatArray


def proven_quiet(window: Window, k: IntArray, epsilon: FloatArray) -> BoolArray:
    """Rows in which no item can be accepted or rejected at any moment of the window, its ends included.

    Args:
        window: the rows.
        k: items still to be accepted in each row.
        epsilon: tolerance of each row.
    """
    alive, C = window.alive, window.radius
    low, high = mean_bounds(window)
    low_sorted, high_sorted = np.sort(low, axis=1), np.sort(high, axis=1)
    lower, upper = low + C, high - C
    top = low.shape[1] - 1 - k
    j_star = _candidates(low, high, low_sorted, high_sorted, top)
    floor = np.maximum(lower, _at(low_sorted, top) + C)
    accept_above = np.where(j_star & alive, floor, np.inf).min(axis=1) - epsilon
    j_prime = _candidates(low, high, low_sorted, high_sorted, top + 1)
    ceiling = np.minimum(upper, _at(high_sorted, top + 1) - C)
    reject_below = np.where(j_prime & alive, ceiling, -np.inf).max(axis=1) - epsilon
    best = np.where(alive, upper, -np.inf).max(axis=1)
    worst = np.where(alive, lower, np.inf).min(axis=1)
    quiet: BoolArray = (best <= accept_above - GUARD) & (worst >= reject_below + GUARD)
    return quiet


def mean_bounds(window: Window) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest mean that each item can have in the window; -1 for items that are not alive."""
    alive, T, S, T_end, S_end, _ = window
    first, last = np.maximum(T, 1), np.maximum(T_end, 1)
    skips, skips_end = T - S, T_end - S_end
    low = np.maximum(S / last, np.where(T > 0, 1 - skips_end / first, 0.0))
    high = np.minimum(S_end / first, 1 - skips / last)
    return np.where(alive, low, -1.0), np.where(alive, high, -1.0)


def _at(ordered: FloatArray, column: IntArray) -> FloatArray:
    return ordered[np.arange(len(ordered)), column][:, None]


def _candidates(
    low: FloatArray, high: FloatArray, low_sorted: FloatArray, high_sorted: FloatArray, column: IntArray
) -> BoolArray:
    """Items whose mean may be the one at `column` of the sorted means at some moment of the window."""
    return (high >= _at(low_sorted, column) - GUARD) & (low <= _at(high_sorted, column) + GUARD)
