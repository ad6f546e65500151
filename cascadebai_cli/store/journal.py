"""Finished trials and what is recorded inside them, on disk: a journal that only grows.

It has one line for each trial, which ends in a checksum. Whenever a process is killed, every complete line can be read
again, and only these are. `trials.csv` is made from it.

Each line says by itself which columns it has, so that none depends on another line that may be lost: the first values
stand in places that never change (`_IN_PLACE`), all others behind them as `name=value`. A line that is older than a
column has no value for it. A journal with a column that this version does not know is refused and left as it is.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_args
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import BoolArray, IntArray
from cascadebai_cli.store.columns import (
    ANSWERS_CSV,
    CELL,
    COLUMNS,
    DECISIONS_CSV,
    JOURNAL,
    LATER,
    MOST_COUNT,
    OUTCOME,
    SAME,
    STATUSES,
    TABLES,
    TRACES_CSV,
    TrialRow,
)
from cascadebai_cli.store.files import as_csv, open_to_write, reading, replace_file, write_atomically, writing_to
from cascadebai_cli.study.fields import RecordName
from cascadebai_cli.version import __version__

# --- What is recorded inside a trial: its entries, their text in the journal, and the columns of their tables -------
#
# Each record is a sequence of entries, such as the decisions of a trial. In the journal it is one value,
# `name=entries`, with blanks between the entries and colons between their parts.

_DECISIONS = ("accepted", "rejected")


class _Placed(NamedTuple):
    """An item of the answer: its place, and its number in the order of the config, both from 1."""

    place: int
    item: int


class Decision(NamedTuple):
    """An item that was accepted or rejected at the end of a step; items and steps are numbered from 1."""

    item: int
    decision: str
    step: int


class Moment(NamedTuple):
    """A run after a step.

    Attributes:
        step: number of steps made.
        survivors: number of items neither accepted nor rejected; -1 for a learner that does not race.
        observations: number of items observed so far.
        right: how many items of the present answer are good enough.
        correct: 1 if all are, else 0.
    """

    step: int
    survivors: int
    observations: int
    right: int
    correct: int


_RECORDS: Mapping[str, tuple[str, type]] = MappingProxyType(
    {"answer": (ANSWERS_CSV, _Placed), "decisions": (DECISIONS_CSV, Decision), "trace": (TRACES_CSV, Moment)}
)
"""Name in a config -> the file, and the type of the entries, whose fields are the columns behind those of the trial."""
if set(_RECORDS) != set(get_args(RecordName)):
    raise LookupError("the names of RecordName and _RECORDS differ")

_Recorded = Mapping[tuple[str, int], Mapping[str, str]]
"""Cell and number of a trial -> what was recorded of it: name -> text."""
_FIRST = (1, 2, 5)
"""First digits of the steps at which a trace looks at a run, if the study names none."""


def _entries(name: str, text: str) -> list[Any]:
    """Return the entries of a record from its text; one that no sweep writes raises `KeyError` or `ValueError`."""
    made: Any = _RECORDS[name][1]
    parts = (zip(made._fields, entry.split(":"), strict=True) for entry in text.split())
    return [made(*(_part(*pair) for pair in pairs)) for pairs in parts]


def _part(name: str, text: str) -> int | str:
    if name == "decision":
        return _DECISIONS[_DECISIONS.index(text)]
    return -1 if text == "-1" else _count(text)  # -1 stands for no value


def told(name: str, text: str) -> tuple[Any, ...]:
    """Return the entries of a record from its text in the journal; of an answer, the items alone."""
    return tuple(entry.item if isinstance(entry, _Placed) else entry for entry in _entries(name, text))


@dataclass(frozen=True)
class Recording:
    """What a study records.

    Attributes:
        names: keys of `_RECORDS`.
        at: steps at which a trace looks at a run; `None` for 1, 2, 5, 10, 20, 50, ...
    """

    names: tuple[str, ...] = ()
    at: tuple[int, ...] | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Recording":
        """Return what a resolved config records."""
        at = config.get("trace_at")
        return cls(tuple(config.get("record") or ()), at and tuple(at))

    def steps_before(self, end: int) -> list[int]:
        """Return the steps at which a trace looks at a run of `end` steps, its end left out."""
        if self.at is not None:
            return sorted(step for step in self.at if step < end)
        return [step for power in range(len(str(end))) for first in _FIRST if (step := first * 10**power) < end]

    def lacks(self, found: Mapping[str, str], end: int) -> bool:
        """Return whether something that is wanted of a trial of `end` steps has not been recorded."""
        if any(name not in found for name in self.names):
            return True
        if "trace" not in self.names:
            return False
        return [moment.step for moment in _entries("trace", found["trace"])] != [*self.steps_before(end), end]

    def texts(self, entries: Mapping[str, Iterable[Sequence[int | str]]]) -> tuple[tuple[str, str], ...]:
        """Return what is recorded of a trial as the journal holds it, given the entries of each record by its name."""
        return tuple((name, " ".join(":".join(map(str, entry)) for entry in entries[name])) for name in self.names)


# --- The two forms of a value: a text in a line of the journal, and a number in an array ----------------------------


@dataclass(frozen=True)
class _Code:
    """The two forms of a value.

    Attributes:
        dtype: type of the array.
        read: text -> value; raises `ValueError` or `KeyError` for a text that no sweep writes.
        text: value -> text.
        pack, unpack: value -> number in the array, and back; if not given, the value is the number.
    """

    dtype: type
    read: Callable[[str], Any]
    text: Callable[[Any], str] = str
    pack: Callable[[Any], Any] | None = None
    unpack: Callable[[Any], Any] | None = None

    def texts(self, packed: NDArray[Any]) -> Iterator[str]:
        """Return the texts of an array of packed values."""
        values = packed.tolist()
        return map(self.text, map(self.unpack, values) if self.unpack else values)


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number <= MOST_COUNT:
        raise ValueError(f"{number} is no count")
    return number


_COUNT = _Code(np.int64, _count)
_STATUS = _Code(
    np.int8, dict(zip(STATUSES, STATUSES, strict=True)).__getitem__, str, STATUSES.index, STATUSES.__getitem__
)
_FLAG = _Code(  # packed as 0, 1, or -1 where it does not apply
    np.int8,
    {"0": False, "1": True, "": None}.__getitem__,
    lambda flag: "" if flag is None else str(int(flag)),
    lambda flag: -1 if flag is None else int(flag),
    (False, True, None).__getitem__,
)
_OPTIONAL = _Code(
    np.int64,
    lambda text: _count(text) if text else None,
    lambda number: "" if number is None else str(number),
    lambda number: -1 if number is None else number,
    lambda packed: None if packed < 0 else packed,
)

_IN_PLACE = ("trial", "status", "steps", "observations", "correct", "seconds", "right")
"""What each line of a journal holds behind its cell, in this order, which no version may ever change."""
CODES: Mapping[str, _Code] = MappingProxyType(
    {name: {int: _COUNT, str: _STATUS, bool: _FLAG}[COLUMNS[name].type] for name in OUTCOME}
    | {"seconds": _Code(np.float64, float, "{:.6f}".format), "right": _OPTIONAL}
    | {name: {int: _OPTIONAL, bool: _FLAG}[COLUMNS[name].type] for name in LATER}
)
"""What the journal keeps of a trial: `_IN_PLACE`, then `LATER`, where -1 in the array stands for no value."""
if TrialRow._fields[: 1 + len(CODES)] != ("cell_id", *CODES):
    raise LookupError(f"the first fields of TrialRow must be cell_id, {', '.join(CODES)}: the columns of a trial")

# --- A line, and the row that it stands for -------------------------------------------------------------------------

ROW = np.dtype([("cell", np.int32), *((name, code.dtype) for name, code in CODES.items())])
"""A row in memory; `cell` is an index into `Stored.cell_ids`, the other fields are packed as `CODES` says."""
_READ = tuple(CODES[name].read for name in _IN_PLACE)
_TEXT = tuple((place, CODES[name].text) for place, name in enumerate(_IN_PLACE, start=1))
_PACK = tuple((place, code.pack) for place, code in enumerate(CODES.values(), start=1) if code.pack)
_UNPACK = tuple((place, code.unpack) for place, code in enumerate(CODES.values(), start=1) if code.unpack)


class _UnknownColumns(Exception):
    """A line has columns that this version does not know; `args` are their names."""


def encode(row: TrialRow) -> bytes:
    """Return the line of a row in the journal: fields, checksum, end of line."""
    later = [f"{name}={CODES[name].text(value)}" for name in LATER if (value := getattr(row, name)) is not None]
    later += [f"{name}={text}" for name, text in row.record]
    kept = _TEXT if later or row.right is not None else _TEXT[:-1]
    line = ",".join([row.cell_id, *(text(row[place]) for place, text in kept), *later])
    return f"{line},{crc32(line.encode()):08x}\n".encode()


def decode(line: bytes) -> TrialRow | None:
    """Return the row of a line, or `None` if the line is incomplete or damaged, or holds what no sweep writes.

    Raises:
        _UnknownColumns: if a newer version has written it.
    """
    text, _, checksum = line.rpartition(b",")
    if not line.endswith(b"\n") or checksum.strip() != b"%08x" % crc32(text):
        return None
    try:
        cell_id, *values = text.decode().split(",")
        if len(values) < len(_READ) - 1:
            return None
        later = _by_name(values[len(_READ) :]) if len(values) > len(_READ) else None
        row = TrialRow(cell_id, *[read(value) for read, value in zip(_READ, values, strict=False)])
        return row._replace(**later) if later else row
    except (ValueError, KeyError):
        return None


def _by_name(fields: Sequence[str]) -> dict[str, Any]:
    texts = dict(field.split("=", 1) for field in fields)
    unknown = [name for name in texts if name not in LATER and name not in _RECORDS]
    if unknown and all(map(str.isidentifier, unknown)):
        raise _UnknownColumns(*unknown)
    record = {name: text for name, text in texts.items() if name in _RECORDS and _entries(name, text) is not None}
    columns = {name: CODES[name].read(text) for name, text in texts.items() if name not in record}
    return {**columns, "record": tuple(record.items())}


# --- What a journal holds, in compact form --------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """What a journal holds, in compact form.

    Attributes:
        cell_ids: cells with at least one row.
        rows: array of `ROW`, sorted by cell and trial, each trial once.
        damaged: number of complete lines that could not be read; their trials are missing.
        size: bytes up to the end of the last complete line.
        recorded: what was recorded of trials beyond their rows.
    """

    cell_ids: tuple[str, ...]
    rows: NDArray[Any]
    damaged: int
    size: int
    recorded: _Recorded = field(default_factory=dict)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {cell_id: i for i, cell_id in enumerate(self.cell_ids)}

    @cached_property
    def _starts(self) -> list[int]:
        """Where the rows of each cell begin, and the end of all."""
        return list(map(int, np.searchsorted(self.rows["cell"], np.arange(len(self.cell_ids) + 1))))

    @classmethod
    def read(cls, directory: Path) -> "Stored":
        """Return every complete row of the journal of a directory; none if there is no journal.

        Raises:
            ConfigError: if a newer version has written columns that this one does not know.
            CascadeError: if the journal is there but cannot be read.
        """
        reader, path, rows = _Reader(), directory / JOURNAL, np.empty(0, ROW)
        if path.exists():
            with reading(path) as file:
                rows = np.fromiter(reader.rows(file), dtype=ROW)
        if reader.unknown:
            raise ConfigError(
                f"{path}: cascadebai {__version__} does not know column {' and column '.join(reader.unknown)}, which "
                "it could not keep; use the newer version that wrote this file, or another directory"
            )
        return cls(tuple(reader.cells), _each_once(rows), reader.damaged, reader.size, reader.recorded)

    @classmethod
    def merged(cls, parts: Sequence[tuple[Path, "Stored"]]) -> "Stored":
        """Return the rows of several directories together; the size is 0, as they are in no journal yet.

        Raises:
            ConfigError: if a trial ended differently in two of them.
        """
        places = {name: i for i, name in enumerate(dict.fromkeys(name for _, part in parts for name in part.cell_ids))}
        rows = np.concatenate([part.rows for _, part in parts])
        rows["cell"] = np.concatenate(
            [np.array([places[name] for name in part.cell_ids], np.int64)[part.rows["cell"]] for _, part in parts]
        )
        owners = np.repeat(np.arange(len(parts)), [len(part.rows) for _, part in parts])
        lacking = np.sum([_lacks(rows, name) for name in SAME], axis=0)
        order = np.lexsort((owners, lacking, rows["trial"], rows["cell"]))
        rows, owners = rows[order], owners[order]
        unequal = np.flatnonzero(_repeats(rows) & _contradict(rows[1:], rows[:-1]))
        if len(unequal):
            one, other = rows[unequal[0] : unequal[0] + 2]
            here, there = (parts[owner][0] for owner in owners[unequal[0] : unequal[0] + 2])
            raise ConfigError(
                f"trial {one['trial']} of cell {list(places)[one['cell']]} has {one['steps']} steps and "
                f"{one['observations']} observations in {here}, but {other['steps']} and {other['observations']} in "
                f"{there}, or ended differently; find out which is wrong and leave it out"
            )
        recorded: dict[tuple[str, int], Mapping[str, str]] = {}
        for key, found in chain(*(part.recorded.items() for _, part in parts)):
            recorded[key] = {**recorded.get(key, {}), **found}
        return cls(tuple(places), _each_once(rows), sum(part.damaged for _, part in parts), 0, recorded)

    def of(self, cell_id: str, limits: Mapping[str, int] | None = None) -> NDArray[Any]:
        """Return the rows of a cell, sorted by trial; only those of trials below its limit if there are limits."""
        if cell_id not in self._places:
            return self.rows[:0]
        place = self._places[cell_id]
        part: NDArray[Any] = self.rows[self._starts[place] : self._starts[place + 1]]
        return part if limits is None else part[part["trial"] < limits[cell_id]]

    def __iter__(self) -> Iterator[TrialRow]:
        """Yield the rows, one after the other."""
        for packed in map(np.void.item, self.rows):
            values = [self.cell_ids[packed[0]], *packed[1:]]
            for place, unpack in _UNPACK:
                values[place] = unpack(values[place])
            row = TrialRow(*values)
            yield row._replace(record=tuple(self.recorded.get(row[:2], {}).items()))

    def without(self, cell_ids: Collection[str]) -> "Stored":
        """Return the rows of all other cells; the size is 0, as their journal is still to be written."""
        gone = [number for number, cell_id in enumerate(self.cell_ids) if cell_id in cell_ids]
        recorded = {key: found for key, found in self.recorded.items() if key[0] not in cell_ids}
        rows = self.rows[~np.isin(self.rows["cell"], gone)]
        return replace(self, rows=rows, damaged=0, size=0, recorded=recorded)

    def missing(self, cell_id: str, trials: int, wanted: Recording | None = None) -> IntArray:
        """Return the numbers below `trials` of the trials that a cell lacks, or of which a record lacks, ascending."""
        rows = self.of(cell_id)
        if wanted and wanted.names:
            known = zip(rows["trial"].tolist(), rows["steps"].tolist(), strict=True)
            lacks = [wanted.lacks(self.recorded.get((cell_id, trial), {}), steps) for trial, steps in known]
            rows = rows[~np.array(lacks, bool)]
        there = rows["trial"]
        lacking = np.ones(trials, dtype=bool)
        lacking[there[there < trials]] = False
        return np.flatnonzero(lacking)

    def write_records(
        self, directory: Path, cells: Sequence[Mapping[str, Any]], limits: Mapping[str, int] | None
    ) -> dict[str, str]:
        """Write a table for each record of which there is anything, and remove those of others.

        Return the name of each file and the hash of its content; `cells` are those of the grid, `limits` as for `of`.
        """
        there = {name for found in self.recorded.values() for name in found}
        written = {}
        for name, (file, _) in _RECORDS.items():
            if name in there:
                written[file] = write_atomically(directory / file, self._lines(name, cells, limits))
            else:
                (directory / file).unlink(missing_ok=True)
        return written

    def _lines(self, name: str, cells: Sequence[Mapping[str, Any]], limits: Mapping[str, int] | None) -> Iterator[str]:
        yield ",".join(TABLES[_RECORDS[name][0]].names()) + "\n"
        for cell in cells:
            start = as_csv([COLUMNS[column].type(cell[column]) for column in CELL])
            for trial in self.of(cell["cell_id"], limits)["trial"].tolist():
                for entry in _entries(name, self.recorded.get((cell["cell_id"], trial), {}).get(name, "")):
                    fields = ("" if value == -1 else str(value) for value in entry)  # -1 stands for no value
                    yield f"{start},{trial},{','.join(fields)}\n"


def _lacks(rows: NDArray[Any], name: str) -> BoolArray:
    """Return which rows lack a value because they are older than their column."""
    return np.asarray((rows[name] < 0) & (name in LATER))


def _contradict(rows: NDArray[Any], others: NDArray[Any]) -> BoolArray:
    """Return `TrialRow.contradicts` for each row and another one of the same trial."""
    unequal = [(rows[name] != others[name]) & ~_lacks(rows, name) & ~_lacks(others, name) for name in SAME]
    return np.asarray(np.any(unequal, axis=0))


def _each_once(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows sorted by cell and trial; of several rows of the same trial only the one written first."""
    rows = rows[np.lexsort((rows["trial"], rows["cell"]))]
    kept: NDArray[Any] = rows[np.concatenate([np.ones(min(len(rows), 1), bool), ~_repeats(rows)])]
    return kept


def _repeats(rows: NDArray[Any]) -> BoolArray:
    """Return for each of the sorted rows, from the second on, whether it is of the same trial as the one before."""
    return np.asarray((np.diff(rows["cell"]) == 0) & (np.diff(rows["trial"]) == 0))


# --- The file: read once, written anew, or appended to --------------------------------------------------------------

_SYNC_SECONDS = 1.0
"""Written rows survive a killed process at once, and a power cut after this time."""


class _Reader:
    """Reads lines and packs rows, and numbers the cells in the order of their first row.

    Args:
        known: cells that have a number already.
        recorded: what is known of trials beyond their rows.
    """

    def __init__(self, known: Iterable[str] = (), recorded: _Recorded = MappingProxyType({})) -> None:
        self.cells = {cell_id: number for number, cell_id in enumerate(known)}
        self.recorded = dict(recorded)
        self.damaged = self.size = 0
        self.unknown: dict[str, None] = {}

    def rows(self, lines: Iterable[bytes]) -> Iterator[tuple[Any, ...]]:
        for line in lines:
            if not line.endswith(b"\n"):
                return
            self.size += len(line)
            try:
                row = decode(line)
            except _UnknownColumns as error:
                self.unknown.update(dict.fromkeys(error.args))
                continue
            if row is None:
                self.damaged += 1
            else:
                yield self.packed(row)

    def packed(self, row: TrialRow) -> tuple[Any, ...]:
        if row.record:
            key = row.cell_id, row.trial
            self.recorded[key] = {**self.recorded.get(key, {}), **dict(row.record)}
        values: list[Any] = [self.cells.setdefault(row.cell_id, len(self.cells)), *row[1 : 1 + len(CODES)]]
        for place, pack in _PACK:
            values[place] = pack(values[place])
        return tuple(values)


def write_journal(directory: Path, rows: Iterable[TrialRow]) -> int:
    """Write a journal that holds these rows and no others, and return its size in bytes.

    Raises:
        CascadeError: if that is not possible; a journal that was there is as it was.
    """
    path = directory / JOURNAL
    with writing_to(path):
        replace_file(path, map(encode, rows))
        return path.stat().st_size


class Journal:
    """The journal opened for appending, by the one writer of the directory.

    Args:
        stored: what it holds; an incomplete last line is cut off.

    Raises:
        CascadeError: if it cannot be opened.
    """

    def __init__(self, directory: Path, stored: Stored) -> None:
        self.path, self.size = directory / JOURNAL, stored.size
        with writing_to(self.path):
            self._handle = open_to_write(self.path)
            os.ftruncate(self._handle, self.size)
            os.lseek(self._handle, self.size, os.SEEK_SET)
        self._synced = time.monotonic()
        self._stored, self._reader, self._rows = stored, _Reader(stored.cell_ids, stored.recorded), [stored.rows]

    @property
    def stored(self) -> Stored:
        """What the journal holds now, with the rows that were added; nothing is read again."""
        rows = _each_once(np.concatenate(self._rows))
        return Stored(tuple(self._reader.cells), rows, self._stored.damaged, self.size, self._reader.recorded)

    def append(self, rows: Sequence[TrialRow]) -> None:
        """Add rows; if that fails, the journal stays as it was.

        Raises:
            CascadeError: if they cannot be written.
        """
        data = b"".join(map(encode, rows))
        with writing_to(self.path):
            try:
                self._write(data)
            except OSError:
                os.ftruncate(self._handle, self.size)
                raise
        self.size += len(data)
        self._rows.append(np.fromiter(map(self._reader.packed, rows), dtype=ROW))
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            self.sync()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._handle, view) :]

    def sync(self) -> None:
        """Make sure that all rows survive a power cut."""
        with writing_to(self.path):
            os.fsync(self._handle)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Make sure that all rows survive a power cut, and close the file."""
        try:
            self.sync()
        finally:
            os.close(self._handle)
