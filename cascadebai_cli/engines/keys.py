"""Outcomes of a stretch of rounds as sorted keys, and the places at which steps end.

In a round every survivor is observed once, in the order of the items. For each row only the *rarer* outcome (click or
skip) is kept, as keys `round << shift | item` in ascending order, which is the order in which they are observed.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

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
