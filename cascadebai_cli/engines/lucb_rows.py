"""The rows of a block of KL-LUCB++, with what is known of their items now and after their next outcomes.

An item of a row is a *place*, `row * L + item`. Its n-th outcome does not depend on the run, and neither do its mean
and its bounds after `n` observations: they are computed in bulk, for a *window* of the states ahead. The state after
`T` observations lies `end - T` before the last one of the window.

The *code* of a state holds three numbers in one, `bound << bits | item << 1 | click`, so that sorting codes sorts by
bounds, of equals the first item, and tells who comes first and whether the next outcome ends the step. The bound is in
units: the lower one inside `J`, and outside, where codes are negative, `-1` less the upper one.

`J` stays as it is until the mean of an item that was observed reaches its *level*, between the means inside and
outside. Means and levels are mirrored inside `J`, so on either side a mean that is large enough may change sides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.jobs import Job
from cascadebai_cli.engines.lucb_first_round import first_round
from cascadebai_cli.engines.row_state import RowState, objects
from cascadebai_cli.learners.glr import best_means
from cascadebai_cli.learners.kl_lucb import UNIT, KLLucb, LucbRule
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

MEMORY = 128 * 2**20
"""Bytes for the windows of one block."""
SHALLOWEST, DEEPEST = 4, 8
"""A window has at least 2 to the power of the first, at most 2 to the power of the second states."""
STATE_BYTES = 16
ENTRIES = MEMORY // (STATE_BYTES << SHALLOWEST)
"""Items of all rows at most, for the memory that they take."""
SHORTEST = 16
"""Outcomes that are read at once at least, if the window holds them."""
SPARE = 8
"""A window with fewer outcomes left is read on as soon as its row is looked at."""
AT_ONCE = 4096
"""States computed at once: their arrays fit into the cache."""


@dataclass
class LucbRows(RowState):
    """Rows of one rule that advance together.

    Attributes:
        rule: their rule.
        bits: shift of bounds in a code.
        depth: logarithm of the number of states of a window.
        job: place of the row in the jobs, -1 once it has ended; shape `(rows,)`, as for the following.
        stack, cascading, cap: of its job.
        steps, since: steps made when it last went on, and steps of the block at that time.
        running: whether it is not parked.
        touched: whether an item has reached its level since `J` was found.
        T: observations of each item, shape `(rows, L)`, as up to `level`.
        inside: mask of `J`, the `K` largest means.
        end: observations at the last state of the window.
        used: whether the window has to be read again in any case.
        code, mean: as they are now.
        level: mean with which the item may change sides.
        codes, means: of the states of the window, shape `(rows, L, 2**depth)`.
    """

    rule: LucbRule
    bits: int
    depth: int
    job: IntArray
    stack: NDArray[Any]
    cascading: BoolArray
    cap: IntArray
    steps: IntArray
    since: IntArray
    running: BoolArray
    touched: BoolArray
    T: IntArray
    inside: BoolArray
    end: IntArray
    used: BoolArray
    code: IntArray
    mean: FloatArray
    level: FloatArray
    codes: IntArray
    means: FloatArray

    def __len__(self) -> int:
        return len(self.job)

    def at(self, places: IntArray, T: IntArray) -> IntArray:
        """Where the states after `T` observations are in the flat windows."""
        at: IntArray = ((places + 1) << self.depth) - 1 - (self.end.ravel()[places] - T)
        return at

    def update(self, rows: IntArray) -> None:
        """Rank the items of rows in which one has reached its level, and read on in all of these rows."""
        changed = rows[self.touched[rows]]
        if len(changed):
            self._rank(changed)
        self._read_on(rows)

    def _rank(self, rows: IntArray) -> None:
        """Find `J` anew; the window of an item that changes sides has to be read again."""
        mean = np.abs(self.mean[rows])
        inside, self.level[rows] = ranked(mean, self.rule.K)
        self.used[rows] = inside != self.inside[rows]
        self.inside[rows], self.touched[rows] = inside, False

    # Windows.

    def _read_on(self, rows: IntArray) -> None:
        """Read the windows of rows that are almost used: the further on, the longer."""
        few = self.used[rows] | (self.end[rows] - self.T[rows] < SPARE)
        places = (rows[:, None] * self.rule.L + np.arange(self.rule.L))[few]
        if len(places) == 0:
            return
        most = (1 << self.depth) - 1
        n = int(np.clip(np.median(self.T.ravel()[places]), min(SHORTEST, most), most))
        for part in self._parts(places, max(1, AT_ONCE // n)):
            self._read(part, n)

    def _parts(self, places: IntArray, most: int) -> Iterator[IntArray]:
        """At most so many places, all inside `J` or all outside."""
        inside = self.inside.ravel()[places]
        for side in (places[inside], places[~inside]):
            yield from (side[first : first + most] for first in range(0, len(side), most))

    def _read(self, places: IntArray, n: int) -> None:
        """Read the next `n` outcomes of places, all inside `J` or all outside."""
        rows, items = np.divmod(places, self.rule.L)
        T = self.T.ravel()[places]
        S = np.rint(np.abs(self.mean.ravel()[places]) * T).astype(np.int64)
        known = zip(self.stack[rows], items.tolist(), T.tolist(), strict=True)
        clicks = np.array([stack.peek(item, count, n) for stack, item, count in known])
        T_after, S_after = T[:, None] + np.arange(n + 1), np.repeat(S[:, None], n + 1, axis=1)
        S_after[:, 1:] += np.cumsum(clicks, axis=1)
        mean = S_after / np.maximum(T_after, 1)
        inside = bool(self.inside.ravel()[places[0]])
        bound = self.rule.lower(mean, T_after) if inside else -self.rule.upper(mean, T_after) - UNIT
        codes = ((bound / UNIT).astype(np.int64) << self.bits) | (items[:, None] << 1)
        codes[:, :-1] |= clicks & self.cascading[rows, None]
        self.codes.reshape(-1, 1 << self.depth)[places, -n - 1 :] = codes
        self.means.reshape(-1, 1 << self.depth)[places, -n - 1 :] = mean = -mean if inside else mean
        self.mean.ravel()[places], self.code.ravel()[places] = mean[:, 0], codes[:, 0]
        self.end.ravel()[places], self.used.ravel()[places] = T + n, False


def new_rows(jobs: Sequence[Job[KLLucb]]) -> LucbRows:
    """Rows after their first round, with their windows read."""
    rule, rows = jobs[0].learner.rule, len(jobs)
    starts = [first_round(job) for job in jobs]
    items = (rows, rule.L)
    fitting = max(1, MEMORY // (STATE_BYTES * rows * rule.L)).bit_length() - 1
    depth = min(DEEPEST, max(SHALLOWEST, fitting))
    T = np.array([start.T for start in starts])
    made = LucbRows(
        rule=rule,
        bits=rule.L.bit_length() + 1,
        depth=depth,
        job=np.arange(rows),
        stack=objects([job.stack for job in jobs]),
        cascading=np.array([job.cascading for job in jobs]),
        cap=np.array([job.cap for job in jobs]),
        steps=np.array([start.steps for start in starts]),
        since=np.zeros(rows, np.int64),
        running=np.zeros(rows, bool),
        touched=np.ones(rows, bool),
        T=T,
        inside=np.zeros(items, bool),
        end=T.copy(),
        used=np.ones(items, bool),
        code=np.zeros(items, np.int64),
        mean=np.array([start.S for start in starts]) / np.maximum(T, 1),
        level=np.zeros(items),
        codes=np.zeros((*items, 1 << depth), np.int64),
        means=np.zeros((*items, 1 << depth)),
    )
    made.update(np.arange(rows))
    return made


def ranked(mean: FloatArray, K: int) -> tuple[BoolArray, FloatArray]:
    """Mask of the `K` largest means, of equals the first, and the level of each item; shape `(rows, L)`."""
    ordered = np.partition(mean, -K - 1, axis=1)
    best, worst = ordered[:, -K - 1, None], ordered[:, -K:].min(axis=1, keepdims=True)
    inside, halfway = mean >= worst, (worst + best) / 2
    level = np.where(inside, -halfway, halfway)
    for row in np.flatnonzero(worst == best).tolist():
        inside[row], level[row] = _ranked_with_ties(mean[row], K, worst[row])
    return inside, level


def _ranked_with_ties(mean: FloatArray, K: int, level: FloatArray) -> tuple[BoolArray, FloatArray]:
    """The same of one row if the worst mean inside is also the best outside.

    With this mean the items up to the last one inside that has it may be inside, and those behind it outside.
    """
    inside, item = best_means(mean, K), np.arange(len(mean))
    last = item[inside & (mean == level)].max()
    mirrored = np.where(inside, -level, level)
    return inside, np.where(inside == (item <= last), np.nextafter(mirrored, np.inf), mirrored)
