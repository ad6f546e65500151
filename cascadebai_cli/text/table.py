"""A table of texts, and the formats in which it can be printed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from cascadebai_cli.text.clean import for_table


class Column(NamedTuple):
    """A column: its heading, and whether it holds words, which are set flush left; numbers are flush right."""

    heading: str
    words: bool = False


@dataclass(frozen=True)
class Table:
    """Texts in rows and columns; `str` of it is the format `text`.

    Args:
        columns: one or more.
        rows: one text a column.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]

    @property
    def header(self) -> list[str]:
        """The headings."""
        return [column.heading for column in self.columns]

    def __str__(self) -> str:
        return as_text(self)


def table_of(header: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> Table:
    """A table whose first `words` columns hold words, the others numbers."""
    return Table([Column(heading, i < words) for i, heading in enumerate(header)], rows)


def as_text(table: Table) -> str:
    """Aligned columns with a rule under the header."""
    rows = _cleaned(table)
    widths = [max(map(len, texts)) for texts in zip(table.header, *rows, strict=True)]
    lines = [table.header, ["-" * width for width in widths], *rows]
    return "\n".join(_aligned(line, table.columns, widths) for line in lines)


def _cleaned(table: Table) -> list[list[str]]:
    return [[for_table(text) for text in row] for row in table.rows]


def _aligned(line: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    placed = [
        text.ljust(width) if column.words else text.rjust(width)
        for text, column, width in zip(line, columns, widths, strict=True)
    ]
    return "  ".join(placed).rstrip()


def as_markdown(table: Table) -> str:
    """A table of Markdown; a bar in a cell is a bar."""
    rule = ["---" if column.words else "---:" for column in table.columns]
    lines = [table.header, rule, *([text.replace("|", "\\|") for text in row] for row in _cleaned(table))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


FORMATS: Mapping[str, Callable[[Table], str]] = MappingProxyType({"text": as_text, "markdown": as_markdown})
"""Name of a format -> how to print a table in it."""
