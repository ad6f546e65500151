"""KL-LUCB++ that stops by likelihood ratios: the stop by the judge's statistic, and its engine run for run."""

import numpy as np
import pytest
import track_and_stop as judge
from cases import mostly_slow
from given import BY_CLICK, TableOutcomes, TableStack
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cascadebai_cli.engines import lucb
from cascadebai_cli.engines.jobs import Job, in_order
from cascadebai_cli.engines.lucb import run_lucb
from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.model.problem import CASCADING

WEIGHTS = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1), st.floats(0, 0.1), st.floats(0.9, 1))


@st.composite
def blocks(draw):
    w = np.array(draw(st.lists(WEIGHTS, min_size=2, max_size=8)))
    return [
        (
            np.random.default_rng(draw(st.integers(0, 2**32))).random((len(w), 600)) < w[:, None],
            draw(st.integers(1, len(w) - 1)),
            draw(st.sampled_from([0.01, 0.6])),
            draw(st.booleans()),
            draw(st.integers(0, 600)),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]


def learner(trial):
    table, K, delta, *_ = trial
    return KLLucb(len(table), K, delta, stopping="glr")


def by_reference(trial):
    table, _, _, cascading, cap = trial
    return run_reference(learner(trial), TableOutcomes(table), BY_CLICK[cascading], cap)


@pytest.mark.parametrize("short", mostly_slow([False, True], [True]))
@settings(max_examples=30)
@given(block=blocks())
def test_engine_equals_reference(block, short):
    with pytest.MonkeyPatch.context() as patch:
        if short:
            patch.setattr(lucb, "_READ", 64)
            patch.setattr(lucb, "_KEPT", 8)
            patch.setattr(lucb, "_SHORT", 4)
        found = in_order(
            run_lucb([Job(learner(trial), TableStack(trial[0]), BY_CLICK[trial[3]], trial[4]) for trial in block])
        )
    for trial, run in zip(block, found, strict=True):
        event(run.status)
        assert run == by_reference(trial)


def test_stops_when_the_judge_may_stop():
    w = np.array([0.8, 0.7, 0.4, 0.3, 0.1])
    table = np.random.default_rng(1).random((5, 3000)) < w[:, None]
    made, outcomes = KLLucb(5, 2, 0.1, stopping="glr"), TableOutcomes(table)
    while not made.finished:
        assert not judge.may_stop(made.T.tolist(), made.S.tolist(), 2, 0.1)
        shown = made.select()
        made.observe(shown, CASCADING.reveal(shown, outcomes.next))
    assert judge.may_stop(made.T.tolist(), made.S.tolist(), 2, 0.1)
    assert made.T.sum() > 50


def test_refusals():
    with pytest.raises(ConfigError, match="stopping is 'never'"):
        KLLucb(4, 2, 0.1, stopping="never")
    with pytest.raises(ConfigError, match=r"not 0\.1"):
        KLLucb(4, 2, 0.1, 0.1, stopping="glr")
