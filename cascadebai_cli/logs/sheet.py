"""A file of any origin becomes rows of texts under a header.

A config is read by `read_text`, so that pandas is imported only where there are rows.
"""

import csv
import errno
import gzip
import io
import math
import re
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.text import count

if TYPE_CHECKING:
    import pandas as pd

# --- The text of a file of any origin: compressed or not, in the encodings that spreadsheets write ------------------
#
# A device may never end, and a packed file may hold anything, so that only so much is read.


STDIN = Path("-")
MOST_BYTES = 100 * 2**20
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def shown(path: Path) -> str:
    """How messages call a file."""
    return "stdin" if path == STDIN else str(path)


def file_name(path: Path) -> str:
    """Name of a file without its folder."""
    return "stdin" if path == STDIN else path.name


def read_text(path: Path) -> str:
    """The text of a UTF-8 file or pipe; a byte order mark is left out.

    Raises:
        OSError: if it cannot be read, or has more than `MOST_BYTES`.
        UnicodeDecodeError: if it is not UTF-8.
        ValueError: if the name is none.
    """
    with path.open("rb") as file:
        return _bounded(file).decode("utf-8-sig")


def read_any_text(path: Path, name: str) -> tuple[str, list[str]]:
    """The text of a file, `-` being what comes through a pipe, and what was noticed about it.

    Args:
        path: the file.
        name: how messages call it.

    Raises:
        ConfigError: if it is no text, larger than 100 MB, or cannot be read.
    """
    try:
        content = _content(path)
    except ConfigError:
        raise
    except (OSError, EOFError, zlib.error, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        if getattr(error, "errno", None) == errno.EFBIG:
            raise ConfigError(f"{name} has {reason}; keep the columns needed, or sum its rows") from None
        raise ConfigError(f"{name} cannot be read ({reason}); name a CSV file") from None
    if content.startswith(_ZIP):
        raise ConfigError(f"{name} is a spreadsheet or an archive; save the sheet as CSV")
    return _decoded(content, name)


def _content(path: Path) -> bytes:
    """What the file holds, unpacked."""
    if path == STDIN:
        if sys.stdin is None:
            raise ConfigError("- is stdin, which is closed; name a CSV file")
        content = _bounded(sys.stdin.buffer)
    else:
        with path.open("rb") as file:
            content = _bounded(file)
    if not content.startswith(_GZIP):
        return content
    with gzip.open(io.BytesIO(content)) as packed:
        return _bounded(packed)


def _bounded(file: BinaryIO | gzip.GzipFile) -> bytes:
    content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"more than {MOST_BYTES >> 20} MB")
    return content


def _decoded(content: bytes, name: str) -> tuple[str, list[str]]:
    encoding = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
    try:
        return content.decode(encoding), []
    except UnicodeDecodeError:
        pass
    if b"\0" in content:
        raise ConfigError(f"{name} is not text; save it as CSV in UTF-8")
    note = f"{name} is not UTF-8 text and is read as Windows-1252; save it in UTF-8 if names look wrong"
    return content.decode("cp1252", errors="replace"), [note]


# --- Numbers as spreadsheets write them -----------------------------------------------------------------------------


_GAPS = " \u00a0\u202f\u2009'’"
"""Signs between thousands that stand for nothing else."""
_GROUPS = {sign: re.compile(rf"[-+]?[1-9]\d{{0,2}}(\{sign}\d{{3}})+$") for sign in ",."}
"""Numbers that have a comma, or a point, before every three digits."""
Floats: TypeAlias = "pd.Series[float]"
_MARKS = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "y", "t"), 1.0),
    **dict.fromkeys(("0", "0.0", "false", "no", "n", "f"), 0.0),
}


def floats_of(texts: "pd.Series[str]") -> Floats:
    """What `float` makes of each text; NaN of what is no number, and of `1_000`, which no spreadsheet writes."""
    import pandas as pd

    return pd.Series([_float(text) for text in texts], texts.index, np.float64, texts.name)


def _float(text: str) -> float:
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def numbers_of(texts: "pd.Series[str]", decimal: str | None = None) -> tuple[Floats, str | None]:
    """Numbers, NaN for what is none, and a sentence if commas or points were taken for thousands.

    A sign that stands before three digits in every number of the column that has it parts thousands; one that does
    not is the decimal sign. What is left is `float`'s.

    Args:
        texts: a column.
        decimal: the decimal sign, `.` or `,`, if it is known.

    Raises:
        ConfigError: if the column leaves in doubt which of the two a sign is.
    """
    plain = texts.str.translate(dict.fromkeys(map(ord, _GAPS)))
    note = None
    if decimal is not None:
        thousands = plain.str.replace("," if decimal == "." else ".", "", regex=False)
        return floats_of(thousands.str.replace(decimal, ".", regex=False)), None
    for sign, pattern in _GROUPS.items():
        having = plain[plain.str.contains(sign, regex=False)]
        if having.empty:
            continue
        grouped = having.str.match(pattern) | having.str.match(r"[-+]?[1-9]\d{0,2}(,\d{3})+\.\d+$")
        if grouped.all():
            _refuse_doubt(texts.name, sign, plain[plain != ""])
            plain = plain.str.replace(sign, "", regex=False)
            note = f"{having.iloc[0]} in column {texts.name} is read as {having.iloc[0].replace(sign, '')}"
        elif sign == ",":
            plain = plain.str.replace(",", ".", regex=False)
    return floats_of(plain), note


def _refuse_doubt(name: object, sign: str, numbers: "pd.Series[str]") -> None:
    """Refuse a column in which each number ends in a sign and three digits, as databases write decimals too.

    A number without the sign, or with two of them, tells that it parts thousands; a comma does unless all is zeros.
    """
    decimals = r"[-+]?\d{1,3}\.\d{3}" if sign == "." else r"[-+]?\d{1,3},000"
    if numbers.str.fullmatch(decimals).all():
        first = numbers.iloc[0]
        few, many = first.replace(sign, ".").rstrip("0").rstrip("."), first.replace(sign, "")
        raise ConfigError(f"column {name}: {first} may be {few} or {many}; say --decimal . or --decimal ,")


def fault_of_number(text: str) -> str:
    """What is wrong with a text that is no number, or none that can be used."""
    if not text:
        return "is empty; write a number"
    if re.fullmatch(r"[-+]?(nan|inf|infinity)", text.lower()) or re.fullmatch(r"[-+]?[\d.]+e\+?\d+", text.lower()):
        return f"{text} is not a finite number; correct or remove the row"
    return f"{text!r} is not a number; write one such as 12 or 0.5"


def marks_of(texts: "pd.Series[str]") -> Floats:
    """1 for a click, 0 for none, NaN for what is neither."""
    return texts.str.lower().map(_MARKS).astype(float)


# --- A text becomes rows of texts under a header --------------------------------------------------------------------


_SEPARATORS = ",;\t|"
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
_SEPARATOR_LINE = re.compile(r'"?sep=([^"\r\n]?)"?[ \t]*(?:\r\n|[\r\n])', re.IGNORECASE)
"""What spreadsheets write above the header."""
_HEADER_ROWS = 21
"""Rows among which a header is looked for, below titles."""
_MOST_COLUMNS = 20_000
"""Columns of a file of which all are read."""
_END = "\0end"
"""A line behind the last one, which is no row of its own where a quote is left open."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Rows of texts.

    Attributes:
        name: of the file.
        header: names of all columns.
        rows: texts of the columns that are read, its index the line on which each row ends; empty where a row is too
            short.
        sizes: how many values each row has, shape `(n,)`.
        notes: what was noticed.
    """

    name: str
    header: tuple[str, ...]
    rows: "pd.DataFrame"
    sizes: NDArray[np.int64]
    notes: tuple[str, ...]


def sheet_of(
    text: str,
    name: str,
    columns: Sequence[str] = (),
    separator: str | None = None,
    *,
    most_columns: int = _MOST_COLUMNS,
    top: int | None = None,
) -> Sheet:
    """Split a text.

    Args:
        text: with a header among its first rows, after a line `sep=;` if there is one.
        name: of the file, for messages.
        columns: those to read, which the header must have; all, whatever they are called, if empty.
        separator: between the values, found out if `None`.
        most_columns: so many there may be where all are read.
        top: only so many rows are read.

    Raises:
        ConfigError: if it is no table with such a header.
    """
    if text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]"):
        raise ConfigError(f"{name} is JSON; give a CSV file")
    said = _SEPARATOR_LINE.match(text) if separator is None else None
    separator = (said[1] or "\t") if said else separator and _NAMED.get(separator, separator)
    if separator is not None and (len(separator) != 1 or separator in '\r\n"'):
        raise ConfigError(f"--sep {separator!r} is not one character; give one such as ';', or tab")
    lines, first = io.StringIO(text, newline=""), 2 if said else 1
    line, separator, header = _header(lines, first, columns, separator or _SEPARATORS, name)
    if not columns and len(header) > most_columns:
        raise ConfigError(
            f"{name}:{line}: {count(len(header))} columns, {count(most_columns)} is the most; keep those needed"
        )
    below = dropwhile(lambda one: one[0] <= line, _rows(lines, separator, name))
    filled = filter(lambda one: "".join(one[1]).strip(), below)
    places = [header.index(column) for column in columns] or range(len(header))
    table, sizes = _table(islice(filled, top), len(header), places, columns or header)
    note = f"the header is on line {line}; the lines above it are left out"
    return Sheet(name, tuple(header), table, sizes, (note,) if line > first else ())


def _rows(lines: TextIO, separator: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """The line on which each row ends, and its values.

    Raises:
        ConfigError: at the end, if a quote is open.
    """
    lines.seek(0)
    reader = csv.reader(chain(lines, [_END]), delimiter=separator, skipinitialspace=separator != " ")
    ended, row, problem = 0, [], "a quote is not closed"
    try:
        for row in reader:
            if row and row[-1].endswith(_END):
                break
            ended = reader.line_num
            yield ended, row
        if row == [_END]:
            return
    except csv.Error as error:
        problem = str(error)
    raise ConfigError(f"{name}:{ended + 1}: not separated text ({problem}); check the quotes of this row")


def _header(
    lines: TextIO, first: int, columns: Sequence[str], separators: str, name: str
) -> tuple[int, str, list[str]]:
    """The line of the header, what separates its columns, and their names: of several ways the one with most."""
    ways = [
        next(((line, one, cells) for line, cells in _head(lines, one, first, name) if {*columns} <= {*cells}), None)
        for one in separators
    ]
    fitting = [way for way in ways if way]
    if not fitting:
        _refuse_header(lines, first, columns, separators, name)
    line, separator, header = min(fitting, key=lambda way: (way[0], -len(way[2])))
    twin = next((column for column in columns if header.count(column) > 1), None)
    if twin is not None:
        raise ConfigError(f"{name}:{line}: more than one column {twin!r}; the columns are {_some(header)}")
    return line, separator, header


def _refuse_header(lines: TextIO, first: int, columns: Sequence[str], separators: str, name: str) -> None:
    tops = [next(_head(lines, separator, first, name), (first, [])) for separator in separators]
    header = max((cells for _, cells in tops), key=len)
    if not header:
        raise ConfigError(f"{name}:{first}: no header row; name the columns on the first line")
    missing = next(column for column in columns if column not in header)
    raise ConfigError(f"{name}:{first}: no column {missing!r}; the columns are {_some(header)}")


def _head(lines: TextIO, separator: str, first: int, name: str) -> Iterator[tuple[int, list[str]]]:
    """The first rows that are not empty; none from where on they are no separated text."""
    with suppress(ConfigError):
        for line, row in islice(_rows(lines, separator, name), _HEADER_ROWS):
            if line >= first and any(cells := [value.strip() for value in row]):
                yield line, cells


def _some(columns: Sequence[str], most: int = 8) -> str:
    """A few names, each at most as long as one that somebody would type."""
    named = [" ".join(column.split()) for column in columns[:most]]
    shown = ", ".join(column if len(column) <= 40 else f"{column[:37]}..." for column in named)
    return shown + (f" and {len(columns) - most} more" if len(columns) > most else "")


def _table(
    rows: Iterable[tuple[int, list[str]]], width: int, places: Sequence[int], columns: Sequence[str]
) -> "tuple[pd.DataFrame, NDArray[np.int64]]":
    """Some columns of the rows, and how many values each row has."""
    import pandas as pd

    texts: list[list[str]] = [[] for _ in places]
    adds = [(column.append, place) for column, place in zip(texts, places, strict=True)]
    lines, sizes = array("q"), array("q")
    for line, row in rows:
        lines.append(line)
        sizes.append(width if len(row) == width else _fit(row, width))
        for add, place in adds:
            add(row[place])
    table = pd.DataFrame(dict(enumerate(texts)), index=np.array(lines), dtype=str)
    return table.set_axis(list(columns), axis="columns"), np.array(sizes)


def _fit(row: list[str], width: int) -> int:
    """How many values a row has, which then has as many as the header or more."""
    while len(row) > width and not row[-1].strip():
        row.pop()
    size = len(row)
    row += [""] * (width - size)
    return size
