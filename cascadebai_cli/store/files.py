"""Reading and writing files: each is written whole or not at all, and each error is told in one sentence."""

import csv
import errno
import gzip
import hashlib
import io
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EEXIST, EINVAL, EISDIR, ELOOP, ENOTDIR
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
        reason = "a link is there, which is not followed" if error.errno == ELOOP else error.strerror or error
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
        raise OSError(EINVAL, "A file of the kernel")
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind):
        return handle
    os.close(handle)
    error = EISDIR if stat.S_ISDIR(kind) else EINVAL
    raise OSError(error, os.strerror(EISDIR) if error == EISDIR else "Not a regular file")


def _remedy(error: OSError) -> str:
    if error.errno in (EEXIST, EINVAL, EISDIR, ELOOP, ENOTDIR):
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
