"""The state of the trials that skip-ahead runs side by side, a row a trial."""

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
    """What a row waits for."""

    STRETCH = 0
    GROUPS = 1
    GROUP = 2
    WINDOW = 3
    STEPS = 4
    OVER = 5


@dataclass
class _Record(RowState):
    """Arrays with one entry a row, or one a row and item: shape `(rows, width)`."""

    @classmethod
    def zeros(cls: type[AnyRecord], rows: int, width: int) -> AnyRecord:
        """All zeros, and `None` for objects."""
        types: dict[Any, Any] = {BoolArray: bool, FloatArray: np.float64, np.ndarray: object}
        arrays = {
            part.name: part.type.zeros(rows, width)
            if part.type is Focus
            else np.zeros((rows, width) if part.metadata else rows, types.get(part.type, np.int64))
            for part in fields(cls)
        }
        return cls(**arrays)

    def copy(self: AnyRecord, at: IntArray, other: AnyRecord) -> None:
        """Take over some rows of another record."""
        for part in fields(self):
            getattr(self, part.name)[at] = getattr(other, part.name)[at]


@dataclass
class Focus(_Record):
    """The items that matter in some rounds: who may be identified in them, and the boundary (`proofs`).

    Attributes:
        begin, stop: rounds at which they begin and end.
        matter: number of items that matter.
        items: which they are in the first `matter` places, in ascending order.
        place: of each item its place in `items`, -1 for those that do not matter.
        above: number of survivors that do not matter because they rank above the boundary.
        low, high, next_best, last_good: bounds of the means (`proofs.Means`).
        base, keys: clicks before them of the items that matter, and keys in them, those of these items among them.
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
    """What is known of each row. It stands before the observation of item `column` in round `round` of its stretch.

    Attributes:
        id: place of the row's job.
        mode: a `Mode`.
        rule, cascading, cap: its rule, whether a click ends a step, largest number of steps.
        k, d, batch: items still to be accepted, survivors, most observations of a step.
        alive, counts: the survivors, and the observations of the others.
        accepted, rejected: lists of items.
        steps, offset: steps that have ended where the row stands, and observations of the step in progress.
        round, column, met: where it stands, and keys of the stretch before that round.
        T, S: count of every survivor, and their clicks, when the stretch began.
        rounds, drawn: length of the stretch, and survivors when it was drawn.
        keys, clicks: its rarer outcomes (`keys`), and whether these are clicks.
        size, sums, starts: rounds of a group of the stretch, a power of two, clicks and keys before each group.
        ahead: groups to look at next.
        look, since: round, and item in it, before which nobody else can be identified.
        group, focus: items that matter in the group that is looked into, and in the part of it at hand.
        level: windows of `2 ** level` rounds are looked at next.
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
    """How much is looked at by one call; no run depends on these, only its time (and the random numbers drawn).

    Raises:
        ValueError: if one is so small that a search would never end.

    Attributes:
        few, stored: keys of a stretch at least and at most, about.
        groups: groups of a stretch, up to four times as many.
        ahead: groups of a row that are looked at together, at most.
        windows: windows in a group that are looked at together.
        divide, grow: binary logarithms of how much narrower and wider they get.
        moments: moments of a round that are looked at together; at least 2, since the first of them may be empty.
        shorten: batches of skips among which it pays to see that none of them is a step.
        chunk: keys of which steps are counted together, so that they stay in the cache.
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
        outcomes: where the outcomes of each job come from.
        shift: keys are `round << shift | item`.
        sizes: how much is looked at by one call.
    """

    rule: RacingRule
    rows: Rows
    outcomes: Sequence[Outcomes]
    shift: int
    sizes: Sizes

    @property
    def width(self) -> int:
        """Entries of an array over the items, `L` or more."""
        return 1 << self.shift


def new_block(jobs: Sequence[Job[RacingLearner]], sizes: Sizes) -> RowBlock:
    """All trials before their first observation."""
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
