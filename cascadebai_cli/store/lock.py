"""One writer for a result directory, who knows whether it still is the one that it holds."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EAGAIN, EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP
from pathlib import Path

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.files import make_directory, open_to_write, reading, writing_to
from cascadebai_cli.store.owner import gone, owning, this_process
from cascadebai_cli.store.schema import LOCK

NO_LOCKS = (EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP)
"""Errors of a file system that has no locks."""


class Held:
    """A directory that is held for writing.

    Args:
        directory: the directory.
        handle: of its open lock file, which makes sure that no other file has its identity.
        predecessor: number of the process that held it before and was killed, if there was one.
    """

    def __init__(self, directory: Path, handle: int, predecessor: int | None = None) -> None:
        self.directory, self.predecessor, self._lock = directory, predecessor, os.fstat(handle)

    @property
    def lost(self) -> str | None:
        """What has happened if the directory of this name is not the one that was locked, else `None`."""
        try:
            if os.path.samestat(os.lstat(self.directory / LOCK), self._lock):
                return None
        except (FileNotFoundError, NotADirectoryError):
            pass
        return (
            f"{self.directory} is not the directory any more that this sweep wrote to: it, or the file {LOCK} in it, "
            "was removed, moved or replaced; what the sweep had written is gone with it. Run the same command again, "
            "or name another directory with --out"
        )

    def check(self) -> None:
        """Refuse to go on where the directory is not the one that was locked.

        Raises:
            CascadeError: if it is not.
        """
        if lost := self.lost:
            raise CascadeError(lost)


@contextmanager
def only_writer(directory: Path) -> Iterator[Held]:
    """Hold the directory, made if missing; the system frees it when the process ends, however it ends.

    Raises:
        CascadeError: if another process holds it, or it cannot be written to.
    """
    make_directory(directory.resolve())
    with writing_to(directory):
        handle = open_to_write(directory / LOCK)
    try:
        with owning(directory) if not _locked(handle, directory) else _nothing():
            with reading(directory / LOCK) as file:
                predecessor = gone(file.read(1000).decode(errors="replace"))
            held = Held(directory, handle, predecessor)
            held.check()
            with _signed(handle, directory):
                yield held
    finally:
        os.close(handle)


@contextmanager
def _signed(handle: int, directory: Path) -> Iterator[None]:
    """The name of this process stands in the lock file while it works, so that another one knows who was killed."""
    with writing_to(directory / LOCK):
        os.ftruncate(handle, 0)
        os.write(handle, this_process().encode())
    try:
        yield
    finally:
        with suppress(OSError):
            os.ftruncate(handle, 0)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _locked(handle: int, directory: Path) -> bool:
    """Lock an open file; false where that cannot be done.

    Raises:
        CascadeError: if another process holds it.
    """
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        if error.errno not in (EACCES, EAGAIN):
            raise CascadeError(
                f"{directory / LOCK} cannot be locked ({error.strerror}); choose another --out"
            ) from error
        raise CascadeError(
            f"another sweep is writing to {directory}; wait until it has ended (the same command then "
            "goes on from there), or name another directory with --out"
        ) from None
    return True
