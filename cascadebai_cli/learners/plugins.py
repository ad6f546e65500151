"""Learners of one's own: a class that is named `module:Class` and follows `protocol.Learner`.

It is imported by that name in every process that runs trials, so the module must be importable there: from the
directory in which the command was started, or installed.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.learners.racing import RacingLearner


def is_plugin(name: str) -> bool:
    """Whether a name of an algorithm is that of a class of one's own."""
    return ":" in name


@lru_cache(maxsize=32)
def load_plugin(name: str) -> Callable[..., Learner]:
    """The class of that name, `module:Class`.

    Raises:
        ConfigError: if there is none, or the module cannot be imported.
    """
    module_name, _, class_name = name.partition(":")
    module = _module(name, module_name)
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        there = [key for key, value in vars(module).items() if isinstance(value, type)]
        own = [key for key in there if vars(module)[key].__module__ == module.__name__]
        raise ConfigError(
            f"{name}: {module_name} has no class '{class_name}'; its classes are {', '.join(own) or 'none'}"
        )
    return made


def _module(name: str, module_name: str) -> ModuleType:
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise ConfigError(
            f"{name}: '{module_name}' is not a module; write it as in an import, such as folder.file:Class"
        )
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{name}: no module '{error.name}' in {os.getcwd()} or installed; start where it lies"
        ) from error
    except Exception as error:
        problem = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ConfigError(f"{name}: importing {module_name} fails with {problem}; correct the module") from error


def build_plugin(name: str, *, L: int, K: int, **others: Any) -> Learner:
    """A learner of that class, whose lists are checked.

    Raises:
        ConfigError: if it cannot be made, or does not follow the protocol.
    """
    try:
        learner: object = load_plugin(name)(L=L, K=K, **others)
    except CascadeError:
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ConfigError(f"{name}: {problem}; it is made with L, K, delta, epsilon and its options") from error
    missing = [part for part in _PARTS if not hasattr(learner, part)]
    if missing or not isinstance(learner, Learner):
        raise ConfigError(f"{name} lacks {', '.join(missing)}; a learner has {', '.join(_PARTS)}")
    return learner if isinstance(learner, RacingLearner) else _Checked(learner, name, L, K)


_PARTS = ("select", "observe", "finished", "recommendation")


class _Checked:
    """A learner whose lists are checked: an empty one would be shown for ever, one that is too long would cheat."""

    def __init__(self, learner: Learner, name: str, L: int, K: int) -> None:
        self._learner, self.name, self._K, self._items = learner, name, K, frozenset(range(L))
        self.observe = learner.observe

    @property
    def finished(self) -> bool:
        return self._learner.finished

    @property
    def recommendation(self) -> tuple[int, ...]:
        return self._learner.recommendation

    def select(self) -> Sequence[int]:
        shown = self._learner.select()
        items = set(shown)
        if not 0 < len(shown) == len(items) <= self._K or not items <= self._items:
            raise CascadeError(
                f"{self.name}: select returned {list(shown)}; a list has 1 to {self._K} different items, "
                f"each from 0 to {len(self._items) - 1}"
            )
        return shown


@lru_cache(maxsize=32)
def plugin_code(name: str) -> str:
    """16 hexadecimal digits of a hash of the module's file: rows of an older version do not mix with newer ones."""
    file = sys.modules[load_plugin(name).__module__].__file__
    return hashlib.sha256(Path(file).read_bytes() if file else b"").hexdigest()[:16]
