"""CSV tables of a result directory: read with all digits and the types of their columns, or one plain sentence."""

from pathlib import Path
from typing import Any

import pandas as pd

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.files import reading
from cascadebai_cli.store.schema import Columns

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
ALL_DIGITS: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
"""For `read_csv`: before pandas 3.1 the last digit of a number may differ without it, later ones warn of it."""


LONGEST_HEADER = 100_000
"""Bytes of a header: a table of somebody else may have a million columns, which takes long to read."""


def refuse_long_header(path: Path, remedy: str) -> None:
    """Refuse a table whose header is too long.

    Raises:
        ConfigError: if it is.
    """
    with reading(path) as file:
        if len(file.readline(LONGEST_HEADER)) == LONGEST_HEADER:
            raise ConfigError(f"{path}: the header has {LONGEST_HEADER} bytes or more, so no sweep wrote it; {remedy}")


def read_table(path: Path, columns: Columns, remedy: str) -> pd.DataFrame:
    """A CSV file; words stay text, and an empty field is missing.

    Args:
        path: the file.
        columns: columns that it must have; those of numbers hold nothing else.
        remedy: what to do if it is damaged.

    Raises:
        ConfigError: if it is missing, cannot be read or is not such a table.
    """
    refuse_long_header(path, remedy)
    words = {name: str for name, kind in columns.items() if kind is str}
    try:
        with reading(path) as file:
            table: pd.DataFrame = pd.read_csv(
                file,
                dtype=words,
                keep_default_na=False,
                na_values=[""],
                low_memory=False,
                **ALL_DIGITS,
            )
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"{path}: not a table ({str(error).strip()}); {remedy}") from error
    for name in columns:
        if name not in table:
            raise ConfigError(f"{path}: column {name} is missing; {remedy}")
        if name not in words and len(table) and not pd.api.types.is_numeric_dtype(table[name]):
            raise ConfigError(f"{path}: column {name} is not all numbers; {remedy}")
    return table
