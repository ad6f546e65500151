"""What a learner answers when its steps are over and it has not stopped.

An engine that keeps the learner up to date only needs to ask it. Skip-ahead forgets the clicks: they are counted again
in the outcomes that it has drawn.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cascadebai_cli.engines.jobs import Enough, Job, Runs
from cascadebai_cli.engines.outcomes import Outcomes, Stretch
from cascadebai_cli.engines.run import Run
from cascadebai_cli.learners.racing import RacingLearner
from cascadebai_cli.model.instance import IntArray

RunAll = Callable[[Sequence[Job[Any]], Enough], Runs]
Ask = Callable[[Job[Any], Run], tuple[int, ...]]


def ask(job: Job[Any], run: Run) -> tuple[int, ...]:
    """The answer of a learner that is up to date."""
    answer: tuple[int, ...] = tuple(job.learner.answer)
    return answer


def ask_after_skipping(job: Job[RacingLearner], run: Run) -> tuple[int, ...]:
    """The answer of a learner that the engine has not touched, whose outcomes were `Counted`."""
    learner = job.learner
    T = np.array(run.counts)
    survivors = np.setdiff1d(np.arange(len(T)), run.accepted + run.rejected)
    learner.T, learner.S = T, job.stack.clicks(T, survivors)
    learner.race.survivors = survivors
    learner.race.accepted, learner.race.rejected = list(run.accepted), list(run.rejected)
    return learner.answer


def answering(run_all: RunAll, ask: Ask) -> RunAll:
    """An engine that returns the answers of learners that are asked for them."""

    def run(jobs: Sequence[Job[Any]], enough: Enough) -> Runs:
        for place, done in run_all(jobs, enough):
            if isinstance(done, Run) and done.status == "capped" and jobs[place].answers:
                yield place, replace(done, recommendation=ask(jobs[place], done))
            else:
                yield place, done

    return run


class Counted:
    """Outcomes whose clicks are counted as they are drawn.

    Stretches follow one another, and whoever survives one has observed all of it; so of each item only the sum before
    the last stretch is kept, and that stretch.

    Args:
        outcomes: where they come from.
        L: number of items.
    """

    def __init__(self, outcomes: Outcomes, L: int) -> None:
        self._outcomes = outcomes
        self._before: IntArray = np.zeros(L, np.int64)
        self._start, self._rounds, self._shift = 0, 0, (L - 1).bit_length()
        self._last = Stretch(np.zeros(0, np.int64), True)

    def next(self, item: int) -> int:
        """As the outcomes; not counted."""
        return self._outcomes.next(item)

    def rarity(self, items: IntArray) -> float:
        """As the outcomes."""
        return self._outcomes.rarity(items)

    def stretch(self, items: IntArray, start: int, rounds: int, shift: int) -> Stretch:
        """As the outcomes."""
        self._before += self._in_last(np.full(len(self._before), self._rounds))
        self._start, self._rounds, self._shift = start, rounds, shift
        self._last = self._outcomes.stretch(items, start, rounds, shift)
        return self._last

    def clicks(self, T: IntArray, survivors: IntArray) -> IntArray:
        """Clicks of each item among its first `T` outcomes, shape `(L,)`; 0 for those that do not survive."""
        found = np.zeros_like(self._before)
        found[survivors] = (self._before + self._in_last(T - self._start))[survivors]
        return found

    def _in_last(self, rounds: IntArray) -> IntArray:
        """Clicks of each item in its first `rounds` rounds of the last stretch; no matter for those not in it."""
        keys, are_clicks = self._last
        item = keys & ((1 << self._shift) - 1)
        rare = np.bincount(item[keys >> self._shift < rounds[item]], minlength=len(rounds))
        return rare if are_clicks else rounds - rare
