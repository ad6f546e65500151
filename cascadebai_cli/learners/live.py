"""Learners that stand in no module: classes of a notebook, a script or a prompt.

A config cannot name them, as nobody else could import them. In this process, and in those that it sends its work to,
they are called `__main__:Class#HASH` after their code (`live_code`): what is known of such a name never changes.
"""

from collections.abc import Iterable, Mapping

from cascadebai_cli.learners.live_code import is_live, live_hash

PREFIX, MARK = "__main__:", "#"

_CLASSES: dict[str, type] = {}
"""What a learner is called -> its class."""


def enter(made: type) -> str:
    """What a class is called as an algorithm: `module:Class` if it can be imported, else by its code as it is now."""
    if not is_live(made) and "." not in made.__qualname__:
        return f"{made.__module__}:{made.__name__}"
    algorithm = f"{PREFIX}{made.__name__}{MARK}{live_hash(made)}"
    _CLASSES[algorithm] = made
    return algorithm


def live_class(algorithm: str) -> type | None:
    """The class that is called so, if it is known here."""
    return _CLASSES.get(algorithm)


def live_code(algorithm: str) -> str | None:
    """The hash of its code."""
    return algorithm.rpartition(MARK)[2] if algorithm in _CLASSES else None


def sent_along(algorithms: Iterable[str]) -> dict[str, type]:
    """The classes among these that another process does not know."""
    return {name: _CLASSES[name] for name in algorithms if name in _CLASSES}


def take_in(classes: Mapping[str, type]) -> None:
    """Know these from now on."""
    _CLASSES.update(classes)
