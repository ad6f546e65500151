"""`trials.csv` and `timings.csv`, made from the journal: sorted, the same bytes whatever happened on the way."""

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cascadebai_cli.store.files import reading_from, write_atomically
from cascadebai_cli.store.journal import Stored
from cascadebai_cli.study.cells import Cell

TRIALS, TIMINGS, SUMMARY = "trials.csv", "timings.csv", "summary.csv"

CELL_COLUMNS = ("cell_id", "study", "instance", "learner", "L", "K", "w_star", "w_prime", "delta", "epsilon")
TRIAL_COLUMNS = (*CELL_COLUMNS, "trial", "status", "steps", "observations", "correct")


def holds_rows(directory: Path) -> bool:
    """Whether there is a `trials.csv` with more than its header.

    Raises:
        CascadeError: if it is there but cannot be read.
    """
    path = directory / TRIALS
    if not path.exists():
        return False
    with reading_from(path), path.open("rb") as file:
        return len(file.readlines(2 * len(",".join(TRIAL_COLUMNS)))) > 1


def write_trials(directory: Path, cells: Sequence[Cell], stored: Stored, trials: int | None = None) -> str:
    """Write `trials.csv`, one row a finished trial, sorted by cell of the grid and trial.

    Args:
        directory: the result directory.
        cells: cells in the order of the grid; rows of other cells are left out.
        stored: the rows.
        trials: leave out trials with this number and above.

    Returns:
        SHA-256 of the file, in hexadecimal.
    """
    digest = hashlib.sha256()
    write_atomically(directory / TRIALS, _hashed(_trial_lines(cells, stored, trials), digest))
    return digest.hexdigest()


def write_timings(directory: Path, cells: Sequence[Cell], stored: Stored, trials: int | None = None) -> None:
    """Write `timings.csv`, the wall time of each trial; arguments as for `write_trials`."""
    write_atomically(directory / TIMINGS, _timing_lines(cells, stored, trials))


def _hashed(lines: Iterable[str], digest: "hashlib._Hash") -> Iterator[str]:
    for line in lines:
        digest.update(line.encode())
        yield line


def _trial_lines(cells: Sequence[Cell], stored: Stored, trials: int | None) -> Iterator[str]:
    yield ",".join(TRIAL_COLUMNS) + "\n"
    for cell in cells:
        start = cell_fields(cell)
        for row in _rows(stored, cell, trials).tolist():
            _, trial, capped, steps, observations, correct, _ = row
            known = "" if correct < 0 else correct
            yield f"{start},{trial},{'capped' if capped else 'stopped'},{steps},{observations},{known}\n"


def _timing_lines(cells: Sequence[Cell], stored: Stored, trials: int | None) -> Iterator[str]:
    yield "cell_id,trial,seconds\n"
    for cell in cells:
        for row in _rows(stored, cell, trials):
            yield f"{cell.cell_id},{row['trial']},{row['seconds']:.6f}\n"


def _rows(stored: Stored, cell: Cell, trials: int | None) -> NDArray[Any]:
    rows = stored.of(cell.cell_id)
    return rows if trials is None else rows[rows["trial"] < trials]


def cell_fields(cell: Cell) -> str:
    """The fields of `CELL_COLUMNS` as CSV; numbers in the shortest form that reads back the same."""
    weights = cell.weights
    values = (float(weights.max()), float(weights.min()), float(cell.delta), float(cell.epsilon))
    text = io.StringIO()
    names = (cell.cell_id, cell.study, cell.instance, cell.learner, cell.L, cell.K)
    csv.writer(text, lineterminator="").writerow([*names, *map(repr, values)])
    return text.getvalue()
