"""How a script or a notebook follows trials: warnings of Python, and a line on stderr where somebody looks on."""

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cascadebai_cli.text.clean import for_terminal
from cascadebai_cli.workflows.tally import Tally

if TYPE_CHECKING:
    from cascadebai_cli.running.work import BlockResult

PACKAGE = __name__.partition(".")[0]
PATIENCE, PAUSE = 2.0, 0.2
"""Seconds until the line appears, and between two changes of it."""
WIDTH = 79


class Onlooker:
    """A `Watch` for callers from Python.

    Args:
        progress: whether to show how far the trials are; where somebody looks on, if `None`.
    """

    def __init__(self, progress: bool | None = None) -> None:
        self._shows = _somebody_looks_on() if progress is None else progress

    def warn(self, text: str) -> None:
        """A `UserWarning` at the line of the caller."""
        warnings.warn(for_terminal(text.removeprefix("warning: ")), stacklevel=_level_of_the_caller())

    def remark(self, text: str) -> None:
        """Says nothing."""

    def trials(self, missing: Sequence[int], so_far: Callable[[], str] | None = None) -> "Line":
        """A line, written over and over."""
        return Line(missing, self._shows, so_far)


class Line(Tally):
    """One line on stderr that says where the trials are; short runs have none, and it is gone at the end.

    Args:
        missing: number of trials to run of each cell.
        shows: whether there is a line at all.
        so_far: as for `Tally`.
    """

    def __init__(self, missing: Sequence[int], shows: bool = True, so_far: Callable[[], str] | None = None) -> None:
        super().__init__(missing, so_far)
        self._shows, self._written = shows and sys.stderr is not None, ""
        self._next = time.monotonic() + PATIENCE

    def update(self, result: "BlockResult") -> None:
        """Count the trials of a block, and show it."""
        super().update(result)
        if self._shows and time.monotonic() >= self._next:
            self._next = time.monotonic() + PAUSE
            self._write(self.line(WIDTH))

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text.ljust(len(self._written))}")
        sys.stderr.flush()
        self._written = text

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._written:
            self._write("")
            self._write("")


def _somebody_looks_on() -> bool:
    """Whether stderr is a terminal or a notebook."""
    return sys.stderr is not None and (
        sys.stderr.isatty() or type(sys.stderr).__module__.partition(".")[0] == "ipykernel"
    )


def _level_of_the_caller() -> int:
    """How many frames above whoever asks the code outside of this package begins."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in (PACKAGE, "contextlib")
