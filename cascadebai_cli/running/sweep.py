"""A sweep's directory is opened: what is there, what is missing, who writes."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import IntArray
from cascadebai_cli.running.interrupts import remove_leftovers
from cascadebai_cli.running.runner import Backend, Follower, collect
from cascadebai_cli.running.watch import Watch
from cascadebai_cli.running.worker import BlockResult, NotRepeatable, Settings
from cascadebai_cli.store.columns import JOURNAL, TRIALS_CSV
from cascadebai_cli.store.intervals import Limits, limits_of
from cascadebai_cli.store.journal import Journal, Stored, read_journal, withdraw
from cascadebai_cli.store.lock import Held, only_writer, refuse_foreign
from cascadebai_cli.store.manifest import (
    MAKERS,
    Manifest,
    earlier_manifest,
    new_manifest,
    refuse_mixing,
    write_manifest,
)
from cascadebai_cli.store.summary import write_tables
from cascadebai_cli.store.trials import holds_rows
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import Study
from cascadebai_cli.study.fields import most_of
from cascadebai_cli.text.numbers import count

# --- A shard: the part of a grid that one of several machines runs --------------------------------------------------


MOST_SHARDS = 100_000


@dataclass(frozen=True)
class Shard:
    """Part `number` of `of`; every trial of every cell is in exactly one, whatever the number of trials.

    Neighbours in a cell and in the grid go to different shards, so that all have about as much to do.
    """

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def takes(self, position: int, trials: IntArray) -> IntArray:
        """Those of the trials of the cell at a position of the grid that are in this shard."""
        part: IntArray = trials[(trials + position) % self.of == self.number - 1]
        return part

    def share(self, position: int, trials: int) -> int:
        """How many of the trials below `trials` they are."""
        return len(range((self.number - 1 - position) % self.of, trials, self.of))


WHOLE = Shard()
"""The only shard of a grid that is not cut."""


def shard_of(text: str) -> Shard:
    """The shard that a text such as `2/5` names.

    Raises:
        ConfigError: if it names none.
    """
    found = re.fullmatch("([0-9]{1,6})/([0-9]{1,6})", text)
    number, of = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= of <= MOST_SHARDS:
        raise ConfigError(f"--shard {text} is not a part of a grid; write such as 2/5 for the second of five")
    return Shard(number, of)


# --- A study and its directory: what is there, what is missing, and running that under one lock ---------------------


STAYS = ("start", "parts", "rows_sha256", "tables")
"""Keys of the manifest that a sweep that goes on leaves as they are until it writes the tables anew."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """A study, the directory for its rows, and which of its trials are to be run there."""

    study: Study
    directory: Path
    shard: Shard = WHOLE

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
            ConfigError: if they come from another config, stand in tables alone, as in a baseline, or if somebody else
                made the directory.
        """
        refuse_foreign(self.directory)
        stored = read_journal(self.directory)
        if stored.size == 0 and holds_rows(self.directory):
            raise ConfigError(
                f"{self.directory} holds a {TRIALS_CSV} but no {JOURNAL} to go on from; use --fresh to move it aside "
                "and start over, or another --out"
            )
        refuse_mixing(self.directory, earlier_manifest(self.directory), self.manifest, stored.cell_ids)
        return stored

    def missing(self, stored: Stored) -> list[IntArray]:
        """Trials to run of each cell; where these tell whether it is enough, there may be more behind them."""
        limits = self.limits(stored)
        return [
            self.shard.takes(i, stored.missing(cell.cell_id, limits[cell.cell_id])) for i, cell in enumerate(self.cells)
        ]

    def limits(self, stored: Stored) -> Limits:
        """The number of trials of each cell, as far as the rows tell."""
        return limits_of(self.study.trials, stored, (cell.cell_id for cell in self.cells))

    def wanted(self, stored: Stored) -> int:
        """Number of trials that the directory is to hold, as far as its rows tell."""
        return sum(self.shard.share(i, trials) for i, trials in enumerate(self.limits(stored).values()))

    @contextmanager
    def opened(self) -> Iterator["OpenSweep"]:
        """Hold the directory for writing.

        Raises:
            ConfigError: if it holds rows of another config.
            CascadeError: if another process writes to it, or it cannot be written to.
        """
        refuse_foreign(self.directory)
        with only_writer(self.directory) as held:
            if held.predecessor is not None:
                remove_leftovers(held.predecessor)
            yield OpenSweep(self, self.stored(), held)


class OpenSweep:
    """A sweep that holds its directory.

    Attributes:
        stored: rows at the time of opening.
        missing: trials to run of each cell at that time.
        held: tells whether the directory still is the one that was opened.
    """

    def __init__(self, sweep: Sweep, stored: Stored, held: Held) -> None:
        self.sweep, self.stored, self.held = sweep, stored, held
        self.missing = sweep.missing(stored)
        self._failed: set[tuple[int, int]] = set()
        grows = any(map(len, self.missing))
        self._manifest = _continued(sweep.manifest, earlier_manifest(sweep.directory), grows)

    @property
    def rows_beyond(self) -> int:
        """Rows of the journal with trials that are not asked for."""
        limits = self.sweep.limits(self.stored)
        here = [limits.get(cell_id, most_of(self.sweep.study.trials)) for cell_id in self.stored.cell_ids]
        return int((self.stored.rows["trial"] >= np.array(here, np.int64)[self.stored.rows["cell"]]).sum())

    def advance(self) -> bool:
        """Take in what has been run; `missing` is then what else it takes, and nothing that has failed.

        Returns:
            whether there is anything.
        """
        self.stored = read_journal(self.sweep.directory)
        self.missing = [
            np.array([trial for trial in trials.tolist() if (i, trial) not in self._failed], dtype=np.int64)
            for i, trials in enumerate(self.sweep.missing(self.stored))
        ]
        return any(map(len, self.missing))

    def run(self, backend: Backend, follower: Follower, *, fail_fast: bool = False) -> None:
        """Run what is missing, and what it takes after that; rows are in the journal before anybody is told of them.

        Without anything to run nothing is touched: no backend has to answer, and the manifest stays complete.

        Raises:
            ConfigError: if the trials need more memory than there is.
            CascadeError: if rows cannot be written or the backend breaks, earlier rows are kept; or if the directory
                is not there any more.
        """
        settings = Settings(self.sweep.study.seed, fail_fast)
        try:
            while any(map(len, self.missing)):
                self._run(settings, backend, follower)
                if (fail_fast and self._failed) or not self.advance():
                    return
                follower.expect(list(map(len, self.missing)))
        except NotRepeatable as error:
            self._withdraw(error.algorithm)
            raise
        except KeyboardInterrupt:
            self.held.check()
            raise

    def _run(self, settings: Settings, backend: Backend, follower: Follower) -> None:
        backend.refuse_too_large(self.sweep.cells, self.missing)
        write_manifest(self.sweep.directory, self._manifest)
        with closing(Journal(self.sweep.directory, self.stored.size)) as journal:
            collect(self.sweep.cells, self.missing, settings, backend, follower, partial(self._take, journal))

    def _take(self, journal: Journal, result: BlockResult) -> None:
        self.held.check()
        journal.append(result.finished)
        self._failed |= {(result.position, failed.trial) for failed in result.failed}

    def _withdraw(self, algorithm: str) -> None:
        """Take out the rows of a learner whose rows mean nothing, else they would forbid to sweep with a better one."""
        self.held.check()
        withdraw(self.sweep.directory, {cell.cell_id for cell in self.sweep.cells if cell.spec.algorithm == algorithm})
        self.collect(asked_only=True)

    def collect(self, *, asked_only: bool) -> int:
        """Write the tables from the journal and close the manifest.

        Args:
            asked_only: whether trials beyond those that are asked for stay out of the tables.

        Returns:
            number of trials that are missing.
        """
        self.held.check()
        stored = read_journal(self.sweep.directory)
        limits = self.sweep.limits(stored) if asked_only else None
        write_tables(self.held, self._manifest, self.sweep.cells, stored, limits)
        return sum(map(len, self.sweep.missing(stored)))


def warn_of_damage(stored: Stored, watch: Watch, fate: str) -> None:
    """Say how many lines of the journal are left out, and the fate of a trial that no other line holds."""
    if stored.damaged:
        lines, are = ("line", "is") if stored.damaged == 1 else ("lines", "are")
        watch.warn(
            f"warning: {count(stored.damaged)} damaged {lines} of the journal {are} left out; a trial that no other "
            f"line holds {fate}"
        )


def _continued(new: Manifest, old: Manifest | None, grows: bool) -> Manifest:
    """The new manifest; start, and the hash of a `trials.csv` that is still there, are those of the first sweep.

    So is what made the rows, unless there are rows to come.
    """
    if old is None:
        return new
    kept = STAYS if grows else (*STAYS, *MAKERS)
    return new.model_copy(update={key: getattr(old, key) for key in kept})
