"""Stacks of rewards read in bulk: the next `n` outcomes of one item, for the engine that looks ahead."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.instance import BoolArray, FloatArray


class Stack(Protocol):
    """Where the outcomes of one trial come from; each is handed out once, in the order of the item's stack."""

    def take(self, item: int, n: int) -> BoolArray:
        """The next `n` outcomes of `item`."""
        ...


class RandomStack:
    """Outcomes drawn from one generator an item, so that no outcome depends on when others were read.

    Args:
        weights: click probability of each item, shape `(L,)`.
        rng: the trial's generator; the items' generators are spawned from it.
    """

    def __init__(self, weights: FloatArray, rng: np.random.Generator) -> None:
        self.weights: list[float] = weights.tolist()
        self.streams = rng.spawn(len(weights))

    def take(self, item: int, n: int) -> BoolArray:
        """`n` Bernoulli(w) draws."""
        return self.streams[item].random(n) < self.weights[item]


class TableStack:
    """Outcomes read from a table; what lies beyond it is a skip.

    Args:
        table: `table[item, n]` is the (n+1)-th outcome of `item`, shape `(L, N)`.
    """

    def __init__(self, table: ArrayLike) -> None:
        self.table = np.asarray(table, dtype=bool)
        self.used = np.zeros(len(self.table), np.int64)

    def take(self, item: int, n: int) -> BoolArray:
        """The next unread entries of the item's row."""
        start = self.used[item]
        self.used[item] += n
        part = self.table[item, start : start + n]
        return np.pad(part, (0, n - len(part)))
