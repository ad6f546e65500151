"""A baseline: the rows of a finished sweep that later code must give again, and a fixed small set of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.own_code import is_own
from cascadebai_cli.running.runner import Backend, run_missing
from cascadebai_cli.running.work import Settings
from cascadebai_cli.store.directory import Results, load_results
from cascadebai_cli.store.files import AGAIN
from cascadebai_cli.store.schema import MANIFEST, TRIALS_CSV, TrialRow
from cascadebai_cli.store.trials import read_rows
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import stored_study
from cascadebai_cli.text.numbers import count

MOST_STEPS: Mapping[str, float] = MappingProxyType(
    {"skip-ahead": float("inf"), "walk": 2e6, "lockstep": 1e5, "planned": 1e3, "phases": 1e7, "reference": 2e4}
)
"""Engine -> longest trials that are run again: a few long ones would take as long as the sweep did."""
MOST_CELLS = 40
"""Cells of one baseline that are looked at."""
TRIALS_A_CELL = 2
TrialRows = Mapping[int, Mapping[int, TrialRow]]
"""Position of a cell in the grid -> number of a trial -> the trial."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """A result directory that others are compared with.

    Args:
        results: what is in it.
        cells: cells of its grid.
        rows: its trials.
        strangers: cells of `trials.csv` that its own config does not make any more.
        plugins: names `module:object` of code of one's own in its config.
        skipped: learner or instance in words -> such a name, of those whose code must not be imported; their cells and
            rows are left out.
    """

    results: Results
    cells: Sequence[Cell]
    rows: TrialRows
    strangers: Sequence[str]
    plugins: Collection[str] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the artefact."""
        return self.results.directory.name

    @property
    def seed(self) -> int:
        """Root seed."""
        return self.results.manifest.seed


def load_baseline(directory: Path, folder: Path, plugins: Collection[str] = ()) -> Baseline:
    """Read a baseline.

    Somebody else may have made it, so that nothing is imported because a manifest names it.

    Args:
        directory: with `manifest.json` and `trials.csv`.
        folder: from which the data files of its config count.
        plugins: names `module:object` that may be imported.

    Raises:
        ConfigError: if a file is missing or damaged, or the config is not valid any more.
    """
    if not all((directory / name).exists() for name in (MANIFEST, TRIALS_CSV)):
        raise ConfigError(f"{directory} needs {MANIFEST} and {TRIALS_CSV} to be a reference; copy them from a sweep")
    results = load_results(directory)
    own = _own_code(results)
    skipped = {entry: name for entry, name in own.items() if name not in plugins}
    cells = _cells(results, skipped, folder)
    places = {cell.cell_id: i for i, cell in enumerate(cells)}
    left_out = {
        key
        for key, cell in results.manifest.cells.items()
        if {("learners", cell.get("learner")), ("instances", cell.get("instance"))} & set(skipped)
    }
    rows: dict[int, dict[int, TrialRow]] = {}
    strangers: dict[str, None] = {}
    for row in read_rows(directory / TRIALS_CSV):
        if row.cell_id in places:
            rows.setdefault(places[row.cell_id], {})[row.trial] = row
        elif row.cell_id not in left_out:
            strangers[row.cell_id] = None
    if not (rows or strangers or skipped):
        raise ConfigError(f"{directory / TRIALS_CSV}: no trial; {AGAIN}")
    words = {f"{key[:-1]} '{name}'": code for (key, name), code in skipped.items()}
    return Baseline(results, cells, rows, tuple(strangers), frozenset(own.values()), words)


def _own_code(results: Results) -> dict[tuple[str, str], str]:
    """Key and name of each entry of the config that is code of one's own -> the name of that code."""
    learners = {("learners", entry.name): entry.algorithm for entry in results.study.learners}
    instances = {("instances", entry.name): entry.family for entry in results.study.instances}
    return {entry: name for entry, name in {**learners, **instances}.items() if is_own(name)}


def _cells(results: Results, skipped: Collection[tuple[str, str]], folder: Path) -> Sequence[Cell]:
    """The cells of all learners and instances but some."""
    config = dict(results.manifest.config)
    for key, name in skipped:
        config[key] = [entry for entry in config[key] if entry["name"] != name]
    nobody = any(not config[key] for key, _ in skipped)
    return () if nobody else stored_study(config, results.directory / MANIFEST, folder).cells


def outcome_text(row: TrialRow) -> str:
    """What a trial came to, in words."""
    right = {None: "", True: ", right", False: ", wrong"}[row.correct]
    return f"{row.status} after {count(row.steps)} steps, {count(row.observations)} observations{right}"


def most_steps(cell: Cell) -> float:
    """Longest trial of a cell that is run again."""
    return MOST_STEPS[cell.runs_with]


def watched(baseline: Baseline) -> list[int]:
    """Cells that stand for all: the smallest, middle and largest `K` of each curve whose trials are short enough."""
    curves: dict[object, list[int]] = {}
    for position, trials in baseline.rows.items():
        cell = baseline.cells[position]
        if np.mean([row.steps for row in trials.values()]) <= most_steps(cell):
            key = (cell.instance, cell.learner, cell.L, cell.delta, cell.epsilon, cell.budget)
            curves.setdefault(key, []).append(position)
    found = sorted({places[i] for places in curves.values() for i in (0, len(places) // 2, -1)})
    return evenly(found, MOST_CELLS)


def evenly(values: Sequence[int], most: int) -> list[int]:
    """At most `most` of the values, spread over all of them."""
    if len(values) <= most:
        return list(values)
    return [values[i] for i in np.linspace(0, len(values) - 1, most).round().astype(int)]


def fixed_trials(baseline: Baseline, positions: Iterable[int]) -> dict[int, list[int]]:
    """The first trials of each cell that are short enough, always the same ones."""
    found: dict[int, list[int]] = {}
    for position in positions:
        limit = most_steps(baseline.cells[position])
        short = [trial for trial, row in sorted(baseline.rows[position].items()) if row.steps <= limit]
        found[position] = short[:TRIALS_A_CELL]
    return found


def run_again(
    cells: Sequence[Cell], trials: Mapping[int, Sequence[int]], seed: int, backend: Backend
) -> tuple[TrialRows, list[str]]:
    """Run trials of some cells.

    Args:
        cells: cells of the grid.
        trials: position of a cell -> numbers of its trials.
        seed: root seed.
        backend: where to run them.

    Returns:
        the trials, and one line for each trial that raised.
    """
    missing = [np.array(trials.get(position, []), dtype=np.int64) for position in range(len(cells))]
    rows: dict[int, dict[int, TrialRow]] = {position: {} for position in trials}
    raised = []
    with closing(run_missing(cells, missing, Settings(seed), backend)) as results:
        for result in results:
            for row in result.finished:
                rows[result.position][row.trial] = row
            raised += [f"{cells[result.position].names}, trial {f.trial}: {f.error}" for f in result.failed]
    return rows, raised
