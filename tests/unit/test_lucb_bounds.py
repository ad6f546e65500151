"""Bounds that are kept are those that the rule computes."""

import numpy as np
import pytest
from problems import patched

from cascadebai_cli.engines import lucb
from cascadebai_cli.engines.lucb import Bounds
from cascadebai_cli.learners.kl_lucb import LucbRule

RULE = LucbRule(7, 2, 0.1)


def states(most):
    T, S = np.meshgrid(np.arange(most), np.arange(most), indexing="ij")
    return T[S <= T], S[S <= T]


def numbered(T, S, inside):
    return np.array(T) * lucb._SPREAD + S + np.array(inside) * lucb._INSIDE


@pytest.mark.parametrize(("kept", "filled"), [(1, 1), (64, 1), (64, 40), (2**15, 1), (2**15, 40)])
def test_are_those_of_the_rule(kept, filled):
    """Asked for in any order, twice in one call, on both sides, and for states that took the place of others."""
    T, S = states(60)
    mean = S / np.maximum(T, 1)
    codes = np.stack([-RULE.upper(mean, T) / LucbRule.UNIT - 1, RULE.lower(mean, T) / LucbRule.UNIT + 1]) * 8
    rng = np.random.default_rng(3)
    with patched(lucb, _KEPT=kept, _FILLED=filled):
        bounds = Bounds(RULE, 3)
        for _ in range(2):
            for some in np.array_split(rng.permutation(np.repeat(np.arange(len(T)), 2)), 9):
                inside = rng.integers(2, size=len(some))
                found = bounds.of(numbered(T[some], S[some], inside))
                assert found[0].tolist() == codes[inside, some].tolist()
                assert found[1].tolist() == ((1 - 2 * inside) * mean[some]).tolist()


def test_are_computed_once():
    class Counting(LucbRule):
        asked = 0

        def lower(self, mean, T):
            Counting.asked += len(T)
            return super().lower(mean, T)

    T, S = states(40)
    with patched(lucb, _FILLED=1):
        bounds = Bounds(Counting(7, 2, 0.1), 3)
        bounds.of(numbered(T, S, 1))
        first = Counting.asked
        for _ in range(3):
            bounds.of(np.tile(numbered(T, S, 1), 2))
    assert Counting.asked == first < 8 * len(T)


def test_those_of_the_next_observations_are_computed_too():
    bounds = Bounds(RULE, 3)
    bounds.of(numbered([50], [20], 0))
    asked, computed = [], bounds._computed
    bounds._computed = lambda state: asked.append(len(state)) or computed(state)
    S = 20
    for T in range(51, 81):
        S += T % 5 < 2
        bounds.of(numbered([T], [S], 0))
    assert not asked


def test_states_say_how_often_items_were_observed_and_clicked():
    T, S = states(60)
    for inside in (0, 1):
        found = lucb.counts_of(numbered(1_000_003 * T, 1_000_003 * S, inside))
        assert [part.tolist() for part in found] == [(1_000_003 * T).tolist(), (1_000_003 * S).tolist()]
