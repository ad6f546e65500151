"""Locks: at most one process at a time writes to a directory."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from errno import EACCES, EAGAIN, EBUSY, EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP, EXDEV
from itertools import count
from pathlib import Path

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.store.files import open_to_write, reading, writing_to
from cascadebai_cli.store.manifest import Earlier

_LOCK, _OWNER = ".lock", ".owner"
"""The second takes the place of the first on file systems without locks."""

# --- File systems without locks: a file says which process writes ---------------------------------------------------


def _this_process() -> str:
    """Return the machine and the number of this process, as the file holds them."""
    return f"{platform.node()} {os.getpid()}"


def _gone(text: str) -> int | None:
    """Return the number of the process that a text names, if it ran on this machine and has ended; else `None`."""
    host, _, process = text.rpartition(" ")
    if host != platform.node() or not process.isdecimal() or _alive(int(process)):
        return None
    return int(process)


@contextmanager
def _owning(directory: Path) -> Iterator[None]:
    """Own the directory until the end of the block; the file of a process of this machine that has ended is removed.

    Raises:
        CascadeError: if another process owns it, or it cannot be written to.
    """
    path, mine = directory / _OWNER, _this_process()
    if _gone(_owner(path)) is not None:  # a process of this machine that has ended
        path.unlink(missing_ok=True)
    try:
        with writing_to(path), os.fdopen(open_to_write(path, os.O_EXCL), "w", encoding="utf-8") as file:
            file.write(mine)
    except CascadeError as error:
        raise (_taken(path) if isinstance(error.__cause__, FileExistsError) else error) from None
    try:
        yield
    finally:
        with suppress(OSError):
            if path.read_text(encoding="utf-8") == mine:
                path.unlink()


def _owner(path: Path) -> str:
    if not path.exists():
        return ""
    with reading(path) as file:
        return file.read(1000).decode(errors="replace")


def _alive(process: int) -> bool:
    """Return whether a process runs; on systems where asking for it would end it, it is taken to run."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _taken(path: Path) -> CascadeError:
    host, _, process = _owner(path).rpartition(" ")
    return CascadeError(
        f"{path.parent} belongs to process {process or 'unknown'} on {host or 'an unknown machine'}, as its file "
        f"system has no locks; wait until that has ended, or remove {path} if no sweep is running there"
    )


# --- One writer for a result directory, who notices if the directory is replaced ------------------------------------

_NO_LOCKS = (EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP)
"""Errors of a file system that has no locks."""


class Held:
    """A directory that is held for writing.

    Args:
        handle: handle of its lock file; while that is open, no other file can have the same inode.
        predecessor: number of the process that held it before and was killed, if there was one.
    """

    def __init__(self, directory: Path, handle: int, predecessor: int | None = None) -> None:
        self.directory, self.predecessor, self._lock = directory, predecessor, os.fstat(handle)

    @property
    def lost(self) -> str | None:
        """What has happened, if this name no longer leads to the directory that was locked; else `None`."""
        try:
            if os.path.samestat(os.lstat(self.directory / _LOCK), self._lock):
                return None
        except (FileNotFoundError, NotADirectoryError):
            pass
        return (
            f"{self.directory} is not the directory any more that this sweep wrote to: it, or the file {_LOCK} in it, "
            "was removed, moved or replaced; what the sweep had written is gone with it. Run the same command again, "
            "or name another directory with --out"
        )

    def check(self) -> None:
        """Raise `CascadeError` if this name no longer leads to the directory that was locked."""
        if lost := self.lost:
            raise CascadeError(lost)


@contextmanager
def only_writer(directory: Path) -> Iterator[Held]:
    """Hold the directory, made if missing, until the end of the block; the system frees it however the process ends.

    Raises:
        CascadeError: if another process holds it, or it cannot be written to.
    """
    _make_directory(directory.resolve())
    with writing_to(directory):
        handle = open_to_write(directory / _LOCK)
    try:
        with _owning(directory) if not _locked(handle, directory) else nullcontext():
            with reading(directory / _LOCK) as file:
                predecessor = _gone(file.read(1000).decode(errors="replace"))
            held = Held(directory, handle, predecessor)
            held.check()
            with _signed(handle, directory):
                yield held
    finally:
        os.close(handle)


@contextmanager
def _signed(handle: int, directory: Path) -> Iterator[None]:
    """Keep the number of this process in the lock file during the block, so that the next one sees if it was killed."""
    with writing_to(directory / _LOCK):
        os.ftruncate(handle, 0)
        os.write(handle, _this_process().encode())
    try:
        yield
    finally:
        with suppress(OSError):
            os.ftruncate(handle, 0)


def _locked(handle: int, directory: Path) -> bool:
    """Lock an open file, and return whether the file system can do that."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        if error.errno not in (EACCES, EAGAIN):
            raise CascadeError(
                f"{directory / _LOCK} cannot be locked ({error.strerror}); choose another --out"
            ) from error
        raise CascadeError(
            f"another sweep is writing to {directory}; wait until it has ended (the same command then "
            "goes on from there), or name another directory with --out"
        ) from None
    return True


# --- Moving an earlier result aside: it is never deleted; what no sweep made is neither moved nor written to --------


def move_aside(directory: Path) -> Path | None:
    """Rename a result directory to `NAME.old1`, or to the next such name that is free.

    Returns:
        the new path, or `None` if the directory holds no sweep.

    Raises:
        ConfigError: if somebody else made it, or the program runs inside it.
        CascadeError: if another sweep writes to the directory, or it cannot be moved.
    """
    if not Earlier(directory).is_there:
        return None
    place = directory.resolve()
    if Path.cwd().is_relative_to(place):
        raise ConfigError(f"{directory} is to be moved, but you are in it; run the same command from outside")
    with only_writer(directory), writing_to(directory):
        target = next(path for path in _beside(place) if not path.exists())
        _rename(place, target)
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


def _make_directory(directory: Path) -> None:
    with writing_to(directory):
        directory.mkdir(parents=True, exist_ok=True)
