"""Sweep a study into a directory: all of its trials, only its tables, or only what is missing."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.running.runner import Backend
from cascadebai_cli.store.aside import move_aside
from cascadebai_cli.store.journal import seconds_of
from cascadebai_cli.store.schema import FAILURES, JOURNAL
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.text.numbers import count
from cascadebai_cli.workflows.failures import Failures, Repeat
from cascadebai_cli.workflows.open_sweep import OpenSweep, Sweep
from cascadebai_cli.workflows.shards import WHOLE, Shard, shard_of
from cascadebai_cli.workflows.studies import NOTHING, Given, check_rows, read_study
from cascadebai_cli.workflows.watch import SILENT, Counter, Watch

__all__ = [
    "Backend",
    "Given",
    "Missing",
    "Request",
    "Sweep",
    "Swept",
    "collect",
    "missing",
    "shard_of",
    "sweep",
    "sweep_task",
]


@dataclass(frozen=True)
class Request:
    """What to sweep, and into which directory.

    Args:
        config: the study.
        out: the directory; `results/NAME OF CONFIG` by default.
        given: in place of values of the config.
        shard: the trials that this directory is for, all by default.
    """

    config: Path
    out: Path | None = None
    given: Given = NOTHING
    shard: Shard = WHOLE

    def sweep(self) -> Sweep:
        """The study with its cells.

        Raises:
            ConfigError: if the config is not usable, or asks for too much.
        """
        study = read_study(self.config, self.given)
        check_rows(study)
        if self.shard.of > 1 and not isinstance(study.trials, int):
            raise ConfigError(
                f"--shard {self.shard}: only all trials of a cell tell when they are enough; give --trials"
            )
        return Sweep(study, self.out or self._default_out(), self.shard)

    def _default_out(self) -> Path:
        if self.config.stem in (".", ".."):
            raise ConfigError(f"{self.config} has no name that a directory could have; name one with --out")
        return Path("results") / self.config.stem


@dataclass(frozen=True)
class Swept:
    """The directory that holds the tables, and how many trials are missing."""

    directory: Path
    missing: int


@dataclass(frozen=True)
class Missing:
    """What a sweep would run.

    Attributes:
        cells: cells that lack trials, how many each, and how many it is to have.
        of_cells: number of cells of the grid.
        wanted: number of trials wanted of all cells.
        seconds: time of one core, at the pace of the trials that are there; `None` if nothing tells.
    """

    cells: tuple[tuple[Cell, int, int], ...]
    of_cells: int
    wanted: int
    seconds: float | None


def missing(request: Request) -> Missing:
    """What a sweep would run.

    Raises:
        ConfigError: if the config is not usable, or the directory holds trials of another one.
    """
    task = request.sweep()
    stored = task.stored()
    counts = [len(trials) for trials in task.missing(stored)]
    limits = task.limits(stored)
    found = zip(task.cells, counts, strict=True)
    cells = tuple((cell, trials, limits[cell.cell_id]) for cell, trials in found if trials)
    seconds = seconds_of(sum(counts), stored.rows) if cells else None
    return Missing(cells, len(task.cells), task.wanted(stored), seconds)


def collect(request: Request) -> Swept:
    """Write the tables from the trials that are there; of those below the number of trials only that is given.

    Raises:
        ConfigError: if the config is not usable, or the directory holds no trials of it.
        CascadeError: if another process writes to the directory, or it cannot be written to.
    """
    task = request.sweep()
    if not (task.directory / JOURNAL).exists():
        raise ConfigError(f"{task.directory} holds no {JOURNAL} to collect from; sweep first, or give another --out")
    with task.opened() as opened:
        asked = request.given.trials is not None or not isinstance(task.study.trials, int)
        return Swept(task.directory, opened.collect(asked_only=asked))


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
    repeat = Repeat(request.config, task.study.seed, request.given.words)
    return sweep_task(task, backend=backend, fresh=fresh, fail_fast=fail_fast, repeat=repeat, watch=watch)


def sweep_task(
    task: Sweep,
    *,
    backend: Backend | None = None,
    fresh: bool = False,
    fail_fast: bool = False,
    repeat: Repeat | None = None,
    watch: Watch = SILENT,
) -> Swept:
    """`sweep` of a study that was read already.

    Args:
        task: the study, and its directory.
        backend, fresh, fail_fast, watch: as for `sweep`.
        repeat: how a trial that raises is run again, if there is a command that does.

    Raises:
        ConfigError, CascadeError: as `sweep` does.
    """
    moved = move_aside(task.directory) if fresh else None
    if moved:
        watch.remark(f"the earlier result is now in {moved}")
    failures = Failures(task.cells, watch, repeat, task.directory / FAILURES)
    try:
        with task.opened() as opened:
            _simulate(opened, backend or Backend(), failures, fail_fast, watch)
            left = opened.collect(asked_only=True)
    except KeyboardInterrupt:
        watch.warn(
            f"interrupted; finished trials are kept in {task.directory}: the same command goes on from there, with "
            "--collect it only makes tables of them"
        )
        raise
    failures.conclude()
    return Swept(task.directory, left)


def _simulate(opened: OpenSweep, backend: Backend, failures: Failures, fail_fast: bool, watch: Watch) -> None:
    counts = [len(trials) for trials in opened.missing]
    _announce(opened, sum(counts), watch)
    failures.clear()
    with watch.trials(counts) as progress:
        try:
            _run(opened, backend, failures, fail_fast, progress, watch)
            while not (fail_fast and failures.count) and opened.advance():
                progress.expect([len(trials) for trials in opened.missing])
                _run(opened, backend, failures, fail_fast, progress, watch)
        except KeyboardInterrupt:
            opened.held.check()
            raise


def _run(
    opened: OpenSweep, backend: Backend, failures: Failures, fail_fast: bool, progress: Counter, watch: Watch
) -> None:
    with closing(opened.run(backend, fail_fast=fail_fast, listener=watch)) as results:
        for result in results:
            progress.update(result)
            failures.update(result)


def _announce(opened: OpenSweep, to_run: int, watch: Watch) -> None:
    wanted = opened.sweep.wanted(opened.stored)
    if opened.stored.damaged:
        watch.remark(f"{opened.stored.damaged} damaged lines of the journal are left out; their trials run again")
    extra = opened.rows_beyond
    if extra:
        watch.remark(
            f"{count(extra)} rows of trials beyond those that are asked for are kept in the journal and not shown in "
            "the tables; more --trials show them"
        )
    if to_run < wanted:
        watch.remark(f"{count(wanted - to_run)} of {count(wanted)} trials are there already, {count(to_run)} to run")
