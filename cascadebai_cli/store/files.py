"""Reading and writing files, each whole or not at all, with errors in one sentence; one writer for a directory."""

import csv
import errno
import gzip
import hashlib
import io
import os
import platform
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cascadebai_cli.errors import CascadeError, ConfigError, of_removed_folder
from cascadebai_cli.store.columns import (
    ANSWERS_CSV,
    DECISIONS_CSV,
    FAILURES,
    JOURNAL,
    MANIFEST,
    SUMMARY_CSV,
    TIMINGS_CSV,
    TRACES_CSV,
    TRIALS_CSV,
)
from cascadebai_cli.text import for_shell

if TYPE_CHECKING:
    import pandas as pd


# --- Files of a result directory: no reader ever meets half of one, and errors are one plain sentence ---------------
#
# Only regular files are opened, as a device or a pipe may never end; and links are not followed when writing, so that
# nothing is written elsewhere.

_PIECE = 2**20
"""Number of compressed bytes that are handed on at once."""
_OF_THE_KERNEL = ("/proc/", "/sys/")
"""Files there claim to be regular, and are not."""
AGAIN = "run the sweep again"
"""The remedy for a file that is not what a sweep writes."""


@contextmanager
def writing_to(place: Path) -> Iterator[None]:
    """Turn an error of the file system into one plain sentence.

    Raises:
        CascadeError: if the block raises an `OSError` (full disk, no permission, not a directory ...).
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, FileExistsError | NotADirectoryError):
            raise ConfigError(
                f"cannot write to {place}, as a file is there; name another directory with --out"
            ) from error
        reason = "a link is there, which is not followed" if error.errno == errno.ELOOP else error.strerror or error
        raise CascadeError(f"cannot write to {place}: {reason}; {_remedy(error)}") from error


@contextmanager
def reading(path: Path) -> Iterator[BufferedReader]:
    """Open a file of a result directory for reading, with errors of the file system as one plain sentence.

    Raises:
        ConfigError: if the file is missing, is not a regular one, or cannot be read.
    """
    packed = is_packed(path)
    try:
        with os.fdopen(open_regular(_packed_path(path) if packed else path, os.O_RDONLY), "rb") as file:
            yield BufferedReader(gzip.GzipFile(fileobj=file)) if packed else file
    except FileNotFoundError as error:
        missing = f"{path} is missing; `cascadebai sweep CONFIG --out {for_shell(path.parent)}` writes it"
        raise of_removed_folder(error) or ConfigError(missing) from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        shown, way_out = (
            (_packed_path(path), "unpack it, or sweep again")
            if packed
            else (path, "it must be a file that you may read")
        )
        raise ConfigError(f"{shown} cannot be read ({reason}); {way_out}") from error


def _packed_path(path: Path) -> Path:
    """Return the path that the file has when it is compressed by gzip."""
    return path.with_name(f"{path.name}.gz")


def is_packed(path: Path) -> bool:
    """Return whether `path` is a `trials.csv` that is there only compressed; no other file is kept in that form."""
    return path.name == TRIALS_CSV and not path.exists() and _packed_path(path).exists()


def open_to_write(path: Path, flags: int = 0) -> int:
    """Open a file to write to it in place, made if missing, and return its handle; links are not followed.

    Raises:
        OSError: also if it is a link, a device or a pipe.
    """
    return open_regular(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | flags)


def open_regular(path: Path, flags: int) -> int:
    """Open a regular file and return its handle; anything else is refused without waiting for it.

    Raises:
        OSError: if it is something else, a file of the kernel (which may wait, or never end), or cannot be opened.
    """
    if os.path.realpath(path).startswith(_OF_THE_KERNEL):
        raise OSError(errno.EINVAL, "A file of the kernel")
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind):
        return handle
    os.close(handle)
    error = errno.EISDIR if stat.S_ISDIR(kind) else errno.EINVAL
    raise OSError(error, os.strerror(errno.EISDIR) if error == errno.EISDIR else "Not a regular file")


def _remedy(error: OSError) -> str:
    if error.errno in (errno.EEXIST, errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENOTDIR):
        return "name another directory with --out"
    return (
        "trials that were finished are kept: give room or rights and run the same command again, or name another "
        "directory with --out"
    )


def write_atomically(path: Path, lines: Iterable[str], *, packed: bool = False) -> str:
    """Write a file so that, even if the power fails, either the old one or the whole new one is there.

    Args:
        packed: whether to compress it and write it under its packed name, in place of the plain file.

    Returns:
        SHA-256 of the text, in hexadecimal.

    Raises:
        CascadeError: if it cannot be written; the old file is intact.
    """
    digest = hashlib.sha256()
    with writing_to(path):
        parts = _hashed((line.encode() for line in lines), digest)
        replace_file(_packed_path(path) if packed else path, _compressed(parts) if packed else parts)
        if packed:
            path.unlink(missing_ok=True)
    return digest.hexdigest()


def _compressed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the compressed bytes, which depend on the parts alone and not on the time."""
    with io.BytesIO() as made, gzip.GzipFile("", "wb", fileobj=made, mtime=0) as file:
        for part in parts:
            file.write(part)
            if made.tell() > _PIECE:
                yield made.getvalue()
                made.seek(0)
                made.truncate()
        file.close()
        yield made.getvalue()


def _hashed(parts: Iterable[bytes], digest: "hashlib._Hash") -> Iterator[bytes]:
    for part in parts:
        digest.update(part)
        yield part


def sha256_of(path: Path) -> str | None:
    """Return the SHA-256 of a file in hexadecimal, for packed rows that of their text; `None` if there is no file.

    Raises:
        ConfigError: if it cannot be read.
    """
    if not (path.exists() or is_packed(path)):
        return None
    with reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """Replace a file as `write_atomically` does, by bytes, with the errors of the system as they are."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(open_to_write(part, os.O_TRUNC), "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Make sure that the names in a directory survive a power cut, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- Files that a user asked for: a reader never sees half of one ---------------------------------------------------


def write_bytes(path: Path, content: bytes, *, through: bool = True) -> None:
    """Write `content` to `path` as a whole, or leave what was there.

    Args:
        through: whether to write to a device or a pipe that the user has named; else a file replaces it.

    Raises:
        CascadeError: if the file cannot be written.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        _make_parent(path)
        if through and path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            replace_file(path, [content])
    except OSError as error:
        kind = ConfigError if isinstance(error, NotADirectoryError | IsADirectoryError) else CascadeError
        raise kind(f"{path} cannot be written ({error.strerror}); {_remedy_for_output(error)}") from error


def _make_parent(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, f"{path.parent} is not a directory") from None


def _remedy_for_output(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
        return "free some space or choose another place"
    if error.errno == errno.EPIPE:
        return "the program that was to read it has ended; choose another place"
    return "choose another place"


def write_table(path: Path, table: "pd.DataFrame", *, through: bool = True) -> None:
    """Write `table` as CSV; arguments as for `write_bytes`.

    Raises:
        CascadeError: if the file cannot be written.
    """
    write_bytes(path, table_bytes(table), through=through)


def table_bytes(table: "pd.DataFrame") -> bytes:
    """Return `table` as CSV, with ten digits: more than a fit has, and few enough to hide how a machine rounds."""
    return table.to_csv(index=False, float_format="%.10g", lineterminator="\n").encode()


def as_csv(values: Sequence[Any]) -> str:
    """Return values as a line of CSV without its end; numbers in the shortest form that reads back the same."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(values)
    return text.getvalue()


# --- The files of a sweep: no other output replaces them ------------------------------------------------------------

WRITTEN = (
    *(MANIFEST, JOURNAL, TRIALS_CSV, f"{TRIALS_CSV}.gz", SUMMARY_CSV, TIMINGS_CSV, FAILURES),
    *(ANSWERS_CSV, DECISIONS_CSV, TRACES_CSV),
)
"""Names of the files that a sweep writes; files of these names that somebody else made would be lost."""


def refuse_to_replace(path: Path, read: Iterable[Path] = ()) -> None:
    """Raise `ConfigError` for an output that would replace what was read for it, or what a sweep has written."""
    place = os.path.realpath(path)
    folder, name = os.path.split(place)
    swept = name in WRITTEN and os.path.exists(os.path.join(folder, MANIFEST))
    if swept or place in map(os.path.realpath, read):
        whose = "a file of a sweep" if swept else "what this command reads"
        raise ConfigError(f"{path} is {whose} and stays as it is; name another file")


# --- One writer for a result directory, who notices if the directory is replaced ------------------------------------
#
# At most one process at a time writes to a directory. On file systems without locks a file says which process that is.

_LOCK, _OWNER = ".lock", ".owner"
"""The second takes the place of the first on file systems without locks."""
_NO_LOCKS = (errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors of a file system that has no locks."""


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


class Held:
    """A directory that is held for writing.

    Args:
        handle: handle of its lock file; while that is open, no other file can have the same inode.
        predecessor: number of the process that held it before and was killed, if there was one.
    """

    def __init__(self, directory: Path, handle: int, predecessor: int | None = None) -> None:
        self.directory, self.predecessor, self._lock = directory, predecessor, os.fstat(handle)

    def check(self) -> None:
        """Raise `CascadeError` if this name no longer leads to the directory that was locked."""
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.samestat(os.lstat(self.directory / _LOCK), self._lock):
                return
        raise CascadeError(
            f"{self.directory} is not the directory any more that this sweep wrote to: it, or the file {_LOCK} in it, "
            "was removed, moved or replaced; what the sweep had written is gone with it. Run the same command again, "
            "or name another directory with --out"
        )


@contextmanager
def only_writer(directory: Path) -> Iterator[Held]:
    """Hold the directory, made if missing, until the end of the block; the system frees it however the process ends.

    Raises:
        CascadeError: if another process holds it, or it cannot be written to.
    """
    with writing_to(directory.resolve()):
        directory.resolve().mkdir(parents=True, exist_ok=True)
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
        if error.errno not in (errno.EACCES, errno.EAGAIN):
            raise CascadeError(
                f"{directory / _LOCK} cannot be locked ({error.strerror}); choose another --out"
            ) from error
        raise CascadeError(
            f"another sweep is writing to {directory}; wait until it has ended (the same command then "
            "goes on from there), or name another directory with --out"
        ) from None
    return True
