"""The state of the trials that skip-ahead runs side by side, one row per trial."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, TypeVar

import numpy as np

from cascadebai_cli.engines.jobs import Job, RowState
from cascadebai_cli.engines.outcomes import Outcomes
from cascadebai_cli.learners.racing import RacingLearner, RacingRule
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

_OF_ITEM = {"of_item": True}
AnyRecord = TypeVar("AnyRecord", bound="_Record")


class Mode(IntEnum):
    """What a row waits for (`skip_ahead`)."""

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
    def zeros(cls: type[AnyRecord], rows: int, width: int) -> AnyRecord:
        """Return a record of zeros, and `None` where entries are objects."""
        types: dict[Any, Any] = {BoolArray: bool, FloatArray: np.float64, np.ndarray: object}
        arrays = {
            part.name: part.type.zeros(rows, width)
            if part.type is Focus
            else np.zeros((rows, width) if part.metadata else rows, types.get(part.type, np.int64))
            for part in fields(cls)
        }
        return cls(**arrays)

    def copy(self: AnyRecord, at: IntArray, other: AnyRecord) -> None:
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
class Rows(_Record):
    """The state of each row, which stands before the observation of item `column` in round `round` of its stretch.

    Attributes:
        id: place of the row's job.
        mode: a `Mode`.
        rule, cascading, cap: its rule, whether a click ends a step, and the largest number of steps.
        k, d, batch: number of items still to be accepted, of survivors, and largest number of observations of a step.
        alive, counts: mask of the survivors, and the observations of the other items.
        accepted, rejected: lists of items.
        steps, offset: steps that have ended where the row stands, and observations of the step in progress.
        round, column, met: where it stands, and the number of keys of the stretch before that round.
        T, S: count of every survivor, and the clicks of each, when the stretch began.
        rounds, drawn: length of the stretch, and number of survivors when it was drawn.
        keys, clicks: the rarer outcomes of the stretch (module `keys`), and whether these are clicks.
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
        shorten: number of batches of skips from which it pays to try `skip_count._shorten`.
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
    rows: Rows
    outcomes: Sequence[Outcomes]
    shift: int
    sizes: Sizes

    @property
    def width(self) -> int:
        """Number of entries of an array over the items, at least `L`."""
        return 1 << self.shift


def new_block(jobs: Sequence[Job[RacingLearner]], sizes: Sizes) -> RowBlock:
    """Return a block of all trials before their first observation."""
    rules = [job.learner.rule for job in jobs]
    shift = (rules[0].L - 1).bit_length()
    rows = Rows.zeros(len(jobs), 1 << shift)
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
    return RowBlock(rules[0], rows, [job.stack for job in jobs], shift, sizes)
