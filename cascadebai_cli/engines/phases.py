"""Engines of learners that know ahead which lists they will show: uniform and SAR, and track-and-stop."""

from collections.abc import Sequence

import numpy as np

from cascadebai_cli.engines.jobs import Job, Run, Status, run_of
from cascadebai_cli.engines.outcomes import Outcomes, Stack
from cascadebai_cli.learners.fixed_budget import Uniform
from cascadebai_cli.learners.track_and_stop import TrackAndStop
from cascadebai_cli.model.problem import BoolArray, IntArray

# --- Learners that decide after a given number of steps: a whole phase is counted at once ---------------------------
#
# Such a learner goes round the survivors; a *round* observes every survivor once, in the order of the items. A step is
# a part of this sweep: it ends at a click, or after a full list without one. So the clicks alone determine the place of
# the sweep at which a phase ends, and that place determines the counts and clicks of the items. An item that is decided
# is left out of the rounds that were drawn ahead; the outcomes of the others stay.


_FEWEST = 64
"""Smallest number of rounds drawn at once; later draws add half of those drawn so far. No run depends on the cap."""
_MOST = 2**22
"""Largest number of outcomes drawn at once."""


def run_phases(job: Job[Uniform]) -> Run:
    """Run one trial; for the same outcomes the result is that of the reference engine."""
    learner, sweep = job.learner, _Sweep(job)
    while not learner.finished and learner.steps < job.cap:
        sweep.show(learner.next_end(job.cap) - learner.steps)
        learner.decide()
        learner.race.stamp(learner.steps)
    return run_of(learner.race, learner.steps, learner.T)


class _Sweep:
    """The sweep through the survivors, and where it stands.

    Attributes:
        drawn: rounds drawn so far.
        ahead: outcomes of the rounds that are not over, shape `(rounds, L)`.
        column: the item to be observed next.
    """

    def __init__(self, job: Job[Uniform]) -> None:
        self.learner, self.cascading = job.learner, job.feedback.ends_at_click
        self.outcomes: Outcomes = job.stack
        self.L = job.learner.race.L
        self.drawn, self.column = 0, 0
        self.ahead: BoolArray = np.zeros((0, self.L), bool)

    def show(self, steps: int) -> None:
        """Make `steps` steps, in which no item is decided."""
        D = self.learner.race.survivors
        batch = min(self.learner.M, len(D))
        while steps > 0:
            skipped = int(np.searchsorted(D, self.column))
            clicks = self.ahead[:, D].ravel()[skipped:]
            made, seen = cut(clicks if self.cascading else np.zeros_like(clicks), batch, steps)
            self._observe(D, skipped + seen)
            steps -= made
            self.learner.steps += made
            if steps > 0:
                self._draw()

    def _observe(self, D: IntArray, place: int) -> None:
        """Count the outcomes of the survivors up to a place of the sweep, counted from the beginning of this round."""
        rounds, passed = divmod(place, len(D))
        begun = int(np.searchsorted(D, self.column))
        self.learner.T[D] += rounds + (np.arange(len(D)) < passed) - (np.arange(len(D)) < begun)
        for items, sign, row in ((D[:begun], -1, 0), (D[:passed], 1, rounds)):
            if len(items):
                self.learner.S[items] += sign * self.ahead[row, items]
        self.learner.S[D] += self.ahead[:rounds, D].sum(axis=0)
        self.ahead, self.column = self.ahead[rounds:], int(D[passed])

    def _draw(self) -> None:
        """Draw further rounds."""
        rounds, shift = min(max(_FEWEST, self.drawn // 2), max(1, _MOST // self.L)), (self.L - 1).bit_length()
        keys, are_clicks = self.outcomes.stretch(np.arange(self.L), self.drawn, rounds, shift)
        fresh = np.full((rounds, self.L), not are_clicks)
        fresh[keys >> shift, keys & ((1 << shift) - 1)] = are_clicks
        self.ahead, self.drawn = np.concatenate([self.ahead, fresh]), self.drawn + rounds


def cut(clicks: BoolArray, batch: int, steps: int) -> tuple[int, int]:
    """Return how many of `steps` steps end in these observations, and how many observations they have.

    Args:
        clicks: outcomes of the survivors in the order in which they are observed, from the beginning of a step on.
        batch: most observations of a step.
        steps: steps to make, one or more.
    """
    at = np.append(-1, np.flatnonzero(clicks))
    ended = np.append(0, np.cumsum((np.diff(at) - 1) // batch + 1))
    before = int(np.searchsorted(ended, steps, side="right")) - 1
    left = len(clicks) - int(at[before]) - 1
    full = min(steps - int(ended[before]), left // batch)
    return int(ended[before]) + full, int(at[before]) + 1 + full * batch


# --- Learners that plan ahead: all steps of a block of equal lists are made at once ---------------------------------


def run_planned(job: Job[TrackAndStop]) -> Run:
    """Run one trial from where the learner stands; for the same outcomes the result is that of the reference engine."""
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
    """Show one list `steps` times; an item is observed in the steps in which all items before it were skipped."""
    for item in items:
        if steps == 0:
            return
        outcomes = stack.peek(item, int(learner.T[item]), steps)
        clicks = int(np.count_nonzero(outcomes))
        learner.T[item] += steps
        learner.S[item] += clicks
        steps -= clicks if cascading else 0
