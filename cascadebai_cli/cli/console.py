"""What a user sees while trials run: a bar on a terminal, a plain line now and then otherwise; all on stderr."""

import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from cascadebai_cli.text.clean import for_terminal
from cascadebai_cli.text.numbers import count, duration

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from cascadebai_cli.running.worker import BlockResult

LINE_SECONDS = 10.0


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

    def warn(self, text: str) -> None:
        """A line that is always shown."""
        tell(text)

    def remark(self, text: str) -> None:
        """A line for those who want to follow."""
        if not self._quiet:
            tell(text)

    def trials(self, missing: Sequence[int]) -> "Progress":
        """A bar or lines."""
        return Progress(missing, quiet=self._quiet)


class Progress:
    """Counts trials and cells as results come in, and shows them.

    Args:
        missing: number of trials to run of each cell.
        quiet: show nothing.
        every: seconds between two lines where there is no terminal.
    """

    def __init__(self, missing: Sequence[int], *, quiet: bool = False, every: float = LINE_SECONDS) -> None:
        self.trials, self.cells = sum(missing), sum(trials > 0 for trials in missing)
        self.done = self.cells_done = self.steps = 0
        self._left = list(missing)
        self._quiet, self._every = quiet or self.trials == 0, every
        self._start = self._latest = time.monotonic()
        self._ended = threading.Event()
        self._bar: Bar | None = None

    def update(self, result: "BlockResult") -> None:
        """Count the trials of a block; failed ones count as done."""
        trials = len(result.finished) + len(result.failed)
        self._left[result.position] -= trials
        self.cells_done += self._left[result.position] == 0
        self.done += trials
        self._latest = time.monotonic()
        self.steps += sum(row.steps for row in result.finished)
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=self.done, text=self.line())

    def line(self) -> str:
        """Where we are, in one line."""
        seconds = max(time.monotonic() - self._start, 1e-9)
        return (
            f"{count(self.done)} of {count(self.trials)} trials, "
            f"{count(self.cells_done)} of {count(self.cells)} cells, "
            f"{self.steps / seconds:.2g} steps/s, time left {self._time_left()}"
        )

    def _time_left(self) -> str:
        """At the pace so far, unless long trials are running of which that says nothing."""
        if not self.done:
            return "unknown"
        now = time.monotonic()
        seconds, silent = now - self._start, now - self._latest
        if silent > max(LINE_SECONDS, seconds / 2):
            return f"unknown (no trial ended for {duration(silent)})"
        return duration(seconds * (self.trials - self.done) / self.done)

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            self._bar = _bar(self.trials, self.line())
            self._bar.start()
        elif not self._quiet:
            threading.Thread(target=self._speak, daemon=True).start()
        return self

    def _speak(self) -> None:
        while not self._ended.wait(self._every):
            tell(self.line())

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None) -> None:
        self._ended.set()
        if self._bar:
            self._bar.stop()


def _bar(trials: int, text: str) -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(BarColumn(bar_width=20), TextColumn("{task.fields[text]}", markup=False), console=Console(stderr=True))
    bar.add_task("", total=trials, text=text)
    return bar
