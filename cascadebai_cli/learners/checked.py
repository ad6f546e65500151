"""A learner of one's own, held to the protocol at every step."""

from collections.abc import Callable, Sequence
from inspect import getattr_static
from operator import index
from typing import Any

import numpy as np

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.learners.protocol import Learner

PARTS = ("select", "observe", "finished", "recommendation")
_VALUES = ("finished", "recommendation")
_UNORDERED = (set, frozenset, dict)


def refuse_incomplete(learner: object, name: str) -> None:
    """Refuse an object that lacks a part of the protocol, or has one that only looks like it.

    Raises:
        ConfigError: with the parts.
    """
    # a mock has every attribute that it is asked for: only those count that are there without asking
    missing = [part for part in PARTS if getattr_static(learner, part, None) is None]
    if missing:
        raise ConfigError(f"{name} lacks {', '.join(missing)}; a learner has {', '.join(PARTS)}")
    for part in _VALUES:
        if callable(getattr_static(learner, part)):
            raise ConfigError(f"{name}: {part} is a method; write @property above it")


class Checked:
    """A learner whose lists are checked: an empty one would be shown for ever, one that is too long would cheat.

    Args:
        learner: the learner.
        name: for messages.
        L, K, M: numbers of items, of those to find, and of those in a list at most.

    Raises:
        CascadeError: at every value that breaks the protocol.
    """

    def __init__(self, learner: Learner, name: str, L: int, K: int, M: int) -> None:
        self._learner, self.name, self._L, self._K, self._M = learner, name, L, K, M
        self.observe: Callable[[Sequence[int], Sequence[int]], None] = learner.observe

    @property
    def finished(self) -> bool:
        """Whether it has stopped."""
        answer: Any = self._learner.finished
        if not isinstance(answer, bool | np.bool_):
            raise CascadeError(f"{self.name}: finished is {_shown(answer)}; give True or False")
        return bool(answer)

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The `K` items returned once `finished`; before that none, as nothing is asked of it."""
        return self._best("recommendation") if self.finished else ()

    def select(self) -> Sequence[int]:
        """The list to show."""
        shown: Any = self._learner.select()
        items = None if isinstance(shown, _UNORDERED) else self._items(shown)
        if not items or len(items) > self._M:
            raise self._refusal("select", shown, f"a list has 1 to {self._M}")
        return items

    def _best(self, part: str) -> tuple[int, ...]:
        """The `K` items that are named by a part."""
        answer: Any = getattr(self._learner, part)
        items = self._items(answer)
        if items is None or len(items) != self._K:
            raise self._refusal(part, answer, f"it has {self._K}")
        return tuple(items)

    def _items(self, answer: Any) -> list[int] | None:
        """Different items as numbers of Python's own; `None` if the answer is anything else."""
        try:
            given = list(answer)
            items = [index(item) for item in given]
        except TypeError:
            return None
        known = not any(isinstance(item, bool) for item in given) and all(0 <= item < self._L for item in items)
        return items if known and len(set(items)) == len(items) else None

    def _refusal(self, part: str, answer: Any, what: str) -> CascadeError:
        return CascadeError(
            f"{self.name}: {part} returned {_shown(answer)}; {what} different items, each from 0 to {self._L - 1}"
        )


class CheckedAnswering(Checked):
    """One that can be asked at any time."""

    @property
    def answer(self) -> tuple[int, ...]:
        """The `K` items that it would return now."""
        return self._best("answer")


def _shown(answer: object) -> str:
    """A value on one line, shortened."""
    text = " ".join(str(answer).split())
    return text if len(text) <= 60 else text[:57] + "..."
