"""Reading the files of a result directory: what is in them, or one sentence that says what is wrong."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from cascadebai_cli.errors import ConfigError

AGAIN = "run the sweep again"


def read_bytes(path: Path) -> bytes:
    """Content of a file.

    Raises:
        ConfigError: if it is missing or cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(unreadable(path, error)) from error


def read_table(path: Path, columns: Sequence[str], numbers: Sequence[str], remedy: str, **options: Any) -> pd.DataFrame:
    """A CSV file.

    Args:
        path: the file.
        columns: columns that it must have.
        numbers: columns that hold nothing but numbers, where they are there.
        remedy: what to do if it is damaged.
        options: for `pandas.read_csv`.

    Raises:
        ConfigError: if it is missing, cannot be read or is not such a table.
    """
    try:
        table: pd.DataFrame = pd.read_csv(path, low_memory=False, **options)
    except OSError as error:
        raise ConfigError(unreadable(path, error)) from error
    except ValueError as error:
        raise ConfigError(f"{path}: not a table ({str(error).strip()}); {remedy}") from error
    missing = [column for column in columns if column not in table]
    if missing:
        raise ConfigError(f"{path}: column {missing[0]} is missing; {remedy}")
    words = [column for column in numbers if column in table and not pd.api.types.is_numeric_dtype(table[column])]
    if words and not table.empty:
        raise ConfigError(f"{path}: column {words[0]} is not all numbers; {remedy}")
    return table


def unreadable(path: Path, error: OSError) -> str:
    """What to say of a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return f"{path} is missing; `cascadebai sweep CONFIG --out {path.parent}` writes it"
    return f"{path} cannot be read ({error.strerror or error}); it must be a file that you may read"
