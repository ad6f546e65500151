"""The engine of KL-LUCB++ with lists that stay for many steps (`protocol.Batched`): a batch is a few sums.

While a list stays, nothing depends on the order of its steps. Of `n` steps its first item is looked at in all, the
second in those in which the first was not clicked, and so on: the clicks on each are binomial, given those before. So a
batch takes as long as a step does. Rows advance together, one trial each, and meet their batches one after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
from cascadebai_cli.engines.lucb import ENTRIES, ranked
from cascadebai_cli.learners.protocol import Batched
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

_ROWS = 256
"""Largest number of rows of a block."""


def run_batches(jobs: Sequence[Job[Batched]], enough: HasEnough = never) -> Runs:
    """Run trials, those of one rule and one length of batches side by side."""
    return run_in_blocks(
        jobs,
        lambda job: (job.learner.rule.L, job.learner.rule, job.learner.batch),
        _ROWS,
        ENTRIES,
        lambda part: _Batches(part).run(enough),
        enough,
    )


@dataclass
class _Rows(RowState):
    """State of each row: place of its job, cap, steps, where clicks come from; counts and bounds, shape `(rows, L)`."""

    job: IntArray
    cap: IntArray
    steps: IntArray
    source: NDArray[Any]
    T: IntArray
    S: IntArray
    lower: FloatArray
    upper: FloatArray


class _Batches:
    """Rows that advance together, a batch at a time."""

    def __init__(self, jobs: Sequence[Job[Batched]]) -> None:
        self.jobs, self.rule, self.steps_of = jobs, jobs[0].learner.rule, jobs[0].learner.steps
        inner = [job.learner.learner for job in jobs]
        arrays = (np.stack([getattr(one, name) for one in inner]) for name in ("T", "S", "lower", "upper"))
        job, cap, steps = (
            np.array(some) for some in zip(*((i, j.cap, j.steps) for i, j in enumerate(jobs)), strict=True)
        )
        self.rows = _Rows(job, cap, steps, objects([_Clicks(one) for one in jobs]), *arrays)

    def run(self, enough: HasEnough) -> Runs:
        """Run all rows to their end, or until `enough` says so; yield the runs that have ended."""
        while len(self.rows.job):
            if enough():
                yield from self._paused()
                return
            near, stops = self._next_lists()
            size = self.steps_of(np.take_along_axis(self.rows.T, near, axis=1).min(axis=1))
            ends = stops | (self.rows.steps + size > self.rows.cap)
            if ends.any():
                yield from self._end(np.flatnonzero(ends), stops, near)
                self.rows.keep(np.flatnonzero(~ends))
            self._take_in(near[~ends], size[~ends])

    def _next_lists(self) -> tuple[IntArray, BoolArray]:
        """Return the next list of each row, shape `(rows, M)`, and which rows stop, as `KLLucb` does."""
        rows, rule, row = self.rows, self.rule, np.arange(len(self.rows.job))
        inside, _ = ranked(rows.S / np.maximum(rows.T, 1), rule.K)
        low, high = np.where(inside, rows.lower, np.inf), np.where(inside, -np.inf, rows.upper)
        weakest, rival = low.argmin(axis=1), high.argmax(axis=1)
        low, high = low[row, weakest, None], high[row, rival, None]
        overlap = np.where(inside, high - rows.lower, rows.upper - low)
        overlap[row, weakest] = overlap[row, rival] = np.inf
        overlap = np.where(rows.T.min(axis=1, keepdims=True) == 0, -rows.T, overlap)
        among, _ = ranked(overlap, max(rule.M, 2))  # no more than two are infinite, and all others at most 1
        near = np.nonzero(among)[1].reshape(len(row), -1)
        order = np.take_along_axis(rows.T, near, axis=1).argsort(axis=1, kind="stable")
        return np.take_along_axis(near, order, axis=1)[:, : rule.M], (high - low < rule.epsilon)[:, 0]

    def _take_in(self, shown: IntArray, size: IntArray) -> None:
        """Show each row its list for so many steps, and find the bounds of its items anew."""
        rows, row = self.rows, np.arange(len(shown))[:, None]
        if not len(shown):
            return
        drawn = [source.drawn(*one) for source, *one in zip(rows.source, shown, rows.T[row, shown], size, strict=True)]
        looks, clicks = np.array(drawn).transpose(1, 0, 2)
        rows.T[row, shown] += looks
        rows.S[row, shown] += clicks
        rows.steps += size
        T = rows.T[row, shown]
        mean = rows.S[row, shown] / np.maximum(T, 1)
        rows.lower[row, shown], rows.upper[row, shown] = self.rule.lower(mean, T), self.rule.upper(mean, T)

    def _end(self, ended: IntArray, stops: BoolArray, near: IntArray) -> Runs:
        """Yield the runs of rows that have stopped, or reach their cap within the next batch, which is not told."""
        rows = self.rows
        for row in ended.tolist():
            status: Ending = "stopped" if stops[row] else "capped"
            T, best = rows.T[row].copy(), self.rule.best(rows.S[row] / np.maximum(rows.T[row], 1))
            steps, looks = int(rows.steps[row]), [0]
            if status == "capped" and steps < rows.cap[row]:
                left, items = int(rows.cap[row]) - steps, near[row]
                looks, clicks = rows.source[row].drawn(items, T[items], left)
                rows.T[row, items] += looks
                rows.S[row, items] += clicks
                steps += left
            self._bring_up_to_date(row)
            run = Run(steps, status, int(T.sum()) + sum(looks), best, counts=tuple(T.tolist()))
            yield int(rows.job[row]), run

    def _paused(self) -> Runs:
        for row in range(len(self.rows.job)):
            self._bring_up_to_date(row)
            yield int(self.rows.job[row]), Paused(int(self.rows.steps[row]))

    def _bring_up_to_date(self, row: int) -> None:
        self.jobs[self.rows.job[row]].learner.learner.take_place(self.rows.T[row], self.rows.S[row])
        self.jobs[self.rows.job[row]].stack.forget()


class _Clicks:
    """Where the looks and clicks of a row come from."""

    def __init__(self, job: Job[Batched]) -> None:
        self.stack, self.looks, self.ends_at_click = job.stack, job.looks, job.ends_at_click
        self.shuffled = job.feedback.shuffled

    def drawn(self, items: IntArray, T: IntArray, steps: int) -> tuple[list[int], list[int]]:
        """Return looks and clicks of the items of a list, in its order, which were observed `T` times before."""
        looks, clicks, left = [], [], int(steps)
        shuffled = self.looks.sums(left) if self.shuffled else []
        for place, (item, start) in enumerate(zip(items.tolist(), T.tolist(), strict=True)):
            seen = left
            if self.looks is not None:
                seen = shuffled[place] if self.shuffled else self.looks.clicks(place, 0, left)
            looks.append(left)
            clicks.append(self.stack.clicks(item, start, seen))
            left -= clicks[-1] * self.ends_at_click
        return looks, clicks
