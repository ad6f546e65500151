"""The verb `check`, and the pilot that tells how long a sweep will take."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.bounds import learner_bounds
from cascadebai_cli.analysis.provenance import spans
from cascadebai_cli.analysis.tables import StudyTable
from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.errors import CascadeError
from cascadebai_cli.learners.registry import knows_budget
from cascadebai_cli.running.interrupts import one_interrupt
from cascadebai_cli.running.runner import guessed_steps, refuse_too_large
from cascadebai_cli.running.worker import Block, Settings, run_blocks
from cascadebai_cli.store.columns import Shown, TrialRow, printed
from cascadebai_cli.study.axes import ALL_AXES, GRID
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import NOTHING_GIVEN, Given, Study, check_rows, read_study
from cascadebai_cli.study.fields import first_of, most_of
from cascadebai_cli.text import NO_NUMBER, Table, count, duration, is_missing, number, parameter
from cascadebai_cli.workflows.tables import in_format

__all__ = ["Checked", "Given", "check", "in_format"]


# --- The pilot: an estimate of how long trials take, from a few that are cut short ----------------------------------


_FIRST_CAP, _GROWTH = 1000, 8
"""Cap of the first try in steps, and the factor by which it grows from try to try."""
_SIDE_BY_SIDE = {"lockstep": 20, "skip-ahead": 4}
"""Engine that runs trials together -> number of trials to run for an estimate of what one takes."""


@dataclass(frozen=True)
class _Pace:
    """What a trial of a cell takes.

    Attributes:
        steps, seconds: steps and time of one trial.
        ended: whether the trials ended, or others told how far these would go; else both numbers are lower limits.
    """

    steps: float
    seconds: float
    ended: bool


def _paces(cells: Sequence[Cell], trials: int, seed: int, seconds: float) -> list[_Pace]:
    """Return what a trial of each cell is likely to take: the easiest and the hardest are tried, others interpolated.

    Args:
        cells: cells of one instance and learner.
        trials: number of trials of a cell.
        seed: root seed.
        seconds: about how long to try.

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
    """Return a number to which the steps of a trial are roughly proportional."""
    return guessed_steps(cell) if cell.budget is None else float(cell.budget)


def _calibrated(parts: Sequence[Sequence[Cell]], tried: Sequence[list[_Pace]]) -> Iterator[list[_Pace]]:
    """Yield the paces of each part; where no trial ended, the learner's trials elsewhere tell how far they would go.

    A part of a learner of which no trial ended anywhere keeps its lower limits.
    """
    found: dict[str, list[float]] = {}
    for cells, paces in zip(parts, tried, strict=True):
        ended = [(cell, pace) for cell, pace in zip(cells, paces, strict=True) if pace.ended]
        found.setdefault(cells[0].learner, []).extend(pace.steps / _hardness(cell) for cell, pace in ended)
    for cells, paces in zip(parts, tried, strict=True):
        times = np.median(found[cells[0].learner]) if found[cells[0].learner] else 0.0
        yield [
            pace if pace.ended or not times else _stretched(pace, min(float(times) * _hardness(cell), cell.most_steps))
            for cell, pace in zip(cells, paces, strict=True)
        ]


def _stretched(tried: _Pace, steps: float) -> _Pace:
    """Return the pace of trials that make so many steps, if that is more than they made already."""
    steps = max(steps, tried.steps)
    return _Pace(steps, tried.seconds * steps / tried.steps, True)


def _further(easy: _Pace, tried: _Pace, cell: Cell, harder: float) -> _Pace:
    """Return the pace of the hardest cell; if its trials did not end, that of the easiest one times `harder`."""
    if tried.ended or not easy.ended:
        return tried
    return _stretched(tried, min(easy.steps * harder, cell.most_steps))


def _between(easy: _Pace, hard: _Pace, place: float) -> _Pace:
    """Return the pace of a cell in between, by linear interpolation of the logarithms."""
    steps = easy.steps ** (1 - place) * hard.steps**place
    return _Pace(steps, easy.seconds ** (1 - place) * hard.seconds**place, easy.ended and hard.ended)


def _tried(cell: Cell, trials: int, seed: int, seconds: float) -> _Pace:
    """Return the pace of the longest trials of a cell that fit into `seconds`, then of as many side by side as fit."""
    together = min(trials, ENGINES[cell.runs_with].block(cell.L))
    number = min(together, _SIDE_BY_SIDE.get(cell.runs_with, 1))
    cap, before, left = _FIRST_CAP, math.inf, seconds
    while True:
        start = time.perf_counter()
        rows = _run(_capped(cell, cap), number, seed)
        took = time.perf_counter() - start
        ended = cap >= cell.most_steps or all(row.status == "stopped" for row in rows)
        left -= took
        if (ended and number == together) or took * min(max(took / before, 2), _GROWTH) > left:
            return _Pace(sum(row.steps for row in rows) / number, took / number, ended)
        cap, number = (cap, min(number * _GROWTH, together)) if ended else (cap * _GROWTH, number)
        before = took


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


# --- What a study would run: its grid, bounds on the steps, and an estimate of the time -----------------------------


_NAMES = (*GRID, "engine")
_LONGEST = 20
"""Largest number of characters for the values of an axis."""


@dataclass(frozen=True, eq=False)
class Checked:
    """What a sweep of a study would run.

    Attributes:
        table: a row for each instance and learner.
        cells: number of cells of the grid.
        trials: smallest and largest number of trials over all cells.
        seconds: expected time on one core for the smallest number, `None` without a pilot.
        at_least: whether some trial of the pilot did not end, so that `seconds` is a lower limit.
    """

    table: StudyTable
    cells: int
    trials: tuple[int, int]
    seconds: float | None
    at_least: bool

    @property
    def summary(self) -> str:
        """All of this in a line."""
        fewest, most = self.trials
        trials = count(fewest) if fewest == most else f"{count(fewest)} to {count(most)}"
        time = (
            ""
            if self.seconds is None
            else f"; {'more than' if self.at_least else 'about'} {duration(self.seconds)} on one core"
        )
        return f"valid: {count(self.cells)} cells, {trials} trials{time}"


def check(config: Path, *, given: Given = NOTHING_GIVEN, pilot: float = 5.0) -> Checked:
    """Validate a study and tell what it would run; nothing is written.

    Args:
        config: the study.
        given: values that replace those of the config.
        pilot: about how many seconds to run trials for an estimate of the time; 0 for none.

    Raises:
        ConfigError: if the config is not usable, or a trial needs more memory than this machine has.
        CascadeError: if a trial of the pilot fails.
    """
    study = read_study(config, given)
    check_rows(study)
    refuse_too_large(study.cells, [np.zeros(1, np.int64)] * len(study.cells), 1)
    parts = _parts(study.cells)
    with one_interrupt():
        tried = [
            _paces(part, first_of(study.trials), study.seed, pilot / len(parts)) if pilot else [] for part in parts
        ]
    paces = _calibrated(parts, tried) if pilot else tried
    rows = pd.DataFrame([_row(study, *one) for one in zip(parts, paces, strict=True)])
    cells = len(study.cells)
    seconds = float(rows["seconds"].sum()) if pilot else None
    trials = cells * first_of(study.trials), cells * most_of(study.trials)
    return Checked(StudyTable("check.csv", rows, _table(rows)), cells, trials, seconds, not rows["ended"].all())


def _parts(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the cells grouped by instance and learner."""
    parts: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        parts.setdefault((cell.instance, cell.learner), []).append(cell)
    return list(parts.values())


def _row(study: Study, cells: Sequence[Cell], tried: Sequence[_Pace]) -> dict[str, Any]:
    trials = first_of(study.trials)
    return {
        "instance": cells[0].instance,
        "learner": cells[0].learner,
        **{name: _values([getattr(cell, name) for cell in cells]) for name in ALL_AXES},
        "engine": cells[0].runs_with,
        "cells": len(cells),
        "trials": len(cells) * trials,
        **_bounds(cells),
        "steps": _mean([one.steps for one in tried]),
        "seconds": trials * sum(one.seconds for one in tried),
        "ended": all(one.ended for one in tried),
    }


def _values(values: Sequence[float | None]) -> str | None:
    """Return the values of an axis in short, `None` if there are none."""
    known = list(dict.fromkeys(value for value in values if value is not None))
    if not known:
        return None
    whole = [value for value in known if isinstance(value, int)]
    text = spans(whole) if len(whole) == len(known) else ", ".join(map(parameter, known))
    return text if len(text) <= _LONGEST else f"{parameter(known[0])} to {parameter(known[-1])}"


def _bounds(cells: Sequence[Cell]) -> dict[str, float | None]:
    """Return the mean bounds on the steps of a trial; `None` for trials with a budget."""
    if cells[0].answers:
        return {"lower": None, "upper": None}
    found = [learner_bounds(c.problem, c.delta, c.spec.algorithm, c.spec.options, c.feedback) for c in cells]
    uppers = [one.upper.steps for one in found if one.upper]
    return {
        "lower": _mean([one.lower for one in found]),
        "upper": _mean(uppers) if len(uppers) == len(found) else None,
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _table(rows: pd.DataFrame) -> Table:
    """Return the table to print: columns that vary, then what a trial is expected to take."""
    columns: list[str | Shown] = ["cells", "trials", "lower", Shown("steps", _steps), "upper", Shown("time", _time)]
    note = "steps of a trial by a pilot, between the bounds; time on one core"
    return printed(rows, _NAMES, columns, always=("instance",), note=note)


def _steps(row: Mapping[Any, Any]) -> str:
    return NO_NUMBER if is_missing(row["steps"]) else ("" if row["ended"] else "> ") + number(row["steps"])


def _time(row: Mapping[Any, Any]) -> str:
    return NO_NUMBER if is_missing(row["steps"]) else ("" if row["ended"] else "> ") + duration(row["seconds"])
