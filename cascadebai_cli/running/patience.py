"""What is said when trials take long: which cells are in work, and how they can be cut short."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self

from cascadebai_cli.running.work import Block, BlockResult
from cascadebai_cli.study.cells import Cell

SILENT_SECONDS = 60.0
MOST_NAMED = 3


class Patience:
    """Says which cells are in work once no trial has ended for a while.

    Args:
        cells: the cells of the grid.
        tell: takes the sentence, in a thread of its own.
        after: seconds.
    """

    def __init__(self, cells: Sequence[Cell], tell: Callable[[str], None], after: float | None = None) -> None:
        self._cells, self._tell = cells, tell
        self._after = SILENT_SECONDS if after is None else after
        self._out: Counter[int] = Counter()
        self._heard = threading.Event()
        self._ended = False

    def hand_out(self, tasks: Iterable[list[Block]]) -> Iterator[list[Block]]:
        """The tasks, seen as in work from here on."""
        for blocks in tasks:
            for block in blocks:
                self._out[block.position] += len(block.trials)
            yield blocks

    def take_back(self, result: BlockResult) -> None:
        """Some trials have ended, or were paused."""
        ended = len(result.finished) + len(result.failed)
        self._out[result.position] -= ended + len(result.paused)
        if ended or not result.paused:
            self._heard.set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._ended = True
        self._heard.set()

    def _listen(self) -> None:
        """One sentence for each silence."""
        while not self._ended:
            self._heard.clear()
            start = time.monotonic()
            if not self._heard.wait(self._after):
                self._tell(self.sentence(time.monotonic() - start))
                self._heard.wait()

    def sentence(self, seconds: float) -> str:
        """What is in work after so many seconds of silence."""
        cells = [self._cells[position] for position, trials in sorted(dict(self._out).items()) if trials > 0]
        names = [cell.label for cell in cells[:MOST_NAMED]] + [f"{len(cells) - MOST_NAMED} more"] * (
            len(cells) > MOST_NAMED
        )
        remedy = (
            "" if all(cell.max_steps for cell in cells) else "; max_steps, or --max-steps N, caps the steps of a trial"
        )
        return f"no trial ended for {seconds:.0f} s; in work: {'; '.join(names)}{remedy}"
