"""How a log of clicks and views is laid out."""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.options import option, record_options


@dataclass(frozen=True)
class Layout:
    """The columns of a log, and what a row of it is."""

    items: str | None = option(None, "Column of the items' names.", metavar="COLUMN")
    clicks: str | None = option(None, "Column of the numbers of clicks; of 0 and 1 with --event.", metavar="COLUMN")
    views: str | None = option(None, "Column of how often an item was looked at, not just served.", metavar="COLUMN")
    position: str | None = option(
        None, "Column of where an item was shown, to correct the rates for.", metavar="COLUMN"
    )
    event: bool = option(False, "Each row is one view of one item.")
    wide: bool = option(False, "Each column is an item, each row a page view: 1, 0, or empty if unseen.")
    decimal: Literal[".", ","] | None = option(None, "Decimal sign of counts; found out if not given.")
    separator: str | None = option(
        None, "Between values, such as ';' or tab; found out if not given.", "--sep", in_python=False
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read.

        Raises:
            ConfigError: if one is missing, one too many is named, or one is named twice.
        """
        named = {one.flag: getattr(self, one.name) for one in record_options(Layout) if one.metavar}
        needed = [] if self.wide else ["--items", "--clicks"] if self.event else ["--items", "--clicks", "--views"]
        refused = list(named) if self.wide else ["--views"] if self.event else []
        kind = "--wide" if self.wide else "--event" if self.event else "a log of counts"
        if self.wide and self.event:
            raise ConfigError("--wide and --event: a log has one of these layouts; name one")
        for flag, column in named.items():
            if column is None and flag in needed:
                raise ConfigError(f"{kind} needs {flag} COLUMN; name the column")
            if column is not None and flag in refused:
                raise ConfigError(f"{kind} has no column {flag} {column}; leave it away")
        there = [(flag, column) for flag, column in named.items() if column is not None]
        for (one, column), (other, same) in combinations(there, 2):
            if column == same:
                raise ConfigError(f"{one} {column} and {other} {same} are one column; name another one")
        return tuple(column for _, column in there)
