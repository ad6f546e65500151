"""Where the outcomes of a trial come from: streams of random bits, stacks of rewards, tables of rewards."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

# --- Outcomes of a stretch of rounds as sorted keys, and the places at which steps end --------------------------------
#
# In a round every survivor is observed once, in the order of the items. For each row only the *rarer* outcome (click or
# skip) is kept, as keys `round << shift | item` in ascending order, which is the order in which they are observed.

MOST_KEYS = 2**52
"""Rounds times width of a stretch stay below this, so that quotients of counts are exact in floating point."""


def key_type(rounds: int, shift: int) -> type[np.signedinteger[Any]]:
    """Return the type of the keys of a stretch: as small as possible, for speed."""
    return np.int32 if rounds << shift < 2**31 else np.int64


def group_sums(
    keys: IntArray, shift: int, size: int, groups: int, clicks: bool, before: IntArray | int = 0
) -> FloatArray:
    """Return the clicks of each item in the first 0, 1, ..., `groups` groups of `size` rounds, added to `before`.

    `size` is a power of two.

    Returns:
        whole numbers, shape `(groups + 1, 2 ** shift)`.
    """
    width = 1 << shift
    cell = keys >> (shift + size.bit_length() - 1)
    cell <<= shift
    cell |= keys & (width - 1)
    rare = np.bincount(cell, minlength=groups * width).reshape(groups, width)
    sums: np.ndarray = np.empty((groups + 1, width))
    sums[0], sums[1:] = before, rare if clicks else size - rare
    return cumulated(sums)


def cumulated(sums: FloatArray) -> FloatArray:
    """Replace the terms along the first axis by their sums so far, in place; faster than `np.cumsum`."""
    for last, term in pairwise(sums):
        term += last
    return sums


def positions(keys: IntArray, borders: IntArray) -> list[int]:
    """Return how many keys lie before each border; a search for borders of another type would copy all keys."""
    found: list[int] = keys.searchsorted(borders.astype(keys.dtype)).tolist()
    return found


def true_places(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """Return row and column of every true entry of a mask, many times faster than `np.nonzero`."""
    flat = np.flatnonzero(mask)
    row = flat // mask.shape[1]
    return row, flat - row * mask.shape[1]


def joined(parts: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the arrays joined into one, and the length of each."""
    return np.concatenate(parts), np.array([len(part) for part in parts])


def cuts_at_clicks(
    at: IntArray, count: IntArray, length: IntArray, offset: IntArray, batch: IntArray
) -> tuple[IntArray, IntArray]:
    """Count the steps that end within the next observations of some rows, given the places of the clicks.

    A step ends at a click or at its `batch`-th observation.

    Args:
        at: places of the clicks among the observations of their row, ascending in each, one row after the other.
        count: number of clicks of each row.
        length: number of observations of each row.
        offset: observations that the step in progress has made before these, fewer than the batch.
        batch: largest number of observations of a step, for each row.

    Returns:
        number of steps that end, and number of observations of the step that is then in progress.
    """
    stop = np.cumsum(count)
    some = np.flatnonzero(count)
    first = (stop - count)[some]
    gap = np.empty_like(at)
    np.subtract(at[1:], at[:-1], out=gap[1:])
    gap[first] = at[first] + 1 + offset[some]
    rest = length + offset
    rest[some] = length[some] - 1 - at[stop[some] - 1]
    steps = count + rest // batch
    gap -= 1
    steps[some] += _full_batches(gap, first, count[some], batch[some])
    return steps, rest % batch


def cuts_at_skips(
    at: IntArray, count: IntArray, length: IntArray, offset: IntArray, batch: IntArray
) -> tuple[IntArray, IntArray]:
    """Count as `cuts_at_clicks` does, given the places of the skips.

    Every click ends a step, and so does every `batch`-th skip in a row.
    """
    stop = np.cumsum(count)
    some = np.flatnonzero(count)
    first = (stop - count)[some]
    begins = np.empty(len(at), bool)
    np.not_equal(at[1:] - at[:-1], 1, out=begins[1:])
    begins[first] = True
    begin = np.flatnonzero(begins)
    run = np.diff(begin, append=len(at))
    head = np.searchsorted(begin, first)
    run[head] += np.where(at[first] == 0, offset[some], 0)
    runs = np.diff(head, append=len(begin))
    steps, rest = length - count, np.where(length > 0, 0, offset)
    steps[some] += _full_batches(run, head, runs, batch[some])
    last = run[head + runs - 1] % batch[some]
    rest[some] = np.where(at[stop[some] - 1] == length[some] - 1, last, 0)
    return steps, rest


def _full_batches(values: IntArray, first: IntArray, count: IntArray, batch: IntArray) -> IntArray:
    """Return the sum of `values
    batch` of each row, whose `count > 0` values begin at `first`.

    Floating-point division is faster, and for numbers below 2**53 the whole part of a quotient is exact.
    """
    if len(first) == 0:
        return first
    full = np.floor(values / np.repeat(batch.astype(np.float64), count))
    return np.add.reduceat(full, first).astype(np.int64)


def step_ends(clicks: BoolArray, observed: BoolArray, offset: IntArray, batch: IntArray) -> BoolArray:
    """Return a mask of the places in a part of a round at which a step ends, shape `(rows, columns)`.

    Args:
        clicks: the columns at which a click ends the step.
        observed: the columns that are observed at all.
        offset, batch: as for `cuts_at_clicks`.
    """
    place = np.cumsum(observed, axis=1, dtype=np.int32) - np.int32(1)
    since = np.where(clicks & observed, place, np.int32(-1) - offset[:, None].astype(np.int32))
    np.maximum.accumulate(since, axis=1, out=since)
    ends: BoolArray = observed & ((place - since) % batch[:, None].astype(np.int32) == 0)
    return ends


# --- Rewards from a table -------------------------------------------------------------------------------------------
#
# The outcome of item `i` at step `t` is entry `((t - 1) mod rows, i)` of the table, as in programs that read rewards
# drawn beforehand. If the same table is used again once its rows are used up, outcomes are no longer independent, and
# runs longer than the table do not have the law of the algorithm.


BLOCK = 4096
"""Most rows of a block: enough to pay for a call of NumPy, few enough to lose little when the survivors change."""
_ENTRIES = 2**22
"""Most entries of a block."""


@dataclass(frozen=True)
class TableShape:
    """The table of rewards that a study asks for.

    Attributes:
        rows: number of steps after which the table begins anew.
        reuse: whether the same table is used again; if not, a new one is drawn each time.
    """

    rows: int
    reuse: bool = True

    def memory(self, L: int, steps: int) -> int:
        """Return the bytes that the rows of `steps` steps take, 0 if they are not kept."""
        size = _block_rows(L)
        return -(-min(self.rows, steps) // size) * L * -(-size // 8) if self.reuse else 0


def _block_rows(L: int) -> int:
    """Return the number of rows of a block of `L` items."""
    return max(1, min(BLOCK, _ENTRIES // L))


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
    """Outcomes of a trial, step by step, from a table that is cut into blocks.

    A table that is drawn anew each time counts as one without end. Steps must be asked for in ascending order.

    Args:
        shape: its rows, and whether they are used again.
        L: number of items.
    """

    def __init__(self, shape: TableShape, L: int) -> None:
        self.shape, self.size = shape, _block_rows(L)
        # A block holds several copies of a short table.
        self._rows = shape.rows * max(1, self.size // shape.rows) if shape.reuse else sys.maxsize

    def place(self, step: int) -> Place:
        """Return where step `step + 1` finds its row."""
        block, row = divmod(step % self._rows, self.size)
        return Place(block, row, min(self.size, self._rows - block * self.size))

    def at(self, step: int) -> Callable[[int], int]:
        """Return a function from an item to its outcome at step `step + 1`."""
        place = self.place(step)
        clicks = self.clicks(place)
        return lambda item: int(clicks[item, place.row])

    @abstractmethod
    def clicks(self, place: Place) -> BoolArray:
        """Return the outcomes of the block of `place`, shape `(L, rows)`."""


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
        """Return the outcomes of a block: drawn when it is first met, unpacked when it is met again."""
        if place.block != self._open:
            again = place.block < len(self._packed)
            self._clicks = self._unpacked(place) if again else self._drawn(place.rows)
            self._open = place.block
        return self._clicks

    def _unpacked(self, place: Place) -> BoolArray:
        # Unpacking in one piece is several times faster than with `axis=1`.
        bits = np.unpackbits(self._packed[place.block].ravel()).reshape(len(self.weights), -1)
        return bits[:, : place.rows].view(bool)

    def _drawn(self, rows: int) -> BoolArray:
        new = min(rows, self.shape.rows) if self.shape.reuse else rows
        clicks = self.rng.random((len(self.weights), new)) < self.weights[:, None]
        if self.shape.reuse:
            clicks = np.tile(clicks, -(-rows // new))
            self._packed.append(np.packbits(clicks, axis=1))
        return clicks


# --- Sources of outcomes --------------------------------------------------------------------------------------------
#
# The n-th observation of item `i` is Bernoulli(`w(i)`), whatever the learner does. A source offers two views of this
# stack of rewards: `next`, one outcome at a time, and `stretch`, the next `n` outcomes of several items at once, kept
# as the keys of the rarer outcome.


_DENSE_RATE = 0.11
"""Mean rate of the rarer outcome from which it is cheaper to draw every outcome than to draw the rare ones only."""
_LARGEST_RATE = 3.5
"""Mean number of points in a cell (`_sparse`) from which it is cheaper to draw every outcome of the item."""


class Stretch(NamedTuple):
    """Outcomes of some rounds.

    Attributes:
        keys: `round << shift | item` of every rare outcome, ascending.
        clicks: whether the rare outcome is a click (else a skip).
    """

    keys: IntArray
    clicks: bool


class Outcomes(Protocol):
    """Where the outcomes of a trial come from."""

    def next(self, item: int) -> int:
        """Return the next outcome of `item`: 1 for a click, 0 for a skip."""
        ...

    def stretch(self, items: IntArray, start: int, rounds: int, shift: int) -> Stretch:
        """Return outcomes `start, ..., start + rounds - 1` of each of `items`, all below `2 ** shift`."""
        ...

    def rarity(self, items: IntArray) -> float:
        """Return the expected number of keys per observation of `items`, from which the size of a stretch is chosen."""
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
        """Draw one Bernoulli(w) outcome."""
        return int(self.rng.random() < self.weights[item])

    def rarity(self, items: IntArray) -> float:
        """Return the mean probability of the outcome that is rarer on average."""
        mean = float(self.weights[items].mean())
        return min(mean, 1 - mean)

    def stretch(self, items: IntArray, start: int, rounds: int, shift: int) -> Stretch:
        """Draw fresh outcomes; those drawn before and not used are forgotten, which does not change the law."""
        w = self.weights[items]
        clicks = bool(np.add.reduce(w) / len(w) <= 0.5)
        rate = w if clicks else 1 - w
        if np.add.reduce(rate) / len(w) > _DENSE_RATE:
            at, place = true_places(self._dense(rate, rounds))
            return Stretch(((at << shift) | items[place]).astype(key_type(rounds, shift)), clicks)
        return Stretch(self._sparse(rate, items, rounds, shift), clicks)

    def _dense(self, rate: FloatArray, rounds: int) -> BoolArray:
        """Return a mask of the outcomes that are the rare one, shape `(rounds, d)`.

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

    def _sparse(self, rate: FloatArray, items: IntArray, rounds: int, shift: int) -> IntArray:
        """Return the keys of the rare outcomes.

        Points of a Poisson process fall into a cell of mean `-log(1 - rate)` at least once with probability `rate`,
        independently of the other cells; repeated points count once.
        """
        with np.errstate(divide="ignore"):
            mean = -np.log1p(-rate)
        often = mean > _LARGEST_RATE
        points = self.rng.poisson(np.where(often, 0, mean * rounds))
        keys = self.rng.integers(0, rounds, size=points.sum(), dtype=key_type(rounds, shift))
        keys <<= shift
        keys |= np.repeat(items.astype(keys.dtype), points)
        if often.any():
            at, place = true_places(self.rng.random((rounds, int(often.sum()))) < rate[often])
            keys = np.concatenate([keys, ((at << shift) | items[often][place]).astype(keys.dtype)])
        keys.sort()
        fresh = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
        once: IntArray = keys[fresh]
        return once
