"""Cutting a sweep into tasks that each keep a worker busy for about a second."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cascadebai_cli.experiment.cells import Cell
from cascadebai_cli.experiment.worker import Block, BlockResult, runs_side_by_side
from cascadebai_cli.model.instance import IntArray

TASK_SECONDS = 1.0
LARGEST_TASK = 20_000
"""Rows that a worker may hold back."""
LOCKSTEP_ROWS = 200
"""Trials that run side by side: more are hardly faster, and an interruption would lose more."""


class BlockQueue:
    """An iterator of tasks: lists of blocks of trials, in the order of the grid.

    A task is sized by the time that the last trials of the same instance and learner took. The first task of an
    instance and learner is one trial. Trials that run faster side by side are given out up to `LOCKSTEP_ROWS` at a
    time instead, of several cells. Towards the end tasks get smaller so that all workers end together.

    Args:
        cells: the cells of the grid.
        missing: trials to run of each cell.
        workers: how many work at once.
    """

    def __init__(self, cells: Sequence[Cell], missing: Sequence[IntArray], workers: int) -> None:
        self.workers = workers
        self.left = sum(map(len, missing))
        self._groups = [(cell.instance, cell.learner) for cell in cells]
        self._cells, self._missing = cells, missing
        self._together = [runs_side_by_side(cell) for cell in cells]
        self._open = [index for index, trials in enumerate(missing) if len(trials)][::-1]
        self._next = 0
        self._pace: dict[tuple[str, str], float] = {}

    def learn(self, result: BlockResult) -> None:
        """Take in how long the trials of a block took."""
        if result.finished:
            seconds = sum(row.seconds for row in result.finished)
            self._pace[self._groups[result.position]] = seconds / len(result.finished)

    def __iter__(self) -> Iterator[list[Block]]:
        return self

    def __next__(self) -> list[Block]:
        blocks: list[Block] = []
        room = min(LARGEST_TASK, -(-self.left // (2 * self.workers)))
        if self._open and self._together[self._open[-1]]:
            return self._side_by_side(min(room, LOCKSTEP_ROWS))
        seconds = TASK_SECONDS
        while room > 0 and (size := self._size(seconds, first=not blocks)) > 0:
            blocks.append(self._take(min(size, room)))
            room -= len(blocks[-1].trials)
            seconds -= len(blocks[-1].trials) * self._pace.get(self._groups[blocks[-1].position], seconds)
        if not blocks:
            raise StopIteration
        return blocks

    def _side_by_side(self, room: int) -> list[Block]:
        blocks: list[Block] = []
        while room > 0 and self._open and self._together[self._open[-1]]:
            blocks.append(self._take(room))
            room -= len(blocks[-1].trials)
        return blocks

    def _size(self, seconds: float, first: bool) -> int:
        """How many trials of the next open cell fit into `seconds`; at least one if the task is still empty."""
        if not self._open or self._together[self._open[-1]]:
            return 0
        pace = self._pace.get(self._groups[self._open[-1]])
        fitting = 0 if pace is None else min(LARGEST_TASK, int(seconds / max(pace, 1e-9)))
        return max(fitting, 1) if first else max(fitting, 0)

    def _take(self, size: int) -> Block:
        index = self._open[-1]
        trials = self._missing[index][self._next : self._next + size]
        self._next += len(trials)
        self.left -= len(trials)
        if self._next >= len(self._missing[index]):
            self._open.pop()
            self._next = 0
        return Block(replace(self._cells[index], items=()), index, tuple(trials.tolist()))
