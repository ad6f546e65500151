"""The layout of a log of clicks and views."""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.options import option, record_options


class MissingColumn(ConfigError):
    """A column that a log must have was not named."""


@dataclass(frozen=True)
class Layout:
    """The columns of a log, and the meaning of its rows."""

    items: str | None = option(None, "Column with the items' names.", metavar="COLUMN")
    clicks: str | None = option(None, "Column with the numbers of clicks; with --event, 0 or 1.", metavar="COLUMN")
    views: str | None = option(None, "Column with how often an item was looked at, not just served.", metavar="COLUMN")
    position: str | None = option(
        None, "Column with the place where an item was shown, to correct the rates for it.", metavar="COLUMN"
    )
    page: str | None = option(
        None,
        "With --event, column that names the page view of a row: what is behind its last click was not looked at.",
        metavar="COLUMN",
    )
    time: str | None = option(
        None, "Column with the day or the number of the week, to test whether rates drift.", metavar="COLUMN"
    )
    event: bool = option(False, "Each row is one view of one item.")
    wide: bool = option(False, "Each column is an item, each row a page view: 1, 0, or empty if unseen.")
    decimal: Literal[".", ","] | None = option(None, "Decimal sign of counts; detected if not given.")
    separator: str | None = option(
        None, "Separator of values, such as ';' or tab; detected if not given.", "--sep", in_python=False
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read.

        Raises:
            ConfigError: if one is missing, one is named that this layout has not, or one is named twice.
        """
        named = {one.flag: getattr(self, one.name) for one in record_options(Layout) if one.metavar}
        needed = [] if self.wide else ["--items", "--clicks"] if self.event else ["--items", "--clicks", "--views"]
        refused = list(named) if self.wide else ["--views"] if self.event else ["--page"]
        kind = "--wide" if self.wide else "--event" if self.event else "a log of counts"
        if self.wide and self.event:
            raise ConfigError("--wide and --event: a log has one of these layouts; name one")
        for flag, column in named.items():
            if column is None and flag in needed:
                raise MissingColumn(f"{kind} needs {flag} COLUMN; name the column")
            if column is not None and flag in refused:
                raise ConfigError(f"{kind} has no column {flag} {column}; leave it out")
        there = [(flag, column) for flag, column in named.items() if column is not None]
        for (one, column), (other, same) in combinations(there, 2):
            if column == same:
                raise ConfigError(f"{one} {column} and {other} {same} are one column; name another one")
        return tuple(column for _, column in there)
