"""The next outcomes of every item of every row, with what the display order sorts by after each of them.

An item is a *place* `row * L + item`. Of each, `depth` outcomes ahead are known. As the n-th outcome of an item
does not depend on the run, its mean, its confidence bounds and its next outcome after `n` observations do not
either: they are computed in bulk, and a step only moves a pointer.
"""

from collections.abc import Sequence

import numpy as np

from cascadebai_cli.engines.stacks import Stack
from cascadebai_cli.learners.display import DisplayOrder
from cascadebai_cli.learners.racing import RadiusRule
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

NEVER = 2e300
"""Value of a click that does not happen: larger than what any item is sorted by."""


class Lookahead:
    """Outcomes ahead of the places of a block of rows.

    Each item has two *banks* of `depth` outcomes: it reads one, while the other one is free or already filled with
    what follows. Free banks are filled for many items of a row at once.

    Args:
        stacks: source of each row.
        rules: rule of each row, for its radius.
        display: sign and width of the display order of each row, shape `(rows, 2)`.
        cascading: whether a click ends a step of the row.
        depth: outcomes in a bank.

    Attributes:
        at: pointer of each place into the following three, of shape `(rows, 2, depth + 1, L)`: items that were
            observed equally often lie side by side, which the cache rewards. An observation moves a pointer by `L`.
        values: what the item is sorted by, after each number of observations.
        ends: whether the next outcome is a click that ends the step.
        sums: clicks since the beginning of the bank.
        T0, S0: observations and clicks of each item at the beginning of its banks, shape `(rows, 2, L)`.
        filled: whether the bank holds outcomes that were not read, shape `(rows, 2, L)`.
        bank: bank that each item reads, shape `(rows, L)`.
    """

    def __init__(
        self,
        stacks: Sequence[Stack],
        rules: Sequence[RadiusRule],
        display: IntArray,
        cascading: BoolArray,
        depth: int,
    ) -> None:
        rows, self.L, self.depth = len(stacks), rules[0].L, depth
        same = {rule: rule for rule in rules}
        self.stacks = list(stacks)
        self.rules = [same[rule] for rule in rules]
        self.display, self.cascading = display, cascading
        banks, outcomes = (rows, 2, self.L), (rows, 2, depth + 1, self.L)
        self.T0, self.S0 = np.full(banks, -depth), np.zeros(banks, np.int64)
        self.filled = np.zeros(banks, bool)
        self.bank = np.ones((rows, self.L), np.int64)
        self.values, self.ends = np.zeros(outcomes), np.zeros(outcomes, bool)
        self.sums = np.zeros(outcomes, np.uint16)
        self.at: IntArray = (self._starts(np.arange(rows)) + depth * self.L).ravel()

    def _starts(self, rows: IntArray) -> IntArray:
        """Pointers of the items of `rows` at the beginning of the banks that they read, shape `(rows, L)`."""
        banks = 2 * rows[:, None] + self.bank[rows]
        starts: IntArray = banks * ((self.depth + 1) * self.L) + np.arange(self.L)
        return starts

    def keep(self, rows: IntArray) -> None:
        """Forget all rows but these."""
        slots = self.slots(rows)
        self.stacks = [self.stacks[row] for row in rows]
        self.rules = [self.rules[row] for row in rows]
        for name in ("display", "cascading", "T0", "S0", "filled", "bank", "values", "ends", "sums"):
            setattr(self, name, getattr(self, name)[rows])
        self.at = (self._starts(np.arange(len(rows))) + slots * self.L).ravel()

    def pointers(self, rows: IntArray) -> IntArray:
        """`at` of the items of `rows`, shape `(rows, L)`."""
        return self.at.reshape(-1, self.L)[rows]

    def slots(self, rows: IntArray) -> IntArray:
        """Outcomes read of those in the bank, shape `(rows, L)`."""
        slots: IntArray = (self.pointers(rows) - self._starts(rows)) // self.L
        return slots

    def counts(self, rows: IntArray, slots: IntArray) -> tuple[IntArray, IntArray]:
        """Observations and clicks of the items of `rows` after `slots` outcomes of the bank, shape `(rows, L)`."""
        row, bank, item = rows[:, None], self.bank[rows], np.arange(self.L)
        return self.T0[row, bank, item] + slots, self.S0[row, bank, item] + self.sums[row, bank, slots, item]

    def radius(self, rows: IntArray, T: IntArray) -> FloatArray:
        """Radius of each item of `rows` after `T` observations, shape `(rows, L)`."""
        rules = [self.rules[row] for row in rows]
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
        self.at[rows[spent_rows] * self.L + items] = self._starts(rows)[spent_rows, items]

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
            radius = self.rules[row].radius(T) if order.width else np.zeros(1)
            self.values[row, bank][:, into] = order.values(mean, radius)

    def _read(self, row: int, items: IntArray, T0: IntArray, columns: IntArray) -> BoolArray:
        """Outcomes of `items` after `T0` observations, in their places among `columns`; the first row is empty."""
        clicks = np.zeros((len(columns), self.depth + 1), bool)
        places = np.searchsorted(columns, items)
        for place, item, start in zip(places.tolist(), items.tolist(), T0.tolist(), strict=True):
            clicks[place, 1:] = self.stacks[row].peek(item, start, self.depth)
        return np.ascontiguousarray(clicks.T)

    def move(self, row: int, T: IntArray, S: IntArray, items: IntArray) -> None:
        """Take `items` of a row to `T` observations and `S` clicks, shape `(L,)`, as if they had read their bank."""
        bank = self.bank[row, items]
        self.T0[row, bank, items] = T[items] - self.depth
        self.S0[row, bank, items] = S[items]
        self.sums[row, bank, -1, items] = 0
        self.filled[row, :, items] = False
        self.at.reshape(-1, self.L)[row, items] = self._starts(np.array([row]))[0, items] + self.depth * self.L
