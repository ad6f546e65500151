"""A file of matplotlib settings of a user's own, read line by line: a mistake is one sentence with its place."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.store.files import open_regular

REFUSED = ("backend", "text.usetex", "text.latex", "webagg", "tk.", "macosx")
"""Settings that do not change a look, or need programs that may not be there."""
MOST_BYTES = 100_000


def read_style(path: Path) -> Mapping[str, Any]:
    """The settings of a `.mplstyle` file.

    Raises:
        ConfigError: if it cannot be read, or a line is not `name: value` with a name and a value that matplotlib knows.
    """
    return dict(_settings(path))


def _settings(path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(_text(path).splitlines(), 1):
        text = re.sub(r"#.*", "", line) if '"' not in line else line
        name, colon, value = (part.strip() for part in text.partition(":"))
        if text.strip():
            yield name, _checked(f"style: {path}:{number}", name, value if colon else None)


def _checked(where: str, name: str, value: str | None) -> Any:
    if value is None:
        raise ConfigError(f"{where}: a line is no setting; write name: value, such as font.size: 8")
    if name not in mpl.rcParams:
        raise ConfigError(f"{where}: '{name[:60]}' is not a setting of matplotlib; {suggest(name[:60], mpl.rcParams)}")
    if name.startswith(REFUSED):
        raise ConfigError(f"{where}: {name} is not supported; leave it out")
    checked: dict[Any, Any] = mpl.RcParams()
    try:
        checked[name] = value.strip('"')
    except ValueError:
        shown = value[:60]
        raise ConfigError(f"{where}: '{shown}' is no value of {name}; see the documentation of matplotlib") from None
    return checked[name]


def _text(path: Path) -> str:
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            return file.read(MOST_BYTES).decode()
    except UnicodeDecodeError:
        raise ConfigError(f"style: {path}: is not UTF-8 text; name a .mplstyle file") from None
    except OSError as error:
        raise ConfigError(f"style: {path}: cannot be read ({error.strerror}); name a .mplstyle file") from None
