"""BatchRacing: its rules, the choice of pulls, its options."""

import numpy as np
import pytest
from algorithm1 import least_pulled
from given import TableOutcomes

from cascadebai_cli.engines.simulate import Trial, resolve_engine, run_reference, simulate
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.cascadebai import BatchRacingRule, BatRac
from cascadebai_cli.model.problem import CASCADING, SEMI_BANDIT


def test_radius():
    radius = BatchRacingRule(L=6, K=2, delta=0.36, b=1).radius([0, 1, 8])
    assert radius[0] == np.inf
    assert radius[1] == pytest.approx(2 * np.sqrt(np.log(1 / 0.1)))
    assert radius[2] == pytest.approx(2 * np.sqrt(np.log(4 / 0.1) / 8))


def test_identify_compares_with_order_statistics_of_the_bounds():
    rule = BatchRacingRule(L=4, K=2, delta=0.1, b=1)
    mean = np.array([0.9, 0.6, 0.5, 0.2])
    radius = np.array([0.05, 0.2, 0.05, 0.05])
    accept, reject = rule.identify(mean, mean - radius, mean + radius, 2)
    # upper 0.95 0.8 0.55 0.25, lower 0.85 0.4 0.45 0.15
    assert accept.tolist() == [True, False, False, False]
    assert reject.tolist() == [False, False, False, True]


def test_survivors_are_accepted_together_when_as_many_are_wanted():
    learner = BatRac(3, 2, 0.1, b=3)
    learner.T[:], learner.S[:] = 10**6, [8 * 10**5, 7 * 10**5, 10**5]
    learner.observe([0], [1])
    assert (learner.race.accepted, learner.race.rejected, learner.finished) == ([0, 1], [2], True)


@pytest.mark.parametrize(("b", "r"), [(1, 1), (3, 1), (9, 1), (3, 2), (7, 2), (12, 2), (8, 3), (20, 3)])
def test_select_is_least_pulled_first_with_repeats(b, r):
    rng, learner = np.random.default_rng(b), BatRac(5, 2, 0.1, b=b, r=r)
    for _ in range(30):
        shown = learner.select()
        assert shown == least_pulled(learner.race.survivors.tolist(), learner.T.tolist(), b, r)
        learner.observe(shown, rng.integers(0, 2, len(shown)).tolist())


def test_repeated_pulls_find_the_best_items():
    learner = BatRac(4, 2, 0.1, b=6, r=2)
    table = np.random.default_rng(4).random((4, 4000)) < np.array([[0.9], [0.1], [0.8], [0.2]])
    run = run_reference(learner, TableOutcomes(table), SEMI_BANDIT)
    assert (sorted(run.recommendation), run.status) == ([0, 2], "stopped")
    assert run.observations > 4 * run.steps


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.1}, "epsilon is 0.1, but batrac has no tolerance; use epsilon: 0"),
        ({"b": 0}, "b is 0, but must be K or a whole number, at least 1"),
        ({"b": "L"}, "b is 'L', but must be K or a whole number, at least 1"),
        ({"r": 1.5}, "r is 1.5, but must be a whole number, at least 1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ConfigError) as error:
        BatRac(4, 2, 0.1, **options)
    assert str(error.value) == message


def test_repeats_need_semi_bandit_feedback():
    with pytest.raises(ConfigError, match="use r: 1 or feedback: semi-bandit"):
        resolve_engine("auto", BatRac(4, 2, 0.1, r=2), CASCADING)
    assert resolve_engine("auto", BatRac(4, 2, 0.1), CASCADING) == "skip-ahead"


def test_simulate_with_semi_bandit_feedback():
    trial = Trial(np.array([0.9, 0.8, 0.2, 0.1]), np.random.default_rng(1))
    run = simulate(lambda: BatRac(4, 2, 0.1), trial, feedback=SEMI_BANDIT)
    assert sorted(run.recommendation) == [0, 1]
    assert run.observations == 2 * run.steps
