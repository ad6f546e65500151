"""A pilot: what the trials of a study are likely to take, from a few that are cut short."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.learners.registry import knows_budget
from cascadebai_cli.running.hardness import hardness
from cascadebai_cli.running.work import Block, Settings
from cascadebai_cli.running.worker import run_blocks
from cascadebai_cli.store.schema import TrialRow
from cascadebai_cli.study.cells import Cell

FIRST_CAP, GROWTH = 1000, 8
"""Steps of the first try, and how many times as many the next one has."""
SIDE_BY_SIDE = {"lockstep": 20, "skip-ahead": 4}
"""Engine that runs trials together -> how many tell what one of them takes."""


@dataclass(frozen=True)
class Pace:
    """What a trial of a cell took.

    Attributes:
        steps, seconds: of one trial.
        ended: whether the trials ended; else both numbers are lower limits.
    """

    steps: float
    seconds: float
    ended: bool


def paces(cells: Sequence[Cell], trials: int, seed: int, seconds: float) -> list[Pace]:
    """What a trial of each cell is likely to take: the easiest and the hardest one are tried, the others lie between.

    Args:
        cells: of one instance and learner.
        trials: how many a cell gets.
        seed: root seed.
        seconds: how long to try, about.

    Raises:
        CascadeError: if a trial raises.
    """
    hard = [_hardness(cell) for cell in cells]
    least, most = min(hard), max(hard)
    easy = _tried(cells[hard.index(least)], trials, seed, seconds / 2 if least < most else seconds)
    if least == most:
        return [easy] * len(cells)
    hardest = cells[hard.index(most)]
    end = _further(easy, _tried(hardest, trials, seed, seconds / 2), hardest, most / least)
    return [_between(easy, end, math.log(one / least) / math.log(most / least)) for one in hard]


def _hardness(cell: Cell) -> float:
    """What the steps grow with, about."""
    return hardness(cell) if cell.budget is None else float(cell.budget)


def _further(easy: Pace, tried: Pace, cell: Cell, harder: float) -> Pace:
    """The hardest cell, as much longer than the easiest one as it is harder if its own trial did not end."""
    if tried.ended or not easy.ended:
        return tried
    steps = min(max(easy.steps * harder, tried.steps), cell.most_steps)
    return Pace(steps, tried.seconds * steps / tried.steps, True)


def _between(easy: Pace, hard: Pace, place: float) -> Pace:
    """Straight lines between the logarithms."""
    steps = easy.steps ** (1 - place) * hard.steps**place
    return Pace(steps, easy.seconds ** (1 - place) * hard.seconds**place, easy.ended and hard.ended)


def _tried(cell: Cell, trials: int, seed: int, seconds: float) -> Pace:
    """The longest trial of a cell that fits into so many seconds."""
    number = min(trials, SIDE_BY_SIDE.get(cell.runs_with, 1))
    cap, before, left = FIRST_CAP, math.inf, seconds
    while True:
        start = time.perf_counter()
        rows = _run(_capped(cell, cap), number, seed)
        took = time.perf_counter() - start
        ended = cap >= cell.most_steps or all(row.status == "stopped" for row in rows)
        left -= took
        if ended or took * min(max(took / before, 2), GROWTH) > left:
            return Pace(sum(row.steps for row in rows) / number, took / number, ended)
        cap, before = cap * GROWTH, took


def _capped(cell: Cell, cap: int) -> Cell:
    if not cell.answers:
        return replace(cell, max_steps=min(cap, cell.most_steps))
    return cell if knows_budget(cell.spec.algorithm) else replace(cell, budget=min(cap, cell.most_steps))


def _run(cell: Cell, trials: int, seed: int) -> list[TrialRow]:
    settings = Settings(seed, fail_fast=True, seconds=math.inf)
    (result,) = run_blocks(settings, [Block(cell, 0, tuple(range(trials)))])
    for failed in result.failed:
        raise CascadeError(f"{cell.label}: a trial fails with {failed.error}; `cascadebai run` tells where")
    return result.finished
