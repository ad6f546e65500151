"""Cutting a sweep into tasks: about a second of work each, or as many trials as run well side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.model.instance import IntArray
from cascadebai_cli.running.hardness import hardness
from cascadebai_cli.running.worker import Block, BlockResult, runs_side_by_side
from cascadebai_cli.study.cells import Cell

TASK_SECONDS = 1.0
LARGEST_TASK = 20_000
"""Rows that a worker may hold back."""


class BlockQueue:
    """An iterator of tasks: lists of blocks of trials.

    Trials that run one after the other come first, those of the hardest cells before others. Their tasks are sized by
    the time that the last trials of the same instance and learner took; the first task of an instance and learner is
    one trial. Towards the end tasks get smaller so that all workers end together. Trials that run faster side by side
    follow, in the same order.

    Args:
        cells: the cells of the grid.
        missing: trials to run of each cell.
        workers: how many work at once.
    """

    def __init__(self, cells: Sequence[Cell], missing: Sequence[IntArray], workers: int) -> None:
        self.workers = workers
        self._groups = [(cell.instance, cell.learner) for cell in cells]
        self._cells, self._missing = cells, missing
        to_run = [index for index, trials in enumerate(missing) if len(trials)]
        to_run.sort(key=lambda index: -hardness(cells[index]))
        together = [index for index in to_run if runs_side_by_side(cells[index])]
        known = set(together)
        self._open = [index for index in to_run if index not in known][::-1]
        self.left = sum(len(missing[index]) for index in self._open)
        self._next = 0
        self._pace: dict[tuple[str, str], float] = {}
        self._side_by_side = _dealt(cells, missing, together, workers)

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
        seconds = TASK_SECONDS
        while room > 0 and (size := self._size(seconds, first=not blocks)) > 0:
            blocks.append(self._take(min(size, room)))
            room -= len(blocks[-1].trials)
            seconds -= len(blocks[-1].trials) * self._pace.get(self._groups[blocks[-1].position], seconds)
        return blocks or next(self._side_by_side)

    def _size(self, seconds: float, first: bool) -> int:
        """How many trials of the next open cell fit into `seconds`; at least one if the task is still empty."""
        if not self._open:
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
        return _block(self._cells, self._missing, index, trials)


def _block(cells: Sequence[Cell], missing: Sequence[IntArray], index: int, trials: Sequence[int] | IntArray) -> Block:
    first = cells[index].is_own and trials[0] == missing[index][0]
    return Block(replace(cells[index], items=()), index, tuple(map(int, trials)), twice=bool(first))


def _dealt(
    cells: Sequence[Cell], missing: Sequence[IntArray], together: Sequence[int], workers: int
) -> Iterator[list[Block]]:
    """Tasks of as many trials as their engine runs best side by side, dealt out evenly to the workers.

    A task takes as long as its longest trial, so every worker gets its share of each cell.
    """
    groups: dict[_Kind, list[int]] = {}
    for index in together:
        groups.setdefault(_kind(cells[index]), []).append(index)
    for kind, group in groups.items():
        trials = [(index, int(trial)) for index in group for trial in missing[index]]
        rounds = -(-len(trials) // (ENGINES[kind.engine].block(kind.L) * workers))
        size = -(-len(trials) // rounds)
        for start in range(0, len(trials), size):
            for worker in range(workers):
                if hand := trials[start + worker : start + size : workers]:
                    yield [
                        _block(cells, missing, index, [trial for _, trial in mine])
                        for index, mine in groupby(hand, key=lambda pair: pair[0])
                    ]


class _Kind(NamedTuple):
    """Cells of equal kind run side by side."""

    engine: str
    L: int
    others: tuple[float | str, ...]


def _kind(cell: Cell) -> _Kind:
    """Skip-ahead takes any `K` together if the bounds are the same, lockstep any bounds if `K` is."""
    skips = cell.runs_with == "skip-ahead"
    return _Kind(cell.runs_with, cell.L, (cell.learner, cell.delta, cell.epsilon) if skips else (cell.K,))
