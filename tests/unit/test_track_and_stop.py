"""Track-and-stop: the reference against the judge, the engine against the reference, ties, and its decisions."""

import math

import mixture_judge
import numpy as np
import pytest
import track_and_stop as judge
from cases import mostly_slow
from given import BY_CLICK, TableOutcomes, TableStack
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cascadebai_cli.engines.jobs import Job
from cascadebai_cli.engines.phases import run_planned
from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners import track_and_stop
from cascadebai_cli.learners.bounds import told_apart
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.learners.track_and_stop import Reading, TrackAndStop, _planned
from cascadebai_cli.model.problem import Instance, evidence
from cascadebai_cli.theory.lists import Lists
from cascadebai_cli.theory.maximin import maximin
from cascadebai_cli.theory.sharp import sharp_bound

LENGTHS = st.none() | st.integers(1, 8)
WEIGHTS = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1), st.floats(0, 0.1), st.floats(0.9, 1))


@pytest.fixture(autouse=True, scope="module")
def _mixtures_made_once():
    """The judge, the reference and the engine ask for the same mixtures, which take long to find."""
    made = {}

    def kept(T, reading, lists, M):
        key = (T.tobytes(), reading.mean.tobytes(), reading.theta, int(reading.inside.sum()), lists, M)
        return made.setdefault(key, None) or made.__setitem__(key, _planned(T, reading, lists, M)) or made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(track_and_stop, "_planned", kept)
        yield


def mixture(T, S, K, steps, theta, M):
    """The package's mixture, the only thing that the judge is given."""
    counts, clicks = np.array(T), np.array(S)
    made = track_and_stop._planned(counts, Reading.of(counts, clicks, K, theta), steps, min(M, len(T)))
    return made.level.tolist(), made.lists, made.shares.tolist(), made.theta


@st.composite
def trials(draw):
    w = np.array(draw(st.lists(WEIGHTS, min_size=2, max_size=6)))
    K, delta, cap = draw(st.integers(1, len(w) - 1)), draw(st.sampled_from([1e-6, 0.1, 0.6])), draw(st.integers(0, 300))
    table = np.random.default_rng(draw(st.integers(0, 2**32))).random((len(w), cap)) < w[:, None]
    return table, K, delta, draw(st.booleans()), cap, draw(LENGTHS)


def by_reference(trial, stopping="glr"):
    table, K, delta, cascading, cap, M = trial
    learner = TrackAndStop(len(table), K, delta, list_length=M, stopping=stopping)
    return run_reference(learner, TableOutcomes(table), BY_CLICK[cascading], cap), learner


def by_engine(trial, stopping="glr"):
    table, K, delta, cascading, cap, M = trial
    learner = TrackAndStop(len(table), K, delta, list_length=M, stopping=stopping)
    return run_planned(Job(learner, TableStack(table), BY_CLICK[cascading], cap)), learner


def long_trial(w, K, delta=0.1, cascading=True, cap=6000, seed=1, M=None):
    table = np.random.default_rng(seed).random((len(w), cap)) < np.array(w)[:, None]
    return table, K, delta, cascading, cap, M


LONG = {
    "apart": ([0.9, 0.7, 0.3, 0.1], 2),
    "low": ([0.2, 0.1, 0.05, 0.05, 0.02], 1),
    "zero and one": ([1.0, 1.0, 0.6, 0.3, 0.0, 0.0], 2),
    "two levels": ([0.5] * 3 + [0.2] * 5, 3),
    "tie at the boundary": ([0.5, 0.5, 0.5, 0.2], 2),
    "all equal": ([0.3] * 5, 2),
    "all zero": ([0.0] * 4, 2),
    "all one": ([1.0] * 4, 2),
}


@settings(max_examples=30, deadline=None, derandomize=True)
@given(trials())
def test_equals_the_judge_and_the_engine_equals_both(trial):
    event(check(trial).status)


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("cascading", mostly_slow([True, False], [True]))
def test_equals_the_judge_in_long_runs(name, cascading):
    w, K = LONG[name]
    run = check(long_trial(w, K, cascading=cascading, cap=3000))
    tied = sorted(w)[-K] == sorted(w)[-K - 1]
    assert (run.status == "capped") == tied
    assert run.steps == 3000 if tied else run.steps > 20


@pytest.mark.parametrize("M", [1, 3, 9])
def test_lists_of_another_length(M):
    assert check(long_trial(*LONG["two levels"], cap=3000, M=M)).status == "stopped"


@pytest.mark.parametrize("name", mostly_slow(["apart", "two levels", "zero and one"], ["apart"]))
def test_stops_by_one_martingale(name):
    trial = long_trial(*LONG[name], cap=3000)
    assert check(trial, "mixture", mixture_judge.may_stop).steps < by_engine(trial)[0].steps


def check(trial, stopping="glr", stops=None):
    table, K, delta, cascading, cap, M = trial
    steps, stopped, answer, T, S = judge.track_and_stop(table.tolist(), K, delta, mixture, cascading, cap, M, stops)
    run, learner = by_reference(trial, stopping)
    assert (run.steps, run.status) == (steps, "stopped" if stopped else "capped")
    assert (learner.T.tolist(), learner.S.tolist(), run.recommendation) == (T, S, tuple(answer))
    quick, planner = by_engine(trial, stopping)
    assert quick == run
    assert (planner.T.tolist(), planner.S.tolist()) == (T, S)
    return run


def test_is_a_learner():
    assert isinstance(TrackAndStop(4, 2, 0.1), Learner)


def test_a_tolerance_is_refused():
    with pytest.raises(ConfigError, match=r"track-and-stop .* not 0.05"):
        TrackAndStop(4, 2, 0.1, 0.05)


def test_another_stopping_rule_is_refused():
    with pytest.raises(ConfigError, match="stopping is 'bounds', but must be glr or mixture"):
        TrackAndStop(4, 2, 0.1, stopping="bounds")


def test_begins_with_those_least_observed():
    learner = TrackAndStop(4, 2, 0.1)
    assert learner.select() == [0, 1]
    learner.observe([0, 1], [1])
    assert learner.select() == [1, 2]


def test_a_threshold_without_the_pairs_is_noticed(monkeypatch):
    """The comparison can fail."""
    from cascadebai_cli.learners import bounds

    monkeypatch.setattr(bounds, "pair_threshold", lambda T_a, T_b, pairs, delta: np.log(4 * np.sqrt(T_a * T_b) / delta))
    trial = long_trial([0.9, 0.7, 0.3, 0.1], 2)
    table, K, delta, *_ = trial
    assert by_reference(trial)[0].steps < judge.track_and_stop(table.tolist(), K, delta, mixture)[0]


def test_told_apart_by_hand():
    """Two items, every outcome of one a click and of the other a skip: `Z = 2 T ln 2` against `ln(4 T / delta)`."""
    assert 2 * 4 * math.log(2) < math.log(4 * 4 / 0.05) < math.log(4 * 5 / 0.05) < 2 * 5 * math.log(2)
    assert not told_apart(np.array([4, 4]), np.array([4, 0]), 1, 0.05)
    assert told_apart(np.array([5, 5]), np.array([5, 0]), 1, 0.05)


def test_nothing_is_told_apart_unseen_or_tied():
    assert not told_apart(np.array([10**9, 0]), np.array([10**9, 0]), 1, 0.5)
    assert not told_apart(np.array([10**9, 10**9]), np.array([5, 5]), 1, 0.5)


SETTING_1, SETTING_3 = (np.repeat(two, [20, 108]) for two in ([1 / 20, 1 / 400], [20**-0.5, 1 / 20]))


@pytest.mark.parametrize(
    ("w", "K"),
    [
        ([0.95, 0.5, 0.49, 0.1], 2),
        ([0.9, 0.85, 0.5, 0.48, 0.46, 0.05], 3),
        (np.linspace(0.9, 0.1, 20), 5),
        *mostly_slow([(SETTING_1, 20), (SETTING_3, 20)], []),
    ],
)
def test_is_optimal_in_the_limit_of_known_means(w, K):
    """Looks as they are expected, from equal ones on: steps over evidence come within a hundredth of `T*`."""
    w = np.array(w)
    learner = TrackAndStop(len(w), K, 0.1)
    learner.T, learner.S, learner.finished = np.full(len(w), 1000.0), 1000 * w, False
    learner.steps = int(1000 * len(w) / K)
    learner.blocks = learner._next_blocks()
    while learner.steps < 1e8:
        for items, repeats in learner.blocks:
            learner.T[list(items)] += repeats * np.concatenate([[1.0], np.cumprod(1 - w[list(items)])[:-1]])
        learner.S = learner.T * w
        learner.steps += sum(block.repeats for block in learner.blocks)
        learner.blocks = learner._next_blocks()
    a, b = np.argsort(-w)[:K, None], np.argsort(-w)[None, K:]
    least = evidence(learner.T[a], w[a], learner.T[b], w[b])[0].min()
    assert 1 <= learner.steps / least / sharp_bound(Instance(w, K)).characteristic_steps <= 1.01


def test_a_thin_plan_has_the_looks_of_the_mixture():
    """As few lists as there are levels, and one more at most."""
    T, w = np.array([400, 300, 300, 200, 100, 100]), np.array([0.9, 0.85, 0.5, 0.48, 0.46, 0.05])
    reading, found = Reading.of(T, (T * w).astype(np.int64), 3), []

    def kept(*words):
        found.append(maximin(*words))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(track_and_stop, "maximin", kept)
        made = _planned(T, reading, 500, 3)
    levels = made.level.max() + 1
    lists = Lists(np.bincount(made.level, reading.mean) / np.bincount(made.level), np.bincount(made.level), 3)
    assert len(made.lists) <= levels + 1 < len(found[0].lists)
    rates = sum(share * lists.rates(shown) for share, shown in zip(made.shares, made.lists, strict=True))
    assert rates == pytest.approx(found[0].rates, abs=1e-5)


def test_forced_exploration_keeps_pace():
    """An item far away is hardly needed, and still observed as often as the root of the average count."""
    trial = long_trial([0.52, 0.48] + [0.01] * 4, 1, delta=1e-20, cap=20000)
    run, learner = by_engine(trial)
    assert run.status == "capped"
    assert learner.T.min() >= math.sqrt(learner.T.mean()) - 1
    assert learner.T[2:].max() < learner.T[:2].min() / 5
