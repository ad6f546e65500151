"""A reference: the rows of a finished sweep that later code must give again, and a fixed small set of them."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from pydantic import ValidationError

from cascadebai_cli.engines.simulate import resolve_engine
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.experiment.cells import Cell, cells_of
from cascadebai_cli.experiment.files import reading_from
from cascadebai_cli.experiment.instances import GridError
from cascadebai_cli.experiment.manifest import MANIFEST, Manifest, read_manifest
from cascadebai_cli.experiment.runner import Backend, run_missing
from cascadebai_cli.experiment.study import Study
from cascadebai_cli.experiment.tables import TRIALS
from cascadebai_cli.experiment.worker import Order

MOST_STEPS: Mapping[str, float] = MappingProxyType({"skip-ahead": float("inf"), "lockstep": 1e5, "reference": 2e4})
"""Engine -> longest trials that are run again: a few long ones would take as long as the sweep did."""
MOST_CELLS = 40
"""Cells of one reference that are looked at."""
TRIALS_A_CELL = 2


class Outcome(NamedTuple):
    """What a trial came to, as its row says it."""

    status: str
    steps: int
    observations: int
    correct: bool | None

    def __str__(self) -> str:
        right = {None: "", True: ", right", False: ", wrong"}[self.correct]
        return f"{self.status} after {self.steps:,} steps, {self.observations:,} observations{right}"


Rows = Mapping[int, Mapping[int, Outcome]]
"""Position of a cell in the grid -> trial -> outcome."""


@dataclass(frozen=True, eq=False)
class Reference:
    """A result directory that others are compared with.

    Args:
        directory: where it is.
        manifest: its manifest.
        cells: cells of its grid.
        rows: its trials.
        strangers: cells of `trials.csv` that its own config does not make any more.
    """

    directory: Path
    manifest: Manifest
    cells: Sequence[Cell]
    rows: Rows
    strangers: Sequence[str]

    @property
    def name(self) -> str:
        """Name of the artefact."""
        return self.directory.name

    @property
    def seed(self) -> int:
        """Root seed."""
        return int(self.manifest["seed"])


def load_reference(directory: Path, folder: Path) -> Reference:
    """Read a reference.

    Args:
        directory: with `manifest.json` and `trials.csv`.
        folder: from which the data files of its config count.

    Raises:
        ConfigError: if a file is missing, or the config is not valid any more.
    """
    manifest = read_manifest(directory)
    if manifest is None or not (directory / TRIALS).exists():
        raise ConfigError(f"{directory} needs {MANIFEST} and {TRIALS} to be a reference; copy them from a sweep")
    cells = _cells(directory, manifest, folder)
    places = {cell.cell_id: i for i, cell in enumerate(cells)}
    rows: dict[int, dict[int, Outcome]] = {}
    strangers: dict[str, None] = {}
    for cell_id, trial, outcome in _rows(directory / TRIALS):
        if cell_id in places:
            rows.setdefault(places[cell_id], {})[trial] = outcome
        else:
            strangers[cell_id] = None
    return Reference(directory, manifest, cells, rows, tuple(strangers))


def _cells(directory: Path, manifest: Manifest, folder: Path) -> list[Cell]:
    try:
        study = Study.model_validate(manifest["config"])
        study._folder = folder
        return cells_of(study)
    except (ValidationError, GridError) as error:
        line = str(error).replace("\n", " ")
        raise ConfigError(f"{directory / MANIFEST}: config: not valid any more ({line}); run the sweep again") from None


def _rows(path: Path) -> Iterator[tuple[str, int, Outcome]]:
    with reading_from(path), path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            correct = bool(int(row["correct"])) if row["correct"] else None
            outcome = Outcome(row["status"], int(row["steps"]), int(row["observations"]), correct)
            yield row["cell_id"], int(row["trial"]), outcome


def most_steps(cell: Cell) -> float:
    """Longest trial of a cell that is run again."""
    learner = cell.spec.build(cell.L, cell.K, cell.delta, cell.epsilon)
    return MOST_STEPS[resolve_engine(cell.engine, learner, cell.feedback)]


def watched(reference: Reference) -> list[int]:
    """Cells that stand for all: the smallest, middle and largest `K` of each curve whose trials are short enough."""
    curves: dict[object, list[int]] = {}
    for position, trials in reference.rows.items():
        cell = reference.cells[position]
        if np.mean([outcome.steps for outcome in trials.values()]) <= most_steps(cell):
            key = (cell.instance, cell.learner, cell.L, cell.delta, cell.epsilon)
            curves.setdefault(key, []).append(position)
    found = sorted({places[i] for places in curves.values() for i in (0, len(places) // 2, -1)})
    return evenly(found, MOST_CELLS)


def evenly(values: Sequence[int], most: int) -> list[int]:
    """At most `most` of the values, spread over all of them."""
    if len(values) <= most:
        return list(values)
    return [values[i] for i in np.linspace(0, len(values) - 1, most).round().astype(int)]


def fixed_trials(reference: Reference, positions: Iterable[int]) -> dict[int, list[int]]:
    """The first trials of each cell that are short enough, always the same ones."""
    found: dict[int, list[int]] = {}
    for position in positions:
        limit = most_steps(reference.cells[position])
        short = [trial for trial, outcome in sorted(reference.rows[position].items()) if outcome.steps <= limit]
        found[position] = short[:TRIALS_A_CELL]
    return found


def run_again(
    cells: Sequence[Cell], trials: Mapping[int, Sequence[int]], seed: int, backend: Backend
) -> tuple[Rows, list[str]]:
    """Run trials of some cells.

    Args:
        cells: cells of the grid.
        trials: position of a cell -> numbers of its trials.
        seed: root seed.
        backend: where to run them.

    Returns:
        their outcomes, and one line for each trial that raised.
    """
    missing = [np.array(trials.get(position, []), dtype=np.int64) for position in range(len(cells))]
    rows: dict[int, dict[int, Outcome]] = {position: {} for position in trials}
    raised = []
    with closing(run_missing(cells, missing, Order(seed), backend)) as results:
        for result in results:
            for row in result.finished:
                outcome = Outcome(row.status, row.steps, row.observations, row.correct)
                rows[result.position][row.trial] = outcome
            raised += [f"{cells[result.position].names}, trial {f.trial}: {f.error}" for f in result.failed]
    return rows, raised
