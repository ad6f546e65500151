"""Arguments of any kind, refused in sentences like those about a config."""

import os
from operator import index
from pathlib import Path
from typing import Any

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.study.messages import show
from cascadebai_cli.workflows.simulate import Backend


def whole(name: str, value: Any, least: int | None = None) -> int:
    """A whole number of Python's own.

    Raises:
        ConfigError: if it is none, or less than `least`.
    """
    try:
        number = index(value)
    except TypeError:
        raise ConfigError(
            f"{name}: {show(value)} is not a whole number; write one without quotes or decimals"
        ) from None
    if least is not None and number < least:
        raise ConfigError(f"{name}: {number} is too small; write {least} or more")
    return number


def real(name: str, value: Any) -> float:
    """A number with decimals.

    Raises:
        ConfigError: if it is none.
    """
    try:
        if not isinstance(value, str):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise ConfigError(f"{name}: {show(value)} is not a number; write one such as 0.1")


def backend_of(n_jobs: Any) -> Backend:
    """So many processes of this machine.

    Raises:
        ConfigError: if it is no such number.
    """
    return Backend(n_jobs=whole("n_jobs", n_jobs))


def path_of(name: str, value: Any, what: str) -> Path:
    """A path, with `~` for the home directory, as a shell takes it.

    Args:
        name: of the argument.
        value: what was given.
        what: what would be right.

    Raises:
        ConfigError: if it is none: of another type, empty, a text of several lines, or one that the system refuses.
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
        pass  # to be made, or refused by who reads it
    except OSError as error:
        raise ConfigError(f"{name}: {show(text)} cannot be used ({error.strerror}); give {what}") from None
    return path
