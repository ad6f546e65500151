"""The arguments of the Python interface, how they become studies, and how callers follow trials."""

import inspect
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_origin

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from cascadebai_cli.errors import CascadeError, ConfigError, of_removed_folder, suggest
from cascadebai_cli.learners.own import enter, load_plugin
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.learners.registry import ALGORITHMS, BATCH, find_algorithm, options_of
from cascadebai_cli.model.problem import Instance
from cascadebai_cli.options import Option, record_options
from cascadebai_cli.running.watch import Watch
from cascadebai_cli.study.config import Study, plain_value, study_of
from cascadebai_cli.study.fields import sentence, show
from cascadebai_cli.text import for_terminal, quoted

if TYPE_CHECKING:
    from cascadebai_cli.running.watch import Follower


# --- Checking arguments, with sentences like those about a config ---------------------------------------------------

_OPTION = re.compile(r"(?<![\w'\"-])(?:--(?P<long>[a-z][a-z-]*)|-(?=K ))(?P<value> (?=-?\d|[A-Z]{2}))?")
_COMMAND = re.compile(r"(`[^`]*`)")


@contextmanager
def in_words_of_python() -> Iterator[None]:
    """Make errors in the block speak of keywords instead of options, `n_jobs` for `--n-jobs`; also a decorator."""
    try:
        yield
    except CascadeError as error:
        error.args = (_in_python(str(error)), *error.args[1:])
        raise
    except FileNotFoundError as error:
        raise of_removed_folder(error) or error from None


def _in_python(text: str) -> str:
    """Return a sentence about options as one about keywords; commands in backticks stay as they are."""
    parts = _COMMAND.split(text)
    return "".join(part if i % 2 else _OPTION.sub(_keyword, part) for i, part in enumerate(parts))


def _keyword(option: re.Match[str]) -> str:
    name = (option["long"] or "").replace("-", "_")
    return name + ("=" if option["value"] and name else option["value"] or "")


def checked(name: str, kind: Any, value: Any) -> Any:
    """Return the value of an argument as this type.

    Raises:
        ConfigError: if a config would not take it for this type.
    """
    try:
        return TypeAdapter(kind, config=ConfigDict(strict=True)).validate_python(plain_value(value, name))
    except ValidationError as error:
        raise ConfigError(f"{name}: {sentence(error.errors(include_url=False)[0])}") from None


def path_of(name: str, value: Any, what: str) -> Path:
    """Return a path, with `~` for the home directory, as a shell takes it.

    Args:
        name: name of the argument.
        value: what was given.
        what: what to give instead, for the message.

    Raises:
        ConfigError: if it is no path: of another type, empty, of several lines, or refused by the system.
    """
    if not isinstance(value, str | os.PathLike):
        raise ConfigError(f"{name}: a {type(value).__name__} is none; give {what}")
    text = os.fspath(value)
    if not text or "\n" in text or "\0" in text:
        raise ConfigError(f"{name}: {show(text)} is no path; give {what}")
    path = Path(os.path.expanduser(text))
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass  # it is still to be made, or will be refused when it is read
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "half a character"
        raise ConfigError(f"{name}: {show(text)} cannot be used ({reason}); give {what}") from None
    return path


# --- Options of records as keywords ---------------------------------------------------------------------------------

_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_keywords(*records: type) -> Callable[[_Function], _Function]:
    """Return a decorator that gives a function the options of records as keywords, with signature and docstring.

    The function gets the given ones as its `**options`, with their types checked; the records check their ranges.
    """
    known = {one.name: one for one in record_options(*records) if one.in_python}

    def give(function: _Function) -> _Function:
        first, *own, _ = inspect.signature(function).parameters.values()
        made = [own[0].replace(name=one.name, default=one.default, annotation=one.type) for one in known.values()]
        signature = inspect.Signature([first, *made, *own])

        @wraps(function)
        def taking(*arguments: Any, **options: Any) -> Any:
            given = signature.bind(*arguments, **options).arguments
            return function(**{name: _taken(known.get(name), value) for name, value in given.items()})

        taking.__signature__ = signature  # type: ignore[attr-defined]
        taking.__doc__ = _with_meanings(function.__doc__ or "", list(known.values()))
        return taking  # type: ignore[return-value]

    return give


def _taken(one: Option | None, value: Any) -> Any:
    """Return the value of an option as its record takes it; an argument that is no option stays as it is."""
    if one is None or (value is None and one.default is None):
        return value
    if one.kind is str:
        return str(plain_value(value, one.name))  # a column without a name has a number
    if get_origin(one.kind) is tuple:
        return checked(one.name, list[str], [value] if isinstance(value, str) else value)
    return checked(one.name, one.kind if one.least is None else Annotated[one.kind, Field(ge=one.least)], value)


def _with_meanings(text: str, known: Sequence[Option]) -> str:
    """Return a docstring with the meanings of options behind its first argument."""
    lines = text.splitlines()
    place = next((i + 2 for i, line in enumerate(lines) if line.strip() == "Args:"), len(lines))
    told = [
        fill(f"{one.name}: {meaning}", 119, initial_indent=" " * 8, subsequent_indent=" " * 12)
        for one in known
        for meaning in [re.sub(r"--([\w-]+)", r"`\1`", one.meaning).replace("repeatable", "one or several")]
    ]
    return "\n".join([*lines[:place], *told, *lines[place:]])


# --- How a script or a notebook follows trials: by warnings, and by a line on stderr if somebody watches ------------

_PACKAGE = __name__.partition(".")[0]
_PATIENCE, _PAUSE = 2.0, 0.2
"""Seconds until the line appears, and between two changes of it."""
_WIDTH = 79


class Onlooker(Watch):
    """Shows callers from Python the warnings of a workflow and how far its trials are, and no remarks.

    Args:
        progress: whether to show how far the trials are; if `None`, on a terminal and in a notebook.
    """

    def __init__(self, progress: bool | None = None) -> None:
        looks = _somebody_looks_on() if progress is None else checked("progress", bool, progress)
        self._shows = sys.stderr is not None and looks

    def warn(self, text: str) -> None:
        """Give a `UserWarning` at the line of the caller."""
        warnings.warn(_in_python(for_terminal(text.removeprefix("warning: "))), stacklevel=_level_of_the_caller())

    def progress(self, run: "Follower") -> AbstractContextManager[Callable[[], None] | None]:
        """Show a line that is overwritten again and again."""
        return _line_of(run) if self._shows else super().progress(run)


@contextmanager
def _line_of(run: "Follower") -> Iterator[Callable[[], None]]:
    """Yield a function that shows a line on stderr about how far a run is; short runs show none, and it is removed."""
    written, due = "", time.monotonic() + _PATIENCE

    def write(text: str) -> None:
        nonlocal written
        sys.stderr.write(f"\r{text.ljust(len(written))}")
        sys.stderr.flush()
        written = text

    def show() -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _PAUSE
            write(run.line(_WIDTH))

    try:
        yield show
    finally:
        if written:
            write("")
            write("")


def _somebody_looks_on() -> bool:
    """Return whether stderr is a terminal or a notebook."""
    return sys.stderr is not None and (
        sys.stderr.isatty() or type(sys.stderr).__module__.partition(".")[0] == "ipykernel"
    )


def _level_of_the_caller() -> int:
    """Return how many frames the code outside of this package is above the caller, for `warnings.warn`."""
    level, frame = 1, sys._getframe(1)
    ours = (_PACKAGE, "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ours:
        level, frame = level + 1, frame.f_back
    return level


# --- Users' learners, from a notebook, a script or a module ---------------------------------------------------------

_Made = TypeVar("_Made", bound=type)

_NAMED: dict[str, type] = {}
"""Name in this session -> class."""


def learner(name: str) -> Callable[[_Made], _Made]:
    """Give a class a name, by which `simulate` and `sweep` take it as a learner.

    A class in a module is the learner `module:Class` of a config, and anybody can repeat its rows. A class in a
    notebook or a script is known only to this session and the processes that it starts. Its rows are the same whenever
    the same code runs on the same version of Python. If the class changes, or a function, class or number that it uses,
    its rows get another id and do not mix with the earlier ones.

    Args:
        name: name in the column `learner`; a class that gets the name of an earlier one replaces it.

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
        raise ConfigError(f"{quoted(name)} is no name for a learner of one's own; use another one, without a colon")

    def give(made: _Made) -> _Made:
        _refuse_no_class(made)
        _NAMED[name] = made
        return made

    return give


def _algorithm_of(given: Any) -> Any:
    """Return what a config calls a learner that is given as a class, or by a name of this session; else `given`."""
    made = _NAMED.get(given) if isinstance(given, str) else given
    if isinstance(made, type):
        return _entered(made)
    if callable(given) or isinstance(given, Learner):
        _refuse_no_class(given)
    return given


def _entered(made: type) -> str:
    algorithm = enter(made)
    if load_plugin(algorithm) is not made:
        raise ConfigError(
            f"{algorithm} is not the class that was used before: its module was loaded anew; restart Python"
        )
    return algorithm


def named_in_study(study: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys and values of a study, with its learners as a config calls them."""

    def named(entry: Any) -> Any:
        if not isinstance(entry, Mapping) or "algorithm" not in entry:
            return entry
        return {**entry, "algorithm": _algorithm_of(entry["algorithm"])}

    entries = study.get("learners")
    return {**study, "learners": list(map(named, entries))} if isinstance(entries, list | tuple) else dict(study)


def _refuse_no_class(value: Any) -> None:
    if not isinstance(value, type):
        raise ConfigError(f"a learner is a class, of which each trial makes one anew; {quoted(value)} is none")


# --- The study of one instance and one learner ----------------------------------------------------------------------

_UNSAID = ("budget", "max_steps", "rewards", "trace_at")
_OF_THE_INSTANCE = ("K", "L", "epsilon")
_ARGUMENTS = ("learner", "n_jobs", "progress")
"""Arguments of `simulate` that are no keys of a config."""


def single_study(name: str, instance: Instance, learner: object, options: Mapping[str, Any], **keys: Any) -> Study:
    """Return the study, which has one cell unless a key has several values.

    Args:
        name: name of the study.
        instance: the problem.
        learner: the learner, as `simulate` takes it.
        options: options of the learner.
        keys: further keys of a config; for those in `_UNSAID`, `None` means not given.

    Raises:
        ConfigError: if a value is not usable.
    """
    plain_value({"learner": learner, **options, **keys})
    algorithm = _algorithm_of(learner)
    _refuse_other(instance, learner)
    _refuse_unknown(algorithm, options, [*_ARGUMENTS, *keys])
    column = learner.__name__ if isinstance(learner, type) else learner
    called = {"algorithm": "learner", "name": "learner", **{name: name for name in options}}
    given = {
        "seed": 0,
        "K": instance.K,
        "epsilon": instance.epsilon,
        "instances": [{"name": "instance", "family": "explicit", "weights": instance.weights}],
        "learners": [{"name": column, "algorithm": algorithm, **options}],
        **{key: value for key, value in keys.items() if value is not None or key not in _UNSAID},
    }
    return study_of(given, name=name, called={("learners", 0, key): f"{name}:" for key, name in called.items()})


def _refuse_other(instance: object, learner: object) -> None:
    """Refuse weights that are no `Instance`, and several learners."""
    if not isinstance(instance, Instance):
        raise ConfigError(f"a {type(instance).__name__} is no instance; write for example Instance(weights, K=2)")
    if isinstance(learner, list | tuple | set):
        raise ConfigError("learner: give one; tables of several can be joined with pandas.concat, and sweep takes many")


def _refuse_unknown(algorithm: object, options: Mapping[str, Any], arguments: Sequence[str]) -> None:
    """Refuse an option that the learner does not have; of an unknown learner any may be right."""
    for name in options:
        if name in _OF_THE_INSTANCE:
            raise ConfigError(f"{name}: belongs to the instance; write for example Instance(weights, K=2, epsilon=0.1)")
    if options and isinstance(algorithm, str) and find_algorithm(algorithm) is not None:
        known = [*options_of(algorithm), BATCH, *arguments]
        for name in options:
            if name not in known:
                raise ConfigError(f"{name}: unknown option; {suggest(name, known)}")
