"""The terminal: progress, messages, results, and Ctrl-C."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from cascadebai_cli.errors import INTERRUPTED
from cascadebai_cli.running.watch import LINE_SECONDS, Tally
from cascadebai_cli.text.table import for_terminal

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from cascadebai_cli.running.worker import BlockResult


# --- What a user sees while trials run: a bar on a terminal, a plain line now and then otherwise; all on stderr -----


LONGEST_BAR = 20
"""Columns; on a narrow terminal a sixth of it."""
NO_BARS = ("dumb", "unknown")
"""Kinds of terminals that cannot draw over what is there."""


class Progress(Tally):
    """Counts trials and cells as results come in, and shows them.

    Args:
        missing: number of trials to run of each cell.
        tell: prints a line.
        quiet: show nothing.
        every: seconds between two lines where there is no bar.
        so_far: as for `Tally`.
    """

    def __init__(
        self,
        missing: Sequence[int],
        tell: Callable[[str], None],
        *,
        quiet: bool = False,
        every: float = LINE_SECONDS,
        so_far: Callable[[], str] | None = None,
    ) -> None:
        super().__init__(missing, so_far)
        self._tell, self._quiet, self._every = tell, quiet or self.trials == 0, every
        self._ended = threading.Event()
        self._bar: Bar | None = None

    def update(self, result: "BlockResult") -> None:
        """Count the trials of a block, and show it."""
        super().update(result)
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=self.done, total=self.trials, text=self._bar_line())

    def _bar_line(self) -> str:
        """What fits behind the bar."""
        return self.line(self._bar.console.width - _bar_width(self._bar.console.width) - 1) if self._bar else ""

    def tell(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        if self._bar:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            self._tell(text)

    def __enter__(self) -> Self:
        if self._quiet:
            return self
        if sys.stderr.isatty() and os.environ.get("TERM") not in NO_BARS:
            self._bar = _bar(self.trials)
            self._bar.update(self._bar.task_ids[0], text=self._bar_line())
            self._bar.start()
        else:
            threading.Thread(target=self._speak, daemon=True).start()
        return self

    def _speak(self) -> None:
        while not self._ended.wait(self._every):
            self._tell(self.line())

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None) -> None:
        self._ended.set()
        if self._bar:
            # what a terminal prints of Ctrl-C moves the bar, so that it cannot be drawn over
            self._bar.live.transient = kind is KeyboardInterrupt
            self._bar.stop()
            self._bar = None


def _bar(trials: int) -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    text = TextColumn("{task.fields[text]}", markup=False)
    bar = Bar(BarColumn(bar_width=_bar_width(console.width)), text, console=console)
    bar.add_task("", total=trials, text="")
    return bar


def _bar_width(columns: int) -> int:
    return min(LONGEST_BAR, columns // 6)


# --- Ctrl-C ends a command: the first one tidies up, more of them disturb nothing -----------------------------------


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


# --- What a user reads: results on stdout, messages on stderr, whatever these can show ------------------------------


def prepare_streams() -> None:
    """Letters that the encoding of a stream lacks stand as `\\u4e00`; a stream that is closed swallows what it gets.

    Without the latter the next file to be opened would become stdout, and what others print would go into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8"))  # noqa: SIM115 - to the end of the process
        elif reconfigure := getattr(getattr(sys, name), "reconfigure", None):
            reconfigure(errors="backslashreplace")


def tell(text: str) -> None:
    """A message, on stderr."""
    typer.echo(for_terminal(text), err=True)


def say(text: object) -> None:
    """A result, on stdout."""
    typer.echo(for_terminal(str(text)))


def end_with(success: bool) -> None:
    """End with exit code 1 unless all went well."""
    if not success:
        raise typer.Exit(1)


class Terminal:
    """Shows what a workflow tells: a `Watch`.

    Args:
        quiet: show warnings only.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._progress: Progress | None = None

    def warn(self, text: str) -> None:
        """A line that is always shown."""
        if self._progress:
            self._progress.tell(for_terminal(text))
        else:
            tell(text)

    def remark(self, text: str) -> None:
        """A line for those who want to follow."""
        if not self._quiet:
            self.warn(text)

    def trials(self, missing: Sequence[int], so_far: Callable[[], str] | None = None) -> Progress:
        """A bar or lines."""
        self._progress = Progress(missing, tell, quiet=self._quiet, so_far=so_far)
        return self._progress
