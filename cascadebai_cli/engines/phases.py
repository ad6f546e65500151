"""Engines of learners that know ahead which lists they will show: uniform and SAR, and track-and-stop."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cascadebai_cli.engines.jobs import (
    Ending,
    HasEnough,
    Job,
    RowState,
    Run,
    Runs,
    never,
    run_in_blocks,
)
from cascadebai_cli.engines.outcomes import RandomOutcomes, Stack
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
"""Smallest number of rounds drawn at once; later draws add as many as were drawn so far. No run depends on the cap."""
_MOST = 2**19
"""Largest number of outcomes drawn at once."""
_COUNTED = 10**7
"""Steps of a phase from which their numbers are drawn in place of their outcomes (`leap_phases`)."""
ROWS, ENTRIES = 128, 2**17
"""Largest number of trials of a block, and of items of all its trials together, which bounds its memory."""
_ROW = 55
"""Bits of a key below its row; they hold the round and the item."""
_AT_ONCE = 2**18
"""Outcomes of several trials that are passed at once, about, so that their arrays fit into the cache."""
_SPARE = 1.2
"""Outcomes that are looked at, as a multiple of what the phase takes at the pace of the one before."""


def run_phases(jobs: Sequence[Job[Uniform]], enough: HasEnough = never) -> Runs:
    """Run trials, those of one kind side by side; for the same outcomes each run is that of the reference engine.

    A phase of more than `_COUNTED` steps draws how often each outcome occurs, which has the same law (`leap_phases`).
    """
    long = any(job.cap > _COUNTED for job in jobs)  # then none waits for others
    return run_in_blocks(jobs, _kind, 1 if long else ROWS, ENTRIES, lambda part: _Rows(part).run(), enough)


def _kind(job: Job[Uniform]) -> tuple[int, *tuple[object, ...]]:
    learner = job.learner
    return learner.race.L, learner.race.K, learner.M, learner.ends, job.cap, job.feedback.ends_at_click


@dataclass(init=False)
class _Rows(RowState):
    """Trials whose phases end at the same steps, a row each.

    Attributes:
        jobs: the trials that go on; `place`, where they are among all jobs.
        steps: steps that each of them has made; `ends`, those after which an item was decided.
        decided: items in the order in which they were decided, twice their number, and 1 more for those accepted.
        counts, clicks: observations and clicks of decided items, shape `(rows, L)`.
        k: number of items still to be accepted, shape `(rows,)`.
        D: the survivors, shape `(rows, d)`, as for the following.
        T, S: observations and clicks of the survivors.
        survivor: index of each item among the survivors, negative for others, shape `(rows, L)`.
        column: index of the survivor to be observed next, shape `(rows,)`; `d` at the end of a round.
        ahead: rarer outcomes of the rounds that were drawn, as keys `row << _ROW | round << shift | item`, ascending.
        rare: whether these are clicks, of each row; else skips.
        over, drawn: rounds that are over, and those that were drawn, of each row.
        pace: observations of a step in the last phase.
    """

    place: IntArray
    decided: IntArray
    counts: IntArray
    clicks: IntArray
    k: IntArray
    D: IntArray
    T: IntArray
    S: IntArray
    survivor: IntArray
    column: IntArray
    ahead: IntArray
    rare: BoolArray
    over: IntArray
    drawn: IntArray

    def __init__(self, jobs: Sequence[Job[Uniform]]) -> None:
        self.jobs, self.place, L = list(jobs), np.arange(len(jobs)), jobs[0].learner.race.L
        self.steps, self.cap, self.cascading = 0, jobs[0].cap, jobs[0].feedback.ends_at_click
        self.ends: list[int] = []
        self.D = np.tile(np.arange(L), (len(jobs), 1))
        self.T, self.S, self.decided, self.counts, self.clicks = (np.zeros_like(self.D) for _ in range(5))
        self.survivor, self.shift = self.D.copy(), (L - 1).bit_length()
        self.k = np.full(len(jobs), jobs[0].learner.race.K)
        self.column, self.over, self.drawn = (np.zeros(len(jobs), np.int64) for _ in range(3))
        self.ahead = _none(np.arange(len(jobs)))
        self.rare = np.ones(len(jobs), bool)
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
                    yield from self._leave((self.k == 0) | (self.k == self.D.shape[1]))
            if self.jobs and self.steps >= self.cap:
                yield from self._leave(np.ones(len(self.jobs), bool))

    # The steps of a phase.

    def show(self, steps: int) -> None:
        """Make `steps` steps of each row, in which no item is decided."""
        left = np.full(len(self.jobs), steps)
        if steps > _COUNTED:
            left -= [self._count(row, steps) for row in range(len(self.jobs))]
        seen = int(self.T.sum())
        while len(rows := np.flatnonzero(left)):
            wanted, there = self._rounds(left), self.drawn - self.over
            for part in self._parts(rows, np.minimum(wanted, there)):
                self._pass(part, np.minimum(wanted, there)[part], left)
            for row in np.flatnonzero((left > 0) & (wanted >= there)).tolist():
                self._draw(row)
        self.pace = (int(self.T.sum()) - seen) / (steps * len(self.jobs))
        self.steps += steps
        for job in self.jobs:
            job.learner.steps = self.steps

    def _rounds(self, steps: IntArray) -> IntArray:
        """Return a number of rounds that is likely to hold the next steps, with room for at least one."""
        each = min(float(self.batch), _SPARE * self.pace)
        return np.asarray((steps * each).astype(np.int64) // self.D.shape[1] + 2)

    def _parts(self, rows: IntArray, rounds: IntArray) -> Iterator[IntArray]:
        """Yield the rows in parts whose outcomes are of one kind, and few enough."""
        for kind in (True, False):
            some = rows[self.rare[rows] == kind]
            parts = np.cumsum(rounds[some]) * self.D.shape[1] // _AT_ONCE
            yield from np.split(some, np.flatnonzero(np.diff(parts)) + 1) if len(some) else []

    def _pass(self, rows: IntArray, rounds: IntArray, left: IntArray) -> None:
        """Pass the next rounds of rows, as far as the steps need them."""
        d, begun, clicks = self.D.shape[1], self.column[rows], bool(self.rare[rows[0]])
        row, key = self._keys(rows, rounds)
        survivor = self.survivor.take(rows[row] * self.survivor.shape[1] + (key & ((1 << self.shift) - 1)))
        at = (key >> self.shift) * d + survivor - begun[row]
        met = np.flatnonzero((survivor >= 0) & (at >= 0))
        row, survivor, at = row[met], survivor[met], at[met]
        ends = (row, at, clicks) if self.cascading else (row[:0], at[:0], True)
        made, seen = cut(*ends, np.maximum(rounds * d - begun, 0), batch=self.batch, steps=left[rows])
        left[rows] -= made
        counted = at < seen[row]
        rare = np.bincount((row * d + survivor)[counted], minlength=len(rows) * d).reshape(-1, d)
        over, self.column[rows] = np.divmod(begun + seen, d)
        new = over[:, None] + np.less(np.arange(d), self.column[rows, None]) - np.less(np.arange(d), begun[:, None])
        self.over[rows] += over
        self.T[rows] += new
        self.S[rows] += rare if clicks else new - rare

    def _keys(self, rows: IntArray, rounds: IntArray) -> tuple[IntArray, IntArray]:
        """Return the keys of the next rounds of rows, each as `round << shift | item`, and to which row they belong."""
        start = rows << _ROW | self.over[rows] << self.shift
        first, last = np.searchsorted(self.ahead.ravel(), [start, start + (rounds << self.shift)])
        row = np.repeat(np.arange(len(rows)), last - first)
        place = np.arange(len(row)) + (last - np.cumsum(last - first))[row]
        return row, self.ahead.take(place) - start[row]

    def _draw(self, row: int) -> None:
        """Draw further rounds of the survivors of a row."""
        D, over, drawn = self.D[row], int(self.over[row]), int(self.drawn[row])
        rounds = min(max(_FEWEST, drawn), max(1, _MOST // len(D)))
        keys, clicks = self.jobs[row].stack.stretch(D, drawn, rounds, self.shift)
        _, left = self._keys(np.array([row]), np.array([drawn - over]))
        if clicks != self.rare[row]:
            left = np.setdiff1d(np.arange(drawn - over)[:, None] << self.shift | D, left, assume_unique=True)
        self.rare[row], self.drawn[row] = clicks, drawn + rounds
        ahead = np.concatenate([left, keys + np.int64(drawn - over << self.shift)])
        if len(ahead) > self.ahead.shape[1]:
            here, shape = self.ahead, (len(self.jobs), len(ahead) * 9 // 8)
            self.ahead = np.full(shape, _none(np.arange(len(self.jobs))))
            self.ahead[:, : here.shape[1]] = here  # other rows will need about as many as this one
        self.ahead[row] = _none(np.array([row]))
        self.ahead[row, : len(ahead)] = ahead + (row << _ROW | over << self.shift)

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
            self.over[row], self.column[row] = self.drawn[row], sweep.start
        return made

    # The end of a phase.

    def _decide(self) -> None:
        """Accept or reject an item of each row."""
        at, accepts = farthest(self.S / np.maximum(self.T, 1), self.k)
        item = np.take_along_axis(self.D, at, axis=1)
        for kept, of in ((self.counts, self.T), (self.clicks, self.S)):
            np.put_along_axis(kept, item, np.take_along_axis(of, at, axis=1), axis=1)
        self.decided[:, len(self.ends)] = (2 * item + accepts)[:, 0]
        self.ends.append(self.steps)
        self.k -= accepts[:, 0]
        self.survivor -= self.survivor > at
        np.put_along_axis(self.survivor, item, -1, axis=1)
        stays = np.arange(self.D.shape[1]) != at
        self.D, self.T, self.S = (of[stays].reshape(len(item), -1) for of in (self.D, self.T, self.S))
        self.column -= at[:, 0] < self.column

    def _leave(self, ends: BoolArray) -> Runs:
        """Bring the learners of rows that end up to date, yield their runs, and go on with the others."""
        for row in np.flatnonzero(ends).tolist():
            self._bring_up_to_date(row)
            learner = self.jobs[row].learner
            yield int(self.place[row]), Run.of_race(learner.race, self.steps, learner.T)
        if ends.any():
            going = np.flatnonzero(~ends)
            self.jobs = [self.jobs[row] for row in going]
            self.keep(going)
            self.ahead -= (going - np.arange(len(going)) << _ROW)[:, None]

    def _bring_up_to_date(self, row: int) -> None:
        learner, D = self.jobs[row].learner, self.D[row]
        item, accepted = np.divmod(self.decided[row, : len(self.ends)], 2)
        for kind, items, at in (
            (0, learner.race.rejected, learner.race.rejected_at),
            (1, learner.race.accepted, learner.race.accepted_at),
        ):
            items += item[accepted == kind].tolist()
            at += np.array(self.ends, np.int64)[accepted == kind].tolist()
        learner.T[:], learner.S[:], learner.race.survivors = self.counts[row], self.clicks[row], D
        learner.T[D], learner.S[D] = self.T[row], self.S[row]


def _none(rows: IntArray) -> IntArray:
    """Return a key of each row that comes after all others, shape `(rows, 1)`."""
    return (rows[:, None] + 1 << _ROW) - 1


def cut(
    row: IntArray, at: IntArray, clicks: bool, length: IntArray, batch: int, steps: IntArray
) -> tuple[IntArray, IntArray]:
    """Return how many steps of each row end in its next outcomes, and how many outcomes these steps have.

    Args:
        row, at: row and place of each click (or each skip, unless `clicks`) among the outcomes of the survivors in the
            order in which they are observed, from the beginning of a step on; ascending.
        clicks: whether these are the clicks.
        length: number of outcomes of each row, shape `(rows,)`.
        batch: most observations of a step.
        steps: steps to make, one or more; shape `(rows,)`.
    """
    first, last = np.searchsorted(row, np.arange(len(length))), np.searchsorted(row, np.arange(len(length)), "right")
    some, gap = first < last, np.diff(at, prepend=-1)
    gap[first[some]] = at[first[some]] + 1
    if clicks:
        ended = np.append(0, np.cumsum((gap - 1) // batch + 1))
        used = np.minimum(np.searchsorted(ended, ended[first] + steps, side="right") - 1, last)
        made, behind = ended[used] - ended[first], np.where(used > first, np.append(-1, at)[used] + 1, 0)
        full = np.minimum(steps - made, (length - behind) // batch)
        return made + full, behind + full * batch
    gap[first[some]] = 0
    place = np.arange(len(at))
    goes_on = (place - np.maximum.accumulate(np.where(gap == 1, 0, place)) + 1) % batch > 0
    row, at = row[goes_on], at[goes_on]
    first, last = np.searchsorted(row, np.arange(len(length))), np.searchsorted(row, np.arange(len(length)), "right")
    made, wide = np.minimum(steps, length - (last - first)), int(length.max()) + 1
    ended = row * wide + at - (np.arange(len(at)) - first[row])
    return made, made + np.searchsorted(ended, np.arange(len(length)) * wide + made - 1, "right") - first


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

_Take = Callable[[IntArray], tuple[IntArray, IntArray]]
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


def leap_phases(take: _Take, after: IntArray, start: int, least: IntArray) -> tuple[IntArray, int]:
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
