"""One writer where the file system has no locks: a file that says which process writes."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.files import open_to_write, reading, writing_to
from cascadebai_cli.store.schema import OWNER


def this_process() -> str:
    """Machine and number of this process, as a file holds them."""
    return f"{platform.node()} {os.getpid()}"


def gone(text: str) -> int | None:
    """The number of the process that a text names, if it was one of this machine and is gone."""
    host, _, process = text.rpartition(" ")
    if host != platform.node() or not process.isdecimal() or _alive(int(process)):
        return None
    return int(process)


@contextmanager
def owning(directory: Path) -> Iterator[None]:
    """Own the directory; what a process of this machine that is gone has left is taken over.

    Raises:
        CascadeError: if another process owns it, or it cannot be written to.
    """
    path, mine = directory / OWNER, this_process()
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
    return gone(_owner(path)) is not None


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
