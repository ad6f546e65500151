"""The verb `verify`, which compares this code with committed results."""

import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from scipy import stats

from cascadebai_cli.analysis.fits import fits_table
from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.own import is_own
from cascadebai_cli.options import MOST_TRIALS
from cascadebai_cli.running.runner import Backend, collect
from cascadebai_cli.running.watch import SILENT, Follower, Watch
from cascadebai_cli.running.worker import Failed, Settings
from cascadebai_cli.store.columns import FITS_CSV, MANIFEST, PLACE, SUMMARY_CSV, TRIALS_CSV, TrialRow
from cascadebai_cli.store.files import AGAIN, is_packed
from cascadebai_cli.store.summary import summarise
from cascadebai_cli.store.trials import read_rows, read_table, summary_text, trials_table
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import stored_study
from cascadebai_cli.text import change, count, for_shell

__all__ = ["Backend", "verify"]


# --- A baseline: the rows of a finished sweep, a small fixed part of which is run again -----------------------------

_MOST_CELLS = 40
"""Largest number of cells of one baseline that are run again."""
_TRIALS_A_CELL = 2
_TrialRows = Mapping[int, Mapping[int, TrialRow]]
"""Position of a cell in the grid -> number of a trial -> the trial."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """A result directory that this code is compared with.

    Args:
        strangers: cells of `trials.csv` that its config no longer makes.
        plugins: names `module:object` of the users' code in its config.
        skipped: learner or instance in words -> name of its code, for code that must not be imported; their cells and
            rows are left out.
    """

    results: StudyResults
    cells: Sequence[Cell]
    rows: _TrialRows
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

    @classmethod
    def load(cls, directory: Path, folder: Path, plugins: Collection[str] = ()) -> Self:
        """Read a baseline.

        As somebody else may have made it, code that its manifest names is imported only if `plugins` allows it.

        Args:
            folder: folder to which the paths of data files in its config are relative.
            plugins: names `module:object` that may be imported.

        Raises:
            ConfigError: if a file is missing or damaged, or the config is not valid any more.
        """
        table = directory / TRIALS_CSV
        if not ((directory / MANIFEST).exists() and (table.exists() or is_packed(table))):
            raise ConfigError(
                f"{directory} needs {MANIFEST} and {TRIALS_CSV} to be a reference; copy them from a sweep"
            )
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
        for row in read_rows(table):
            if row.cell_id in places:
                rows.setdefault(places[row.cell_id], {})[row.trial] = row
            elif row.cell_id not in left_out:
                strangers[row.cell_id] = None
        if not (rows or strangers or skipped):
            raise ConfigError(f"{directory / TRIALS_CSV}: no trial; {AGAIN}")
        words = {f"{key[:-1]} '{name}'": code for (key, name), code in skipped.items()}
        return cls(results, cells, rows, tuple(strangers), frozenset(own.values()), words)

    @property
    def watched(self) -> list[int]:
        """Cells that stand for all: the smallest, middle and largest `K` of each curve with short enough trials."""
        curves: dict[object, list[int]] = {}
        for position, trials in self.rows.items():
            cell = self.cells[position]
            if np.mean([row.steps for row in trials.values()]) <= cell.ran_by.verified:
                key = tuple(getattr(cell, name) for name in PLACE if name != "K")
                curves.setdefault(key, []).append(position)
        found = sorted({places[i] for places in curves.values() for i in (0, len(places) // 2, -1)})
        return evenly(found, _MOST_CELLS)


def _own_code(results: StudyResults) -> dict[tuple[str, str], str]:
    """Return the key and name of each entry of the config that is a user's code -> the name of that code."""
    learners = {("learners", entry.name): entry.algorithm for entry in results.study.learners}
    instances = {("instances", entry.name): entry.family for entry in results.study.instances}
    return {entry: name for entry, name in {**learners, **instances}.items() if is_own(name)}


def _cells(results: StudyResults, skipped: Collection[tuple[str, str]], folder: Path) -> Sequence[Cell]:
    """Return the cells of all learners and instances but those in `skipped`."""
    config = dict(results.manifest.config)
    for key, name in skipped:
        config[key] = [entry for entry in config[key] if entry["name"] != name]
    nobody = any(not config[key] for key, _ in skipped)
    cells = () if nobody else stored_study(config, results.directory / MANIFEST, folder).cells
    made = results.manifest.cells  # `auto` may take another engine today, which draws other numbers
    return [replace(cell, engine=made.get(cell.cell_id, {}).get("engine", cell.engine)) for cell in cells]


def _outcome_text(row: TrialRow) -> str:
    """Return the outcome of a trial in words."""
    right = {None: "", True: ", right", False: ", wrong"}[row.correct]
    return f"{row.status} after {count(row.steps)} steps, {count(row.observations)} observations{right}"


def evenly(values: Sequence[int], most: int) -> list[int]:
    """Return at most `most` of the values, spread evenly over all of them."""
    if len(values) <= most:
        return list(values)
    return [values[i] for i in np.linspace(0, len(values) - 1, most).round().astype(int)]


def _fixed_trials(baseline: Baseline, positions: Iterable[int]) -> dict[int, list[int]]:
    """Return the first short enough trials of each cell, which are always the same."""
    found: dict[int, list[int]] = {}
    for position in positions:
        limit = baseline.cells[position].ran_by.verified
        short = [trial for trial, row in sorted(baseline.rows[position].items()) if row.steps <= limit]
        found[position] = short[:_TRIALS_A_CELL]
    return found


def _run_again(
    cells: Sequence[Cell], trials: Mapping[int, Sequence[int]], seed: int, backend: Backend
) -> tuple[_TrialRows, list[str]]:
    """Run trials of some cells.

    Returns:
        the trials, and one line for each trial that raised.
    """
    numbers = [np.array(trials.get(position, []), dtype=np.int64) for position in range(len(cells))]
    raised: list[str] = []

    def fail(cell: Cell, failed: Failed) -> None:
        raised.append(f"{cell.names}, trial {failed.trial}: {failed.error}")

    with Follower(SILENT, cells, list(map(len, numbers)), fail=fail).shown() as follower:
        collect(cells, numbers, Settings(seed), backend, follower)
    return {position: {row.trial: row for row in follower.rows[position]} for position in trials}, raised


# --- Whether fresh trials agree with those of a baseline, at a stated rate of false alarms ---------------------------
#
# Mean steps are compared; in studies with budgets, which all but fix the steps, error rates are.

FALSE_ALARMS = 1e-3
"""Largest probability that any comparison of one call gives an alarm although nothing has changed."""

_Measure = Literal["mean steps", "error rate"]


class Comparison(NamedTuple):
    """The comparison of a cell, or of several cells together.

    Attributes:
        z: statistic that is standard normal, or nearer to 0, if nothing has changed; positive if fresh trials take
            more steps, or are wrong more often.
        change: mean relative change of the mean steps, or mean difference of the error rates.
    """

    what: str
    z: float
    change: float
    measure: _Measure

    @property
    def p_value(self) -> float:
        """Probability of a `z` at least this far from 0, if nothing has changed."""
        return float(2 * stats.norm.sf(abs(self.z)))


def compare_means(baseline: pd.DataFrame, fresh: pd.DataFrame, groups: Mapping[str, Sequence[str]]) -> list[Comparison]:
    """Compare each cell, and groups of cells together, which reveals a small change that all of them share.

    Args:
        baseline, fresh: rows of `summary.csv` of independent trials, with the same cells; all with budgets, or none.
        groups: name -> cells.
    """
    both = baseline.merge(fresh, on="cell_id", suffixes=("_old", "_new"))
    measure: _Measure = "error rate" if "budget_old" in both else "mean steps"
    compared = _errors if measure == "error rate" else _steps
    cells = {row["cell_id"]: Comparison(row["cell_id"], *compared(row), measure) for row in both.to_dict("records")}
    there = {name: [cells[cell] for cell in members if cell in cells] for name, members in groups.items()}
    return [*cells.values(), *(_pooled(name, members, measure) for name, members in there.items() if members)]


def moved(comparisons: Iterable[Comparison], tests: int) -> list[Comparison]:
    """Return the comparisons that give an alarm when `tests` of them share `FALSE_ALARMS` equally (Bonferroni)."""
    return [comparison for comparison in comparisons if comparison.p_value < FALSE_ALARMS / tests]


def same_numbers(one: pd.DataFrame, other: pd.DataFrame, tolerance: float = 1e-6) -> bool:
    """Return whether two tables have the same columns and words, and numbers that differ by rounding only."""
    if list(one) != list(other) or len(one) != len(other):
        return False
    numbers = [name for name in one if pd.api.types.is_numeric_dtype(one[name])]
    words = [name for name in one if name not in numbers]
    if not (one[words].astype(str).to_numpy() == other[words].astype(str).to_numpy()).all():
        return False
    try:
        ours, theirs = (table[numbers].to_numpy(dtype=float) for table in (one, other))
    except ValueError:  # words in `other` where `one` has numbers
        return False
    return bool(np.allclose(ours, theirs, rtol=tolerance, atol=0, equal_nan=True))


def _steps(row: Mapping[Any, Any]) -> tuple[float, float]:
    """Return Welch's t of two means, as the standard normal value with the same p-value, and the relative change."""
    parts = [row["sd_steps_old"] ** 2 / row["n_old"], row["sd_steps_new"] ** 2 / row["n_new"]]
    difference, variance = row["mean_steps_new"] - row["mean_steps_old"], sum(parts)
    change = difference / row["mean_steps_old"]
    if variance == 0:
        return 0.0 if difference == 0 else float(np.copysign(np.inf, difference)), change
    sizes = [row["n_old"], row["n_new"]]
    freedom = variance**2 / sum(part**2 / (n - 1) for part, n in zip(parts, sizes, strict=True))
    t = difference / np.sqrt(variance)
    return float(np.copysign(stats.norm.isf(stats.t.sf(abs(t), freedom)), t)), change


def _errors(row: Mapping[Any, Any]) -> tuple[float, float]:
    """Return Fisher's exact test of two error rates as a standard normal value, 0 if p > 1/2, and their difference."""
    new, old = (round(row[f"error_rate_{end}"] * row[f"n_{end}"]) for end in ("new", "old"))
    drawn = (row["n_new"] + row["n_old"], new + old, row["n_new"])  # a frozen distribution would take most of the time
    more, fewer = stats.hypergeom.sf(new - 1, *drawn), stats.hypergeom.cdf(new, *drawn)
    z = max(0.0, stats.norm.isf(min(more, fewer)))
    return float(z if more < fewer else -z), row["error_rate_new"] - row["error_rate_old"]


def _pooled(name: str, members: Sequence[Comparison], measure: _Measure) -> Comparison:
    """Return several cells as one comparison, by Stouffer's sum, which is standard normal again."""
    z = float(np.sum([one.z for one in members]) / np.sqrt(len(members)))
    return Comparison(name, z, float(np.mean([one.change for one in members])), measure)


# --- Whether this code still gives the numbers of the baseline ------------------------------------------------------

_MOST_SHOWN = 5


@dataclass(frozen=True)
class Verified:
    """Names of the artefacts that were checked, and one line for each difference."""

    artefacts: tuple[str, ...]
    moved: tuple[str, ...]


@dataclass(frozen=True)
class _Means:
    """How fresh trials are run: where, with which root seed, how many for each cell, and for how many tests in all."""

    backend: Backend
    seed: int
    trials: int
    tests: int


def verify(
    baseline: Path,
    *,
    configs: Path = Path("configs"),
    only: Sequence[str] = (),
    seed: int | None = None,
    trials: int = 20,
    plugins: Sequence[str] = (),
    backend: Backend | None = None,
    watch: Watch = SILENT,
) -> Verified:
    """Compare this code with committed results: their tables, some trials bit for bit, and means of fresh trials.

    Args:
        baseline: directory with a result directory for each artefact.
        configs: folder to which the paths of data files in their configs are relative.
        only: names of the artefacts to check, all by default.
        seed: root seed of the fresh trials; a new one by default.
        trials: number of fresh trials of each cell.
        plugins: code `module:object` that may be imported; other code that a manifest names is skipped.

    Raises:
        ConfigError: if there is nothing to verify, or a file is missing or damaged.
    """
    if trials > MOST_TRIALS:
        raise ConfigError(f"--trials {trials} is too large; give {MOST_TRIALS} or less")
    artefacts = [Baseline.load(directory, configs, plugins) for directory in _directories(baseline, only)]
    _tell_skipped(artefacts, plugins, baseline, watch)
    tests = sum(len(_groups(artefact)) + len(artefact.watched) for artefact in artefacts)
    means = _Means(backend or Backend(), secrets.randbits(32) if seed is None else seed, trials, tests)
    watch.remark(f"fresh trials have the root seed {means.seed}")
    found = [line for artefact in artefacts for line in _check(artefact, means, watch)]
    return Verified(tuple(artefact.name for artefact in artefacts if artefact.cells), tuple(found))


def _directories(baseline: Path, only: Sequence[str]) -> list[Path]:
    found = sorted(path.parent for path in baseline.glob(f"*/{MANIFEST}"))
    if not found:
        raise ConfigError(
            f"{baseline} holds no result directory; run verify in the folder of the project, or give --reference DIR"
        )
    names = [path.name for path in found]
    for name in only:
        if name not in names:
            raise ConfigError(f"--only: {name} is not in {baseline}; choose from {', '.join(names)}")
    return [path for path in found if not only or path.name in only]


def _tell_skipped(artefacts: Sequence[Baseline], plugins: Sequence[str], baseline: Path, watch: Watch) -> None:
    for artefact in artefacts:
        for entry, name in artefact.skipped.items():
            watch.warn(
                f"{artefact.name}: {entry} is skipped: {name} is not part of this program; "
                f"to import and run it, add --plugin {name}"
            )
    known = {name for artefact in artefacts for name in artefact.plugins}
    for name in plugins:
        if name not in known:
            raise ConfigError(f"--plugin {name}: no learner or instance in {baseline} names it; leave it out")
    if not any(artefact.cells for artefact in artefacts):
        raise ConfigError(f"{baseline}: nothing is left to run; name what may be imported with --plugin")


def _check(artefact: Baseline, means: _Means, watch: Watch) -> list[str]:
    """Return one line for each difference in an artefact."""
    _remark_on_versions(artefact, watch)
    lines = [*_check_tables(artefact)]
    if artefact.cells:
        lines += [*_check_rows(artefact, means, watch), *_check_means(artefact, means, watch)]
    return [f"{artefact.name}: {line}" for line in lines]


def _remark_on_versions(artefact: Baseline, watch: Watch) -> None:
    manifest = artefact.results.manifest
    pairs: list[tuple[str, object, object]] = [("numpy", manifest.versions.get("numpy"), version("numpy"))]
    for engine, made in sorted({cell.runs_with: cell.ran_by for cell in artefact.cells}.items()):
        pairs.append((f"engine {engine}", manifest.engine_version.get(engine), made.version))
    for cell in {cell.learner: cell for cell in artefact.cells}.values():
        known = manifest.cells.get(cell.cell_id, {}).get(Cell.RULE, 1)
        pairs.append((f"rule of {cell.learner}", known, cell.spec.rule_version))
    for name, there, here in pairs:
        if there != here:
            watch.warn(
                f"{artefact.name}: {name} {there} in the reference, {here} here: rows may differ for that reason"
            )


def _check_tables(artefact: Baseline) -> Iterator[str]:
    """Yield differences of the tables: the summary must follow from the rows, the fits from the summary."""
    results = artefact.results
    if summary_text(results.directory).encode() != (results.directory / SUMMARY_CSV).read_bytes():
        yield "tables: summary.csv is not what trials.csv gives"
    if (results.directory / FITS_CSV).exists() and not _same_fits(results):
        yield "tables: fits.csv is not what summary.csv gives"
    for cell_id in artefact.strangers[:_MOST_SHOWN]:
        yield f"tables: cell {cell_id} of trials.csv is not made by the config any more"


def _same_fits(results: StudyResults) -> bool:
    """Return whether `fits.csv` is what the fits give, apart from rounding, which depends on the machine."""
    remedy = f"`cascadebai fit {for_shell(results.directory)}` writes it"
    return same_numbers(read_table(results.directory / FITS_CSV, remedy), fits_table(results))


def _check_rows(artefact: Baseline, means: _Means, watch: Watch) -> Iterator[str]:
    trials = _fixed_trials(artefact, artefact.watched)
    rows, raised = _run_again(artefact.cells, trials, artefact.seed, means.backend)
    again = sum(map(len, trials.values()))
    watch.remark(
        f"{artefact.name}: bit for bit: {again} of {count(sum(map(len, artefact.rows.values())))} trials run again"
    )
    differing = [
        f"{_place(artefact, position)}, trial {trial}: {_outcome_text(old)} in the reference, {_outcome_text(new)} here"
        for position, found in sorted(rows.items())
        for trial, new in sorted(found.items())
        if new.contradicts(old := artefact.rows[position][trial])
    ]
    yield from _first("bit for bit", [*raised, *differing], "trials")


def _check_means(artefact: Baseline, means: _Means, watch: Watch) -> Iterator[str]:
    cells = artefact.watched
    wanted = {position: range(means.trials) for position in cells if len(artefact.rows[position]) > 1}
    if len(wanted) < len(cells):
        skipped = len(cells) - len(wanted)
        watch.warn(
            f"{artefact.name}: by statistics: skipped for want of 2 trials in the reference: {skipped} of the cells"
        )
    rows, raised = _run_again(artefact.cells, wanted, means.seed, means.backend)
    positions = [position for position, trials in rows.items() if len(trials) > 1]
    old = _summary(artefact, {position: artefact.rows[position] for position in positions})
    fresh = _summary(artefact, {position: rows[position] for position in positions})
    found = compare_means(old, fresh, _groups(artefact))
    largest = max((abs(comparison.z) for comparison in found), default=0)
    watch.remark(
        f"{artefact.name}: by statistics: {len(positions)} of {len(artefact.cells)} cells, {means.trials} fresh trials "
        f"each; largest |z| {largest:.2f}"
    )
    names = {artefact.cells[position].cell_id: _place(artefact, position) for position in positions}
    lines = [
        f"{names.get(one.what, one.what)}: {one.measure} {change(one.change, 2)}, z = {one.z:.1f}, "
        f"p = {one.p_value:.1g}"
        for one in moved(found, means.tests)
    ]
    # Groups stand behind the cells; they come first, as they tell what is wrong everywhere.
    yield from _first("by statistics", [*raised, *lines[::-1]], "comparisons")


def _place(artefact: Baseline, position: int) -> str:
    cell = artefact.cells[position]
    return f"{cell.label} (cell {cell.cell_id})"


def _groups(artefact: Baseline) -> Mapping[str, list[str]]:
    """Return the watched cells as one group and, if there are several learners, by learner.

    Cells on the same path share their trials, so that only the last of them is taken.
    """
    cells = list({artefact.cells[i].path_id: artefact.cells[i] for i in artefact.watched}.values())
    groups = {"all watched cells": [cell.cell_id for cell in cells]}
    learners = list(dict.fromkeys(cell.learner for cell in cells))
    for learner in learners if len(learners) > 1 else []:
        groups[f"all watched cells of {learner}"] = [cell.cell_id for cell in cells if cell.learner == learner]
    return {name: members for name, members in groups.items() if len(members) > 1}


def _summary(artefact: Baseline, rows: _TrialRows) -> pd.DataFrame:
    return summarise([trials_table(artefact.cells, [row for trials in rows.values() for row in trials.values()])])


def _first(check: str, lines: Sequence[str], what: str) -> Iterator[str]:
    yield from (f"{check}: {line}" for line in lines[:_MOST_SHOWN])
    if len(lines) > _MOST_SHOWN:
        yield f"{check}: and {len(lines) - _MOST_SHOWN} more {what}"
