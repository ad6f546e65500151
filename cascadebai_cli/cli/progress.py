"""What a user sees while trials run: a bar on a terminal, a plain line now and then otherwise; all on stderr."""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cascadebai_cli.workflows.tally import LINE_SECONDS, Tally

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from cascadebai_cli.running.work import BlockResult

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
