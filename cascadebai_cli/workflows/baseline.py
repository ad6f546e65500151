"""A baseline: the rows of a finished sweep that later code must give again, and a fixed small set of them."""

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.plugins import is_plugin
from cascadebai_cli.running.runner import Backend, run_missing
from cascadebai_cli.running.worker import Order
from cascadebai_cli.store.files import reading_from
from cascadebai_cli.store.manifest import MANIFEST, Manifest, read_manifest
from cascadebai_cli.store.trials import TRIAL_COLUMNS, TRIALS
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import stored_study
from cascadebai_cli.study.messages import show

MOST_STEPS: Mapping[str, float] = MappingProxyType(
    {"skip-ahead": float("inf"), "walk": 2e6, "lockstep": 1e5, "reference": 2e4}
)
"""Engine -> longest trials that are run again: a few long ones would take as long as the sweep did."""
MOST_CELLS = 40
"""Cells of one baseline that are looked at."""
TRIALS_A_CELL = 2
NEEDED: Mapping[str, tuple[type, str]] = MappingProxyType(
    {
        "config": (dict, "a mapping"),
        "seed": (int, "a whole number"),
        "engine_version": (int, "a whole number"),
        "versions": (dict, "a mapping"),
    }
)
"""Keys of the manifest of a baseline, their types, and these in words."""
AGAIN = "copy the files from a sweep again"


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
class Baseline:
    """A result directory that others are compared with.

    Args:
        directory: where it is.
        manifest: its manifest.
        cells: cells of its grid.
        rows: its trials.
        strangers: cells of `trials.csv` that its own config does not make any more.
        plugins: algorithms `module:Class` that its config names.
        skipped: learner -> algorithm, of those whose code must not be imported; their cells and rows are left out.
    """

    directory: Path
    manifest: Manifest
    cells: Sequence[Cell]
    rows: Rows
    strangers: Sequence[str]
    plugins: Collection[str] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the artefact."""
        return self.directory.name

    @property
    def seed(self) -> int:
        """Root seed."""
        return int(self.manifest["seed"])


def load_baseline(directory: Path, folder: Path, plugins: Collection[str] = ()) -> Baseline:
    """Read a baseline.

    Somebody else may have made it, so that nothing is imported because a manifest names it.

    Args:
        directory: with `manifest.json` and `trials.csv`.
        folder: from which the data files of its config count.
        plugins: algorithms `module:Class` that may be imported.

    Raises:
        ConfigError: if a file is missing or damaged, or the config is not valid any more.
    """
    manifest = read_manifest(directory)
    if manifest is None or not (directory / TRIALS).exists():
        raise ConfigError(f"{directory} needs {MANIFEST} and {TRIALS} to be a reference; copy them from a sweep")
    _check_manifest(directory / MANIFEST, manifest)
    own = _own_code(manifest["config"])
    skipped = {learner: algorithm for learner, algorithm in own.items() if algorithm not in plugins}
    cells = _cells(directory / MANIFEST, _without(manifest["config"], skipped), folder)
    places = {cell.cell_id: i for i, cell in enumerate(cells)}
    left_out = {key for key, cell in manifest.get("cells", {}).items() if cell.get("algorithm") in skipped.values()}
    rows: dict[int, dict[int, Outcome]] = {}
    strangers: dict[str, None] = {}
    for cell_id, trial, outcome in _rows(directory / TRIALS):
        if cell_id in places:
            rows.setdefault(places[cell_id], {})[trial] = outcome
        elif cell_id not in left_out:
            strangers[cell_id] = None
    if not (rows or strangers or skipped):
        raise ConfigError(f"{directory / TRIALS}: no trial; {AGAIN}")
    return Baseline(directory, manifest, cells, rows, tuple(strangers), frozenset(own.values()), skipped)


def _own_code(config: Mapping[str, Any]) -> dict[str, str]:
    """Learner -> algorithm, of those that are not this program's."""
    entries = config.get("learners") or ()
    return {entry["name"]: entry["algorithm"] for entry in entries if is_plugin(entry.get("algorithm") or "")}


def _without(config: Mapping[str, Any], skipped: Collection[str]) -> Mapping[str, Any]:
    """The config without some learners; without these it stays as it is, be it valid or not."""
    if not skipped:
        return config
    return {**config, "learners": [entry for entry in config["learners"] if entry["name"] not in skipped]}


def _check_manifest(path: Path, manifest: Manifest) -> None:
    for key, (kind, what) in NEEDED.items():
        if key not in manifest:
            raise ConfigError(f"{path}: key {key} is missing; {AGAIN}")
        if not isinstance(manifest[key], kind):
            raise ConfigError(f"{path}: {key}: {show(manifest[key])} is not {what}; {AGAIN}")
    if manifest["seed"] < 0:
        raise ConfigError(f"{path}: seed: {manifest['seed']} is too small; {AGAIN}")


def _cells(path: Path, config: Mapping[str, Any], folder: Path) -> Sequence[Cell]:
    return () if config.get("learners") == [] else stored_study(config, path, folder).cells


def _rows(path: Path) -> Iterator[tuple[str, int, Outcome]]:
    with reading_from(path), path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, restval="")
        try:
            missing = [name for name in TRIAL_COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise ConfigError(f"{path}: column {missing[0]} is missing; {AGAIN}")
            for row in reader:
                yield _row(row, f"{path}:{reader.line_num}")
        except UnicodeDecodeError:
            raise ConfigError(f"{path} is not UTF-8 text; {AGAIN}") from None
        except csv.Error as error:
            raise ConfigError(f"{path}:{reader.line_num}: not a table ({error}); {AGAIN}") from None


def _row(row: Mapping[str, str], place: str) -> tuple[str, int, Outcome]:
    for name, (right, what) in _CELLS.items():
        if not right.fullmatch(row[name]):
            raise ConfigError(f"{place}: {name}: {show(row[name])} is not {what}; {AGAIN}")
    correct = bool(int(row["correct"])) if row["correct"] else None
    outcome = Outcome(row["status"], int(row["steps"]), int(row["observations"]), correct)
    return row["cell_id"], int(row["trial"]), outcome


_COUNT = (re.compile("[0-9]{1,18}"), "a whole number")
_CELLS = {
    "trial": _COUNT,
    "status": (re.compile("stopped|capped"), "stopped or capped"),
    "steps": _COUNT,
    "observations": _COUNT,
    "correct": (re.compile("[01]?"), "1, 0 or empty"),
}
"""Columns of `trials.csv` that are compared, what may stand in them, and that in words."""


def most_steps(cell: Cell) -> float:
    """Longest trial of a cell that is run again."""
    return MOST_STEPS[cell.runs_with]


def watched(baseline: Baseline) -> list[int]:
    """Cells that stand for all: the smallest, middle and largest `K` of each curve whose trials are short enough."""
    curves: dict[object, list[int]] = {}
    for position, trials in baseline.rows.items():
        cell = baseline.cells[position]
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


def fixed_trials(baseline: Baseline, positions: Iterable[int]) -> dict[int, list[int]]:
    """The first trials of each cell that are short enough, always the same ones."""
    found: dict[int, list[int]] = {}
    for position in positions:
        limit = most_steps(baseline.cells[position])
        short = [trial for trial, outcome in sorted(baseline.rows[position].items()) if outcome.steps <= limit]
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
