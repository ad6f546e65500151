"""Bounds that are kept are those that the rule computes."""

import numpy as np
import pytest
from problems import patched

from cascadebai_cli.engines import lucb_rows
from cascadebai_cli.engines.lucb_rows import Bounds
from cascadebai_cli.learners.kl_lucb import UNIT, LucbRule

RULE = LucbRule(7, 2, 0.1)


def states(most):
    T, S = np.meshgrid(np.arange(most), np.arange(most), indexing="ij")
    return T[S <= T], S[S <= T]


@pytest.mark.parametrize("known", [1, 20, 60])
def test_are_those_of_the_rule(known):
    """Asked for in any order, twice in one call, and for states that are kept or not."""
    T, S = states(60)
    mean = S / np.maximum(T, 1)
    expected = {True: RULE.lower(mean, T) / UNIT, False: -RULE.upper(mean, T) / UNIT - 1}
    rng = np.random.default_rng(3)
    with patched(lucb_rows, _KNOWN=known):
        bounds = Bounds(RULE)
        for inside in (True, False, True, False):
            for some in np.array_split(rng.permutation(np.repeat(np.arange(len(T)), 2)), 9):
                found = bounds.of(inside, T[some, None], S[some, None])
                assert found[:, 0].tolist() == expected[inside][some].tolist()


def test_are_computed_once():
    class Counting(LucbRule):
        asked = 0

        def lower(self, mean, T):
            Counting.asked += len(T)
            return super().lower(mean, T)

    T, S = states(40)
    bounds = Bounds(Counting(7, 2, 0.1))
    for _ in range(3):
        bounds.of(True, np.tile(T, (2, 1)), np.tile(S, (2, 1)))
    assert Counting.asked == len(T)
