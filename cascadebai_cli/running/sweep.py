"""A sweep's directory is opened: what is there, what is missing, who writes."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import IntArray
from cascadebai_cli.running.interrupts import remove_leftovers
from cascadebai_cli.running.runner import Backend, collect
from cascadebai_cli.running.watch import Follower, Watch
from cascadebai_cli.running.worker import BlockResult, NotRepeatable, Settings
from cascadebai_cli.store.columns import JOURNAL, TRIALS_CSV
from cascadebai_cli.store.intervals import Limits, limits_of
from cascadebai_cli.store.journal import Journal, Stored, read_journal, write_journal
from cascadebai_cli.store.lock import Held, only_writer
from cascadebai_cli.store.manifest import MAKERS, Earlier, Manifest, new_manifest, refuse_mixing, write_manifest
from cascadebai_cli.store.summary import write_tables
from cascadebai_cli.store.trials import holds_rows
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import Study
from cascadebai_cli.study.fields import most_of
from cascadebai_cli.text.numbers import count

# --- A shard: the part of a grid that one of several machines runs --------------------------------------------------


_MOST_SHARDS = 100_000


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
    if not 1 <= number <= of <= _MOST_SHARDS:
        raise ConfigError(f"--shard {text} is not a part of a grid; write such as 2/5 for the second of five")
    return Shard(number, of)


# --- A study and its directory: what is there, what is missing, and running that under one lock ---------------------


_STAYS = ("start", "parts", "rows_sha256", "tables")
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

    def there(self, earlier: Earlier | None = None) -> "There":
        """What the directory holds; its manifest is read again only if it is not the one that was read `earlier`.

        Raises:
            ConfigError: if the rows come from another config, stand in tables alone, as in a baseline, or if somebody
                else made the directory.
        """
        known = earlier if earlier and earlier.is_current else Earlier(self.directory)
        stored = read_journal(self.directory)
        if stored.size == 0 and holds_rows(self.directory):
            raise ConfigError(
                f"{self.directory} holds a {TRIALS_CSV} but no {JOURNAL} to go on from; use --fresh to move it aside "
                "and start over, or another --out"
            )
        refuse_mixing(self.directory, known.manifest, self.manifest, stored.cell_ids)
        return There(self, stored, known.manifest)

    @contextmanager
    def hold(self) -> Iterator["OpenSweep"]:
        """Hold the directory for writing; its manifest and its rows are read once.

        Raises:
            ConfigError: if it holds rows of another config.
            CascadeError: if another process writes to it, or it cannot be written to.
        """
        earlier = Earlier(self.directory)
        with only_writer(self.directory) as held:
            if held.predecessor is not None:
                remove_leftovers(held.predecessor)
            yield OpenSweep(self.there(earlier), held)


@dataclass(frozen=True, eq=False)
class There:
    """What the directory of a sweep holds.

    Attributes:
        sweep: the study and its directory.
        stored: the rows.
        manifest: what the directory had when it was opened, if anything.
    """

    sweep: Sweep
    stored: Stored
    manifest: Manifest | None

    @cached_property
    def limits(self) -> Limits:
        """The number of trials of each cell, as far as the rows tell."""
        return limits_of(self.sweep.study.trials, self.stored, (cell.cell_id for cell in self.sweep.cells))

    @cached_property
    def missing(self) -> list[IntArray]:
        """Trials to run of each cell; where these tell whether it is enough, there may be more behind them."""
        missing = [self.stored.missing(cell_id, trials) for cell_id, trials in self.limits.items()]
        return [self.sweep.shard.takes(position, trials) for position, trials in enumerate(missing)]

    @property
    def wanted(self) -> int:
        """Number of trials that the directory is to hold, as far as its rows tell."""
        return sum(self.sweep.shard.share(i, trials) for i, trials in enumerate(self.limits.values()))

    @property
    def rows_beyond(self) -> int:
        """Rows of the journal with trials that are not asked for."""
        rows, most = self.stored.rows, most_of(self.sweep.study.trials)
        limits = [self.limits.get(cell_id, most) for cell_id in self.stored.cell_ids]
        return int((rows["trial"] >= np.array(limits, np.int64)[rows["cell"]]).sum())


class OpenSweep:
    """A sweep that holds its directory.

    Attributes:
        there: what the directory holds, with the rows of each call of `run` once it has ended.
        held: tells whether the directory still is the one that was opened.
    """

    def __init__(self, there: There, held: Held) -> None:
        self.there, self.held, self.sweep = there, held, there.sweep
        self._failed: set[tuple[int, int]] = set()
        self._manifest = _continued(self.sweep.manifest, there.manifest, any(map(len, there.missing)))

    @property
    def missing(self) -> list[IntArray]:
        """Trials of each cell that are missing now, and have not failed."""
        return [
            np.array([trial for trial in trials.tolist() if (i, trial) not in self._failed], dtype=np.int64)
            for i, trials in enumerate(self.there.missing)
        ]

    def run(self, backend: Backend, follower: Follower, *, fail_fast: bool = False) -> None:
        """Run what is missing, and what it takes after that; rows are in the journal before anybody is told of them.

        Without anything to run nothing is touched: no backend has to answer, and the manifest stays complete.

        Raises:
            ConfigError: if the trials need more memory than there is.
            CascadeError: if rows cannot be written or the backend breaks, earlier rows are kept; or if the directory
                is not there any more.
        """
        settings, missing = Settings(self.sweep.study.seed, fail_fast), self.missing
        try:
            while any(map(len, missing)):
                self._run(missing, settings, backend, follower)
                missing = self.missing
                if (fail_fast and self._failed) or not any(map(len, missing)):
                    return
                follower.expect(list(map(len, missing)))
        except NotRepeatable as error:
            self._withdraw(error.algorithm)
            raise
        except KeyboardInterrupt:
            self.held.check()
            raise

    def _run(self, missing: Sequence[IntArray], settings: Settings, backend: Backend, follower: Follower) -> None:
        backend.refuse_too_large(self.sweep.cells, missing)
        write_manifest(self.sweep.directory, self._manifest)
        with self._journal() as journal:
            collect(self.sweep.cells, missing, settings, backend, follower, partial(self._take, journal))

    def _take(self, journal: Journal, result: BlockResult) -> None:
        self.held.check()
        journal.append(result.finished)
        self._failed |= {(result.position, failed.trial) for failed in result.failed}

    @contextmanager
    def _journal(self) -> Iterator[Journal]:
        """The journal, open for more rows; those that it got are there in the end."""
        with closing(Journal(self.sweep.directory, self.there.stored)) as journal:
            try:
                yield journal
            finally:
                self.there = replace(self.there, stored=journal.stored)

    def _withdraw(self, algorithm: str) -> None:
        """Take out the rows of a learner whose rows mean nothing, else they would forbid to sweep with a better one."""
        self.held.check()
        cells = {cell.cell_id for cell in self.sweep.cells if cell.spec.algorithm == algorithm}
        left = self.there.stored.without(cells)
        size = write_journal(self.sweep.directory, left)
        self.there = replace(self.there, stored=replace(left, size=size))
        self.collect(asked_only=True)

    def collect(self, *, asked_only: bool) -> int:
        """Write the tables from the rows that are there and close the manifest.

        Args:
            asked_only: whether trials beyond those that are asked for stay out of the tables.

        Returns:
            number of trials that are missing.
        """
        there = self.there
        write_tables(self.held, self._manifest, there.stored, there.limits, asked_only=asked_only)
        return sum(map(len, there.missing))


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
    kept = _STAYS if grows else (*_STAYS, *MAKERS)
    return new.model_copy(update={key: getattr(old, key) for key in kept})
