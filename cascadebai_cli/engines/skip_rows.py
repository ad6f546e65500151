"""The state of the trials that skip-ahead runs side by side, one row per trial; their steps and their stretches.

Where no item is identified, steps are counted, and further stretches of rounds are drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from cascadebai_cli.engines.jobs import Job, RowState
from cascadebai_cli.engines.outcomes import Outcomes
from cascadebai_cli.learners.protocol import RacingLearner, RacingRule
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

_OF_ITEM = {"of_item": True}
_AnyRecord = TypeVar("_AnyRecord", bound="_Record")


class Mode:
    """What a row waits for (`skip_ahead`); an `Enum` would take as long as a small call of NumPy."""

    STRETCH = 0
    GROUPS = 1
    GROUP = 2
    WINDOW = 3
    STEPS = 4
    OVER = 5


@dataclass
class _Record(RowState):
    """Arrays with one entry per row, or with one per row and item: shape `(rows, width)`."""

    @classmethod
    def zeros(cls: type[_AnyRecord], rows: int, width: int) -> _AnyRecord:
        """Return a record of zeros, and `None` where entries are objects."""
        types: dict[Any, Any] = {BoolArray: bool, FloatArray: np.float64, np.ndarray: object}
        arrays = {
            part.name: part.type.zeros(rows, width)
            if part.type is Focus
            else np.zeros((rows, width) if part.metadata else rows, types.get(part.type, np.int64))
            for part in fields(cls)
        }
        return cls(**arrays)

    def copy(self: _AnyRecord, at: IntArray, other: _AnyRecord) -> None:
        """Copy some rows of another record."""
        for part in fields(self):
            getattr(self, part.name)[at] = getattr(other, part.name)[at]


@dataclass
class Focus(_Record):
    """The items that matter in some rounds: those that may be identified, and those of the boundary (`proofs`).

    Attributes:
        begin, stop: first round, and the round after the last.
        matter: number of items that matter.
        items: these items in ascending order, in the first `matter` places.
        place: place of each item in `items`, -1 for those that do not matter.
        above: number of survivors that do not matter because they rank above the boundary.
        low, high, next_best, last_good: bounds of the means (`proofs.WindowBounds`).
        base, keys: clicks of these items before the rounds, and keys of the rounds, of other items too.
    """

    begin: IntArray
    stop: IntArray
    matter: IntArray
    items: IntArray = field(metadata=_OF_ITEM)
    place: IntArray = field(metadata=_OF_ITEM)
    above: IntArray
    low: FloatArray = field(metadata=_OF_ITEM)
    high: FloatArray = field(metadata=_OF_ITEM)
    next_best: FloatArray
    last_good: FloatArray
    base: FloatArray = field(metadata=_OF_ITEM)
    keys: np.ndarray


@dataclass
class _Rows(_Record):
    """The state of each row, which stands before the observation of item `column` in round `round` of its stretch.

    Attributes:
        id: place of the row's job.
        mode: a `Mode`.
        rule, cascading, cap: its rule, whether a click ends a step, and the largest number of steps.
        k, d, batch: number of items still to be accepted, of survivors, and largest number of observations of a step.
        alive, counts: mask of the survivors, and the observations of the other items.
        accepted, rejected: lists of items, each with the number of the step at whose end it was identified.
        steps, offset: steps that have ended where the row stands, and observations of the step in progress.
        round, column, met: where it stands, and the number of keys of the stretch before that round.
        T, S: count of every survivor, and the clicks of each, when the stretch began.
        rounds, drawn: length of the stretch, and number of survivors when it was drawn.
        keys, clicks: the rarer outcomes of the stretch (see the end), and whether these are clicks.
        size, sums, starts: rounds of a group of the stretch (a power of two), clicks and keys before each group.
        ahead: number of groups to look at next.
        look, since: round, and item in it, before which no other item can be identified.
        group, focus: items that matter in the group that is looked into, and in the part of it that is at hand.
        level: binary logarithm of the rounds of the windows that are looked at next.
    """

    id: IntArray
    mode: IntArray
    rule: np.ndarray
    cascading: BoolArray
    cap: IntArray
    k: IntArray
    d: IntArray
    batch: IntArray
    alive: BoolArray = field(metadata=_OF_ITEM)
    counts: IntArray = field(metadata=_OF_ITEM)
    accepted: np.ndarray
    rejected: np.ndarray
    steps: IntArray
    offset: IntArray
    round: IntArray
    column: IntArray
    met: IntArray
    T: IntArray
    S: IntArray = field(metadata=_OF_ITEM)
    rounds: IntArray
    drawn: IntArray
    keys: np.ndarray
    clicks: BoolArray
    size: IntArray
    sums: np.ndarray
    starts: np.ndarray
    ahead: IntArray
    look: IntArray
    since: IntArray
    group: Focus
    focus: Focus
    level: IntArray

    def __len__(self) -> int:
        return len(self.id)

    def behind_cap(self) -> BoolArray:
        """Return which rows look where their cap is behind them: then the stretch need only be counted."""
        most = (self.cap - self.steps) * (self.batch / np.maximum(self.d, 1)) + 2
        return np.asarray((self.mode != Mode.OVER) & (self.look > self.round + most))


@dataclass(frozen=True)
class Sizes:
    """How much one call looks at; this changes the time of runs and their random numbers, but not their law.

    Raises:
        ValueError: if one is so small that a search would never end.

    Attributes:
        few, stored: about the smallest and the largest number of keys of a stretch.
        groups: number of groups of a stretch, at most four times as many.
        ahead: largest number of groups of a row that are looked at together.
        windows: number of windows in a group that are looked at together.
        divide, grow: binary logarithms of the factors by which windows get narrower and wider.
        moments: number of moments of a round that are looked at together, at least 2 since the first may be empty.
        shorten: number of batches of skips from which it pays to try `_shorten`.
        chunk: number of keys whose steps are counted together, so that they stay in the cache.
    """

    few: int = 5_000
    stored: int = 120_000
    groups: int = 16
    ahead: int = 16
    windows: int = 16
    divide: int = 4
    grow: int = 2
    moments: int = 16
    shorten: int = 16
    chunk: int = 1 << 15

    def __post_init__(self) -> None:
        for part in fields(self):
            least = 2 if part.name == "moments" else 1
            if getattr(self, part.name) < least:
                raise ValueError(f"{part.name} = {getattr(self, part.name)}: must be at least {least}")


@dataclass(frozen=True)
class RowBlock:
    """Rows that advance together.

    Attributes:
        rule: a rule of the kind of all rows.
        rows: their state.
        outcomes: source of the outcomes of each job.
        shift: keys are `round << shift | item`.
        sizes: how much one call looks at.
    """

    rule: RacingRule
    rows: _Rows
    outcomes: Sequence[Outcomes]
    shift: int
    sizes: Sizes

    @property
    def width(self) -> int:
        """Number of entries of an array over the items, at least `L`."""
        return 1 << self.shift

    @classmethod
    def of(cls, jobs: Sequence[Job[RacingLearner]], sizes: Sizes) -> "RowBlock":
        """Return a block of all trials before their first observation."""
        rules = [job.learner.rule for job in jobs]
        shift = (rules[0].L - 1).bit_length()
        rows = _Rows.zeros(len(jobs), 1 << shift)
        rows.id[:] = np.arange(len(jobs))
        rows.rule[:] = rules
        rows.cascading[:] = [job.feedback.ends_at_click for job in jobs]
        rows.cap[:] = [job.cap for job in jobs]
        rows.k[:] = [rule.K for rule in rules]
        rows.d[:] = rules[0].L
        rows.batch[:] = [rule.batch(rule.L) for rule in rules]
        rows.alive[:, : rules[0].L] = True
        for row in range(len(jobs)):
            rows.accepted[row], rows.rejected[row] = [], []
            rows.keys[row], rows.sums[row] = np.zeros(0, np.int32), np.zeros((1, 1 << shift), np.int32)
        return cls(rules[0], rows, [job.stack for job in jobs], shift, sizes)

    def count_steps(self, at: IntArray, to: IntArray) -> None:
        """Move rows to the beginning of the rounds `to`, before which no item is identified; end rows at their cap."""
        rows = self.rows
        ahead = to > rows.round[at]
        at, to = at[ahead], to[ahead]
        if len(at) == 0:
            return
        steps, offset, met = _cuts(self, at, to)
        capped = rows.steps[at] + steps >= rows.cap[at]
        for row, end in zip(at[capped].tolist(), to[capped].tolist(), strict=True):
            _stop_at_cap(self, row, end)
        free = at[~capped]
        rows.steps[free] += steps[~capped]
        rows.offset[free], rows.met[free] = offset[~capped], met[~capped]
        rows.round[free], rows.column[free] = to[~capped], 0

    def steps_of_round(self, at: IntArray) -> IntArray:
        """Return how many steps end before each item in the rest of the current rounds, shape `(rows, width + 1)`."""
        rows = self.rows
        ended: IntArray = np.zeros((len(at), self.width + 1), np.int32)
        if len(at):
            clicks, observed = _outcomes_of_round(self, at)
            ends = step_ends(clicks & rows.cascading[at][:, None], observed, rows.offset[at], rows.batch[at])
            np.cumsum(ends, axis=1, out=ended[:, 1:])
        return ended

    def next_stretch(self, at: IntArray, quiet_until: int) -> None:
        """Count the steps left in the stretch, and draw the next one; no rule fires up to the count `quiet_until`."""
        rows = self.rows
        self.count_steps(at, rows.rounds[at])
        at = at[rows.mode[at] != Mode.OVER]
        for row in at.tolist():
            rows.S[row] = rows.sums[row][-1]
        rows.T[at] += rows.rounds[at]
        rows.round[at] = rows.column[at] = rows.met[at] = rows.look[at] = 0
        for row, rounds in zip(at.tolist(), _horizon(self, at, quiet_until).tolist(), strict=True):
            _draw(self, row, rounds)
        rows.ahead[at] = _AHEAD
        rows.mode[at] = np.where(rows.T[at] + rows.rounds[at] > quiet_until, Mode.GROUPS, Mode.STRETCH)


# --- Counting steps -------------------------------------------------------------------------------------------------


def _cuts(block: RowBlock, at: IntArray, to: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the steps that end before the beginning of the rounds `to`, the offsets there, and the keys before it."""
    rows = block.rows
    d, batch, offset = rows.d[at], rows.batch[at], rows.offset[at]
    passed = (rows.alive[at] & (np.arange(block.width) < rows.column[at][:, None])).sum(axis=1)
    length = (to - rows.round[at]) * d - passed
    steps, rest = np.divmod(offset + length, batch)
    parts, met = _next_keys(block, at, to)
    counted = np.array([0 if rows.clicks[row] else _shorten(block, row, parts, i) for i, row in enumerate(at.tolist())])
    chunk = np.cumsum([len(part) for part in parts]) // block.sizes.chunk
    chunk = np.where(rows.cascading[at] & (batch > 1), 2 * chunk + rows.clicks[at], -1)
    for number in np.unique(chunk[chunk >= 0]):
        some = np.flatnonzero(chunk == number)
        count = cuts_at_clicks if number % 2 else cuts_at_skips
        places = _places(block, at[some], [parts[i] for i in some], passed[some])
        steps[some], rest[some] = count(*places, length[some], offset[some], batch[some])
        steps[some] -= counted[some]
    return steps, rest, met


def _shorten(block: RowBlock, row: int, parts: list[IntArray], place: int) -> int:
    """Keep only the end of a row's keys if these are skips and no step before it ends without a click.

    A step without a click observes `batch` items one after the other and all of them are skipped, so that `batch` keys
    lie no further apart than these items. Where that never happens, each observation that is no skip ends a step.

    Returns:
        how many skips of survivors were left out, which `_cuts` must not count as steps.
    """
    keys, rows = parts[place], block.rows
    batch, rest = int(rows.batch[row]), int(rows.batch[row] - rows.offset[row])
    if not 1 < batch <= rows.d[row] or len(keys) < block.sizes.shorten * batch:
        return 0
    begin = (int(rows.round[row]) << block.shift) + int(rows.column[row])
    nearest = min(keys[rest - 1] - begin, (keys[batch - 1 :] - keys[: 1 - batch]).min())
    if nearest < block.width and nearest < _reach(rows.alive[row], batch):
        return 0
    parts[place], left = keys[-batch:], keys[:-batch]
    everybody = rows.d[row] == rows.drawn[row]
    return len(left) if everybody else int(np.count_nonzero(rows.alive[row].take(left & (block.width - 1))))


def _reach(alive: BoolArray, batch: int) -> int:
    """Return a bound on the number of keys between a survivor and the one `batch` observations later."""
    survivors = np.flatnonzero(alive)
    later = np.concatenate([survivors[batch:], survivors[:batch] + len(alive)])
    return int((later - survivors).max())


def _next_keys(block: RowBlock, at: IntArray, to: IntArray) -> tuple[list[IntArray], IntArray]:
    """Return the keys from where rows stand to the beginning of the rounds `to`, and how many keys lie before that."""
    rows, begin = block.rows, (block.rows.round[at] << block.shift) + block.rows.column[at]
    borders, keys = np.stack([begin, to << block.shift], axis=1), rows.keys[at].tolist()
    found = [positions(*each) for each in zip(keys, borders, strict=True)]
    return [each[first:last] for each, (first, last) in zip(keys, found, strict=True)], np.array(found)[:, 1]


def _places(block: RowBlock, at: IntArray, parts: Sequence[IntArray], passed: IntArray) -> tuple[IntArray, IntArray]:
    """Return keys as places among the survivors' observations, from where their rows stand on, and how many per row."""
    keys, count = joined(parts)
    dead = np.iinfo(keys.dtype).min
    alive, d = block.rows.alive[at], block.rows.d[at].astype(keys.dtype)
    place: IntArray = np.cumsum(alive, axis=1) - (1 + passed + block.rows.round[at] * d)[:, None]
    place[~alive] = dead
    row = np.repeat(np.arange(len(at), dtype=np.int32) << block.shift, count)
    found = place.astype(keys.dtype).ravel().take(row | (keys & (block.width - 1)))
    kept = found > dead
    found += (keys >> block.shift) * np.repeat(d, count)
    if kept.all():
        return found, count
    return found[kept], np.diff(np.append(0, np.cumsum(kept))[np.cumsum(count)], prepend=0)


def _outcomes_of_round(block: RowBlock, at: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return masks of the clicks in the rows' current round and of items yet to be observed, shape `(rows, width)`."""
    rows, width = block.rows, block.width
    keys, count = joined(
        [rows.keys[row][a : a + width] for row, a in zip(at.tolist(), rows.met[at].tolist(), strict=True)]
    )
    cell = np.repeat(np.arange(len(at)) << block.shift, count) | (keys & (width - 1))
    clicks = np.repeat(~rows.clicks[at], width)
    clicks[cell[(keys >> block.shift) == np.repeat(rows.round[at], count)]] ^= True
    return clicks.reshape(-1, width), rows.alive[at] & (np.arange(width) >= rows.column[at][:, None])


def _stop_at_cap(block: RowBlock, row: int, end: int) -> None:
    """Find the round before `end` in which the cap is reached, and end there."""
    rows, at = block.rows, np.array([row])
    low, high = int(rows.round[row]), end
    while high - low > 1:
        middle = (low + high) // 2
        steps, _, _ = _cuts(block, at, np.array([middle]))
        low, high = (low, middle) if rows.steps[row] + steps[0] >= rows.cap[row] else (middle, high)
    block.count_steps(at, np.array([low]))
    rows.column[row] = np.searchsorted(block.steps_of_round(at)[0], rows.cap[row] - rows.steps[row])
    rows.steps[row], rows.mode[row] = rows.cap[row], Mode.OVER


# --- Drawing the next stretch ---------------------------------------------------------------------------------------


_AHEAD = 4
"""Number of groups that are looked at first."""


def _horizon(block: RowBlock, at: IntArray, quiet_until: int) -> FloatArray:
    """Return how many rounds are worth drawing: half way to where a rule would fire if the means stayed as they are."""
    rows, rule, n = block.rows, block.rule, np.arange(len(at))
    T, k = rows.T[at], rows.k[at]
    mean = np.where(rows.alive[at], rows.S[at] / np.maximum(T, 1)[:, None], -1.0)
    mean = -np.sort(-mean, axis=1)
    best, last_good, next_best, worst = mean[n, 0], mean[n, k - 1], mean[n, k], mean[n, rows.d[at] - 1]
    to_accept = _width(rule, best, next_best, T) / np.maximum(best - next_best + rule.epsilon, 1e-9)
    to_reject = _width(rule, last_good, worst, T) / np.maximum(last_good - worst - rule.epsilon, 1e-9)
    ahead = np.minimum(to_accept, to_reject) ** 2 - 1
    far = T * np.clip(ahead / 2, 1 / 16, 8)
    return np.where(quiet_until > T, quiet_until - T, np.where(T > 0, far, 1.0))


def _width(rule: RacingRule, high: FloatArray, low: FloatArray, T: IntArray) -> FloatArray:
    """Return how far apart two means must be so that their bounds part."""
    return np.where(T > 0, high - rule.lower(high, T) + rule.upper(low, T) - low, 0.0)


def _draw(block: RowBlock, row: int, rounds: float) -> None:
    """Draw about `rounds` rounds for a row, in groups of a power of four."""
    rows, sizes = block.rows, block.sizes
    survivors = np.flatnonzero(rows.alive[row])
    outcomes = block.outcomes[rows.id[row]]
    keys = len(survivors) * max(outcomes.rarity(survivors), 1e-9)
    whole = int(max(1, min(max(rounds, sizes.few / keys), sizes.stored / keys, (_MOST_KEYS >> block.shift) - 1)))
    size = 1
    while 4 * size * sizes.groups <= whole:
        size *= 4
    groups = whole // size
    rows.rounds[row], rows.size[row], rows.drawn[row] = groups * size, size, len(survivors)
    stretch = outcomes.stretch(survivors, int(rows.T[row]), groups * size, block.shift)
    rows.keys[row], rows.clicks[row] = stretch
    rows.sums[row] = group_sums(stretch.keys, block.shift, size, groups, stretch.clicks, rows.S[row])
    starts = positions(stretch.keys, np.arange(groups) * (size << block.shift))
    rows.starts[row] = [*starts, len(stretch.keys)]


# --- Outcomes of a stretch of rounds as sorted keys, and the places at which steps end --------------------------------
#
# In a round every survivor is observed once, in the order of the items. For each row only the *rarer* outcome (click or
# skip) is kept, as keys `round << shift | item` in ascending order, which is the order in which they are observed.

_MOST_KEYS = 2**52
"""Rounds times width of a stretch stay below this, so that quotients of counts are exact in floating point."""


def group_sums(
    keys: IntArray, shift: int, size: int, groups: int, clicks: bool, before: IntArray | int = 0
) -> FloatArray:
    """Return the clicks of each item in the first 0, 1, ..., `groups` groups of `size` rounds, added to `before`.

    `size` is a power of two.

    Returns:
        whole numbers, shape `(groups + 1, 2 ** shift)`.
    """
    width = 1 << shift
    cell = keys >> (shift + size.bit_length() - 1)
    cell <<= shift
    cell |= keys & (width - 1)
    rare = np.bincount(cell, minlength=groups * width).reshape(groups, width)
    sums: np.ndarray = np.empty((groups + 1, width))
    sums[0], sums[1:] = before, rare if clicks else size - rare
    return cumulated(sums)


def cumulated(sums: FloatArray) -> FloatArray:
    """Replace the terms along the first axis by their sums so far, in place; faster than `np.cumsum`."""
    for last, term in pairwise(sums):
        term += last
    return sums


def positions(keys: IntArray, borders: IntArray) -> list[int]:
    """Return how many keys lie before each border; a search for borders of another type would copy all keys."""
    found: list[int] = keys.searchsorted(borders.astype(keys.dtype)).tolist()
    return found


def joined(parts: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the arrays joined into one, and the length of each."""
    return np.concatenate(parts), np.array([len(part) for part in parts])


def cuts_at_clicks(
    at: IntArray, count: IntArray, length: IntArray, offset: IntArray, batch: IntArray
) -> tuple[IntArray, IntArray]:
    """Count the steps that end within the next observations of some rows, given the places of the clicks.

    A step ends at a click or at its `batch`-th observation.

    Args:
        at: places of the clicks among the observations of their row, ascending in each, one row after the other.
        count: number of clicks of each row.
        length: number of observations of each row.
        offset: observations that the step in progress has made before these, fewer than the batch.
        batch: largest number of observations of a step, for each row.

    Returns:
        number of steps that end, and number of observations of the step that is then in progress.
    """
    stop = np.cumsum(count)
    some = np.flatnonzero(count)
    first = (stop - count)[some]
    gap = np.empty_like(at)
    np.subtract(at[1:], at[:-1], out=gap[1:])
    gap[first] = at[first] + 1 + offset[some]
    rest = length + offset
    rest[some] = length[some] - 1 - at[stop[some] - 1]
    steps = count + rest // batch
    gap -= 1
    steps[some] += _full_batches(gap, first, count[some], batch[some])
    return steps, rest % batch


def cuts_at_skips(
    at: IntArray, count: IntArray, length: IntArray, offset: IntArray, batch: IntArray
) -> tuple[IntArray, IntArray]:
    """Count as `cuts_at_clicks` does, given the places of the skips.

    Every click ends a step, and so does every `batch`-th skip in a row.
    """
    stop = np.cumsum(count)
    some = np.flatnonzero(count)
    first = (stop - count)[some]
    begins = np.empty(len(at), bool)
    np.not_equal(at[1:] - at[:-1], 1, out=begins[1:])
    begins[first] = True
    begin = np.flatnonzero(begins)
    run = np.diff(begin, append=len(at))
    head = np.searchsorted(begin, first)
    run[head] += np.where(at[first] == 0, offset[some], 0)
    runs = np.diff(head, append=len(begin))
    steps, rest = length - count, np.where(length > 0, 0, offset)
    steps[some] += _full_batches(run, head, runs, batch[some])
    last = run[head + runs - 1] % batch[some]
    rest[some] = np.where(at[stop[some] - 1] == length[some] - 1, last, 0)
    return steps, rest


def _full_batches(values: IntArray, first: IntArray, count: IntArray, batch: IntArray) -> IntArray:
    """Return the sum of `values
    batch` of each row, whose `count > 0` values begin at `first`.

    Floating-point division is faster, and for numbers below 2**53 the whole part of a quotient is exact.
    """
    if len(first) == 0:
        return first
    full = np.floor(values / np.repeat(batch.astype(np.float64), count))
    return np.add.reduceat(full, first).astype(np.int64)


def step_ends(clicks: BoolArray, observed: BoolArray, offset: IntArray, batch: IntArray) -> BoolArray:
    """Return a mask of the places in a part of a round at which a step ends, shape `(rows, columns)`.

    Args:
        clicks: the columns at which a click ends the step.
        observed: the columns that are observed at all.
        offset, batch: as for `cuts_at_clicks`.
    """
    place = np.cumsum(observed, axis=1, dtype=np.int32) - np.int32(1)
    since = np.where(clicks & observed, place, np.int32(-1) - offset[:, None].astype(np.int32))
    np.maximum.accumulate(since, axis=1, out=since)
    ends: BoolArray = observed & ((place - since) % batch[:, None].astype(np.int32) == 0)
    return ends
