"""The verbs `run`, and `check` with its pilot."""

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.bounds import learner_bounds
from cascadebai_cli.analysis.tables import StudyTable, Tables, cells_printed
from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.options import MOST_TRIALS
from cascadebai_cli.running.interrupts import one_interrupt
from cascadebai_cli.running.runner import Backend, collect, repeat_command
from cascadebai_cli.running.watch import SILENT, Follower, Watch
from cascadebai_cli.running.worker import Block, Settings, run_blocks
from cascadebai_cli.store.columns import PLACE, Shown, TrialRow, printed
from cascadebai_cli.store.summary import binomial_interval, likely_number, summarise
from cascadebai_cli.store.trials import trials_table
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import NOTHING_GIVEN, Given, Study, load_study
from cascadebai_cli.study.kinds import ALL_AXES, GRID
from cascadebai_cli.text import (
    NO_NUMBER,
    Table,
    count,
    duration,
    for_table,
    is_missing,
    number,
    parameter,
    percent,
    spans,
)

__all__ = ["Backend", "Choice", "Given", "check", "run"]


# --- Running a few cells of a study, without writing anything -------------------------------------------------------

_MOST_CELLS = 8
"""Largest number of cells that are run, as each is printed by itself."""
_MOST_NAMED = 200
"""Largest number of items that are named."""


@dataclass(frozen=True)
class Choice:
    """A choice of cells of a study: those that agree with every value that is given."""

    instance: str | None = None
    learner: str | None = None
    L: int | None = None
    K: int | None = None
    delta: float | None = None
    epsilon: float | None = None
    budget: int | None = None
    cell_id: str | None = None


@dataclass(frozen=True)
class CellRun:
    """The trials of a cell, capped ones included, and how long they took in all; `str` tells of them in some lines."""

    cell: Cell
    rows: tuple[TrialRow, ...]
    seconds: float

    @property
    def trials(self) -> int:
        """Number of trials."""
        return len(self.rows)

    @property
    def stopped(self) -> int:
        """Number of trials that stopped before the cap, or that answered when the budget was spent."""
        return len(self._stopped)

    @property
    def capped(self) -> int:
        """Number of trials that reached the cap."""
        return self.trials - self.stopped

    @property
    def found(self) -> tuple[str, ...]:
        """Names of the items of the set found most often, best first; empty if no trial stopped."""
        return tuple(self.cell.items[i] for i in sorted(self._best[0], key=lambda i: (-self.cell.weights[i], i)))

    @cached_property
    def _stopped(self) -> list[TrialRow]:
        return [row for row in self.rows if row.status != "capped"]

    @cached_property
    def _best(self) -> tuple[frozenset[int], int]:
        """The set found most often, and in how many trials."""
        sets = Counter(frozenset(row.items) for row in self._stopped)
        return sets.most_common(1)[0] if sets else (frozenset(), 0)

    def __str__(self) -> str:
        seconds = sum(row.seconds for row in self.rows) / self.trials
        observed = sum(row.observations for row in self.rows) / max(sum(row.steps for row in self.rows), 1)
        lines = {
            "steps (page views)": self._steps,
            "observations per step": f"{observed:.4g}",
            "errors": self._errors,
            "time": f"{duration(self.seconds)} for {self._trials}, {duration(seconds)} a trial",
        }
        if self.found:
            lines[f"items found in {self._best[1]} of {self._trials}"] = _names(self.found)
        width = max(map(len, lines))
        text = [f"  {name.ljust(width)}  {value}" for name, value in lines.items()]
        return "\n".join([f"{self.cell.label} (cell {self.cell.cell_id})", *text])

    @property
    def _trials(self) -> str:
        return f"{self.trials} trial{'s' * (self.trials != 1)}"

    @property
    def _steps(self) -> str:
        steps = [row.steps for row in self.rows]
        spread = f", sd {count(statistics.stdev(steps), 1)}" if len(steps) > 1 else ""
        capped = f", {self.capped} of them capped" if self.capped else ""
        return f"mean {count(sum(steps) / len(steps), 1)}{spread}, {self._trials}{capped}"

    @property
    def _errors(self) -> str:
        if not self.stopped:
            return "unknown, no trial stopped before the cap"
        wrong = sum(not row.correct for row in self._stopped)
        low, high = binomial_interval(wrong, self.stopped)
        share = f"{percent(wrong / self.stopped, 1)} (95 % interval {percent(low, 1)} to {percent(high, 1)})"
        share += f", more than delta = {self.cell.delta:g}" * (low > self.cell.delta and not self.cell.answers)
        return f"{wrong} of {self.stopped} {'trials' if self.cell.answers else 'trials that stopped'}: {share}"


@dataclass(frozen=True)
class Ran:
    """The cells with finished trials, the same as a table (`None` if there are none), and the number of failures."""

    cells: tuple[CellRun, ...]
    table: Table | None
    failed: int


def run(
    config: Path,
    choice: Choice,
    *,
    given: Given = NOTHING_GIVEN,
    trial: int | None = None,
    backend: Backend | None = None,
    timeout: float | None = None,
    debug: bool = False,
    watch: Watch = SILENT,
    each: Callable[[CellRun], None] | None = None,
) -> Ran:
    """Run cells of a study, one after the other.

    Args:
        choice: which cells to run, at most `_MOST_CELLS`.
        given: values that replace those of the config; if it has a rule for the trials, only its smallest number runs.
        trial: run only the trial of this number, with the random numbers that it has in a sweep.
        timeout: seconds after which a trial fails.
        debug: let the first error of a trial leave this function as it was raised; all runs in this process.
        each: called with each cell when it is done.

    Raises:
        ConfigError: if the config is not usable, or the choice leaves no cell or too many.
        CascadeError: if the backend breaks.
    """
    if trial is not None and trial >= MOST_TRIALS:
        raise ConfigError(f"--trial {trial} is too large; a cell has trials from 0 to {MOST_TRIALS - 1}")
    study = load_study(config, given.overrides)
    cells = _chosen(study.cells, asdict(choice))
    numbers = np.arange(study.first_trials) if trial is None else np.array([trial])
    repeat = partial(repeat_command, config, study.seed, given.words)
    settings = Settings(study.seed, with_items=True, timeout=timeout, debug=debug)
    backend, done = Backend("sequential") if debug else backend or Backend(), list[CellRun]()
    with Follower(watch, cells, [len(numbers)] * len(cells), repeat=repeat).shown() as follower:
        for cell, rows in zip(cells, follower.rows, strict=True):
            start = time.monotonic()
            alone = [numbers if one is cell else numbers[:0] for one in cells]
            collect(cells, alone, settings, backend, follower)
            if rows:
                done.append(CellRun(cell, tuple(rows), time.monotonic() - start))
                if each:
                    each(done[-1])
    table = cells_printed(summarise([trials_table(cells, list(chain(*follower.rows)))])) if done else None
    return Ran(tuple(done), table, follower.failed)


def _chosen(cells: Sequence[Cell], wanted: dict[str, Any]) -> list[Cell]:
    """Return the cells that agree with every value that is given."""
    left = list(cells)
    for key, value in wanted.items():
        if value is None:
            continue
        there = [value for value in dict.fromkeys(getattr(cell, key) for cell in left) if value is not None]
        left = [cell for cell in left if getattr(cell, key) == value]
        if not left:
            name = "id" if key == "cell_id" else key
            remedy = f"choose from {_listed(there)}" if there else f"leave --{key} out"
            raise ConfigError(f"no cell has {name} {value}; {remedy}")
    if len(left) > _MOST_CELLS:
        raise ConfigError(
            f"{len(left)} cells are too many to print, {_MOST_CELLS} is the most; choose some with "
            f"{_choices(left)}, or run all of them with: cascadebai sweep"
        )
    return left


def _choices(cells: Sequence[Cell]) -> str:
    keys = [key for key in PLACE if hasattr(Choice, key)]
    values = {f"--{key}": list(dict.fromkeys(getattr(cell, key) for cell in cells)) for key in keys}
    return ", ".join(f"{flag} ({_listed(there)})" for flag, there in values.items() if len(there) > 1) or "--cell"


def _listed(values: Sequence[Any]) -> str:
    names = [f"'{value}'" if isinstance(value, str) else parameter(value) for value in values]
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:3])}, ... {names[-1]}"


def _names(items: Sequence[str]) -> str:
    more = len(items) - _MOST_NAMED
    return ", ".join(map(for_table, items[:_MOST_NAMED])) + (f" and {count(more)} more" if more > 0 else "")


# --- The pilot: an estimate of how long trials take, from a few that are cut short ----------------------------------

_GROWTH = 8
"""Factor by which the cap, or the number of trials, grows from try to try."""
_LEAST = 5
"""Number of trials that tell what a trial takes, and how many an aim needs, where they do not run side by side."""
_MEASURED, _FEWER, _BETWEEN, _TOLD, _GUESSED = 1.8, 3.0, 1.3, 4.0, 6.0
"""Factors within which the time of a cell lies, mostly: its own block was timed, only fewer trials, it lies between two
cells that were timed, or other cells of the learner, or only those of other learners, told how far its trials go."""


@dataclass(frozen=True)
class _Pace:
    """What a trial of a cell takes.

    Attributes:
        steps, seconds: steps and processor time of one trial.
        ended: whether the trials ended, or others told how far these would go; else both numbers are lower limits.
        within: factor within which the true time lies, mostly.
        trials: number of trials that the cell is likely to get.
    """

    steps: float
    seconds: float
    ended: bool
    within: float
    trials: int


class _Try:
    """Trials of a cell that grow from time to time, in length until they end and then in number."""

    def __init__(self, cell: Cell, study: Study) -> None:
        self.cell, self._study = cell, study
        self._block = max(cell.ran_by.block(cell.L), _LEAST)
        self._together = min(study.first_trials, self._block)
        number, self._cap = cell.ran_by.pilot
        self._number, self._before = min(self._together, number), math.inf
        self.costs, self.done, self._ended = 0.0, False, False

    def go_on(self) -> None:
        """Run the next trials; `pace` is what they took, `costs` what still longer or more trials may take."""
        start = time.process_time()
        rows = _run(_capped(self.cell, self._cap), self._number, self._study.seed)
        took = time.process_time() - start
        ended = self._cap >= self.cell.most_steps or all(row.status == "stopped" for row in rows)
        pace = self._paced(rows, took, ended)
        if ended or not self._ended:  # of more trials a longer one may be cut short, which tells less
            self.pace = pace
        self._ended = self._ended or ended
        self.done = ended and self._number >= self._together
        self.costs = took * min(max(took / self._before, 2), _GROWTH)
        if ended:
            self._number = min(self._number * _GROWTH, self._together)
        else:
            self._cap *= _GROWTH
        self._before = took

    def _paced(self, rows: Sequence[TrialRow], seconds: float, ended: bool) -> _Pace:
        n, found = len(rows), self._study.first_trials
        if n == 1:  # one trial does not tell how many an aim needs
            found = math.ceil(math.sqrt(found * self._study.most_trials))
        if ended:
            # a sweep runs further trials for an aim side by side too, and a larger block takes less for each
            found = likely_number(self._study.trials, pd.DataFrame(rows)) if n > 1 else found
            self._together = min(found, self._block)
        within = _MEASURED if n >= self._together else _FEWER
        return _Pace(sum(row.steps for row in rows) / n, seconds / n, ended, within, found)


def _paces(parts: Sequence[Sequence[Cell]], study: Study, seconds: float) -> list[list[_Pace]]:
    """Return what a trial of each cell is likely to take: of each part the easiest and the hardest one are tried.

    The next to go on is always what costs least, so that the time goes where it tells most: first everything is tried,
    then the same time is spent on each that has not ended.

    Args:
        parts: cells of one instance and learner each.
        seconds: about how much processor time to spend; everything is tried once in any case.
    """
    ends = [[_Try(cell, study) for cell in _ends(cells)] for cells in parts]
    until, tries = time.process_time() + seconds, [one for pair in ends for one in pair]
    while some := [one for one in tries if not one.done]:
        next_one = min(some, key=lambda one: one.costs)
        if next_one.costs > max(until - time.process_time(), 0):
            break
        next_one.go_on()
    return _calibrated(parts, [_interpolated(cells, pair) for cells, pair in zip(parts, ends, strict=True)])


def _ends(cells: Sequence[Cell]) -> list[Cell]:
    """Return the easiest and the hardest cell, or one if all are alike."""
    easy, hard = min(cells, key=_hardness), max(cells, key=_hardness)
    return [easy] if _hardness(easy) == _hardness(hard) else [easy, hard]


def _hardness(cell: Cell) -> float:
    """Return a number to which the steps of a trial are roughly proportional."""
    return cell.guessed_steps if cell.budget is None else float(cell.budget)


def _interpolated(cells: Sequence[Cell], ends: Sequence[_Try]) -> list[_Pace]:
    """Return the pace of each cell between the easiest and the hardest one."""
    if len(ends) == 1:
        return [ends[0].pace] * len(cells)
    least, most = (_hardness(end.cell) for end in ends)
    easy, hard = ends[0].pace, _further(ends[0].pace, ends[1].pace, ends[1].cell, most / least)
    return [_between(easy, hard, math.log(_hardness(cell) / least) / math.log(most / least)) for cell in cells]


def _calibrated(parts: Sequence[Sequence[Cell]], tried: Sequence[list[_Pace]]) -> list[list[_Pace]]:
    """Return the paces of each part; where no trial ended, trials elsewhere tell how far they would go.

    These are the trials of the same learner, or if none of them ended anywhere, those of all others. If none of these
    ended either, only the cap tells, and a part without one keeps its lower limits.
    """
    known: dict[str, list[float]] = {}
    for cells, paces in zip(parts, tried, strict=True):
        ended = [(cell, pace) for cell, pace in zip(cells, paces, strict=True) if pace.ended]
        known.setdefault(cells[0].learner, []).extend(pace.steps / _hardness(cell) for cell, pace in ended)
    times = {learner: float(np.median(some)) for learner, some in known.items() if some}
    return [
        [pace if pace.ended else _told(cell, pace, times) for cell, pace in zip(cells, paces, strict=True)]
        for cells, paces in zip(parts, tried, strict=True)
    ]


def _told(cell: Cell, tried: _Pace, times: Mapping[str, float]) -> _Pace:
    """Return the pace of trials that did not end, by the steps over the hardness of each learner whose trials did."""
    if cell.answers:
        return _stretched(tried, cell.most_steps)
    if times:
        own = cell.learner in times
        steps = (times[cell.learner] if own else float(np.median([*times.values()]))) * _hardness(cell)
        steps = max(steps, 2 * tried.steps)  # where others tell less than its own trials made without an end
        return _stretched(tried, min(steps, cell.most_steps), _TOLD if own else _GUESSED)
    if cell.max_steps is None:
        return tried
    half = math.sqrt(cell.max_steps / tried.steps)
    return _stretched(tried, half * tried.steps, max(half, _TOLD))


def _stretched(tried: _Pace, steps: float, within: float = _TOLD) -> _Pace:
    """Return the pace of trials that make so many steps, if that is more than they made already."""
    steps = max(steps, tried.steps)
    return replace(tried, steps=steps, seconds=tried.seconds * steps / tried.steps, ended=True, within=within)


def _further(easy: _Pace, tried: _Pace, cell: Cell, harder: float) -> _Pace:
    """Return the pace of the hardest cell; if its trials did not end, that of the easiest one times `harder`."""
    if tried.ended or not easy.ended:
        return tried
    return _stretched(tried, min(easy.steps * harder, cell.most_steps))


def _between(easy: _Pace, hard: _Pace, place: float) -> _Pace:
    """Return the pace of a cell in between, by linear interpolation of the logarithms."""
    steps, seconds = (
        float(getattr(easy, name) ** (1 - place) * getattr(hard, name) ** place) for name in ("steps", "seconds")
    )
    within = max(easy.within, hard.within) * (_BETWEEN if 0 < place < 1 else 1)
    return _Pace(steps, seconds, easy.ended and hard.ended, within, max(easy.trials, hard.trials))


def _capped(cell: Cell, cap: int) -> Cell:
    if not cell.answers:
        return replace(cell, max_steps=min(cap, cell.most_steps))
    return cell if cell.spec.knows_budget else replace(cell, budget=min(cap, cell.most_steps))


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Checked(Tables):
    """What a sweep of a study would run.

    Attributes:
        tables: a table with a row for each instance and learner.
        trials: smallest and largest number of trials over all cells.
        seconds: expected time on one core, `None` without a pilot.
        within: the time lies between these two in most studies, in seconds.
        at_least: whether some trial of the pilot did not end, so that these are lower limits.
    """

    cells: int
    trials: tuple[int, int]
    seconds: float | None
    within: tuple[float, float]
    at_least: bool

    @property
    def summary(self) -> str:
        """All of this in a line."""
        fewest, most = self.trials
        trials = count(fewest) if fewest == most else f"{count(fewest)} to {count(most)}"
        return f"valid: {count(self.cells)} cells, {trials} trials{self._time}"

    @property
    def _time(self) -> str:
        if self.seconds is None:
            return ""
        if self.at_least:
            return f"; more than {duration(self.within[0])} on one core"
        low, high = map(duration, self.within)
        return f"; about {duration(self.seconds)} ({low} to {high}) on one core"


def check(config: Path, *, given: Given = NOTHING_GIVEN, pilot: float = 5.0) -> Checked:
    """Validate a study and tell what it would run; nothing is written.

    Args:
        pilot: about how many seconds to run trials for an estimate of the time; 0 for none.

    Raises:
        ConfigError: if the config is not usable, or a trial needs more memory than this machine has.
        CascadeError: if a trial of the pilot fails.
    """
    study = load_study(config, given.overrides)
    study.refuse_too_many_rows()
    Backend("sequential").refuse_too_large(study.cells, [np.zeros(1, np.int64)] * len(study.cells))
    parts = _parts(study.cells)
    with one_interrupt():
        paces = _paces(parts, study, pilot) if pilot else [[] for _ in parts]
    rows = pd.DataFrame([_row(study, *one) for one in zip(parts, paces, strict=True)])
    cells = len(study.cells)
    low, seconds, high = (float(rows[name].sum()) for name in ("seconds_low", "seconds", "seconds_high"))
    trials = cells * study.first_trials, cells * study.most_trials
    table = StudyTable("check.csv", rows, _table(rows))
    return Checked(
        (table,),
        cells=cells,
        trials=trials,
        seconds=seconds if pilot else None,
        within=(low, high),
        at_least=not rows["ended"].all(),
    )


def _parts(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the cells grouped by instance and learner."""
    parts: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        parts.setdefault((cell.instance, cell.learner), []).append(cell)
    return list(parts.values())


def _row(study: Study, cells: Sequence[Cell], tried: Sequence[_Pace]) -> dict[str, Any]:
    trials = study.first_trials
    times = [(one.trials * one.seconds, one.within) for one in tried]
    return {
        "instance": cells[0].instance,
        "learner": cells[0].learner,
        **{name: _values([getattr(cell, name) for cell in cells]) for name in ALL_AXES},
        "engine": cells[0].runs_with,
        "cells": len(cells),
        "trials": len(cells) * trials,
        **_bounds(cells),
        "steps": _mean([one.steps for one in tried]),
        "seconds": sum(time for time, _ in times),
        "seconds_low": sum(time / within for time, within in times),
        "seconds_high": sum(time * within for time, within in times),
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
    return {"lower": _mean([one.lower for one in found]), "upper": _mean(uppers) if len(uppers) == len(found) else None}


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
