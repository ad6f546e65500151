"""Rewards that a test gives, in the three ways in which engines read them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.engines.outcomes import Stretch, key_type
from cascadebai_cli.engines.walk import Place, RewardTable, TableShape
from cascadebai_cli.model.problem import CASCADING, SEMI_BANDIT, BoolArray, Draw, Feedback, IntArray

BY_CLICK = (SEMI_BANDIT, CASCADING)
"""The feedback by whether a click ends a step."""


def _of_two_places(shown: Sequence[int], draw: Draw) -> list[int]:
    return CASCADING.reveal(shown[:2], draw)


LEAVES_EARLY = Feedback("leaves-early", "the list up to the first click, or the second place", _of_two_places)
"""A click model that the package does not have: a list of any length is to it what one of two items is to cascading."""


class TableOutcomes:
    """Outcomes read from a table, one at a time or in stretches.

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

    def stretch(self, items: IntArray, start: int, rounds: int, shift: int) -> Stretch:
        """Columns `start` to `start + rounds` of the rows `items`; entries beyond the table are skips."""
        bits = self.table[items, start : start + rounds].T
        bits = np.pad(bits, ((0, rounds - len(bits)), (0, 0)))
        clicks = bool(bits.mean() <= 0.5)
        at, place = np.nonzero(bits == clicks)
        return Stretch(((at << shift) | items[place]).astype(key_type(rounds, shift)), clicks)


class TableStack:
    """Outcomes read from a table as a stack; what lies beyond it is a skip.

    Args:
        table: `table[item, n]` is the (n+1)-th outcome of `item`, shape `(L, N)`.
    """

    def __init__(self, table: ArrayLike) -> None:
        self.table = np.asarray(table, dtype=bool)

    def peek(self, item: int, start: int, n: int) -> BoolArray:
        """Entries of the item's row."""
        part = self.table[item, start : start + n]
        return part if len(part) == n else np.pad(part, (0, n - len(part)))

    def clicks(self, item: int, start: int, n: int) -> int:
        """Clicks among entries of the item's row."""
        return int(self.table[item, start : start + n].sum())

    def forget(self) -> None:
        """The table belongs to others."""


class GivenTable(RewardTable):
    """A table of rewards by time.

    Args:
        table: `table[t, i]` is the outcome of item `i` at step `t + 1`, shape `(rows, L)`; used again and again.
    """

    def __init__(self, table: ArrayLike) -> None:
        self.table = np.asarray(table, dtype=bool)
        super().__init__(TableShape(len(self.table)), self.table.shape[1])

    def clicks(self, place: Place) -> BoolArray:
        """Rows of the table."""
        rows = np.arange(place.rows) + place.block * self.size
        return self.table[rows % len(self.table)].T
