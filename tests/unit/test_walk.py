"""Same table, same run: over a table that is indexed by time, the walk engine returns what the reference returns."""

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cascadebai_cli.engines import reward_table, steps
from cascadebai_cli.engines.reference import run_reference
from cascadebai_cli.engines.reward_table import GivenTable
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
