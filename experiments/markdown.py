"""Tables in Markdown, and what stands for a number that is not there yet."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from cascadebai_cli.store.trials import read_table
from cascadebai_cli.text import Table

NOT_YET = "not run yet"
_BARS = re.compile(r"\|")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """A table whose cells are Markdown; the last `numbers` columns are flush right."""
    return Table.of(header, rows, words=len(header) - numbers).markdown(special=_BARS)


def from_csv(path: Path, block: Callable[[pd.DataFrame], str]) -> Callable[[], str]:
    """A block that rests on one file, or says that it is not there yet."""
    return lambda: block(read_table(path, "write it again")) if path.exists() else NOT_YET


def plain(text: str) -> str:
    """Text in which a star is a star."""
    return text.replace("*", "\\*")
