"""The rows of a block of the lockstep engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.jobs import Job
from cascadebai_cli.engines.lookahead import NEVER
from cascadebai_cli.engines.row_state import RowState, objects
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray


@dataclass
class Rows(RowState):
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


def _last_key(key: NDArray[Any], shift: int) -> int:
    return int(np.iinfo(key.dtype).max) >> shift << shift


def new_rows(jobs: Sequence[Job[CascadeBAI]], shift: int, size: int, aim: int, pause: int) -> Rows:
    """Rows that stand where their learners do, all parked, with keys of 64 bits, and a `size`, `aim` and `pause`."""
    rows, L = len(jobs), jobs[0].learner.rule.L
    learners = [job.learner for job in jobs]
    made = Rows(
        job=np.arange(rows),
        learner=objects(learners),
        epsilon=np.array([learner.rule.epsilon for learner in learners]),
        cap=np.array([job.cap for job in jobs]),
        k=np.array([learner.race.k for learner in learners]),
        steps=np.array([job.steps for job in jobs]),
        since=np.zeros(rows, np.int64),
        parked=np.ones(rows, bool),
        size=np.full(rows, size),
        aim=np.full(rows, aim),
        retry=np.zeros(rows, np.int64),
        pause=np.full(rows, pause),
        alive=np.ones((rows, L), bool),
        key=(np.array([learner.T for learner in learners]) << shift) | np.arange(L),
        value=np.full((rows, L), np.inf),
        click=np.full((rows, L), NEVER),
    )
    for row, learner in enumerate(learners):
        made.remove(row, np.array(learner.race.accepted + learner.race.rejected, np.int64), shift)
    return made
