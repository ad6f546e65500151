"""Merge result directories: shards of a grid, or parts of one, from several machines."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.aside import WRITTEN
from cascadebai_cli.store.journal import Journal, Stored, read_journal
from cascadebai_cli.store.lock import only_writer
from cascadebai_cli.store.manifest import Manifest, grid_of, read_manifest, write_manifest
from cascadebai_cli.store.merged_manifest import merged_manifest
from cascadebai_cli.store.merged_rows import merged_rows
from cascadebai_cli.store.schema import JOURNAL
from cascadebai_cli.store.trials import CHUNK
from cascadebai_cli.store.wanted import limits_of, trials_of
from cascadebai_cli.store.write_all import write_tables
from cascadebai_cli.text.numbers import count
from cascadebai_cli.workflows.watch import SILENT, Watch


@dataclass(frozen=True)
class Merged:
    """The directory that holds all rows, their number, and how many trials of its config are missing."""

    directory: Path
    rows: int
    missing: int


def merge(directories: Sequence[Path], *, out: Path, watch: Watch = SILENT) -> Merged:
    """Write the rows of several directories into a new one, with its tables.

    Nothing that the directories name is imported or opened.

    Args:
        directories: of sweeps, with their journals; their names for things that have several are those of the first.
        out: a directory that holds no sweep yet.
        watch: takes the remarks.

    Raises:
        ConfigError: if rows depend on something that differs, a trial ended in two ways, or `out` is in use.
        CascadeError: if a file cannot be written.
    """
    _refuse_used(out)
    parts = [(directory, read_manifest(directory)) for directory in dict.fromkeys(directories)]
    manifest = merged_manifest(parts)
    stored = merged_rows([(directory, _rows(directory, made)) for directory, made in parts])
    if stored.damaged:
        watch.remark(f"{count(stored.damaged)} damaged lines of the journals are left out")
    cells = grid_of(out, manifest)
    with only_writer(out) as held:
        _refuse_used(out)
        write_manifest(out, manifest)
        with closing(Journal(out, 0)) as journal:
            rows = iter(stored)
            while chunk := list(islice(rows, CHUNK)):
                journal.append(chunk)
        limits = limits_of(trials_of(manifest.config), stored, (cell.cell_id for cell in cells))
        write_tables(held, manifest, cells, stored, None if isinstance(manifest.config["trials"], int) else limits)
    missing = sum(len(stored.missing(cell_id, trials)) for cell_id, trials in limits.items())
    return Merged(out, len(stored.rows), missing)


def _refuse_used(out: Path) -> None:
    found = [name for name in WRITTEN if (out / name).exists()]
    if found:
        raise ConfigError(f"--out {out} holds a {found[0]} already; name a new directory")


def _rows(directory: Path, manifest: Manifest) -> Stored:
    if not (directory / JOURNAL).exists():
        raise ConfigError(f"{directory} holds no {JOURNAL} to take rows from; copy the whole directory of the sweep")
    stored = read_journal(directory)
    strange = [cell_id for cell_id in stored.cell_ids if cell_id not in manifest.cells]
    if strange:
        raise ConfigError(
            f"{directory} has rows of cell {strange[0]}, which its manifest does not name; leave it out, or sweep it "
            "again"
        )
    return stored
