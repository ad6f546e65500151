"""Click models: what the agent sees of a list that is shown (Section 2)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Draw = Callable[[int], int]
"""`draw(item)` returns the next outcome of `item`: 1 a click, 0 a skip."""


@dataclass(frozen=True)
class Feedback:
    """A click model, which the reference engine runs by `reveal`; the other engines name those that they are exact for.

    Args:
        name: what a config calls it.
        shows: what a step shows of the list, in words.
        reveal: takes the items shown and a `Draw`, and returns the outcomes of the observed items, a prefix of them.
        ends_at_click: whether exactly the outcomes up to and including the first click are observed.
        observes_all: whether the outcome of every item shown is observed.
    """

    name: str
    shows: str
    reveal: Callable[[Sequence[int], Draw], list[int]]
    ends_at_click: bool = False
    observes_all: bool = False

    @property
    def has_theory(self) -> bool:
        """Whether bounds are proved for it that hang on what is observed."""
        return self.ends_at_click or self.observes_all


def _up_to_the_first_click(shown: Sequence[int], draw: Draw) -> list[int]:
    """The user scans the list from the top and stops at the first click; all outcomes are 0 if there is none."""
    outcomes: list[int] = []
    for item in shown:
        outcomes.append(draw(item))
        if outcomes[-1]:
            break
    return outcomes


def _of_every_item(shown: Sequence[int], draw: Draw) -> list[int]:
    return [draw(item) for item in shown]


CASCADING = Feedback("cascading", "the list up to the first click", _up_to_the_first_click, ends_at_click=True)
SEMI_BANDIT = Feedback("semi-bandit", "all of it", _of_every_item, observes_all=True)

FEEDBACKS: Mapping[str, Feedback] = {feedback.name: feedback for feedback in (CASCADING, SEMI_BANDIT)}
"""Name -> click model. One that is added here can be named in configs, and is run by the reference engine."""
