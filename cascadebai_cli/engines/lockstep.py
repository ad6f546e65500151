"""The lockstep engine: trials of CascadeBAI in any display order advance together, one array row per trial."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.jobs import (
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
from cascadebai_cli.engines.lookahead import Lookahead, LookState, leap, proven_quiet
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

# --- Rows of a block, and when each of them tries to leap -----------------------------------------------------------


_SHORTEST_LEAP, _LONGEST_LEAP = 1 << 10, 1 << 16
"""Smallest and largest number of steps that a leap aims at."""
_WORTHWHILE = 256
"""Number of steps from which a leap is cheaper than single steps."""
_LONGEST_PAUSE = 1 << 12
"""Largest number of steps after which a row that might be stuck tries to leap again."""


@dataclass
class _LockstepRows(RowState):
    """The state of each row. Arrays up to `pause` have shape `(rows,)`, the others `(rows, L)`.

    Attributes:
        job: place of the row in the jobs, -1 once it has ended.
        learner, epsilon, cap: learner, tolerance and cap of its job.
        k: number of items still to be accepted.
        steps, since: steps that the row had made when it last went on, and steps of the block at that time.
        parked: whether the row waits to be looked at.
        size: width of its last window.
        aim: number of steps that its next leap aims at.
        retry: number of steps of the row from which that leap is tried.
        pause: number of steps between a leap and the next try, larger after leaps that were not worthwhile.
        alive: mask of the survivors.
        key: `count << shift | item`, larger than all others once the item is identified.
        value: value that the item is sorted by now; `inf`, behind every click, if it cannot be observed.
        click: `value` if the item's next outcome is a click that ends the step, else `NEVER`.
    """

    job: IntArray
    learner: NDArray[Any]
    epsilon: FloatArray
    cap: IntArray
    k: IntArray
    steps: IntArray
    since: IntArray
    parked: BoolArray
    size: IntArray
    aim: IntArray
    retry: IntArray
    pause: IntArray
    alive: BoolArray
    key: NDArray[Any]
    value: FloatArray
    click: FloatArray

    def __len__(self) -> int:
        return len(self.job)

    def remove(self, row: int, items: IntArray, shift: int) -> None:
        """Take identified items out of a row."""
        self.alive[row, items] = False
        self.k[row] = self.learner[row].race.k
        self.key[row, items] = _last_key(self.key, shift) + items

    def retype_keys(self, bits: int, shift: int) -> None:
        """Change the keys to `bits` bits."""
        self.key = self.key.astype(np.int32 if bits == 32 else np.int64)
        dead, items = np.nonzero(~self.alive)
        self.key[dead, items] = _last_key(self.key, shift) + items

    def until(self) -> IntArray:
        """Return the step of the block at which each row reaches its cap or tries to leap; `NO_CAP` for parked rows."""
        soon = (self.pause == _WORTHWHILE) & (self.retry > self.steps)
        until = np.where(soon, np.minimum(self.cap, self.retry), self.cap)
        return np.where(self.parked, Job.NO_CAP, self.since + until - self.steps)

    def may_leap(self, rows: IntArray) -> BoolArray:
        """Return which of the rows are due for their next leap and far enough from their cap."""
        is_due: BoolArray = self.steps[rows] >= self.retry[rows]
        return is_due & (self.steps[rows] < self.cap[rows] - _WORTHWHILE)

    def next_aim(self, row: int) -> int:
        """Return how many steps the next leap of a row aims at, so that it ends before the cap."""
        return min(int(self.aim[row]), int(self.cap[row] - self.steps[row]) - 1)

    def leapt(self, row: int, aim: int, steps: int) -> bool:
        """Record that a row made `steps` steps by a leap that aimed at `aim`; return whether that was worthwhile.

        The next leap aims further after a full leap and less far after one that failed; it waits if the shortest aim
        was not worthwhile.
        """
        far = _LONGEST_LEAP if 2 * steps > aim else aim // 2 if 8 * steps < aim else aim
        worthwhile = steps >= _WORTHWHILE
        self.steps[row] += steps
        self.aim[row] = max(_SHORTEST_LEAP, min(far, 2 * aim))
        self.pause[row] = _WORTHWHILE if worthwhile else min(2 * self.pause[row], _LONGEST_PAUSE)
        self.retry[row] = self.steps[row] + self.pause[row]
        return worthwhile


def _last_key(key: NDArray[Any], shift: int) -> int:
    return int(np.iinfo(key.dtype).max) >> shift << shift


def _new_rows(jobs: Sequence[Job[CascadeBAI]], shift: int, size: int) -> _LockstepRows:
    """Return rows that stand where their learners do, all parked, with 64-bit keys and windows of width `size`."""
    rows, L = len(jobs), jobs[0].learner.rule.L
    learners = [job.learner for job in jobs]
    made = _LockstepRows(
        job=np.arange(rows),
        learner=objects(learners),
        epsilon=np.array([learner.rule.epsilon for learner in learners]),
        cap=np.array([job.cap for job in jobs]),
        k=np.array([learner.race.k for learner in learners]),
        steps=np.array([job.steps for job in jobs]),
        since=np.zeros(rows, np.int64),
        parked=np.ones(rows, bool),
        size=np.full(rows, size),
        aim=np.full(rows, _SHORTEST_LEAP),
        retry=np.zeros(rows, np.int64),
        pause=np.full(rows, 2 * _WORTHWHILE),
        alive=np.ones((rows, L), bool),
        key=(np.array([learner.T for learner in learners]) << shift) | np.arange(L),
        value=np.full((rows, L), np.inf),
        click=np.full((rows, L), Lookahead.NEVER),
    )
    for row, learner in enumerate(learners):
        made.remove(row, np.array(learner.race.accepted + learner.race.rejected, np.int64), shift)
    return made


# --- The lockstep engine --------------------------------------------------------------------------------------------
#
# Many trials of CascadeBAI advance together, one array row per trial. Every row follows its own stack of rewards, so
# its run does not depend on the other rows. A step sorts packed (count, item) keys to find the least observed
# survivors, finds the first click in the display order without sorting by it, and moves the pointers of the observed
# items. Each item has a window of outcomes within which it is proven that no rule can fire. A row is *parked* as soon
# as one of its items reaches the end of its window. Parked rows are judged a few at a time, by the rule itself where
# the proof fails, and get new windows. A row whose list hardly changes is stuck; it leaps (`lookahead`).


_MEMORY = 256 * 2**20
"""Bytes for the outcomes that one block has read ahead."""
_DEEPEST = 512
"""Largest number of outcomes in a bank."""
_GROWTH = 4
"""Factor between the sizes of windows that are tried one after the other."""
ROWS = 192
"""Largest number of rows of a block: with more the state outgrows the cache, so that nothing gets faster."""
_SHALLOWEST = 32
"""Smallest number of outcomes in a bank."""
_OUTCOME_BYTES = 2 * 11
"""Bytes that an outcome takes in both banks."""
ENTRIES = _MEMORY // (_OUTCOME_BYTES * _SHALLOWEST)
"""Largest number of items of all rows of a block together, which bounds its memory."""
_LARGEST_KEY = np.iinfo(np.int32).max
"""Largest key of 32 bits; larger keys take 64."""


def run_lockstep(jobs: Sequence[Job[CascadeBAI]], enough: HasEnough = never) -> Runs:
    """Run trials of any cells, those of equal `L` and `M` side by side; no run depends on the others."""
    return run_in_blocks(
        jobs,
        lambda job: (job.learner.rule.L, _list_length(job)),
        ROWS,
        ENTRIES,
        lambda part: _Lockstep(part).run(enough),
        enough,
    )


def _depth(rows: int, L: int) -> int:
    """Return the outcomes of a bank: the largest power of two from `_SHALLOWEST` to `_DEEPEST` that fits `_MEMORY`."""
    fitting = _MEMORY // (_OUTCOME_BYTES * rows * L)
    return int(min(_DEEPEST, max(_SHALLOWEST, 2 ** (fitting.bit_length() - 1 if fitting else 0))))


def _list_length(job: Job[CascadeBAI]) -> int:
    return job.learner.rule.batch(job.learner.rule.L)


class _Lockstep:
    """Rows that advance together; `now` counts the steps of the block."""

    def __init__(self, jobs: Sequence[Job[CascadeBAI]]) -> None:
        self.L, self.M = jobs[0].learner.rule.L, _list_length(jobs[0])
        self.shift = (self.L - 1).bit_length()
        self.ahead = Lookahead.of(jobs, _depth(len(jobs), self.L))
        self.rows = _new_rows(jobs, self.shift, self.ahead.depth)
        self.ended: list[tuple[int, Run]] = []
        self.now = 0

    def run(self, enough: HasEnough) -> Runs:
        """Run all rows to their end, or until `enough` says so; yield the runs that have ended."""
        self._start()
        yield from self._handed_back()
        while len(going := np.flatnonzero(self.rows.job >= 0)):
            self._drop_finished(going)
            self._advance()
            self._look_at(np.flatnonzero(self.rows.parked & (self.rows.job >= 0)))
            yield from self._handed_back()
            if enough():
                yield from self._paused()
                return

    def _handed_back(self) -> list[tuple[int, Run]]:
        ended, self.ended = self.ended, []
        return ended

    def _start(self) -> None:
        """Let rows make a first step: the rules have judged the state in which they begin already."""
        rows = np.arange(len(self.rows))
        self.ahead.turn(rows, self.rows.alive)
        self._fit_keys()
        for row in np.flatnonzero(self.rows.steps >= self.rows.cap).tolist():
            self._finish(row)
        self._open(np.flatnonzero(self.rows.job >= 0), 1)

    # Steps.

    def _advance(self) -> None:
        """Step the rows that are not parked until enough of them have parked to be looked at."""
        rows, ahead = self.rows, self.ahead
        running = len(rows) - int(rows.parked.sum())
        waiting, enough = 0, min(running, 1 + len(rows) // 8)
        until = rows.until()
        next_end = int(until.min())
        values, clicks, stop, keys = rows.value.ravel(), rows.click.ravel(), ahead.stop.ravel(), rows.key.ravel()
        at, next_value, next_ends = ahead.at.ravel(), ahead.values.ravel(), ahead.ends.ravel()
        key, M, ordered = rows.key, self.M, np.empty_like(rows.key)
        item, observed = key.dtype.type((1 << self.shift) - 1), key.dtype.type(1 << self.shift)
        start, columns = np.arange(len(rows))[:, None] * self.L, np.arange(M, dtype=np.int16)
        shown, corner = np.empty((len(rows), M), np.int64), np.arange(len(rows)) * M
        L, now, never = self.L, self.now, ahead.NEVER
        while waiting < enough and now < next_end:
            now += 1
            np.copyto(ordered, key)
            ordered.sort(axis=1)
            np.add(ordered[:, :M] & item, start, out=shown)
            value, click = values[shown], clicks[shown]
            first = click.argmin(axis=1)
            last = click.ravel()[corner + first][:, None]
            seen = value == last
            seen &= columns <= first.astype(np.int16)[:, None]
            seen |= value < last
            place = shown[seen]
            keys[place] += observed
            moved = at[place] + L
            at[place] = moved
            reached = next_value[moved]
            values[place] = reached
            clicks[place] = np.where(next_ends[moved], reached, never)
            ended = moved == stop[place]
            if np.count_nonzero(ended):  # much faster than `any`
                waiting += self._park(np.unique(place[ended] // self.L), now)
        self.now = now
        self._park(np.flatnonzero(until <= now), now)

    def _park(self, rows: IntArray, now: int) -> int:
        state = self.rows
        rows = rows[~state.parked[rows]]
        state.parked[rows] = True
        state.steps[rows] += now - state.since[rows]
        state.value[rows], state.click[rows] = np.inf, Lookahead.NEVER
        return len(rows)

    # Parked rows.

    def _look_at(self, rows: IntArray) -> None:
        """Judge the parked rows and open a window for those that go on."""
        state = self.rows
        for row in rows[self._stuck(rows)].tolist():
            self._leap(row)
        self.ahead.turn(rows, state.alive[rows])
        self._fit_keys()
        larger = np.where(state.size[rows] > 1, np.minimum(_GROWTH * state.size[rows], self.ahead.depth), 2)
        size = np.where(state.steps[rows] >= state.cap[rows], 1, larger)
        while (wide := size > 1).any():
            self._open_if_quiet(rows[wide], size[wide])
            parked = self.rows.parked[rows]
            rows, size = rows[parked], np.maximum(size[parked] // _GROWTH, 1)
        self._judge(rows)
        self._open(rows[self.rows.job[rows] >= 0], 1)

    def _fit_keys(self) -> None:
        """Change to 64 bits before a count outgrows its part of a 32-bit key."""
        largest = int(self.ahead.T0.max()) + 2 * self.ahead.depth + _LONGEST_LEAP
        bits = 64 if largest >= _LARGEST_KEY >> self.shift else 32
        if self.rows.key.itemsize * 8 != bits:
            self.rows.retype_keys(bits, self.shift)

    def _open_if_quiet(self, rows: IntArray, size: IntArray) -> None:
        """Open windows for rows in which provably no rule can fire before an item reaches the end of its window.

        The most observed item may be observed `size` times in the window, the others less in proportion: an item
        that was seldom observed so far will seldom be observed, and its mean moves more if it is.
        """
        alive = self.rows.alive[rows]
        slots = self.ahead.slots(rows)
        T = np.where(alive, self.ahead.counts(rows, slots)[0], 0)
        share = -(-size[:, None] * T // np.maximum(T.max(axis=1), 1)[:, None])
        width = np.minimum(np.maximum(share, 1), self.ahead.depth - slots)
        quiet = self._quiet(rows, np.where(alive, width - 1, 0))
        self._open(rows[quiet], width[quiet])
        self.rows.size[rows[quiet]] = size[quiet]

    def _quiet(self, rows: IntArray, more: IntArray | int) -> BoolArray:
        """Return in which rows no rule can fire before an item was observed more than `more` further times."""
        alive, slots = self.rows.alive[rows], self.ahead.slots(rows)
        now, end = self.ahead.counts(rows, slots), self.ahead.counts(rows, slots + more)
        radius = self.ahead.radius(rows, np.where(alive, end[0], 1))
        return proven_quiet(alive, now, end, radius, self.rows.k[rows], self.rows.epsilon[rows])

    def _open(self, rows: IntArray, width: IntArray | int) -> None:
        """Let rows go on; a window of width 1 ends with the next step, so that it needs no proof."""
        state, ahead = self.rows, self.ahead
        alive, at = state.alive[rows], ahead.at[rows]
        value = np.where(alive, ahead.values.ravel()[at], np.inf)
        state.value[rows] = value
        state.click[rows] = np.where(alive & ahead.ends.ravel()[at], value, Lookahead.NEVER)
        ahead.stop[rows] = at + width * self.L
        state.parked[rows] = False
        state.since[rows] = self.now
        state.size[rows] = 1

    # Leaps.

    def _stuck(self, rows: IntArray) -> BoolArray:
        """Return in which rows a leap is worth a try: the list, or all of it but one place, cannot change soon."""
        state, ordered = self.rows, np.sort(self.rows.key[rows], axis=1) >> self.shift
        settled = ordered[:, self.M - 2] < ordered[:, self.M - 1] if self.M > 1 else True
        few = state.alive[rows].sum(axis=1) <= self.M
        ordered_by_value = self.ahead.cascading[rows] & (self.ahead.display[rows, 0] != 0)
        return np.asarray(state.may_leap(rows) & ordered_by_value & (few | settled))

    def _leap(self, row: int) -> None:
        """Leap as long as it is worthwhile."""
        T, S = self._counts(row)
        start, state = T.copy(), LookState(self._learner(row), self.ahead.stack[row], T, S)
        worthwhile = True
        while worthwhile:
            aim = self.rows.next_aim(row)
            steps, observed = leap(state, aim)
            S += state.clicks_ahead(observed)
            T += observed
            worthwhile = self.rows.leapt(row, aim, steps)
        self._moved(row, T, S, start < T)

    def _moved(self, row: int, T: IntArray, S: IntArray, moved: BoolArray) -> None:
        items = np.flatnonzero(moved)
        self.rows.key[row, items] = (T[items] << self.shift) | items
        self.ahead.move(row, T, S, items)

    # Decisions.

    def _judge(self, rows: IntArray) -> None:
        """Accept and reject in rows that are not proven quiet, then end those that have reached the cap."""
        if len(rows) == 0:
            return
        for row in rows[~self._quiet(rows, 0)].tolist():
            self._identify(row)
        for row in rows[(self.rows.job[rows] >= 0) & (self.rows.steps[rows] >= self.rows.cap[rows])].tolist():
            self._finish(row)

    def _identify(self, row: int) -> None:
        """Apply lines 11 to 17 of Algorithm 1 by the learner's own rule."""
        learner = self._up_to_date(row)
        D = learner.race.survivors
        T = learner.T[D]
        mean = learner.S[D] / np.maximum(T, 1)
        accept, reject = learner.rule.identify(
            mean, learner.rule.lower(mean, T), learner.rule.upper(mean, T), learner.race.k
        )
        if not (accept.any() or reject.any()):
            return
        learner.race.settle(accept, reject, mean)
        learner.race.stamp(int(self.rows.steps[row]))
        self.rows.remove(row, D[accept | reject], self.shift)
        if learner.race.finished:
            self._finish(row)

    def _learner(self, row: int) -> CascadeBAI:
        learner: CascadeBAI = self.rows.learner[row]
        return learner

    def _up_to_date(self, row: int) -> CascadeBAI:
        """Return the learner after its survivors' counts and clicks were brought up to date."""
        learner = self._learner(row)
        D = learner.race.survivors
        learner.T[D], learner.S[D] = (counts[D] for counts in self._counts(row))
        return learner

    def _counts(self, row: int) -> tuple[IntArray, IntArray]:
        rows = np.array([row])
        T, S = self.ahead.counts(rows, self.ahead.slots(rows))
        return T[0], S[0]

    def _finish(self, row: int) -> None:
        learner = self._up_to_date(row)
        self.ended.append((int(self.rows.job[row]), Run.of_race(learner.race, int(self.rows.steps[row]), learner.T)))
        self.rows.job[row] = -1
        self.ahead.stack[row].forget()

    def _paused(self) -> Runs:
        """Bring the learners of all running rows up to date, and yield their pauses."""
        self._park(np.flatnonzero(self.rows.job >= 0), self.now)
        for row in np.flatnonzero(self.rows.job >= 0).tolist():
            self._up_to_date(row)
            self.ahead.stack[row].forget()
            yield int(self.rows.job[row]), Paused(int(self.rows.steps[row]))

    def _drop_finished(self, going: IntArray) -> None:
        """Forget finished rows once they are a quarter of all rows."""
        if len(going) <= 0.75 * len(self.rows):
            self.ahead.keep(going)
            self.rows.keep(going)
