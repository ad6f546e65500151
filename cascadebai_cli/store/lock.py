"""One writer at a time for a directory."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from errno import EACCES, EAGAIN, EBUSY, EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP, EXDEV
from itertools import count
from pathlib import Path

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.store.columns import LOCK, OWNER
from cascadebai_cli.store.files import make_directory, open_to_write, reading, writing_to
from cascadebai_cli.store.manifest import Earlier

# --- One writer where the file system has no locks: a file that says which process writes ---------------------------


def _this_process() -> str:
    """Machine and number of this process, as a file holds them."""
    return f"{platform.node()} {os.getpid()}"


def _gone(text: str) -> int | None:
    """The number of the process that a text names, if it was one of this machine and is gone."""
    host, _, process = text.rpartition(" ")
    if host != platform.node() or not process.isdecimal() or _alive(int(process)):
        return None
    return int(process)


@contextmanager
def _owning(directory: Path) -> Iterator[None]:
    """Own the directory; what a process of this machine that is gone has left is taken over.

    Raises:
        CascadeError: if another process owns it, or it cannot be written to.
    """
    path, mine = directory / OWNER, _this_process()
    if _left(path):
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


def _left(path: Path) -> bool:
    """Whether the owner was a process of this machine, which is gone."""
    return _gone(_owner(path)) is not None


def _owner(path: Path) -> str:
    if not path.exists():
        return ""
    with reading(path) as file:
        return file.read(1000).decode(errors="replace")


def _alive(process: int) -> bool:
    """Whether a process runs; where only killing it would tell, it is taken to run."""
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


# --- One writer for a result directory, who knows whether it still is the one that it holds -------------------------


_NO_LOCKS = (EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP)
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
        with _owning(directory) if not _locked(handle, directory) else nullcontext():
            with reading(directory / LOCK) as file:
                predecessor = _gone(file.read(1000).decode(errors="replace"))
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
        os.write(handle, _this_process().encode())
    try:
        yield
    finally:
        with suppress(OSError):
            os.ftruncate(handle, 0)


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
        if error.errno in _NO_LOCKS:
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


# --- Making room: an earlier result is moved, never deleted; what no sweep made is neither moved nor written to -----


def move_aside(directory: Path) -> Path | None:
    """Rename a result directory to `NAME.old1`, or the next that is free.

    Returns:
        where everything is now, `None` if no sweep was there.

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
