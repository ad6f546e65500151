"""Learners of one's own, from a notebook, a script or a module."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.live import enter, live_class
from cascadebai_cli.learners.plugins import load_plugin
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.learners.registry import ALGORITHMS

Made = TypeVar("Made", bound=type)

_NAMED: dict[str, type] = {}
"""Name in this session -> class."""


def learner(name: str) -> Callable[[Made], Made]:
    """Give a class a name, by which `simulate` and `sweep` take it as a learner.

    A class of a module is the learner `module:Class` of a config, and its rows can be repeated by anybody. One of a
    notebook or a script is known to this session and the processes that it starts. Its rows are the same whenever
    the same code runs, on the same version of Python; when it, or a function, class or number that it uses is changed,
    its rows are others and do not mix with the earlier ones.

    Args:
        name: as it stands in the column `learner`; a class that gets the name of an earlier one takes its place.

    Returns:
        a decorator that leaves the class as it is.

    Raises:
        ValueError: if the name is no text, has a colon, or belongs to a learner of this program.

    Example:
        >>> @learner("first items")
        ... class First:
        ...     def __init__(self, L, K, delta, epsilon=0.0):
        ...         self.recommendation, self.finished = tuple(range(K)), False
        ...     def select(self):
        ...         return self.recommendation
        ...     def observe(self, shown, outcomes):
        ...         self.finished = True
    """
    if not isinstance(name, str):
        raise ConfigError('a learner needs a name; write @cb.learner("name") above the class')
    if name in ALGORITHMS or ":" in name or not name.strip() or not name.isprintable():
        raise ConfigError(f"{name!r} is no name for a learner of one's own; use another one, without a colon")

    def give(made: Made) -> Made:
        _refuse_no_class(made)
        _NAMED[name] = made
        return made

    return give


def algorithm_of(given: Any) -> Any:
    """What a config calls a learner that is given by a name of this session or as a class; all else as it is.

    Raises:
        ConfigError: if it is an object that is no class, or no class that can be used.
    """
    made = _NAMED.get(given) if isinstance(given, str) else given
    if isinstance(made, type):
        return _entered(made)
    if callable(given) or isinstance(given, Learner):
        _refuse_no_class(given)
    return given


def _entered(made: type) -> str:
    algorithm = enter(made)
    if live_class(algorithm) is None and load_plugin(algorithm) is not made:
        raise ConfigError(
            f"{algorithm} is not the class that was used before: its module was loaded anew; restart Python"
        )
    return algorithm


def name_of(given: Any) -> Any:
    """What a learner is called in the column `learner`."""
    return given.__name__ if isinstance(given, type) else given


def named_in_study(study: Mapping[str, Any]) -> dict[str, Any]:
    """The keys and values of a study, its learners as a config calls them."""
    entries = study.get("learners")
    if not isinstance(entries, list | tuple):
        return dict(study)
    return {**study, "learners": [_named_in_entry(entry) for entry in entries]}


def _named_in_entry(entry: Any) -> Any:
    if not isinstance(entry, Mapping) or "algorithm" not in entry:
        return entry
    return {**entry, "algorithm": algorithm_of(entry["algorithm"])}


def _refuse_no_class(value: Any) -> None:
    if not isinstance(value, type):
        raise ConfigError(f"a learner is a class, of which each trial makes one anew; {value!r} is none")
