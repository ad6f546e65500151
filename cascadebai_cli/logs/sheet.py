"""A file of any origin becomes rows of texts under a header."""

import gzip
import io
import re
import sys
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import pandas as pd

from cascadebai_cli.errors import ConfigError

# --- The text of a file of any origin: compressed or not, in the encodings that spreadsheets write ------------------


_STDIN = Path("-")
MOST_BYTES = 100 * 2**20
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def shown(path: Path) -> str:
    """How messages call a file."""
    return "stdin" if path == _STDIN else str(path)


def file_name(path: Path) -> str:
    """Name of a file without its folder."""
    return "stdin" if path == _STDIN else path.name


def text_of(path: Path) -> tuple[str, list[str]]:
    """The text of a file, `-` being what comes through a pipe, and what was noticed about it.

    Raises:
        ConfigError: if it is no text, larger than 100 MB, or cannot be read.
    """
    name = shown(path)
    try:
        content = _content(path)
    except ConfigError:
        raise
    except (OSError, EOFError, zlib.error, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{name} cannot be read ({reason}); name a CSV file") from None
    if len(content) > MOST_BYTES:
        raise ConfigError(f"{name} has more than {MOST_BYTES >> 20} MB; keep the columns needed, or sum its rows")
    if content.startswith(_ZIP):
        raise ConfigError(f"{name} is a spreadsheet or an archive; save the sheet as CSV")
    return _decoded(content, name)


def _content(path: Path) -> bytes:
    if path == _STDIN:
        if sys.stdin is None:
            raise ConfigError("- is stdin, which is closed; name a CSV file")
        return _plain(sys.stdin.buffer)
    if not path.is_file():
        raise ConfigError(f"{path} is not a file; name a CSV file, or - for what comes through a pipe")
    with path.open("rb") as file:
        return _plain(file)


def _plain(file: BinaryIO) -> bytes:
    """What the file holds, not compressed, but one byte more than allowed at most."""
    content = file.read(MOST_BYTES + 1)
    if not content.startswith(_GZIP):
        return content
    with gzip.open(io.BytesIO(content)) as packed:
        return packed.read(MOST_BYTES + 1)


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
_YES = {"1", "1.0", "true", "yes", "y", "t"}
_NO = {"0", "0.0", "false", "no", "n", "f"}


def numbers_of(texts: "pd.Series[str]") -> tuple["pd.Series[float]", str | None]:
    """Numbers, NaN for what is none, and a sentence if commas or points were taken for thousands.

    A sign that stands before three digits in every number of the column that has it parts thousands; one that does
    not is the decimal sign. What is left is `float`'s.
    """
    plain = texts.str.translate(dict.fromkeys(map(ord, _GAPS)))
    note = None
    for sign, pattern in _GROUPS.items():
        having = plain[plain.str.contains(sign, regex=False)]
        if having.empty:
            continue
        grouped = having.str.match(pattern) | having.str.match(r"[-+]?[1-9]\d{0,2}(,\d{3})+\.\d+$")
        if grouped.all():
            plain = plain.str.replace(sign, "", regex=False)
            note = f"{having.iloc[0]} in column {texts.name} is read as {having.iloc[0].replace(sign, '')}"
        elif sign == ",":
            plain = plain.str.replace(",", ".", regex=False)
    return pd.to_numeric(plain.where(~plain.str.contains("_", regex=False)), errors="coerce"), note


def fault_of_number(text: str) -> str:
    """What is wrong with a text that is no number, or none that can be used."""
    if not text:
        return "is empty; write a number"
    if re.fullmatch(r"[-+]?(nan|inf|infinity)", text.lower()) or re.fullmatch(r"[-+]?[\d.]+e\+?\d+", text.lower()):
        return f"{text} is not a finite number; correct or remove the row"
    return f"{text!r} is not a number; write one such as 12 or 0.5"


def clicks_of(texts: "pd.Series[str]") -> "pd.Series[float]":
    """1 for a click, 0 for none, NaN for what is neither."""
    lower = texts.str.lower()
    return pd.Series(np.select([lower.isin(_YES), lower.isin(_NO)], [1.0, 0.0], np.nan), index=texts.index)


# --- A text becomes rows of texts under a header; pandas splits them ------------------------------------------------


_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
_HEADER_LINES = 20
"""Lines among which a header is looked for, below titles."""
_FEW: dict[str, Any] = {
    "dtype": str,
    "keep_default_na": False,
    "na_filter": True,
    "index_col": False,
    "skipinitialspace": True,
}
_MORE_VALUES = 50
"""So many values beyond the header a row may have and still be counted as one row that is wrong."""

Lengths: TypeAlias = "pd.Series[int]"


@dataclass(frozen=True, eq=False)
class Sheet:
    """Rows of texts.

    Attributes:
        name: of the file.
        rows: texts, its index the number of the line of each row; empty where a row is too short.
        too_long: how many values each row has that has more than the header, else 0.
        notes: what was noticed.
    """

    name: str
    rows: pd.DataFrame
    too_long: Lengths
    notes: tuple[str, ...]


def sheet_of(text: str, name: str, columns: Sequence[str], separator: str | None) -> Sheet:
    """Split a text.

    Args:
        text: with a header among its first lines, after a line `sep=;` if there is one.
        name: of the file, for messages.
        columns: names that the header must have; any header if empty.
        separator: between the values, found out if `None`.

    Raises:
        ConfigError: if it is no table with such a header.
    """
    if text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]"):
        raise ConfigError(f"{name} is JSON; give a CSV file")
    lines = text.splitlines()[: _HEADER_LINES + 1]
    first = 0
    if lines and lines[0].strip().strip('"').lower().startswith("sep=") and separator is None:
        separator, first = lines[0].strip().strip('"')[4:5] or "\t", 1
    separator = _NAMED.get(separator, separator) if separator is not None else None
    if separator is not None and (len(separator) != 1 or separator in '\r\n"'):
        raise ConfigError(f"--sep {separator!r} is not one character; give one such as ';', or tab")
    sep, line, header = _header(lines, first, columns, separator, name)
    rows, too_long = _rows(text, sep, line, header, name)
    note = f"the header is on line {line + 1}; the lines above it are left out"
    return Sheet(name, rows, too_long, (note,) if line > first else ())


def _header(
    lines: Sequence[str], first: int, columns: Sequence[str], separator: str | None, name: str
) -> tuple[str, int, list[str]]:
    """Separator, number of the line, and names of the columns."""
    candidates = [separator] if separator else list(_SEPARATORS)
    for line in range(first, len(lines)):
        found = [(sep, line, _cells(lines[line], sep)) for sep in candidates if lines[line].strip()]
        fitting = [one for one in found if set(columns) <= set(one[2])]
        if fitting:
            best = max(fitting, key=lambda one: len(one[2]))
            _refuse_twins(best[2], columns, f"{name}:{line + 1}")
            return best
    where = f"{name}:{first + 1}"
    shown = max((_cells(lines[first], sep) for sep in candidates), key=len) if len(lines) > first else []
    if not any(shown):
        raise ConfigError(f"{where}: no header row; name the columns on the first line")
    missing = next(column for column in columns if column not in shown)
    raise ConfigError(f"{where}: no column {missing!r}; the columns are {some(shown)}")


def _cells(line: str, separator: str) -> list[str]:
    try:
        frame = pd.read_csv(io.StringIO(line), sep=separator, header=None, **_FEW)
    except (pd.errors.ParserError, pd.errors.EmptyDataError):
        return []
    return [str(value).strip() for value in frame.iloc[0]]


def _refuse_twins(header: Sequence[str], columns: Sequence[str], where: str) -> None:
    for column in columns:
        if list(header).count(column) > 1:
            raise ConfigError(f"{where}: more than one column {column!r}; the columns are {some(header)}")


def some(columns: Sequence[str], most: int = 8) -> str:
    """A few names, each at most as long as one that somebody would type."""
    shown = ", ".join(column if len(column) <= 40 else f"{column[:37]}..." for column in columns[:most])
    return shown + (f" and {len(columns) - most} more" if len(columns) > most else "")


def _rows(text: str, separator: str, line: int, header: Sequence[str], name: str) -> tuple[pd.DataFrame, Lengths]:
    """The rows below the header, without empty ones, and how many values those have that have too many."""
    width = len(header)
    options = {"sep": separator, "header": None, "skiprows": line + 1, **_FEW, "skip_blank_lines": False}
    try:
        rows = _split(text, width, options)
    except pd.errors.EmptyDataError:
        rows = pd.DataFrame(columns=range(width), dtype=str)
    except pd.errors.ParserError as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip().lower()
        raise ConfigError(f"{name} is not separated text ({reason}); check the quotes of that row") from None
    rows = rows.fillna("")
    breaks = rows.apply(lambda column: column.str.count("\n")).sum(axis=1).cumsum()
    rows.index = pd.Index((breaks + np.arange(len(rows)) + line + 2).astype(int))
    filled = rows.apply(lambda column: column.str.strip() != "")
    places = np.arange(1, rows.shape[1] + 1) * (np.arange(rows.shape[1]) >= width)
    lengths = (filled * places).max(axis=1).astype(int)
    kept, rows = filled.any(axis=1), rows.iloc[:, :width]
    rows.columns = pd.Index(header)
    return rows[kept], lengths[kept]


def _split(text: str, width: int, options: dict[str, Any]) -> pd.DataFrame:
    """Rows of as many texts as the header has, or of a few more if one row has more."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            rows: pd.DataFrame = pd.read_csv(io.StringIO(text), names=range(width), **options)
        except (pd.errors.ParserWarning, pd.errors.ParserError):
            rows = pd.read_csv(io.StringIO(text), names=range(width + _MORE_VALUES), **options)
        return rows
