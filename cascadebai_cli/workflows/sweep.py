"""A sweep into a directory: what is there, what is missing, and running that under one lock."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.instance import IntArray
from cascadebai_cli.running.interrupts import one_interrupt
from cascadebai_cli.running.runner import Backend, run_missing
from cascadebai_cli.running.worker import BlockResult, Order
from cascadebai_cli.store.aside import move_aside
from cascadebai_cli.store.journal import Journal, Stored, read_journal
from cascadebai_cli.store.lock import only_writer
from cascadebai_cli.store.manifest import Manifest, earlier_manifest, new_manifest, now, write_manifest
from cascadebai_cli.store.mixing import refuse_mixing
from cascadebai_cli.store.schema import FAILURES, JOURNAL, TRIALS
from cascadebai_cli.store.summary import write_summary
from cascadebai_cli.store.timings import write_timings
from cascadebai_cli.store.trials import holds_rows, write_trials
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import Study
from cascadebai_cli.text.numbers import count
from cascadebai_cli.workflows.failures import Failures, Repeat
from cascadebai_cli.workflows.studies import check_rows, read_study
from cascadebai_cli.workflows.watch import SILENT, Watch

__all__ = ["Backend", "Missing", "Request", "Swept", "collect", "missing", "sweep"]

MAKERS = ("git", "versions", "machine", "end")
"""Keys of the manifest that say how the rows were made."""


@dataclass(frozen=True)
class Request:
    """What to sweep, and into which directory.

    Args:
        config: the study.
        out: the directory; `results/NAME OF CONFIG` by default.
        trials, seed: in place of those of the config.
        plugins: further learners, `module:Class` each.
    """

    config: Path
    out: Path | None = None
    trials: int | None = None
    seed: int | None = None
    plugins: tuple[str, ...] = ()

    def sweep(self) -> "Sweep":
        """The study with its cells.

        Raises:
            ConfigError: if the config is not usable, or asks for too much.
        """
        study = read_study(self.config, self.trials, self.seed, self.plugins)
        check_rows(study)
        return Sweep(study, self.out or Path("results") / self.config.stem)


@dataclass(frozen=True)
class Swept:
    """The directory that holds the tables, and how many trials are missing."""

    directory: Path
    missing: int


@dataclass(frozen=True)
class Missing:
    """What a sweep would run.

    Attributes:
        cells: cells that lack trials, and how many each.
        of_cells: number of cells of the grid.
        trials: trials wanted of each cell.
        seconds: time of one core, at the pace of the trials that are there; `None` if nothing tells.
    """

    cells: tuple[tuple[Cell, int], ...]
    of_cells: int
    trials: int
    seconds: float | None


def missing(request: Request) -> Missing:
    """What a sweep would run.

    Raises:
        ConfigError: if the config is not usable, or the directory holds trials of another one.
    """
    task = request.sweep()
    stored = task.stored()
    counts = [len(trials) for trials in task.missing(stored)]
    cells = tuple((cell, trials) for cell, trials in zip(task.cells, counts, strict=True) if trials)
    seconds = float(stored.rows["seconds"].mean()) * sum(counts) if cells and len(stored.rows) else None
    return Missing(cells, len(task.cells), task.study.trials, seconds)


def collect(request: Request) -> Swept:
    """Write the tables from the trials that are there; of those below `request.trials` only, if given.

    Raises:
        ConfigError: if the config is not usable, or the directory holds no trials of it.
        CascadeError: if another process writes to the directory, or it cannot be written to.
    """
    task = request.sweep()
    if not (task.directory / JOURNAL).exists():
        raise ConfigError(f"{task.directory} holds no {JOURNAL} to collect from; sweep first, or give another --out")
    with task.opened() as opened:
        return Swept(task.directory, opened.collect(request.trials))


def sweep(
    request: Request,
    *,
    backend: Backend | None = None,
    fresh: bool = False,
    fail_fast: bool = False,
    watch: Watch = SILENT,
) -> Swept:
    """Run all trials that are missing, and write the tables.

    Args:
        request: what and where.
        backend: where trials run; all cores by default.
        fresh: move an earlier result aside and start over.
        fail_fast: stop at the first trial that raises.
        watch: follows the trials.

    Raises:
        ConfigError: if the config is not usable, or the directory holds trials of another one.
        CascadeError: if another process writes to the directory, it cannot be written to, or the backend breaks.
    """
    task = request.sweep()
    moved = move_aside(task.directory) if fresh else None
    if moved:
        watch.remark(f"the earlier result is now in {moved}")
    repeat = Repeat(request.config, task.study.seed, request.plugins)
    failures = Failures(task.cells, watch, repeat, task.directory / FAILURES)
    try:
        with task.opened() as opened:
            _simulate(opened, backend or Backend(), failures, fail_fast, watch)
            left = opened.collect(task.study.trials)
    except KeyboardInterrupt:
        watch.warn(f"interrupted; finished trials are kept in {task.directory}: the same command goes on from there")
        raise
    failures.conclude()
    return Swept(task.directory, left)


def _simulate(opened: "OpenSweep", backend: Backend, failures: Failures, fail_fast: bool, watch: Watch) -> None:
    counts = [len(trials) for trials in opened.missing]
    _announce(opened, sum(counts), watch)
    failures.clear()
    with watch.trials(counts) as progress, closing(opened.run(backend, fail_fast=fail_fast)) as results:
        for result in results:
            progress.update(result)
            failures.update(result)


def _announce(opened: "OpenSweep", to_run: int, watch: Watch) -> None:
    wanted = opened.sweep.study.trials * len(opened.sweep.cells)
    if opened.stored.damaged:
        watch.remark(f"{opened.stored.damaged} damaged lines of the journal are left out; their trials run again")
    if to_run < wanted:
        watch.remark(f"{count(wanted - to_run)} of {count(wanted)} trials are there already, {count(to_run)} to run")


@dataclass(frozen=True, eq=False)
class Sweep:
    """A study and the directory for its rows."""

    study: Study
    directory: Path

    @property
    def cells(self) -> Sequence[Cell]:
        """Cells of the study."""
        return self.study.cells

    @cached_property
    def manifest(self) -> Manifest:
        """Manifest of this sweep, which starts when it is first asked for; git is asked once."""
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
        refuse_mixing(self.directory, earlier_manifest(self.directory), self.manifest, stored.cell_ids)
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
        self._manifest = _continued(sweep.manifest, earlier_manifest(sweep.directory), grows)

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
                journal.append(result.finished)
                yield result
                if fail_fast and result.failed:
                    return

    def collect(self, trials: int | None) -> int:
        """Write the tables from the journal and close the manifest.

        Args:
            trials: trials with this number and above stay out of the tables.

        Returns:
            number of trials that are missing.
        """
        directory, cells = self.sweep.directory, self.sweep.cells
        stored = read_journal(directory)
        digest = write_trials(directory, cells, stored, trials)
        write_timings(directory, cells, stored, trials)
        write_summary(directory)
        missing = sum(map(len, self.sweep.missing(stored)))
        end = {"end": self._manifest.end or now(), "complete": missing == 0, "rows_sha256": digest}
        write_manifest(directory, self._manifest.model_copy(update=end))
        return missing


def _continued(new: Manifest, old: Manifest | None, grows: bool) -> Manifest:
    """The new manifest; start, and the hash of a `trials.csv` that is still there, are those of the first sweep.

    So is what made the rows, unless there are rows to come.
    """
    if old is None:
        return new
    kept = ("start", "rows_sha256") if grows else ("start", "rows_sha256", *MAKERS)
    return new.model_copy(update={key: getattr(old, key) for key in kept})
