"""Same table, same run: over a table that is indexed by time, judge, reference and walk engine return the same."""

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from timed_judge import TooClose, judged

from cascadebai_cli.engines import reward_table, steps
from cascadebai_cli.engines.reference import run_reference
from cascadebai_cli.engines.reward_table import GivenTable, RandomTable, TableShape
from cascadebai_cli.engines.walk import run_walk
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.model.feedback import Cascading

WEIGHTS = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1), st.floats(0, 0.1), st.floats(0.9, 1))
SIGMAS = [0.001, 0.02, 0.05, 0.1, 0.2]


@st.composite
def problems(draw):
    """A learner's arguments, a table of rewards and a cap that may be many times its rows."""
    w = np.array(draw(st.lists(WEIGHTS, min_size=2, max_size=9)))
    arguments = {
        "L": len(w),
        "K": draw(st.integers(1, len(w) - 1)),
        "delta": draw(st.sampled_from([0.01, 0.1, 0.6])),
        "epsilon": draw(st.sampled_from([0.0, 0.0, 0.02, 0.2, 0.7, 2.0])),
        **draw(st.one_of(st.just({"confidence": "kl"}), st.sampled_from(SIGMAS).map(lambda sigma: {"sigma": sigma}))),
    }
    rows = draw(st.one_of(st.integers(1, 8), st.integers(1, 2000)))
    table = np.random.default_rng(draw(st.integers(0, 2**32))).random((rows, len(w))) < w
    return arguments, table, draw(st.integers(1, 1500))


def both_runs(arguments, table, cap):
    expected = run_reference(CascadeBAI(**arguments), GivenTable(table), Cascading(), cap)
    return expected, run_walk(CascadeBAI(**arguments).rule, GivenTable(table), cap)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(problems())
def test_equals_reference(problem):
    expected, found = both_runs(*problem)
    event(expected.status)
    assert found == expected


@settings(max_examples=200, deadline=None, derandomize=True)
@given(problems(), st.integers(1, 40), st.integers(1, 6))
def test_equals_reference_however_it_is_cut(problem, block, few):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reward_table, "BLOCK", block)
        patch.setattr(steps, "FEW", few)
        patch.setattr(steps, "DIVIDE", 2)
        patch.setattr(steps, "TOGETHER", 2)
        expected, found = both_runs(*problem)
    assert found == expected


@settings(max_examples=200, deadline=None, derandomize=True)
@given(problems())
def test_the_reference_equals_the_judge(problem):
    arguments, table, cap = problem
    assume("confidence" not in arguments)
    expected = run_reference(CascadeBAI(**arguments), GivenTable(table), Cascading(), cap)
    try:
        steps, stopped, output, A, R, T = judged(
            table.astype(int).tolist(), **{key: value for key, value in arguments.items() if key != "L"}, cap=cap
        )
    except TooClose:
        assume(False)
    event(expected.status)
    assert (expected.steps, expected.status) == (steps, "stopped" if stopped else "capped")
    assert (expected.recommendation, expected.accepted) == (tuple(output), tuple(A))
    assert (expected.rejected, expected.counts) == (tuple(R), tuple(T))


def weights_of(L=6, K=2):
    return np.where(np.arange(L) < K, 0.8, 0.3)


@pytest.mark.parametrize("shape", [TableShape(300), TableShape(5000), TableShape(7, reuse=False)])
def test_both_engines_draw_the_same_table(shape):
    w = weights_of()
    tables = [RandomTable(w, np.random.default_rng(5), shape) for _ in range(2)]
    expected = run_reference(CascadeBAI(6, 2, 0.1), tables[0], Cascading(), 20_000)
    assert run_walk(CascadeBAI(6, 2, 0.1).rule, tables[1], 20_000) == expected


def rows_of(table, steps):
    return np.array([[table.at(step)(item) for item in range(6)] for step in range(steps)])


def test_a_reused_table_repeats_its_rows_and_one_drawn_anew_does_not():
    again, anew = (
        rows_of(RandomTable(weights_of(), np.random.default_rng(1), TableShape(1000, reuse)), 9000)
        for reuse in (True, False)
    )
    assert (again[1000:] == again[:-1000]).all()
    assert not (again[999:] == again[:-999]).all()
    assert (anew[1000:] != anew[:-1000]).mean() > 0.2
    assert np.abs(anew.mean(axis=0) - weights_of()).max() < 4 * 0.5 / 9000**0.5


def test_more_than_128_survivors():
    """Places and clicks take two bytes."""
    w = np.linspace(0, 1, 300)
    table = np.random.default_rng(0).random((50, 300)) < w
    arguments = {"L": 300, "K": 7, "delta": 0.1, "sigma": 0.1}
    expected, found = both_runs(arguments, table, 3000)
    assert found == expected
    assert len(found.rejected) > 0
