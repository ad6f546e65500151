"""The items of a row that KL-LUCB++ may show soon: its pool.

The first `K` columns of a pool are `J`, then come the items outside with the largest upper bounds. The last column
stands for the *rest*, the items that are not in the pool: it has the largest of their upper bounds. They are not
observed, so nothing of it changes.

A *level* lies between the means inside `J` and outside. `J` stays as it is until the mean of an item that was observed
reaches the level from its side. Of equal means the first item ranks higher, so the level has an item too: with the mean
of the level, those up to it may be inside, and those behind it outside.
"""

from dataclasses import dataclass

import numpy as np

from cascadebai_cli.engines.lucb_items import LARGEST, Codes, Items
from cascadebai_cli.engines.rows import RowState
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray


@dataclass
class Pool(RowState):
    """Pools of some rows, of `P` items each.

    Attributes:
        item: the items, shape `(rows, P)`.
        turn: what lists are ordered by, see `Codes`; shape `(rows, P + 1)`, as for the following.
        reach: as it is now.
        start: place of the state after the next observation in the windows, less `T`.
        level: mean, mirrored inside `J`, at which the item might change sides.
        outdated: whether the pool has to be made anew, shape `(rows,)`.
        best: largest mean of the rest, shape `(rows,)`.
    """

    item: IntArray
    turn: IntArray
    reach: IntArray
    start: IntArray
    level: FloatArray
    outdated: BoolArray
    best: FloatArray


def empty_pools(rows: int, P: int) -> Pool:
    """Pools that have to be made."""
    turn, reach, start = (np.zeros((rows, P + 1), np.int64) for _ in range(3))
    item, level = np.zeros((rows, P), np.int64), np.zeros((rows, P + 1))
    return Pool(item, turn, reach, start, level, np.ones(rows, bool), np.zeros(rows))


class Pools:
    """Keeps the pools of a block.

    Args:
        items: the items of its rows.
        K: size of `J`.
        P: size of a pool, at least `2 K` or `L`.
        codes: codes of turns and reaches.
    """

    def __init__(self, items: Items, K: int, P: int, codes: Codes) -> None:
        self.items, self.K, self.P, self.codes = items, K, P, codes
        rows, self.L = items.T.shape
        self.of = empty_pools(rows, P)

    def keep(self, rows: IntArray) -> None:
        """Forget all rows but these; the items of the others are forgotten already."""
        self.of.keep(rows)

    def places(self, rows: IntArray) -> IntArray:
        """Places of the items of pools, shape `(rows, P)`."""
        places: IntArray = rows[:, None] * self.L + self.of.item[rows]
        return places

    def boundary(self) -> tuple[IntArray, IntArray]:
        """The weakest item of each row and its rival: positions in the flat pools, shape `(rows,)`."""
        first = np.arange(len(self.of.reach)) * (self.P + 1)
        weakest, rival = self.of.reach[:, : self.K].argmax(axis=1), self.of.reach[:, self.K :].argmax(axis=1)
        return first + weakest, first + (rival + self.K)

    def touched(self, rows: IntArray) -> BoolArray:
        """Rows in which a mean has reached the level."""
        places = self.places(rows)
        mean = self.items.S.ravel()[places] / self.items.T.ravel()[places]
        mean[:, : self.K] *= -1
        return np.asarray((mean >= self.of.level[rows, : self.P]).any(axis=1))

    def renew(self, rows: IntArray) -> None:
        """Rank the means of rows anew, those of the pool alone if no item of the rest can be in `J`."""
        outdated = self.of.outdated[rows]
        known = rows[~outdated]
        item = np.sort(self.of.item[known], axis=1)
        places = known[:, None] * self.L + item
        mean = self.items.S.ravel()[places] / self.items.T.ravel()[places]
        inside = largest(mean, self.K)
        enough = np.where(inside, mean, np.inf).min(axis=1) > self.of.best[known]
        self._divide(known[enough], item[enough], inside[enough], mean[enough])
        anew = np.concatenate([rows[outdated], known[~enough]])
        if len(anew):
            self._choose(anew)

    def _choose(self, rows: IntArray) -> None:
        """Choose items from all: `J`, those that have just left it, and those with the largest upper bounds."""
        items, L, P = self.items, self.L, self.P
        mean, reach = items.S[rows] / np.maximum(items.T[rows], 1), items.now[rows]
        inside = largest(mean, self.K)
        item = np.tile(np.arange(L), (len(rows), 1))
        self.of.outdated[rows], self.of.reach[rows, P], self.of.best[rows] = False, -LARGEST, -1.0
        if P < L:
            order = np.where(inside | items.inside[rows], LARGEST, reach).argpartition([L - P - 1, L - P], axis=1)
            item, rest = np.sort(order[:, L - P :], axis=1), order[:, : L - P]
            self.of.reach[rows, P] = reach[np.arange(len(rows)), rest[:, -1]]
            self.of.best[rows] = np.take_along_axis(mean, rest, axis=1).max(axis=1)
        self._divide(rows, item, np.take_along_axis(inside, item, axis=1), np.take_along_axis(mean, item, axis=1))

    def _divide(self, rows: IntArray, item: IntArray, inside: BoolArray, mean: FloatArray) -> None:
        """Make pools of ascending items; the window of an item that changes sides has to be read anew."""
        places = rows[:, None] * self.L + item
        switched = places[inside != self.items.inside.ravel()[places]]
        self.items.inside.ravel()[places] = inside
        self.items.end.ravel()[switched] = self.items.T.ravel()[switched]
        order = np.argsort(~inside, axis=1, kind="stable")
        self.of.item[rows] = np.take_along_axis(item, order, axis=1)
        level = _levels(item, inside, mean, self.of.best[rows])
        self.of.level[rows, : self.P] = np.take_along_axis(level, order, axis=1)

    def load(self, rows: IntArray) -> None:
        """Take over what is known of the items of pools."""
        places = self.places(rows)
        T = self.items.T.ravel()[places]
        self.of.reach[rows, : self.P] = self.items.now.ravel()[places]
        self.of.start[rows, : self.P] = self.items.start.ravel()[places] + 1
        position = rows[:, None] * (self.P + 1) + np.arange(self.P)
        turn = (T << self.codes.count) | (self.of.item[rows] << self.codes.place) | (position << 1)
        self.of.turn[rows, : self.P] = turn | self.items.click.ravel()[places]


def _levels(item: IntArray, inside: BoolArray, mean: FloatArray, best: FloatArray) -> FloatArray:
    """The smallest mean, mirrored inside, with which each item might belong to the other side."""
    worst = np.where(inside, mean, np.inf).min(axis=1)
    level = (worst + np.maximum(best, np.where(inside, -np.inf, mean).max(axis=1)))[:, None] / 2
    last = np.where(inside & (mean == level), item, -1).max(axis=1, keepdims=True)
    mirrored = np.where(inside, -level, level)
    return np.asarray(np.where(inside == (item <= last), np.nextafter(mirrored, np.inf), mirrored))


def largest(values: FloatArray, n: int) -> BoolArray:
    """Mask of the `n` largest values of each row; of equals the first."""
    least = np.partition(values, -n, axis=1)[:, -n][:, None]
    mask = values >= least
    tied = np.flatnonzero(mask.sum(axis=1) > n)
    if len(tied):
        above = values[tied] > least[tied]
        equal = mask[tied] & ~above
        room = n - above.sum(axis=1, keepdims=True)
        mask[tied] = above | (equal & (np.cumsum(equal, axis=1) <= room))
    return mask
