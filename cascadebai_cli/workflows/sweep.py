"""A sweep into a directory: what is there, what is missing, and running that under one lock."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.instance import IntArray
from cascadebai_cli.running.interrupts import one_interrupt
from cascadebai_cli.running.runner import Backend, run_missing
from cascadebai_cli.running.worker import BlockResult, Finished, Order
from cascadebai_cli.store.files import writing_to
from cascadebai_cli.store.journal import JOURNAL, Journal, Row, Stored, read_journal
from cascadebai_cli.store.lock import LOCK, only_writer
from cascadebai_cli.store.manifest import (
    MANIFEST,
    Manifest,
    new_manifest,
    now,
    read_manifest,
    refuse_mixing,
    write_manifest,
)
from cascadebai_cli.store.trials import TRIALS, holds_rows, write_timings, write_trials
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import Study

MAKERS = ("git", "versions", "machine", "end")
"""Keys of the manifest that say how the rows were made."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """A study, its cells and the directory for the rows."""

    study: Study
    cells: Sequence[Cell]
    directory: Path

    def manifest(self) -> dict[str, object]:
        """Manifest of this sweep, if it started now."""
        return new_manifest(self.study.model_dump(mode="json"), self.study.seed, self.cells)

    def stored(self) -> Stored:
        """Rows that the directory holds.

        Raises:
            ConfigError: if they come from another config, or stand in tables alone, as in a reference.
        """
        stored = read_journal(self.directory)
        if stored.size == 0 and holds_rows(self.directory):
            raise ConfigError(
                f"{self.directory} holds a {TRIALS} but no {JOURNAL} to go on from; use --fresh to move it aside and "
                "start over, or another --out"
            )
        refuse_mixing(self.directory, read_manifest(self.directory), self.manifest(), stored.cell_ids)
        return stored

    def missing(self, stored: Stored) -> list[IntArray]:
        """Trials to run of each cell."""
        return [stored.missing(cell.cell_id, self.study.trials) for cell in self.cells]

    @contextmanager
    def opened(self) -> Iterator["OpenSweep"]:
        """Hold the directory for writing.

        Raises:
            ConfigError: if it holds rows of another config.
            CascadeError: if another process writes to it, or it cannot be written to.
        """
        with only_writer(self.directory):
            yield OpenSweep(self, self.stored())


class OpenSweep:
    """A sweep that holds its directory.

    Attributes:
        stored: rows at the time of opening.
        missing: trials to run of each cell at that time.
    """

    def __init__(self, sweep: Sweep, stored: Stored) -> None:
        self.sweep, self.stored = sweep, stored
        self.missing = sweep.missing(stored)
        grows = any(map(len, self.missing))
        self._manifest = _continued(sweep.manifest(), read_manifest(sweep.directory), grows)

    def run(self, backend: Backend, *, fail_fast: bool = False) -> Generator[BlockResult, None, None]:
        """Run what is missing; rows are in the journal before their block is yielded.

        Without anything to run nothing is touched: no backend has to answer, and the manifest stays complete.

        Raises:
            CascadeError: if rows cannot be written or the backend breaks; earlier rows are kept.
        """
        if not any(map(len, self.missing)):
            return
        write_manifest(self.sweep.directory, self._manifest)
        order = Order(self.sweep.study.seed, fail_fast)
        journal = Journal(self.sweep.directory, self.stored.size)
        results = run_missing(self.sweep.cells, self.missing, order, backend)
        with one_interrupt(), closing(journal), closing(results):
            for result in results:
                cell_id = self.sweep.cells[result.position].cell_id
                journal.append(_row(cell_id, finished) for finished in result.finished)
                yield result
                if fail_fast and result.failed:
                    return

    def collect(self, summarise: Callable[[], None], trials: int | None) -> int:
        """Write the tables from the journal and close the manifest.

        Args:
            summarise: writes the summary, once `trials.csv` is there.
            trials: trials with this number and above stay out of the tables.

        Returns:
            number of trials that are missing.
        """
        directory, cells = self.sweep.directory, self.sweep.cells
        stored = read_journal(directory)
        digest = write_trials(directory, cells, stored, trials)
        write_timings(directory, cells, stored, trials)
        summarise()
        missing = sum(map(len, self.sweep.missing(stored)))
        end = self._manifest.get("end") or now()
        write_manifest(directory, {**self._manifest, "end": end, "complete": missing == 0, "rows_sha256": digest})
        return missing


def _continued(new: Manifest, old: Manifest | None, grows: bool) -> dict[str, object]:
    """The new manifest; start, and the hash of a `trials.csv` that is still there, are those of the first sweep.

    So is what made the rows, unless there are rows to come.
    """
    known = old or {}
    kept = {key: known[key] for key in ("start", "rows_sha256") if known.get(key)}
    made = {key: known[key] for key in MAKERS if key in known and not grows}
    return {**new, **kept, **made}


def move_aside(directory: Path) -> Path | None:
    """Empty a result directory into a new one beside it, `NAME.old1` or the next that is free.

    `trials.csv` goes first, then the journal: an interrupted move leaves a sweep that goes on, or an empty directory.

    Returns:
        where everything is now, `None` if no sweep was there.

    Raises:
        CascadeError: if another sweep writes to the directory, or it cannot be moved.
    """
    if not any((directory / name).exists() for name in (TRIALS, JOURNAL, MANIFEST)):
        return None
    with only_writer(directory), writing_to(directory):
        first = {TRIALS: 0, JOURNAL: 1}
        entries = sorted(directory.iterdir(), key=lambda path: (first.get(path.name, 2), path.name))
        entries = [path for path in entries if path.name != LOCK]
        target = next(path for path in _beside(directory) if not path.exists())
        target.mkdir()
        for path in entries:
            path.rename(target / path.name)
    return target


def _beside(directory: Path) -> Iterator[Path]:
    directory = directory.resolve()
    return (directory.with_name(f"{directory.name}.old{number}") for number in count(1))


def _row(cell_id: str, finished: Finished) -> Row:
    kept = finished._asdict()
    del kept["items"]
    return Row(cell_id=cell_id, **kept)
