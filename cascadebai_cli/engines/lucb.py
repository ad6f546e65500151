"""The engine of KL-LUCB++: many trials advance together, one array row a trial.

The n-th outcome of an item does not depend on the run, and neither do its mean and its bounds after n observations.
They are computed in bulk, so a step only finds who stands at the boundary and moves the pointers of the items that
were observed. Every row follows its own stacks of rewards: its run is the same whatever the rows beside it are.
"""

from collections.abc import Sequence
from dataclasses import astuple
from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines.jobs import Job, Runs, run_in_blocks
from cascadebai_cli.engines.run import Run, Status
from cascadebai_cli.engines.stacks import Stack
from cascadebai_cli.learners.glr import pairs_apart, told_apart
from cascadebai_cli.learners.kl_lucb import KLLucb, LucbRule
from cascadebai_cli.learners.racing import by_mean
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

MEMORY = 128 * 2**20
"""Bytes for the outcomes ahead of one block."""
DEEPEST = 256
"""Outcomes ahead of an item at most."""
ROWS = 256
"""Rows of one block at most: with more the arrays leave the cache."""
POOL = 8
"""Items in a pool for each item to find; at least 2, as `K` items of `J` and `K` others may be shown."""
SMALLEST_POOL = 256
"""Items in a pool at least."""
WORTH = 2
"""Pools are made if there are so many times as many items: making one takes time."""
NO_CAP = np.iinfo(np.int64).max


def run_lucb(jobs: Sequence[Job[KLLucb]]) -> Runs:
    """Run trials, those of equal rules side by side."""
    return run_in_blocks(jobs, lambda job: astuple(job.learner.rule), ROWS, lambda part: _Block(part).run())


class _Ahead:
    """Of each place, `row * L + item`, the next outcomes, and the mean and bounds after each of them.

    Attributes:
        at: pointer of each place into the four arrays, which hold `depth + 1` entries a place.
        T: observations of each place.
        clicks: whether the next outcome is a click.
    """

    def __init__(self, rule: LucbRule, stacks: Sequence[Stack]) -> None:
        self.rule, self.stacks = rule, list(stacks)
        places = len(self.stacks) * rule.L
        self.depth = int(np.clip(MEMORY // (25 * places), 16, DEEPEST))
        shape = (places, self.depth + 1)
        self.mean, self.lower, self.upper = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.clicks = np.zeros(shape, bool)
        self.T, self.S = np.zeros(places, np.int64), np.zeros(places, np.int64)
        self.at: IntArray = np.arange(places) * (self.depth + 1)
        self.stop = self.at + self.depth
        for row in range(len(self.stacks)):
            self._fill(np.arange(row * rule.L, (row + 1) * rule.L))

    def _fill(self, places: IntArray) -> None:
        """Read on at places of which `T` outcomes were used, `S` of them clicks."""
        rows, items = np.divmod(places, self.rule.L)
        known = zip(rows.tolist(), items.tolist(), self.T[places].tolist(), strict=True)
        self.clicks[places, :-1] = [self.stacks[row].peek(item, T, self.depth) for row, item, T in known]
        T = self.T[places][:, None] + np.arange(self.depth + 1)
        S = np.repeat(self.S[places][:, None], self.depth + 1, axis=1)
        S[:, 1:] += np.cumsum(self.clicks[places, :-1], axis=1)
        self.S[places] = S[:, -1]
        self.mean[places] = mean = S / np.maximum(T, 1)
        self.lower[places], self.upper[places] = self.rule.lower(mean, T), self.rule.upper(mean, T)
        self.at[places] = places * (self.depth + 1)

    def observe(self, places: IntArray) -> IntArray:
        """Use one outcome of each of the places, and return their pointers."""
        self.T[places] += 1
        self.at[places] += 1
        used = places[self.at[places] == self.stop[places]]
        if len(used):
            self._fill(used)
        return self.at[places]

    def keep(self, rows: IntArray) -> None:
        """Forget all rows but these."""
        places = (rows[:, None] * self.rule.L + np.arange(self.rule.L)).ravel()
        self.stacks = [self.stacks[row] for row in rows]
        self.at = self.at[places] + (np.arange(len(places)) - places) * (self.depth + 1)
        self.stop = self.stop[: len(places)]
        for name in ("mean", "lower", "upper", "clicks", "T", "S"):
            setattr(self, name, getattr(self, name)[places])


class _Rest(NamedTuple):
    """The best items outside the pools, by mean and by upper bound; all arrays have shape `(rows,)`.

    An item that is not observed keeps its mean and bounds. Of equals the first item counts.
    """

    mean: FloatArray
    mean_item: IntArray
    upper: FloatArray
    upper_item: IntArray


class _Block:
    """Rows that advance together. Each has a *pool* of items that may matter: `J` and its strongest rivals.

    Once one of the other items, the *rest*, might be shown or enter `J`, the pool of the row is made anew. While
    some item was never observed, all items are in the pool.

    Attributes:
        ids: place of each row in `jobs`, shape `(rows,)`.
        pool: the items, ascending, shape `(rows, P)`; so are the following.
        place: where the item is in `ahead`.
        mean, lower, upper: as they are now.
        clicks: whether the next outcome ends a step.
        inside: mask of `J`, the `K` largest means.
        rest: the best of the other items.
        fresh: whether the pool of a row was made at this step, shape `(rows,)`.
    """

    def __init__(self, jobs: Sequence[Job[KLLucb]]) -> None:
        self.jobs, self.rule = jobs, jobs[0].learner.rule
        rows, L = len(jobs), self.rule.L
        self.ids = np.arange(rows)
        self.ahead = _Ahead(self.rule, [job.stack for job in jobs])
        self.cascading = np.array([job.cascading for job in jobs])
        caps = [job.max_steps for job in jobs]
        self.cap = np.array([NO_CAP if cap is None else cap for cap in caps])
        self.results: dict[int, Run] = {}
        self.steps, self.new = 0, True
        self._make_arrays(L)

    def _make_arrays(self, P: int) -> None:
        rows = len(self.ids)
        self.pool, self.place = np.zeros((rows, P), np.int64), np.zeros((rows, P), np.int64)
        self.mean, self.lower, self.upper = np.zeros((rows, P)), np.zeros((rows, P)), np.zeros((rows, P))
        self.clicks, self.inside = np.zeros((rows, P), bool), np.zeros((rows, P), bool)
        self.rest = _Rest(np.zeros(rows), np.zeros(rows, np.int64), np.zeros(rows), np.zeros(rows, np.int64))
        self.fresh = np.zeros(rows, bool)
        self._renew(np.arange(rows))

    def _renew(self, rows: IntArray) -> None:
        """Make the pools of these rows: `J`, and the largest upper bounds outside."""
        places = rows[:, None] * self.rule.L + np.arange(self.rule.L)
        at = self.ahead.at[places]
        mean, upper = self.ahead.mean.ravel()[at], self.ahead.upper.ravel()[at]
        inside = largest(mean, self.rule.K)
        pool = first_largest(np.where(inside, np.inf, upper), self.pool.shape[1])
        at = np.take_along_axis(at, pool, axis=1)
        self.pool[rows], self.place[rows] = pool, np.take_along_axis(places, pool, axis=1)
        self.mean[rows], self.upper[rows] = self.ahead.mean.ravel()[at], self.ahead.upper.ravel()[at]
        self.lower[rows] = self.ahead.lower.ravel()[at]
        self.clicks[rows] = self.ahead.clicks.ravel()[at] & self.cascading[rows, None]
        self.inside[rows] = np.take_along_axis(inside, pool, axis=1)
        for values, best, item in ((mean, self.rest.mean, self.rest.mean_item), (upper, *self.rest[2:])):
            np.put_along_axis(values, pool, -np.inf, axis=1)
            best[rows], item[rows] = values.max(axis=1), values.argmax(axis=1)
        self.fresh[rows] = True

    def run(self) -> Runs:
        """Run all rows to their end."""
        while len(self.ids):
            low, high = np.where(self.inside, self.lower, np.inf), np.where(self.inside, -np.inf, self.upper)
            floor, ceiling = low.min(axis=1), high.max(axis=1)
            near = np.where(self.inside, ceiling[:, None] - self.lower, self.upper - floor[:, None])
            rows, rival = np.arange(len(self.ids)), high.argmax(axis=1)
            near[rows, low.argmin(axis=1)] = near[rows, rival] = np.inf
            chosen = np.flatnonzero(largest(near, max(self.rule.K, 2))).reshape(len(rows), -1)
            outdated = self._outdated(ceiling, rival, near, chosen, floor)
            stopped = self._stopped(floor, ceiling, low.argmin(axis=1), rival)
            if len(outdated):
                self._renew(outdated)
            elif (stopped | (self.steps >= self.cap)).any():
                self._end(stopped)
            else:
                self._observe(self._in_order(chosen))
        yield from self.results.items()

    def _stopped(self, floor: FloatArray, ceiling: FloatArray, weakest: IntArray, rival: IntArray) -> BoolArray:
        """Which rows stop; by likelihood ratios, all pairs are looked at only where the weakest and its rival part."""
        if self.rule.stopping == "bounds":
            return np.asarray(floor > ceiling - self.rule.epsilon)
        rows = np.arange(len(floor))
        a, b = ((self.ahead.T[self.place[rows, at]], self.mean[rows, at]) for at in (weakest, rival))
        apart = pairs_apart(*a, *b, self.rule.K * (self.rule.L - self.rule.K), self.rule.delta)
        for row in np.flatnonzero(apart).tolist():
            places = np.arange(row * self.rule.L, (row + 1) * self.rule.L)
            T = self.ahead.T[places]
            S = np.rint(self.ahead.mean.ravel()[self.ahead.at[places]] * T).astype(np.int64)
            apart[row] = told_apart(T, S, self.rule.K, self.rule.delta)
        return apart

    def _outdated(
        self, ceiling: FloatArray, rival: IntArray, near: FloatArray, chosen: IntArray, floor: FloatArray
    ) -> IntArray:
        """Rows in which an item of the rest belongs into `J`, is the rival, or is nearer than one that is shown."""
        if self.pool.shape[1] == self.rule.L:
            return np.zeros(0, np.int64)
        rest, shown, means = self.rest, near.ravel()[chosen], np.where(self.inside, self.mean, np.inf)
        close = (rest.mean >= means.min(axis=1)) | (rest.upper >= ceiling) | (rest.upper - floor >= shown.min(axis=1))
        if not close.any():
            return np.zeros(0, np.int64)
        mean, mean_item = _last(means, self.pool)
        last_shown, last_item = _last(shown, self.pool.ravel()[chosen])
        outdated = (
            _precedes(rest.mean, rest.mean_item, mean, mean_item)
            | _precedes(rest.upper, rest.upper_item, ceiling, self.pool[np.arange(len(rival)), rival])
            | _precedes(rest.upper - floor, rest.upper_item, last_shown, last_item)
        )
        return np.flatnonzero(outdated & ~self.fresh)

    def _in_order(self, chosen: IntArray) -> IntArray:
        """The chosen in ascending order of `T`, shape `(rows, K)`; positions in the flat pools."""
        if self.new:
            T = self.ahead.T.reshape(-1, self.rule.L)
            new = np.flatnonzero(T.min(axis=1) == 0)
            self.new = len(new) > 0
            least = np.argsort(T[new], axis=1, kind="stable")[:, : chosen.shape[1]]
            chosen[new] = least + new[:, None] * self.rule.L
        keys = self.ahead.T[self.place.ravel()[chosen]] * self.pool.size + chosen
        keys.sort(axis=1)
        return keys[:, : self.rule.K] % self.pool.size

    def _observe(self, shown: IntArray) -> None:
        """Show the lists; positions in the flat pools."""
        clicks = self.clicks.ravel()[shown]
        clicks[:, -1] = True
        seen = shown[np.arange(self.rule.K) <= clicks.argmax(axis=1)[:, None]]
        ahead = self.ahead
        at = ahead.observe(self.place.ravel()[seen])
        self.mean.ravel()[seen] = ahead.mean.ravel()[at]
        self.lower.ravel()[seen] = ahead.lower.ravel()[at]
        self.upper.ravel()[seen] = ahead.upper.ravel()[at]
        self.clicks.ravel()[seen] = ahead.clicks.ravel()[at] & self.cascading[seen // self.pool.shape[1]]
        self.steps += 1
        self.fresh[:] = False
        self._update_inside()
        P = max(SMALLEST_POOL, POOL * self.rule.K)
        if not self.new and self.pool.shape[1] == self.rule.L > WORTH * P:
            self._make_arrays(P)

    def _update_inside(self) -> None:
        """Rank anew where a mean outside has reached one inside."""
        worst = np.where(self.inside, self.mean, np.inf).min(axis=1)
        best = np.where(self.inside, -np.inf, self.mean).max(axis=1)
        changed = np.flatnonzero(worst <= best)
        if len(changed):
            self.inside[changed] = largest(self.mean[changed], self.rule.K)

    def _end(self, stopped: BoolArray) -> None:
        """Note the rows that stopped or reached their cap, and go on with the others."""
        over = stopped | (self.steps >= self.cap)
        for row in np.flatnonzero(over).tolist():
            best = by_mean(np.where(self.inside[row], self.mean[row], -np.inf))[: self.rule.K]
            status: Status = "stopped" if stopped[row] else "capped"
            items, T = tuple(self.pool[row, best].tolist()), self.ahead.T.reshape(-1, self.rule.L)[row]
            self.results[int(self.ids[row])] = Run(self.steps, status, int(T.sum()), items, (), (), tuple(T.tolist()))
        going = np.flatnonzero(~over)
        self.ahead.keep(going)
        for name in ("ids", "pool", "mean", "lower", "upper", "clicks", "inside", "fresh", "cap", "cascading"):
            setattr(self, name, getattr(self, name)[going])
        mean, mean_item, upper, upper_item = self.rest
        self.rest = _Rest(mean[going], mean_item[going], upper[going], upper_item[going])
        self.place = self.pool + np.arange(len(going))[:, None] * self.rule.L


def largest(values: FloatArray, n: int) -> BoolArray:
    """Mask of the `n` largest values of each row; of equals the first."""
    least = np.partition(values, -n, axis=1)[:, -n][:, None]
    mask = values >= least
    tied = np.flatnonzero(mask.sum(axis=1) > n)
    if len(tied):
        above = values[tied] > least[tied]
        equal = mask[tied] & ~above
        room = n - above.sum(axis=1, keepdims=True)
        mask[tied] = above | (equal & (np.cumsum(equal, axis=1) <= room))
    return mask


def first_largest(values: FloatArray, n: int) -> IntArray:
    """Columns of the `n` largest values of each row, in ascending order; of equals the first."""
    return np.nonzero(largest(values, n))[1].reshape(len(values), n)


def _last(values: FloatArray, items: IntArray) -> tuple[FloatArray, IntArray]:
    """The smallest value of each row, and the last of the items that have it."""
    least = values.min(axis=1)
    return least, np.where(values == least[:, None], items, -1).max(axis=1)


def _precedes(value: FloatArray, item: IntArray, other: FloatArray, other_item: IntArray) -> BoolArray:
    """Whether an item ranks before another one: by value, of equals the first."""
    return np.asarray((value > other) | ((value == other) & (item < other_item)))
