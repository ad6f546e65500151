"""Algorithm 1 on a table of rewards: the run goes from one decision to the next without a look at single steps."""

import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.jobs import Run
from cascadebai_cli.engines.proofs import first_suspect_round, levels, mean_bounds
from cascadebai_cli.learners.protocol import Race, RacingRule
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

# --- Rewards from a table -------------------------------------------------------------------------------------------
#
# The outcome of item `i` at step `t` is entry `((t - 1) mod rows, i)` of the table, as in programs that read rewards
# drawn beforehand. If the same table is used again once its rows are used up, outcomes are no longer independent, and
# runs longer than the table do not have the law of the algorithm.


_BLOCK = 4096
"""Most rows of a block: enough to pay for a call of NumPy, few enough to lose little when the survivors change."""
_ENTRIES = 2**22
"""Most entries of a block."""


@dataclass(frozen=True)
class TableShape:
    """The table of rewards that a study asks for.

    Attributes:
        rows: number of steps after which the table begins anew.
        reuse: whether the same table is used again; if not, a new one is drawn each time.
    """

    rows: int
    reuse: bool = True

    def memory(self, L: int, steps: int) -> int:
        """Return the bytes that the rows of `steps` steps take, 0 if they are not kept."""
        size = _block_rows(L)
        return -(-min(self.rows, steps) // size) * L * -(-size // 8) if self.reuse else 0


def _block_rows(L: int) -> int:
    """Return the number of rows of a block of `L` items."""
    return max(1, min(_BLOCK, _ENTRIES // L))


class Place(NamedTuple):
    """Where a step finds its row.

    Attributes:
        block: number of the block; blocks of equal number have equal content.
        row: place in the block.
        rows: rows of the block.
    """

    block: int
    row: int
    rows: int


class RewardTable(ABC):
    """Outcomes of a trial, step by step, from a table that is cut into blocks.

    A table that is drawn anew each time counts as one without end. Steps must be asked for in ascending order.

    Args:
        shape: its rows, and whether they are used again.
        L: number of items.
    """

    def __init__(self, shape: TableShape, L: int) -> None:
        self.shape, self.size = shape, _block_rows(L)
        # A block holds several copies of a short table.
        self._rows = shape.rows * max(1, self.size // shape.rows) if shape.reuse else sys.maxsize

    def place(self, step: int) -> Place:
        """Return where step `step + 1` finds its row."""
        block, row = divmod(step % self._rows, self.size)
        return Place(block, row, min(self.size, self._rows - block * self.size))

    def at(self, step: int) -> Callable[[int], int]:
        """Return a function from an item to its outcome at step `step + 1`."""
        place = self.place(step)
        clicks = self.clicks(place)
        return lambda item: int(clicks[item, place.row])

    @abstractmethod
    def clicks(self, place: Place) -> BoolArray:
        """Return the outcomes of the block of `place`, shape `(L, rows)`."""


class RandomTable(RewardTable):
    """A table of independent Bernoulli(`w(i)`) entries, drawn block by block as the run reaches them.

    Args:
        weights: click probability of each item, shape `(L,)`.
        rng: the only source of randomness.
        shape: rows of the table, and whether they are used again.
    """

    def __init__(self, weights: FloatArray, rng: np.random.Generator, shape: TableShape) -> None:
        super().__init__(shape, len(weights))
        self.weights, self.rng = weights, rng
        self._packed: list[NDArray[np.uint8]] = []
        self._open, self._clicks = -1, np.zeros((len(weights), 0), bool)

    def clicks(self, place: Place) -> BoolArray:
        """Return the outcomes of a block: drawn when it is first met, unpacked when it is met again."""
        if place.block != self._open:
            again = place.block < len(self._packed)
            self._clicks = self._unpacked(place) if again else self._drawn(place.rows)
            self._open = place.block
        return self._clicks

    def _unpacked(self, place: Place) -> BoolArray:
        # Unpacking in one piece is several times faster than with `axis=1`.
        bits = np.unpackbits(self._packed[place.block].ravel()).reshape(len(self.weights), -1)
        return bits[:, : place.rows].view(bool)

    def _drawn(self, rows: int) -> BoolArray:
        new = min(rows, self.shape.rows) if self.shape.reuse else rows
        clicks = self.rng.random((len(self.weights), new)) < self.weights[:, None]
        if self.shape.reuse:
            clicks = np.tile(clicks, -(-rows // new))
            self._packed.append(np.packbits(clicks, axis=1))
        return clicks


# --- Where steps begin ----------------------------------------------------------------------------------------------


_MEMORY = 64 * 2**20
"""Bytes for the places and the paths of blocks that may be met again."""


class _Path(NamedTuple):
    """Consecutive steps, at least one.

    Attributes:
        seen: observations from the beginning of the first round to the end of each step, shape `(m,)`.
        at: indices of the steps that end with a click.
        place: place in the round of the survivor that was clicked in each of these steps.
        clicks: number of clicks by place, shape `(d,)`.
    """

    seen: IntArray
    at: IntArray
    place: IntArray
    clicks: IntArray


class _Places:
    """The places of a round at which steps begin, while the survivors stay the same.

    Walks over the same rows stay together once they meet, so a block is often entered at a place known from before.

    Args:
        table: source of the outcomes.
        survivors: items in the order of `D`.
        batch: most observations of a step, at most the number of survivors.
    """

    def __init__(self, table: RewardTable, survivors: IntArray, batch: int) -> None:
        self.table, self.survivors, self.batch = table, survivors, batch
        self._room = _MEMORY
        self._columns: dict[int, list[Sequence[int]]] = {}
        self._paths: dict[tuple[int, int], _Path] = {}

    def walk(self, step: int, begin: int, most: int) -> _Path:
        """Return the steps after step `step` to the end of its block, at most `most` of them.

        Args:
            step: number of steps made.
            begin: place of the round at which the next step begins.
            most: 1 or larger.
        """
        at = self.table.place(step)
        if at.row or at.rows > most:
            return self._path(at, begin, most)
        known = self._paths.get((at.block, begin))
        if known is None:
            known = self._path(at, begin, most)
            self._keep(self._paths, (at.block, begin), known, 8 * (len(known.seen) + 2 * len(known.at)))
        return known

    def _path(self, at: Place, begin: int, most: int) -> _Path:
        d, columns, code = len(self.survivors), self._columns_of(at), 2 * begin
        rows = range(at.row - at.rows, min(0, at.row - at.rows + most))
        codes = [code := columns[code][row] for row in rows]
        place, clicked = np.divmod(np.array(codes), 2)
        observed = (place - np.append(begin, place[:-1]) - 1) % d + 1
        seen, steps = begin + np.cumsum(observed), np.flatnonzero(clicked)
        clicked_place = (place[steps] - 1) % d
        return _Path(seen, steps, clicked_place, np.bincount(clicked_place, minlength=d))

    def _columns_of(self, at: Place) -> list[Sequence[int]]:
        """Return `_next_places` of the rows from `at` on, possibly with rows before them."""
        known = self._columns.get(at.block)
        if known is None or len(known[0]) < at.rows - at.row:
            known = _next_places(self.table.clicks(at)[self.survivors, at.row :], self.batch)
            self._keep(self._columns, at.block, known, len(known) * len(known[0]))
        return known

    def _keep(self, store: dict[Any, Any], key: Hashable, value: object, size: int) -> None:
        if size <= self._room:
            self._room -= size
            store[key] = value


def _next_places(clicks: BoolArray, batch: int) -> list[Sequence[int]]:
    """Return where the next step begins, by place and row.

    Args:
        clicks: outcomes of the survivors, shape `(d, rows)`.
        batch: most observations of a step, `1 <= batch <= d`.

    Returns:
        entry `[2 p + c][row]`, the same for `c = 0` and `c = 1`, is `2 p' + c'` for a step that begins at place `p`:
        the next step begins at `p'`, and `c'` is 1 if this step ends with a click. So each entry is the index of the
        next one.
    """
    d, rows = clicks.shape
    kind = np.dtype(np.uint8 if d <= 128 else np.uint16 if d <= 2**15 else np.uint32)
    skips = np.logical_not(clicks).astype(kind)
    observed, clicked = np.empty((d, rows), kind), np.empty((d, rows), bool)
    ahead, next_observed = np.empty(rows, kind), np.ones(rows, kind)
    for place in [*range(batch - 1)[::-1], *range(d)[::-1]]:
        # Skips before the first click from this place on; the first passes only prepare the end of the round.
        np.multiply(skips[place], next_observed, out=ahead)
        np.less(ahead, batch, out=clicked[place])
        next_observed = observed[place]
        np.minimum(np.add(ahead, 1, out=ahead), batch, out=next_observed)
    following = np.add(observed, np.arange(d, dtype=kind)[:, None], out=observed)
    following[following >= d] -= kind.type(d)
    codes = 2 * following + clicked
    return [column for code in codes for column in [array(kind.char, code.tobytes())] * 2]


# --- The first of some steps at which a rule fires ------------------------------------------------------------------


_DIVIDE = 16
"""Steps that are not proven quiet are divided into this many groups."""
_FEW = 64
"""Number of steps of a group that is not divided further."""
_TOGETHER = 16
"""Number of steps at whose ends one call evaluates the rule."""


class _Firing(NamedTuple):
    """A step at whose end items are identified: its index, and masks of the survivors."""

    step: int
    accept: BoolArray
    reject: BoolArray


def _counts_of(seen: IntArray | int, d: int) -> IntArray:
    """Return how often each of `d` survivors was observed among the first `seen` observations of the rounds.

    Returns:
        shape `(d,)`, or `(m, d)` for `seen` of shape `(m,)`.
    """
    counts: IntArray = (np.asarray(seen)[..., None] - np.arange(d) + (d - 1)) // d
    return counts


class _Suspects(NamedTuple):
    """Items that could be identified in each group of steps (`proofs`).

    Attributes:
        mask: whether a survivor could be, shape `(groups, d)`.
        accept_level, reject_level: what a lower bound must exceed, and an upper bound stay below, shape `(groups, 1)`.
    """

    mask: BoolArray
    accept_level: FloatArray
    reject_level: FloatArray

    def of(self, group: int) -> "_Suspects":
        """Return the suspects of one group."""
        return _Suspects(*(part[group] for part in self))


class _Steps:
    """Steps in which no item has been identified yet.

    Args:
        rule: the racing rule.
        k: number of items still to be accepted.
        seen: observations before the first step.
        S: clicks of the survivors before it, shape `(d,)`.
        path: the steps.

    Attributes:
        all: number of the steps.
    """

    def __init__(self, rule: RacingRule, k: int, seen: int, S: IntArray, path: _Path) -> None:
        self.rule, self.k, self.S, self.d = rule, k, S, len(S)
        self.path, self.all = path, len(path.seen)
        self._seen: IntArray = np.append(seen, seen // self.d * self.d + path.seen)

    def seen(self, made: IntArray | int) -> IntArray:
        """Return the number of observations after the first `made` steps."""
        return np.asarray(self._seen[made])

    def clicks(self, made: int) -> IntArray:
        """Return the clicks of the survivors after the first `made` steps."""
        if made == self.all:
            return self.S + self.path.clicks
        clicks: IntArray = self._sums(np.array([0, made]), self.S)[1]
        return clicks

    def first_firing(self) -> _Firing | None:
        """Return the first step at which an item is identified, or `None`."""
        whole = self._suspects(np.array([0, self.all]), np.stack([self.S, self.S + self.path.clicks]))
        return self._search(0, self.all, self.S) if whole.mask.any() else None

    def _search(self, start: int, stop: int, S: IntArray) -> _Firing | None:
        """Search the steps from `start` to `stop` for the first firing; `S` are the clicks before `start`."""
        size = max(_FEW, -(-(stop - start) // _DIVIDE))
        borders = np.append(np.arange(start, stop, size), stop)
        sums = self._sums(borders, S)
        suspects = self._suspects(borders, sums)
        for group in np.flatnonzero(suspects.mask.any(axis=1)).tolist():
            part = int(borders[group]), int(borders[group + 1]), sums[group]
            found = self._search(*part) if size > _FEW else self._look(*part, suspects.of(group))
            if found is not None:
                return found
        return None

    def _suspects(self, borders: IntArray, sums: IntArray) -> _Suspects:
        """Return the suspects of the groups of steps between the borders; `sums` are the clicks there."""
        T = _counts_of(self.seen(borders), self.d)
        means = mean_bounds(T[:-1], sums[:-1], T[1:], sums[1:], self.k)
        most = T[1:, :1]  # no count is larger
        accept, reject = levels(self.rule, means, most)
        mask = self.rule.above(means.high, most, accept) | self.rule.below(means.low, most, reject)
        return _Suspects(mask, accept, reject)

    def _look(self, start: int, stop: int, S: IntArray, suspects: _Suspects) -> _Firing | None:
        """Evaluate the rule in a few steps, one by one where a suspect passes a level."""
        sums = self._sums(np.arange(start, stop + 1), S)[1:]
        T = _counts_of(self.seen(np.arange(start, stop) + 1), self.d)
        mean, watched = sums / np.maximum(T, 1), np.flatnonzero(suspects.mask)
        hot = self.rule.above(mean[:, watched], T[:, watched], suspects.accept_level)
        hot |= self.rule.below(mean[:, watched], T[:, watched], suspects.reject_level)
        steps = np.flatnonzero(hot.any(axis=1))
        for tried in np.split(steps, range(_TOGETHER, len(steps), _TOGETHER)):
            accept, reject = self._identify(mean[tried], T[tried])
            firing = np.flatnonzero((accept | reject).any(axis=1))
            if len(firing):
                return _Firing(start + int(tried[firing[0]]), accept[firing[0]], reject[firing[0]])
        return None

    def _identify(self, mean: FloatArray, T: IntArray) -> tuple[BoolArray, BoolArray]:
        return self.rule.identify(mean, self.rule.lower(mean, T), self.rule.upper(mean, T), self.k)

    def _sums(self, borders: IntArray, S: IntArray) -> IntArray:
        """Return the clicks at the borders, cumulated from `S` at the first; shape `(borders, d)`."""
        part = slice(*np.searchsorted(self.path.at, borders[[0, -1]]))
        group = np.searchsorted(borders, self.path.at[part], side="right") - 1
        new = np.bincount(group * self.d + self.path.place[part], minlength=(len(borders) - 1) * self.d)
        return np.cumsum(np.vstack([S, new.reshape(-1, self.d)]), axis=0)


# --- The walk engine ------------------------------------------------------------------------------------------------
#
# A racing learner that shows the least observed survivors goes round them. While no item is identified, the step that
# begins at place `p` of the round and reads row `t` of the table observes `n(t, p)` survivors: up to the first click,
# at most a list. So `t` and `p` determine the place where the next step begins, and a run is a walk from row to row
# through places that are worked out beforehand. Counts and clicks along it are recovered in bulk. The lemma of `proofs`
# shows in which stretches no rule can fire; single steps are looked at only where an item may be identified.


def run_walk(rule: RacingRule, table: RewardTable, max_steps: int | None = None, *, answers: bool = False) -> Run:
    """Run one trial of a racing rule that shows the least observed survivors, under cascading feedback.

    Args:
        rule: the racing rule.
        table: source of the outcomes.
        max_steps: cap on the number of steps, none by default.
        answers: whether the items to name at the cap become the recommendation.
    """
    state = _State(rule, table, sys.maxsize if max_steps is None else max_steps)
    while not state.race.finished and state.steps < state.max_steps:
        state.advance()
    return state.answered() if answers and not state.race.finished else state.result()


class _State:
    """State of one trial at the end of a step.

    Attributes:
        steps: number of steps made.
        seen: number of observations of the survivors in all rounds; the survivor at place `i` was observed
            `(seen - i + d - 1) // d` times.
        S: clicks of the survivors, aligned with `race.survivors`.
        counts: number of observations of each item, final once it is identified or the run is over.
    """

    def __init__(self, rule: RacingRule, table: RewardTable, max_steps: int) -> None:
        self.rule, self.table, self.max_steps = rule, table, max_steps
        self.race = Race(rule.L, rule.K)
        self.S: IntArray = np.zeros(rule.L, np.int64)
        self.counts: IntArray = np.zeros(rule.L, np.int64)
        self.steps = self.seen = 0
        self.quiet_until = first_suspect_round(rule) - 1
        self.places = self._places()

    def _places(self) -> _Places:
        D = self.race.survivors
        return _Places(self.table, D, self.rule.batch(len(D)))

    def advance(self) -> None:
        """Walk to the end of the block, or to the first step at which an item is identified."""
        path = self.places.walk(self.steps, self.seen % len(self.S), self.max_steps - self.steps)
        ahead = _Steps(self.rule, self.race.k, self.seen, self.S, path)
        firing = ahead.first_firing() if ahead.seen(ahead.all) > self.quiet_until * len(self.S) else None
        made = ahead.all if firing is None else firing.step + 1
        self.S, self.seen, self.steps = ahead.clicks(made), int(ahead.seen(made)), self.steps + made
        self.counts[self.race.survivors] = _counts_of(self.seen, len(self.S))
        if firing is not None:
            self._identify(firing)

    def _identify(self, firing: _Firing) -> None:
        """Remove items; the next item observed stays the first of the least observed ones."""
        D = self.race.survivors
        T = self.counts[D]
        self.race.settle(firing.accept, firing.reject, self.S / np.maximum(T, 1))
        self.race.stamp(self.steps)
        if self.race.finished:
            return
        stay = np.isin(D, self.race.survivors)
        rounds = self.seen // len(D)
        self.S, self.seen = self.S[stay], rounds * int(stay.sum()) + int((T[stay] > rounds).sum())
        self.places = self._places()

    def result(self) -> Run:
        """Return the run as it stands."""
        return Run.of_race(self.race, self.steps, self.counts)

    def answered(self) -> Run:
        """Return the run as it stands, with the items to name now."""
        mean = np.zeros(self.rule.L)
        D = self.race.survivors
        mean[D] = self.S / np.maximum(self.counts[D], 1)
        return replace(self.result(), recommendation=self.race.answer(mean))
