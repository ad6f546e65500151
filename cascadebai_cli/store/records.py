"""What is recorded inside a trial: its form in a line of the journal, and the tidy tables that are made of it.

Each record is a sequence of entries, such as the decisions of a trial. In the journal it is one value, `name=entries`,
with blanks between the entries and colons between their parts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from cascadebai_cli.store.columns import ANSWERS_CSV, CELL, COLUMNS, DECISIONS_CSV, MOST_COUNT, TABLES, TRACES_CSV
from cascadebai_cli.store.files import as_csv, write_atomically
from cascadebai_cli.study.fields import RecordName

if TYPE_CHECKING:
    import pandas as pd

    from cascadebai_cli.store.columns import TrialRow

# --- The entries of a record, and their text in the journal ---------------------------------------------------------

DECISIONS = ("accepted", "rejected")


class Placed(NamedTuple):
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


RecordEntry = Placed | Decision | Moment


def text_of(entries: Iterable[RecordEntry]) -> str:
    """Return entries as the journal holds them."""
    return " ".join(":".join(map(str, entry)) for entry in entries)


def entries_of(name: str, text: str) -> list[Any]:
    """Return the entries of a record from its text.

    Raises:
        KeyError: if there is no such record.
        ValueError: if no sweep writes such a text.
    """
    made = RECORDS[name].made
    return [_entry(made, part.split(":")) for part in text.split()]


def _entry(made: type, parts: Sequence[str]) -> Any:
    names = getattr(made, "_fields", ())
    if len(parts) != len(names):
        raise ValueError(f"{len(parts)} parts in place of {len(names)}")
    return made(*(_part(*pair) for pair in zip(names, parts, strict=True)))


def _part(name: str, text: str) -> int | str:
    if name == "decision":
        return DECISIONS[DECISIONS.index(text)]
    number = int(text)
    if not -1 <= number <= MOST_COUNT:
        raise ValueError(f"{number} is no count")
    return number


# --- The records: the file of each, and what of it is there ---------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """Something that may be recorded of each trial.

    Attributes:
        made: type of its entries, whose fields are the columns behind those of the trial.
    """

    file: str
    made: type


RECORDS: Mapping[str, Record] = MappingProxyType(
    {
        "answer": Record(ANSWERS_CSV, Placed),
        "decisions": Record(DECISIONS_CSV, Decision),
        "trace": Record(TRACES_CSV, Moment),
    }
)
"""Name in a config -> the record."""
if set(RECORDS) != set(get_args(RecordName)):
    raise LookupError("the names of RecordName and RECORDS differ")

Recorded = Mapping[tuple[str, int], Mapping[str, str]]
"""Cell and number of a trial -> what was recorded of it: name -> text."""
_FIRST = (1, 2, 5)


@dataclass(frozen=True)
class Recording:
    """What a study records.

    Attributes:
        names: keys of `RECORDS`.
        at: steps at which a trace looks at a run; `None` for 1, 2, 5, 10, 20, 50, ...
    """

    names: tuple[str, ...] = ()
    at: tuple[int, ...] | None = None

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
        return [moment.step for moment in entries_of("trace", found["trace"])] != [*self.steps_before(end), end]


NO_RECORDS = Recording()


def wanted_by(config: Mapping[str, Any]) -> Recording:
    """Return what a resolved config records."""
    at = config.get("trace_at")
    return Recording(tuple(config.get("record") or ()), at and tuple(at))


# --- The tables -----------------------------------------------------------------------------------------------------


def write_records(
    directory: Path, cells: Sequence[Mapping[str, Any]], recorded: Recorded, trials: Callable[[str], Iterable[int]]
) -> dict[str, str]:
    """Write a table for each record of which there is anything, and remove those of others.

    Args:
        cells: cells in the order of the grid.
        trials: id of a cell -> the trials that are written, ascending.

    Returns:
        name of each file -> hash of its content.
    """
    there = {name for found in recorded.values() for name in found}
    written = {}
    for name, record in RECORDS.items():
        if name in there:
            lines = _lines(name, cells, recorded, trials)
            written[record.file] = write_atomically(directory / record.file, lines)
        else:
            (directory / record.file).unlink(missing_ok=True)
    return written


def _lines(
    name: str, cells: Sequence[Mapping[str, Any]], recorded: Recorded, trials: Callable[[str], Iterable[int]]
) -> Iterator[str]:
    yield ",".join(TABLES[RECORDS[name].file].names()) + "\n"
    for cell in cells:
        start = as_csv([COLUMNS[column].type(cell[column]) for column in CELL])
        for trial in trials(cell["cell_id"]):
            text = recorded.get((cell["cell_id"], trial), {}).get(name, "")
            for entry in entries_of(name, text):
                yield f"{start},{trial},{','.join(map(_field, entry))}\n"


def _field(value: int | str) -> str:
    """Return a part of an entry as a field; -1 stands for no value."""
    return "" if value == -1 else str(value)


def with_records(table: "pd.DataFrame", rows: "Sequence[TrialRow]") -> "pd.DataFrame":
    """Return a table with one row for each of `rows`, and a further column of tuples for each record of them."""
    import pandas as pd

    names = dict.fromkeys(name for row in rows for name, _ in row.record)
    found = {name: [_told(name, dict(row.record)[name]) for row in rows] for name in names}
    return table.assign(**{name: pd.Series(values, table.index, object) for name, values in found.items()})


def _told(name: str, text: str) -> tuple[Any, ...]:
    """Return the entries of a record; of an answer, the items alone."""
    entries = entries_of(name, text)
    return tuple(entry.item if isinstance(entry, Placed) else entry for entry in entries)
