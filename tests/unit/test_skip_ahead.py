"""Same rewards, same run: fed with one table of outcomes, skip-ahead returns what the reference returns."""

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cascadebai_cli.engines import skip_ahead
from cascadebai_cli.engines.outcomes import TableOutcomes
from cascadebai_cli.engines.reference import run_reference
from cascadebai_cli.engines.skip_ahead import group_size, run_skip_ahead
from cascadebai_cli.learners.cascadebai import CascadeBAI, KLCascadeRule
from cascadebai_cli.learners.racing import RacingLearner
from cascadebai_cli.model.feedback import Cascading, SemiBandit

WEIGHTS = st.one_of(
    st.sampled_from([0.0, 0.5, 1.0]),
    st.floats(0, 1),
    st.floats(0, 0.1),
    st.floats(0.9, 1),
)


SIGMAS = [0.001, 0.02, 0.05, 0.1, 0.2]


@st.composite
def problems(draw):
    """A learner's arguments, a table of outcomes, the feedback and a cap that the table is long enough for."""
    w = np.array(draw(st.lists(WEIGHTS, min_size=2, max_size=9)))
    arguments = {
        "L": len(w),
        "K": draw(st.integers(1, len(w) - 1)),
        "delta": draw(st.sampled_from([0.01, 0.1, 0.6])),
        "epsilon": draw(st.sampled_from([0.0, 0.0, 0.02, 0.2, 0.7, 2.0])),
        **draw(st.one_of(st.just({"confidence": "kl"}), st.sampled_from(SIGMAS).map(lambda sigma: {"sigma": sigma}))),
    }
    cap = draw(st.integers(1, 1500))
    table = np.random.default_rng(draw(st.integers(0, 2**32))).random((len(w), cap)) < w[:, None]
    return arguments, table, draw(st.booleans()), cap


def both_runs(arguments, table, cascading, cap):
    learner = CascadeBAI(**arguments)
    feedback = Cascading() if cascading else SemiBandit()
    expected = run_reference(learner, TableOutcomes(table), feedback, cap)
    found = run_skip_ahead(CascadeBAI(**arguments).rule, TableOutcomes(table), cascading, cap)
    return expected, found


@settings(max_examples=400, deadline=None, derandomize=True)
@given(problems())
def test_equals_reference(problem):
    expected, found = both_runs(*problem)
    event(expected.status)
    assert found == expected


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problems())
def test_equals_reference_with_many_levels_of_groups(problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skip_ahead, "ROWS", 2)
        patch.setattr(skip_ahead, "DIVIDE", 2)
        patch.setattr(skip_ahead, "STORED", 400)
        expected, found = both_runs(*problem)
    assert found == expected


LONG = {
    "all below one half": ([0.30, 0.28, 0.20] + [0.15] * 7, 3, 0.0),
    "small": ([0.05] * 3 + [0.01] * 9, 3, 0.0),
    "all above one half": ([0.99] * 2 + [0.95] * 6, 2, 0.0),
    "mixture": ([0.9, 0.6, 0.55, 0.5, 0.4, 0.3, 0.1, 0.05], 3, 0.0),
    "zero and one": ([1.0, 0.62, 0.5, 0.4, 0.0, 0.0], 2, 0.0),
    "K = 1": ([0.6, 0.5, 0.5, 0.4], 1, 0.0),
    "K = L - 1": ([0.6, 0.6, 0.55, 0.45], 3, 0.0),
    "ties within epsilon": ([0.5] * 4 + [0.3] * 4, 2, 0.1),
    "many epsilon-optimal": ([0.5] * 2 + [0.45] * 8 + [0.1] * 2, 2, 0.15),
}


@pytest.mark.parametrize("case", LONG)
@pytest.mark.parametrize("seed", range(4))
def test_equals_reference_in_long_runs(case, seed):
    weights, K, epsilon = LONG[case]
    w = np.random.default_rng(seed).permutation(weights)
    table = np.random.default_rng(seed + 100).random((len(w), 20_000)) < w[:, None]
    option = {"sigma": 0.15} if seed > 0 else {"confidence": "kl"}
    arguments = {"L": len(w), "K": K, "delta": 0.1, "epsilon": epsilon, **option}
    expected, found = both_runs(arguments, table, True, 20_000)
    assert found == expected
    assert expected.counts
    assert expected.steps > 100


def test_wrong_radius_is_noticed():
    """The comparison can fail: a rule that uses the radius of one observation more differs somewhere."""

    class Twin(CascadeBAI):
        def observe(self, shown, outcomes):
            self.T += 1
            try:
                super().observe(shown, outcomes)
            finally:
                self.T -= 1

    rng, differences = np.random.default_rng(5), 0
    for _ in range(20):
        table = rng.random((5, 4000)) < np.array([[0.6], [0.5], [0.3], [0.2], [0.1]])
        learner = Twin(5, 2, 0.1, sigma=0.1)
        wrong = run_reference(learner, TableOutcomes(table), Cascading(), 4000)
        right = run_skip_ahead(CascadeBAI(5, 2, 0.1, sigma=0.1).rule, TableOutcomes(table), True, 4000)
        differences += wrong.steps != right.steps
    assert differences > 10


def test_bounds_of_the_wrong_count_are_noticed():
    """The same with the sharper bounds."""

    class Twin(KLCascadeRule):
        def upper(self, mean, T):
            return super().upper(mean, 1.1 * np.asarray(T))

    rng, differences = np.random.default_rng(6), 0
    for _ in range(20):
        table = rng.random((5, 4000)) < np.array([[0.7], [0.6], [0.3], [0.2], [0.1]])
        wrong = run_reference(RacingLearner(Twin(5, 2, 0.1)), TableOutcomes(table), Cascading(), 4000)
        right = run_skip_ahead(KLCascadeRule(5, 2, 0.1), TableOutcomes(table), True, 4000)
        differences += wrong.steps != right.steps
    assert differences > 10


def test_cap_equal_to_the_stopping_time_is_no_cap():
    table = np.random.default_rng(3).random((4, 5000)) < np.array([[0.8], [0.5], [0.3], [0.1]])
    rule = CascadeBAI(4, 2, 0.1, sigma=0.1).rule
    free = run_skip_ahead(rule, TableOutcomes(table))
    at = run_skip_ahead(rule, TableOutcomes(table), max_steps=free.steps)
    before = run_skip_ahead(rule, TableOutcomes(table), max_steps=free.steps - 1)
    assert at == free
    assert (before.status, before.steps) == ("capped", free.steps - 1)


@pytest.mark.parametrize(("rounds", "size"), [(1, 1), (255, 1), (256, 16), (4095, 16), (4096, 256), (100_000, 4096)])
def test_group_size(rounds, size):
    assert group_size(rounds) == size
