"""Runs of a plan: a truth that the log leaves open and a learner make a cell of the same kind as those of a sweep."""

from collections.abc import Callable, Sequence
from contextlib import closing

import numpy as np

from cascadebai_cli.model.feedback import CASCADING
from cascadebai_cli.model.instance import IntArray
from cascadebai_cli.running.interrupts import one_interrupt
from cascadebai_cli.running.runner import Backend, run_missing
from cascadebai_cli.running.work import Settings
from cascadebai_cli.store.schema import TrialRow
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.workflows.click_log import Question
from cascadebai_cli.workflows.failures import Failures
from cascadebai_cli.workflows.plan_learners import Candidate
from cascadebai_cli.workflows.watch import Watch

Runs = list[list[TrialRow]]
"""The runs of each cell."""
TIE = 1e-12
"""Tolerance of a run without one whose truth is tied: it does not end, but it can be run."""


def spread(question: Question, trials: int) -> IntArray:
    """Which truths are simulated: spread evenly from the easiest to the hardest, shape `(trials,)`."""
    order = np.argsort(question.planned.efforts, kind="stable")
    return np.asarray(order[((np.arange(trials) + 0.5) / trials * len(order)).astype(int)])


def cell_of(
    question: Question, candidate: Candidate, truth: int, *, cap: int | None = None, budget: int | None = None
) -> Cell:
    """A learner on a truth, given up after `cap` page views or asked after `budget` of them."""
    epsilon = question.planned.epsilon
    if not np.isfinite(question.planned.efforts[truth]):
        epsilon = max(epsilon, TIE)
    return Cell(
        study="plan",
        instance=question.file.stem,
        learner=candidate.name,
        L=question.L,
        K=question.K,
        delta=question.wanted.risk,
        epsilon=epsilon,
        weights=question.truths[truth],
        items=question.log.names,
        spec=candidate.shown(question.M, question.K),
        feedback=CASCADING,
        order="random",
        max_steps=cap,
        budget=budget,
        engine="auto",
    )


def run_cells(
    cells: Sequence[Cell],
    trials: Sequence[int],
    seed: int,
    backend: Backend,
    watch: Watch,
    so_far: Callable[[Runs], str],
) -> Runs | None:
    """So many runs of each cell; `None` if one raised.

    Args:
        cells, trials: what is run.
        seed: root seed.
        backend: where.
        watch: follows the runs.
        so_far: says in a few words what the runs of each cell that have ended tell.
    """
    rows: Runs = [[] for _ in cells]
    failures = Failures(cells, watch)
    settings = Settings(seed, fail_fast=True, with_items=True)
    with (
        one_interrupt(),
        watch.trials(trials, lambda: so_far(rows)) as progress,
        closing(run_missing(cells, [np.arange(number) for number in trials], settings, backend)) as results,
    ):
        for result in results:
            progress.update(result)
            failures.update(result)
            rows[result.position] += result.finished
    return None if failures.count else [sorted(done) for done in rows]
