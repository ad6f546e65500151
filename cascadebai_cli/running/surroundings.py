"""What a learner of one's own may do to the process that it runs in, and how an error of it is said."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def as_before() -> Iterator[None]:
    """Afterwards the working directory is what it was; a process that was forked in between ends here.

    It would go on as a second writer of the same sweep, or a second worker behind the same pipe.
    """
    process, folder = os.getpid(), _folder()
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(1)
        if folder and folder != _folder():
            os.chdir(folder)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def said(error: BaseException) -> str:
    """An error in one line, whatever its text is."""
    name = type(error).__name__
    try:
        lines = str(error).splitlines()
    except Exception:
        lines = []
    return f"{name}: {lines[0]}" if lines and lines[0] else name
