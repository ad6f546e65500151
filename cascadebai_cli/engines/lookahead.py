"""The next outcomes of every item of every row, with what the display order sorts by after each of them.

An item is a *place* `row * L + item`. Of each place `depth` outcomes ahead are known. As the n-th outcome of an item
does not depend on the run, its mean, its confidence bounds and its next outcome after `n` observations do not
either: they are computed in bulk, and a step only moves a pointer.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.stacks import Stack
from cascadebai_cli.learners.display import display_values
from cascadebai_cli.learners.racing import RadiusRule
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

NEVER = 2e300
"""Value of a click that does not happen: larger than what any item is sorted by."""
AT_ONCE = 32
"""Places refilled together: few enough for the arrays to stay in the cache."""


class Lookahead:
    """Outcomes ahead of the places of a block of rows.

    Args:
        stacks: source of each row.
        rules: rule of each row, for its radius.
        display: sign and width of the display order of each row, shape `(rows, 2)`.
        cascading: whether a click ends a step of the row.
        depth: how many outcomes are known at most.

    Attributes:
        at: pointer of each place into the following three, which lie end to end, `depth + 1` a place.
        values: what the item is sorted by, after each number of observations.
        ends: whether the next outcome is a click that ends the step.
        sums: clicks since the place was filled.
        T0, S0: observations and clicks of each place when it was filled.
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
        shape = (rows * self.L, depth + 1)
        self.T0: IntArray = np.full(len(self), -depth)
        self.S0: IntArray = np.zeros(len(self), np.int64)
        self.values, self.ends = np.zeros(shape), np.zeros(shape, bool)
        self.sums = np.zeros(shape, np.uint16)
        self.at: IntArray = self._starts() + depth

    def __len__(self) -> int:
        return len(self.stacks) * self.L

    def _starts(self) -> IntArray:
        starts: IntArray = np.arange(len(self)) * (self.depth + 1)
        return starts

    def keep(self, rows: IntArray) -> None:
        """Forget all rows but these."""
        slots = self.slots(rows)
        self.stacks = [self.stacks[row] for row in rows]
        self.rules = [self.rules[row] for row in rows]
        self.display, self.cascading = self.display[rows], self.cascading[rows]
        places = (rows[:, None] * self.L + np.arange(self.L)).ravel()
        self.T0, self.S0 = self.T0[places], self.S0[places]
        self.values, self.ends, self.sums = self.values[places], self.ends[places], self.sums[places]
        self.at = self._starts() + slots.ravel()

    def slots(self, rows: IntArray) -> IntArray:
        """Outcomes used of those stored, shape `(rows, L)`."""
        places = rows[:, None] * self.L + np.arange(self.L)
        slots: IntArray = self.at[places] - places * (self.depth + 1)
        return slots

    def counts(self, rows: IntArray, ahead: IntArray | int = 0) -> tuple[IntArray, IntArray]:
        """Observations and clicks of the items of `rows`, `ahead` observations from now, shape `(rows, L)`."""
        places = rows[:, None] * self.L + np.arange(self.L)
        at = self.at[places] + ahead
        T = self.T0[places] + at - places * (self.depth + 1)
        return T, self.S0[places] + self.sums.ravel()[at]

    def radius(self, rows: IntArray, T: IntArray) -> FloatArray:
        """Radius of each item of `rows` after `T` observations, shape `(rows, L)`."""
        return _radius([self.rules[row] for row in rows], T)

    def refill(self, places: IntArray) -> None:
        """Read new outcomes of `places`, of which all were used."""
        for start in range(0, len(places), AT_ONCE):
            self._refill(places[start : start + AT_ONCE])

    def _refill(self, places: IntArray) -> None:
        self.S0[places] += self.sums[places, -1]
        self.T0[places] += self.depth
        self.at[places] -= self.depth
        rows, items = np.divmod(places, self.L)
        clicks = np.zeros((len(places), self.depth + 1), bool)
        for i, (row, item) in enumerate(zip(rows.tolist(), items.tolist(), strict=True)):
            clicks[i, 1:] = self.stacks[row].take(item, self.depth)
        sums = np.cumsum(clicks, axis=1, dtype=np.uint16)
        self.sums[places] = sums
        self.ends[places, :-1] = clicks[:, 1:] & self.cascading[rows][:, None]
        self.values[places] = self._values(places, rows, sums)

    def _values(self, places: IntArray, rows: IntArray, sums: NDArray[np.uint16]) -> FloatArray:
        sign, width = self.display[rows].T[:, :, None]
        if not sign.any():
            return np.zeros(sums.shape)
        T = self.T0[places][:, None] + np.arange(self.depth + 1)
        mean = (self.S0[places][:, None] + sums) / np.maximum(T, 1)
        radius = _radius([self.rules[row] for row in rows], T) if width.any() else 0.0
        return display_values(mean, radius, sign, width)


def _radius(rules: list[RadiusRule], T: IntArray) -> FloatArray:
    """Radii of the rows of `T`, each by its own rule."""
    distinct = list({id(rule): rule for rule in rules}.values())
    if len(distinct) == 1:
        return distinct[0].radius(T)
    radius = np.empty(T.shape)
    for rule in distinct:
        mine = np.array([other is rule for other in rules])
        radius[mine] = rule.radius(T[mine])
    return radius
