"""Trials for the engines, and what an engine returns of each."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.learners.protocol import Learner, Race
from cascadebai_cli.model.problem import CASCADING, Feedback, IntArray, NextChance

# --- The result of one trial ----------------------------------------------------------------------------------------


Ending = Literal["stopped", "capped"]


@dataclass(frozen=True)
class Run:
    """Outcome of one trial.

    Attributes:
        steps: number of steps, each of which shows one list; the cap if `status` is `capped`.
        status: `stopped` if the learner stopped by itself, `capped` if `max_steps` ended the run.
        observations: number of observed outcomes of items that survived at that time.
        recommendation: the items returned; for a capped run, the learner's answer at the cap if it was to be asked.
        accepted: items in the order of acceptance (empty for learners that do not race).
        rejected: items in the order of rejection, those rejected in one step in the order of the items.
        accepted_at, rejected_at: number of the step, from 1, at whose end each of these items was identified.
        counts: number of observations of each item while it survived, length `L`; racing learners, KL-LUCB++ and
            `posterior` only.
    """

    steps: int
    status: Ending
    observations: int
    recommendation: tuple[int, ...]
    accepted: tuple[int, ...] = ()
    rejected: tuple[int, ...] = ()
    accepted_at: tuple[int, ...] = ()
    rejected_at: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()

    @classmethod
    def of_race(cls, race: Race, steps: int, counts: IntArray) -> "Run":
        """Return the run of a racing learner, of which `counts`, shape `(L,)`, are the observations of each item."""
        return cls(
            steps=steps,
            status="stopped" if race.finished else "capped",
            observations=int(counts.sum()),
            recommendation=race.recommendation,
            accepted=tuple(race.accepted),
            rejected=tuple(race.rejected),
            accepted_at=tuple(race.accepted_at),
            rejected_at=tuple(race.rejected_at),
            counts=tuple(counts.tolist()),
        )


# --- Trials for the engines that run many of them side by side ------------------------------------------------------


_AnyLearner = TypeVar("_AnyLearner", bound=Learner, covariant=True)


@dataclass(frozen=True)
class Paused:
    """A run that has not ended: its learner stands where it is after `steps` steps, and can go on from there."""

    steps: int


Runs = Iterator[tuple[int, Run | Paused]]
"""What an engine yields for a sequence of jobs: the place of a job and its run, in the order in which runs end."""
HasEnough = Callable[[], bool]
"""Tells an engine that can stop between two steps whether to do so, and to pause the runs that have not ended."""


def never() -> bool:
    """Return False: runs go on to their end."""
    return False


@dataclass(frozen=True)
class Job(Generic[_AnyLearner]):
    """One trial.

    Attributes:
        learner: a fresh learner, or one whose run was paused.
        stack: source of its outcomes, in the form that the engine reads.
        feedback: click model, which says what is observed of a list.
        max_steps: cap on the steps, none by default.
        steps: number of steps that the learner has made already.
        answers: whether the learner is asked for its items at the cap.
        path: label that jobs share if they differ in their cap alone; `None` if no other job is like this one.
        chance: numbers for what users draw beside outcomes; `None` if the engine knows the feedback without them.
        looks: stack whose items are the places of a list: whether each is looked at in each step; `None` if all are.
        NO_CAP: more steps than any run makes; twice as many can still be counted.
    """

    NO_CAP: ClassVar = (2**63 - 1) // 2

    learner: _AnyLearner
    stack: Any
    feedback: Feedback = CASCADING
    max_steps: int | None = None
    steps: int = 0
    answers: bool = False
    path: Hashable = None
    chance: NextChance | None = None
    looks: Any = None

    @property
    def cap(self) -> int:
        """The cap as a number, `NO_CAP` if there is none."""
        return self.NO_CAP if self.max_steps is None else self.max_steps

    @property
    def ends_at_click(self) -> bool:
        """Whether a click ends the step; lists whose places are looked at by chance may be read as a whole."""
        return self.feedback.ends_at_click if self.looks is None else self.feedback.name == CASCADING.name


def block_size(L: int, rows: int, entries: int) -> int:
    """Return how many trials of `L` items make a block: at most `rows`, with at most `entries` items together."""
    return max(1, min(rows, entries // L))


def run_in_blocks(
    jobs: Sequence[Job[_AnyLearner]],
    kind: Callable[[Job[_AnyLearner]], tuple[int, *tuple[object, ...]]],
    rows: int,
    entries: int,
    run: Callable[[Sequence[Job[_AnyLearner]]], Runs],
    enough: HasEnough = never,
) -> Runs:
    """Run jobs of equal `kind` side by side, as many as make a block; those whose turn has not come are paused.

    Args:
        kind: returns what the jobs of a block have in common, their number of items first.
        rows, entries: as for `block_size`.
    """
    groups: dict[tuple[int, *tuple[object, ...]], list[int]] = {}
    for place, job in enumerate(jobs):
        groups.setdefault(kind(job), []).append(place)
    begun = False
    for (L, *_), members in groups.items():
        most = block_size(L, rows, entries)
        for start in range(0, len(members), most):
            part = [jobs[i] for i in members[start : start + most]]
            done = enumerate(Paused(job.steps) for job in part) if begun and enough() else run(part)
            yield from ((members[start + place], run_or_pause) for place, run_or_pause in done)
            begun = True


def in_order(runs: Runs) -> list[Run]:
    """Return all runs in the order of the jobs, of which none was paused."""
    return [run for _, run in sorted(runs, key=lambda pair: pair[0]) if isinstance(run, Run)]


# --- State of trials that advance together: arrays whose first axis is the row of a block ---------------------------


@dataclass
class RowState:
    """A record of arrays with one entry per row, which are filtered together; other fields are the same for all."""

    def keep(self, rows: IntArray) -> None:
        """Forget all rows but these, also in the records that are part of this one."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, RowState):
                value.keep(rows)
            elif isinstance(value, np.ndarray):
                setattr(self, field.name, value[rows])


def objects(values: Sequence[object]) -> NDArray[Any]:
    """Return an array of objects, one entry per value."""
    array = np.empty(len(values), object)
    array[:] = values
    return array
