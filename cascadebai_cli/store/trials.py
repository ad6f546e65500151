"""The CSV tables of a result directory: made from its journal, read back and checked."""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pandas as pd

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.columns import (
    CELL,
    COLUMNS,
    LATER,
    MOST_COUNT,
    OUTCOME,
    STATUSES,
    SUMMARY_CSV,
    TABLES,
    TIMES_CSV,
    TIMINGS_CSV,
    TRIALS_CSV,
    TableFile,
    TrialRow,
)
from cascadebai_cli.store.files import AGAIN, Held, as_csv, is_packed, reading, write_atomically
from cascadebai_cli.store.journal import CODES, Recording, Stored, told
from cascadebai_cli.store.manifest import Manifest
from cascadebai_cli.store.summary import summarise, summarise_stored
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.fields import show

# --- Reading the CSV tables of a result directory, with all digits and with the types of their columns --------------

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
_ALL_DIGITS: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
"""For `read_csv`: before pandas 3.1 the last digit may be wrong without this option; later versions warn of it."""

_LONGEST_HEADER = 100_000
"""Largest header in bytes: a table that no sweep wrote may have a million columns, which takes long to read."""


def _refuse_long_header(path: Path, remedy: str) -> None:
    """Refuse a table whose header is too long."""
    with reading(path) as file:
        if len(file.readline(_LONGEST_HEADER)) == _LONGEST_HEADER:
            raise ConfigError(f"{path}: the header has {_LONGEST_HEADER} bytes or more, so no sweep wrote it; {remedy}")


def read_table(path: Path, remedy: str, needed: Collection[str] = ()) -> pd.DataFrame:
    """Return the table of a CSV file; words stay text, and an empty field is a missing value.

    Args:
        path: the file; if it has the name of a table of a sweep, the types of its columns are checked.
        remedy: what to do if it is damaged.
        needed: columns that it must have; if none are given, those that every table of its name has.

    Raises:
        ConfigError: if it is missing, cannot be read or is not such a table.
    """
    _refuse_long_header(path, remedy)
    known = TABLES.get(path.name, TableFile("", ()))
    words = {column.name: str for column in known.columns if column.type is str}
    try:
        with reading(path) as file:
            table: pd.DataFrame = pd.read_csv(
                file, dtype=words, keep_default_na=False, na_values=[""], low_memory=False, **_ALL_DIGITS
            )
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"{path}: not a table ({str(error).strip()}); {remedy}") from error
    for name in needed or known.names(table):
        if name not in table:
            raise ConfigError(f"{path}: column {name} is missing; {remedy}")
    for name in table.columns.intersection(known.names(table)):
        if name not in words and len(table) and not pd.api.types.is_numeric_dtype(table[name]):
            raise ConfigError(f"{path}: column {name} is not all numbers; {remedy}")
    return table


# --- `trials.csv`: written from the journal, read back and checked; its bytes do not depend on interruptions --------

_CHUNK = 20_000
"""Number of rows that are in memory at once, unless a single cell has more."""

_FORMS = {
    str: (str, ".*", "text"),
    int: ("int64", "[0-9]{1,19}", "a whole number"),
    float: ("float64", r"[-+]?[0-9]*\.?[0-9]*(e[-+]?[0-9]+)?", "a number"),
    bool: ("Int8", "[01]?", "1, 0 or empty"),
}
"""Type of a column -> its type in pandas, a pattern of the texts that it may hold, and that in words."""
_MAY_LACK = {int: "Int64", bool: "Int8"}
"""Type of a column of `LATER` -> a type in pandas that allows missing values."""
_READ: dict[str, Any] = {
    "dtype": {
        column.name: _MAY_LACK[column.type] if column.when == "later" else _FORMS[column.type][0]
        for column in TABLES[TRIALS_CSV].columns
    },
    "keep_default_na": False,
    "na_values": {
        column.name: [""] for column in TABLES[TRIALS_CSV].columns if column.type is bool or column.when == "later"
    },
    "index_col": False,
    **_ALL_DIGITS,
}

_InGrid = Mapping[str, Any]
"""The columns of a cell of a grid, and its budget if it has one."""
_Limits = Mapping[str, int]
"""Cell -> number of its trials."""


def holds_rows(directory: Path) -> bool:
    """Return whether there is a `trials.csv` with more than its header.

    Raises:
        ConfigError: if it is there but cannot be read.
    """
    path = directory / TRIALS_CSV
    if not (path.exists() or is_packed(path)):
        return False
    with reading(path) as file:  # lines up to twice the length of a header: that one, and a row if there is any
        return len(file.readlines(2 * len(",".join(TABLES[TRIALS_CSV].names())))) > 1


def _write_trials(
    directory: Path, cells: Sequence[_InGrid], stored: Stored, limits: _Limits | None = None, *, packed: bool = False
) -> str:
    """Write `trials.csv`, with one row for each finished trial, sorted by cell of the grid and trial.

    Args:
        cells: cells in the order of the grid; rows of other cells are left out.
        limits: number of trials of each cell that are written; all by default.
        packed: write `trials.csv.gz` instead, as is done anyway if the file is packed already.

    Returns:
        SHA-256 of the rows as `trials.csv` holds them, in hexadecimal.
    """
    path = directory / TRIALS_CSV
    return write_atomically(path, _lines(cells, stored, limits), packed=packed or is_packed(path))


def _lines(cells: Sequence[_InGrid], stored: Stored, limits: _Limits | None) -> Iterator[str]:
    further = _further(cells)
    yield ",".join(TABLES[TRIALS_CSV].names([*further, *LATER])) + "\n"
    for cell in cells:
        start = as_csv([COLUMNS[name].type(cell[name]) for name in CELL])
        rows = stored.of(cell["cell_id"], limits)
        texts = {name: CODES[name].texts(rows[name]) for name in OUTCOME}
        if further:
            texts |= {"budget": repeat(str(cell["budget"]), len(rows)), "right": CODES["right"].texts(rows["right"])}
        texts |= {name: CODES[name].texts(rows[name]) for name in LATER}
        for fields in zip(*texts.values(), strict=True):
            yield ",".join((start, *fields)) + "\n"


def _further(cells: Iterable[_InGrid]) -> Sequence[str]:
    """Return the columns that only a study with budgets has."""
    return ("budget", "right") if any(cell.get("budget") is not None for cell in cells) else ()


def trials_table(cells: Iterable[Cell], rows: Sequence[TrialRow]) -> pd.DataFrame:
    """Return the table that `trials.csv` would hold for trials in memory, sorted by cell.

    It has a further column of tuples for each record of them.
    """
    known = {cell.cell_id: {**cell.content, "cell_id": cell.cell_id, "study": cell.study} for cell in cells}
    columns = TABLES[TRIALS_CSV].names(_further(known.values()))
    table = pd.DataFrame([{**known[row.cell_id], **row._asdict()} for row in rows], columns=columns)
    table = table.astype({name: _READ["dtype"][name] for name in columns})
    for name in dict.fromkeys(name for row in rows for name, _ in row.record):
        table[name] = pd.Series([told(name, dict(row.record)[name]) for row in rows], table.index, object)
    return table


def read_trials(path: Path, chunk: int = _CHUNK) -> Iterator[pd.DataFrame]:
    """Yield `trials.csv` in tables of whole cells; names stay text, `correct` is missing for capped trials.

    Args:
        path: a file sorted by cell.
        chunk: about the number of rows of a table; more if a cell has more.

    Raises:
        ConfigError: if it is missing, or not what a sweep writes.
    """
    rest: list[pd.DataFrame] = []
    for part in _checked(path, chunk):
        table = pd.concat([*rest, part])
        last = table["cell_id"] == table["cell_id"].iloc[-1]
        if not last.all():
            yield table[~last]
        rest = [table[last]]
    yield from rest


def read_rows(path: Path) -> Iterator[TrialRow]:
    """Yield the rows of `trials.csv`; errors as for `read_trials`."""
    for table in read_trials(path):
        there = [name for name in ("cell_id", *OUTCOME, *LATER, "right") if name in table]
        for values in zip(*(table[name] for name in there), strict=True):
            yield TrialRow(**dict(zip(there, map(_plain, there, values), strict=True)))


def _plain(name: str, value: Any) -> Any:
    return None if value is pd.NA else COLUMNS[name].type(value)


def _checked(path: Path, chunk: int) -> Iterator[pd.DataFrame]:
    _refuse_long_header(path, AGAIN)
    try:
        with reading(path) as file, pd.read_csv(file, chunksize=chunk, **_READ) as parts:
            for part in parts:
                if not _is_right(part):
                    raise ValueError("a value is out of range")
                if len(part):
                    for name in LATER:
                        if name not in part:
                            part[name] = pd.Series(pd.NA, index=part.index, dtype=_READ["dtype"][name])
                    yield part
    except ConfigError:
        raise
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"{path}{_fault(path) or f': not a table ({str(error).strip()})'}; {AGAIN}") from error


def _is_right(part: pd.DataFrame) -> bool:
    columns = TABLES[TRIALS_CSV].names(part)
    if not set(columns) <= set(part):
        return False
    outcome = [COLUMNS[name] for name in columns[len(CELL) :]]
    # old versions of pandas ignore the type they are told for numbers beyond 64 bits
    typed = (part[column.name].dtype == _READ["dtype"][column.name] for column in outcome if column.type is int)
    return all(typed) and all(column.right(part).all() for column in outcome)


def _fault(path: Path) -> str | None:
    """Return line and words for the first fault; this is slow, and done only once it is known that there is one."""
    with reading(path) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, restval="")
        try:
            missing = [name for name in TABLES[TRIALS_CSV].names() if name not in (reader.fieldnames or ())]
            if missing:
                return f": column {missing[0]} is missing"
            faults = (f":{reader.line_num}: {fault}" for row in reader for fault in _faults(row))
            return next(faults, None)
        except UnicodeDecodeError:
            return " is not UTF-8 text"
        except csv.Error as error:
            return f":{reader.line_num}: not a table ({error})"


def _faults(row: Mapping[str, str]) -> Iterator[str]:
    for name in TABLES[TRIALS_CSV].names(row):
        kind, text = COLUMNS[name].type, row[name]
        _, pattern, what = _FORMS[kind]
        if name == "status":
            pattern, what = "|".join(STATUSES), COLUMNS[name].check[0]
        lacking = name in LATER and not text
        right = re.fullmatch(pattern, text, re.DOTALL) and not (kind is int and int(text) > MOST_COUNT)
        if not lacking and not right:
            yield f"{name}: {show(text)} is not {what}"


# --- How long trials took: `timings.csv`, trial by trial, and its sums in `times.csv`, which references keep --------


def _write_timings(directory: Path, cells: Sequence[_InGrid], stored: Stored, limits: _Limits | None = None) -> str:
    """Write `timings.csv`, the wall time of each trial; arguments and result as for `_write_trials`."""
    header = ",".join(TABLES[TIMINGS_CSV].names()) + "\n"
    rows = (
        f"{cell['cell_id']},{row['trial']},{row['seconds']:.6f}\n"
        for cell in cells
        for row in stored.of(cell["cell_id"], limits)
    )
    return write_atomically(directory / TIMINGS_CSV, chain([header], rows))


def times_of(directory: Path, summary: pd.DataFrame) -> pd.DataFrame:
    """Return the time on one core for each instance and learner, from `timings.csv`, or else from `times.csv`.

    Returns:
        the columns of `times.csv`; empty if neither file is there.

    Raises:
        ConfigError: if the file is damaged.
    """
    timings, times = directory / TIMINGS_CSV, directory / TIMES_CSV
    if timings.exists():
        return _times(summary, _read(timings))
    return _read(times) if times.exists() else TABLES[TIMES_CSV].frame([])


def _read(path: Path) -> pd.DataFrame:
    columns = TABLES[path.name].names()
    remedy = f"it needs the columns {', '.join(columns)}; sweep with --collect to write it again"
    return read_table(path, remedy)[columns]


def _times(summary: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    trials = timings.merge(summary[["cell_id", "instance", "learner"]], on="cell_id")
    grouped = trials.groupby(["instance", "learner"], sort=False)["seconds"]
    times = grouped.agg(trials="count", total="sum", mean_seconds="mean").reset_index()
    return times.set_axis(TABLES[TIMES_CSV].names(), axis=1)


# --- `summary.csv` ---------------------------------------------------------------------------------------------------


def summary_text(directory: Path) -> str:
    """Return the `summary.csv` that follows from `trials.csv` and the manifest; errors as for `read_trials`."""
    return _text(summarise(read_trials(directory / TRIALS_CSV), Manifest.read(directory).trials))


def _text(summary: pd.DataFrame) -> str:
    return summary.to_csv(index=False, lineterminator="\n")


def read_summary(path: Path) -> pd.DataFrame:
    """Return the cells of `summary.csv`, which may have been edited by hand; names are text, counts are integers.

    Raises:
        ConfigError: if the file is missing, has no row, or a value that no sweep writes.
    """
    summary = read_table(path, AGAIN)
    if summary.empty:
        raise ConfigError(f"{path}: no cell has a trial yet; run the sweep first")
    there = [column for column in TABLES[SUMMARY_CSV].columns if column.name in summary]
    for column in there:
        if not (right := column.right(summary)).all():
            wrong = summary.loc[~right, column.name].iloc[0]
            shown = "an empty cell" if pd.isna(wrong) else wrong
            raise ConfigError(f"{path}: column {column.name}: {shown} is not {column.check[0]}; {AGAIN}")
    return summary.astype({column.name: int for column in there if column.type is int})


# --- The tables of a result directory, made from its journal --------------------------------------------------------


def write_tables(
    held: Held, manifest: Manifest, stored: Stored, limits: _Limits, *, asked_only: bool, packed: bool = False
) -> tuple[int, pd.DataFrame]:
    """Write the tables and close the manifest.

    Args:
        limits: the number of trials of each cell.
        asked_only: whether trials beyond `limits` are left out of the tables.

    Returns:
        how many trials of the config are missing, and the summary.

    Raises:
        ConfigError: if the manifest does not describe its cells.
        CascadeError: if a file cannot be written, or the directory is not there any more.
    """
    cells = manifest.grid(held.directory)
    held.check()
    shown = limits if asked_only else None
    digest = _write_trials(held.directory, cells, stored, shown, packed=packed)
    held.check()
    summary = summarise_stored(cells, stored, shown, manifest.trials)
    tables = {
        TIMINGS_CSV: _write_timings(held.directory, cells, stored, shown),
        SUMMARY_CSV: write_atomically(held.directory / SUMMARY_CSV, [_text(summary)]),
        **stored.write_records(held.directory, cells, shown),
    }
    held.check()
    wanted = Recording.of(manifest.config)
    missing = sum(len(stored.missing(cell_id, trials, wanted)) for cell_id, trials in limits.items())
    manifest.closed(complete=not missing, rows_sha256=digest, tables=tables).write(held.directory)
    return missing, summary
