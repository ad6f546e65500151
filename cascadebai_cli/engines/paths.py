"""Jobs that differ in their cap alone make the same steps: these are made once."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from cascadebai_cli.engines.jobs import Enough, Job, Paused, Runs
from cascadebai_cli.engines.run import Run

RunAll = Callable[[Sequence[Job[Any]], Enough], Runs]


def along_paths(run_all: RunAll) -> RunAll:
    """An engine whose jobs go on where that of the next smaller cap on their path has ended.

    The engine must leave a learner where its run ends. A job that is paused while it goes on from another one begins
    anew: its own learner has made no step.
    """

    def run(jobs: Sequence[Job[Any]], enough: Enough) -> Runs:
        going = [(jobs[path[0]], path) for path in _paths(jobs)]
        while going:
            ended = run_all([job for job, _ in going], enough)
            longer = []
            for i, done in ended:
                job, (place, *rest) = going[i]
                if isinstance(done, Run) and done.status == "capped" and rest:
                    longer.append((replace(jobs[rest[0]], learner=job.learner, steps=done.steps), rest))
                    rest = []
                own = isinstance(done, Run) or job is jobs[place]
                yield place, done if own else Paused(jobs[place].steps)
                for other in rest:
                    yield other, done if isinstance(done, Run) else Paused(jobs[other].steps)
            going = longer

    return run


def _paths(jobs: Sequence[Job[Any]]) -> list[list[int]]:
    """Places of the jobs of each path, in the order of their caps."""
    paths: dict[tuple[Hashable, int | None], list[int]] = {}
    for place, job in enumerate(jobs):
        paths.setdefault((job.path, place if job.path is None else None), []).append(place)
    return [sorted(places, key=lambda place: jobs[place].cap) for places in paths.values()]
