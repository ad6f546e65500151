"""The engine of learners that plan ahead: all steps of a block of equal lists at once."""

from collections.abc import Sequence

import numpy as np

from cascadebai_cli.engines.jobs import Job
from cascadebai_cli.engines.run import Run, Status
from cascadebai_cli.engines.stacks import Stack
from cascadebai_cli.learners.track_and_stop import TrackAndStop


def run_planned(job: Job[TrackAndStop]) -> Run:
    """Run one trial, from where the learner stands; for the same outcomes what the reference engine returns."""
    learner, steps = job.learner, job.steps
    while not learner.finished and steps < job.cap:
        end = learner.steps
        for items, repeats in learner.blocks:
            end += repeats
            shown = max(0, min(end, job.cap) - steps)
            _show(learner, job.stack, items, shown, job.feedback.ends_at_click)
            steps += shown
        if steps == end:
            learner.end_stretch()
    status: Status = "stopped" if learner.finished else "capped"
    return Run(steps, status, int(learner.T.sum()), learner.recommendation)


def _show(learner: TrackAndStop, stack: Stack, items: Sequence[int], steps: int, cascading: bool) -> None:
    """Show one list some times in a row: an item is looked at in the steps in which those before it were skipped."""
    for item in items:
        if steps == 0:
            return
        outcomes = stack.peek(item, int(learner.T[item]), steps)
        clicks = int(np.count_nonzero(outcomes))
        learner.T[item] += steps
        learner.S[item] += clicks
        steps -= clicks if cascading else 0
