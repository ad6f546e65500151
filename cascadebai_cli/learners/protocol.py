"""What every engine asks of a learner."""

from collections.abc import Sequence
from inspect import getattr_static
from typing import Protocol, runtime_checkable


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
        """Items to show at this step, first to last."""
        ...

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Take in the outcomes (1 a click, 0 a skip) of the first `len(outcomes)` items shown."""
        ...


class Answering(Learner, Protocol):
    """A learner that can be asked at any time, as a budget of steps needs it."""

    @property
    def answer(self) -> tuple[int, ...]:
        """The `K` items that it would return now."""
        ...


def can_answer(learner: Learner) -> bool:
    """Whether a learner is `Answering`; nothing is asked of it."""
    return getattr_static(learner, "answer", None) is not None
