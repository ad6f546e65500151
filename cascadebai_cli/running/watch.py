"""How a workflow is followed: its messages, its progress, and trials that raise or take long."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cascadebai_cli.text import count, duration

if TYPE_CHECKING:
    from cascadebai_cli.running.worker import Block, BlockResult, Failed
    from cascadebai_cli.store.columns import TrialRow
    from cascadebai_cli.study.cells import Cell

    Rows = list[list[TrialRow]]
    """Finished trials of each cell."""

LINE_SECONDS = 10.0
"""Seconds between two lines of progress, where a line cannot be overwritten."""
_SILENT_SECONDS = 60.0
"""Seconds without an ended trial after which the cells in work are named."""
_SAY_SECONDS = 0.5
"""Seconds between two summaries of the trials that have ended."""
_MOST_TOLD = 10
"""Largest number of failed trials that are reported; the log holds all."""
_MOST_NAMED = 3
"""Largest number of cells in work that are named."""


class Watch:
    """Receives the messages of a workflow. This one shows nothing; the command line and Python have others."""

    def warn(self, text: str) -> None:
        """Take a sentence that the user must know."""

    def remark(self, text: str) -> None:
        """Take a sentence that the user may want to know."""

    def once(self, directories: Sequence[Path]) -> list[Path]:
        """Return each directory once, even if it is given under several names, which is remarked."""
        found: dict[Path, Path] = {}
        for directory in directories:
            first = found.setdefault(directory.resolve(), directory)
            if first is not directory:
                self.remark(f"{directory} is named twice and counts once; was another directory meant?")
        return list(found.values())

    def progress(self, run: "Follower") -> AbstractContextManager[Callable[[], None] | None]:
        """Show how far a run is until the end of the block; yield a function to call after each result, or `None`."""
        return nullcontext()


SILENT = Watch()


@contextmanager
def now_and_then(seconds: float, act: Callable[[], None]) -> Iterator[None]:
    """Call a function every `seconds` seconds until the end of the block, in a separate thread."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(seconds):
            act()

    threading.Thread(target=work, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


class Follower:
    """Follows the trials of a run: counts them, keeps their rows, and reports failures and long silences.

    Args:
        counts: number of trials of each cell that are about to run.
        so_far: says in a few words what the rows so far tell; if it is given, no cells are named in a silence.
        fail: receives each trial that raised; by default it is reported to `watch`.
        repeat: returns the command that runs a trial again, if there is one.
        log: file for the tracebacks; without it, the first one from a user's code is reported to `watch`.
        seconds: processor time of all trials by an estimate, which is told while the time left is unknown.

    Attributes:
        trials, done, failed: numbers of trials in all, of ended trials, and of those that ended with an error.
        rows: finished trials of each cell, unless a sink takes them; sorted when `collect` has ended.
    """

    def __init__(
        self,
        watch: Watch,
        cells: "Sequence[Cell]",
        counts: Sequence[int],
        *,
        so_far: "Callable[[Rows], str] | None" = None,
        fail: "Callable[[Cell, Failed], None] | None" = None,
        repeat: "Callable[[Cell, int], str] | None" = None,
        log: Path | None = None,
        seconds: float | None = None,
    ) -> None:
        self._estimate = f"all of them take some {duration(seconds)} of processor time" if seconds else ""
        self.watch, self._cells, self._so_far = watch, cells, so_far
        self._fail, self._repeat, self._log = fail or self._tell, repeat, log
        self.rows: Rows = [[] for _ in cells]
        self._show: Callable[[], None] | None = None
        self.trials = self.done = self.failed = 0
        self._steps = self._cells_done = 0
        self._left, self._in_work, self._known = [0] * len(counts), Counter[int](), set[int]()
        self.expect(counts)
        self._start = self._latest = time.monotonic()
        self._said, self._said_at, self._named_at = "", -inf, -inf

    @contextmanager
    def shown(self) -> Iterator[Self]:
        """Show how far the run is until the end of the block, then say how many trials failed."""
        if self._log is not None:
            self._log.unlink(missing_ok=True)  # that of an earlier run
        with self.watch.progress(self) as self._show:
            yield self
        if self.failed and self._fail == self._tell:
            where = f"; all of them with their tracebacks: {self._log}" if self._log else ""
            self.watch.warn(f"{self.failed} trial{'s' * (self.failed > 1)} failed{where}")

    def expect(self, counts: Sequence[int]) -> None:
        """Add `counts` trials of each cell to those that are to be run."""
        for position, trials in enumerate(counts):
            if trials:
                self.trials += trials
                self._cells_done -= position in self._known and self._left[position] == 0
                self._known.add(position)
                self._left[position] += trials

    def hand_out(self, blocks: "list[Block]") -> "list[Block]":
        """Count the trials of a task as in work, and return the task."""
        for block in blocks:
            self._in_work[block.position] += len(block.trials)
        return blocks

    def keep(self, result: "BlockResult") -> None:
        """Keep the rows of a block."""
        self.rows[result.position] += result.finished

    def update(self, result: "BlockResult") -> None:
        """Count the trials of a block as done, and report those that failed."""
        ended = len(result.finished) + len(result.failed)
        self._in_work[result.position] -= ended + len(result.paused)
        self._left[result.position] -= ended
        self._cells_done += self._left[result.position] == 0
        self.done += ended
        self._steps += sum(row.steps for row in result.finished)
        if ended or not result.paused:
            self._latest = time.monotonic()
        if self._show:
            self._show()
        for failed in result.failed:
            self.failed += 1
            self._fail(self._cells[result.position], failed)

    def _tell(self, cell: "Cell", failed: "Failed") -> None:
        text = f"trial {failed.trial} of {cell.label} (cell {cell.cell_id}) failed: {failed.error}"
        text += f"; repeat it with: {self._repeat(cell, failed.trial)}" if self._repeat else ""
        if self.failed <= _MOST_TOLD:
            self.watch.warn(text)
        if self._log is not None:
            _append(self._log, f"{text}\n{failed.trace}\n")
        elif failed.own and self.failed == 1:
            self.watch.remark(failed.trace.rstrip())

    def listen(self) -> None:
        """Remark once on each long silence."""
        silent = time.monotonic() - self._latest
        if silent >= _SILENT_SECONDS and self._named_at != self._latest and self._so_far is None:
            self._named_at = self._latest
            self.watch.remark(self._in_silence(silent))

    def in_work(self) -> str:
        """Return the names of the cells that trials in work belong to, of many only the first."""
        cells = self._cells_in_work()
        names = [cell.label for cell in cells[:_MOST_NAMED]]
        names += [f"{len(cells) - _MOST_NAMED} more"] * (len(cells) > _MOST_NAMED)
        return "; ".join(names)

    def _cells_in_work(self) -> "list[Cell]":
        return [self._cells[position] for position, trials in sorted(dict(self._in_work).items()) if trials > 0]

    def _in_silence(self, seconds: float) -> str:
        cells = self._cells_in_work()
        capped = all(cell.max_steps or cell.answers for cell in cells)  # a budget and a cap exclude each other
        remedy = "" if capped else "; max_steps, or --max-steps N, caps the steps of a trial"
        return f"no trial ended for {seconds:.0f} s; in work: {self.in_work()}{remedy}"

    def line(self, width: float = inf) -> str:
        """Return in one line how far the run is; in a narrow terminal the least important part is left out."""
        seconds = max(time.monotonic() - self._start, 1e-9)
        trials = f"{count(self.done)} of {count(self.trials)} trials"
        cells = f"{count(self._cells_done)} of {count(len(self._known))} cells"
        left = f"time left {self._time_left()}"
        said = self._what_they_say()
        lines = (
            *([f"{trials}, {left}; so far: {said}", f"{left}; so far: {said}"] if said else []),
            f"{trials}, {cells}, {self._steps / seconds:.2g} steps/s, {left}",
            f"{trials}, {cells}, {left}",
            f"{trials}, {left}",
        )
        return next((line for line in lines if len(line) <= width), left)

    def _what_they_say(self) -> str:
        """Return what the trials that have ended say, worked out anew only now and then."""
        due = self.done == self.trials or time.monotonic() - self._said_at > _SAY_SECONDS
        if self._so_far and self.done and due:
            self._said, self._said_at = self._so_far(self.rows), time.monotonic()
        return self._said

    def _time_left(self) -> str:
        """Return the time left at the pace so far; it is unknown while long trials run, which have no known pace."""
        if not self.done:
            return f"unknown ({self._estimate})" if self._estimate else "unknown"
        now = time.monotonic()
        seconds, silent = now - self._start, now - self._latest
        if silent > max(LINE_SECONDS, seconds / 2):
            return f"unknown ({'; '.join(filter(None, [f'no trial ended for {duration(silent)}', self._estimate]))})"
        return duration(seconds * (self.trials - self.done) / self.done)


def _append(log: Path, text: str) -> None:
    from cascadebai_cli.store.files import open_to_write, writing_to  # `--help` does without

    with writing_to(log), os.fdopen(open_to_write(log, os.O_APPEND), "ab") as file:
        file.write(text.encode(errors="backslashreplace"))
