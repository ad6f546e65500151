"""Whether no rule of Algorithm 1 can fire in some rows before any item was observed a few more times, by `proofs`."""

from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines.proofs import levels_of_boundary, mean_bounds
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray


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
    means = mean_bounds(window.T, window.S, window.T_end, window.S_end, k, alive)
    accept, reject = levels_of_boundary(means, lambda mean: mean + C, lambda mean: mean - C)
    best = np.where(alive, means.high - C, -np.inf).max(axis=1)
    worst = np.where(alive, means.low + C, np.inf).min(axis=1)
    quiet: BoolArray = (best <= accept[:, 0] - epsilon) & (worst >= reject[:, 0] - epsilon)
    return quiet
