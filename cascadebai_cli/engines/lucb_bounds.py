"""Bounds of KL-LUCB++ that are computed once: trials of one rule come through the same few states again and again."""

import numpy as np

from cascadebai_cli.learners.kl_lucb import UNIT, LucbRule
from cascadebai_cli.model.instance import IntArray

KNOWN = 2048
"""Bounds of states with fewer observations are kept; those of others differ nearly always, and are not."""


class Bounds:
    """The bounds of a rule in units, as they stand in codes, by `T` and `S`.

    A pair has the place `T (T + 1) / 2 + S` in a table for either side. A bound `b` is kept as `-1 - b`, which is less
    than 0: 0 stands for what was not asked for yet. Memory is taken for those pages of the tables that are written to.
    """

    def __init__(self, rule: LucbRule) -> None:
        self.rule = rule
        self._first = np.arange(KNOWN) * np.arange(1, KNOWN + 1) // 2
        self._kept = np.zeros((2, KNOWN * (KNOWN + 1) // 2), np.int64)

    def of(self, inside: bool, T: IntArray, S: IntArray) -> IntArray:
        """Lower bounds inside `J`, and `-1` less the upper ones outside; in units, shape as `T` and `S`, two axes."""
        far = T.max(axis=1) >= KNOWN
        if not np.count_nonzero(far):
            negative = self._looked_up(inside, T, S)
        else:
            negative = np.empty(T.shape, np.int64)
            negative[far] = self._computed(inside, T[far], S[far])
            negative[~far] = self._looked_up(inside, T[~far], S[~far])
        return ~negative if inside else negative

    def _looked_up(self, inside: bool, T: IntArray, S: IntArray) -> IntArray:
        kept, at = self._kept[int(inside)], self._first.take(T) + S
        found: IntArray = kept.take(at)
        new = np.flatnonzero(found == 0)
        if len(new):
            kept[at.take(new)] = new
            once = new[kept.take(at.take(new)) == new]
            kept[at.take(once)] = self._computed(inside, T.take(once), S.take(once))
            found = kept.take(at)
        return found

    def _computed(self, inside: bool, T: IntArray, S: IntArray) -> IntArray:
        mean = S / np.maximum(T, 1)
        bound = self.rule.lower(mean, T) if inside else self.rule.upper(mean, T)
        negative: IntArray = ~(bound / UNIT).astype(np.int64)
        return negative
