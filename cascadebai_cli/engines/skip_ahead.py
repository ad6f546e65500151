"""The skip-ahead engine: the law of the step-by-step loop without its steps.

A racing learner that shows the least observed survivors sweeps cyclically through them: a round observes every
survivor once, in the order of `D`, wherever steps begin and end. Steps only cut the sweep, and time is the number of
cuts. The engine draws a stretch of many rounds, proves groups of rounds quiet (`Suspects`), divides the others, and
looks at single steps only in rounds in which an item may be identified. Nothing is approximated.
"""

import sys

import numpy as np

from cascadebai_cli.engines.outcomes import Outcomes
from cascadebai_cli.engines.quiet import Round, Suspects, first_suspect_round
from cascadebai_cli.engines.run import Run
from cascadebai_cli.engines.stretch import Stretch, step_ends
from cascadebai_cli.learners.racing import Race, RacingRule
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

DIVIDE = 16
"""A group of rounds that is not proven quiet is divided into this many."""
ROWS = 16
"""A stretch is looked at in `ROWS` to `ROWS * DIVIDE` groups at first."""
TOGETHER = 16
"""Step ends at which the rule is evaluated by one call."""
STORED = 200_000
"""Positions of rare outcomes that a stretch may hold, about."""


def run_skip_ahead(rule: RacingRule, outcomes: Outcomes, cascading: bool = True, max_steps: int | None = None) -> Run:
    """Run one trial of a racing rule that shows the least observed survivors.

    Args:
        rule: the racing rule.
        outcomes: source of the outcomes.
        cascading: whether a click ends a step; under semi-bandit feedback only the batch does.
        max_steps: cap on the number of steps, none by default.
    """
    sweep = _Sweep(rule, outcomes, cascading, max_steps)
    try:
        while True:
            _Crossing(sweep, sweep.draw()).cross()
    except _Over:
        return sweep.result()


class _Over(Exception):
    """The race is over, or the cap was reached."""


class _Sweep:
    """State of one trial at a border of rounds: every survivor was observed `T` times.

    Attributes:
        S: clicks of the survivors, aligned with `race.survivors`.
        offset: observations of the step in progress.
        steps: number of steps that have ended.
        counts: observations of each item, final once it is identified or the run is over.
    """

    def __init__(self, rule: RacingRule, outcomes: Outcomes, cascading: bool, max_steps: int | None) -> None:
        self.rule, self.outcomes, self.cascading = rule, outcomes, cascading
        self.max_steps = sys.maxsize if max_steps is None else max_steps
        self.race = Race(rule.L, rule.K, rule.closes)
        self.counts: IntArray = np.zeros(rule.L, np.int64)
        self.S: IntArray = np.zeros(rule.L, np.int64)
        self.T = self.offset = self.steps = 0
        self.quiet_until = first_suspect_round(rule) - 1

    @property
    def batch(self) -> int:
        """Largest number of observations of a step."""
        return self.rule.batch(len(self.race.survivors))

    @property
    def left(self) -> int:
        """Steps until the cap."""
        return self.max_steps - self.steps

    def draw(self) -> Stretch:
        """The next stretch, of `ROWS` or more groups where that many rounds are worth drawing."""
        D = self.race.survivors
        limit = STORED / (len(D) * max(self.outcomes.rarity(D), 1e-9))
        rounds = int(max(1, min(self._horizon(), limit)))
        size = group_size(rounds)
        return self.outcomes.stretch(D, self.T, rounds // size * size)

    def _horizon(self) -> float:
        """Rounds worth drawing: half way to where a rule would fire if the means stayed as they are."""
        if self.T == 0 or self.quiet_until > self.T:
            return max(self.quiet_until - self.T, 1)
        rule, k, mean = self.rule, self.race.k, np.sort(self.S / self.T)[::-1]
        lower, upper = rule.lower(mean, self.T), rule.upper(mean, self.T)
        to_accept = mean[0] - lower[0] + upper[k] - mean[k], mean[0] - mean[k] + rule.epsilon
        to_reject = mean[k - 1] - lower[k - 1] + upper[-1] - mean[-1], mean[k - 1] - mean[-1] - rule.epsilon
        ahead = min(float(width / max(spread, 1e-9)) ** 2 for width, spread in (to_accept, to_reject)) - 1
        return self.T * min(max(ahead / 2, 1 / 16), 8)

    def result(self) -> Run:
        """The run as it stands."""
        race = self.race
        return Run(
            steps=self.steps,
            status="stopped" if race.finished else "capped",
            observations=int(self.counts.sum()),
            recommendation=race.recommendation,
            accepted=tuple(race.accepted),
            rejected=tuple(race.rejected),
            counts=tuple(self.counts.tolist()),
        )


def group_size(rounds: int) -> int:
    """The largest power of `DIVIDE` of which at least `ROWS` fit into `rounds`, or 1."""
    size = 1
    while size * DIVIDE * ROWS <= rounds:
        size *= DIVIDE
    return size


class _Crossing:
    """One stretch being crossed.

    Attributes:
        columns: columns of the stretch that still survive.
        fate: 1 accepted, -1 rejected, 0 surviving, for each column.
        done: rounds of which the steps were counted.
    """

    def __init__(self, sweep: _Sweep, stretch: Stretch) -> None:
        self.sweep, self.stretch = sweep, stretch
        self.columns: IntArray = np.arange(stretch.items)
        self.fate = np.zeros(stretch.items, np.int8)
        self.done = 0

    def cross(self) -> None:
        """Go through the stretch; raises `_Over` where the run ends."""
        sweep, rounds = self.sweep, self.stretch.rounds
        start = sweep.S
        if sweep.T + rounds > sweep.quiet_until:
            size = group_size(rounds)
            self._scan(0, rounds // size, size, start)
        self._pass(rounds)
        sweep.S = (start + self.stretch.sums(0, 1, rounds)[1])[self.columns]
        sweep.T += rounds

    def _scan(self, start: int, rows: int, size: int, S: IntArray) -> None:
        """Look at `rows` groups of `size` rounds; `S` are the survivors' clicks before round `start`."""
        sweep, columns = self.sweep, self.columns
        borders = S + np.take(self.stretch.sums(start, rows, size), columns, axis=1)
        T = sweep.T + start + size * np.arange(rows + 1)
        suspects = Suspects(sweep.rule, sweep.race.k, T, borders)
        for row in np.flatnonzero(suspects.mask.any(axis=1)).tolist():
            alive = self.fate[columns] == 0
            if not (suspects.mask[row] & alive).any():
                continue
            first = start + row * size
            if size > 1:
                self._scan(first, DIVIDE, size // DIVIDE, borders[row, alive])
            else:
                self._step_through(first, borders[row, alive], suspects, row, columns)
            if len(self.columns) < alive.sum() and not suspects.stay(row + 1, *self._removed(columns, alive)):
                rest = borders[row + 1, self.fate[columns] == 0]
                return self._scan(first + size, rows - row - 1, size, rest)
        return None

    def _removed(self, columns: IntArray, alive: BoolArray) -> tuple[IntArray, IntArray]:
        """Which of the `alive` among `columns` have been accepted and which rejected since."""
        fate = self.fate[columns]
        return (alive & (fate == 1)).nonzero()[0], (alive & (fate == -1)).nonzero()[0]

    def _pass(self, stop: int) -> None:
        """Count the steps of the quiet rounds up to `stop`."""
        sweep = self.sweep
        steps, offset = self._cuts(stop)
        if steps >= sweep.left:
            self._stop_in_quiet(stop)
        sweep.steps += steps
        sweep.offset, self.done = offset, stop

    def _cuts(self, stop: int) -> tuple[int, int]:
        sweep = self.sweep
        if not sweep.cascading or sweep.batch == 1:
            return divmod(sweep.offset + (stop - self.done) * len(self.columns), sweep.batch)
        return self.stretch.cuts(self.done, stop, self.columns, sweep.offset, sweep.batch)

    def _stop_in_quiet(self, stop: int) -> None:
        """Find the round before `stop` in which the cap is reached, and end there."""
        left, low, high = self.sweep.left, self.done, stop
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._cuts(middle)[0] >= left else (middle, high)
        self._pass(low)
        self._cap(low, int(self._ends(self._clicks(low))[self.sweep.left - 1]))

    def _clicks(self, round_: int) -> BoolArray:
        return self.stretch.outcomes(round_)[self.columns]

    def _ends(self, clicks: BoolArray) -> IntArray:
        """Places in the rest of a round at which steps end."""
        sweep = self.sweep
        return step_ends(clicks if sweep.cascading else np.zeros_like(clicks), sweep.offset, sweep.batch)

    def _cap(self, round_: int, end: int) -> None:
        """End the run at the cap, after the survivor at place `end` was observed."""
        sweep = self.sweep
        survivors = sweep.race.survivors
        sweep.steps = sweep.max_steps
        sweep.counts[survivors] = sweep.T + round_ + (np.arange(len(survivors)) <= end)
        raise _Over

    def _step_through(self, round_: int, S: IntArray, suspects: Suspects, row: int, columns: IntArray) -> None:
        """Go through one round at single steps; `S` are the survivors' clicks before it."""
        self._pass(round_)
        sweep, levels = self.sweep, (suspects.accept_level[row], suspects.reject_level[row])
        now, first = Round(sweep.rule, sweep.T + round_, S, self._clicks(round_)), 0
        alive = self.fate[columns] == 0
        while True:
            ends = (first + self._ends(now.new[first:]))[: sweep.left]
            watched = suspects.mask[row, self.fate[columns] == 0].nonzero()[0]
            found = self._first_firing(now, ends, now.suspect_ends(ends, watched, *levels))
            if found is None:
                break
            observed, gone = found
            now, first = now.removed(gone), int((observed & ~gone).sum())
            if not suspects.stay(row, *self._removed(columns, alive)):
                suspects.mask[row], levels = True, (-np.inf, np.inf)
        self._finish_round(round_, ends, len(now.new) - first)

    def _first_firing(self, now: Round, ends: IntArray, candidates: IntArray) -> tuple[BoolArray, BoolArray] | None:
        """Identify items at the first of the candidate step ends at which a rule fires.

        Returns:
            who was observed by then, and who is gone; or None.
        """
        rule, k = self.sweep.rule, self.sweep.race.k
        for part in range(0, len(candidates), TOGETHER):
            tried = candidates[part : part + TOGETHER]
            mean, T = now.means(ends[tried])
            accept, reject = rule.identify(mean, rule.lower(mean, T), rule.upper(mean, T), k)
            gone = accept | reject
            if gone.any():
                at = int(gone.any(axis=1).argmax())
                self._identify(int(tried[at]) + 1, T[at], mean[at], accept[at], reject[at])
                return T[at] > now.T, gone[at]
        return None

    def _finish_round(self, round_: int, ends: IntArray, rest: int) -> None:
        """Count the steps that end in the last `rest` places of a round in which nobody is identified any more."""
        sweep, places = self.sweep, len(self.columns)
        if len(ends) == sweep.left:
            self._cap(round_, int(ends[-1]))
        sweep.steps += len(ends)
        sweep.offset = places - 1 - int(ends[-1]) if len(ends) else sweep.offset + rest
        self.done = round_ + 1

    def _identify(self, steps: int, T: IntArray, mean: FloatArray, accept: BoolArray, reject: BoolArray) -> None:
        """Remove items at the end of a step, `steps` steps after the last that was counted."""
        sweep = self.sweep
        sweep.steps, sweep.offset = sweep.steps + steps, 0
        sweep.counts[sweep.race.survivors] = T
        sweep.race.settle(accept, reject, mean)
        self.fate[self.columns[accept]], self.fate[self.columns[reject]] = 1, -1
        self.columns = self.columns[~(accept | reject)]
        if sweep.race.finished or sweep.left == 0:
            raise _Over
