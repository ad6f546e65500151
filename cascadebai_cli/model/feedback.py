"""What the agent sees of a list that is shown (Section 2)."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

FeedbackName = Literal["cascading", "semi-bandit"]
Draw = Callable[[int], int]
"""`draw(item)` returns the next outcome of `item`: 1 a click, 0 a skip."""


class Feedback(Protocol):
    """A rule for which outcomes of a shown list are observed."""

    name: str

    def reveal(self, shown: Sequence[int], draw: Draw) -> list[int]:
        """Outcomes of the observed items, a prefix of `shown`."""
        ...


class Cascading:
    """The user scans the list from the top and stops at the first click."""

    name = "cascading"

    def reveal(self, shown: Sequence[int], draw: Draw) -> list[int]:
        """Outcomes up to and including the first click; all are 0 if there is none."""
        outcomes: list[int] = []
        for item in shown:
            outcomes.append(draw(item))
            if outcomes[-1]:
                break
        return outcomes


class SemiBandit:
    """The outcome of every item shown is observed."""

    name = "semi-bandit"

    def reveal(self, shown: Sequence[int], draw: Draw) -> list[int]:
        """Outcomes of all items shown."""
        return [draw(item) for item in shown]
