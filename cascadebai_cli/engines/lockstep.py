"""The lockstep engine: many trials of CascadeBAI advance together, one array row a trial.

Every row follows its own stack of rewards, so its run does not depend on the rows beside it. A step sorts packed
(count, item) keys to find the least observed survivors, finds the first click in the display order without sorting
by it, and moves the pointers of the observed items. A row is *parked* as soon as one of its items reaches the end of
the window in which it is proven that no rule can fire; parked rows are judged a few together, by the rule itself
where the proof fails, and get a new window. A row that is stuck leaps.
"""

from collections.abc import Sequence

import numpy as np

from cascadebai_cli.engines.jobs import Job, Runs, run_in_blocks
from cascadebai_cli.engines.leap import State, clicks_of, leap
from cascadebai_cli.engines.lookahead import NEVER, Lookahead
from cascadebai_cli.engines.run import Run, Status
from cascadebai_cli.engines.windows import Window, proven_quiet
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.learners.racing import RadiusRule
from cascadebai_cli.model.instance import BoolArray, IntArray

MEMORY = 256 * 2**20
"""Bytes for the outcomes ahead of one block."""
DEEPEST = 512
"""Outcomes in a bank at most."""
GROWTH = 4
"""Windows are tried in sizes that differ by this factor."""
ROWS = 320
"""Rows of one block at most: more are no faster, as the state does not fit into the cache."""
LARGEST_KEY = np.iinfo(np.int32).max
"""Keys beyond it take 64 bits."""
SHORTEST_LEAP, LONGEST_LEAP = 1 << 10, 1 << 16
"""Steps that a leap aims at."""
WORTHWHILE = 256
"""Steps from which on a leap is cheaper than stepping."""
LONGEST_PAUSE = 1 << 12
"""Steps after which a row that might be stuck tries to leap again."""
NO_CAP = np.iinfo(np.int64).max // 2


def run_lockstep(jobs: Sequence[Job[CascadeBAI]]) -> Runs:
    """Run trials of any cells, those of equal `L` and `K` side by side; no run depends on the others."""
    return run_in_blocks(
        jobs, lambda job: (job.learner.rule.L, job.learner.rule.K), ROWS, lambda part: _Block(part).run()
    )


def _depth(rows: int, L: int) -> int:
    """Outcomes in a bank so that all fit into `MEMORY`, 11 bytes each: a power of two from 32 to `DEEPEST`."""
    fitting = MEMORY // (2 * 11 * rows * L)
    return int(min(DEEPEST, max(32, 2 ** (fitting.bit_length() - 1 if fitting else 0))))


def _rule(learner: CascadeBAI) -> RadiusRule:
    assert isinstance(learner.rule, RadiusRule)
    return learner.rule


_OF_A_ROW = ("key", "alive", "parked", "size", "k", "epsilon", "cap", "steps", "since", "ids", "aim", "retry", "pause")


class _Block:
    """Rows that advance together.

    Attributes:
        key: `count << shift | item` of each place, larger than all others once the item is identified.
        value: what each place is sorted by now; `inf`, behind every click, if it cannot be observed.
        click: the same if the place's next outcome is a click that ends the step, else `NEVER`.
        stop: where the window of each place ends, a value of `ahead.at`.
        now: steps made by the block; `since` of them lie before the row's last start, when it had made `steps`.
        size: width of the last window of each row.
        aim: steps that the next leap aims at; it is tried once the row has made `retry` steps, and after a leap that
            was not worthwhile only `pause` steps later.
    """

    def __init__(self, jobs: Sequence[Job[CascadeBAI]]) -> None:
        self.jobs = list(jobs)
        self.learners = [job.learner for job in jobs]
        self.L, self.K = self.learners[0].rule.L, self.learners[0].rule.K
        self.ids = np.arange(len(jobs))
        self.results: dict[int, Run] = {}
        self.shift = (self.L - 1).bit_length()
        self.ahead = Lookahead(
            [job.stack for job in jobs],
            [_rule(learner) for learner in self.learners],
            np.array([learner.display for learner in self.learners]),
            np.array([job.cascading for job in jobs]),
            _depth(len(jobs), self.L),
        )
        self._start(len(jobs))

    def _start(self, rows: int) -> None:
        self.key = np.tile(np.arange(self.L, dtype=np.int32), (rows, 1))
        self.alive = np.ones((rows, self.L), bool)
        self.value, self.click = np.full(rows * self.L, np.inf), np.full(rows * self.L, NEVER)
        self.stop = np.zeros(rows * self.L, np.int64)
        self.parked = np.ones(rows, bool)
        self.size = np.full(rows, self.ahead.depth)
        self.k = np.full(rows, self.K)
        self.epsilon = np.array([learner.rule.epsilon for learner in self.learners])
        caps = [job.max_steps for job in self.jobs]
        self.cap = np.array([NO_CAP if cap is None else cap for cap in caps])
        self.aim = np.full(rows, SHORTEST_LEAP)
        self.retry, self.pause = np.zeros(rows, np.int64), np.full(rows, 2 * WORTHWHILE)
        self.now = 0
        self.steps, self.since = np.zeros(rows, np.int64), np.zeros(rows, np.int64)

    def run(self) -> Runs:
        """Run all rows to their end."""
        while len(self.results) < len(self.jobs):
            self._attend(np.flatnonzero(self.parked & (self.ids >= 0)))
            self._drop_finished()
            self._advance()
        yield from self.results.items()

    # Steps.

    def _advance(self) -> None:
        """Step the rows that are not parked until some more are worth attending to."""
        rows = len(self.ids)
        running = rows - int(self.parked.sum())
        waiting, enough = 0, min(running, 1 + rows // 8)
        soon = (self.pause == WORTHWHILE) & (self.retry > self.steps)
        until = np.where(soon, np.minimum(self.cap, self.retry), self.cap)
        until = np.where(self.parked, NO_CAP, self.since + until - self.steps)
        next_end = int(until.min())
        values, clicks, stop, keys = self.value, self.click, self.stop, self.key.ravel()
        at, next_value, next_ends = self.ahead.at, self.ahead.values.ravel(), self.ahead.ends.ravel()
        key, K, ordered = self.key, self.K, np.empty_like(self.key)
        item, observed = key.dtype.type((1 << self.shift) - 1), key.dtype.type(1 << self.shift)
        start, columns = np.arange(rows)[:, None] * self.L, np.arange(K, dtype=np.int16)
        shown, corner = np.empty((rows, K), np.int64), np.arange(rows) * K
        L, now = self.L, self.now
        while waiting < enough and now < next_end:
            now += 1
            np.copyto(ordered, key)
            ordered.sort(axis=1)
            np.add(ordered[:, :K] & item, start, out=shown)
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
        rows = rows[~self.parked[rows]]
        self.parked[rows] = True
        self.steps[rows] += now - self.since[rows]
        self.value.reshape(-1, self.L)[rows] = np.inf
        self.click.reshape(-1, self.L)[rows] = NEVER
        return len(rows)

    # Attention to parked rows.

    def _attend(self, rows: IntArray) -> None:
        """Judge the parked rows and open a window for those that go on."""
        for row in rows[self._stuck(rows)].tolist():
            self._leap(row)
        self.ahead.turn(rows, self.alive[rows])
        self._widen_keys()
        capped = self.steps[rows] >= self.cap[rows]
        size = np.where(
            capped, 1, np.where(self.size[rows] > 1, np.minimum(GROWTH * self.size[rows], self.ahead.depth), 2)
        )
        while (wide := size > 1).any():
            self._open_if_quiet(rows[wide], size[wide])
            parked = self.parked[rows]
            rows, size = rows[parked], np.maximum(size[parked] // GROWTH, 1)
        self._judge(rows)
        self._open(rows[self.ids[rows] >= 0], 1)

    def _widen_keys(self) -> None:
        """Change to 64 bits before a count outgrows its part of a 32-bit key."""
        largest = int(self.ahead.T0.max()) + 2 * self.ahead.depth + LONGEST_LEAP
        if self.key.dtype == np.int32 and largest >= LARGEST_KEY >> self.shift:
            self.key = self.key.astype(np.int64)
            self.key[~self.alive] += 1 << 62

    def _open_if_quiet(self, rows: IntArray, size: IntArray) -> None:
        """Open windows where it is proven that no rule can fire before an item reaches the end of its window.

        The most observed item may be observed `size` times in the window, the others less in proportion: an item
        that was seldom observed so far will seldom be observed, and its mean moves more if it is.
        """
        alive = self.alive[rows]
        slots = self.ahead.slots(rows)
        T = np.where(alive, self.ahead.counts(rows, slots)[0], 0)
        share = -(-size[:, None] * T // np.maximum(T.max(axis=1), 1)[:, None])
        width = np.minimum(np.maximum(share, 1), self.ahead.depth - slots)
        quiet = self._quiet(rows, np.where(alive, width - 1, 0))
        self._open(rows[quiet], width[quiet])
        self.size[rows[quiet]] = size[quiet]

    def _quiet(self, rows: IntArray, more: IntArray | int) -> BoolArray:
        """Whether no rule can fire before an item was observed more often than `more` times."""
        alive, slots = self.alive[rows], self.ahead.slots(rows)
        T_end, S_end = self.ahead.counts(rows, slots + more)
        radius = self.ahead.radius(rows, np.where(alive, T_end, 1))
        window = Window(alive, *self.ahead.counts(rows, slots), T_end, S_end, radius)
        return proven_quiet(window, self.k[rows], self.epsilon[rows])

    def _open(self, rows: IntArray, width: IntArray | int) -> None:
        """Let rows go on; a window of width 1 ends with the next step and needs no proof."""
        alive, at = self.alive[rows], self.ahead.pointers(rows)
        value = np.where(alive, self.ahead.values.ravel()[at], np.inf)
        self.value.reshape(-1, self.L)[rows] = value
        self.click.reshape(-1, self.L)[rows] = np.where(alive & self.ahead.ends.ravel()[at], value, NEVER)
        self.stop.reshape(-1, self.L)[rows] = at + width * self.L
        self.parked[rows] = False
        self.since[rows] = self.now
        self.size[rows] = 1

    # Leaps.

    def _stuck(self, rows: IntArray) -> BoolArray:
        """Rows in which a leap is worth a try: the list, or all of it but one place, cannot change soon."""
        ordered = np.sort(self.key[rows], axis=1) >> self.shift
        settled = ordered[:, self.K - 2] < ordered[:, self.K - 1] if self.K > 1 else True
        few = self.alive[rows].sum(axis=1) <= self.K
        due = (self.steps[rows] >= self.retry[rows]) & (self.steps[rows] < self.cap[rows] - WORTHWHILE)
        ordered_by_value = self.ahead.cascading[rows] & (self.ahead.display[rows, 0] != 0)
        return np.asarray(due & ordered_by_value & (few | settled))

    def _leap(self, row: int) -> None:
        """Leap as long as it is worthwhile."""
        T, S = self._counts(row)
        start, state = T.copy(), State(self.learners[row], self.jobs[int(self.ids[row])].stack, T, S)
        while True:
            aim = min(int(self.aim[row]), int(self.cap[row] - self.steps[row]) - 1)
            steps, observed = leap(state, aim)
            S += clicks_of(state, observed)
            T += observed
            self.steps[row] += steps
            self._aim(row, aim, steps)
            if steps < WORTHWHILE:
                break
        self._moved(row, T, S, start < T)

    def _aim(self, row: int, aim: int, steps: int) -> None:
        """Aim further after a full leap, less far after one that failed, and wait after one at the shortest aim."""
        far = LONGEST_LEAP if 2 * steps > aim else aim // 2 if 8 * steps < aim else aim
        self.aim[row] = max(SHORTEST_LEAP, min(far, 2 * aim))
        worthwhile = steps >= WORTHWHILE
        self.pause[row] = WORTHWHILE if worthwhile else min(2 * self.pause[row], LONGEST_PAUSE)
        self.retry[row] = self.steps[row] + self.pause[row]

    def _moved(self, row: int, T: IntArray, S: IntArray, moved: BoolArray) -> None:
        items = np.flatnonzero(moved)
        self.key[row, items] = (T[items] << self.shift) | items
        self.ahead.move(row, T, S, items)

    # Decisions.

    def _judge(self, rows: IntArray) -> None:
        """Accept and reject in rows that are not proven quiet, then end those that have reached the cap."""
        if len(rows) == 0:
            return
        for row in rows[~self._quiet(rows, 0)].tolist():
            self._identify(row)
        for row in rows[(self.ids[rows] >= 0) & (self.steps[rows] >= self.cap[rows])].tolist():
            self._finish(row, "capped")

    def _identify(self, row: int) -> None:
        """Lines 11 to 17 of Algorithm 1, by the learner's own rule."""
        learner = self.learners[row]
        D = learner.race.survivors
        learner.T[D], learner.S[D] = (counts[D] for counts in self._counts(row))
        T = learner.T[D]
        mean = learner.S[D] / np.maximum(T, 1)
        accept, reject = learner.rule.identify(
            mean, learner.rule.lower(mean, T), learner.rule.upper(mean, T), learner.race.k
        )
        if not (accept.any() or reject.any()):
            return
        learner.race.settle(accept, reject, mean)
        self._bury(row, D[accept | reject])
        if learner.race.finished:
            self._finish(row, "stopped")

    def _counts(self, row: int) -> tuple[IntArray, IntArray]:
        rows = np.array([row])
        T, S = self.ahead.counts(rows, self.ahead.slots(rows))
        return T[0], S[0]

    def _bury(self, row: int, items: IntArray) -> None:
        self.alive[row, items] = False
        self.k[row] = self.learners[row].race.k
        last = np.iinfo(self.key.dtype).max >> self.shift << self.shift
        self.key[row, items] = last + items

    def _finish(self, row: int, status: Status) -> None:
        race, T = self.learners[row].race, self.learners[row].T
        T[race.survivors] = self._counts(row)[0][race.survivors]
        self.results[int(self.ids[row])] = Run(
            steps=int(self.steps[row]),
            status=status,
            observations=int(T.sum()),
            recommendation=race.recommendation,
            accepted=tuple(race.accepted),
            rejected=tuple(race.rejected),
            counts=tuple(T.tolist()),
        )
        self.ids[row] = -1

    def _drop_finished(self) -> None:
        """Forget finished rows once they are a quarter of all."""
        going = np.flatnonzero(self.ids >= 0)
        if len(going) == 0 or len(going) > 0.75 * len(self.ids):
            return
        self.ahead.keep(going)
        self.learners = [self.learners[row] for row in going]
        for name in _OF_A_ROW:
            setattr(self, name, getattr(self, name)[going])
        for name in ("value", "click", "stop"):
            setattr(self, name, getattr(self, name).reshape(-1, self.L)[going].ravel())
        self.stop -= np.repeat(going - np.arange(len(going)), self.L) * (2 * (self.ahead.depth + 1) * self.L)
