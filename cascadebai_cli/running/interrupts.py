"""Ctrl-C at a moment when it does no harm."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from cascadebai_cli.errors import INTERRUPTED


@contextmanager
def one_interrupt(patience: float | None = None) -> Iterator[None]:
    """Raise `KeyboardInterrupt` at the first Ctrl-C; ignore further ones until the end of the block, for tidying up.

    Args:
        patience: seconds after which the process ends itself, if it ends with the block; further ones are ignored up
            to its end. Without it, a handler of Ctrl-C that is not Python's default stays in place.
    """
    before = signal.getsignal(signal.SIGINT)
    if not _in_main_thread() or (patience is None and before is not signal.default_int_handler):
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if patience is not None:
            last_resort = threading.Timer(patience, os._exit, [INTERRUPTED])
            last_resort.daemon = True
            last_resort.start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if patience is None or signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, before)


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
