"""What every engine asks of a learner."""

from collections.abc import Sequence
from inspect import getattr_static
from typing import Any, Protocol, runtime_checkable

import numpy as np

from cascadebai_cli.model.problem import IntArray

# --- The protocol ---------------------------------------------------------------------------------------------------


@runtime_checkable
class Learner(Protocol):
    """An algorithm for finding the best `K` items, one step at a time.

    The reference engine calls `select`, shows the items, calls `observe`, and repeats until `finished`.
    """

    @property
    def finished(self) -> bool:
        """Whether the learner has stopped."""
        ...

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The `K` items returned once `finished`."""
        ...

    def select(self) -> Sequence[int]:
        """Return the items to show at this step, first to last."""
        ...

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Take in the outcomes (1 a click, 0 a skip) of the first `len(outcomes)` items shown."""
        ...


class _Answering(Learner, Protocol):
    """A learner that can be asked at any time, as a budget of steps needs it."""

    @property
    def answer(self) -> tuple[int, ...]:
        """The `K` items that the learner would return now."""
        ...


def can_answer(learner: Learner) -> bool:
    """Return whether a learner is `_Answering`, without asking it for anything."""
    return getattr_static(learner, "answer", None) is not None


# --- Lists that stay for many steps, as pages that are fixed for many views -----------------------------------------


class Batched:
    """A learner whose lists stay for many steps, and which is told what was seen on them only then.

    One that can take in sums of looks and clicks (`take_in`) is told these; another is told all in its order, and drops
    the rest of a batch within which it has stopped. So whatever holds for the learner because what is shown depends on
    the past alone, as its guarantee, holds here too.

    Args:
        name: its name in messages.
        batch: number of steps for which a list stays; or, below 1, by which share more often than so far the least
            observed item of a list is shown before the next list, for a learner with counts `T`.
    """

    def __init__(self, learner: Any, name: str, batch: float) -> None:
        self.learner, self.name, self.batch = learner, name, batch
        self.engines: Sequence[str] = getattr(learner, "engines_in_batches", ())
        self.any_order, self.endless, self.repeats = (
            bool(getattr(learner, what, False)) for what in ("any_order", "endless", "repeats")
        )
        self._shown: Sequence[int] = ()
        self._steps = 0
        self._untold: list[tuple[Sequence[int], Sequence[int]]] = []

    @property
    def finished(self) -> bool:
        """Whether the learner has stopped, by what it was told."""
        return bool(self.learner.finished)

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The `K` items returned once `finished`."""
        return tuple(self.learner.recommendation)

    def select(self) -> Sequence[int]:
        """Return the list of this batch."""
        if not self._untold:
            self._shown = self.learner.select()
            self._steps = int(self.steps(np.min(self.learner.T[list(self._shown)])) if self.batch < 1 else self.batch)
        return self._shown

    @property
    def rule(self) -> Any:
        """The part of the learner that does not change."""
        return self.learner.rule

    def steps(self, T: IntArray) -> IntArray:
        """Return for how many steps lists stay whose least observed item was observed `T` times."""
        grown = (self.batch * T).astype(np.int64) if self.batch < 1 else np.full(T.shape, self.batch, np.int64)
        return np.maximum(1, grown)

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Keep the outcomes, and tell them when the batch is over."""
        self._untold.append((shown, outcomes))
        if len(self._untold) == self._steps:
            self._tell()

    def _tell(self) -> None:
        if self.engines and self._untold:
            looks, clicks = np.zeros((2, self.rule.L), np.int64)
            for shown, outcomes in self._untold:
                looks[list(shown[: len(outcomes)])] += 1
                clicks[list(shown[: len(outcomes)])] += np.asarray(outcomes)
            self.learner.take_in(looks, clicks)
        for shown, outcomes in [] if self.engines else self._untold:
            if not self.learner.finished:
                self.learner.observe(shown, outcomes)
        self._untold = []


class BatchedAnswering(Batched):
    """One that can be asked at any time, and is told before what was seen so far."""

    learner: _Answering

    @property
    def answer(self) -> tuple[int, ...]:
        """The `K` items that the learner would return now."""
        self._tell()
        return self.learner.answer


def in_batches(learner: Learner, name: str, batch: float) -> Batched:
    """Return a learner whose lists stay for `batch` steps each."""
    return (BatchedAnswering if can_answer(learner) else Batched)(learner, name, batch)
