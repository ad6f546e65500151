"""The engine of KL-LUCB++: many trials advance together, one array row a trial.

Every row follows its own stacks of rewards: its run is the same whatever the rows beside it are. A step looks at a pool
of items only. Who is shown is decided by one sort of whole numbers that hold a bound and an item, so that ties need no
care, and the order of the list by another, of counts and items. Means are not ranked: nothing changes before an item
that was observed has reached the level between those inside `J` and those outside.

A row is *parked* when an item reaches the level or the end of the outcomes known ahead, when the best of the items
outside the pool would be shown, or when it may stop. Parked rows are attended to a few together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from cascadebai_cli.engines.jobs import Job, Runs, run_in_blocks
from cascadebai_cli.engines.lucb_first_round import first_round, may_end_early
from cascadebai_cli.engines.lucb_items import LARGEST, Ahead, codes_of
from cascadebai_cli.engines.lucb_pools import Pools
from cascadebai_cli.engines.reference import run_reference
from cascadebai_cli.engines.rows import RowState
from cascadebai_cli.engines.run import Run, Status
from cascadebai_cli.engines.stacks import OneByOne
from cascadebai_cli.learners.glr import pairs_apart, told_apart
from cascadebai_cli.learners.kl_lucb import UNIT, KLLucb
from cascadebai_cli.learners.racing import by_mean
from cascadebai_cli.model.feedback import Cascading, SemiBandit
from cascadebai_cli.model.instance import BoolArray, IntArray

ROWS = 256
"""Rows of one block at most: with more the arrays leave the cache."""
OTHERS = 16
"""Items in a pool at first, beyond twice as many as are shown; later twice as many, and so on."""
TOO_OFTEN = 0.02
"""Pools outdated in a step from which on they should be larger."""
PATIENCE = 3
"""Parked rows wait until one of so many is parked."""
MOST_ITEMS = 2**17
"""More do not fit into a code beside a bound."""
NO_CAP = np.iinfo(np.int64).max // 2


def run_lucb(jobs: Sequence[Job[KLLucb]]) -> Runs:
    """Run trials, those of equal rules side by side."""
    return run_in_blocks(jobs, lambda job: astuple(job.learner.rule), ROWS, _run)


def _run(jobs: Sequence[Job[KLLucb]]) -> Runs:
    """Run trials of one rule."""
    rule = jobs[0].learner.rule
    alone = rule.L > MOST_ITEMS or may_end_early(rule)
    return _alone(jobs) if alone else _Block(jobs).run()


def _alone(jobs: Sequence[Job[KLLucb]]) -> Runs:
    """Run trials by the reference engine."""
    for place, job in enumerate(jobs):
        feedback = Cascading() if job.cascading else SemiBandit()
        yield place, run_reference(job.learner, OneByOne(job.stack), feedback, job.max_steps)


@dataclass
class _Rows(RowState):
    """Where the rows of a block are; all shapes are `(rows,)`.

    Attributes:
        job: place of the row in the jobs, -1 once it has ended.
        cap: steps after which it ends.
        steps, since: steps made when it last went on, and steps of the block at that time.
        running: whether it is not parked.
        asked: steps of the block when it was last found that it must not stop.
    """

    job: IntArray
    cap: IntArray
    steps: IntArray
    since: IntArray
    running: BoolArray
    asked: IntArray


class _Block:
    """Rows that advance together; `now` counts the steps of the block."""

    def __init__(self, jobs: Sequence[Job[KLLucb]]) -> None:
        self.jobs, self.rule = jobs, jobs[0].learner.rule
        rows, L = len(jobs), self.rule.L
        self.near = max(self.rule.list_length, 2)
        self.codes = codes_of(L, rows * (L + 1))
        self.stop_below = int(np.ceil(self.rule.epsilon / UNIT)) << self.codes.item
        cascading = np.array([job.cascading for job in jobs])
        self.ahead = Ahead(self.rule, [job.stack for job in jobs], cascading, self.codes)
        P = min(L, 2 * max(self.rule.K, self.near) + OTHERS)
        self.pools = Pools(self.ahead.items, self.rule.K, P, self.codes)
        cap = np.array([NO_CAP if job.max_steps is None else job.max_steps for job in jobs])
        steps, since = np.zeros((2, rows), np.int64)
        self.rows = _Rows(np.arange(rows), cap, steps, since, np.zeros(rows, bool), np.full(rows, -1))
        self.now = self.outdated = self.looked_at = 0

    def run(self) -> Runs:
        """Run all rows to their end."""
        rows = np.arange(len(self.jobs))
        for row, job in enumerate(self.jobs):
            start = first_round(self.rule, job.stack, job.cascading, int(self.rows.cap[row]))
            self.rows.steps[row], self.ahead.items.T[row], self.ahead.items.S[row] = start
        self.ahead.read(np.arange(len(rows) * self.rule.L))
        yield from self._go_on(rows, rows)
        while len(going := np.flatnonzero(self.rows.job >= 0)):
            self._regroup(going)
            self._advance()
            yield from self._attend(np.flatnonzero(~self.rows.running & (self.rows.job >= 0)))

    # Steps.

    def _advance(self) -> None:
        """Step the rows that are not parked until some more are worth attending to."""
        rows, pool, items, codes, near = self.rows, self.pools.of, self.ahead.items, self.codes, self.near
        K, P, M, running = self.rule.K, self.pools.P, self.rule.list_length, self.rows.running
        last = int((rows.since + rows.cap - rows.steps)[running].min())
        enough, waiting = 1 + np.count_nonzero(running) // PATIENCE, 0
        reach, turns, starts, levels = pool.reach.ravel(), pool.turn.ravel(), pool.start.ravel(), pool.level.ravel()
        reaches, means, changes = items.reach.ravel(), items.mean.ravel(), items.change.ravel()
        nearness = np.empty_like(pool.reach)
        inside, outside, flat = nearness[:, :K], nearness[:, K:], nearness.ravel()
        columns = np.arange(M)
        item, position = (1 << codes.item) - 1, (1 << (codes.place - 1)) - 1
        while waiting < enough and self.now < last:
            weakest, rival = self.pools.boundary()
            floor, ceiling = reach[weakest] & ~item, reach[rival] & ~item
            np.add(pool.reach[:, :K], ceiling[:, None], out=inside)
            np.add(pool.reach[:, K:], floor[:, None], out=outside)
            flat[weakest] = flat[rival] = LARGEST
            least = np.sort(nearness, axis=1)[:, P + 1 - near]
            outdated = nearness[:, P] >= least
            halts = (outdated | self._may_stop(weakest, rival)) & running
            if np.count_nonzero(halts):
                pool.outdated |= outdated & running
                waiting += self._park(np.flatnonzero(halts))
            turn = turns[np.flatnonzero(nearness >= least[:, None])].reshape(-1, near)
            turn.sort(axis=1)
            turn = turn[:, :M]
            ends = turn & 1
            ends[:, -1] = 1
            turn = turn[(columns <= ends.argmax(axis=1)[:, None]) & running[:, None]]
            seen = (turn >> 1) & position
            at = starts[seen] + (turn >> codes.count)
            turns[seen], reach[seen] = turn + changes[at], reaches[at]
            self.now += 1
            touched = means[at] >= levels[seen]
            if np.count_nonzero(touched):
                waiting += self._park(np.unique(seen[touched] // (P + 1)))
        self._park(np.flatnonzero(running & (rows.since + rows.cap - rows.steps <= self.now)))

    def _may_stop(self, weakest: IntArray, rival: IntArray) -> BoolArray:
        """Rows that may stop, from the positions of two items in the flat pools: their bounds are apart, or `glr`."""
        pool, items, rule = self.pools.of, self.ahead.items, self.rule
        if rule.stopping == "bounds":
            reach, item = pool.reach.ravel(), (1 << self.codes.item) - 1
            return np.asarray((reach[weakest] & ~item) + (reach[rival] & ~item) < self.stop_below)
        T = [pool.turn.ravel()[which] >> self.codes.count for which in (weakest, rival)]
        at = [pool.start.ravel()[which] + count - 1 for which, count in zip((weakest, rival), T, strict=True)]
        a, b = (np.minimum(np.abs(items.mean.ravel()[state]), 1) for state in at)
        apart = pairs_apart(T[0], a, T[1], b, rule.K * (rule.L - rule.K), rule.delta)
        return np.asarray(apart & (self.rows.asked != self.now))

    def _park(self, rows: IntArray) -> int:
        self.rows.running[rows] = False
        self.rows.steps[rows] += self.now - self.rows.since[rows]
        return len(rows)

    # Attention to parked rows.

    def _attend(self, rows: IntArray) -> Iterator[tuple[int, Run]]:
        """Bring the items of parked rows up to date, and let the rows go on."""
        self._note(rows)
        self.outdated += int(np.count_nonzero(self.pools.of.outdated[rows]))
        yield from self._go_on(rows, rows[self.pools.of.outdated[rows] | self.pools.touched(rows)])

    def _note(self, rows: IntArray) -> None:
        """Take over from the pools how often their items were observed."""
        turn = self.pools.of.turn[rows, : self.pools.P]
        self.ahead.move(self.pools.places(rows), turn >> self.codes.count, turn & 1)

    def _go_on(self, rows: IntArray, to_renew: IntArray) -> Iterator[tuple[int, Run]]:
        """Let rows go on, or end those that stop or have reached their cap."""
        self._start(rows, to_renew)
        stopped = self._stops(rows)
        for row in rows[stopped].tolist():
            yield self._end(row, "stopped")
        for row in rows[~stopped & (self.rows.steps[rows] >= self.rows.cap[rows])].tolist():
            yield self._end(row, "capped")

    def _stops(self, rows: IntArray) -> BoolArray:
        """Which rows have to stop now."""
        weakest, rival = self.pools.boundary()
        stops, items = self._may_stop(weakest, rival)[rows], self.ahead.items
        if self.rule.stopping == "glr":
            for i in np.flatnonzero(stops).tolist():
                stops[i] = told_apart(items.T[rows[i]], items.S[rows[i]], self.rule.K, self.rule.delta)
            self.rows.asked[rows[~stops]] = self.now
        return stops

    def _start(self, rows: IntArray, to_renew: IntArray) -> None:
        self.pools.renew(to_renew)
        places = self.pools.places(rows)
        self.ahead.read(places[self.ahead.short(places)])
        self.pools.load(rows)
        self.rows.running[rows], self.rows.since[rows] = True, self.now

    def _end(self, row: int, status: Status) -> tuple[int, Run]:
        state, items = self.rows, self.ahead.items
        job, state.job[row], state.running[row] = int(state.job[row]), -1, False
        mean = np.where(items.inside[row], items.S[row] / np.maximum(items.T[row], 1), -np.inf)
        return job, Run(
            steps=int(state.steps[row]),
            status=status,
            observations=int(items.T[row].sum()),
            recommendation=tuple(by_mean(mean)[: self.rule.K].tolist()),
        )

    def _regroup(self, going: IntArray) -> None:
        """Forget ended rows once they are a quarter of all; change to larger pools if they are often outdated."""
        P, L = self.pools.P, self.rule.L
        often = self.outdated > 10 + TOO_OFTEN * len(going) * (self.now - self.looked_at)
        if len(going) > 0.75 * len(self.rows.job) and not often:
            return
        self._park(going)
        self._note(going)
        for part in (self.ahead, self.rows, self.pools):
            part.keep(going)
        rows = np.arange(len(going))
        if often:
            self.pools = Pools(self.ahead.items, self.rule.K, min(L, 2 * P), self.codes)
            self.outdated, self.looked_at = 0, self.now
        self._start(rows, rows[self.pools.of.outdated])
