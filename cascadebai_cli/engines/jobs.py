"""Trials for the engines that run many of them side by side."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cascadebai_cli.engines.run import Run
from cascadebai_cli.learners.protocol import Learner

AnyLearner = TypeVar("AnyLearner", bound=Learner, covariant=True)

Runs = Iterator[tuple[int, Run]]
"""What an engine makes of a sequence of jobs: place of a job in it and its run, in the order in which runs end."""


@dataclass(frozen=True)
class Job(Generic[AnyLearner]):
    """One trial.

    Attributes:
        learner: a fresh learner.
        stack: where its outcomes come from, in the form that the engine reads.
        cascading: whether a click ends a step.
        max_steps: cap on the steps, none by default.
    """

    learner: AnyLearner
    stack: Any
    cascading: bool = True
    max_steps: int | None = None


def run_in_blocks(
    jobs: Sequence[Job[AnyLearner]],
    kind: Callable[[Job[AnyLearner]], tuple[object, ...]],
    most: int,
    run: Callable[[Sequence[Job[AnyLearner]]], Runs],
) -> Runs:
    """Run jobs of equal `kind` side by side, at most `most` at a time."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, job in enumerate(jobs):
        groups.setdefault(kind(job), []).append(place)
    for members in groups.values():
        for start in range(0, len(members), most):
            part = members[start : start + most]
            for place, done in run([jobs[i] for i in part]):
                yield part[place], done


def in_order(runs: Runs) -> list[Run]:
    """All runs, in the order of the jobs."""
    return [run for _, run in sorted(runs, key=lambda pair: pair[0])]
