"""The verbs `sweep`, its `--status`, and `merge`, and the simulation of a study in memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.running.runner import Backend, collect, repeat_command
from cascadebai_cli.running.sweep import OpenSweep, Shard, Sweep, There
from cascadebai_cli.running.watch import SILENT, Follower, Watch
from cascadebai_cli.running.worker import Failed, Settings
from cascadebai_cli.store.columns import FAILURES, JOURNAL, PLACE, STATUSES, TRIALS_CSV, Shown, printed
from cascadebai_cli.store.files import WRITTEN, is_packed, only_writer
from cascadebai_cli.store.journal import Recording, Stored, write_journal
from cascadebai_cli.store.manifest import Manifest
from cascadebai_cli.store.summary import (
    ABOVE_DELTA,
    binomial_interval,
    doubts,
    limits_of,
    misses_aim,
    relative_half_width,
)
from cascadebai_cli.store.trials import trials_table, write_tables
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import NOTHING_GIVEN, Given, Study, load_study
from cascadebai_cli.text import NO_NUMBER, Table, count, duration, is_missing, percent

__all__ = [
    "Backend",
    "Given",
    "Missing",
    "Request",
    "Shard",
    "Sweep",
    "Swept",
    "simulate",
    "sweep",
]


# --- Running all trials of a study in memory, for the Python interface -----------------------------------------------


def simulate(study: Study, *, backend: Backend | None = None, watch: Watch = SILENT) -> pd.DataFrame:
    """Run all trials; nothing is written.

    Args:
        study: the study, with a fixed number of trials.

    Returns:
        the rows of the `trials.csv` that a sweep of the study would write, in the same order, with a column for each
        record.

    Raises:
        ConfigError: if there are too many trials, or their number depends on the outcomes.
        CascadeError: if a trial raises, or the backend breaks.
    """
    study.refuse_too_many_rows()
    if not isinstance(study.trials, int):
        raise ConfigError("trials: only a sweep can find out how many are enough; give a number")
    numbers = [np.arange(study.trials)] * len(study.cells)
    settings = Settings(study.seed, fail_fast=True, wanted=Recording(study.record, study.trace_at))
    with Follower(watch, study.cells, list(map(len, numbers)), fail=_raise).shown() as follower:
        collect(study.cells, numbers, settings, backend or Backend(), follower)
    return trials_table(study.cells, list(chain(*follower.rows)))


def _raise(cell: Cell, failed: Failed) -> None:
    error = CascadeError(f"trial {failed.trial} of {cell.label} failed: {failed.error}")
    error.add_note(failed.trace)
    raise error


# --- Sweeping a study into a directory: running its trials, writing its tables, or telling what is missing ----------


@dataclass(frozen=True)
class Swept:
    """The directory that holds the tables, how many trials are missing, and how many are in its journal."""

    directory: Path
    missing: int
    trials: int

    @property
    def rows(self) -> str:
        """Name of the file with the rows."""
        return f"{TRIALS_CSV}{'.gz' * is_packed(self.directory / TRIALS_CSV)}"


@dataclass(frozen=True)
class Missing:
    """What a sweep would run.

    Attributes:
        cells: each cell that lacks trials, with the number that it lacks, and the number that it is to have.
        of_cells: number of cells of the grid.
        wanted: number of trials that all cells together are to have.
        seconds: time on one core, at the pace of the finished trials; `None` if there are none.
    """

    cells: tuple[tuple[Cell, int, int], ...]
    of_cells: int
    wanted: int
    seconds: float | None


@dataclass(frozen=True)
class SweepStatus:
    """How far a sweep is.

    Attributes:
        cells, done: number of cells, and of those that need no more trials, as far as is known.
        missed: number of those among them that did not reach the aim of `trials`.
        seconds: time left on one core; `None` if no trial tells the pace.
    """

    table: Table
    cells: int
    done: int
    missed: int
    seconds: float | None


@dataclass(frozen=True)
class Request:
    """What to sweep, and into which directory.

    Args:
        out: the directory; `results/NAME OF CONFIG` by default.
        given: values that replace those of the config.
        shard: the part of the trials that this directory is for; by default all.
        packed: whether to compress `trials.csv`.
    """

    config: Path
    out: Path | None = None
    given: Given = NOTHING_GIVEN
    shard: Shard = field(default_factory=Shard)
    packed: bool = False

    def sweep(self) -> Sweep:
        """Read the study, and return its sweep.

        Raises:
            ConfigError: if the config is not usable, or asks for too much.
        """
        study = load_study(self.config, self.given.overrides)
        study.refuse_too_many_rows()
        if self.shard.of > 1 and not isinstance(study.trials, int):
            raise ConfigError(f"--shard {self.shard} needs a fixed number of trials; give --trials N")
        repeat = partial(repeat_command, self.config, study.seed, self.given.words)
        return Sweep(study, self.out or self._default_out(), self.shard, self.packed, repeat)

    def _default_out(self) -> Path:
        if self.config.stem in (".", ".."):
            raise ConfigError(f"{self.config} has no name that a directory could have; name one with --out")
        return Path("results") / self.config.stem

    def missing(self) -> Missing:
        """Return what a sweep would run.

        Raises:
            ConfigError: if the config is not usable, or the directory holds trials of another one.
        """
        task = self.sweep()
        there = task.there()
        counts = [len(trials) for trials in there.missing]
        found = zip(task.cells, counts, strict=True)
        cells = tuple((cell, trials, there.limits[cell.cell_id]) for cell, trials in found if trials)
        seconds = _seconds_of(sum(counts), there.stored.rows) if cells else None
        return Missing(cells, len(task.cells), there.wanted, seconds)

    def status(self) -> SweepStatus:
        """Return how far the sweep is; nothing is written.

        Raises:
            ConfigError: if the config is not usable, or the directory holds trials of another one.
        """
        there = self.sweep().there()
        cells = pd.DataFrame(_numbers(there))
        columns: list[str | Shown] = [
            "done",
            "of",
            "capped",
            Shown("wrong", lambda row: f"{row['wrong']}{ABOVE_DELTA * row['too_often']}"),
            Shown("half width", lambda row: percent(row["half_width"], 1)),
            Shown("time left", _time_left),
        ]
        left = cells["of"] - cells["done"]
        missed = (left == 0) & cells["missed"]
        if missed.any():
            cells, columns = cells.assign(aim=missed), [*columns, Shown("aim", lambda row: "missed" * row["aim"])]
        seconds = _seconds_of(int(left.sum()), there.stored.rows)
        return SweepStatus(
            printed(cells, PLACE, columns), len(cells), int((left == 0).sum()), int(missed.sum()), seconds
        )

    def only_tables(self, *, watch: Watch = SILENT) -> Swept:
        """Write the tables from the finished trials; if a number of trials is given, only from those below it.

        Raises:
            ConfigError: if the config is not usable, or the directory holds no trials of it.
            CascadeError: if another process writes to the directory, or it cannot be written to.
        """
        task = self.sweep()
        if not (task.directory / JOURNAL).exists():
            raise ConfigError(
                f"{task.directory} holds no {JOURNAL} to collect from; sweep first, or give another --out"
            )
        with task.hold() as opened:
            _warn_of_damage(opened.there.stored, watch, "is missing")
            asked = self.given.trials is not None or not isinstance(task.study.trials, int)
            return _swept(opened, watch, asked_only=asked)


def sweep(
    task: Sweep,
    *,
    backend: Backend | None = None,
    fresh: bool = False,
    fail_fast: bool = False,
    timeout: float | None = None,
    watch: Watch = SILENT,
) -> Swept:
    """Run all trials that are missing, and write the tables.

    Args:
        fresh: move an earlier result aside and start over.
        fail_fast: stop at the first trial that raises.
        timeout: seconds after which a trial fails.

    Raises:
        ConfigError: if the directory holds trials of another config.
        CascadeError: if another process writes to the directory, it cannot be written to, or the backend breaks.
    """
    if fresh and (moved := task.move_aside()):
        watch.remark(f"the earlier result is now in {moved}")
    try:
        with task.hold() as opened:
            counts = list(map(len, opened.missing))
            _announce(opened, sum(counts), watch)
            log = task.directory / FAILURES
            with Follower(watch, task.cells, counts, repeat=task.repeat, log=log).shown() as follower:
                opened.run(backend or Backend(), follower, fail_fast=fail_fast, timeout=timeout)
            return _swept(opened, watch, asked_only=True)
    except KeyboardInterrupt:
        watch.warn(
            f"interrupted; finished trials are kept in {task.directory}: the same command goes on from there, with "
            "--collect it only makes tables of them"
        )
        raise


def _swept(opened: OpenSweep, watch: Watch, *, asked_only: bool) -> Swept:
    """Write the tables, and warn of what a reader must know."""
    missing, found = opened.collect(asked_only=asked_only)
    for sentence in found:
        watch.warn(f"warning: {sentence}")
    return Swept(opened.sweep.directory, missing, len(opened.there.stored.rows))


def _announce(opened: OpenSweep, to_run: int, watch: Watch) -> None:
    wanted, extra = opened.there.wanted, opened.there.rows_beyond
    _warn_of_damage(opened.there.stored, watch, "runs again")
    if extra:
        watch.remark(
            f"{count(extra)} rows of trials beyond those that are asked for are kept in the journal and not shown in "
            "the tables; more --trials show them"
        )
    if not to_run and opened.there.sweep.shard.of > 1:
        shard = opened.there.sweep.shard
        watch.remark(f"nothing is missing of shard {shard}: its {count(wanted)} trials are there already")
    elif to_run < wanted:
        watch.remark(f"{count(wanted - to_run)} of {count(wanted)} trials are there already, {count(to_run)} to run")


def _warn_of_damage(stored: Stored, watch: Watch, fate: str) -> None:
    """Warn of damaged lines of the journal, and say what becomes of a trial that no other line holds."""
    if stored.damaged:
        lines, are = ("line", "is") if stored.damaged == 1 else ("lines", "are")
        watch.warn(
            f"warning: {count(stored.damaged)} damaged {lines} of the journal {are} left out; a trial that no other "
            f"line holds {fate}"
        )


# --- How far a sweep is: the trials of each cell, the precision of its mean, and the time left ----------------------

_CAPPED = STATUSES.index("capped")


def _numbers(there: There) -> Iterator[dict[str, Any]]:
    for position, (cell, missing) in enumerate(zip(there.sweep.cells, there.missing, strict=True)):
        of = there.sweep.shard.share(position, there.limits[cell.cell_id])
        here = there.stored.of(cell.cell_id, there.limits)
        capped, wrong = int((here["status"] == _CAPPED).sum()), int((here["correct"] == 0).sum())
        yield {
            **{name: getattr(cell, name) for name in PLACE},
            **{"done": of - len(missing), "of": of, "capped": capped, "wrong": wrong},
            "too_often": not cell.answers and binomial_interval(wrong, len(here) - capped)[0] > cell.delta,
            "missed": misses_aim(there.sweep.study.trials, here),
            "half_width": relative_half_width(here["steps"]),
            "seconds": _seconds_of(len(missing), here),
        }


def _seconds_of(trials: int, rows: NDArray[Any]) -> float | None:
    """Return the seconds that one core needs for `trials` trials, at the pace of these rows; `None` without rows."""
    return float(rows["seconds"].mean()) * trials if len(rows) else None


def _time_left(row: Mapping[Any, Any]) -> str:
    if row["done"] == row["of"]:
        return ""
    return NO_NUMBER if is_missing(row["seconds"]) else duration(row["seconds"])


# --- Merging result directories: shards or parts of a grid, from several machines -----------------------------------


def merge(directories: Sequence[Path], *, out: Path, watch: Watch = SILENT) -> Swept:
    """Write the rows of several directories into a new one, with its tables.

    Code and files that the directories only name are not imported or opened.

    Args:
        directories: directories of sweeps, with their journals; where names of the same thing differ, the first counts.
        out: a directory that holds no sweep yet.

    Raises:
        ConfigError: if something that rows depend on differs, a trial ended differently, or `out` is in use.
        CascadeError: if a file cannot be written.
    """
    _refuse_used(out)
    parts = [(directory, Manifest.read(directory)) for directory in watch.once(directories)]
    manifest = Manifest.merged(parts)
    stored = Stored.merged([(directory, _rows(directory, made)) for directory, made in parts])
    _warn_of_damage(stored, watch, "is missing")
    with only_writer(out) as held:
        _refuse_used(out)
        manifest.write(out)
        write_journal(out, stored)
        trials = manifest.trials
        limits = limits_of(trials, stored, manifest.cells)
        missing, summary = write_tables(held, manifest, stored, limits, asked_only=not isinstance(trials, int))
    for sentence in doubts(summary):
        watch.warn(f"warning: {sentence}")
    return Swept(out, missing, len(stored.rows))


def _refuse_used(out: Path) -> None:
    found = [name for name in WRITTEN if (out / name).exists()]
    if found:
        raise ConfigError(f"--out {out} holds a {found[0]} already; name a new directory")


def _rows(directory: Path, manifest: Manifest) -> Stored:
    if not (directory / JOURNAL).exists():
        raise ConfigError(f"{directory} holds no {JOURNAL} to take rows from; copy the whole directory of the sweep")
    stored = Stored.read(directory)
    strange = [cell_id for cell_id in stored.cell_ids if cell_id not in manifest.cells]
    if strange:
        raise ConfigError(
            f"{directory} has rows of cell {strange[0]}, which its manifest does not name; leave it out, or sweep it "
            "again"
        )
    return stored
