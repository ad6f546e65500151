"""The skip-ahead engine: the law of the step-by-step loop without its steps.

A racing learner that shows the least observed survivors sweeps cyclically through them: a round observes every
survivor once, in the order of `D`, wherever steps begin and end. Steps only cut the sweep, and time is the number of
cuts. The engine draws a stretch of many rounds, proves groups of rounds quiet (`Suspects`), divides the others, and
looks at single steps only in rounds in which an item may be identified. Nothing is approximated.
"""

import numpy as np

from cascadebai_cli.engines.outcomes import Outcomes
from cascadebai_cli.engines.quiet import Suspects, first_suspect_end, first_suspect_round
from cascadebai_cli.engines.run import Run
from cascadebai_cli.engines.stretch import Stretch, step_ends
from cascadebai_cli.learners.racing import Race, RacingRule
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

DIVIDE = 8
"""A group of rounds that is not proven quiet is divided into this many."""
ROWS = 16
"""A stretch is looked at in `ROWS` to `ROWS * DIVIDE` groups at first."""
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
        self.max_steps = max_steps
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
    def left(self) -> int | None:
        """Steps until the cap."""
        return None if self.max_steps is None else self.max_steps - self.steps

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
        mean = np.sort(self.S / self.T)[::-1]
        k, epsilon = self.race.k, self.rule.epsilon
        spread = max(mean[0] - mean[k] + epsilon, mean[k - 1] - mean[-1] - epsilon, 1e-9)
        ahead = (2 * float(self.rule.radius(self.T)) / float(spread)) ** 2 - 1
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
        borders = S + self.stretch.sums(start, rows, size)[:, columns]
        T = sweep.T + start + size * np.arange(rows + 1)
        suspects = Suspects(sweep.rule, sweep.race.k, T, borders)
        for row in np.flatnonzero(suspects.mask.any(axis=1)).tolist():
            alive = self.fate[columns] == 0
            if not (suspects.mask[row] & alive).any():
                continue
            self._divide(start + row * size, size, borders[row, alive])
            fate = self.fate[columns]
            accepted, rejected = (np.flatnonzero(alive & (fate == sign)) for sign in (1, -1))
            if not suspects.survive(row, accepted, rejected):
                rest = borders[row + 1, fate == 0]
                return self._scan(start + (row + 1) * size, rows - row - 1, size, rest)
        return None

    def _divide(self, start: int, size: int, S: IntArray) -> None:
        if size > 1:
            self._scan(start, DIVIDE, size // DIVIDE, S)
        else:
            self._pass(start)
            self._step_through(start, S)

    def _pass(self, stop: int) -> None:
        """Count the steps of the quiet rounds up to `stop`."""
        sweep = self.sweep
        steps, offset = self._cuts(stop)
        if sweep.left is not None and steps >= sweep.left:
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
        low, high = self.done, stop
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._cuts(middle)[0] >= (self.sweep.left or 0) else (middle, high)
        self.sweep.steps, self.sweep.offset = self.sweep.steps + self._cuts(low)[0], self._cuts(low)[1]
        self.done = low
        ends = self._ends(self._clicks(low))
        self._over(low, int(ends[(self.sweep.left or 0) - 1]))

    def _clicks(self, round_: int) -> BoolArray:
        return self.stretch.outcomes(round_)[self.columns]

    def _ends(self, clicks: BoolArray) -> IntArray:
        """Places in the rest of a round at which steps end."""
        sweep = self.sweep
        return step_ends(clicks if sweep.cascading else np.zeros_like(clicks), sweep.offset, sweep.batch)

    def _over(self, round_: int, end: int) -> None:
        """End the run after the survivor at place `end` was observed."""
        sweep = self.sweep
        survivors = sweep.race.survivors
        sweep.steps = sweep.max_steps or 0
        sweep.counts[survivors] = sweep.T + round_ + (np.arange(len(survivors)) <= end)
        raise _Over

    def _step_through(self, round_: int, S: IntArray) -> None:
        """Go through one round at single steps; `S` are the survivors' clicks before it."""
        sweep, new, first = self.sweep, self._clicks(round_), 0
        while True:
            ends = (first + self._ends(new[first:]))[: sweep.left]
            found = first_suspect_end(sweep.rule, sweep.race.k, sweep.T + round_, S, new, ends)
            if found is None:
                break
            index, mean, accept, reject = found
            observed = np.arange(len(new)) <= ends[index]
            self._identify(index + 1, sweep.T + round_ + observed, mean, accept, reject)
            rest = ~(accept | reject)
            S, new, first = S[rest], new[rest], int((rest & observed).sum())
        if len(ends) and len(ends) == sweep.left:
            self._over(round_, int(ends[-1]))
        sweep.steps += len(ends)
        sweep.offset = len(new) - 1 - int(ends[-1]) if len(ends) else sweep.offset + len(new) - first
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
