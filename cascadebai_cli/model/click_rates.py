"""Click rates from a comma-separated file with a header row."""

import csv
import errno
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cascadebai_cli.errors import ConfigError

# --- Reading a file that a user names: a device may never end, so that at most `MOST_BYTES` are read ----------------


MOST_BYTES = 100 * 2**20


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file or pipe, without a byte order mark.

    Raises:
        OSError: if it cannot be read, or has more than `MOST_BYTES`.
        UnicodeDecodeError: if it is not UTF-8.
        ValueError: if `path` cannot be the name of a file.
    """
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"more than {MOST_BYTES >> 20} MB")
    return content.decode("utf-8-sig")


# --- Click rates from a comma-separated file with a header row ------------------------------------------------------


_Row = dict[str, str]
Value = TypeVar("Value")


@dataclass(frozen=True)
class ClickRateFile:
    """A file of click rates.

    Args:
        path: the file, UTF-8 (a byte order mark is accepted), separated by commas.
        clicks, views: columns of counts, `rate = clicks / views`; both or neither.
        rate: column of rates, instead of `clicks` and `views`.
        item: column of names; without it items are called 1, 2, ... .
        top: only the first `top` rows, all by default. Rows are not sorted.
        label: name of the file in messages, its path by default.
    """

    path: Path
    clicks: str | None = None
    views: str | None = None
    rate: str | None = None
    item: str | None = None
    top: int | None = None
    label: str | None = None

    @property
    def shown(self) -> str:
        """Name of the file in messages."""
        return self.label or str(self.path)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read."""
        return tuple(c for c in (self.item, self.clicks, self.views, self.rate) if c is not None)


def read_click_rates(file: ClickRateFile) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return names and rates of the first `top` rows.

    Raises:
        ConfigError: naming file, line, value and remedy, if anything is not usable.
    """
    items = _read_items(file, _rate)
    return tuple(items), tuple(items.values())


def _read_items(file: ClickRateFile, read: Callable[[ClickRateFile, _Row, str], Value]) -> dict[str, Value]:
    """Return what `read` makes of each row, by the name of the item."""
    lines: dict[str, int] = {}
    items: dict[str, Value] = {}
    for line, row in _first_rows(file):
        where = f"{file.shown}:{line}"
        name = _name(file, row, len(items) + 1, where)
        if name in items:
            raise ConfigError(f"{where}: item {name!r} is already on line {lines[name]}; give each item one row")
        lines[name], items[name] = line, read(file, row, where)
    _check_count(file, len(items))
    return items


def _first_rows(file: ClickRateFile) -> Iterator[tuple[int, _Row]]:
    reader = csv.reader(io.StringIO(_read(file), newline=""), strict=True)
    try:
        header = _checked_header(file, next(reader, []))
        taken = 0
        for values in reader:
            if values and taken != file.top:
                taken += 1
                yield reader.line_num, _row(header, values, f"{file.shown}:{reader.line_num}")
    except csv.Error as error:
        raise ConfigError(
            f"{file.shown}:{reader.line_num}: not comma-separated text ({error}); check the quotes of this line"
        ) from None


def _read(file: ClickRateFile) -> str:
    try:
        return read_text(file.path)
    except FileNotFoundError:
        raise ConfigError(f"{file.shown} does not exist; a path in a config counts from its folder") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file.shown} is not UTF-8 text; save it as CSV in UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{file.shown} cannot be read ({reason}); name a CSV file") from None


def _checked_header(file: ClickRateFile, header: list[str]) -> list[str]:
    header = [column.strip() for column in header]
    where = f"{file.shown}:1"
    if not any(header):
        raise ConfigError(f"{where}: no header row; name the columns on the first line")
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if any(separator in column for column in header):
            raise ConfigError(f"{where}: the columns are separated by {name}; save the file with commas")
    for column in file.columns:
        if header.count(column) != 1:
            problem = "more than one column" if column in header else "no column"
            raise ConfigError(f"{where}: {problem} {column!r}; the columns are {_some(header)}")
    return header


def _some(columns: Sequence[str], most: int = 8) -> str:
    """Return a list of a few column names, long ones shortened."""
    shown = ", ".join(column if len(column) <= 40 else f"{column[:37]}..." for column in columns[:most])
    return shown + (f" and {len(columns) - most} more" if len(columns) > most else "")


def _row(header: Sequence[str], values: Sequence[str], where: str) -> _Row:
    if len(values) != len(header):
        raise ConfigError(f"{where}: {len(values)} values for {len(header)} columns; give one value a column")
    return {column: value.strip() for column, value in zip(header, values, strict=True)}


def _name(file: ClickRateFile, row: _Row, number: int, where: str) -> str:
    if file.item is None:
        return str(number)
    if not row[file.item]:
        raise ConfigError(f"{where}: {file.item} is empty; give the item a name")
    return row[file.item]


def _rate(file: ClickRateFile, row: _Row, where: str) -> float:
    if file.rate is not None:
        return _number(row, file.rate, where, lambda x: 0 <= x <= 1, "must lie between 0 and 1")
    clicks, views = _counts(file, row, where)
    return clicks / views


def _counts(file: ClickRateFile, row: _Row, where: str) -> tuple[float, float]:
    assert file.clicks is not None
    assert file.views is not None
    views = _number(row, file.views, where, lambda x: x > 0, "must be larger than 0")
    clicks = _number(row, file.clicks, where, lambda x: x >= 0, "must be 0 or larger")
    if clicks > views:
        raise ConfigError(
            f"{where}: {file.clicks} {row[file.clicks]} exceeds {file.views} {row[file.views]}; "
            "correct the row or name the right columns"
        )
    return clicks, views


def _number(row: _Row, column: str, where: str, allowed: Callable[[float], bool], rule: str) -> float:
    text = row[column]
    if not text:
        raise ConfigError(f"{where}: {column} is empty; write a number")
    try:
        # float reads 1_000, which no spreadsheet writes
        value = float(text.replace("_", "?"))
    except ValueError:
        raise ConfigError(f"{where}: {column} {text!r} is not a number; write one such as 12 or 0.5") from None
    if not math.isfinite(value):
        raise ConfigError(f"{where}: {column} {text} is not a finite number; correct or remove the row")
    if not allowed(value):
        raise ConfigError(f"{where}: {column} {text} {rule}; correct or remove the row")
    return value


def _check_count(file: ClickRateFile, count: int) -> None:
    if file.top is not None and count < file.top:
        raise ConfigError(f"{file.shown} has {count} rows, fewer than top: {file.top}; lower top or leave it out")
    if count < 2:
        rows = "1 row" if count == 1 else f"{count} rows"
        raise ConfigError(f"{file.shown} has {rows} below the header; at least 2 items are needed")
