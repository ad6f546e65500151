"""Interrupts: Ctrl-C does no harm, and what a killed process left behind is removed."""

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

# --- Ctrl-C ---------------------------------------------------------------------------------------------------------


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Raise `KeyboardInterrupt` at the first Ctrl-C; ignore further ones until the end of the block, for tidying up.

    A handler of Ctrl-C that is not Python's default, such as that of the command line, stays in place.
    """
    if not _in_main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block.

    Processes that are started in the block never get it: a terminal sends it to all its processes, but it is meant for
    the parent alone.
    """
    if not _in_main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)
        if held:
            signal.raise_signal(signal.SIGINT)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


# --- What a killed sweep left in shared memory, under names that hold the number of its process ---------------------


_PLACES = ("/dev/shm", tempfile.gettempdir())
_NAMES = ("sem.loky-{}-*", "joblib_memmapping_folder_{}_*")


def remove_leftovers(process: int) -> None:
    """Remove the semaphores and folders of a process that is gone, and those of no other process."""
    for place in {*_PLACES, os.environ.get("JOBLIB_TEMP_FOLDER", _PLACES[0])}:
        for name in _NAMES:
            for path in Path(place).glob(name.format(process)):
                with suppress(OSError):
                    _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
