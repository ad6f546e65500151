"""The engine of `posterior`: many trials advance together, one array row per trial.

Every row follows its own stack of rewards and its own generator, so that its run does not depend on the other rows. The
rule is that of the learner, applied to all rows at once; only the exact chance of an error is computed row by row, for
those few states in which a run may be over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.jobs import (
    Ending,
    HasEnough,
    Job,
    Paused,
    RowState,
    Run,
    Runs,
    never,
    objects,
    run_in_blocks,
)
from cascadebai_cli.learners.posterior import DRAWS, Posterior
from cascadebai_cli.learners.protocol import by_mean
from cascadebai_cli.model.problem import BoolArray, IntArray

_ROWS = 256
"""Largest number of rows of a block: with more the arrays do not fit into the cache."""
_ENTRIES = 2**15
"""Largest number of items of all rows of a block together, which bounds its memory."""
_WINDOW = 64
"""Outcomes of an item that are read at once."""
_DRAWN = 2**10
"""Items for which draws are made at once, so that these fit into the cache."""
_STRIDE = 16
"""Number of steps between two questions whether it is enough."""
_FAR = np.int64(1) << 40


def run_posterior(jobs: Sequence[Job[Posterior]], enough: HasEnough = never) -> Runs:
    """Run trials, those of equal rules side by side."""
    return run_in_blocks(
        jobs,
        lambda job: (job.learner.rule.L, *astuple(job.learner.rule)),
        _ROWS,
        _ENTRIES,
        lambda part: _Block(part).run(enough),
        enough,
    )


@dataclass
class _Rows(RowState):
    """State of the learners of a block, as there, with a first axis for the rows; and of their jobs."""

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

    def counts(self, rows: Any) -> tuple[IntArray, IntArray]:
        """Return looks and clicks of each item, with those before the first step."""
        return self.known_T[rows] + self.T[rows], self.known_S[rows] + self.S[rows]


@dataclass
class _Sources(RowState):
    """Where the outcomes of each row come from.

    Attributes:
        job: place of the row in the jobs, shape `(rows,)`, as for the following.
        cap: most steps.
        stack: source of outcomes.
        cascading: whether a click ends the step.
        first: number of the first outcome of each window, shape `(rows, L)`.
        window: outcomes, shape `(rows, L, _WINDOW)`.
    """

    job: IntArray
    cap: IntArray
    stack: NDArray[Any]
    cascading: BoolArray
    first: IntArray
    window: BoolArray


class _Block:
    """Rows that advance together."""

    def __init__(self, jobs: Sequence[Job[Posterior]]) -> None:
        self.jobs, self.rule = jobs, jobs[0].learner.rule
        self.bits = self.rule.L.bit_length()
        self.rows = _Rows(*(np.array([getattr(job.learner, field.name) for job in jobs]) for field in fields(_Rows)))
        self.of = _Sources(
            np.arange(len(jobs)),
            np.array([job.cap for job in jobs]),
            objects([job.stack for job in jobs]),
            np.array([job.feedback.ends_at_click for job in jobs]),
            np.zeros((len(jobs), self.rule.L), np.int64),
            np.empty((len(jobs), self.rule.L, _WINDOW), bool),
        )
        self._read(np.arange(self.of.first.size))

    def run(self, enough: HasEnough) -> Runs:
        """Run all rows to their end, or until `enough` says so; yield the runs that have ended."""
        while True:
            for _ in range(_STRIDE):
                yield from self._look_at(np.flatnonzero(self.rows.steps >= self.rows.next_look))
                yield from self._end(np.flatnonzero(self.rows.steps >= self.of.cap), "capped")
                if not len(self.of.job):
                    return
                self._renew(np.flatnonzero(self.rows.lists >= self.rows.next_draw))
                self._step()
            if enough():
                yield from self._paused()
                return

    # Steps.

    def _renew(self, rows: IntArray) -> None:
        state, L = self.rows, self.rule.L
        state.next_draw[rows] = state.lists[rows] + self.rule.renewal(state.lists[rows])
        for some in np.array_split(rows, min(len(rows), -(-len(rows) * L // _DRAWN))) if len(rows) else []:
            noise = np.stack([self.jobs[place].learner.noise() for place in self.of.job[some].tolist()])
            state.apart[some], state.doubtful[some] = self.rule.draw(*state.counts(some), noise)

    def _step(self) -> None:
        shown, T = self._selected()
        row = np.arange(len(shown))[:, None]
        place = row * self.rule.L + shown
        outcomes = self.of.window[row, shown, T - self.of.first.take(place)]
        ends = outcomes & self.of.cascading[:, None]
        seen = np.cumsum(ends, axis=1) == ends  # no click before
        place = place[seen]
        self.rows.T.ravel()[place] += 1
        self.rows.S.ravel()[place] += outcomes[seen]
        self.rows.steps += 1
        self.rows.lists += 1
        read = self.rows.T.take(place) - self.of.first.take(place)
        if np.count_nonzero(read == _WINDOW):
            self._read(place[read == _WINDOW])

    def _selected(self) -> tuple[IntArray, IntArray]:
        """Return the items of the lists and their counts, shape `(rows, M)`."""
        state, low = self.rows, (1 << self.bits) - 1
        row, item = np.arange(len(state.T)), np.arange(self.rule.L)
        apart = state.apart[row, state.lists % DRAWS]
        key = np.where(apart, state.T, _FAR)[row[:, None], state.doubtful] << self.bits | item
        key.sort(axis=1)
        first = np.take_along_axis(state.doubtful, key[:, : self.rule.M] & low, axis=1)
        T = np.take_along_axis(state.T, first, axis=1)
        turn = np.sort(T << self.bits | np.arange(self.rule.M), axis=1)
        return np.take_along_axis(first, turn & low, axis=1), turn >> self.bits

    def _read(self, places: IntArray) -> None:
        """Read the next outcomes of places, `row * L + item`."""
        T = self.rows.T.take(places)
        self.of.first.ravel()[places] = T
        windows = self.of.window.reshape(-1, _WINDOW)
        rows, items = np.divmod(places, self.rule.L)
        for place, row, item, count in zip(places.tolist(), rows.tolist(), items.tolist(), T.tolist(), strict=True):
            windows[place] = self.of.stack[row].peek(item, count, _WINDOW)

    # The end of rows.

    def _look_at(self, rows: IntArray) -> Iterator[tuple[int, Run]]:
        state = self.rows
        state.next_look[rows] = state.steps[rows] + self.rule.pause(state.steps[rows])
        maybe = rows[self.rule.may_be_over(*state.counts(rows))] if len(rows) else rows
        over = [row for row in maybe.tolist() if self.rule.is_sure(*state.counts(row))]
        yield from self._end(np.array(over, np.int64), "stopped")

    def _end(self, rows: IntArray, status: Ending) -> Iterator[tuple[int, Run]]:
        if not len(rows):
            return
        state = self.rows
        for row in rows.tolist():
            self._bring_up_to_date(row)
            best = by_mean(self.rule.mean(*state.counts(row)))[: self.rule.K]
            counts = tuple(state.T[row].tolist())
            run = Run(int(state.steps[row]), status, sum(counts), tuple(best.tolist()), counts=counts)
            yield int(self.of.job[row]), run
        kept = np.setdiff1d(np.arange(len(self.of.job)), rows)
        self.rows.keep(kept)
        self.of.keep(kept)

    def _paused(self) -> Runs:
        for row in range(len(self.of.job)):
            self._bring_up_to_date(row)
            yield int(self.of.job[row]), Paused(int(self.rows.steps[row]))

    def _bring_up_to_date(self, row: int) -> None:
        """Let the learner of a row stand where the row does."""
        learner = self.jobs[self.of.job[row]].learner
        for field in fields(_Rows):
            value = getattr(self.rows, field.name)[row]
            setattr(learner, field.name, value.copy() if value.ndim else int(value))
        self.of.stack[row].forget()
