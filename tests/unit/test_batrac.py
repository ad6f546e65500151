"""BatchRacing: its rules, the choice of pulls, and the same run in the fast engine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cascadebai_cli.engines.outcomes import TableOutcomes
from cascadebai_cli.engines.reference import run_reference
from cascadebai_cli.engines.simulate import Trial, resolve_engine, simulate
from cascadebai_cli.engines.skip_ahead import run_skip_ahead
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.batrac import BatchRacingRule, BatRac
from cascadebai_cli.model.feedback import Cascading, SemiBandit


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


def one_after_the_other(T, D, b, r):
    """The pulls of a step as the pseudocode chooses them."""
    pulled, chosen = dict.fromkeys(D, 0), []
    while len(chosen) < min(b, r * len(D)):
        item = min((i for i in D if pulled[i] < r), key=lambda i: T[i] + pulled[i])
        pulled[item] += 1
        chosen.append(item)
    return chosen


@pytest.mark.parametrize(("b", "r"), [(1, 1), (3, 1), (9, 1), (3, 2), (7, 2), (12, 2), (8, 3), (20, 3)])
def test_select_is_least_pulled_first_with_repeats(b, r):
    rng, learner = np.random.default_rng(b), BatRac(5, 2, 0.1, b=b, r=r)
    for _ in range(30):
        shown = learner.select()
        assert shown == one_after_the_other(learner.T, learner.race.survivors.tolist(), b, r)
        learner.observe(shown, rng.integers(0, 2, len(shown)).tolist())


@st.composite
def problems(draw):
    L = draw(st.integers(2, 8))
    K = draw(st.integers(1, L - 1))
    r = draw(st.sampled_from([1, 1, 1, 2, 3]))
    w = np.array(draw(st.lists(st.sampled_from([0.0, 0.02, 0.3, 0.5, 0.7, 0.98, 1.0]), min_size=L, max_size=L)))
    cap = draw(st.integers(1, 1200))
    table = np.random.default_rng(draw(st.integers(0, 2**32))).random((L, r * cap)) < w[:, None]
    arguments = {"L": L, "K": K, "delta": draw(st.sampled_from([0.1, 0.9])), "b": draw(st.integers(1, r * L)), "r": r}
    return arguments, table, r > 1 or draw(st.booleans()), cap


@settings(max_examples=300, deadline=None, derandomize=True)
@given(problems())
def test_same_rewards_same_run(problem):
    arguments, table, semi_bandit, cap = problem
    feedback = SemiBandit() if semi_bandit else Cascading()
    expected = run_reference(BatRac(**arguments), TableOutcomes(table), feedback, cap)
    found = run_skip_ahead(BatRac(**arguments).rule, TableOutcomes(table), not semi_bandit, cap)
    assert found == expected


def test_repeated_pulls_find_the_best_items():
    learner = BatRac(4, 2, 0.1, b=6, r=2)
    table = np.random.default_rng(4).random((4, 4000)) < np.array([[0.9], [0.1], [0.8], [0.2]])
    run = run_reference(learner, TableOutcomes(table), SemiBandit())
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
        resolve_engine("auto", BatRac(4, 2, 0.1, r=2), "cascading")
    assert resolve_engine("auto", BatRac(4, 2, 0.1), "cascading") == "skip-ahead"


def test_simulate_with_semi_bandit_feedback():
    trial = Trial(np.array([0.9, 0.8, 0.2, 0.1]), np.random.default_rng(1))
    run = simulate(lambda: BatRac(4, 2, 0.1), trial, feedback="semi-bandit")
    assert sorted(run.recommendation) == [0, 1]
    assert run.observations == 2 * run.steps
