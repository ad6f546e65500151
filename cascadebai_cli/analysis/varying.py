"""Columns that tell the rows of a table apart, and those that are the same everywhere, which go into a line above."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cascadebai_cli.text.columns import WORDS, value_text
from cascadebai_cli.text.table import Column, Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Names:
    """Columns that name the rows of a printed table.

    Args:
        varying: those to print.
        above: the others in words.
    """

    varying: Sequence[str]
    above: str

    def columns(self) -> list[Column]:
        """Headings of those to print."""
        return [Column(name, name in WORDS) for name in self.varying]

    def texts(self, row: Mapping[Any, Any]) -> list[str]:
        """The values of a row."""
        return [value_text(row[name]) for name in self.varying]

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], words: Collection[str] = ()) -> Table:
        """A table whose rows begin with `texts`.

        Args:
            header: headings behind the names.
            rows: texts, those of the names included.
            words: headings of columns that hold words.
        """
        further = [Column(heading, heading in words) for heading in header]
        return Table([*self.columns(), *further], rows, above=self.above)


def names_of(rows: "pd.DataFrame", columns: Sequence[str], always: Collection[str] = ()) -> Names:
    """Which of `columns` vary, or are printed `always`; those without any value are left out."""
    known = [name for name in columns if name in rows and rows[name].notna().any()]
    varying = [name for name in known if name in always or rows[name].nunique(dropna=False) > 1]
    same = {name: rows[name].iloc[0] for name in known if name not in varying}
    return Names(varying, ", ".join(f"{name} = {value_text(value)}" for name, value in same.items()))
