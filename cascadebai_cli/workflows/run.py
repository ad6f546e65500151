"""The verb `run`, and the simulation of a study in memory for the Python interface."""

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.cells import cells_printed
from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.options import MOST_TRIALS
from cascadebai_cli.running.runner import Backend, collect, repeat_command
from cascadebai_cli.running.watch import SILENT, Follower, Watch
from cascadebai_cli.running.worker import Failed, Settings
from cascadebai_cli.store.columns import PLACE, TrialRow
from cascadebai_cli.store.records import Recording, with_records
from cascadebai_cli.store.summary import summarise
from cascadebai_cli.store.trials import binomial_interval, trials_table
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import NOTHING_GIVEN, Given, Study, load_study
from cascadebai_cli.text import Table, count, duration, for_table, parameter, percent

__all__ = ["Backend", "Choice", "Given", "cell_in_words", "run", "simulate"]


# --- Running all cells of a study in memory -------------------------------------------------------------------------


def simulate(study: Study, *, backend: Backend | None = None, watch: Watch = SILENT) -> pd.DataFrame:
    """Run all trials; nothing is written.

    Args:
        study: the study, with a fixed number of trials.

    Returns:
        the rows of the `trials.csv` that a sweep of the study would write, in the same order, with a column for each
        record.

    Raises:
        ConfigError: if there are too many trials, or their number depends on the outcomes.
        CascadeError: if a trial raises, or the backend breaks.
    """
    study.refuse_too_many_rows()
    if not isinstance(study.trials, int):
        raise ConfigError("trials: only a sweep can find out how many are enough; give a number")
    numbers = [np.arange(study.trials)] * len(study.cells)
    settings = Settings(study.seed, fail_fast=True, wanted=Recording(study.record, study.trace_at))
    with Follower(watch, study.cells, list(map(len, numbers)), fail=_raise).shown() as follower:
        collect(study.cells, numbers, settings, backend or Backend(), follower)
    return with_records(trials_table(study.cells, chain(*follower.rows)), list(chain(*follower.rows)))


def _raise(cell: Cell, failed: Failed) -> None:
    error = CascadeError(f"trial {failed.trial} of {cell.label} failed: {failed.error}")
    error.add_note(failed.trace)
    raise error


# --- Running a few cells of a study, without writing anything -------------------------------------------------------

_MOST_CELLS = 8


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
    """Statistics over the trials of a cell, capped ones included.

    Attributes:
        trials, capped: number of trials, and of those that reached the cap.
        mean_steps, sd_steps: mean and standard deviation of the steps, the latter `None` for a single trial.
        observations: observed items per step, over all trials.
        wrong: number of trials that stopped with a wrong set.
        wrong_interval: exact binomial 95 % interval for the probability of a wrong set; nan if no trial stopped.
        found: names of the items of the set found most often, best first; empty if no trial stopped.
        found_in: number of trials that found this set.
    """

    cell: Cell
    trials: int
    capped: int
    mean_steps: float
    sd_steps: float | None
    observations: float
    wrong: int
    wrong_interval: tuple[float, float]
    seconds: float
    trial_seconds: float
    found: tuple[str, ...]
    found_in: int

    @property
    def stopped(self) -> int:
        """Number of trials that stopped before the cap, or that answered when the budget was spent."""
        return self.trials - self.capped


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
                done.append(_cell_run(cell, rows, time.monotonic() - start))
                if each:
                    each(done[-1])
    table = cells_printed(summarise(trials_table(cells, chain(*follower.rows)))) if done else None
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


def _cell_run(cell: Cell, rows: Sequence[TrialRow], seconds: float) -> CellRun:
    steps = [row.steps for row in rows]
    stopped = [row for row in rows if row.status != "capped"]
    wrong = sum(not row.correct for row in stopped)
    found, found_in = _found(cell, stopped)
    return CellRun(
        cell=cell,
        trials=len(rows),
        capped=len(rows) - len(stopped),
        mean_steps=_mean(steps),
        sd_steps=statistics.stdev(steps) if len(steps) > 1 else None,
        observations=sum(row.observations for row in rows) / max(sum(steps), 1),
        wrong=wrong,
        wrong_interval=binomial_interval(wrong, len(stopped)),
        seconds=seconds,
        trial_seconds=_mean([row.seconds for row in rows]),
        found=found,
        found_in=found_in,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _found(cell: Cell, stopped: Sequence[TrialRow]) -> tuple[tuple[str, ...], int]:
    """Return the set found most often, best item first, and how often it was found."""
    sets = Counter(frozenset(row.items) for row in stopped)
    if not sets:
        return (), 0
    found, times = sets.most_common(1)[0]
    best_first = sorted(found, key=lambda item: (-cell.weights[item], item))
    return tuple(cell.items[item] for item in best_first), times


# --- Printing a cell ------------------------------------------------------------------------------------------------

_MOST_NAMED = 200
"""Largest number of items that are named."""


def cell_in_words(done: CellRun) -> str:
    """Return some lines of text about the trials of a cell."""
    lines = {
        "steps (page views)": _steps(done),
        "observations per step": f"{done.observations:.4g}",
        "errors": _errors(done),
        "time": f"{duration(done.seconds)} for {_trials(done)}, {duration(done.trial_seconds)} a trial",
    }
    if done.found:
        lines[f"items found in {done.found_in} of {_trials(done)}"] = _names(done.found)
    width = max(map(len, lines))
    text = [f"  {name.ljust(width)}  {value}" for name, value in lines.items()]
    return "\n".join([f"{done.cell.label} (cell {done.cell.cell_id})", *text])


def _names(items: Sequence[str]) -> str:
    more = len(items) - _MOST_NAMED
    return ", ".join(map(for_table, items[:_MOST_NAMED])) + (f" and {count(more)} more" if more > 0 else "")


def _trials(done: CellRun) -> str:
    return f"{done.trials} trial{'s' * (done.trials != 1)}"


def _steps(done: CellRun) -> str:
    text = f"mean {count(done.mean_steps, 1)}"
    if done.sd_steps is not None:
        text += f", sd {count(done.sd_steps, 1)}"
    return text + f", {_trials(done)}" + (f", {done.capped} of them capped" if done.capped else "")


def _errors(done: CellRun) -> str:
    if not done.stopped:
        return "unknown, no trial stopped before the cap"
    low, high = done.wrong_interval
    share = f"{percent(done.wrong / done.stopped, 1)} (95 % interval {percent(low, 1)} to {percent(high, 1)})"
    share += f", more than delta = {done.cell.delta:g}" * (low > done.cell.delta and not done.cell.answers)
    which = "trials" if done.cell.answers else "trials that stopped"
    return f"{done.wrong} of {done.stopped} {which}: {share}"
