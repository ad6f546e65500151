"""Rewards indexed by time: the outcome of item `i` at step `t` is entry `((t - 1) mod rows, i)` of a table.

This is how programs read rewards that were drawn beforehand. If the same table is used again once its rows are used
up, outcomes are no longer independent, and runs longer than the table obey another law than the algorithm's.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.model.instance import BoolArray, FloatArray

BLOCK = 4096
"""Rows of a block at most: enough to pay for a call of NumPy, few enough to lose little when the survivors change."""
ENTRIES = 2**22
"""Entries of a block at most."""


@dataclass(frozen=True)
class TableShape:
    """What a study says about its table of rewards.

    Attributes:
        rows: steps after which the table begins anew.
        reuse: whether the same table is used again; else a new one is drawn each time round.
    """

    rows: int
    reuse: bool = True

    def memory(self, L: int, steps: int) -> int:
        """Bytes that the rows of so many steps take, if they are kept."""
        size = block_rows(L)
        return -(-min(self.rows, steps) // size) * L * -(-size // 8) if self.reuse else 0


def block_rows(L: int) -> int:
    """Rows of a block of `L` items."""
    return max(1, min(BLOCK, ENTRIES // L))


class Place(NamedTuple):
    """Where a step finds its row.

    Attributes:
        block: number of the block; blocks of equal number have equal content.
        row: place in the block.
        rows: rows of the block.
    """

    block: int
    row: int
    rows: int


class RewardTable(ABC):
    """Where the outcomes of a trial come from, step by step: a table that is cut into blocks.

    One that is drawn anew each time round never ends. Steps are asked for in ascending order.

    Args:
        shape: its rows, and whether they are used again.
        L: number of items.
    """

    def __init__(self, shape: TableShape, L: int) -> None:
        self.shape, self.size = shape, block_rows(L)
        # Rows of a short table are repeated, so that a block holds many times round.
        self._rows = shape.rows * max(1, self.size // shape.rows) if shape.reuse else sys.maxsize

    def place(self, step: int) -> Place:
        """Where step `step + 1` finds its row."""
        block, row = divmod(step % self._rows, self.size)
        return Place(block, row, min(self.size, self._rows - block * self.size))

    def at(self, step: int) -> Callable[[int], int]:
        """Item -> outcome at step `step + 1`."""
        place = self.place(step)
        clicks = self.clicks(place)
        return lambda item: int(clicks[item, place.row])

    @abstractmethod
    def clicks(self, place: Place) -> BoolArray:
        """Outcomes of the block of `place`, shape `(L, rows)`."""


class RandomTable(RewardTable):
    """A table of independent Bernoulli(`w(i)`) entries, drawn block by block as the run reaches them.

    Args:
        weights: click probability of each item, shape `(L,)`.
        rng: the only source of randomness.
        shape: rows of the table, and whether they are used again.
    """

    def __init__(self, weights: FloatArray, rng: np.random.Generator, shape: TableShape) -> None:
        super().__init__(shape, len(weights))
        self.weights, self.rng = weights, rng
        self._packed: list[NDArray[np.uint8]] = []
        self._open, self._clicks = -1, np.zeros((len(weights), 0), bool)

    def clicks(self, place: Place) -> BoolArray:
        """Drawn when the block is met first, unpacked when it is met again."""
        if place.block != self._open:
            again = place.block < len(self._packed)
            self._clicks = self._unpacked(place) if again else self._drawn(place.rows)
            self._open = place.block
        return self._clicks

    def _unpacked(self, place: Place) -> BoolArray:
        # Unpacked in one piece: `axis=1` is several times slower.
        bits = np.unpackbits(self._packed[place.block].ravel()).reshape(len(self.weights), -1)
        return bits[:, : place.rows].view(bool)

    def _drawn(self, rows: int) -> BoolArray:
        new = min(rows, self.shape.rows) if self.shape.reuse else rows
        clicks = self.rng.random((len(self.weights), new)) < self.weights[:, None]
        if self.shape.reuse:
            clicks = np.tile(clicks, -(-rows // new))
            self._packed.append(np.packbits(clicks, axis=1))
        return clicks
