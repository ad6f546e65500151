"""Making room: an earlier result is moved, never deleted."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from cascadebai_cli.store.files import writing_to
from cascadebai_cli.store.lock import only_writer
from cascadebai_cli.store.schema import JOURNAL, LOCK, MANIFEST, TRIALS


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
