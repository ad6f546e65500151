"""Stacks of rewards read in bulk: any outcomes of one item, from the count that the run has reached on."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.instance import BoolArray, FloatArray

KEPT = 4096
"""Outcomes that stay readable before the last `start` that was asked for."""


AT_ONCE = 512
"""Outcomes drawn at once at least."""


class Stack(Protocol):
    """Where the outcomes of one trial come from."""

    def peek(self, item: int, start: int, n: int) -> BoolArray:
        """Outcomes `start, ..., start + n - 1` of `item`, not to be written to.

        `start` is at most `KEPT` less than the largest one so far.
        """
        ...


class RandomStack:
    """Outcomes drawn from one generator an item, so that no outcome depends on when others were read.

    Args:
        weights: click probability of each item, shape `(L,)`.
        rng: the trial's generator; the items' generators are spawned from it.
    """

    def __init__(self, weights: FloatArray, rng: np.random.Generator) -> None:
        self.weights: list[float] = weights.tolist()
        self._streams = rng.spawn(len(weights))
        self._known = [np.zeros(0, bool)] * len(weights)
        self._first = [0] * len(weights)

    def peek(self, item: int, start: int, n: int) -> BoolArray:
        """Bernoulli(w) draws."""
        known = self._known[item]
        missing = start + n - self._first[item] - len(known)
        if missing > 0:
            dropped = max(0, start - KEPT - self._first[item])
            fresh = self._streams[item].random(max(missing, AT_ONCE)) < self.weights[item]
            known = self._known[item] = np.concatenate([known[dropped:], fresh])
            self._first[item] += dropped
        begin = start - self._first[item]
        return known[begin : begin + n]


class TableStack:
    """Outcomes read from a table; what lies beyond it is a skip.

    Args:
        table: `table[item, n]` is the (n+1)-th outcome of `item`, shape `(L, N)`.
    """

    def __init__(self, table: ArrayLike) -> None:
        self.table = np.asarray(table, dtype=bool)

    def peek(self, item: int, start: int, n: int) -> BoolArray:
        """Entries of the item's row."""
        part = self.table[item, start : start + n]
        return np.pad(part, (0, n - len(part)))


class OneByOne:
    """A stack read one outcome at a time, for the reference engine.

    Args:
        stack: the stack.
    """

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._used: dict[int, int] = {}

    def next(self, item: int) -> int:
        """Next outcome of `item`: 1 a click, 0 a skip."""
        n = self._used[item] = self._used.get(item, 0) + 1
        return int(self._stack.peek(item, n - 1, 1)[0])
