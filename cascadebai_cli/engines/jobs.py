"""Trials for the engines that run many of them side by side."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cascadebai_cli.engines.run import Run
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.model.feedback import CASCADING, Feedback

AnyLearner = TypeVar("AnyLearner", bound=Learner, covariant=True)


@dataclass(frozen=True)
class Paused:
    """A run that has not ended: its learner stands where it is after `steps` steps, and can go on from there."""

    steps: int


Runs = Iterator[tuple[int, Run | Paused]]
"""What an engine makes of a sequence of jobs: place of a job in it and its run, in the order in which runs end."""
Enough = Callable[[], bool]
"""Whether an engine that can stop between two steps shall do so, and pause the runs that have not ended."""


def never() -> bool:
    """Runs go on to their end."""
    return False


NO_CAP = (2**63 - 1) // 2
"""More steps than any run makes; twice as many can still be counted."""


@dataclass(frozen=True)
class Job(Generic[AnyLearner]):
    """One trial.

    Attributes:
        learner: a fresh learner, or one whose run was paused.
        stack: where its outcomes come from, in the form that the engine reads.
        feedback: what is observed of a list.
        max_steps: cap on the steps, none by default.
        steps: steps that the learner has made.
        answers: whether the learner is asked for its items at the cap.
        path: jobs of an equal path differ in their cap alone; none for a job that shares its path with no other.
    """

    learner: AnyLearner
    stack: Any
    feedback: Feedback = CASCADING
    max_steps: int | None = None
    steps: int = 0
    answers: bool = False
    path: Hashable = None

    @property
    def cap(self) -> int:
        """The cap as a number, `NO_CAP` if there is none."""
        return NO_CAP if self.max_steps is None else self.max_steps


def block_size(L: int, rows: int, entries: int) -> int:
    """How many trials of `L` items make a block: no more than `rows`, nor than have `entries` items together."""
    return max(1, min(rows, entries // L))


def largest_block(jobs: Sequence[Job[Any]], rows: int, entries: int) -> int:
    """`block_size` for the longest lists of items of the jobs."""
    return block_size(max((job.learner.rule.L for job in jobs), default=1), rows, entries)


def run_in_blocks(
    jobs: Sequence[Job[AnyLearner]],
    kind: Callable[[Job[AnyLearner]], tuple[object, ...]],
    most: int,
    run: Callable[[Sequence[Job[AnyLearner]]], Runs],
    enough: Enough = never,
) -> Runs:
    """Run jobs of equal `kind` side by side, at most `most` at a time; those whose turn has not come are paused."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, job in enumerate(jobs):
        groups.setdefault(kind(job), []).append(place)
    begun = False
    for members in groups.values():
        for start in range(0, len(members), most):
            part = [jobs[i] for i in members[start : start + most]]
            done = enumerate(Paused(job.steps) for job in part) if begun and enough() else run(part)
            yield from ((members[start + place], run_or_pause) for place, run_or_pause in done)
            begun = True


def in_order(runs: Runs) -> list[Run]:
    """All runs, in the order of the jobs; none is paused."""
    return [run for _, run in sorted(runs, key=lambda pair: pair[0]) if isinstance(run, Run)]
