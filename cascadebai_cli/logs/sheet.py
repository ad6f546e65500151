"""Reading a file of any origin as rows of texts under a header.

Configs are read by `read_text` too; pandas is imported only where there are rows.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.text import count, listed

if TYPE_CHECKING:
    import pandas as pd

# --- The text of a file of any origin: compressed or not, in the encodings that spreadsheets write ------------------
#
# At most `MOST_BYTES` are read, as a device may never end, and a small compressed file may unpack to a huge one.


STDIN = Path("-")
MOST_BYTES = 100 * 2**20
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_UTF_16_UNMARKED = {"utf-16-be": rb"(\0[\t -~]){3}", "utf-16-le": rb"([\t -~]\0){3}"}
"""Encoding -> how a file begins that is UTF-16 and does not say so."""
_BEFORE_UTF_8 = (
    ("cp1252", "Windows-1252"),
    ("gb18030", "GB 18030"),
    ("cp932", "Shift JIS"),
    ("big5", "Big5"),
    ("cp949", "EUC-KR"),
    ("cp1251", "Windows-1251"),
)
"""Encodings in which a file is read if the columns asked for have their names in it; else it is Windows-1252."""


_FOREIGN = re.compile(rb"[\x80-\xff]{2,}|[\x81-\x83]")
"""Bytes of other alphabets, which stand together, and of Japanese, which no letter of Western Europe has."""
_ACCENT = re.compile(rb"(?<![\x80-\xff])[\x80\x84-\xff](?![\x80-\xff])")
"""Letters with accents, and signs, which stand alone."""


def shown(path: Path) -> str:
    """Return the name of a file in messages."""
    return "stdin" if path == STDIN else str(path)


def file_name(path: Path) -> str:
    """Return the name of a file without its folder."""
    return "stdin" if path == STDIN else path.name


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file or pipe; a byte order mark is left out.

    Raises:
        OSError: if it cannot be read, or has more than `MOST_BYTES`.
        UnicodeDecodeError: if it is not UTF-8.
        ValueError: if the name is none.
    """
    with path.open("rb") as file:
        return _bounded(file).decode("utf-8-sig")


def read_any_text(path: Path, name: str, wanted: Sequence[str] = ()) -> tuple[str, list[str]]:
    """Return the text of a file, or of stdin for `-`, and notes about it.

    Args:
        path: the file.
        name: its name in messages.
        wanted: names of columns, which tell the encoding of a file from before UTF-8.

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
    return _decoded(content, name, wanted)


def _content(path: Path) -> bytes:
    """Return the content of a file, unpacked."""
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


def _decoded(content: bytes, name: str, wanted: Sequence[str]) -> tuple[str, list[str]]:
    marked = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
    encoding = next((one for one, begin in _UTF_16_UNMARKED.items() if re.match(begin, content)), marked)
    try:
        return content.decode(encoding), []
    except UnicodeDecodeError:
        pass
    if b"\0" in content:
        raise ConfigError(f"{name} is not text; save it as CSV in UTF-8")
    fitting = [one for one in _BEFORE_UTF_8 if _has(content, one[0], wanted)]
    if len(fitting) > 1 and len(b"".join(_FOREIGN.findall(content))) > len(_ACCENT.findall(content)):
        raise ConfigError(
            f"{name} is not UTF-8 text, and not in a language of Western Europe, so that its names are in doubt; "
            "save it as CSV in UTF-8"
        )
    encoding, title = (fitting or _BEFORE_UTF_8)[0]
    note = f"{name} is not UTF-8 text and is read as {title}; save it in UTF-8 if names look wrong"
    return content.decode(encoding, errors="replace"), [note]


def _has(content: bytes, encoding: str, wanted: Sequence[str]) -> bool:
    """Return whether all of these texts that are not ASCII are in the content."""
    text = content.decode(encoding, errors="replace")
    return all(one in text for one in wanted if not one.isascii())


# --- Numbers as spreadsheets write them -----------------------------------------------------------------------------


_GAPS = " \u00a0\u202f\u2009'’"
"""Signs that can only separate thousands."""
_GROUPS = {sign: re.compile(rf"[-+]?[1-9]\d{{0,2}}(\{sign}\d{{3}})+$") for sign in ",."}
"""Sign -> numbers in which it stands before every three digits, as between thousands."""
Floats: TypeAlias = "pd.Series[float]"
_MARKS = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "y", "t"), 1.0),
    **dict.fromkeys(("0", "0.0", "false", "no", "n", "f"), 0.0),
}


def floats_of(texts: "pd.Series[str]") -> Floats:
    """Return the number of each text by `float`; NaN for no number, and for `1_000`, which no spreadsheet writes."""
    import pandas as pd

    return pd.Series([_float(text) for text in texts], texts.index, np.float64, texts.name)


def _float(text: str) -> float:
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def numbers_of(texts: "pd.Series[str]", decimal: str | None = None) -> tuple[Floats, str | None]:
    """Return the numbers of texts, NaN for no number, and a note if commas or points were read as between thousands.

    If a sign stands before three digits wherever it occurs in the column, it separates thousands; else it is the
    decimal sign. `float` reads what is left.

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
        grouped |= having.str.match(r"[-+]?[1-9]\d?(,\d\d)+,\d{3}(\.\d+)?$")  # as in India
        if grouped.all():
            _refuse_doubt(texts.name, sign, plain[plain != ""])
            plain = plain.str.replace(sign, "", regex=False)
            note = f"{having.iloc[0]} in column {texts.name} is read as {having.iloc[0].replace(sign, '')}"
        elif sign == ",":
            plain, note = _without_points(plain)
            plain = plain.str.replace(",", ".", regex=False)
    return floats_of(plain), note


def _without_points(plain: "pd.Series[str]") -> tuple["pd.Series[str]", str | None]:
    """Return texts in which commas are decimal signs without the points that then stand between thousands.

    Raises:
        ConfigError: if a point cannot stand there.
    """
    having = plain[plain.str.contains(".", regex=False)]
    for text in having[~having.str.fullmatch(r"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?")]:
        raise ConfigError(
            f"column {plain.name}: {text} has a point, others a comma before decimals; say --decimal . or --decimal ,"
        )
    first = None if having.empty else str(having.iloc[0])
    note = first and f"{first} in column {plain.name} is read as {first.replace('.', '').replace(',', '.')}"
    return plain.str.replace(".", "", regex=False), note


def _refuse_doubt(name: object, sign: str, numbers: "pd.Series[str]") -> None:
    """Refuse a column in which each number ends in the sign and three digits, as databases write decimals so too.

    There is no doubt if a number lacks the sign or has it twice; a comma is doubtful only before three zeros.
    """
    decimals = r"[-+]?\d{1,3}\.\d{3}" if sign == "." else r"[-+]?\d{1,3},000"
    if numbers.str.fullmatch(decimals).all():
        first = numbers.iloc[0]
        few, many = first.replace(sign, ".").rstrip("0").rstrip("."), first.replace(sign, "")
        raise ConfigError(f"column {name}: {first} may be {few} or {many}; say --decimal . or --decimal ,")


def fault_of_number(text: str) -> str:
    """Return what is wrong with a text that is no usable number, and the remedy."""
    if not text:
        return "is empty; write a number, or remove the row if it is no item"
    if re.fullmatch(r"[-+]?(nan|inf|infinity)", text.lower()) or re.fullmatch(r"[-+]?[\d.]+e\+?\d+", text.lower()):
        return f"{text} is not a finite number; correct or remove the row"
    if re.fullmatch(r"[-+]?[\d.]*\d,\d+", text):
        return f"{text!r} is not a number in this column; say --decimal , if the comma is the decimal sign"
    return f"{text!r} is not a number; write one such as 12 or 0.5"


def marks_of(texts: "pd.Series[str]") -> Floats:
    """Return 1 for a text that means a click, 0 for one that means none, NaN for any other."""
    return texts.str.lower().map(_MARKS).astype(float)


# --- Splitting a text into rows under a header ----------------------------------------------------------------------


_SEPARATORS = ",;\t|"
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
_SEPARATOR_LINE = re.compile(r'"?sep=([^"\r\n]?)"?[ \t]*(?:\r\n|[\r\n])', re.IGNORECASE)
"""A line that spreadsheets write above the header."""
_DIGITS = re.compile(r"[-+]?[\d.,]*\d[\d.,]*%?")
_HEADER_ROWS = 21
"""Number of rows in which the header is looked for, as titles may stand above it."""
_MOST_COLUMNS = 20_000
"""Largest number of columns of a file if all of them are read."""
_MOST_LINES = 5
"""Largest number of lines that a note names."""
_END = "\0end"
"""A line added behind the last one; if a quote is left open, it becomes part of the last row."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Rows of texts.

    Attributes:
        name: name of the file.
        header: names of all columns.
        rows: texts of the columns that are read, empty where a row is too short; the index is the line on which each
            row ends.
        sizes: number of values of each row, shape `(n,)`.
        notes: sentences on how the file was understood.
        first: texts of all columns in the first rows.
    """

    name: str
    header: tuple[str, ...]
    rows: "pd.DataFrame"
    sizes: NDArray[np.int64]
    notes: tuple[str, ...]
    first: tuple[list[str], ...] = ()

    def without(self, rows: NDArray[np.bool_]) -> "Sheet":
        """Return the sheet without the rows that a mask marks."""
        return replace(self, rows=self.rows[~rows], sizes=self.sizes[~rows])

    def lines(self, rows: NDArray[np.bool_]) -> str:
        """Return the first five lines of the rows that a mask marks, in words."""
        lines = self.rows.index[rows]
        return f"line{'s' * (len(lines) > 1)} {listed(list(map(str, lines[:_MOST_LINES])))}"


def sheet_of(
    text: str,
    name: str,
    columns: Sequence[str] = (),
    separator: str | None = None,
    *,
    most_columns: int = _MOST_COLUMNS,
    top: int | None = None,
) -> Sheet:
    """Split a text into rows and columns.

    Args:
        text: the text, with a header among its first rows, after a line `sep=;` if there is one.
        name: name of the file, for messages.
        columns: columns to read, which the header must have; if empty, all columns.
        separator: sign between the values; detected if `None`.
        most_columns: largest number of columns if all are read.
        top: number of rows to read; all if `None`.

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
    begin = list(islice(filled, _HEADER_ROWS))
    first_rows = tuple(list(row) for _, row in begin)
    table, sizes = _table(islice(chain(begin, filled), top), len(header), places, columns or header)
    note = f"the header is on line {line}; the lines above it are left out"
    above = [one for one in text.splitlines()[first - 1 : line - 1] if one.strip() and not one.startswith("# ")]
    return Sheet(name, tuple(header), table, sizes, (note,) if above else (), first_rows)


def columns_in(text: str, name: str, separator: str | None = None) -> str:
    """Return the first columns of a table in words; arguments and errors as for `sheet_of`."""
    return _some(sheet_of(text, name, (), separator, top=1).header)


def _rows(lines: TextIO, separator: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row ends, and its values.

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
    """Return the line of the header, the separator, and the names: of the earliest headers, the one with most names."""
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
    numbers = sum(_DIGITS.fullmatch(cell) is not None for cell in header)
    hint = "; this looks like a row of values: write a line with the names of the columns above it" if numbers else ""
    raise ConfigError(f"{name}:{first}: no column {missing!r}; the columns are {_some(header)}{hint}")


def _head(lines: TextIO, separator: str, first: int, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first rows that are not empty, up to one that is no separated text."""
    with suppress(ConfigError):
        for line, row in islice(_rows(lines, separator, name), _HEADER_ROWS):
            cells = [value.strip() for value in row]
            if line >= first and any(cells) and not _is_remark(cells):
                yield line, cells


def _is_remark(cells: Sequence[str]) -> bool:
    """Return whether a row above the header is a line such as `# clicks.csv`, which no column is named."""
    return cells[0].startswith("# ") and not any(cells[1:])


def _some(columns: Sequence[str], most: int = 8) -> str:
    """Return a few names in words, long ones cut."""
    named = [" ".join(column.split()) for column in columns[:most]]
    shown = ", ".join(column if len(column) <= 40 else f"{column[:37]}..." for column in named)
    return shown + (f" and {len(columns) - most} more" if len(columns) > most else "")


def _table(
    rows: Iterable[tuple[int, list[str]]], width: int, places: Sequence[int], columns: Sequence[str]
) -> "tuple[pd.DataFrame, NDArray[np.int64]]":
    """Return some columns of the rows, and the number of values of each row."""
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
    """Return the number of values of a row, after filling it up to the width of the header."""
    while len(row) > width and not row[-1].strip():
        row.pop()
    size = len(row)
    row += [""] * (width - size)
    return size


# --- Faults of rows -------------------------------------------------------------------------------------------------


_MOST_SHOWN = 10


class Faults:
    """Collects the faults of the rows of a sheet; for each row, only the first one that is added.

    Args:
        sheet: the rows.
        whole: whether a row with fewer values than the header is a fault, too.
    """

    def __init__(self, sheet: Sheet, *, whole: bool = False) -> None:
        self._sheet, self.name, width = sheet, sheet.name, len(sheet.header)
        self.lines = sheet.rows.index.to_numpy()
        self._found: dict[int, str] = {}
        self._rows = sheet.rows.reset_index(drop=True)
        wrong = sheet.sizes != width if whole else sheet.sizes > width
        self.add(wrong, lambda row: f"{sheet.sizes[row]} values for {width} columns; give one value a column")

    def texts(self, column: str) -> "pd.Series[str]":
        """Return the texts of a column, numbered from 0."""
        return self._rows[column].str.strip()

    def add(self, wrong: ArrayLike, sentence: Callable[[int], str]) -> None:
        """Add a fault of some rows: a mask of these, and the sentence about a row by its number from 0."""
        places = np.flatnonzero(wrong)
        for row in map(int, places):
            if row not in self._found:
                self._found[row] = sentence(row)

    def answer(self, remedy: str) -> None:
        """Refuse the file if a row has a fault.

        Args:
            remedy: the remedy, if the sentences do not give one.

        Raises:
            ConfigError: if a row has one; the message names the first ten faults, and for each the first lines.
        """
        if not self._found:
            return
        name, end = self.name, f"; {remedy}" if remedy else ""
        lines: dict[str, list[int]] = {}
        for row in sorted(self._found):
            lines.setdefault(self._found[row], []).append(int(self.lines[row]))
        told = list(lines.items())[:_MOST_SHOWN]
        if len(self._found) == 1:
            raise ConfigError(f"{name}:{told[0][1][0]}: {told[0][0]}{end}")
        sentences = ". ".join(f"{_lines(there)}: {sentence}" for sentence, there in told)
        more = f" (the first {_MOST_SHOWN})" if len(lines) > _MOST_SHOWN else ""
        raise ConfigError(f"{name}: {len(self._found):,} rows are not usable{more}. {sentences}{end}")


def _lines(lines: list[int]) -> str:
    """Return the numbers of lines with one fault in words, the first three."""
    if len(lines) == 1:
        return f"Line {lines[0]}"
    more = [] if len(lines) <= _FEW else [f"{len(lines) - _FEW:,} more"]
    return f"Lines {listed([*map(str, lines[:_FEW]), *more])}"


_FEW = 3
"""Number of lines that are named for one fault."""
