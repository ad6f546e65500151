"""The engine of `posterior`: many trials advance together, one array row per trial.

Every row follows its own stack of rewards and its own generator, so that its run does not depend on the other rows. The
rule is that of the learner, applied to all rows at once; only the exact chance of an error is computed row by row, for
those few states in which a run may be over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from cascadebai_cli.engines.jobs import Ending, HasEnough, Job, Paused, RowState, Run, Runs, never, run_in_blocks
from cascadebai_cli.learners.posterior import DRAWS, Posterior, PosteriorRule
from cascadebai_cli.model.problem import BoolArray, IntArray

_ROWS = 256
"""Largest number of rows of a block: with more the arrays do not fit into the cache."""
_ENTRIES = 2**15
"""Largest number of items of all rows of a block together, which bounds its memory."""
_WINDOW = 64
"""Outcomes of an item that are read at once."""
_DRAWN = 2**10
"""Items for which draws are made at once, so that these fit into the cache."""


_ALIKE = ("T", "S", "known_T", "known_S", "steps", "next_look", "lists", "next_draw", "apart", "doubtful")
"""What a row has as its learner has it."""


def run_posterior(jobs: Sequence[Job[Posterior]], enough: HasEnough = never) -> Runs:
    """Run trials, those of equal rules side by side."""

    def kind(job: Job[Posterior]) -> tuple[int, *tuple[object, ...]]:
        return job.learner.rule.L, *astuple(job.learner.rule)

    return run_in_blocks(jobs, kind, _ROWS, _ENTRIES, lambda part: _block_of(part).run(enough), enough)


def _block_of(jobs: Sequence[Job[Posterior]]) -> "_Block":
    rule, n = jobs[0].learner.rule, len(jobs)
    cap = np.array([job.cap for job in jobs])
    cascading = np.array([job.feedback.ends_at_click for job in jobs])
    alike = {name: np.array([getattr(job.learner, name) for job in jobs]) for name in _ALIKE}
    first, window = np.zeros((n, rule.L), np.int64), np.empty((n, rule.L, _WINDOW), bool)
    block = _Block(jobs, rule, np.arange(n), cap, cascading, first, window, **alike)
    block.read(np.arange(n * rule.L))
    return block


@dataclass
class _Block(RowState):
    """Rows that advance together; what is not listed here is as in the learner, with a first axis for the rows.

    Attributes:
        job: place of the row in the jobs, shape `(rows,)`, as `cap`, the most steps, and `cascading`, whether a click
            ends the step.
        first: number of the first outcome of each window, shape `(rows, L)`.
        window: outcomes, shape `(rows, L, _WINDOW)`.
    """

    jobs: Sequence[Job[Posterior]]
    rule: PosteriorRule
    job: IntArray
    cap: IntArray
    cascading: BoolArray
    first: IntArray
    window: BoolArray
    T: IntArray
    S: IntArray
    known_T: IntArray
    known_S: IntArray
    steps: IntArray
    next_look: IntArray
    lists: IntArray
    next_draw: IntArray
    apart: BoolArray
    doubtful: IntArray

    def run(self, enough: HasEnough) -> Runs:
        """Run all rows to their end, or until `enough` says so; yield the runs that have ended."""
        while True:
            yield from self._look_at(np.flatnonzero(self.steps >= self.next_look))
            yield from self._end(np.flatnonzero(self.steps >= self.cap), "capped")
            if not len(self.job):
                return
            self._renew(np.flatnonzero(self.lists >= self.next_draw))
            self._step()
            if enough():
                yield from ((int(self.job[row]), Paused(self._learner(row).steps)) for row in range(len(self.job)))
                return

    def _counts(self, rows: Any) -> tuple[IntArray, IntArray]:
        """Return looks and clicks of each item, with those before the first step."""
        return self.known_T[rows] + self.T[rows], self.known_S[rows] + self.S[rows]

    def _renew(self, rows: IntArray) -> None:
        self.next_draw[rows] = self.lists[rows] + self.rule.renewal(self.lists[rows])
        most = max(1, _DRAWN // self.rule.L)
        for some in (rows[start : start + most] for start in range(0, len(rows), most)):
            noise = np.stack([self.jobs[place].learner.noise() for place in self.job[some].tolist()])
            self.apart[some], self.doubtful[some] = self.rule.draw(*self._counts(some), noise)

    def _step(self) -> None:
        row = np.arange(len(self.job))
        shown, T = self.rule.listed(self.T, self.apart[row, self.lists % DRAWS], self.doubtful)
        place = row[:, None] * self.rule.L + shown
        outcomes = self.window[row[:, None], shown, T - self.first.take(place)]
        ends = outcomes & self.cascading[:, None]
        seen = np.cumsum(ends, axis=1) == ends  # no click before
        place = place[seen]
        self.T.ravel()[place] += 1
        self.S.ravel()[place] += outcomes[seen]
        self.steps += 1
        self.lists += 1
        self.read(place[self.T.take(place) - self.first.take(place) == _WINDOW])

    def read(self, places: IntArray) -> None:
        """Read the next outcomes of places, `row * L + item`."""
        T = self.T.take(places)
        self.first.ravel()[places] = T
        windows = self.window.reshape(-1, _WINDOW)
        rows, items = np.divmod(places, self.rule.L)
        for place, row, item, count in zip(places.tolist(), rows.tolist(), items.tolist(), T.tolist(), strict=True):
            windows[place] = self.jobs[self.job[row]].stack.peek(item, count, _WINDOW)

    def _look_at(self, rows: IntArray) -> Iterator[tuple[int, Run]]:
        self.next_look[rows] = self.steps[rows] + self.rule.pause(self.steps[rows])
        maybe = rows[self.rule.may_be_over(*self._counts(rows))] if len(rows) else rows
        over = [row for row in maybe.tolist() if self.rule.is_sure(*self._counts(row))]
        yield from self._end(np.array(over, np.int64), "stopped")

    def _end(self, rows: IntArray, status: Ending) -> Iterator[tuple[int, Run]]:
        if not len(rows):
            return
        for row in rows.tolist():
            learner = self._learner(row)
            counts = tuple(learner.T.tolist())
            run = Run(learner.steps, status, sum(counts), learner.recommendation, counts=counts)
            yield int(self.job[row]), run
        self.keep(np.setdiff1d(np.arange(len(self.job)), rows))

    def _learner(self, row: int) -> Posterior:
        """Return the learner of a row, which stands where the row does."""
        job: Job[Posterior] = self.jobs[self.job[row]]
        for name in _ALIKE:
            value = getattr(self, name)[row]
            setattr(job.learner, name, value.copy() if value.ndim else int(value))
        job.stack.forget()
        return job.learner
