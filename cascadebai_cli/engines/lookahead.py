"""The next outcomes of every item of every row, with what the display order sorts by after each of them.

An item is a *place* `row * L + item`. Of each, `depth` outcomes ahead are known. As the n-th outcome of an item
does not depend on the run, its mean, its confidence bounds and its next outcome after `n` observations do not
either: they are computed in bulk, and a step only moves a pointer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.jobs import Job
from cascadebai_cli.engines.row_state import RowState, objects
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.learners.display import DisplayOrder
from cascadebai_cli.learners.racing import RadiusRule
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

NEVER = 2e300
"""Value of a click that does not happen: larger than what any item is sorted by."""


@dataclass
class Lookahead(RowState):
    """Outcomes ahead of the places of a block of rows.

    Each item has two *banks* of `depth` outcomes: it reads one, while the other one is free or already filled with
    what follows. Free banks are filled for many items of a row at once.

    Attributes:
        L: number of items.
        depth: outcomes in a bank.
        stack: source of each row, shape `(rows,)`.
        rule: rule of each row, for its radius.
        display: sign and width of the display order of each row, shape `(rows, 2)`.
        cascading: whether a click ends a step of the row.
        at: pointer of each item into `values`, `ends` and `sums`, of shape `(rows, 2, depth + 1, L)`: items that were
            observed equally often lie side by side, which the cache rewards. An observation moves a pointer by `L`.
        stop: where the window of each item ends, a value of `at`.
        bank: bank that each item reads, shape `(rows, L)`.
        T0, S0: observations and clicks of each item at the beginning of its banks, shape `(rows, 2, L)`.
        filled: whether the bank holds outcomes that were not read, shape `(rows, 2, L)`.
        values: what the item is sorted by, after each number of observations.
        ends: whether the next outcome is a click that ends the step.
        sums: clicks since the beginning of the bank.
    """

    L: int
    depth: int
    stack: NDArray[Any]
    rule: NDArray[Any]
    display: IntArray
    cascading: BoolArray
    at: IntArray
    stop: IntArray
    bank: IntArray
    T0: IntArray
    S0: IntArray
    filled: BoolArray
    values: FloatArray
    ends: BoolArray
    sums: NDArray[np.uint16]

    def _starts(self, rows: IntArray) -> IntArray:
        """Pointers of the items of `rows` at the beginning of the banks that they read, shape `(rows, L)`."""
        banks = 2 * rows[:, None] + self.bank[rows]
        starts: IntArray = banks * ((self.depth + 1) * self.L) + np.arange(self.L)
        return starts

    def keep(self, rows: IntArray) -> None:
        """Forget all rows but these."""
        super().keep(rows)
        moved = (rows - np.arange(len(rows)))[:, None] * (2 * (self.depth + 1) * self.L)
        self.at -= moved
        self.stop -= moved

    def slots(self, rows: IntArray) -> IntArray:
        """Outcomes read of those in the bank, shape `(rows, L)`."""
        slots: IntArray = (self.at[rows] - self._starts(rows)) // self.L
        return slots

    def counts(self, rows: IntArray, slots: IntArray) -> tuple[IntArray, IntArray]:
        """Observations and clicks of the items of `rows` after `slots` outcomes of the bank, shape `(rows, L)`."""
        row, bank, item = rows[:, None], self.bank[rows], np.arange(self.L)
        return self.T0[row, bank, item] + slots, self.S0[row, bank, item] + self.sums[row, bank, slots, item]

    def radius(self, rows: IntArray, T: IntArray) -> FloatArray:
        """Radius of each item of `rows` after `T` observations, shape `(rows, L)`."""
        rules = self.rule[rows].tolist()
        distinct = list({id(rule): rule for rule in rules}.values())
        if len(distinct) == 1:
            known: FloatArray = distinct[0].radius(T)
            return known
        radius = np.empty(T.shape)
        for rule in distinct:
            mine = np.array([other is rule for other in rules])
            radius[mine] = rule.radius(T[mine])
        return radius

    def turn(self, rows: IntArray, alive: BoolArray) -> None:
        """Let the items of `rows` that have read their bank go on with the other one, filled first where it is free.

        Args:
            rows: the rows.
            alive: items that may be observed again, shape `(rows, L)`; what is known of the rest may be lost.
        """
        spent = alive & (self.slots(rows) == self.depth)
        other = 1 - self.bank[rows]
        spent_rows, items = np.nonzero(spent)
        banks = other[spent_rows, items]
        empty = ~self.filled[rows[spent_rows], banks, items]
        for i, bank in sorted(set(zip(spent_rows[empty].tolist(), banks[empty].tolist(), strict=True))):
            row = int(rows[i])
            free = alive[i] & (other[i] == bank) & ~self.filled[row, bank]
            self._fill(row, bank, np.flatnonzero(free), whole=bool((free | ~alive[i]).all()))
        self.bank[rows[spent_rows], items] = banks
        self.filled[rows[spent_rows], 1 - banks, items] = False
        self.at[rows[spent_rows], items] = self._starts(rows)[spent_rows, items]

    def _fill(self, row: int, bank: int, items: IntArray, whole: bool) -> None:
        """Read what follows the bank that the items read now.

        Args:
            row, bank, items: where.
            whole: whether the other items of the bank may be overwritten, which is faster than to spare them.
        """
        self.filled[row, bank, items] = True
        columns = np.arange(self.L) if whole else items
        T0 = self.T0[row, 1 - bank, columns] + self.depth
        S0 = self.S0[row, 1 - bank, columns] + self.sums[row, 1 - bank, -1, columns]
        self.T0[row, bank, columns], self.S0[row, bank, columns] = T0, S0
        clicks = self._read(row, items, T0[np.searchsorted(columns, items)], columns)
        sums = np.cumsum(clicks, axis=0, dtype=np.uint16)
        into = slice(None) if whole else columns
        self.sums[row, bank][:, into] = sums
        self.ends[row, bank][:-1, into] = clicks[1:] if self.cascading[row] else False
        order = DisplayOrder(*self.display[row].tolist())
        if order.sign:
            T = T0 + np.arange(self.depth + 1)[:, None]
            mean = S0.astype(np.float64) + sums
            mean /= np.maximum(T0.astype(np.float64) + np.arange(self.depth + 1.0)[:, None], 1)
            radius = self.rule[row].radius(T) if order.width else np.zeros(1)
            self.values[row, bank][:, into] = order.values(mean, radius)

    def _read(self, row: int, items: IntArray, T0: IntArray, columns: IntArray) -> BoolArray:
        """Outcomes of `items` after `T0` observations, in their places among `columns`; the first row is empty."""
        clicks = np.zeros((len(columns), self.depth + 1), bool)
        places = np.searchsorted(columns, items)
        for place, item, start in zip(places.tolist(), items.tolist(), T0.tolist(), strict=True):
            clicks[place, 1:] = self.stack[row].peek(item, start, self.depth)
        return np.ascontiguousarray(clicks.T)

    def move(self, row: int, T: IntArray, S: IntArray, items: IntArray) -> None:
        """Take `items` of a row to `T` observations and `S` clicks, shape `(L,)`, as if they had read their bank."""
        bank = self.bank[row, items]
        self.T0[row, bank, items] = T[items] - self.depth
        self.S0[row, bank, items] = S[items]
        self.sums[row, bank, -1, items] = 0
        self.filled[row, :, items] = False
        self.at[row, items] = self._starts(np.array([row]))[0, items] + self.depth * self.L


def look_ahead(jobs: Sequence[Job[CascadeBAI]], depth: int) -> Lookahead:
    """Nothing is read yet of what follows the observations that the learners have made."""
    rows, L = len(jobs), jobs[0].learner.rule.L
    same: dict[RadiusRule, RadiusRule] = {}
    outcomes = (rows, 2, depth + 1, L)
    ahead = Lookahead(
        L=L,
        depth=depth,
        stack=objects([job.stack for job in jobs]),
        rule=objects([same.setdefault(rule, rule) for rule in (radius_rule(job.learner) for job in jobs)]),
        display=np.array([job.learner.display for job in jobs]),
        cascading=np.array([job.feedback.ends_at_click for job in jobs]),
        at=np.zeros((rows, L), np.int64),
        stop=np.zeros((rows, L), np.int64),
        bank=np.ones((rows, L), np.int64),
        T0=np.zeros((rows, 2, L), np.int64),
        S0=np.zeros((rows, 2, L), np.int64),
        filled=np.zeros((rows, 2, L), bool),
        values=np.zeros(outcomes),
        ends=np.zeros(outcomes, bool),
        sums=np.zeros(outcomes, np.uint16),
    )
    for row, job in enumerate(jobs):
        ahead.move(row, job.learner.T, job.learner.S, np.arange(L))
    return ahead


def radius_rule(learner: CascadeBAI) -> RadiusRule:
    """Its rule, whose bounds are a radius apart."""
    assert isinstance(learner.rule, RadiusRule)
    return learner.rule
