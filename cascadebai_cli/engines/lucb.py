"""The engine of KL-LUCB++: many trials advance together, one array row a trial.

The n-th outcome of an item does not depend on the run, and neither do its mean and its bounds after n observations.
They are computed in bulk, so a step only finds who stands at the boundary and moves the pointers of the items that
were observed. Every row follows its own stacks of rewards: its run is the same whatever the rows beside it are.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines.run import Run
from cascadebai_cli.engines.stacks import Stack
from cascadebai_cli.learners.kl_lucb import KLLucb, LucbRule
from cascadebai_cli.learners.racing import by_mean
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

MEMORY = 128 * 2**20
"""Bytes for the outcomes ahead of one block."""
DEEPEST = 256
"""Outcomes ahead of an item at most."""
ROWS = 256
"""Rows of one block at most: with more the arrays leave the cache."""
NO_CAP = np.iinfo(np.int64).max


class LucbJob(NamedTuple):
    """One trial for the engine.

    Attributes:
        learner: a fresh learner.
        stack: source of its outcomes.
        cascading: whether a click ends a step.
        max_steps: cap on the steps, none by default.
    """

    learner: KLLucb
    stack: Stack
    cascading: bool = True
    max_steps: int | None = None


def run_lucb(jobs: Sequence[LucbJob]) -> list[Run]:
    """Run trials, those of equal rules side by side.

    Returns:
        the runs, in the order of `jobs`.
    """
    runs: dict[int, Run] = {}

    def kind(i: int) -> tuple[float, ...]:
        rule = jobs[i].learner.rule
        return rule.L, rule.K, rule.delta, rule.epsilon

    for _, group in groupby(sorted(range(len(jobs)), key=kind), key=kind):
        members = list(group)
        for start in range(0, len(members), ROWS):
            part = members[start : start + ROWS]
            runs.update(zip(part, _Block([jobs[i] for i in part]).run(), strict=True))
    return [runs[i] for i in range(len(jobs))]


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
        self.clicks[places, :-1] = [
            self.stacks[row].take(item, self.depth) for row, item in zip(rows.tolist(), items.tolist(), strict=True)
        ]
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


class _Block:
    """Rows that advance together; arrays have shape `(rows, L)` unless said otherwise.

    Attributes:
        ids: place of each row in `jobs`, shape `(rows,)`.
        mean, lower, upper: as they are now.
        clicks: whether the next outcome ends a step.
        inside: mask of the `K` largest means.
        new: whether some item of the row was never observed, shape `(rows,)`.
    """

    def __init__(self, jobs: Sequence[LucbJob]) -> None:
        self.jobs, self.rule = jobs, jobs[0].learner.rule
        rows, L = len(jobs), self.rule.L
        self.ids = np.arange(rows)
        self.ahead = _Ahead(self.rule, [job.stack for job in jobs])
        start = self.ahead.at
        self.mean, self.lower, self.upper = (
            values.ravel()[start].reshape(rows, L) for values in (self.ahead.mean, self.ahead.lower, self.ahead.upper)
        )
        self.cascading = np.array([job.cascading for job in jobs])
        self.clicks = self.ahead.clicks.ravel()[start].reshape(rows, L) & self.cascading[:, None]
        self.inside = self._largest_means(self.mean)
        self.new = np.ones(rows, bool)
        caps = [job.max_steps for job in jobs]
        self.cap = np.array([NO_CAP if cap is None else cap for cap in caps])
        self.results: dict[int, Run] = {}
        self.steps = 0

    def run(self) -> list[Run]:
        """Run all rows to their end."""
        while len(self.ids):
            low = np.where(self.inside, self.lower, np.inf)
            high = np.where(self.inside, -np.inf, self.upper)
            floor, ceiling = low.min(axis=1), high.max(axis=1)
            stopped = floor > ceiling - self.rule.epsilon
            if (stopped | (self.steps >= self.cap)).any():
                self._end(stopped)
                continue
            near = np.where(self.inside, ceiling[:, None] - self.lower, self.upper - floor[:, None])
            rows = np.arange(len(self.ids))
            near[rows, low.argmin(axis=1)] = near[rows, high.argmax(axis=1)] = np.inf
            self._observe(self._shown(near))
            self.steps += 1
        return [self.results[i] for i in range(len(self.jobs))]

    def _shown(self, near: FloatArray) -> IntArray:
        """Lists as places, shape `(rows, K)`: the items with the largest `near`, in ascending order of `T`."""
        L, K = self.rule.L, self.rule.K
        T = self.ahead.T.reshape(-1, L)
        if self.new.any():
            self.new = T.min(axis=1) == 0
            near[self.new] = -T[self.new]
        places = first_largest(near, max(K, 2))
        keys = np.take_along_axis(T, places, axis=1) * L + places
        keys.sort(axis=1)
        return keys[:, :K] % L + np.arange(len(near))[:, None] * L

    def _observe(self, shown: IntArray) -> None:
        clicks = self.clicks.ravel()[shown]
        clicks[:, -1] = True
        place = shown[np.arange(self.rule.K) <= clicks.argmax(axis=1)[:, None]]
        at, ahead = self.ahead.observe(place), self.ahead
        self.mean.ravel()[place] = ahead.mean.ravel()[at]
        self.lower.ravel()[place] = ahead.lower.ravel()[at]
        self.upper.ravel()[place] = ahead.upper.ravel()[at]
        self.clicks.ravel()[place] = ahead.clicks.ravel()[at] & self.cascading[place // self.rule.L]
        self._update_inside()

    def _update_inside(self) -> None:
        """Rank anew where a mean outside has reached one inside."""
        worst = np.where(self.inside, self.mean, np.inf).min(axis=1)
        best = np.where(self.inside, -np.inf, self.mean).max(axis=1)
        changed = np.flatnonzero(worst <= best)
        if len(changed):
            self.inside[changed] = self._largest_means(self.mean[changed])

    def _largest_means(self, mean: FloatArray) -> BoolArray:
        inside = np.zeros(mean.shape, bool)
        np.put_along_axis(inside, by_mean(mean)[:, : self.rule.K], True, axis=1)
        return inside

    def _end(self, stopped: BoolArray) -> None:
        """Note the rows that stopped or reached their cap, and go on with the others."""
        over = stopped | (self.steps >= self.cap)
        for row in np.flatnonzero(over).tolist():
            T = self.ahead.T.reshape(-1, self.rule.L)[row]
            self.results[int(self.ids[row])] = Run(
                steps=self.steps,
                status="stopped" if stopped[row] else "capped",
                observations=int(T.sum()),
                recommendation=tuple(by_mean(self.mean[row])[: self.rule.K].tolist()),
            )
        going = np.flatnonzero(~over)
        self.ahead.keep(going)
        for name in ("ids", "mean", "lower", "upper", "clicks", "inside", "new", "cap", "cascading"):
            setattr(self, name, getattr(self, name)[going])


def first_largest(values: FloatArray, n: int) -> IntArray:
    """Columns of the `n` largest values of each row, in ascending order; the first of equals are preferred."""
    least = np.partition(values, -n, axis=1)[:, -n][:, None]
    chosen = values >= least
    tied = np.flatnonzero(chosen.sum(axis=1) > n)
    if len(tied):
        first = np.argsort(-values[tied], axis=1, kind="stable")[:, :n]
        chosen[tied] = False
        chosen[tied[:, None], first] = True
    return np.nonzero(chosen)[1].reshape(len(values), n)
