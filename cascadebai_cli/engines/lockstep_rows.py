"""The rows of a block of the lockstep engine, and when each of them tries to leap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.jobs import NO_CAP, Job
from cascadebai_cli.engines.lookahead import NEVER
from cascadebai_cli.engines.row_state import RowState, objects
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

SHORTEST_LEAP, LONGEST_LEAP = 1 << 10, 1 << 16
"""Steps that a leap aims at."""
WORTHWHILE = 256
"""Steps from which on a leap is cheaper than stepping."""
LONGEST_PAUSE = 1 << 12
"""Steps after which a row that might be stuck tries to leap again."""


@dataclass
class LockstepRows(RowState):
    """Where each row is. The first group has shape `(rows,)`, the second `(rows, L)`.

    Attributes:
        job: place of the row in the jobs, -1 once it has ended.
        learner, epsilon, cap: of its job.
        k: items still to be accepted.
        steps, since: steps made when it last went on, and steps of the block at that time.
        parked: whether it waits to be looked at.
        size: width of its last window.
        aim, retry, pause: steps that its next leap aims at; it is tried once the row has made `retry` steps, and after
            a leap that was not worthwhile only `pause` steps later.
        alive: mask of the survivors.
        key: `count << shift | item`, larger than all others once the item is identified.
        value: what the item is sorted by now; `inf`, behind every click, if it cannot be observed.
        click: the same if the item's next outcome is a click that ends the step, else `NEVER`.
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
        """Items of a row were identified."""
        self.alive[row, items] = False
        self.k[row] = self.learner[row].race.k
        self.key[row, items] = _last_key(self.key, shift) + items

    def retype_keys(self, bits: int, shift: int) -> None:
        """Let keys have so many bits."""
        self.key = self.key.astype(np.int32 if bits == 32 else np.int64)
        dead, items = np.nonzero(~self.alive)
        self.key[dead, items] = _last_key(self.key, shift) + items

    def until(self) -> IntArray:
        """Steps of the block at which each row that is not parked reaches its cap, or tries to leap."""
        soon = (self.pause == WORTHWHILE) & (self.retry > self.steps)
        until = np.where(soon, np.minimum(self.cap, self.retry), self.cap)
        return np.where(self.parked, NO_CAP, self.since + until - self.steps)

    def may_leap(self, rows: IntArray) -> BoolArray:
        """Whether the time has come for the next leap of rows, and the cap is far enough."""
        is_due: BoolArray = self.steps[rows] >= self.retry[rows]
        return is_due & (self.steps[rows] < self.cap[rows] - WORTHWHILE)

    def next_aim(self, row: int) -> int:
        """Steps that the next leap of a row aims at, so that it ends before the cap."""
        return min(int(self.aim[row]), int(self.cap[row] - self.steps[row]) - 1)

    def leapt(self, row: int, aim: int, steps: int) -> bool:
        """A row made `steps` steps by a leap that aimed at `aim`; whether that was worthwhile.

        The next one aims further after a full leap, less far after one that failed, and waits after one that was not
        worthwhile at the shortest aim.
        """
        far = LONGEST_LEAP if 2 * steps > aim else aim // 2 if 8 * steps < aim else aim
        worthwhile = steps >= WORTHWHILE
        self.steps[row] += steps
        self.aim[row] = max(SHORTEST_LEAP, min(far, 2 * aim))
        self.pause[row] = WORTHWHILE if worthwhile else min(2 * self.pause[row], LONGEST_PAUSE)
        self.retry[row] = self.steps[row] + self.pause[row]
        return worthwhile


def _last_key(key: NDArray[Any], shift: int) -> int:
    return int(np.iinfo(key.dtype).max) >> shift << shift


def new_rows(jobs: Sequence[Job[CascadeBAI]], shift: int, size: int) -> LockstepRows:
    """Rows that stand where their learners do, all parked, with keys of 64 bits and a `size`."""
    rows, L = len(jobs), jobs[0].learner.rule.L
    learners = [job.learner for job in jobs]
    made = LockstepRows(
        job=np.arange(rows),
        learner=objects(learners),
        epsilon=np.array([learner.rule.epsilon for learner in learners]),
        cap=np.array([job.cap for job in jobs]),
        k=np.array([learner.race.k for learner in learners]),
        steps=np.array([job.steps for job in jobs]),
        since=np.zeros(rows, np.int64),
        parked=np.ones(rows, bool),
        size=np.full(rows, size),
        aim=np.full(rows, SHORTEST_LEAP),
        retry=np.zeros(rows, np.int64),
        pause=np.full(rows, 2 * WORTHWHILE),
        alive=np.ones((rows, L), bool),
        key=(np.array([learner.T for learner in learners]) << shift) | np.arange(L),
        value=np.full((rows, L), np.inf),
        click=np.full((rows, L), NEVER),
    )
    for row, learner in enumerate(learners):
        made.remove(row, np.array(learner.race.accepted + learner.race.rejected, np.int64), shift)
    return made
