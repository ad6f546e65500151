"""What is told while trials run, and counts of what came out."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import inf
from typing import TYPE_CHECKING, Protocol

from cascadebai_cli.text.numbers import count, duration

if TYPE_CHECKING:
    from cascadebai_cli.running.worker import BlockResult


# --- What a workflow tells while it works; whoever calls it decides what becomes of that ----------------------------


class Counter(Protocol):
    """Takes in results of blocks, in the order in which they come."""

    def update(self, result: "BlockResult") -> None:
        """Some more trials are done."""

    def expect(self, missing: Sequence[int]) -> None:
        """So many more trials of each cell are about to run."""


class Watch(Protocol):
    """Follows a workflow."""

    def warn(self, text: str) -> None:
        """Something that the user must know, in one sentence."""

    def remark(self, text: str) -> None:
        """Something that the user may want to know, in one sentence."""

    def trials(
        self, missing: Sequence[int], so_far: Callable[[], str] | None = None
    ) -> AbstractContextManager[Counter]:
        """So many trials of each cell are about to run; `so_far` tells in a few words what those that ended say."""


class _Deaf:
    def update(self, result: "BlockResult") -> None:
        pass

    def expect(self, missing: Sequence[int]) -> None:
        pass


class Silent:
    """A `Watch` that nobody looks at."""

    def warn(self, text: str) -> None:
        """Says nothing."""

    def remark(self, text: str) -> None:
        """Says nothing."""

    def trials(
        self, missing: Sequence[int], so_far: Callable[[], str] | None = None
    ) -> AbstractContextManager[Counter]:
        """Counts nothing."""
        return nullcontext(_Deaf())


SILENT = Silent()


# --- Counting trials as their results come in, and where we are in words --------------------------------------------


SAY_SECONDS = 0.5
"""Between two looks at what the trials that ended say."""
LINE_SECONDS = 10.0
"""Between two lines that tell where we are, where they cannot be written over."""


class Tally:
    """A `Counter` of trials and cells.

    Args:
        missing: number of trials to run of each cell.
        so_far: tells in a few words what the trials that ended say.
    """

    def __init__(self, missing: Sequence[int], so_far: Callable[[], str] | None = None) -> None:
        self.trials = self.done = self.steps = self.cells_done = 0
        self._left, self._known = [0] * len(missing), set[int]()
        self.expect(missing)
        self._start = self._latest = time.monotonic()
        self._so_far, self._said, self._said_at = so_far, "", -inf

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

    def line(self, width: float = inf) -> str:
        """Where we are, in one line; what matters least goes first where it is too long."""
        seconds = max(time.monotonic() - self._start, 1e-9)
        trials = f"{count(self.done)} of {count(self.trials)} trials"
        cells = f"{count(self.cells_done)} of {count(self.cells)} cells"
        left = f"time left {self._time_left()}"
        said = self._what_they_say()
        lines = (
            *([f"{trials}, {left}; so far: {said}", f"{left}; so far: {said}"] if said else []),
            f"{trials}, {cells}, {self.steps / seconds:.2g} steps/s, {left}",
            f"{trials}, {cells}, {left}",
            f"{trials}, {left}",
        )
        return next((line for line in lines if len(line) <= width), left)

    def _what_they_say(self) -> str:
        """What the trials that ended say, worked out now and then."""
        due = self.done == self.trials or time.monotonic() - self._said_at > SAY_SECONDS
        if self._so_far and self.done and due:
            self._said, self._said_at = self._so_far(), time.monotonic()
        return self._said

    def _time_left(self) -> str:
        """At the pace so far, unless long trials are running of which that says nothing."""
        if not self.done:
            return "unknown"
        now = time.monotonic()
        seconds, silent = now - self._start, now - self._latest
        if silent > max(LINE_SECONDS, seconds / 2):
            return f"unknown (no trial ended for {duration(silent)})"
        return duration(seconds * (self.trials - self.done) / self.done)
