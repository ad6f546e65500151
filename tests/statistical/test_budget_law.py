"""Same law: with its own randomness the engine of phases agrees with the reference, and wrong twins do not.

Seeds are fixed. The threshold is shared among all comparisons, as in `test_lockstep_law`.
"""

from functools import partial

import numpy as np
import pytest
from cases import mostly_slow
from scipy import stats

from cascadebai_cli.engines import phases
from cascadebai_cli.engines.jobs import Job, in_order
from cascadebai_cli.engines.outcomes import RandomOutcomes
from cascadebai_cli.engines.phases import run_phases
from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.learners.fixed_budget import SuccessiveAcceptsRejects, Uniform
from cascadebai_cli.model.problem import CASCADING

BUDGET = 400
CASES = {
    "uniform, low": (Uniform, [0.2] * 3 + [0.05] * 9, 3),
    "uniform, high": (Uniform, [0.95] * 3 + [0.8] * 7, 3),
    "sar, mixture": (partial(SuccessiveAcceptsRejects, budget=BUDGET), np.linspace(0.95, 0.05, 8), 3),
    "sar, high": (partial(SuccessiveAcceptsRejects, budget=BUDGET), [0.95] * 3 + [0.8] * 7, 3),
}
STATISTICS = ("steps", "observations", "right", "smallest count", "largest count")
THRESHOLD = 0.001 / (len(CASES) * len(STATISTICS))
TRIALS = 300


def statistics(case, run):
    """Statistics of the trials of a case, shape `(TRIALS, 5)`."""
    make, weights, K = CASES[case]
    rows = []
    for trial in range(TRIALS):
        learner, w = make(len(weights), K), np.asarray(weights, dtype=float)
        done = run(learner, RandomOutcomes(w, np.random.default_rng([run is not by_reference, trial])))
        right = len(set(range(K)) & set(learner.answer))
        rows.append((done.steps, done.observations, right, min(done.counts), max(done.counts)))
    return np.array(rows)


def by_reference(learner, outcomes):
    return run_reference(learner, outcomes, CASCADING, BUDGET)


def by_phases(learner, outcomes):
    return in_order(run_phases([Job(learner, outcomes, CASCADING, BUDGET)]))[0]


@pytest.fixture
def counting(monkeypatch):
    """Let short phases be counted too, and tell how often this happened."""
    leaps = []
    monkeypatch.setattr(phases, "_COUNTED", 20)
    monkeypatch.setattr(phases, "_MARGIN", 0.2)
    monkeypatch.setattr(phases, "leap_phases", lambda *args: leaps.append(args) or leap(*args))
    return leaps


def p_values(one, other):
    return np.array([stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(one.T, other.T, strict=True)])


@pytest.fixture(scope="module", params=mostly_slow(CASES, ["uniform, low", "sar, high"]))
def judged(request):
    return request.param, statistics(request.param, by_reference)


def test_same_law(judged):
    case, expected = judged
    found = p_values(expected, statistics(case, by_phases))
    assert (found > THRESHOLD).all(), dict(zip(STATISTICS, found, strict=True))


@pytest.mark.parametrize("judged", mostly_slow([*CASES][1:], ["sar, high"]), indirect=True)
def test_same_law_where_numbers_of_steps_are_drawn(judged, counting):
    case, expected = judged
    found = p_values(expected, statistics(case, by_phases))
    assert (found > THRESHOLD).all(), dict(zip(STATISTICS, found, strict=True))
    assert len(counting) > TRIALS


def test_more_steps_whose_numbers_are_drawn_have_the_law_of_those_that_are_made(counting, monkeypatch):
    """So many steps take the reference too long; a list that is an item too long is caught here."""
    monkeypatch.setattr(phases, "_MARGIN", 1.0)
    runs = {}
    for kind, counted, longer in (("made", 10**7, 0), ("drawn", 500, 0), ("wrong", 500, 1)):
        monkeypatch.setattr(phases, "_COUNTED", counted)
        monkeypatch.setattr(phases, "Counts", lambda w, batch, *rest, more=longer: made(w, batch + more, *rest))
        runs[kind] = statistics(
            "uniform, low", lambda learner, outcomes: in_order(run_phases([Job(learner, outcomes, CASCADING, 4000)]))[0]
        )
    assert len(counting) > 2 * TRIALS
    assert (p_values(runs["made"], runs["drawn"]) > THRESHOLD).all()
    assert p_values(runs["made"], runs["wrong"]).min() < THRESHOLD


@pytest.mark.parametrize("judged", mostly_slow(["uniform, low", "sar, mixture"], ["uniform, low"]), indirect=True)
def test_lists_that_are_an_item_too_long_are_caught(judged, monkeypatch):
    case, expected = judged
    monkeypatch.setattr(phases, "cut", lambda *places, batch, steps: cut(*places, batch=batch + 1, steps=steps))
    assert p_values(expected, statistics(case, by_phases)).min() < THRESHOLD


def test_a_click_that_does_not_end_its_step_is_caught(judged, monkeypatch):
    case, expected = judged
    monkeypatch.setattr(
        phases, "cut", lambda row, at, _, *length, **others: cut(row[:0], at[:0], True, *length, **others)
    )
    assert p_values(expected, statistics(case, by_phases)).min() < THRESHOLD


def test_phases_that_are_a_tenth_too_short_are_caught(monkeypatch):
    case = "sar, high"
    expected = statistics(case, by_reference)
    _, weights, K = CASES[case]
    short = partial(SuccessiveAcceptsRejects, budget=BUDGET - BUDGET // 10)
    monkeypatch.setitem(CASES, case, (short, weights, K))
    assert p_values(expected, statistics(case, by_phases)).min() < THRESHOLD


cut, leap, made = phases.cut, phases.leap_phases, phases.Counts
