"""Stacks of rewards read in bulk: any outcomes of one item, from the count that the run has reached on."""

from typing import Protocol

import numpy as np

from cascadebai_cli.engines.streams import spawned
from cascadebai_cli.model.instance import BoolArray, FloatArray

KEPT = 1024
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

    def forget(self) -> None:
        """Give the memory back: nothing is read any more."""


class RandomStack:
    """Outcomes drawn from one generator an item, so that no outcome depends on when others were read.

    Nothing is made before something is read, and what lies far before the first `start` is skipped, not drawn.

    Args:
        weights: click probability of each item, shape `(L,)`.
        rng: the trial's generator; the items' generators are its children.
    """

    def __init__(self, weights: FloatArray, rng: np.random.Generator) -> None:
        self.weights, self._rng = weights, rng
        self.forget()

    def forget(self) -> None:
        """Give the memory back."""
        self._streams: list[np.random.Generator] = []
        self._known: list[BoolArray] = []
        self._first: list[int] = []

    def _open(self) -> None:
        L = len(self.weights)
        self._streams, self._known, self._first = spawned(self._rng, L), [np.zeros(0, bool)] * L, [0] * L

    def peek(self, item: int, start: int, n: int) -> BoolArray:
        """Bernoulli(w) draws."""
        if not self._streams:
            self._open()
        known = self._known[item]
        if start + n > self._first[item] + len(known):
            known = self._read_on(item, max(0, start - KEPT - self._first[item]), start + n)
        begin = start - self._first[item]
        return known[begin : begin + n]

    def _read_on(self, item: int, drop: int, end: int) -> BoolArray:
        """Drop what is first, and draw up to `end`."""
        stream, known = self._streams[item], self._known[item]
        if drop > len(known):
            stream.bit_generator.advance(drop - len(known))  # type: ignore[attr-defined]  # a draw is one step of it
        self._first[item] += drop
        missing = end - self._first[item] - len(known[drop:])
        fresh = stream.random(max(missing, AT_ONCE)) < self.weights[item]
        self._known[item] = np.concatenate([known[drop:], fresh])
        return self._known[item]
