"""Ctrl-C ends a command: the first one tidies up, more of them disturb nothing."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from cascadebai_cli.errors import INTERRUPTED

PATIENCE = 15.0
"""Seconds after which a process that cannot end its workers ends itself; they follow it."""


@contextmanager
def last_interrupt() -> Iterator[None]:
    """The first Ctrl-C raises `KeyboardInterrupt`; more of them, until the process ends, are ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is _interrupt:
            signal.signal(signal.SIGINT, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    last_resort = threading.Timer(PATIENCE, os._exit, [INTERRUPTED])
    last_resort.daemon = True
    last_resort.start()
    raise KeyboardInterrupt
