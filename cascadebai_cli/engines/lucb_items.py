"""What a block of KL-LUCB++ knows of its items, now and after their next outcomes.

The n-th outcome of an item does not depend on the run, and neither do its mean and its bounds after `n` observations:
they are computed in bulk. An item of a row is a *place* `row * L + item`. Of each a *window* of states is known, the
one after `T` observations at `start + T`.

Seen from the boundary of `J` the items inside are mirrored: their means and lower bounds change sign. So on either
side, the larger the mean or the reach of an item, the nearer it is to the other side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.lucb_reaches import reaches_of
from cascadebai_cli.engines.rows import RowState
from cascadebai_cli.engines.stacks import Stack
from cascadebai_cli.learners.kl_lucb import LucbRule
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

LARGEST = np.int64(1) << 62
"""A reach beyond all others."""
AT_ONCE = 4096
"""States computed at once: their arrays fit into the cache."""
MEMORY = 128 * 2**20
"""Bytes for the windows of one block."""
SHORTEST, DEEPEST = 16, 256
"""Outcomes in a window."""
SPARE = 8
"""A window with fewer outcomes left is read on as soon as its row is attended to."""


@dataclass(frozen=True)
class Codes:
    """How several numbers share one, so that sorting it sorts by them in turn.

    A *reach* is `units << item | L - 1 - i`, so that no two of a row are equal and of equals the first is larger. A
    *turn*, by which a list is ordered, is `T << count | i << place | position << 1 | click`.

    Attributes:
        item, place, count: bits of shifts.
    """

    item: int
    place: int
    count: int


def codes_of(L: int, positions: int) -> Codes:
    """Codes of `L` items, `positions` places in the pools of a block."""
    item, place = L.bit_length(), 1 + positions.bit_length()
    return Codes(item, place, item + place)


@dataclass
class Items(RowState):
    """The items of some rows.

    Attributes:
        stack: source of each row, shape `(rows,)`.
        cascading: whether a click ends a step of the row, shape `(rows,)`.
        T, S: observations and clicks, shape `(rows, L)`; so are those up to `last`.
        inside: mask of `J`.
        click: 1 where the next outcome ends a step.
        start: see above.
        end, last: observations and clicks at the end of the window.
        now: reach after `T` observations.
        reach: of each state, the upper bound, or minus the lower one inside `J`; shape `(rows, L, width)`.
        mean: of each state, inf at the end of the window.
        change: what the observation that leads to a state adds to the turn of the item.
    """

    stack: NDArray[Any]
    cascading: BoolArray
    T: IntArray
    S: IntArray
    inside: BoolArray
    click: IntArray
    start: IntArray
    end: IntArray
    last: IntArray
    now: IntArray
    reach: IntArray
    mean: FloatArray
    change: IntArray


class Ahead:
    """Reads the windows of items.

    Args:
        rule: rule of all rows.
        stacks, cascading: of each row.
        codes: how reaches and turns are made.
    """

    def __init__(self, rule: LucbRule, stacks: Sequence[Stack], cascading: BoolArray, codes: Codes) -> None:
        self.rule, self.codes, self.reaches = rule, codes, reaches_of(rule)
        rows = len(stacks)
        self.deepest = int(np.clip(MEMORY // (24 * rows * rule.L), SHORTEST, DEEPEST))
        source = np.empty(rows, object)
        source[:] = list(stacks)
        counts = [np.zeros((rows, rule.L), np.int64) for _ in range(7)]
        reach, change = (np.zeros((rows, rule.L, self.deepest + 1), np.int64) for _ in range(2))
        mean = np.zeros((rows, rule.L, self.deepest + 1))
        T, S, click, start, end, last, now = counts
        inside = np.zeros((rows, rule.L), bool)
        self.items = Items(source, cascading, T, S, inside, click, start, end, last, now, reach, mean, change)

    def keep(self, rows: IntArray) -> None:
        """Forget all rows but these."""
        self.items.keep(rows)
        self.items.start -= ((rows - np.arange(len(rows))) * (self.rule.L * (self.deepest + 1)))[:, None]

    def move(self, places: IntArray, T: IntArray, click: IntArray) -> None:
        """Take places to `T` observations within their windows."""
        items = self.items
        at = items.start.ravel()[places] + T
        mean = np.abs(items.mean.ravel()[at])
        ended = items.end.ravel()[places] == T
        S = np.rint(np.where(ended, 0, mean) * T).astype(np.int64)
        items.S.ravel()[places] = np.where(ended, items.last.ravel()[places], S)
        items.T.ravel()[places], items.click.ravel()[places] = T, click
        items.now.ravel()[places] = items.reach.ravel()[at]

    def short(self, places: IntArray) -> BoolArray:
        """Which windows should be read on."""
        return np.asarray(self.items.end.ravel()[places] - self.items.T.ravel()[places] < SPARE)

    def read(self, places: IntArray) -> None:
        """Read the windows of places anew, from where they are now: the further on, the longer."""
        if len(places) == 0:
            return
        depth = int(np.clip(np.median(self.items.T.ravel()[places]), SHORTEST, self.deepest))
        many = max(1, AT_ONCE // depth)
        for first in range(0, len(places), many):
            self._read(places[first : first + many], depth)

    def _read(self, places: IntArray, depth: int) -> None:
        items, codes = self.items, self.codes
        rows, columns = np.divmod(places, self.rule.L)
        T, S = items.T.ravel()[places], items.S.ravel()[places]
        known = zip(items.stack[rows], columns.tolist(), T.tolist(), strict=True)
        clicks = np.array([stack.peek(item, start, depth) for stack, item, start in known])
        T_after = T[:, None] + np.arange(depth + 1)
        S_after = np.repeat(S[:, None], depth + 1, axis=1)
        S_after[:, 1:] += np.cumsum(clicks, axis=1)
        inside = np.broadcast_to(items.inside.ravel()[places][:, None], T_after.shape)
        mean = S_after / np.maximum(T_after, 1)
        reach = self.reaches(S_after, T_after, inside) << codes.item
        ends = np.zeros((len(places), depth + 1), np.int64)
        ends[:, :-1] = clicks & items.cascading[rows][:, None]
        items.reach[rows, columns, : depth + 1] = reach = reach | (self.rule.L - 1 - columns)[:, None]
        items.now.ravel()[places] = reach[:, 0]
        items.mean[rows, columns, : depth + 1] = np.where(inside, -mean, mean)
        items.mean[rows, columns, depth] = np.inf
        items.change[rows, columns, 1 : depth + 1] = (1 << codes.count) + np.diff(ends, axis=1)
        items.click.ravel()[places] = ends[:, 0]
        items.start.ravel()[places] = places * (self.deepest + 1) - T
        items.end.ravel()[places], items.last.ravel()[places] = T + depth, S_after[:, -1]
