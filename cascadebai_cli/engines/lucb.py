"""The engine of KL-LUCB++: many trials advance together, one array row per trial.

Every row follows its own stacks of rewards, so that its run does not depend on the other rows. A step finds the items
nearest to the boundary of `J`, orders them by their number of observations, and moves on those that are observed. All
of this works on whole numbers whose last digits hold the item, which breaks ties (`lucb_rows`).

"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple
from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines import lucb_rows
from cascadebai_cli.engines.jobs import Ending, HasEnough, Job, Paused, Run, Runs, largest_block, never, run_in_blocks
from cascadebai_cli.engines.lucb_rows import ENTRIES, FAR, looks_ahead, new_rows
from cascadebai_cli.learners.bounds import pairs_apart, told_apart
from cascadebai_cli.learners.kl_lucb import UNIT, KLLucb
from cascadebai_cli.learners.racing import by_mean
from cascadebai_cli.model.problem import CASCADING, BoolArray, IntArray

_ROWS = 256
"""Largest number of rows of a block: with more the arrays do not fit into the cache."""
_STRIDE = 64
"""Largest number of steps between two questions whether it is enough."""


def run_lucb(jobs: Sequence[Job[KLLucb]], enough: HasEnough = never) -> Runs:
    """Run trials, those of equal rules side by side."""
    most = largest_block(jobs, _ROWS, ENTRIES)
    return run_in_blocks(
        jobs,
        lambda job: (*astuple(job.learner.rule), job.looks is None, _reads_on(job)),
        most,
        lambda part: _Lucb(part).run(enough),
        enough,
    )


def _reads_on(job: Job[KLLucb]) -> bool:
    """Return whether lists whose places are looked at by chance are read beyond their first click."""
    return job.looks is not None and job.feedback.name != CASCADING.name


class _Sides(NamedTuple):
    """Both sides of the boundary.

    Attributes:
        outside: the codes outside `J` that are nearest to the boundary, in order from the rival on.
        inside: the codes of `J`, in order from the weakest item on.
        rival, weakest: bounds of these two, shifted as in codes; shape `(rows, 1)`.
    """

    outside: IntArray
    inside: IntArray
    rival: IntArray
    weakest: IntArray


class _Lucb:
    """Rows that advance together; `now` counts the steps of the block."""

    def __init__(self, jobs: Sequence[Job[KLLucb]]) -> None:
        self.jobs, self.rule = jobs, jobs[0].learner.rule
        self.rows = new_rows(jobs)
        self.outside = min(max(self.rule.M, 2), self.rule.L - self.rule.K)
        self.near = max(self.rule.M, 2)
        self.reads_on = _reads_on(jobs[0])
        self.low = (1 << self.rows.bits) - 1
        self.stop_above = -int(np.ceil(self.rule.epsilon / UNIT)) - 1 << self.rows.bits
        self.now = 0
        self._resize()

    def _resize(self) -> None:
        rows = len(self.rows)
        self.first = (np.arange(rows) * self.rule.L)[:, None]
        self.distance = np.empty((rows, self.outside + self.rule.K), np.int64)

    def run(self, enough: HasEnough) -> Runs:
        """Run all rows to their end, or until `enough` says so; yield the runs that have ended."""
        yield from self._look_at(np.arange(len(self.rows)))
        while len(going := np.flatnonzero(self.rows.job >= 0)):
            if len(going) <= 0.75 * len(self.rows):
                self.rows.keep(going)
                self._resize()
            yield from self._look_at(self._advance())
            if enough():
                yield from self._paused()
                return

    # Steps.

    def _advance(self) -> IntArray:
        """Make some steps, until rows may have to end; return these rows."""
        rows = self.rows
        caps = np.where(rows.job >= 0, rows.cap - rows.steps, FAR)
        until = min(self.now + _STRIDE, int(caps.min()))
        unseen, begin = self._unseen(until - self.now), self.now
        while self.now < until:
            sides = self._sides(rows.code)
            may_stop = self._may_stop(sides)
            if np.count_nonzero(may_stop):  # much faster than `any`
                asked = np.flatnonzero(may_stop & (rows.job >= 0) & (rows.looked < self.now))
                if len(asked):
                    return asked
            self._observe(*self._looked_at(self._nearest(sides), unseen[self.now - begin] if len(unseen) else None))
            self.now += 1
        return np.flatnonzero(caps <= self.now)

    def _sides(self, code: IntArray) -> _Sides:
        """Return both sides of the boundary.

        Codes are negative outside `J`, so the two sides are the two ends of the sorted codes.
        """
        L, K, m = self.rule.L, self.rule.K, self.outside
        if L < lucb_rows._LONG:
            ordered = np.sort(code, axis=1)
            outside, inside = ordered[:, :m], ordered[:, L - K :]
        else:  # `partition` is fast for few small entries only; without a sign, the codes of `J` are the smallest
            outside = np.sort(np.partition(code, m - 1, axis=1)[:, :m], axis=1)
            first = np.partition(code.view(np.uint64), K - 1, axis=1)[:, :K]
            inside = np.sort(first.astype(np.int64), axis=1)
        return _Sides(outside, inside, outside[:, :1] & ~self.low, inside[:, :1] & ~self.low)

    def _may_stop(self, sides: _Sides, rows: IntArray | slice = slice(None)) -> BoolArray:
        """Return in which rows the bounds are apart, or with `glr` at least the items at the boundary."""
        rule = self.rule
        if rule.stopping == "bounds":
            return np.asarray(sides.weakest + sides.rival > self.stop_above)[:, 0]
        a, b = (self.first[rows, 0] + ((side[:, 0] & self.low) >> 1) for side in (sides.inside, sides.outside))
        T, mean = self.rows.T, np.abs(self.rows.mean)
        return pairs_apart(T.take(a), mean.take(a), T.take(b), mean.take(b), rule.K * (rule.L - rule.K), rule.delta)

    def _nearest(self, sides: _Sides) -> IntArray:
        """Return the `M` items nearest to the boundary (two for `M = 1`) as `item << 1 | skip`, shape `(rows, M)`."""
        distance, m = self.distance, self.outside
        np.add(sides.outside, sides.weakest, out=distance[:, :m])
        np.add(sides.inside, sides.rival, out=distance[:, m:])
        distance[:, 0] -= FAR
        distance[:, m] -= FAR
        distance.sort(axis=1)
        nearest: IntArray = distance[:, : self.near] & self.low
        return nearest

    def _unseen(self, n: int) -> BoolArray:
        """Return which places of a list are not looked at in the next steps, shape `(n, rows, places)`; 0 if all are.

        The rows of a block agree on whether all are.
        """
        rows = self.rows
        if rows.looks[0] is None:
            return np.zeros((0, 0, 0), bool)
        starts = zip(rows.looks, (rows.steps + self.now).tolist(), rows.job.tolist(), strict=True)
        ahead = [looks_ahead(looks if job >= 0 else None, self.near, start, n) for looks, start, job in starts]
        return np.asarray(~np.array(ahead).transpose(2, 0, 1))

    def _looked_at(self, nearest: IntArray, unseen: BoolArray | None) -> tuple[IntArray, IntArray, IntArray]:
        """Return the places that are read in this step, for rows that go on, their counts afterwards, and lost clicks.

        An item is read if its turn, by count and then by number, does not come after that of the first click, or
        whenever lists are read on. At a place of the list that is `unseen`, no outcome is a click; if it would be one,
        it is lost.
        """
        places = self.first + (nearest >> 1)
        turn = (self.rows.T.take(places) << self.rows.bits) | nearest
        skip = nearest & 1
        if unseen is not None:
            skip = skip | np.take_along_axis(unseen, turn.argsort(axis=1).argsort(axis=1), axis=1)
        until = (turn | skip << 62).min(axis=1)
        if self.rule.M == 1:
            until = turn.min(axis=1)
        elif self.reads_on:
            until = turn.max(axis=1)
        seen = (turn <= np.minimum(until, self.rows.latest)[:, None]).ravel().nonzero()[0]
        lost = places.take(seen[(skip.take(seen) & ~nearest.take(seen)) != 0]) if unseen is not None else places[:0, 0]
        return places.take(seen), (turn.take(seen) >> self.rows.bits) + 1, lost

    def _observe(self, places: IntArray, T: IntArray, lost: IntArray) -> None:
        """Move places to `T` observations; find `J` anew if a mean reaches its level, refill windows at their end."""
        rows = self.rows
        at = rows.move(places, T)
        if len(lost):
            rows.take_back(lost)
        touched = rows.mean.take(places) >= rows.level.take(places)
        if np.count_nonzero(touched):
            rows.rank(np.flatnonzero(np.bincount(places[touched] // self.rule.L)))
        if np.count_nonzero(at & rows.last == rows.last):
            rows.read_on()

    # The end of rows.

    def _look_at(self, rows: IntArray) -> Iterator[tuple[int, Run]]:
        """End rows that stop or have reached their cap."""
        self.rows.looked[rows] = self.now
        stopped = self._stops(rows)
        for row in rows[stopped].tolist():
            yield self._end(row, "stopped")
        for row in rows[~stopped & (self.rows.steps[rows] + self.now >= self.rows.cap[rows])].tolist():
            yield self._end(row, "capped")

    def _stops(self, rows: IntArray) -> BoolArray:
        """Return which rows stop now.

        With `glr`, all pairs are compared only in rows where the weakest item and its rival are told apart.
        """
        if not len(rows):
            return np.zeros(0, bool)
        stops = self._may_stop(self._sides(self.rows.code[rows]), rows)
        if self.rule.stopping == "glr":
            for i in np.flatnonzero(stops).tolist():
                stops[i] = told_apart(*self.rows.counts(rows[i]), self.rule.K, self.rule.delta)
        return stops

    def _paused(self) -> Runs:
        """Bring the learners of all running rows up to date, and yield their pauses."""
        rows, going = self.rows, np.flatnonzero(self.rows.job >= 0)
        for row in going.tolist():
            self._bring_up_to_date(row)
            rows.stack[row].forget()
            yield int(rows.job[row]), Paused(int(rows.steps[row] + self.now))

    def _bring_up_to_date(self, row: int) -> None:
        self.jobs[self.rows.job[row]].learner.take_place(*self.rows.counts(row))

    def _end(self, row: int, status: Ending) -> tuple[int, Run]:
        rows = self.rows
        if status == "capped":
            self._bring_up_to_date(row)
        job, rows.job[row], rows.latest[row] = int(rows.job[row]), -1, -1
        rows.stack[row].forget()
        mean = np.where(rows.inside[row], np.abs(rows.mean[row]), -np.inf)
        return job, Run(
            steps=int(rows.steps[row] + self.now),
            status=status,
            observations=int(rows.T[row].sum()),
            recommendation=tuple(by_mean(mean)[: self.rule.K].tolist()),
            counts=tuple(rows.T[row].tolist()),
        )
