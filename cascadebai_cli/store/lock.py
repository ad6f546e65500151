"""One writer for a result directory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.files import make_directory, writing_to
from cascadebai_cli.store.schema import LOCK

if TYPE_CHECKING:
    from filelock import BaseFileLock


@contextmanager
def only_writer(directory: Path) -> Iterator[None]:
    """Hold the directory, made if missing; the system frees it when the process ends, however it ends.

    Raises:
        CascadeError: if another process holds it, or it cannot be written to.
    """
    from filelock import FileLock

    make_directory(directory)
    lock = FileLock(directory / LOCK)
    with writing_to(directory):
        _acquire(lock, directory)
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: "BaseFileLock", directory: Path) -> None:
    from filelock import Timeout

    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise CascadeError(
            f"another sweep is writing to {directory}; wait until it has ended (the same command then "
            "goes on from there), or name another directory with --out"
        ) from None
