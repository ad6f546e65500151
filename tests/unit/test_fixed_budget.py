"""Runs with a budget are what the judge says, in every engine; one path serves all budgets."""

from itertools import pairwise

import budget_judge
import numpy as np
import pytest
from given import BY_CLICK, TableOutcomes, TableStack
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import SEEDS, WEIGHTS

from cascadebai_cli.engines import phases
from cascadebai_cli.engines.jobs import Job, in_order, never
from cascadebai_cli.engines.outcomes import RandomOutcomes
from cascadebai_cli.engines.phases import run_phases
from cascadebai_cli.engines.simulate import ENGINES, Counted, Trial, run_reference, simulate
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.cascadebai import BatRac, CascadeBAI
from cascadebai_cli.learners.fixed_budget import SuccessiveAcceptsRejects, Uniform
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.track_and_stop import TrackAndStop
from cascadebai_cli.model.problem import CASCADING

MANY = pytest.mark.parametrize("examples", [100, pytest.param(2000, marks=pytest.mark.slow)])


@st.composite
def problems(draw, longest=400):
    """Weights, `K`, a budget that SAR can use, rewards and whether a click ends a step."""
    w = np.array(draw(WEIGHTS))
    K, budget = draw(st.integers(1, len(w) - 1)), draw(st.integers(len(w) + 1, longest))
    table = np.random.default_rng(draw(SEEDS)).random((len(w), budget)) < w[:, None]
    return K, budget, table, draw(st.booleans())


def made(kind, L, K, M, budget):
    known = {"budget": budget} if kind is SuccessiveAcceptsRejects else {}
    return kind(L, K, list_length=M, **known)


@MANY
@pytest.mark.parametrize(
    ("kind", "judge"), [(Uniform, budget_judge.uniform), (SuccessiveAcceptsRejects, budget_judge.sar)]
)
def test_reference_and_phases_are_what_the_judge_says(kind, judge, examples):
    @settings(max_examples=examples)
    @given(problems(), st.none() | st.integers(1, 10), st.sampled_from([1, 2, 5, 64]))
    def equal(problem, M, rounds):
        K, budget, table, cascading = problem
        expected = judge(table.astype(int).tolist(), K, M or K, budget, cascading)
        one, other = (made(kind, len(table), K, M, budget) for _ in range(2))
        run = run_reference(one, TableOutcomes(table), BY_CLICK[cascading], budget)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(phases, "_FEWEST", rounds)
            (found,) = in_order(run_phases([Job(other, TableOutcomes(table), BY_CLICK[cascading], budget)]))
            assert found == run
        for learner in (one, other):
            found = (run.steps, learner.answer, run.accepted, run.rejected, run.counts)
            assert budget_judge.Asked(*found) == expected

    equal()


RACING = {
    "lil": lambda L, K: CascadeBAI(L, K, 0.1, sigma=0.05),
    "kl": lambda L, K: CascadeBAI(L, K, 0.6, confidence="kl"),
    "U": lambda L, K: CascadeBAI(L, K, 0.1, sigma=0.05, order="U"),
    "batrac": lambda L, K: BatRac(L, K, 0.9, b=K),
}


@pytest.mark.parametrize("name", RACING)
def test_the_answer_of_every_engine_is_the_accepted_and_the_best_means(name):
    asked = []

    @settings(max_examples=60)
    @given(problems())
    def equal(problem):
        K, cap, table, cascading = problem
        for engine in ("reference", *RACING[name](3, 1).engines):
            learner, outcomes = RACING[name](len(table), K), TableOutcomes(table)
            stack = {"lockstep": TableStack(table), "skip-ahead": Counted(outcomes, len(table))}.get(engine, outcomes)
            (run,) = in_order(ENGINES[engine].run([Job(learner, stack, BY_CLICK[cascading], cap, answers=True)], never))
            judged = budget_judge.answer(table.astype(int).tolist(), K, run.accepted, run.rejected, run.counts)
            assert run.status == "stopped" or run.recommendation == judged, engine
            asked.append(run.status == "capped" and run.recommendation != tuple(range(K)))

    equal()
    assert sum(asked) > 20


@pytest.mark.parametrize("make", [KLLucb, TrackAndStop])
def test_the_answer_of_a_learner_that_ranks_all_items(make):
    rng = np.random.default_rng(8)
    for _ in range(5):
        table = rng.random((6, 300)) < rng.random(6)[:, None]
        learner = make(6, 2, 0.01)
        run = run_reference(learner, TableOutcomes(table), CASCADING, 200)
        counts = learner.T.tolist()
        judged = budget_judge.answer(table.astype(int).tolist(), 2, (), (), counts)
        assert learner.answer == judged == run.recommendation
        other = make(6, 2, 0.01)
        (engine,) = other.engines
        job = Job(other, TableStack(table), CASCADING, 200, answers=True)
        assert in_order(ENGINES[engine].run([job], never))[0].recommendation == judged


MADE = {
    "uniform": Uniform,
    "CascadeBAI": lambda L, K: CascadeBAI(L, K, 0.1, sigma=0.1),
    "CascadeBAI, order U": lambda L, K: CascadeBAI(L, K, 0.1, sigma=0.1, order="U"),
    "KL-LUCB++": lambda L, K: KLLucb(L, K, 0.1),
    "track-and-stop": lambda L, K: TrackAndStop(L, K, 0.1),
}


@pytest.mark.parametrize("name", MADE)
def test_a_run_with_a_smaller_budget_is_the_beginning_of_a_longer_one(name):
    """The run with a budget, and the learner that was led along the same lists, agree at every budget."""
    w = np.array([0.7, 0.5, 0.45, 0.2, 0.1])
    runs = [
        simulate(lambda: MADE[name](5, 2), Trial(w, np.random.default_rng(3)), max_steps=budget, answers=True)
        for budget in (50, 150, 450, 1350)
    ]
    for shorter, longer in pairwise(runs):
        assert shorter.accepted == longer.accepted[: len(shorter.accepted)]
        assert shorter.observations < longer.observations or longer.status == "stopped"
        assert all(a <= b for a, b in zip(shorter.counts, longer.counts, strict=True))


@MANY
@pytest.mark.parametrize("kind", [Uniform, SuccessiveAcceptsRejects])
def test_trials_side_by_side_make_the_runs_that_they_make_alone(kind, examples):
    """Rows that end at different times, windows that do not last, and parts of a few outcomes."""

    @settings(max_examples=examples)
    @given(problems(), st.none() | st.integers(1, 10), st.sampled_from([1, 5, 64]), st.sampled_from([1, 50, 2**18]))
    def equal(problem, M, rounds, at_once):
        K, budget, table, cascading = problem
        tables = [np.roll(table, shift, axis) for axis in (0, 1) for shift in range(5)]
        learners = [made(kind, len(table), K, M, budget) for _ in tables]
        expected = [
            run_reference(made(kind, len(table), K, M, budget), TableOutcomes(one), BY_CLICK[cascading], budget)
            for one in tables
        ]
        jobs = [
            Job(learner, TableOutcomes(one), BY_CLICK[cascading], budget)
            for learner, one in zip(learners, tables, strict=True)
        ]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(phases, "_FEWEST", rounds)
            patch.setattr(phases, "_AT_ONCE", at_once)
            patch.setattr(phases, "ROWS", 7)
            assert in_order(run_phases(jobs)) == expected

    equal()


def test_what_was_drawn_for_a_longer_budget_was_drawn_for_a_shorter_one():
    """Answers of uniform looking at some budgets are those of one learner that goes on."""
    w = np.linspace(0.9, 0.1, 12)
    going = Uniform(12, 4)
    outcomes = RandomOutcomes(w, np.random.default_rng(5))
    row = phases._Rows([Job(going, outcomes, CASCADING, 10_000)])
    for budget in (37, 1000, 10_000):
        row.show(budget - going.steps)
        going.T, going.S = row.T[0], row.S[0]
        alone = Uniform(12, 4)
        in_order(run_phases([Job(alone, RandomOutcomes(w, np.random.default_rng(5)), CASCADING, budget)]))
        assert going.answer == alone.answer
        assert (going.T == alone.T).all()
        assert (going.S == alone.S).all()


@pytest.mark.parametrize("L", [2, 3, 7, 40])
@pytest.mark.parametrize("spare", [1, 10, 11, 1000])
def test_phases_have_the_lengths_of_the_paper_and_fit_into_the_budget(L, spare):
    ends = SuccessiveAcceptsRejects(L, 1, budget=L + spare).ends
    assert list(np.diff(ends, prepend=0)) == budget_judge.phase_lengths(L, L + spare)
    assert ends[-1] <= L + spare


@pytest.mark.parametrize(
    ("budget", "text"),
    [(None, "sar needs to know when it is asked"), (5, "budget is 5, but sar needs more steps than there are items")],
)
def test_sar_refuses_what_it_cannot_use(budget, text):
    with pytest.raises(ConfigError, match=text):
        SuccessiveAcceptsRejects(5, 2, budget=budget)


# --- Phases whose numbers of steps are drawn ----------------------------------------------------------------------


class Stacks:
    """Stacks of outcomes, of which a chain takes one after the other."""

    def __init__(self, chances, length, rng):
        self.outcomes = np.array([rng.choice(len(chance), length, p=chance) for chance in chances])
        self.taken = np.zeros(len(chances), int)

    def take(self, number):
        found, last = np.zeros((len(number), self.outcomes.max() + 2), int), np.zeros(len(number), int)
        for item, outcomes in enumerate(self.outcomes):
            own = outcomes[self.taken[item] : self.taken[item] + number[item]]
            found[item] = np.bincount(own, minlength=found.shape[1])
            last[item] = own[-1] if len(own) else 0
        self.taken += number
        return found, last


def test_a_leap_takes_what_the_steps_take():
    """The outcomes of a leap, taken in any order, are those of the first steps of the chain; so is the end."""
    rng, missed = np.random.default_rng(5), 0
    for _ in range(300):
        d = int(rng.integers(2, 7))
        batch, start = int(rng.integers(1, d + 1)), int(rng.integers(d))
        counts = phases.Counts(rng.uniform(0.1, 0.9, d), batch, start, rng)
        stacks = Stacks(counts.chances, 3000, rng)
        width = counts.after.shape[1]
        found, end = phases.leap_phases(
            lambda number, stacks=stacks, width=width: (lambda taken, last: (taken[:, :width], last))(
                *stacks.take(number)
            ),
            counts.after,
            start,
            rng.integers(0, 40, d),
        )
        place, walked = start, np.zeros_like(found)
        used = np.zeros(d, int)
        for _ in range(int(found.sum())):
            outcome = stacks.outcomes[place, used[place]]
            walked[place, outcome] += 1
            used[place] += 1
            place = int(counts.after[place, outcome])
        assert (walked == found).all()
        assert place == end
        missed += int(found.sum()) > 0
    assert missed > 250


def test_expected_visits_are_those_of_single_steps():
    rng = np.random.default_rng(6)
    chain = rng.dirichlet(np.ones(4), 4)
    for steps in (0, 1, 2, 5, 22):
        moved = [np.linalg.matrix_power(chain, t) for t in range(steps)]
        assert phases.visits(chain, steps) == pytest.approx(sum(moved, np.zeros((4, 4))))


@pytest.mark.parametrize(("M", "cascading"), [(1, True), (2, False), (5, False)])
def test_lists_that_no_click_ends_are_counted_as_they_are_shown(M, cascading, monkeypatch):
    w = np.array([0.7, 0.5, 0.4, 0.2, 0.1])
    learners = [SuccessiveAcceptsRejects(5, 2, list_length=M, budget=1000) for _ in range(2)]
    counts = []
    for learner, counted in zip(learners, (10**7, 30), strict=True):
        monkeypatch.setattr(phases, "_COUNTED", counted)
        (run,) = in_order(
            run_phases([Job(learner, RandomOutcomes(w, np.random.default_rng(3)), BY_CLICK[cascading], 1000)])
        )
        counts.append((run.steps, run.observations))
    assert counts[0] == counts[1]
    share = learners[1].S / learners[1].T
    assert np.abs(share - w).max() < 0.15


@pytest.mark.parametrize("make", [Uniform, lambda L, K: SuccessiveAcceptsRejects(L, K, budget=10**9)])
def test_a_billion_steps_are_counted(make, monkeypatch):
    """They took a minute, draw by draw."""
    draws = []
    drawn = phases._Rows._draw
    monkeypatch.setattr(phases._Rows, "_draw", lambda rows, row: draws.append(1) or drawn(rows, row))
    learner = make(8, 3)
    run = simulate(
        lambda: learner, Trial(np.linspace(0.9, 0.1, 8), np.random.default_rng(1)), max_steps=10**9, answers=True
    )
    assert sorted(run.recommendation) == [0, 1, 2]
    assert run.steps > 0.99 * 10**9
    assert len(draws) < 1000
    assert pytest.approx(np.linspace(0.9, 0.1, 8), abs=0.001) == learner.S / learner.T
