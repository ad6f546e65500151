"""The lockstep engine: many trials of CascadeBAI advance together, one array row a trial.

Every row follows its own stack of rewards, so its run does not depend on the rows beside it. A step sorts packed
(count, item) keys to find the least observed survivors, finds the first click in the display order without sorting
by it, and moves the pointers of the observed items. A row is *parked* as soon as one of its items reaches the end of
the window in which it is proven that no rule can fire; parked rows are judged a few together, by the rule itself
where the proof fails, and get a new window. A row that is stuck leaps.
"""

from collections.abc import Sequence

import numpy as np

from cascadebai_cli.engines.jobs import Enough, Job, Paused, Runs, largest_block, never, run_in_blocks
from cascadebai_cli.engines.leap import State, clicks_of, leap
from cascadebai_cli.engines.lockstep_rows import LONGEST_LEAP, new_rows
from cascadebai_cli.engines.lookahead import NEVER, look_ahead
from cascadebai_cli.engines.run import Run, run_of
from cascadebai_cli.engines.windows import Window, proven_quiet
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.model.instance import BoolArray, IntArray

MEMORY = 256 * 2**20
"""Bytes for the outcomes ahead of one block."""
DEEPEST = 512
"""Outcomes in a bank at most."""
GROWTH = 4
"""Windows are tried in sizes that differ by this factor."""
ROWS = 192
"""Rows of one block at most: more are no faster, as the state does not fit into the cache, and take more memory."""
SHALLOWEST = 32
"""Outcomes in a bank at least."""
OUTCOME_BYTES = 2 * 11
"""Of an outcome in both banks."""
ENTRIES = MEMORY // (OUTCOME_BYTES * SHALLOWEST)
"""Items of all its rows at most, for the memory that it takes."""
LARGEST_KEY = np.iinfo(np.int32).max
"""Keys beyond it take 64 bits."""


def run_lockstep(jobs: Sequence[Job[CascadeBAI]], enough: Enough = never) -> Runs:
    """Run trials of any cells, those of equal `L` and `M` side by side; no run depends on the others."""
    return run_in_blocks(
        jobs,
        lambda job: (job.learner.rule.L, _list_length(job)),
        largest_block(jobs, ROWS, ENTRIES),
        lambda part: _Lockstep(part).run(enough),
        enough,
    )


def _depth(rows: int, L: int) -> int:
    """Outcomes in a bank so that all fit into `MEMORY`: a power of two from `SHALLOWEST` to `DEEPEST`."""
    fitting = MEMORY // (OUTCOME_BYTES * rows * L)
    return int(min(DEEPEST, max(SHALLOWEST, 2 ** (fitting.bit_length() - 1 if fitting else 0))))


def _list_length(job: Job[CascadeBAI]) -> int:
    return job.learner.rule.batch(job.learner.rule.L)


class _Lockstep:
    """Rows that advance together; `now` counts the steps of the block."""

    def __init__(self, jobs: Sequence[Job[CascadeBAI]]) -> None:
        self.L, self.M = jobs[0].learner.rule.L, _list_length(jobs[0])
        self.shift = (self.L - 1).bit_length()
        self.ahead = look_ahead(jobs, _depth(len(jobs), self.L))
        self.rows = new_rows(jobs, self.shift, self.ahead.depth)
        self.ended: list[tuple[int, Run]] = []
        self.now = 0

    def run(self, enough: Enough) -> Runs:
        """Run all rows to their end, or until it is enough."""
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
        """Let rows make a step: with the state in which they begin the rules were at work already."""
        rows = np.arange(len(self.rows))
        self.ahead.turn(rows, self.rows.alive)
        self._fit_keys()
        for row in np.flatnonzero(self.rows.steps >= self.rows.cap).tolist():
            self._finish(row)
        self._open(np.flatnonzero(self.rows.job >= 0), 1)

    # Steps.

    def _advance(self) -> None:
        """Step the rows that are not parked until some more are worth looking at."""
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
        L, now = self.L, self.now
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
            clicks[place] = np.where(next_ends[moved], reached, NEVER)
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
        state.value[rows], state.click[rows] = np.inf, NEVER
        return len(rows)

    # What becomes of parked rows.

    def _look_at(self, rows: IntArray) -> None:
        """Judge the parked rows and open a window for those that go on."""
        state = self.rows
        for row in rows[self._stuck(rows)].tolist():
            self._leap(row)
        self.ahead.turn(rows, state.alive[rows])
        self._fit_keys()
        larger = np.where(state.size[rows] > 1, np.minimum(GROWTH * state.size[rows], self.ahead.depth), 2)
        size = np.where(state.steps[rows] >= state.cap[rows], 1, larger)
        while (wide := size > 1).any():
            self._open_if_quiet(rows[wide], size[wide])
            parked = self.rows.parked[rows]
            rows, size = rows[parked], np.maximum(size[parked] // GROWTH, 1)
        self._judge(rows)
        self._open(rows[self.rows.job[rows] >= 0], 1)

    def _fit_keys(self) -> None:
        """Change to 64 bits before a count outgrows its part of a 32-bit key."""
        largest = int(self.ahead.T0.max()) + 2 * self.ahead.depth + LONGEST_LEAP
        bits = 64 if largest >= LARGEST_KEY >> self.shift else 32
        if self.rows.key.itemsize * 8 != bits:
            self.rows.retype_keys(bits, self.shift)

    def _open_if_quiet(self, rows: IntArray, size: IntArray) -> None:
        """Open windows where it is proven that no rule can fire before an item reaches the end of its window.

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
        """Whether no rule can fire before an item was observed more often than `more` times."""
        alive, slots = self.rows.alive[rows], self.ahead.slots(rows)
        T_end, S_end = self.ahead.counts(rows, slots + more)
        radius = self.ahead.radius(rows, np.where(alive, T_end, 1))
        window = Window(alive, *self.ahead.counts(rows, slots), T_end, S_end, radius)
        return proven_quiet(window, self.rows.k[rows], self.rows.epsilon[rows])

    def _open(self, rows: IntArray, width: IntArray | int) -> None:
        """Let rows go on; a window of width 1 ends with the next step and needs no proof."""
        state, ahead = self.rows, self.ahead
        alive, at = state.alive[rows], ahead.at[rows]
        value = np.where(alive, ahead.values.ravel()[at], np.inf)
        state.value[rows] = value
        state.click[rows] = np.where(alive & ahead.ends.ravel()[at], value, NEVER)
        ahead.stop[rows] = at + width * self.L
        state.parked[rows] = False
        state.since[rows] = self.now
        state.size[rows] = 1

    # Leaps.

    def _stuck(self, rows: IntArray) -> BoolArray:
        """Rows in which a leap is worth a try: the list, or all of it but one place, cannot change soon."""
        state, ordered = self.rows, np.sort(self.rows.key[rows], axis=1) >> self.shift
        settled = ordered[:, self.M - 2] < ordered[:, self.M - 1] if self.M > 1 else True
        few = state.alive[rows].sum(axis=1) <= self.M
        ordered_by_value = self.ahead.cascading[rows] & (self.ahead.display[rows, 0] != 0)
        return np.asarray(state.may_leap(rows) & ordered_by_value & (few | settled))

    def _leap(self, row: int) -> None:
        """Leap as long as it is worthwhile."""
        T, S = self._counts(row)
        start, state = T.copy(), State(self._learner(row), self.ahead.stack[row], T, S)
        worthwhile = True
        while worthwhile:
            aim = self.rows.next_aim(row)
            steps, observed = leap(state, aim)
            S += clicks_of(state, observed)
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
        """Lines 11 to 17 of Algorithm 1, by the learner's own rule."""
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
        self.rows.remove(row, D[accept | reject], self.shift)
        if learner.race.finished:
            self._finish(row)

    def _learner(self, row: int) -> CascadeBAI:
        learner: CascadeBAI = self.rows.learner[row]
        return learner

    def _up_to_date(self, row: int) -> CascadeBAI:
        """The learner, with the counts and clicks of its survivors."""
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
        self.ended.append((int(self.rows.job[row]), run_of(learner.race, int(self.rows.steps[row]), learner.T)))
        self.rows.job[row] = -1
        self.ahead.stack[row].forget()

    def _paused(self) -> Runs:
        """Bring the learners of all rows up to date."""
        self._park(np.flatnonzero(self.rows.job >= 0), self.now)
        for row in np.flatnonzero(self.rows.job >= 0).tolist():
            self._up_to_date(row)
            self.ahead.stack[row].forget()
            yield int(self.rows.job[row]), Paused(int(self.rows.steps[row]))

    def _drop_finished(self, going: IntArray) -> None:
        """Forget finished rows once they are a quarter of all."""
        if len(going) <= 0.75 * len(self.rows):
            self.ahead.keep(going)
            self.rows.keep(going)
