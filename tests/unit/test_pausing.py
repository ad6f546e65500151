"""Runs that are paused between two steps, sent elsewhere and gone on with end as those that are not."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from given import BY_CLICK
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import SEEDS, WEIGHTS, of_display_orders, of_kl_lucb
from problems import learner as made_for

from cascadebai_cli.engines.jobs import Job, Paused, in_order
from cascadebai_cli.engines.lockstep import run_lockstep
from cascadebai_cli.engines.lucb import run_lucb
from cascadebai_cli.engines.outcomes import RandomStack
from cascadebai_cli.engines.posterior import run_posterior
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.posterior import Posterior
from cascadebai_cli.learners.protocol import ORDERS
from cascadebai_cli.model.problem import CASCADING
from cascadebai_cli.running.runner import Backend, collect
from cascadebai_cli.running.watch import SILENT, Follower
from cascadebai_cli.running.worker import Settings
from cascadebai_cli.study.config import load_study


def every(n):
    """Enough at each n-th question."""
    asked = iter(range(1, 10**9))
    return lambda: next(asked) % n == 0


def in_pieces(run, make, n):
    """Runs of the jobs that `make` makes, and how often one was paused; each goes on with a stack read anew."""
    runs, pauses, left = {}, 0, dict.fromkeys(range(len(make())))
    while left:
        places, fresh = list(left), make()
        jobs = [left[place] or fresh[place] for place in places]
        for i, (place, job) in ((i, (places[i], jobs[i])) for i in range(len(jobs))):
            jobs[i] = replace(fresh[place], learner=pickle.loads(pickle.dumps(job.learner)), steps=job.steps)
        for i, ended in run(jobs, every(n)):
            if isinstance(ended, Paused):
                pauses += 1
                left[places[i]] = replace(jobs[i], steps=ended.steps)
            else:
                runs[places[i]] = ended
                del left[places[i]]
    return [runs[place] for place in range(len(runs))], pauses


def racing_jobs():
    w = np.array([0.9] * 3 + [0.5] * 6)
    return [
        Job(CascadeBAI(9, 3, 0.1, sigma=0.05, order=order), RandomStack(w, np.random.default_rng(seed)), CASCADING, cap)
        for order in ORDERS
        for seed, cap in enumerate((1000, 20))
    ]


def lucb_jobs():
    w = np.array([0.9, 0.8, 0.3, 0.2, 0.2])
    return [
        Job(
            KLLucb(5, 2, 0.1, stopping=stopping),
            RandomStack(w, np.random.default_rng(seed)),
            BY_CLICK[seed % 2 == 0],
            cap,
        )
        for stopping, cap in (("bounds", None), ("glr", None), ("bounds", 20))
        for seed in range(2)
    ]


def posterior_jobs():
    w = np.array([0.9, 0.8, 0.3, 0.2, 0.2])
    return [
        Job(
            Posterior(5, 2, 0.0001, rng=np.random.default_rng(seed)),
            RandomStack(w, np.random.default_rng(seed)),
            BY_CLICK[seed % 2 == 0],
            cap,
        )
        for seed, cap in enumerate((None, None, 40))
    ]


JOBS = [(run_lockstep, racing_jobs), (run_lucb, lucb_jobs), (run_posterior, posterior_jobs)]


@pytest.mark.parametrize(("run", "make"), JOBS)
@pytest.mark.parametrize("n", [1, 4])
def test_a_run_in_pieces_is_the_same(run, make, n):
    pieces, pauses = in_pieces(run, make, n)
    assert pieces == in_order(run(make()))
    assert pauses * n > len(pieces)
    assert len({one.status for one in pieces}) == 2


@pytest.mark.parametrize(
    ("run", "kind", "problems"), [(run_lockstep, CascadeBAI, of_display_orders), (run_lucb, KLLucb, of_kl_lucb)]
)
@settings(max_examples=10)
@given(data=st.data())
def test_any_run_in_pieces_is_the_same(run, kind, problems, data):
    problem, seed = data.draw(WEIGHTS.flatmap(problems)), data.draw(SEEDS)
    w = np.random.default_rng(seed).permutation(problem.table.mean(axis=1))

    def make():
        stack = RandomStack(w, np.random.default_rng(seed))
        return [Job(made_for(kind, problem), stack, problem.feedback, problem.cap)]

    assert in_pieces(run, make, 3)[0] == in_order(run(make()))


CONFIG = """\
seed: 1
trials: 3
L: 6
K: [1, 2]
max_steps: 300
instances:
  - {name: a, family: two_level, w_star: 0.9, w_prime: 0.3}
learners:
  - {name: ordered, algorithm: cascadebai, order: -mean}
  - {name: in turn, algorithm: cascadebai}
  - {name: KL-LUCB++, algorithm: kl-lucb++}
"""


def rows_of(cells, backend, seconds):
    results = []
    follower = Follower(SILENT, cells, [3] * len(cells))
    collect(cells, [np.arange(3)] * len(cells), Settings(1, seconds=seconds), backend, follower, results.append)
    rows = [str(row._replace(seconds=0)) for one in results for row in one.finished]
    return sorted(rows), sum(len(one.paused) for one in results)


@pytest.mark.parametrize(
    ("backend", "cells"), [(Backend("sequential"), 6), (Backend(n_jobs=2), 1)], ids=["sequential", "two processes"]
)
def test_a_worker_hands_back_what_it_has_not_finished(tmp_path, backend, cells):
    (tmp_path / "study.yaml").write_text(CONFIG)
    some = load_study(tmp_path / "study.yaml").cells[:cells]
    at_once, none = rows_of(some, Backend("sequential"), seconds=1e9)
    in_parts, paused = rows_of(some, backend, seconds=0)
    assert in_parts == at_once
    assert len(at_once) == 3 * cells
    assert none == 0 < paused
