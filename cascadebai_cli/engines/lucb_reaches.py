"""Bounds of KL-LUCB++ are a function of counts and clicks: each pair is computed once."""

from functools import lru_cache

import numpy as np

from cascadebai_cli.learners.kl_lucb import UNIT, LucbRule
from cascadebai_cli.model.instance import BoolArray, IntArray

LIMIT = 4096
"""Counts from which on bounds are not kept."""
OFFSET = int(2 / UNIT)
"""What is kept is a reach and as much, so that 0 means that nothing is known yet."""


class Reaches:
    """`rule.reach`, remembered. The tables are large, but only what is looked up takes memory."""

    def __init__(self, rule: LucbRule) -> None:
        self.rule = rule
        self._known = np.zeros(2 * LIMIT * LIMIT, np.int64)

    def __call__(self, S: IntArray, T: IntArray, inside: BoolArray) -> IntArray:
        """Reaches after `T` observations with `S` clicks; the three have one shape."""
        if T.max() >= LIMIT:
            return self._compute(S, T, inside)
        # Runs go along rows of the table: on both sides the clicks that count are few where intervals are short.
        at = ((inside * LIMIT + np.where(inside, T - S, S)) * LIMIT) + T
        found = self._known[at]
        new = found == 0
        if new.any():
            found[new] = self._known[at[new]] = self._compute(S[new], T[new], inside[new]) + OFFSET
        reach: IntArray = found - OFFSET
        return reach

    def _compute(self, S: IntArray, T: IntArray, inside: BoolArray) -> IntArray:
        return self.rule.reach(S / np.maximum(T, 1), T, inside)


@lru_cache(maxsize=4)
def reaches_of(rule: LucbRule) -> Reaches:
    """The same for all blocks of a rule."""
    return Reaches(rule)
