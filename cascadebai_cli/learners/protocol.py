"""What every engine asks of a learner."""

from collections.abc import Sequence
from inspect import getattr_static
from typing import Protocol, runtime_checkable

from cascadebai_cli.errors import ConfigError

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


# --- How many items a step shows: `M`, apart from the `K` items to find ---------------------------------------------
#
# An item's outcome is independent of everything before it, including what decides whether the item is observed. So
# what is proved of a learner that shows `K` items holds for any `M >= 1`.


def check_list_length(M: int | None) -> None:
    """Refuse a value that is not the length of a list.

    Raises:
        ConfigError: naming the value.
    """
    if M is not None and (type(M) is not int or M < 1):
        raise ConfigError(f"list_length is {M!r}, but must be a whole number of at least 1")
