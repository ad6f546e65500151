"""What a user sees while trials run: a bar on a terminal, a plain line now and then otherwise; all on stderr."""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from math import inf
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cascadebai_cli.text.numbers import count, duration

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from cascadebai_cli.running.work import BlockResult

LINE_SECONDS = 10.0
LONGEST_BAR = 20
"""Columns; on a narrow terminal a sixth of it."""
NO_BARS = ("dumb", "unknown")
"""Kinds of terminals that cannot draw over what is there."""


class Progress:
    """Counts trials and cells as results come in, and shows them.

    Args:
        missing: number of trials to run of each cell.
        tell: prints a line.
        quiet: show nothing.
        every: seconds between two lines where there is no bar.
    """

    def __init__(
        self, missing: Sequence[int], tell: Callable[[str], None], *, quiet: bool = False, every: float = LINE_SECONDS
    ) -> None:
        self.trials = self.done = self.steps = self.cells_done = 0
        self._left, self._known = [0] * len(missing), set[int]()
        self.expect(missing)
        self._tell, self._quiet, self._every = tell, quiet or self.trials == 0, every
        self._start = self._latest = time.monotonic()
        self._ended = threading.Event()
        self._bar: Bar | None = None

    def expect(self, missing: Sequence[int]) -> None:
        """Count so many more trials of each cell as to be done."""
        for position, trials in enumerate(missing):
            if trials:
                self.trials += trials
                self.cells_done -= position in self._known and self._left[position] == 0
                self._known.add(position)
                self._left[position] += trials

    @property
    def cells(self) -> int:
        """Cells that had or have trials to run."""
        return len(self._known)

    def update(self, result: "BlockResult") -> None:
        """Count the trials of a block; failed ones count as done."""
        trials = len(result.finished) + len(result.failed)
        self._left[result.position] -= trials
        self.cells_done += self._left[result.position] == 0
        self.done += trials
        self._latest = time.monotonic()
        self.steps += sum(row.steps for row in result.finished)
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=self.done, total=self.trials, text=self._bar_line())

    def line(self, width: float = inf) -> str:
        """Where we are, in one line; what matters least goes first where it is too long."""
        seconds = max(time.monotonic() - self._start, 1e-9)
        trials = f"{count(self.done)} of {count(self.trials)} trials"
        cells = f"{count(self.cells_done)} of {count(self.cells)} cells"
        left = f"time left {self._time_left()}"
        lines = (
            f"{trials}, {cells}, {self.steps / seconds:.2g} steps/s, {left}",
            f"{trials}, {cells}, {left}",
            f"{trials}, {left}",
        )
        return next((line for line in lines if len(line) <= width), left)

    def _bar_line(self) -> str:
        """What fits behind the bar."""
        return self.line(self._bar.console.width - _bar_width(self._bar.console.width) - 1) if self._bar else ""

    def tell(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        if self._bar:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            self._tell(text)

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
