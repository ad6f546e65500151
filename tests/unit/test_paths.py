"""Runs that differ in their cap alone are made once, and end as each on its own."""

from dataclasses import replace

import numpy as np
import pytest

from cascadebai_cli.engines import lucb
from cascadebai_cli.engines.jobs import Paused, in_order, never
from cascadebai_cli.engines.simulate import ENGINES, Trial, new_job
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.track_and_stop import TrackAndStop
from cascadebai_cli.running.runner import Backend, run_missing
from cascadebai_cli.running.work import Settings
from cascadebai_cli.running.worker import run_trial
from cascadebai_cli.study.config import load_study

MADE = {
    "order U": lambda: CascadeBAI(9, 3, 0.1, sigma=0.05, order="U"),
    "KL-LUCB++": lambda: KLLucb(9, 3, 0.1),
    "KL-LUCB++, glr": lambda: KLLucb(9, 3, 0.1, stopping="glr"),
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
            _, job = new_job(MADE[name](), outcomes, "cascading", "auto", cap, answers=True)
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


@pytest.mark.parametrize("name", PAUSED)
def test_a_job_that_is_paused_on_the_path_of_another_begins_anew(name):
    expected = in_order(ENGINES["lockstep"].together(jobs(name, False), never))
    found, left = {}, dict(enumerate(jobs(name, True)))
    pauses, asked = 0, iter(range(10**9))
    while left:
        places = list(left)
        for i, done in ENGINES["lockstep"].together(list(left.values()), lambda: next(asked) % 5 == 4):
            if isinstance(done, Paused):
                pauses += 1
                fresh = jobs(name, True)[places[i]]
                learner = left[places[i]].learner
                left[places[i]] = replace(
                    fresh, learner=learner, steps=done.steps, path=None if done.steps else fresh.path
                )
            else:
                found[places[i]] = done
        left = {place: job for place, job in left.items() if place not in found}
    assert [found[place] for place in range(len(expected))] == expected
    assert pauses


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


@pytest.mark.parametrize("seconds", [20.0, 0.0])
def test_rows_of_all_budgets_are_those_of_each_trial_alone(tmp_path, seconds):
    path = tmp_path / "study.yaml"
    path.write_text(CONFIG)
    cells = load_study(path).cells
    missing = [np.arange(4) for _ in cells]
    settings, backend = Settings(5, with_items=True, seconds=seconds), Backend("sequential")
    rows = {
        (result.position, row.trial): row
        for result in run_missing(cells, missing, settings, backend)
        for row in result.finished
    }
    assert len(rows) == 4 * len(cells)
    for (position, trial), row in rows.items():
        run, items = run_trial(5, cells[position], trial)
        assert (row.steps, row.observations, row.items) == (run.steps, run.observations, items)
