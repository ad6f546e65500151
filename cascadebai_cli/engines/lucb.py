"""The engine of KL-LUCB++: many trials advance together, one array row per trial.

Every row follows its own stack of rewards, so that its run does not depend on the other rows. An item of a row is a
*place*, `row * L + item`. What a step has to know of a place stands in three whole numbers.

Its *code* is `bound << bits | place`, so that sorting codes sorts by bounds, with ties by item. The bound is in units:
inside `J` it is 1 more than the lower bound; outside, where codes are negative, it is `-1` less the upper bound. So the
two ends of the sorted codes are the two sides of the boundary, from the rival and from the weakest item on.

Its *turn* is `T << bits + 1 | place << 1 | click`: items are shown in this order, and the last bit is the next outcome.
With `_LATER` added to turns whose outcome does not end the step, the smallest of a list is the last to be observed.

Its *state* is the number of `(T, S)` on its side of the boundary. Bounds and means are computed once for all rows, as
trials of one rule meet the same states again and again (`Bounds`).

`J` stays as it is until the mean of an item that was observed reaches its *level*, between the means inside and
outside. Means and levels have the opposite sign inside `J`, so that on either side an item may change sides once its
mean is at least its level.

A step of few rows takes as long as its calls of NumPy: a place in a table takes less than a sum with a constant.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

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
from cascadebai_cli.learners.bounds import pairs_apart, told_apart
from cascadebai_cli.learners.kl_lucb import KLLucb, LucbRule
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

_ROWS = 256
"""Largest number of rows of a block: with more the arrays do not fit into the cache."""
ENTRIES = 2**18
"""Largest number of items of all rows together, which bounds their memory."""
_STRIDE = 32
"""Largest number of steps between two questions whether it is enough."""
_SHORT = 256
"""Largest number of entries that NumPy sorts by a network, ten times as fast as more entries."""
_LATER, _TURN = 1 << 62, (1 << 62) - 1
"""What is later than any turn, and the digits of a turn."""
_FIRST, _READ = 64, 512
"""Number of outcomes of an item that are read first, and number of them that are read at once afterwards."""
_END, _MANY = np.int8(1), 2**15
"""What is added to outcomes that were read, behind which 0 is the end; with more items than `_MANY` few are read."""


def run_lucb(jobs: Sequence[Job[KLLucb]], enough: HasEnough = never) -> Runs:
    """Run trials, those of equal rules and equal feedback side by side."""
    return run_in_blocks(
        jobs,
        lambda job: (job.learner.rule.L, *astuple(job.learner.rule), job.looks is None, job.ends_at_click),
        _ROWS,
        ENTRIES,
        lambda part: _Lucb(part).run(enough),
        enough,
    )


# --- Bounds that are computed once ----------------------------------------------------------------------------------


_KEPT = 2**20
"""Number of states whose bounds are kept."""
_SPREAD = 2**32 + 61
"""Factor of `T` in the number of a state; larger than any number of clicks."""
_INSIDE = 2**62 + _KEPT // 2
"""What is added to the number of a state inside `J`."""
_FILLED, _FARTHEST = 512, 256
"""Observations ahead for which bounds are computed together: of all states that are missing, and at most of one."""
_BESIDE = np.arange(-8, 9)
"""Clicks beside those to be expected for which bounds are computed too, if they are likely enough."""


class Bounds:
    """The bounds of a rule by state, shifted as in codes, and the means, with the opposite sign inside `J`.

    A state `(T, S)` on one side has the number `T * _SPREAD + S`, with `_INSIDE` added inside `J`, and is kept at this
    number modulo `_KEPT`, until another state takes the place. With a state that is missing, those that are likely to
    come next are computed too.
    """

    def __init__(self, rule: LucbRule, bits: int) -> None:
        self.rule, self.bits = rule, bits
        self._states, self._codes, self._means = np.zeros(_KEPT, np.int64), np.zeros(_KEPT, np.int64), np.zeros(_KEPT)
        self._states[0] = -1

    def of(self, state: IntArray) -> tuple[IntArray, FloatArray]:
        """Return the bounds and means of states, shape `(n,)`."""
        place = state & (_KEPT - 1)
        code, mean, known = self._codes.take(place), self._means.take(place), self._states.take(place) == state
        if np.count_nonzero(known) < len(known):
            new = np.flatnonzero(~known)
            once, each = np.unique(state.take(new), return_inverse=True)
            filled = self._filled(once)
            code[new], mean[new] = filled[0].take(each), filled[1].take(each)
        return code, mean

    def _filled(self, state: IntArray) -> tuple[IntArray, FloatArray]:
        """Compute and keep the bounds and means of different states, which are returned, and of those ahead."""
        states = np.concatenate([self._ahead(state), state])
        code, mean = self._computed(states)
        place = states & (_KEPT - 1)
        self._states[place], self._codes[place], self._means[place] = states, code, mean
        return code[-len(state) :], mean[-len(state) :]

    def _ahead(self, state: IntArray) -> IntArray:
        """Return states that are likely to come next and are not kept yet."""
        T, S = counts_of(state)
        n = max(2, min(32 + 4 * int(T.max()), _FARTHEST, _FILLED // len(state)))  # little is known of a young item
        steps, rate = np.arange(1, n), (S / np.maximum(T, 1))[:, None]
        clicks = np.rint(steps * rate).astype(np.int64)[:, :, None] + _BESIDE
        likely = abs(_BESIDE) <= 1 + 2 * np.sqrt(steps * rate * (1 - rate))[:, :, None]
        likely &= (clicks >= 0) & (clicks <= steps[:, None])
        later = ((state[:, None] + steps * _SPREAD)[:, :, None] + clicks)[likely]
        later = np.sort(later[self._states.take(later & (_KEPT - 1)) != later])
        return np.asarray(later[np.diff(later, prepend=-1) > 0])  # much faster than `unique`

    def _computed(self, state: IntArray) -> tuple[IntArray, FloatArray]:
        (T, S), inside = counts_of(state), state >= _INSIDE
        code, mean = np.empty(len(T), np.int64), S / np.maximum(T, 1)
        for some, bound, sign in ((inside, self.rule.lower, 1), (~inside, self.rule.upper, -1)):
            if np.count_nonzero(some):
                code[some] = sign + sign * (bound(mean[some], T[some]) / self.rule.UNIT).astype(np.int64)
        return code << self.bits, np.where(inside, -mean, mean)


def counts_of(state: IntArray) -> tuple[IntArray, IntArray]:
    """Return the observations and clicks of states."""
    T = (state & (1 << 62) - 1) // _SPREAD
    return T, state - T * _SPREAD - np.where(state >= _INSIDE, _INSIDE, 0)


# --- Rows of a block ------------------------------------------------------------------------------------------------


@dataclass
class _Rows(RowState):
    """Rows of one rule that advance together.

    Attributes:
        job: place of the row in the jobs; shape `(rows,)`, as for the following.
        stack, looks, cap: source, looks and cap of its job.
        steps: steps that it had made before the block began.
        read: its place in the outcomes that were read.
        unseen: whether some item was never observed, so that lists begin with such items.
        turn, state, mean, code, level: of each item, shape `(rows, L)`, as for the following; see above.
        at: where its next outcome stands in those that were read.
        seen: which places of a list are looked at in the steps to come, shape `(rows, places, steps)`.
    """

    job: IntArray
    stack: NDArray[Any]
    looks: NDArray[Any]
    cap: IntArray
    steps: IntArray
    read: IntArray
    unseen: BoolArray
    turn: IntArray
    state: IntArray
    mean: FloatArray
    code: IntArray
    level: FloatArray
    at: IntArray
    seen: BoolArray

    def __len__(self) -> int:
        return len(self.job)


class _Sides(NamedTuple):
    """Both sides of the boundary.

    Attributes:
        outside, inside: the codes nearest to the boundary, in order; shape `(rows, n)`.
        rival, weakest: the first of each, without the item; shape `(rows,)`.
    """

    outside: IntArray
    inside: IntArray
    rival: IntArray
    weakest: IntArray


class _Lucb:
    """Rows that advance together; `now` counts the steps of the block, and some row `begins` with its first round."""

    def __init__(self, jobs: Sequence[Job[KLLucb]]) -> None:
        self.jobs, self.rule = jobs, jobs[0].learner.rule
        T, S = (np.array([getattr(job.learner, name) for job in jobs]) for name in "TS")
        bits = (T.size - 1).bit_length()
        self.bits, self.low, self.high = bits + 1, (1 << bits) - 1, -1 << bits
        self.bounds = Bounds(self.rule, bits)
        self.stop_above = -int(np.ceil(self.rule.epsilon / self.rule.UNIT)) << bits
        self.near, self.single = max(self.rule.M, 2), self.rule.M == 1
        self.outside, self.inside = (min(n, self.near - 1) for n in (self.rule.L - self.rule.K, self.rule.K))
        self.now, self.begins = 0, True
        self.observed = np.array([_SPREAD, _SPREAD + 1])
        next_turn = np.array([0, _LATER, 1 if jobs[0].ends_at_click else _LATER + 1])
        self.next_turn = next_turn + (1 << self.bits)
        self.outcomes = np.zeros((T.size, 1 + (_READ if T.size <= _MANY else _FIRST)), np.int8)
        places = np.arange(T.size).reshape(T.shape)
        self.rows = _Rows(
            job=np.arange(len(jobs)),
            stack=objects([job.stack for job in jobs]),
            looks=objects([job.looks for job in jobs]),
            cap=np.array([job.cap for job in jobs]),
            steps=np.array([job.steps for job in jobs]),
            read=np.arange(len(jobs)),
            unseen=T.min(axis=1) == 0,
            turn=T - 1 << self.bits | places << 1,
            state=T * _SPREAD + S,
            mean=np.zeros(T.shape),
            code=np.zeros_like(T),
            level=np.full(T.shape, np.inf),
            at=np.zeros_like(T),
            seen=np.zeros((len(jobs), 0, 0), bool),
        )
        self._resize()
        self._read_on(places.ravel(), T.ravel())
        self._show_next(places.ravel(), self.rows.at.ravel(), self.rows.turn.ravel())
        self._set_codes(places.ravel(), self.rows.state.ravel())
        self._rank(np.flatnonzero(~self.rows.unseen | self.rule.may_end_early))

    def _resize(self) -> None:
        self.first = np.arange(len(self.rows)) * self.rule.L
        self.ordered = np.empty((len(self.rows), self.rule.L), np.int64)
        self.cap = int((self.rows.cap - self.rows.steps).min(initial=_LATER))

    def run(self, enough: HasEnough) -> Runs:
        """Run all rows to their end, or until `enough` says so; yield the runs that have ended."""
        while True:
            yield from self._advance()
            if not len(self.rows):
                return
            if enough():
                yield from self._paused()
                return

    # Steps.

    def _advance(self) -> Runs:
        """Make some steps, until rows stop or reach their cap, and end these."""
        until = self.now + _STRIDE
        self._look_ahead()
        while self.now < until:
            least = self._least_observed()
            sides = self._sides()
            ended = self._ended(sides)
            if ended:
                yield from self._end(ended)
                return
            nearest = self._nearest(sides)
            if least.size:
                nearest[:, self.rows.unseen] = least
            self._observe(*self._looked_at(nearest, until))
            self.now += 1

    def _least_observed(self) -> IntArray:
        """Return the least observed places of the rows that are in their first round, shape `(M, rows)`."""
        rows, some = self.rows, np.flatnonzero(self.rows.unseen) if self.begins else self.first[:0]
        self.begins = len(some) > 0
        if not self.begins:
            return some
        turn = rows.turn[some] & _TURN
        going = turn.min(axis=1) >> self.bits == 0
        rows.unseen[some] = going
        if not going.all():
            self._rank(some[~going])
        return np.partition(turn[going], self.near - 1, axis=1)[:, : self.near].T >> 1 & self.low

    def _look_ahead(self) -> None:
        """Read which places of a list are looked at in the next steps; the rows agree on whether all are."""
        rows = self.rows
        if rows.looks[0] is not None:
            starts = zip(rows.looks, (rows.steps + self.now).tolist(), strict=True)
            places = range(self.near)
            rows.seen = np.array([[looks.peek(place, step, _STRIDE) for place in places] for looks, step in starts])

    def _sides(self) -> _Sides:
        """Return both sides of the boundary."""
        code, K, m, n = self.rows.code, self.rule.K, self.outside, self.inside
        if self.rule.L <= _SHORT:
            self.ordered[:] = code
            self.ordered.sort(axis=1)
            outside, inside = self.ordered[:, :m], self.ordered[:, self.rule.L - K : self.rule.L - K + n]
        else:  # without a sign, the codes of `J` are the smallest
            outside, inside = _smallest(code, m), _smallest(code.view(np.uint64), n).view(np.int64)
        return _Sides(outside, inside, outside[:, 0] & self.high, inside[:, 0] & self.high)

    def _nearest(self, sides: _Sides) -> IntArray:
        """Return the places of the `M` items nearest to the boundary (two for `M = 1`), shape `(M, rows)`.

        They are the weakest item, its rival, and those whose bounds overlap most across the boundary. The `n` smallest
        entries of two ordered lists of length `n` are the smaller of the first of one and the last of the other, the
        smaller of the second and the last but one, and so on.
        """
        m, first = self.outside, self.near - self.inside
        nearest = np.empty((self.near, len(self.rows)), np.int64)
        np.add(sides.outside.T, sides.weakest, out=nearest[:m])
        inside = sides.inside[:, ::-1].T + sides.rival
        np.minimum(nearest[first:m], inside[: m - first], out=nearest[first:m])
        nearest[m:] = inside[m - first :]
        nearest &= self.low
        return nearest

    def _looked_at(self, places: IntArray, until: int) -> tuple[IntArray, IntArray]:
        """Return the places that are observed in this step, and their turns.

        An item is observed if its turn does not come after that of the first click.
        """
        later = self.rows.turn.take(places)
        turn = later & _TURN
        if self.rows.seen.size:  # where nobody looks, there is no click
            turn.sort(axis=0)
            turn &= np.where(self.rows.seen[:, :, self.now - until].T, -1, -2)
            ends = (turn & 1 > 0) & (self.next_turn[2] < _LATER)
            later, places = np.where(ends, turn, turn | _LATER), turn >> 1 & self.low
        last = np.minimum.reduce(turn if self.single else later)
        seen = (turn <= last).ravel().nonzero()[0]
        return places.take(seen), turn.take(seen)

    def _observe(self, places: IntArray, turn: IntArray) -> None:
        """Observe places once more, and find `J` anew if a mean reaches its level."""
        rows, click = self.rows, turn & 1
        turn -= click
        self._show_next(places, rows.at.take(places) + 1, turn)
        state = rows.state.take(places)
        state += self.observed.take(click)
        mean = self._set_codes(places, state)
        reached = mean >= rows.level.take(places)
        if np.count_nonzero(reached):
            self._rank(np.flatnonzero(np.bincount(places[reached] // self.rule.L)))

    def _show_next(self, places: IntArray, at: IntArray, turn: IntArray) -> None:
        """Move the turns of places, without outcomes, to the next observations, whose outcomes stand at `at`."""
        rows, outcome = self.rows, self.outcomes.take(at)
        rows.at.ravel()[places] = at
        if np.count_nonzero(outcome) < len(outcome):
            new = np.flatnonzero(outcome == 0)
            self._read_on(places.take(new), (turn.take(new) >> self.bits) + 1)
            outcome = self.outcomes.take(rows.at.take(places))
        turn += self.next_turn.take(outcome)
        rows.turn.ravel()[places] = turn

    def _read_on(self, places: IntArray, T: IntArray) -> None:
        """Read the outcomes after `T` observations."""
        width, (rows, items) = self.outcomes.shape[1], np.divmod(places, self.rule.L)
        read = self.rows.read[rows] * self.rule.L + items
        for some, n in ((T < _FIRST, _FIRST), (T >= _FIRST, width - 1)):
            if np.count_nonzero(some):
                starts = T[some] - T[some] % n
                asked = zip(self.rows.stack[rows[some]], items[some].tolist(), starts.tolist(), strict=True)
                outcomes = np.concatenate([stack.peek(item, start, n) for stack, item, start in asked])
                self.outcomes[read[some], :n], self.outcomes[read[some], n] = outcomes.reshape(-1, n) + _END, 0
                self.rows.at.ravel()[places[some]] = read[some] * width + T[some] % n

    def _rank(self, rows: IntArray) -> None:
        """Find `J` of rows anew."""
        inside, self.rows.level[rows] = ranked(abs(self.rows.mean[rows]), self.rule.K)
        changed = np.flatnonzero(inside != (self.rows.code[rows] > 0))
        if len(changed):
            row, item = np.divmod(changed, self.rule.L)
            places, inside = self.first[rows[row]] + item, inside.ravel()[changed]
            self._set_codes(places, self.rows.state.take(places) + np.where(inside, _INSIDE, -_INSIDE))

    def _set_codes(self, places: IntArray, state: IntArray) -> FloatArray:
        """Set the states of places and what follows from them; return the means."""
        code, mean = self.bounds.of(state)
        code |= places
        self.rows.state.ravel()[places] = state
        self.rows.code.ravel()[places] = code
        self.rows.mean.ravel()[places] = mean
        return mean

    # The end of rows.

    def _ended(self, sides: _Sides) -> dict[int, Ending]:
        """Return the rows that stop or have reached their cap."""
        ended: dict[int, Ending] = {}
        if self.now >= self.cap:
            ended = dict.fromkeys(np.flatnonzero(self.rows.steps + self.now >= self.rows.cap).tolist(), "capped")
        stops = self._may_stop(sides)
        if np.count_nonzero(stops):
            ended |= dict.fromkeys(filter(self._stops, np.flatnonzero(stops).tolist()), "stopped")
        return ended

    def _may_stop(self, sides: _Sides) -> BoolArray:
        """Return in which rows the bounds are apart, or with `glr` at least the items at the boundary."""
        rule = self.rule
        if rule.stopping == "bounds":
            return np.asarray(sides.weakest + sides.rival > self.stop_above)
        at = np.stack([side[:, 0] & self.low for side in (sides.inside, sides.outside)])
        (T, _), mean = counts_of(self.rows.state.take(at)), abs(self.rows.mean.take(at))
        return pairs_apart(T[0], mean[0], T[1], mean[1], rule.K * (rule.L - rule.K), rule.delta)

    def _stops(self, row: int) -> bool:
        return self.rule.stopping == "bounds" or told_apart(
            *counts_of(self.rows.state[row]), self.rule.K, self.rule.delta
        )

    def _end(self, ended: dict[int, Ending]) -> Runs:
        """Yield the runs of rows that have ended, and forget these rows."""
        for row, status in ended.items():
            T, _ = counts_of(self.rows.state[row])
            if status == "capped":
                self._bring_up_to_date(row)
            self.rows.stack[row].forget()
            best = self.rule.best(abs(self.rows.mean[row]))
            steps = int(self.rows.steps[row] + self.now)
            yield (
                int(self.rows.job[row]),
                Run(steps, status, int(T.sum()), best, counts=tuple(T.tolist())),
            )
        kept = np.setdiff1d(np.arange(len(self.rows)), list(ended))
        moved = ((np.arange(len(kept)) - kept) * self.rule.L)[:, None]
        self.rows.keep(kept)
        self.rows.code += moved
        self.rows.turn += moved << 1
        self._resize()

    def _paused(self) -> Runs:
        """Bring the learners of all running rows up to date, and yield their pauses."""
        for row in range(len(self.rows)):
            self._bring_up_to_date(row)
            self.rows.stack[row].forget()
            yield int(self.rows.job[row]), Paused(int(self.rows.steps[row] + self.now))

    def _bring_up_to_date(self, row: int) -> None:
        self.jobs[self.rows.job[row]].learner.take_place(*counts_of(self.rows.state[row]))


def _smallest(values: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the `n` smallest entries of each row, ascending: the smallest of those that parts of a row have."""
    width = values.shape[1]
    if width <= _SHORT or 2 * n > _SHORT:
        return np.sort(values, axis=1)[:, :n]
    padded = np.full((len(values), -(-width // _SHORT) * _SHORT), np.iinfo(values.dtype).max, values.dtype)
    padded[:, :width] = values
    parts = padded.reshape(-1, _SHORT)
    parts.sort(axis=1)
    return _smallest(parts[:, :n].reshape(len(values), -1), n)


def ranked(mean: FloatArray, K: int) -> tuple[BoolArray, FloatArray]:
    """Return the mask of the `K` largest means (ties by number) and the level of each item, shape `(rows, L)`.

    The level is halfway between the means at the boundary. Where these are equal, items with this mean are inside up to
    some number; an item up to there is inside from this mean on, and a later item from the next larger number on.
    """
    n = mean.shape[1] - K
    part = np.partition(mean, (n - 1, n), axis=1)
    rival, worst = part[:, n - 1, None], part[:, n, None]
    inside, halfway = mean >= worst, (worst + rival) / 2
    level = np.where(inside, -halfway, halfway)
    tied = np.flatnonzero(worst == rival)
    if len(tied):
        some, limit = mean[tied], worst[tied]
        room = K - (some > limit).sum(axis=1, keepdims=True)
        least = np.where((some == limit).cumsum(axis=1) <= room, limit, np.nextafter(limit, 2))
        inside[tied] = own = some >= least
        level[tied] = np.where(own, -np.nextafter(least, -1), least)
    return inside, level
