"""KL-LUCB++ decision by decision, and its engine in long runs and beside other rows."""

from itertools import product

import numpy as np
import pytest
from cases import mostly_slow
from given import BY_CLICK, TableOutcomes, TableStack
from problems import patched

from cascadebai_cli.engines import lucb_rows
from cascadebai_cli.engines.jobs import Job, in_order
from cascadebai_cli.engines.lucb import run_lucb
from cascadebai_cli.engines.lucb_rows import first_round, may_end_early, ranked
from cascadebai_cli.engines.outcomes import RandomStack
from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.learners.bounds import best_means, kl_lower, kl_upper
from cascadebai_cli.learners.kl_lucb import UNIT, KLLucb, LucbRule
from cascadebai_cli.learners.protocol import Learner


def after(T, S, K, **more):
    """A learner that has seen these counts and clicks."""
    learner = KLLucb(len(T), K, 0.1, **more)
    for item, (t, s) in enumerate(zip(T, S, strict=True)):
        for n in range(t):
            learner.observe([item], [int(n < s)])
    return learner


def test_is_a_learner():
    assert isinstance(KLLucb(4, 2, 0.1), Learner)


def test_bounds_share_the_risk():
    learner = after([10, 10, 10, 10, 10], [9, 8, 3, 2, 1], 2)
    assert learner.upper == pytest.approx(kl_upper(np.array([9, 8, 3, 2, 1]) / 10, 10, 0.1 / 4))
    assert learner.lower == pytest.approx(kl_lower(np.array([9, 8, 3, 2, 1]) / 10, 10, 0.1 / 6))


def test_bounds_are_rounded_outward_to_whole_units():
    """So sums of them are exact, in the engine as in the learner."""
    T, S = np.meshgrid(np.arange(1, 200), np.arange(0, 200), indexing="ij")
    T, S = T[S <= T], S[S <= T]
    rule = LucbRule(5, 2, 0.1)
    upper, lower = rule.upper(S / T, T), rule.lower(S / T, T)
    for bound in (upper, lower):
        assert (bound / UNIT == np.rint(bound / UNIT)).all()
    over, under = upper - kl_upper(S / T, T, 0.1 / 4), kl_lower(S / T, T, 0.1 / 6) - lower
    for excess in (over, under):
        assert excess.min() >= 0
        assert 0.1 * UNIT < excess.max() < UNIT


def test_every_item_once_the_least_observed_first():
    learner = KLLucb(5, 3, 0.1)
    assert learner.select() == [0, 1, 2]
    learner.observe([0, 1, 2], [0, 1])
    assert learner.select() == [2, 3, 4]
    learner.observe([2, 3, 4], [1])
    assert learner.select() == [3, 4, 0]


def test_shows_the_boundary_in_ascending_order_of_counts():
    """J = {0, 1, 2}: 2 is the weakest, 3 the rival; then 1 is nearest, before 4 and 0."""
    learner = after([400, 300, 200, 250, 100, 300], [360, 240, 120, 100, 10, 15], 3)
    assert (learner.boundary.weakest, learner.boundary.rival) == (2, 3)
    assert learner.select() == [2, 3, 1]


def test_one_place_goes_to_the_less_observed_of_the_two():
    assert after([30, 20, 20], [20, 10, 1], 1).select() == [1]
    assert after([20, 30, 20], [14, 15, 1], 1).select() == [0]


def test_stops_when_the_bounds_part():
    T, S = [300, 300, 300], [250, 60, 30]
    assert after(T, S, 1).finished
    assert after(T, S, 1).recommendation == (0,)
    close = after([300, 300, 300], [150, 130, 30], 1)
    gap = close.upper[1] - close.lower[0]
    assert not close.finished
    assert after([300, 300, 300], [150, 130, 30], 1, epsilon=gap * 1.001).finished
    assert not after([300, 300, 300], [150, 130, 30], 1, epsilon=gap * 0.999).finished


def test_recommendation_in_descending_order_of_mean():
    assert after([9, 9, 9, 9], [2, 8, 1, 5], 3).recommendation == (1, 3, 0)


def by_reference(trial):
    arguments, table, cascading, cap = trial
    return run_reference(KLLucb(*arguments), TableOutcomes(table), BY_CLICK[cascading], cap)


def job(trial):
    arguments, table, cascading, cap = trial
    return Job(KLLucb(*arguments), TableStack(table), BY_CLICK[cascading], cap)


def stacks(weights, rows):
    return [RandomStack(np.array(weights), np.random.default_rng([1, row])) for row in range(rows)]


def test_a_row_does_not_depend_on_those_beside_it():
    weights = [0.9, 0.6, 0.5, 0.2, 0.2]
    together = in_order(run_lucb([Job(KLLucb(5, 2, 0.1), stack) for stack in stacks(weights, 6)]))
    alone = [in_order(run_lucb([Job(KLLucb(5, 2, 0.1), stack)]))[0] for stack in stacks(weights, 6)]
    assert together == alone
    assert len({run.steps for run in together}) > 1


@pytest.mark.parametrize(("K", "long"), mostly_slow([(3, 0), (3, 64), (2, 64), (1, 0)], [(3, 64), (1, 0)]))
def test_equals_the_reference_in_a_long_run(K, long):
    w = np.array([0.5, 0.45, 0.40, 0.3, 0.3, 0.2, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1])
    table = np.random.default_rng(8).random((12, 20_000)) < w[:, None]
    trial = ((12, K, 0.1, 0.02), table, True, 20_000)
    with patched(lucb_rows, _LONG=long):
        run = in_order(run_lucb([job(trial)]))[0]
    assert run == by_reference(trial)
    assert (run.status, run.steps > 500) == ("stopped", True)


@pytest.mark.parametrize("w", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("cascading", [True, False])
@pytest.mark.parametrize("cap", [3, None])
@pytest.mark.parametrize("epsilon", [0.0, 0.9995])
def test_first_round_is_that_of_the_learner(w, cascading, cap, epsilon):
    for seed in range(10):
        table = np.random.default_rng(seed).random((11, 2)) < w
        learner, outcomes, steps = KLLucb(11, 4, 0.1, epsilon), TableOutcomes(table), 0
        while learner.T.min() == 0 and not learner.finished and steps != cap:
            shown = learner.select()
            learner.observe(shown, BY_CLICK[cascading].reveal(shown, outcomes.next))
            steps += 1
        found = first_round(job(((11, 4, 0.1, epsilon), table, cascading, cap)))
        assert found.steps == steps
        assert (found.T.tolist(), found.S.tolist()) == (learner.T.tolist(), learner.S.tolist())


def test_only_a_huge_tolerance_may_end_the_first_round():
    assert not may_end_early(LucbRule(4, 2, 0.1, 0.8))
    assert may_end_early(LucbRule(4, 2, 0.1, 0.999))


def test_bounds_of_the_wrong_risk_are_noticed():
    """The comparison can fail."""

    class Twin(KLLucb):
        def __init__(self, L, K, delta, epsilon=0.0):
            super().__init__(L, K, delta * 1.1, epsilon)

    table = np.random.default_rng(2).random((4, 5000)) < np.array([[0.6], [0.5], [0.3], [0.1]])
    wrong = in_order(run_lucb([Job(Twin(4, 1, 0.1), TableStack(table))]))[0]
    assert wrong != by_reference(((4, 1, 0.1, 0.0), table, True, None))


@pytest.mark.parametrize("K", [1, 2, 3])
def test_levels_tell_who_may_change_sides(K):
    """Of equal means the first item ranks higher: a mean reaches the level if with it `J` might be another one."""
    for mean in ([0.1, 0.3, 0.3, 0.0], [0.2, 0.2, 0.2, 0.2], [0.0, 0.1, 0.2, 0.9], [0.3, 0.0, 0.3, 0.3]):
        (inside,), (level,) = ranked(np.array([mean]), K)
        assert inside.tolist() == best_means(np.array(mean), K).tolist()
        for item, other in product(range(4), [0.0, 0.1, 0.2, 0.25, 0.3, 1.0]):
            moved = np.array(mean)
            moved[item] = other
            if (best_means(moved, K) != inside).any():
                assert (-other if inside[item] else other) >= level[item]
        assert ((np.where(inside, -1, 1) * mean) < level).all()
