"""Engines of learners that know ahead which lists they will show: uniform and SAR, and track-and-stop."""

from collections.abc import Callable, Sequence

import numpy as np

from cascadebai_cli.engines.jobs import Ending, HasEnough, Job, Run, Runs, block_size, never, run_in_blocks, run_of
from cascadebai_cli.engines.outcomes import Outcomes, RandomOutcomes
from cascadebai_cli.engines.stacks import Stack
from cascadebai_cli.learners.fixed_budget import Uniform, farthest
from cascadebai_cli.learners.track_and_stop import TrackAndStop
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

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
_COUNTED = 10**7
"""Steps of a phase from which their numbers are drawn in place of their outcomes (`leap_phases`)."""
ROWS, ENTRIES = 64, 2**17
"""Largest number of trials of a block, and of items of all its trials together, which bounds its memory."""
_AT_ONCE = 2**18
"""Outcomes of several trials that are counted at once, about, so that their arrays fit into the cache."""
_SPARE = 1.2
"""Outcomes that are looked at, as a multiple of what the phase takes at the pace of the one before."""


def run_phases(jobs: Sequence[Job[Uniform]], enough: HasEnough = never) -> Runs:
    """Run trials, those of one kind side by side; for the same outcomes each run is that of the reference engine.

    A phase of more than `_COUNTED` steps draws how often each outcome occurs, which has the same law (`leap_phases`).
    """
    largest = max((job.learner.race.L for job in jobs), default=1)
    long = any(job.cap > _COUNTED for job in jobs)  # then none waits for others
    most = 1 if long else block_size(largest, ROWS, ENTRIES)
    return run_in_blocks(jobs, _kind, most, lambda part: _Rows(part).run(), enough)


def _kind(job: Job[Uniform]) -> tuple[object, ...]:
    learner = job.learner
    return learner.race.L, learner.race.K, learner.M, learner.ends, job.cap, job.feedback.ends_at_click


class _Rows:
    """Trials whose phases end at the same steps, a row each.

    Attributes:
        jobs, sweeps: the trials that go on, and their sweeps; `place`, where they are among all jobs.
        steps: steps that each of them has made.
        D: their survivors, shape `(rows, d)`, as for the following.
        T, S: observations and clicks of the survivors.
        column: index of the survivor to be observed next, shape `(rows,)`; `d` at the end of a round.
        pace: observations of a step in the last phase.
    """

    def __init__(self, jobs: Sequence[Job[Uniform]]) -> None:
        L = jobs[0].learner.race.L
        self.jobs, self.place = list(jobs), np.arange(len(jobs))
        self.sweeps = [_Sweep(job.stack, L) for job in jobs]
        self.steps, self.cap, self.cascading = 0, jobs[0].cap, jobs[0].feedback.ends_at_click
        self.D: IntArray = np.tile(np.arange(L), (len(jobs), 1))
        self.T, self.S = np.zeros_like(self.D), np.zeros_like(self.D)
        self.column: IntArray = np.zeros(len(jobs), np.int64)
        self.pace = float(self.batch)

    @property
    def batch(self) -> int:
        """Most observations of a step."""
        return int(min(self.jobs[0].learner.M, self.D.shape[1]))

    def run(self) -> Runs:
        """Run all trials to their end."""
        while self.jobs:
            learner = self.jobs[0].learner
            end = learner.next_end(self.cap)
            self.show(end - self.steps)
            for _ in range(learner.phases_at(end)):
                if self.jobs:
                    self._decide()
                    yield from self._leave()
            if self.steps >= self.cap:
                yield from self._leave(all_of_them=True)

    # The steps of a phase.

    def show(self, steps: int) -> None:
        """Make `steps` steps of each row, in which no item is decided."""
        left = np.full(len(self.jobs), steps)
        if steps > _COUNTED:
            left -= [self._count(row, steps) for row in range(len(self.jobs))]
        seen = int(self.T.sum())
        while len(rows := np.flatnonzero(left)):
            for part in self._parts(rows, left):
                self._pass(part, left)
        self.pace = (int(self.T.sum()) - seen) / (steps * len(self.jobs))
        self.steps += steps
        for job in self.jobs:
            job.learner.steps = self.steps

    def _rounds(self, steps: IntArray) -> IntArray:
        """Return a number of rounds that is likely to hold the next steps, with room for at least one."""
        each = min(float(self.batch), _SPARE * self.pace)
        return np.asarray((steps * each).astype(np.int64) // self.D.shape[1] + 2)

    def _parts(self, rows: IntArray, left: IntArray) -> list[IntArray]:
        """Return the rows in parts of which the next outcomes are few enough."""
        drawn = [len(self.sweeps[row].ahead) for row in rows.tolist()]
        parts = np.cumsum(np.minimum(self._rounds(left[rows]), drawn) * self.D.shape[1]) // _AT_ONCE
        return np.split(rows, np.flatnonzero(np.diff(parts)) + 1)

    def _pass(self, rows: IntArray, left: IntArray) -> None:
        """Pass the outcomes that are drawn, as far as the steps need them; draw further ones where they do not last."""
        rounds = self._rounds(left[rows]).tolist()
        windows = [
            self.sweeps[row].window(self.D[row], some)[self.column[row] :]
            for row, some in zip(rows.tolist(), rounds, strict=True)
        ]
        clicks, length = np.concatenate(windows), np.array([len(window) for window in windows])
        made, seen = cut(clicks if self.cascading else np.zeros_like(clicks), length, self.batch, left[rows])
        left[rows] -= made
        passed = self._observe(rows, clicks, length, seen)
        for row, some, over in zip(rows.tolist(), rounds, passed.tolist(), strict=True):
            self.sweeps[row].go_on(over, draws=bool(left[row]) and some >= len(self.sweeps[row].ahead))

    def _observe(self, rows: IntArray, clicks: BoolArray, length: IntArray, seen: IntArray) -> IntArray:
        """Count the first outcomes of each row, and return how many rounds are over."""
        d, begun = self.D.shape[1], self.column[rows]
        over, passed = np.divmod(begun + seen, d)
        survivor = np.arange(d)
        self.T[rows] += over[:, None] + (survivor < passed[:, None]) - (survivor < begun[:, None])
        at, start = np.flatnonzero(clicks).astype(np.int32), (np.cumsum(length) - length).astype(np.int32)
        row = np.repeat(np.arange(len(rows)), np.diff(np.searchsorted(at, np.append(start, len(clicks)))))
        at -= start[row]
        counted = at < seen[row]
        row, at = row[counted], at[counted]
        self.S[rows] += np.bincount(row * d + (at + begun[row]) % d, minlength=len(rows) * d).reshape(-1, d)
        self.column[rows] = passed
        return over

    def _count(self, row: int, steps: int) -> int:
        """Draw the numbers of most of the steps, and return how many these are; outcomes drawn ahead are not met."""
        outcomes, D = self.jobs[row].stack, self.D[row]
        if not isinstance(outcomes, RandomOutcomes):
            return 0
        sweep = Counts(outcomes.weights[D], self.batch, int(self.column[row]) % len(D), outcomes.rng)
        made = sweep.skip(steps) if self.cascading and self.batch > 1 else sweep.observe(steps, self.batch)
        self.T[row] += sweep.T
        self.S[row] += sweep.S
        if made:
            self.sweeps[row].ahead, self.column[row] = self.sweeps[row].ahead[:0], sweep.start
        return made

    # The end of a phase.

    def _decide(self) -> None:
        """Accept or reject an item of each row."""
        k = np.array([job.learner.race.k for job in self.jobs])
        decided, accepts = farthest(self.S / np.maximum(self.T, 1), k)
        for row, (at, accepted) in enumerate(zip(decided.ravel().tolist(), accepts.ravel().tolist(), strict=True)):
            self._settle(row, at, accepted)
        stays = np.arange(self.D.shape[1]) != decided
        self.D, self.T, self.S = (of[stays].reshape(len(k), -1) for of in (self.D, self.T, self.S))
        self.column -= decided[:, 0] < self.column

    def _settle(self, row: int, at: int, accepted: bool) -> None:
        learner, item = self.jobs[row].learner, int(self.D[row, at])
        (learner.race.accepted if accepted else learner.race.rejected).append(item)
        learner.race.stamp(self.steps)
        learner.T[item], learner.S[item] = self.T[row, at], self.S[row, at]

    def _leave(self, *, all_of_them: bool = False) -> Runs:
        """Bring the learners of rows that end up to date, yield their runs, and go on with the others."""
        ends = np.array([all_of_them or job.learner.finished for job in self.jobs])
        for row in np.flatnonzero(ends).tolist():
            learner, D = self.jobs[row].learner, self.D[row]
            learner.race.survivors, learner.T[D], learner.S[D] = D, self.T[row], self.S[row]
            yield int(self.place[row]), run_of(learner.race, self.steps, learner.T)
        if ends.any():
            going = np.flatnonzero(~ends)
            self.jobs, self.sweeps = [self.jobs[row] for row in going], [self.sweeps[row] for row in going]
            self.place, self.D, self.T, self.S, self.column = (
                of[going] for of in (self.place, self.D, self.T, self.S, self.column)
            )


class _Sweep:
    """The outcomes of the sweep of a trial.

    Attributes:
        drawn: rounds drawn so far.
        ahead: outcomes of the rounds that are not over, shape `(rounds, L)`.
    """

    def __init__(self, outcomes: Outcomes, L: int) -> None:
        self.outcomes, self.L, self.drawn = outcomes, L, 0
        self.ahead: BoolArray = np.zeros((0, L), bool)

    def window(self, D: IntArray, rounds: int) -> BoolArray:
        """Return the outcomes of survivors in the next rounds, as many as there are, one round after the other."""
        if not len(self.ahead):
            self._draw()
        return self.ahead[:rounds, D].ravel()

    def go_on(self, rounds: int, *, draws: bool) -> None:
        """Leave rounds behind, and draw further ones if asked to."""
        self.ahead = self.ahead[rounds:]
        if draws:
            self._draw()

    def _draw(self) -> None:
        """Draw further rounds."""
        rounds, shift = min(max(_FEWEST, self.drawn // 2), max(1, _MOST // self.L)), (self.L - 1).bit_length()
        keys, are_clicks = self.outcomes.stretch(np.arange(self.L), self.drawn, rounds, shift)
        fresh = np.full((rounds, self.L), not are_clicks)
        fresh[keys >> shift, keys & ((1 << shift) - 1)] = are_clicks
        self.ahead, self.drawn = np.concatenate([self.ahead, fresh]), self.drawn + rounds


def cut(clicks: BoolArray, length: IntArray, batch: int, steps: IntArray) -> tuple[IntArray, IntArray]:
    """Return how many steps of each row end in its next outcomes, and how many outcomes these steps have.

    Args:
        clicks: outcomes of the survivors in the order in which they are observed, from the beginning of a step on; one
            row after the other.
        length: number of outcomes of each row, shape `(rows,)`.
        batch: most observations of a step.
        steps: steps to make, one or more; shape `(rows,)`.
    """
    at, stop = np.flatnonzero(clicks), np.cumsum(length)
    start = stop - length
    first, last = np.searchsorted(at, start), np.searchsorted(at, stop)
    gap = np.diff(at, prepend=-1)
    some = first < last
    gap[first[some]] = at[first[some]] - start[some] + 1
    ended = np.append(0, np.cumsum((gap - 1) // batch + 1))
    used = np.minimum(np.searchsorted(ended, ended[first] + steps, side="right") - 1, last)
    made, behind = ended[used] - ended[first], np.where(used > first, np.append(-1, at)[used] + 1, start)
    full = np.minimum(steps - made, (stop - behind) // batch)
    return made + full, behind - start + full * batch


# --- Phases of very many steps: their numbers are drawn, not their outcomes ----------------------------------------
#
# The item at which a step begins is a Markov chain: by the place of its click, or by having none, a step decides where
# the next one begins. Let every item have a *stack*, the independent outcomes of the steps that begin at it, in order.
#
# *Any order will do.* Take the first `n_i` outcomes of each stack `i`, in whatever order. If they lead from the start
# to one end (each item is reached as often as it is left, but for these two), and if the last outcomes taken, followed
# from item to item, lead to this end from every item that was left, then the chain itself takes exactly these outcomes
# first (the theorem of de Bruijn, van Aardenne-Ehrenfest, Smith and Tutte on trails that use every edge of a graph).
# What is taken depends on the outcomes taken alone, so that the rest of each stack is as fresh as at first.
#
# *So* the numbers of the first `n_i` outcomes, and which was the last, are drawn at once: multinomial numbers, and one
# of these outcomes at random. An item that was left more often than it was reached is short of steps, others have too
# many: those take further outcomes until there is one step in hand, and then until the last outcomes lead to its item.


_MARGIN = 12.0
"""Standard deviations that the first outcomes taken stay below the expected ones, so that never too many are taken."""
_MOST_SURVIVORS = 128
"""Number of survivors from which powers of the chain take longer than its steps."""

_SLOW = 1000.0
"""Spread of the expected numbers from which it takes longer to bring steps to where they are missing."""

Take = Callable[[IntArray], tuple[IntArray, IntArray]]
"""Takes further outcomes of each stack: how many are each, shape `(d, batch + 1)`, and the last, shape `(d,)`."""


class Counts:
    """Numbers of observations and clicks of a sweep through some items.

    Args:
        w: their click probabilities, shape `(d,)`.
        batch: most observations of a step, at most `d`.
        start: item at which the next step begins.
        rng: the only source of randomness.

    Attributes:
        T, S: observations and clicks so far, shape `(d,)`.
    """

    def __init__(self, w: FloatArray, batch: int, start: int, rng: np.random.Generator) -> None:
        d = len(w)
        self.w, self.start, self.rng = w, start, rng
        self.met = (np.arange(d)[:, None] + np.arange(batch)) % d
        ended = np.append(np.arange(1, batch + 1), batch)
        self.after: IntArray = (np.arange(d)[:, None] + ended) % d
        passed = np.cumprod(np.column_stack([np.ones(d), 1 - w[self.met]]), axis=1)
        self.chances: FloatArray = np.column_stack([passed[:, :-1] * w[self.met], passed[:, -1]])
        self.T: IntArray = np.zeros(d, np.int64)
        self.S: IntArray = np.zeros(d, np.int64)

    def observe(self, steps: int, batch: int) -> int:
        """Make steps of `batch` observations each, and return how many."""
        d, seen = len(self.w), steps * batch
        fresh = seen // d + ((np.arange(d) - self.start) % d < seen % d)
        self.T += fresh
        self.S += self.rng.binomial(fresh, self.w)
        self.start = (self.start + seen) % d
        return steps

    def skip(self, steps: int) -> int:
        """Make steps that a click ends, at most `steps`, and return how many: most, or none where that takes longer."""
        made = 0
        while 4 * (least := self._least((steps - made) // 2)).sum() > steps - made:
            found, self.start = leap_phases(self._take, self.after, self.start, least)
            np.add.at(self.S, self.met, found[:, :-1])
            np.add.at(self.T, self.met, found[:, ::-1].cumsum(axis=1)[:, :0:-1])
            made += int(found.sum())
        assert made <= steps, "the chance of this is below 1e-30 (_least)"
        return made

    def _least(self, steps: int) -> IntArray:
        """Return a number of outcomes of each stack that `steps` steps almost certainly take, shape `(d,)`.

        A step moves the expected number by at most its spread over the starts, and with the variance below. So by
        Freedman's inequality a number is lower with a chance of about `exp(-MARGIN^2 / 2)`. A chain that forgets its
        start slowly gets none.
        """
        d = len(self.w)
        if d > _MOST_SURVIVORS:
            return np.zeros(d, np.int64)
        chain = np.zeros((d, d))
        np.add.at(chain, (np.arange(d)[:, None], self.after), self.chances)
        expected = visits(chain, steps)
        spread, variance = np.ptp(expected, axis=0).max() + 1, (chain @ expected**2 - (chain @ expected) ** 2).max()
        if spread > _SLOW:
            return np.zeros(d, np.int64)
        below = _MARGIN * (np.sqrt(steps * max(float(variance), 0.0)) + 4 * spread)
        least: IntArray = np.maximum(expected[self.start] - below, 0).astype(np.int64)
        return least

    def _take(self, number: IntArray) -> tuple[IntArray, IntArray]:
        found = self.rng.multinomial(number, self.chances)
        place = (self.rng.random(len(number)) * number).astype(np.int64)
        return found, (found.cumsum(axis=1) <= place[:, None]).sum(axis=1)


def visits(chain: FloatArray, steps: int) -> FloatArray:
    """Return the expected number of visits to each state in `steps` steps, the first included, for each start."""
    visited, moved = np.zeros_like(chain), np.eye(len(chain))
    for bit in f"{steps:b}":
        visited, moved = visited + moved @ visited, moved @ moved
        if bit == "1":
            visited, moved = visited + moved, moved @ chain
    return visited


def leap_phases(take: Take, after: IntArray, start: int, least: IntArray) -> tuple[IntArray, int]:
    """Take outcomes of stacks until they are those of the first steps of the chain, and return how many and its end.

    Args:
        take: takes outcomes.
        after: where an outcome leads, shape `(d, batch + 1)`.
        start: item at which the chain begins.
        least: outcomes of each stack to take at least.
    """
    taken, last = take(least)
    left, hand = least.copy(), _moved(taken, after) - least
    hand[start] += 1
    while hand.min() < 0 or not _leads(left, last, after, int(hand.argmax())):
        further = np.maximum(hand, 0)
        found, latest = take(further)
        taken, left, last = taken + found, left + further, np.where(further > 0, latest, last)
        hand += _moved(found, after) - further
    return taken, int(hand.argmax())


def _moved(found: IntArray, after: IntArray) -> IntArray:
    """Return how often each item is reached."""
    return np.bincount(after.ravel(), found.ravel(), len(after)).astype(np.int64)


def _leads(left: IntArray, last: IntArray, after: IntArray, end: int) -> bool:
    """Return whether the last outcomes lead to the end from every item that was left."""
    items = np.arange(len(left))
    follow = np.where((left > 0) & (items != end), after[items, np.minimum(last, after.shape[1] - 1)], items)
    for _ in range(len(left).bit_length()):
        follow = follow[follow]
    return bool((follow[left > 0] == end).all())


# --- Learners that plan ahead: all steps of a block of equal lists are made at once ---------------------------------


def run_planned(job: Job[TrackAndStop]) -> Run:
    """Run one trial from where the learner stands; for the same outcomes the result is that of the reference engine."""
    learner, steps = job.learner, job.steps
    while not learner.finished and steps < job.cap:
        end, T, S = learner.steps, learner.T.tolist(), learner.S.tolist()
        for items, repeats in learner.blocks:
            end += repeats
            shown = max(0, min(end, job.cap) - steps)
            _show(T, S, job.stack, items, shown, job.feedback.ends_at_click)
            steps += shown
        learner.T[:], learner.S[:] = T, S
        if steps == end:
            learner.end_stretch()
    status: Ending = "stopped" if learner.finished else "capped"
    return Run(steps, status, int(learner.T.sum()), learner.recommendation)


def _show(T: list[int], S: list[int], stack: Stack, items: Sequence[int], steps: int, cascading: bool) -> None:
    """Show one list `steps` times; an item is observed in the steps in which all items before it were skipped."""
    for item in items:
        if steps == 0:
            return
        clicks = int(np.count_nonzero(stack.peek(item, T[item], steps)))
        T[item] += steps
        S[item] += clicks
        steps -= clicks if cascading else 0
