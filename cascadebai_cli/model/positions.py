"""The position-based model: a shown item is looked at with a chance that depends on its position alone.

A view of item `i` at position `p` is clicked with probability `theta(p) w(i)`. Both are estimated together by maximum
likelihood (Richardson, Dominowska and Ragno 2007; as a click model in Chuklin, Markov and de Rijke 2015, section 3.3).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.instance import FloatArray, IntArray

ITERATIONS, SETTLED = 5000, 1e-9
START = 200
"""Iterations for small rates, where the model is a product of Poisson means, before those for any rates."""


@dataclass(frozen=True, eq=False)
class Shown:
    """Counts of items at positions, one entry a pair.

    Args:
        item, position: numbers from 0, shape `(n,)`.
        clicks, views: counts, shape `(n,)`.
    """

    item: IntArray
    position: IntArray
    clicks: FloatArray
    views: FloatArray

    def by_item(self, values: FloatArray) -> FloatArray:
        """Sums over positions, shape `(L,)`."""
        return np.bincount(self.item, values).astype(np.float64)

    def by_position(self, values: FloatArray) -> FloatArray:
        """Sums over items, shape `(P,)`."""
        return np.bincount(self.position, values).astype(np.float64)


def groups_of(shown: Shown) -> IntArray:
    """Positions with the same number can be compared, as clicked items lead from one to the other, shape `(P,)`.

    Scales of examination and attraction can be told apart only within a group.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    told = (shown.views > 0) & np.isin(shown.item, np.flatnonzero(shown.by_item(shown.clicks) > 0))
    P = int(shown.position.max()) + 1
    size = P + int(shown.item.max()) + 1
    edges = (np.ones(int(told.sum())), (shown.position[told], P + shown.item[told]))
    return np.asarray(connected_components(coo_array(edges, shape=(size, size)), directed=False)[1][:P], np.int64)


def examination(shown: Shown) -> tuple[FloatArray, FloatArray]:
    """Chance that each position is looked at, the largest being 1, and the attraction of each item.

    The EM algorithm: where there was no click, the chance that the item was looked at is `theta (1 - w) / (1 - theta
    w)`, and the chance that it would have been clicked is `w (1 - theta) / (1 - theta w)`.

    Args:
        shown: all positions in one group.

    Returns:
        `theta`, shape `(P,)`, and `w`, shape `(L,)`.
    """
    theta, w = _for_small_rates(shown)
    views_at, views_of = shown.by_position(shown.views), np.maximum(shown.by_item(shown.views), 1e-300)
    missed = shown.views - shown.clicks
    for _ in range(ITERATIONS):
        t, a = theta[shown.position], w[shown.item]
        per_miss = missed / np.maximum(1 - t * a, 1e-300)
        looked = shown.by_position(shown.clicks + per_miss * t * (1 - a)) / np.maximum(views_at, 1e-300)
        liked = shown.by_item(shown.clicks + per_miss * a * (1 - t)) / views_of
        moved = max(np.abs(looked - theta).max(), np.abs(liked - w).max())
        theta, w = looked, liked
        if moved < SETTLED:
            break
    top = theta.max()
    return theta / top, np.minimum(w * top, 1)


def _for_small_rates(shown: Shown) -> tuple[FloatArray, FloatArray]:
    """The two, from clicks that are Poisson with mean `views theta w`; a good start."""
    theta, clicks_at = np.ones(int(shown.position.max()) + 1), shown.by_position(shown.clicks)
    clicks_of = shown.by_item(shown.clicks)
    for _ in range(START):
        w = clicks_of / np.maximum(shown.by_item(shown.views * theta[shown.position]), 1e-300)
        theta = clicks_at / np.maximum(shown.by_position(shown.views * w[shown.item]), 1e-300)
        theta /= theta.max()
    return np.minimum(theta, 1), np.minimum(w, 1)


def looked_at(shown: Shown, theta: ArrayLike) -> FloatArray:
    """Views of each item that were looked at, on average, and no fewer than its clicks, shape `(L,)`."""
    seen = shown.by_item(shown.views * np.asarray(theta)[shown.position])
    return np.maximum(seen, shown.by_item(shown.clicks))
