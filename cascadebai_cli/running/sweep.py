"""The directory of a sweep: what is there, what is missing, and the one process that writes."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from errno import EBUSY, EXDEV
from functools import cached_property, partial
from itertools import count
from pathlib import Path

import numpy as np

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.model.problem import IntArray
from cascadebai_cli.running.runner import Backend, collect
from cascadebai_cli.running.watch import Follower
from cascadebai_cli.running.worker import BlockResult, NotRepeatable, Settings
from cascadebai_cli.store.columns import JOURNAL, TRIALS_CSV
from cascadebai_cli.store.files import Held, only_writer, writing_to
from cascadebai_cli.store.journal import Journal, Recording, Stored, write_journal
from cascadebai_cli.store.manifest import Earlier, Manifest
from cascadebai_cli.store.summary import doubts, limits_of
from cascadebai_cli.store.trials import holds_rows, write_tables
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import Study

# --- A shard: the part of a grid that one of several machines runs --------------------------------------------------

_MOST_SHARDS = 100_000


@dataclass(frozen=True)
class Shard:
    """Part `number` of `of` parts of a grid, by default all of it.

    Every trial of every cell is in exactly one, whatever the number of trials. Neighbours in a cell and in the grid go
    to different shards, so that all have about the same amount of work.
    """

    number: int = 1
    of: int = 1

    @classmethod
    def named(cls, text: str) -> "Shard":
        """Return the shard that a text such as `2/5` names.

        Raises:
            ConfigError: if the text names no shard.
        """
        found = re.fullmatch("([0-9]{1,6})/([0-9]{1,6})", text)
        number, of = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= of <= _MOST_SHARDS:
            raise ConfigError(f"--shard {text} is not a part of a grid; write such as 2/5 for the second of five")
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def takes(self, position: int, trials: IntArray) -> IntArray:
        """Return those of the trials that are in this shard, for the cell at a position of the grid."""
        part: IntArray = trials[(trials + position) % self.of == self.number - 1]
        return part

    def share(self, position: int, trials: int) -> int:
        """Return how many of the trials 0, ..., `trials - 1` are in this shard."""
        return len(range((self.number - 1 - position) % self.of, trials, self.of))


# --- A study and its directory: what is there, and running what is missing under one lock ---------------------------

_STAYS = ("start", "parts", "rows_sha256", "tables")
"""Keys of the manifest that a continued sweep leaves as they are until it writes the tables anew."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """A study, the directory for its rows, which of its trials are to be run there, and whether rows are packed.

    `repeat` returns the command that runs a trial again, if there is one.
    """

    study: Study
    directory: Path
    shard: Shard = field(default_factory=Shard)
    packed: bool = False
    repeat: Callable[[Cell, int], str] | None = None

    @property
    def cells(self) -> Sequence[Cell]:
        """Cells of the study."""
        return self.study.cells

    @property
    def wanted(self) -> Recording:
        """What is recorded of each trial beyond its row."""
        return Recording.of(self.manifest.config)

    @cached_property
    def manifest(self) -> Manifest:
        """Manifest of this sweep, whose start is the time of the first access; git is asked only then."""
        return Manifest.new(self.study.model_dump(mode="json"), self.study.seed, self.cells)

    def there(self, earlier: Earlier | None = None) -> "There":
        """Return what the directory holds; read its manifest again only if it is not the one that was read `earlier`.

        Raises:
            ConfigError: if the rows come from another config, if there are tables without a journal, as in a baseline,
                or if another program made the directory.
        """
        known = earlier if earlier and earlier.is_current else Earlier(self.directory)
        stored = Stored.read(self.directory)
        if stored.size == 0 and holds_rows(self.directory):
            raise ConfigError(
                f"{self.directory} holds a {TRIALS_CSV} but no {JOURNAL} to go on from; use --fresh to move it aside "
                "and start over, or another --out"
            )
        self.manifest.refuse_mixing(self.directory, known.manifest, stored.cell_ids)
        return There(self, stored, known.manifest)

    def move_aside(self) -> Path | None:
        """Rename an earlier result directory to `NAME.old1`, or to the next such name that is free.

        Returns:
            the new path, or `None` if the directory holds no sweep.

        Raises:
            ConfigError: if somebody else made it, or the program runs inside it.
            CascadeError: if another sweep writes to the directory, or it cannot be moved.
        """
        if not Earlier(self.directory).is_there:
            return None
        place = self.directory.resolve()
        if Path.cwd().is_relative_to(place):
            raise ConfigError(f"{self.directory} is to be moved, but you are in it; run the same command from outside")
        with only_writer(self.directory), writing_to(self.directory):
            beside = (place.with_name(f"{place.name}.old{number}") for number in count(1))
            target = next(path for path in beside if not path.exists())
            _rename(place, target)
        return target

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
                _remove_leftovers(held.predecessor)
            yield OpenSweep(self.there(earlier), held)


def _rename(place: Path, target: Path) -> None:
    try:
        place.rename(target)
    except OSError as error:
        if error.errno not in (EBUSY, EXDEV):
            raise
        raise CascadeError(
            f"{place} cannot be renamed ({error.strerror}), as it is a mount point or in use; move its files yourself, "
            "or name another directory with --out"
        ) from error


@dataclass(frozen=True, eq=False)
class There:
    """What the directory of a sweep holds.

    Attributes:
        manifest: manifest that the directory had when it was opened, if any.
    """

    sweep: Sweep
    stored: Stored
    manifest: Manifest | None

    @cached_property
    def limits(self) -> Mapping[str, int]:
        """Number of trials of each cell, as far as the rows so far tell."""
        return limits_of(self.sweep.study.trials, self.stored, (cell.cell_id for cell in self.sweep.cells))

    @cached_property
    def missing(self) -> list[IntArray]:
        """Trials to run of each cell; where the rows decide how many are enough, more may follow after these."""
        wanted = self.sweep.wanted
        missing = [self.stored.missing(cell_id, trials, wanted) for cell_id, trials in self.limits.items()]
        return [self.sweep.shard.takes(position, trials) for position, trials in enumerate(missing)]

    @property
    def wanted(self) -> int:
        """Number of trials that the directory is to hold, as far as the rows so far tell."""
        return sum(self.sweep.shard.share(i, trials) for i, trials in enumerate(self.limits.values()))

    @property
    def rows_beyond(self) -> int:
        """Number of rows of the journal whose trials are not asked for."""
        rows, most = self.stored.rows, self.sweep.study.most_trials
        limits = [self.limits.get(cell_id, most) for cell_id in self.stored.cell_ids]
        return int((rows["trial"] >= np.array(limits, np.int64)[rows["cell"]]).sum())


class OpenSweep:
    """A sweep that holds its directory.

    Attributes:
        there: what the directory holds, with the rows of each call of `run` once it has ended.
        held: checks that the directory still is the one that was opened.
    """

    def __init__(self, there: There, held: Held) -> None:
        self.there, self.held, self.sweep = there, held, there.sweep
        self._failed: set[tuple[int, int]] = set()
        self._manifest = _continued(self.sweep.manifest, there.manifest, any(map(len, there.missing)))

    @property
    def missing(self) -> list[IntArray]:
        """Trials of each cell that are missing now and have not failed in this process."""
        return [
            np.array([trial for trial in trials.tolist() if (i, trial) not in self._failed], dtype=np.int64)
            for i, trials in enumerate(self.there.missing)
        ]

    def run(
        self, backend: Backend, follower: Follower, *, fail_fast: bool = False, timeout: float | None = None
    ) -> None:
        """Run what is missing, and what turns out to be missing after that.

        Rows are in the journal before they are reported. If there is nothing to run, nothing is touched: no backend has
        to answer, and the manifest stays complete.

        Raises:
            ConfigError: if the trials need more memory than there is.
            CascadeError: if rows cannot be written, the backend breaks, or the directory is not there any more; earlier
                rows are kept.
        """
        settings = Settings(self.sweep.study.seed, fail_fast, wanted=self.sweep.wanted, timeout=timeout)
        missing = self.missing
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
        self._manifest.write(self.sweep.directory)
        with self._journal() as journal:
            collect(self.sweep.cells, missing, settings, backend, follower, partial(self._take, journal))

    def _take(self, journal: Journal, result: BlockResult) -> None:
        self.held.check()
        journal.append(result.finished)
        self._failed |= {(result.position, failed.trial) for failed in result.failed}

    @contextmanager
    def _journal(self) -> Iterator[Journal]:
        """Yield the journal, open for more rows; at the end `there` holds the rows that it got."""
        with closing(Journal(self.sweep.directory, self.there.stored)) as journal:
            try:
                yield journal
            finally:
                self.there = replace(self.there, stored=journal.stored)

    def _withdraw(self, algorithm: str) -> None:
        """Remove the rows of a learner that cannot be repeated, which would stop a sweep with a corrected one."""
        self.held.check()
        cells = {cell.cell_id for cell in self.sweep.cells if cell.spec.algorithm == algorithm}
        left = self.there.stored.without(cells)
        size = write_journal(self.sweep.directory, left)
        self.there = replace(self.there, stored=replace(left, size=size))
        self.collect(asked_only=True)

    def collect(self, *, asked_only: bool) -> tuple[int, Sequence[str]]:
        """Write the tables from the rows that are there and close the manifest.

        Args:
            asked_only: whether trials beyond those that are asked for are left out of the tables.

        Returns:
            number of trials that are missing, and what a reader of the tables must know (`doubts`).
        """
        there, packed = self.there, self.sweep.packed
        _, summary = write_tables(
            self.held, self._manifest, there.stored, there.limits, asked_only=asked_only, packed=packed
        )
        return sum(map(len, there.missing)), doubts(summary)


def _continued(new: Manifest, old: Manifest | None, grows: bool) -> Manifest:
    """Return the new manifest with the start of the first sweep, and the hash of a `trials.csv` that is still there.

    If no rows are missing, the keys `Manifest.MAKERS`, which say what made the rows, are kept as well.
    """
    if old is None:
        return new
    kept = _STAYS if grows else (*_STAYS, *Manifest.MAKERS)
    return new.model_copy(update={key: getattr(old, key) for key in kept})


# --- What a killed sweep left in shared memory, under names that hold the number of its process ---------------------

_LEFTOVERS = ("sem.loky-{}-*", "joblib_memmapping_folder_{}_*")


def _remove_leftovers(process: int) -> None:
    """Remove the semaphores and folders of a process that is gone, and those of no other process."""
    for place in {"/dev/shm", tempfile.gettempdir(), os.environ.get("JOBLIB_TEMP_FOLDER", "/dev/shm")}:
        for name in _LEFTOVERS:
            for path in Path(place).glob(name.format(process)):
                with suppress(OSError):
                    _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
