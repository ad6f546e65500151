"""Learners of one's own: a class that is named `module:Class` and follows `protocol.Learner`.

It is imported by that name in every process that runs trials, so the module must be importable there: from the
directory in which the command was started, or installed.
"""

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.learners.checked import PARTS, Checked, CheckedAnswering, refuse_incomplete
from cascadebai_cli.learners.list_length import check_list_length
from cascadebai_cli.learners.live import PREFIX, live_class, live_code
from cascadebai_cli.learners.own_code import in_words, own_hash, own_module
from cascadebai_cli.learners.protocol import Learner, can_answer
from cascadebai_cli.learners.racing import RacingLearner
from cascadebai_cli.learners.sources import OURS

MakeGenerator = Callable[[], np.random.Generator]
"""Makes the generator of a trial for a learner that draws."""


def same_generator() -> np.random.Generator:
    """For a learner that is only looked at: the same one each time."""
    return np.random.Generator(np.random.PCG64DXSM(0))


@lru_cache(maxsize=32)
def load_plugin(name: str) -> Callable[..., Learner]:
    """The class of that name, `module:Class`, or of a notebook (`live`).

    Raises:
        ConfigError: if there is none, or the module cannot be imported.
    """
    if (known := live_class(name)) is not None:
        return known
    if name.startswith(PREFIX):
        raise ConfigError(f"{name} is a class of a notebook or script that is not known here; put it into a module")
    module_name, _, class_name = name.partition(":")
    module = own_module(name, "folder.file:Class")
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        there = [key for key, value in vars(module).items() if isinstance(value, type)]
        own = [key for key in there if vars(module)[key].__module__ == module.__name__]
        raise ConfigError(
            f"{name}: {module_name} has no class '{class_name}'; its classes are {', '.join(own) or 'none'}"
        )
    return made


def build_plugin(name: str, make_rng: MakeGenerator, *, L: int, K: int, **others: Any) -> Learner:
    """A learner of that class, whose lists are checked.

    Args:
        name: `module:Class`.
        make_rng: makes its generator, if its constructor takes `rng`.
        L, K, others: further arguments of the constructor; `list_length`, else `K`, is the most of a list.

    Raises:
        ConfigError: if it cannot be made, or does not follow the protocol.
    """
    made, M = load_plugin(name), others.get("list_length")
    check_list_length(M)
    try:
        if "rng" in parameters(made):
            others["rng"] = make_rng()
        learner: Any = made(L=L, K=K, **others)
    except CascadeError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{name}: {in_words(error)}; it is made with L, K, delta, epsilon and its options") from error
    refuse_incomplete(learner, name)
    if _runs_our_way(learner):
        ours: Learner = learner
        return ours
    checked = CheckedAnswering if can_answer(learner) else Checked
    return checked(learner, name, L, K, min(M or K, L))


def _runs_our_way(learner: object) -> bool:
    """Whether it is a racing learner that changes nothing but the rule, so that the fast engines are exact for it."""
    return isinstance(learner, RacingLearner) and all(
        part not in vars(learner) and _definer(type(learner), part).__module__.startswith(f"{OURS}.") for part in PARTS
    )


def _definer(made: type, part: str) -> type:
    return next(base for base in made.__mro__ if part in vars(base))


def parameters(made: Callable[..., Learner]) -> dict[str, inspect.Parameter]:
    """Parameters of a constructor by name; of annotations that cannot be evaluated, the text.

    Raises:
        ConfigError: if it has no signature, as some classes that are not written in Python.
    """
    try:
        return dict(inspect.signature(made, eval_str=True).parameters)
    except (ValueError, TypeError):
        raise ConfigError(f"{made.__name__} does not say what it is made with; write it in Python") from None
    except Exception:
        return dict(inspect.signature(made).parameters)


@lru_cache(maxsize=32)
def plugin_code(name: str) -> str:
    """Hash of all code that the class runs (`sources`): rows of an older version do not mix with newer ones."""
    return live_code(name) or own_hash(name, load_plugin(name).__module__)
