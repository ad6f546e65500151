"""Making room: an earlier result is moved, never deleted; what no sweep made is neither moved nor written to."""

import json
from collections.abc import Iterator
from errno import EBUSY, EXDEV
from itertools import count
from pathlib import Path

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.store.files import make_directory, reading, writing_to
from cascadebai_cli.store.lock import only_writer
from cascadebai_cli.store.schema import FAILURES, JOURNAL, MANIFEST, SUMMARY_CSV, TIMINGS_CSV, TRIALS_CSV

WRITTEN = (MANIFEST, JOURNAL, TRIALS_CSV, SUMMARY_CSV, TIMINGS_CSV, FAILURES)
"""What a sweep writes, and what would be lost if the files of these names were somebody else's."""
MARKS = {"config", "config_hash", "engine_version"}
"""Keys that all manifests of sweeps have, and nobody else's."""


def refuse_foreign(directory: Path) -> None:
    """Refuse a directory with files of the names that a sweep writes, unless its manifest says that a sweep made it.

    Raises:
        ConfigError: if there are.
    """
    found = [name for name in WRITTEN if (directory / name).exists()]
    if found and not _has_marks(directory / MANIFEST):
        raise ConfigError(
            f"{directory} holds a {found[0]}, but no {MANIFEST} that says that a sweep made it; nothing there is "
            "touched: name another directory with --out"
        )


def _has_marks(path: Path) -> bool:
    if not path.exists():
        return False
    with reading(path) as file:
        try:
            found = json.load(file)
        except (ValueError, RecursionError):
            return False
    return isinstance(found, dict) and set(found) >= MARKS


def move_aside(directory: Path) -> Path | None:
    """Rename a result directory to `NAME.old1`, or the next that is free, and make an empty one in its place.

    Returns:
        where everything is now, `None` if no sweep was there.

    Raises:
        ConfigError: if somebody else made it, or the program runs inside it.
        CascadeError: if another sweep writes to the directory, or it cannot be moved.
    """
    refuse_foreign(directory)
    if not (directory / MANIFEST).exists():
        return None
    place = directory.resolve()
    if Path.cwd().is_relative_to(place):
        raise ConfigError(f"{directory} is to be moved, but you are in it; run the same command from outside")
    with only_writer(directory), writing_to(directory):
        target = next(path for path in _beside(place) if not path.exists())
        _rename(place, target)
    make_directory(place)
    return target


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


def _beside(place: Path) -> Iterator[Path]:
    return (place.with_name(f"{place.name}.old{number}") for number in count(1))
