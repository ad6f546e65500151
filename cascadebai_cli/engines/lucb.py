"""The engine of KL-LUCB++: many trials advance together, one array row a trial.

Every row follows its own stacks of rewards: its run is the same whatever the rows beside it are. A step finds the
items that are nearest to the boundary of `J`, orders them by how often they were observed, and moves on those that are
looked at; all of it works on whole numbers in which the item breaks ties (`lucb_rows`).

A row is *parked* when an item reaches its level or the end of its window, when the row may stop, and at its cap. Parked
rows are looked at a few together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple

import numpy as np

from cascadebai_cli.engines.jobs import Enough, Job, Paused, Runs, largest_block, never, run_in_blocks
from cascadebai_cli.engines.lucb_rows import ENTRIES, new_rows
from cascadebai_cli.engines.run import Run, Status
from cascadebai_cli.learners.glr import pairs_apart, told_apart
from cascadebai_cli.learners.kl_lucb import UNIT, KLLucb
from cascadebai_cli.learners.racing import by_mean
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

ROWS = 256
"""Rows of one block at most: with more the arrays leave the cache."""
PATIENCE = 3
"""Parked rows wait until one of so many is parked."""
LONG = 1024
"""From so many items on only those that are needed are sorted."""
FAR = np.int64(1) << 62
"""Farther from the boundary than any item."""


def run_lucb(jobs: Sequence[Job[KLLucb]], enough: Enough = never) -> Runs:
    """Run trials, those of equal rules side by side."""
    most = largest_block(jobs, ROWS, ENTRIES)
    return run_in_blocks(
        jobs, lambda job: astuple(job.learner.rule), most, lambda part: _Lucb(part).run(enough), enough
    )


class _Lucb:
    """Rows that advance together; `now` counts the steps of the block."""

    def __init__(self, jobs: Sequence[Job[KLLucb]]) -> None:
        self.jobs, self.rule = jobs, jobs[0].learner.rule
        self.rows = new_rows(jobs)
        self.near = min(max(self.rule.M, 2), self.rule.L - self.rule.K)
        self.low = (1 << self.rows.bits) - 1
        self.stop_above = -int(np.ceil(self.rule.epsilon / UNIT)) - 1
        self.now = 0
        self._resize()

    def _resize(self) -> None:
        self.first = np.arange(len(self.rows)) * self.rule.L

    def run(self, enough: Enough) -> Runs:
        """Run all rows to their end, or until it is enough."""
        yield from self._go_on(np.arange(len(self.rows)))
        while len(going := np.flatnonzero(self.rows.job >= 0)):
            if len(going) <= 0.75 * len(self.rows):
                self.rows.keep(going)
                self._resize()
            self._advance()
            parked = np.flatnonzero(~self.rows.running & (self.rows.job >= 0))
            self.rows.update(parked)
            yield from self._go_on(parked)
            if enough():
                yield from self._paused()
                return

    # Steps.

    def _advance(self) -> None:
        """Step the rows that are not parked until some more are worth looking at."""
        rows = self.rows
        last = np.where(rows.running, rows.since + rows.cap - rows.steps, FAR)
        waiting, enough = 0, 1 + np.count_nonzero(rows.running) // PATIENCE
        until = int(last.min())
        while waiting < enough and self.now < until:
            waiting += self._step()
        self._park(np.flatnonzero(rows.running & (last <= self.now)))

    def _step(self) -> int:
        """Make a step in all rows that are not parked; how many were parked."""
        rows, parked = self.rows, 0
        sides = self._sides(rows.code)
        may_stop = self._may_stop(sides, rows.T, rows.mean)
        if np.count_nonzero(may_stop):  # much faster than `any`
            parked = self._park(np.flatnonzero(may_stop & rows.running & (rows.since < self.now)))
        seen = self._looked_at(self._shown(*sides))
        self.now += 1
        return parked + self._observe(seen)

    def _sides(self, code: IntArray) -> tuple[IntArray, IntArray]:
        """The codes nearest to the boundary in order, from the rival on outside, and from the weakest on inside `J`.

        Codes are negative outside, so the two sides are the two ends of what is sorted.
        """
        L, K, near = self.rule.L, self.rule.K, self.near
        if L < LONG:
            ordered = np.sort(code, axis=1)
            return ordered[:, :near], ordered[:, L - K :]
        ends = np.partition(code, near - 1, axis=1)[:, :near], np.partition(code, L - K, axis=1)[:, L - K :]
        return np.sort(ends[0], axis=1), np.sort(ends[1], axis=1)

    def _may_stop(self, sides: tuple[IntArray, IntArray], T: IntArray, mean: FloatArray) -> BoolArray:
        """Rows in which the bounds are apart, or by `glr` at least the items at the boundary."""
        rule, rival, weakest = self.rule, sides[0][:, 0], sides[1][:, 0]
        if rule.stopping == "bounds":
            return np.asarray((weakest >> self.rows.bits) + (rival >> self.rows.bits) > self.stop_above)
        items = np.stack([self._item(weakest), self._item(rival)], axis=1)
        (T_a, T_b), (a, b) = (np.take_along_axis(of, items, axis=1).T for of in (T, np.abs(mean)))
        return pairs_apart(T_a, a, T_b, b, rule.K * (rule.L - rule.K), rule.delta)

    def _item(self, code: IntArray) -> IntArray:
        item: IntArray = (code & self.low) >> 1
        return item

    def _shown(self, outside: IntArray, inside: IntArray) -> IntArray:
        """The items shown, in order: `T << bits | item << 1 | click`, shape `(rows, M)`."""
        rows, m = self.rows, outside.shape[1]
        distance = np.empty((len(rows), m + self.rule.K), np.int64)
        np.add(outside, inside[:, :1] & ~self.low, out=distance[:, :m])
        np.add(inside, outside[:, :1] & ~self.low, out=distance[:, m:])
        distance[:, 0] -= FAR
        distance[:, m] -= FAR
        distance.sort(axis=1)
        nearest = distance[:, : max(self.rule.M, 2)] & self.low
        turn = (rows.T.ravel()[self.first[:, None] + (nearest >> 1)] << rows.bits) | nearest
        turn.sort(axis=1)
        return turn[:, : self.rule.M]

    def _looked_at(self, shown: IntArray) -> IntArray:
        """Places of the items up to the first click, of the rows that are not parked."""
        ends = shown & 1
        ends[:, -1] = 1
        looked_at = np.arange(self.rule.M) <= ends.argmax(axis=1)[:, None]
        looked_at &= self.rows.running[:, None]
        places: IntArray = (self.first[:, None] + self._item(shown))[looked_at]
        return places

    def _observe(self, seen: IntArray) -> int:
        """Move places on by one outcome; park rows of items that have reached their level or the end of the window."""
        rows = self.rows
        T = rows.T.ravel()[seen] + 1
        at = rows.at(seen, T)
        mean = rows.means.ravel()[at]
        rows.T.ravel()[seen], rows.code.ravel()[seen], rows.mean.ravel()[seen] = T, rows.codes.ravel()[at], mean
        touched = mean >= rows.level.ravel()[seen]
        halts = touched | (rows.end.ravel()[seen] == T)
        if not np.count_nonzero(halts):
            return 0
        rows.touched[seen[touched] // self.rule.L] = True
        return self._park(np.unique(seen[halts] // self.rule.L))

    def _park(self, rows: IntArray) -> int:
        self.rows.running[rows] = False
        self.rows.steps[rows] += self.now - self.rows.since[rows]
        return len(rows)

    # What becomes of parked rows.

    def _go_on(self, rows: IntArray) -> Iterator[tuple[int, Run]]:
        """Let rows go on, or end those that stop or have reached their cap."""
        self.rows.running[rows], self.rows.since[rows] = True, self.now
        stopped = self._stops(rows)
        for row in rows[stopped].tolist():
            yield self._end(row, "stopped")
        for row in rows[~stopped & (self.rows.steps[rows] >= self.rows.cap[rows])].tolist():
            yield self._end(row, "capped")

    def _stops(self, rows: IntArray) -> BoolArray:
        """Which rows have to stop now; by `glr`, all pairs are looked at only where the weakest and its rival part."""
        T, mean = self.rows.T[rows], self.rows.mean[rows]
        stops = self._may_stop(self._sides(self.rows.code[rows]), T, mean)
        if self.rule.stopping == "glr":
            for i in np.flatnonzero(stops).tolist():
                stops[i] = told_apart(T[i], np.rint(np.abs(mean[i]) * T[i]), self.rule.K, self.rule.delta)
        return stops

    def _paused(self) -> Runs:
        """Bring the learners of all rows up to date."""
        rows, going = self.rows, np.flatnonzero(self.rows.job >= 0)
        self._park(going)
        for row in going.tolist():
            self._bring_up_to_date(row)
            rows.stack[row].forget()
            yield int(rows.job[row]), Paused(int(rows.steps[row]))

    def _bring_up_to_date(self, row: int) -> None:
        rows, learner = self.rows, self.jobs[self.rows.job[row]].learner
        learner.take_place(rows.T[row], np.rint(np.abs(rows.mean[row]) * rows.T[row]).astype(np.int64))

    def _end(self, row: int, status: Status) -> tuple[int, Run]:
        rows = self.rows
        if status == "capped":
            self._bring_up_to_date(row)
        job, rows.job[row], rows.running[row] = int(rows.job[row]), -1, False
        rows.stack[row].forget()
        mean = np.where(rows.inside[row], np.abs(rows.mean[row]), -np.inf)
        return job, Run(
            steps=int(rows.steps[row]),
            status=status,
            observations=int(rows.T[row].sum()),
            recommendation=tuple(by_mean(mean)[: self.rule.K].tolist()),
            counts=tuple(rows.T[row].tolist()),
        )
