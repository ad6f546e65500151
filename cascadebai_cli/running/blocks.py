"""Cutting a grid into blocks for the workers, by hardness and memory."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import IntArray
from cascadebai_cli.running.worker import Begun, Block, BlockResult, runs_side_by_side
from cascadebai_cli.study.axes import AXES
from cascadebai_cli.study.cells import Cell

# --- Which cells are likely to take long: they are dealt out first, so that the time left becomes known early -------


def guessed_steps(cell: Cell) -> float:
    """Return a guess of the steps of a trial, up to a factor: `log(1/delta)` times the sum of `1 / gap^2`, over `mu`.

    This has the order of the paper's bounds (Section 4.1); `mu` is the expected number of observations of a list of the
    best items. Only the order of work depends on the guess.
    """
    problem = cell.problem
    gaps = np.maximum(problem.gaps, max(problem.epsilon, np.finfo(float).tiny ** 0.25))
    batch = cell.spec.options.get("b")
    further = (batch if isinstance(batch, int) else cell.K) - 1
    unseen = 0.0 if cell.feedback.observes_all else problem.sorted_weights[:further]
    mu = 1 + np.cumprod(np.ones(further) - unseen).sum()
    return float(np.log(1 / cell.delta) * (gaps**-2.0).sum() / mu)


# --- Refusing trials for which this machine has too little memory ---------------------------------------------------


_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container says how much of the machine it may have."""
_GB = 10**9


def refuse_too_large(cells: Sequence[Cell], missing: Sequence[IntArray], workers: int) -> None:
    """Refuse trials that take more memory than there is.

    Args:
        cells: the cells of the grid.
        missing: trials to run of each cell.
        workers: largest number of trials that run at once.

    Raises:
        ConfigError: if the largest trials, one per worker, take more than there is.
    """
    trials = [min(len(some), workers) for some in missing]
    each = [_trial_memory(cell) if number else 0 for cell, number in zip(cells, trials, strict=True)]
    at_once = -np.sort(-np.repeat(np.array(each, np.int64), trials))[:workers]
    there = machine_memory()
    if there is None or int(at_once.sum()) <= there:
        return
    together = f", {len(at_once)} at once {_gb(int(at_once.sum()))}" if len(at_once) > 1 else ""
    fewer = ", or a smaller --n-jobs" if len(at_once) > 1 else ""
    raise ConfigError(
        f"{cells[int(np.argmax(each))].label}: a trial takes about {_gb(max(each))} of memory{together}, but this "
        f"machine has {_gb(there)}; choose fewer items{fewer}"
    )


def _trial_memory(cell: Cell) -> int:
    """Return about how many bytes a trial takes."""
    return ENGINES[cell.runs_with].memory(cell.L, cell.rewards, cell.most_steps)


def machine_memory() -> int | None:
    """Return the bytes of memory that this machine or its container has; `None` if it does not say."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    return min([there, *(int(text) for text in map(_read, _LIMITS) if text.isdigit())])


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _gb(value: int) -> str:
    return f"{value / _GB:.1f} GB"


# --- Cutting a sweep into tasks: about a second of work each, or as many trials as run well side by side ------------


_Place = tuple[int, int]
"""Position of a cell, and number of a trial."""

TASK_SECONDS = 1.0
_LARGEST_TASK = 20_000
"""Largest number of trials of a task, whose rows the worker holds back until the end."""


class BlockQueue:
    """An iterator of tasks: lists of blocks of trials.

    Trials that run one after the other come first, those of the hardest cells before others. Their tasks are sized by
    the time that the latest trials of the same instance and learner took; the first task of an instance and learner is
    a single trial. Towards the end tasks get smaller, so that all workers end together. Then come, in the same order,
    trials that run faster side by side; those that come back paused are dealt out again once all tasks are done.

    Args:
        cells: the cells of the grid.
        missing: trials to run of each cell.
        workers: number of workers.
    """

    def __init__(self, cells: Sequence[Cell], missing: Sequence[IntArray], workers: int) -> None:
        self.workers = workers
        self._groups = [(cell.instance, cell.learner) for cell in cells]
        self._cells, self._missing = cells, missing
        to_run = [index for index, trials in enumerate(missing) if len(trials)]
        to_run.sort(key=lambda index: -guessed_steps(cells[index]))
        together = [index for index in to_run if runs_side_by_side(cells[index])]
        known = set(together)
        self._open = [index for index in to_run if index not in known][::-1]
        self.left = sum(len(missing[index]) for index in self._open)
        self._next = 0
        self._pace: dict[tuple[str, str], float] = {}
        self._begun: dict[_Place, Begun] = {}
        self._side_by_side = _dealt(cells, missing, together, workers, {})

    def learn(self, result: BlockResult) -> None:
        """Take in how long the trials of a block took, and which were paused."""
        self._begun |= {(result.position, begun.trial): begun for begun in result.paused}
        if result.finished:
            seconds = sum(row.seconds for row in result.finished)
            self._pace[self._groups[result.position]] = seconds / len(result.finished)

    def deal_again(self) -> bool:
        """Deal out the paused trials, and return whether there are any."""
        begun, self._begun = self._begun, {}
        trials = [np.array(sorted(trial for at, trial in begun if at == index)) for index in range(len(self._cells))]
        together = sorted({index for index, _ in begun})
        self._side_by_side = _dealt(self._cells, trials, together, self.workers, begun)
        return bool(begun)

    def __iter__(self) -> Iterator[list[Block]]:
        return self

    def __next__(self) -> list[Block]:
        blocks: list[Block] = []
        room = min(_LARGEST_TASK, -(-self.left // (2 * self.workers)))
        seconds = TASK_SECONDS
        while room > 0 and (size := self._size(seconds, first=not blocks)) > 0:
            blocks.append(self._take(min(size, room)))
            room -= len(blocks[-1].trials)
            seconds -= len(blocks[-1].trials) * self._pace.get(self._groups[blocks[-1].position], seconds)
        return blocks or next(self._side_by_side)

    def _size(self, seconds: float, first: bool) -> int:
        """Return how many trials of the next open cell fit into `seconds`; at least one if the task is still empty."""
        if not self._open:
            return 0
        pace = self._pace.get(self._groups[self._open[-1]])
        fitting = 0 if pace is None else min(_LARGEST_TASK, int(seconds / max(pace, 1e-9)))
        return max(fitting, 1) if first else max(fitting, 0)

    def _take(self, size: int) -> Block:
        index = self._open[-1]
        trials = self._missing[index][self._next : self._next + size]
        self._next += len(trials)
        self.left -= len(trials)
        if self._next >= len(self._missing[index]):
            self._open.pop()
            self._next = 0
        twice = self._cells[index].is_own and trials[0] == self._missing[index][0]
        return _block(self._cells, index, trials)._replace(twice=bool(twice))


def _block(cells: Sequence[Cell], index: int, trials: Sequence[int] | IntArray) -> Block:
    return Block(replace(cells[index], items=()), index, tuple(map(int, trials)))


def _dealt(
    cells: Sequence[Cell],
    missing: Sequence[IntArray],
    together: Sequence[int],
    workers: int,
    begun: Mapping[_Place, Begun],
) -> Iterator[list[Block]]:
    """Yield tasks of as many trials as their engine runs best side by side, dealt out evenly to the workers.

    A task takes as long as its longest trial, so every worker gets its share of each cell.
    """
    groups: dict[_Kind, list[int]] = {}
    for index in together:
        groups.setdefault(_kind(cells[index]), []).append(index)
    for kind, group in groups.items():
        paths = _paths(cells, missing, group)
        rounds = -(-len(paths) // (ENGINES[kind.engine].block(kind.L) * workers))
        size = -(-len(paths) // rounds)
        rank = {index: i for i, index in enumerate(group)}
        for start in range(0, len(paths), size):
            for worker in range(workers):
                if hand := paths[start + worker : start + size : workers]:
                    places = sorted(chain(*hand), key=lambda place: rank[place[0]])
                    yield [_block_of(cells, list(mine), begun) for _, mine in groupby(places, key=lambda pair: pair[0])]


def _paths(cells: Sequence[Cell], missing: Sequence[IntArray], group: Sequence[int]) -> list[list[_Place]]:
    """Return the trials of a group of cells; those asked at several budgets of the same run are together."""
    paths: dict[tuple[str, int], list[_Place]] = {}
    for index in group:
        for trial in missing[index].tolist():
            paths.setdefault((cells[index].path_id, trial), []).append((index, trial))
    return list(paths.values())


def _block_of(cells: Sequence[Cell], places: Sequence[_Place], begun: Mapping[_Place, Begun]) -> Block:
    """Return the block of some trials of one cell."""
    block = _block(cells, places[0][0], [trial for _, trial in places])
    return block._replace(begun=tuple(begun[place] for place in places if place in begun))


class _Kind(NamedTuple):
    """Cells of equal kind run side by side."""

    engine: str
    L: int
    others: tuple[float | str, ...]


def _kind(cell: Cell) -> _Kind:
    """Return the kind of a cell.

    Skip-ahead runs cells with the same bounds side by side, whatever their `K`; lockstep those with the same `K`,
    whatever their bounds.
    """
    bounds = [getattr(cell, name) for name in AXES if name not in ("L", "K")]
    skips = cell.runs_with == "skip-ahead"
    return _Kind(cell.runs_with, cell.L, (cell.learner, *bounds) if skips else (cell.K,))
