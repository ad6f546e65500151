"""Runs that differ in their cap alone are made once, and end as each on its own."""

from dataclasses import replace

import numpy as np
import pytest
from given import BY_CLICK, TableOutcomes, TableStack
from hypothesis import event, given, settings
from hypothesis import strategies as st
from problems import EPSILONS, LENGTHS, SEEDS, WEIGHTS

from cascadebai_cli.engines import lucb
from cascadebai_cli.engines.jobs import Job, Run, in_order, never
from cascadebai_cli.engines.simulate import ENGINES, Counted, Trial, new_job
from cascadebai_cli.learners.cascadebai import BatRac, CascadeBAI
from cascadebai_cli.learners.fixed_budget import SuccessiveAcceptsRejects, Uniform
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.posterior import Posterior
from cascadebai_cli.learners.track_and_stop import TrackAndStop
from cascadebai_cli.model.problem import CASCADING
from cascadebai_cli.running.runner import Backend, collect
from cascadebai_cli.running.watch import SILENT, Follower
from cascadebai_cli.running.worker import Settings, run_trial
from cascadebai_cli.study.config import load_study

MADE = {
    "order U": lambda: CascadeBAI(9, 3, 0.1, sigma=0.05, order="U"),
    "KL-LUCB++": lambda: KLLucb(9, 3, 0.1),
    "KL-LUCB++, glr": lambda: KLLucb(9, 3, 0.1, stopping="glr"),
    "posterior": lambda: Posterior(9, 3, 0.001, rng=np.random.default_rng(3)),
    "track-and-stop": lambda: TrackAndStop(9, 3, 0.1),
}
PAUSED = [name for name in MADE if name != "track-and-stop"]  # whose engine runs each job to its end
W = np.array([0.9] * 3 + [0.5] * 6)
CAPS = (40, 7, 120, 300, 2000)


def jobs(name, together, trials=3):
    """The jobs of some trials at all caps; a trial has the same outcomes at each of them."""
    found = []
    for trial in range(trials):
        for cap in CAPS:
            outcomes = Trial(W, np.random.default_rng(trial))
            _, job = new_job(MADE[name](), outcomes, CASCADING, "auto", cap, answers=True)
            found.append(replace(job, path=trial if together else None))
    return found


def engine(name):
    return ENGINES[MADE[name]().engines[0]]


@pytest.mark.parametrize("name", MADE)
def test_runs_along_a_path_end_as_each_on_its_own(name):
    run = engine(name).together
    together = in_order(run(jobs(name, True), never))
    assert together == in_order(run(jobs(name, False), never))
    assert {one.status for one in together} == {"stopped", "capped"}


def test_steps_of_a_path_are_made_once(monkeypatch):
    """The engine is handed the job at the next cap with its learner at the last one."""
    begun, inner = [], lucb.run_lucb

    def watched(some, enough):
        begun.extend((job.steps, job.cap) for job in some)
        return inner(some, enough)

    monkeypatch.setattr(lucb, "run_lucb", watched)
    list(ENGINES["lockstep"].together(jobs("KL-LUCB++", True, trials=1), never))
    steps, caps = zip(*begun, strict=True)
    assert steps == (0, *caps[:-1])
    assert caps == tuple(sorted(CAPS))[: len(caps)]
    assert len(caps) > 2


def to_the_end(engine, make, enough):
    """Runs of the jobs that `make` makes, and how often one was paused; such a job goes on, or begins anew."""
    found, pauses, left = {}, 0, dict(enumerate(make()))
    while left:
        places = list(left)
        for i, done in engine.together(list(left.values()), enough):
            if isinstance(done, Run):
                found[places[i]] = done
                continue
            pauses += 1
            fresh, learner = make()[places[i]], left[places[i]].learner
            left[places[i]] = replace(fresh, learner=learner, steps=done.steps, path=None if done.steps else fresh.path)
        left = {place: job for place, job in left.items() if place not in found}
    return [found[place] for place in sorted(found)], pauses


def every(n):
    """Enough at each n-th question; never for none."""
    asked = iter(range(1, 10**9))
    return lambda: n is not None and next(asked) % n == 0


@pytest.mark.parametrize("name", PAUSED)
def test_a_job_that_is_paused_on_the_path_of_another_begins_anew(name):
    expected = in_order(ENGINES["lockstep"].together(jobs(name, False), never))
    runs, pauses = to_the_end(ENGINES["lockstep"], lambda: jobs(name, True), every(5))
    assert runs == expected
    assert pauses


MIXTURE = ((0.0, ((0.7, 1.0, 9.0), (0.3, 40.0, 10.0))),)
TWO_LAWS = (*MIXTURE, (1.0, ((1.0, 2.0, 5.0),)))


def posterior(*args, **options):
    return Posterior(*args, **options, rng=np.random.default_rng(5))


ALL = {
    "order T": lambda L, K, M, epsilon: CascadeBAI(L, K, 0.1, epsilon, sigma=0.1, list_length=M),
    "order T, KL bounds": lambda L, K, M, epsilon: CascadeBAI(L, K, 0.6, epsilon, confidence="kl", list_length=M),
    "order U": lambda L, K, M, epsilon: CascadeBAI(L, K, 0.1, epsilon, sigma=0.1, order="U", list_length=M),
    "order -mean": lambda L, K, M, epsilon: CascadeBAI(L, K, 0.1, epsilon, sigma=0.1, order="-mean", list_length=M),
    "BatRac": lambda L, K, M, epsilon: BatRac(L, K, 0.9, b=M or K),
    "KL-LUCB++": lambda L, K, M, epsilon: KLLucb(L, K, 0.1, epsilon, list_length=M),
    "KL-LUCB++, huge tolerance": lambda L, K, M, epsilon: KLLucb(L, K, 0.1, 0.9995, list_length=M),
    "KL-LUCB++, glr": lambda L, K, M, epsilon: KLLucb(L, K, 0.6, stopping="glr", list_length=M),
    "posterior": lambda L, K, M, epsilon: posterior(L, K, 0.2, epsilon, list_length=M),
    "posterior, mixture": lambda L, K, M, epsilon: posterior(L, K, 0.4, epsilon, prior=MIXTURE, list_length=M),
    "posterior, two laws": lambda L, K, M, epsilon: posterior(L, K, 0.4, epsilon, prior=TWO_LAWS, list_length=M),
    "posterior, known": lambda L, K, M, epsilon: posterior(
        L, K, 0.2, epsilon, list_length=M, known=[[9 * i, 4 * i] for i in range(L)]
    ),
    "track-and-stop": lambda L, K, M, epsilon: TrackAndStop(L, K, 0.6, list_length=M),
    "uniform": lambda L, K, M, epsilon: Uniform(L, K, list_length=M),
    "SAR": lambda L, K, M, epsilon: SuccessiveAcceptsRejects(L, K, list_length=M, budget=20),
}
ENGINES_OF = [(name, engine) for name, make in ALL.items() for engine in make(3, 1, 1, 0.0).engines]
SLOW_TO_PLAN = "track-and-stop"


def source(engine, table):
    """Where an engine reads a table of rewards from."""
    if engine == "skip-ahead":
        return Counted(TableOutcomes(table), len(table))
    return TableStack(table) if engine in ("lockstep", "planned") else TableOutcomes(table)


@pytest.mark.parametrize(("name", "engine"), ENGINES_OF)
def test_any_path_of_any_learner_is_that_of_the_reference(name, engine):
    """Caps from the first step on, before all items were observed and after, at any pauses."""
    longest = 60 if name == SLOW_TO_PLAN else 400

    @settings(max_examples=10 if name == SLOW_TO_PLAN else 30)
    @given(
        w=WEIGHTS,
        share=st.floats(0, 1, exclude_max=True),
        M=LENGTHS,
        epsilon=EPSILONS,
        seeds=st.lists(SEEDS, min_size=1, max_size=3),
        caps=st.lists(st.integers(1, 12) | st.integers(1, longest), min_size=1, max_size=4),
        feedback=st.sampled_from(BY_CLICK),
        pause=st.none() | st.integers(1, 4),
    )
    def equal(w, share, M, epsilon, seeds, caps, feedback, pause):
        L, K = len(w), 1 + int(share * (len(w) - 1))
        tables = [np.random.default_rng(seed).random((L, longest)) < np.array(w)[:, None] for seed in seeds]

        def made(by):
            return [
                Job(ALL[name](L, K, M, epsilon), source(by, table), feedback, cap, answers=True, path=path)
                for path, table in enumerate(tables)
                for cap in caps
            ]

        expected = in_order(ENGINES["reference"].together(made("reference"), never))
        runs, pauses = to_the_end(ENGINES[engine], lambda: made(engine), every(pause))
        event(f"paused: {pauses > 0}, stopped: {'stopped' in {run.status for run in runs}}")
        assert runs == expected

    equal()


CONFIG = """\
seed: 5
trials: 4
delta: 0.05
budget: [50, 20, 400]
instances:
  - {name: one, family: two_level, L: 8, K: 3, w_star: 0.9, w_prime: 0.4}
  - {name: other, family: linear, L: 8, K: 3, w_max: 0.9, w_min: 0.2}
learners:
  - {name: LUCB, algorithm: kl-lucb++}
  - {name: U, algorithm: cascadebai, order: U, sigma: 0.1}
  - {name: T, algorithm: cascadebai, sigma: 0.1}
  - {name: track, algorithm: track-and-stop}
  - {name: uniform, algorithm: uniform}
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What each trial of a cell gives if it runs by itself."""
    path, runs = tmp_path_factory.mktemp("alone") / "study.yaml", {}
    path.write_text(CONFIG)
    for position, cell in enumerate(load_study(path).cells):
        for trial in range(4):
            run, items = run_trial(5, cell, trial)
            runs[position, trial] = run.steps, run.observations, items
    return runs


@pytest.mark.parametrize("seconds", [20.0, 0.0])
def test_rows_of_all_budgets_are_those_of_each_trial_alone(tmp_path, alone, seconds):
    path = tmp_path / "study.yaml"
    path.write_text(CONFIG)
    cells = load_study(path).cells
    settings, backend = Settings(5, with_items=True, seconds=seconds), Backend("sequential")
    follower = Follower(SILENT, cells, [4] * len(cells))
    collect(cells, [np.arange(4)] * len(cells), settings, backend, follower)
    rows = {(position, row.trial): row for position, mine in enumerate(follower.rows) for row in mine}
    assert len(rows) == 4 * len(cells)
    assert {key: (row.steps, row.observations, row.items) for key, row in rows.items()} == alone
