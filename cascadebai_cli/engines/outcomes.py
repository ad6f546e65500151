"""Sources of outcomes: the n-th observation of item `i` is Bernoulli(`w(i)`), whatever the learner does.

Both sources offer the same two views of this stack of rewards: `next`, one outcome at a time, and `stretch`, the
next `n` outcomes of several items at once, kept as the positions of the rarer outcome.
"""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.engines.stretch import Stretch
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

DENSE_RATE = 0.11
"""Mean rate of the rarer outcome from which drawing every outcome is cheaper than drawing gaps."""


class Outcomes(Protocol):
    """Where the outcomes of a trial come from."""

    def next(self, item: int) -> int:
        """Next outcome of `item`: 1 a click, 0 a skip."""
        ...

    def stretch(self, items: IntArray, start: int, rounds: int) -> Stretch:
        """Outcomes `start, ..., start + rounds - 1` of each of `items`."""
        ...

    def rarity(self, items: IntArray) -> float:
        """Expected number of stored positions per observation of `items`, for sizing a stretch."""
        ...


class RandomOutcomes:
    """Outcomes drawn from a generator.

    Args:
        weights: click probability of each item, shape `(L,)`.
        rng: the only source of randomness.
    """

    def __init__(self, weights: FloatArray, rng: np.random.Generator) -> None:
        self.weights, self.rng = weights, rng

    def next(self, item: int) -> int:
        """One Bernoulli(w) draw."""
        return int(self.rng.random() < self.weights[item])

    def rarity(self, items: IntArray) -> float:
        """Mean probability of the outcome that is rarer on average."""
        mean = float(self.weights[items].mean())
        return min(mean, 1 - mean)

    def stretch(self, items: IntArray, start: int, rounds: int) -> Stretch:
        """Fresh outcomes; what was drawn before and not used is forgotten, which changes no law."""
        w = self.weights[items]
        clicks = bool(w.mean() <= 0.5)
        rate = w if clicks else 1 - w
        dense = rate.mean() > DENSE_RATE
        keys = np.flatnonzero(self._dense(rate, rounds)) if dense else self._sparse(rate, rounds)
        return Stretch(rounds, len(items), keys, clicks)

    def _dense(self, rate: FloatArray, rounds: int) -> BoolArray:
        """Whether each outcome is the rare one, shape `(rounds, d)`.

        A 16-bit number decides unless it equals the 16-bit prefix of the rate; a second draw then settles it.
        """
        scaled = rate * 65536
        prefix = np.minimum(np.floor(scaled), 65535)
        drawn = self.rng.integers(0, 65536, size=(rounds, len(rate)), dtype=np.uint16)
        threshold = prefix.astype(np.uint16)
        rare = drawn < threshold
        tied = np.flatnonzero(drawn == threshold)
        rare.ravel()[tied] = self.rng.random(len(tied)) < (scaled - prefix)[tied % len(rate)]
        return rare

    def _sparse(self, rate: FloatArray, rounds: int) -> IntArray:
        """Sorted keys `round * d + column` of the rare outcomes, from geometric gaps.

        Columns whose rates lie within a factor of two share one run of gaps at the largest of their rates,
        thinned to their own.
        """
        with np.errstate(divide="ignore"):
            octave = np.floor(np.log2(rate))
        parts = [
            self._group(rate, np.flatnonzero(octave == level), rounds)
            for level in np.unique(octave[np.isfinite(octave)])
        ]
        if len(parts) == 1:
            return parts[0]
        return np.sort(np.concatenate([np.zeros(0, np.int64), *parts]), kind="stable")

    def _group(self, rate: FloatArray, columns: IntArray, rounds: int) -> IntArray:
        top = rate[columns].max()
        at = geometric_positions(self.rng, top, rounds * len(columns))
        lap, place = np.divmod(at, len(columns))
        column = columns[place]
        keys: IntArray = lap * len(rate) + column
        if rate[columns].min() < top:
            keys = keys[self.rng.random(len(keys)) * top < rate[column]]
        return keys


def geometric_positions(rng: np.random.Generator, rate: float, length: int) -> IntArray:
    """Sorted positions of the successes among `length` Bernoulli(`rate`) trials, `0 < rate <= 1`."""
    if rate == 1:
        return np.arange(length)
    mean = length * rate
    parts, last = [], -1
    while last < length:
        guess = int(mean - max(last, 0) * rate)
        gaps = rng.geometric(rate, size=guess + 5 * int(np.sqrt(guess + 1)) + 5)
        parts.append(last + np.cumsum(gaps))
        last = int(parts[-1][-1])
    at = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return at[: np.searchsorted(at, length)]


class TableOutcomes:
    """Outcomes read from a table, the same for every engine: for tests and for replaying a log.

    Args:
        table: `table[item, n]` is the (n+1)-th outcome of `item`, shape `(L, N)`; every outcome that the learner
            meets must lie in it.
    """

    def __init__(self, table: ArrayLike) -> None:
        self.table = np.asarray(table, dtype=bool)
        self.used = np.zeros(len(self.table), np.int64)

    def next(self, item: int) -> int:
        """The next unread entry of the item's row."""
        self.used[item] += 1
        return int(self.table[item, self.used[item] - 1])

    def rarity(self, items: IntArray) -> float:
        """Every outcome may be stored."""
        return 1.0

    def stretch(self, items: IntArray, start: int, rounds: int) -> Stretch:
        """Columns `start` to `start + rounds` of the rows `items`; entries beyond the table are skips."""
        bits = self.table[items, start : start + rounds].T
        bits = np.pad(bits, ((0, rounds - len(bits)), (0, 0)))
        clicks = bool(bits.mean() <= 0.5)
        return Stretch(rounds, len(items), np.flatnonzero(bits == clicks), clicks)
