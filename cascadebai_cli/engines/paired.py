"""One stack of rewards for all learners and engines, read as outcomes one by one or in stretches."""

from collections.abc import Iterator

import numpy as np

from cascadebai_cli.engines.outcomes import Stretch, key_type, spawned
from cascadebai_cli.model.problem import FloatArray, IntArray

_BUFFER = 512
"""Number of outcomes of an item that are drawn at once when they are read one by one."""
_CHUNK = 2**16
"""Largest number of outcomes of an item that are drawn at once."""


class PairedOutcomes:
    """The stack of rewards of `RandomStack`, in the form of `Outcomes`.

    The n-th outcome of an item depends on the generator alone, and not on what is read, nor how. So all learners that
    are given this generator meet the same stack, whichever engine runs them. That takes as much time as there are
    outcomes, rare or not. One object is read by `next` alone, or by `stretch` alone.

    Args:
        weights: click probability of each item, shape `(L,)`.
        rng: the trial's generator; the items' generators are its children.
    """

    def __init__(self, weights: FloatArray, rng: np.random.Generator) -> None:
        self.weights = weights
        self._streams = spawned(rng, len(weights))
        self._drawn = [0] * len(weights)
        self._buffers: list[Iterator[int]] = [iter(())] * len(weights)

    def next(self, item: int) -> int:
        """Return the next outcome of the item."""
        for outcome in self._buffers[item]:
            return outcome
        clicks = self._streams[item].random(_BUFFER) < self.weights[item]
        self._buffers[item] = iter(clicks.astype(int).tolist())
        return next(self._buffers[item])

    def rarity(self, items: IntArray) -> float:
        """Return the mean probability of the outcome that is rarer on average."""
        mean = float(self.weights[items].mean())
        return min(mean, 1 - mean)

    def stretch(self, items: IntArray, start: int, rounds: int, shift: int) -> Stretch:
        """Return outcomes of the stack; no `start` may lie before the end of the last stretch of one of the items."""
        clicks = bool(self.weights[items].mean() <= 0.5)
        kind = key_type(rounds, shift)
        parts = [(self._rare(item, start, rounds, clicks).astype(kind) << shift) | item for item in items.tolist()]
        return Stretch(np.sort(np.concatenate(parts)), clicks)

    def _rare(self, item: int, start: int, rounds: int, clicks: bool) -> IntArray:
        """Return which of the outcomes from `start` on are clicks, or skips."""
        w, stream = float(self.weights[item]), self._streams[item]
        if w in (0, 1):
            return np.arange(rounds if (w == 1) == clicks else 0)
        if start > self._drawn[item]:
            stream.bit_generator.advance(start - self._drawn[item])  # type: ignore[attr-defined]  # a draw is one step
        self._drawn[item] = start + rounds
        sizes = [(begin, min(_CHUNK, rounds - begin)) for begin in range(0, rounds, _CHUNK)]
        return np.concatenate([begin + np.flatnonzero((stream.random(n) < w) == clicks) for begin, n in sizes])
