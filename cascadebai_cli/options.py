"""Options of a verb as records: each field is an option, for the command line, for Python and for the checks.

Nothing heavy is imported, so that the help of the program comes at once.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, get_args

from cascadebai_cli.errors import ConfigError

SMALLEST_RISK = 1e-30
"""Smallest delta; below it the KL bounds come too close to 1 for floating-point numbers, and nobody needs it."""
MOST_TRIALS = 10_000_000
"""Largest number of trials of a cell, as the numbers of all missing trials are held in memory."""

_Record = TypeVar("_Record")


@dataclass(frozen=True)
class Option:
    """An option of a verb.

    Attributes:
        meaning: the sentence of the help.
        flag: its name on the command line.
        metavar: the word for its value in the help; its type if `None`.
        least: smallest value, for whole numbers.
        read_as: type that the command line reads; that of the field if `None`.
        offered: values that completion in a shell offers.
        completed: what it offers instead of these: a `column` of a directory, or a `condition` on one.
        examples: values as they stand in a config.
        in_python: whether it is a keyword in Python too.
        allowed: test whether a value is in its range, words for one that is not, and the remedy.
        alias: another name of it on the command line.
    """

    meaning: str
    flag: str = ""
    metavar: str | None = None
    least: int | None = None
    read_as: Any = None
    offered: tuple[str, ...] = ()
    completed: str = ""
    examples: tuple[str, ...] = ()
    in_python: bool = True
    allowed: tuple[Callable[[Any], bool], str, str] | None = None
    alias: str = ""
    name: str = ""
    type: Any = None
    default: Any = None

    @property
    def kind(self) -> Any:
        """The type without `None`."""
        return get_args(self.type)[0] if type(None) in get_args(self.type) else self.type


def option(default: Any, *words: Any, **more: Any) -> Any:
    """Return a field of a dataclass that is an option, with its default and the attributes of `Option`."""
    return field(default=default, metadata={"option": Option(*words, **more)})


def record_options(*records: type) -> Iterator[Option]:
    """Yield the options among the fields of dataclasses, in their order."""
    for one in (one for record in records for one in fields(record) if "option" in one.metadata):
        said = one.metadata["option"]
        flag = said.flag or f"--{one.name.replace('_', '-')}"
        yield replace(said, flag=flag, name=one.name, type=one.type, default=one.default)


def filled(record: type[_Record], given: Mapping[str, Any]) -> _Record:
    """Return a record with the values that are given for its options; `None` means not given.

    Raises:
        ConfigError: if one is outside its range.
    """
    named = {one.name: given.get(one.name) for one in record_options(record)}
    return record(**{name: value for name, value in named.items() if value is not None})


def refuse_outside(record: Any) -> None:
    """Raise `ConfigError` for the first value of a record that is outside its range."""
    for one in record_options(type(record)):
        value = getattr(record, one.name)
        if value is not None and one.allowed and not one.allowed[0](value):
            shown = f"{value:.16g}" if isinstance(value, float) else value
            raise ConfigError(f"{one.flag} {shown} is {one.allowed[1]}; give {one.allowed[2]}")
