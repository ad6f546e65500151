"""What the theorems promise for each cell of a study, beside what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cascadebai_cli.analysis.bounds import bounds_printed, bounds_row, learner_bounds, outside, with_measured
from cascadebai_cli.analysis.budget_bounds import budget_bounds, budget_bounds_printed, too_often_wrong
from cascadebai_cli.analysis.sharp import with_sharp
from cascadebai_cli.analysis.tables import StudyTable
from cascadebai_cli.store.directory import load_results
from cascadebai_cli.store.schema import BOUND_COLUMNS, BOUNDS_CSV, CELL, SUMMARY_CSV
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.text.clean import for_shell
from cascadebai_cli.workflows.outputs import write_table
from cascadebai_cli.workflows.printing import in_format
from cascadebai_cli.workflows.results import warn_of_gaps
from cascadebai_cli.workflows.studies import read_study
from cascadebai_cli.workflows.watch import SILENT, Watch

__all__ = ["Bounded", "bounds", "in_format", "promised"]


OF_STEPS = (
    "lower",
    "upper",
    "source",
    "dominating",
    "upper_general",
    "dominating_general",
    "upper_two_level",
)
OF_BUDGETS = ("H", "H2", "bound", "enough")
SHARP = ("T_star", "gap", "sharp")
"""Columns that do not depend on what was measured."""


@dataclass(frozen=True, eq=False)
class Bounded:
    """Bounds and measured means, one row a cell."""

    table: StudyTable


def bounds(
    config: Path,
    *,
    results: Path | None = None,
    csv: Path | None = None,
    printed: bool = False,
    sharp: bool = False,
    watch: Watch = SILENT,
) -> Bounded:
    """The lower and the upper bound on the number of steps, and how far the measured mean is from both.

    Of a study with budgets, the bound on the chance of an error.

    Args:
        config: the study.
        results: its sweep; `results/NAME OF CONFIG` by default, if there is one.
        csv: file for the table, none by default.
        printed: constant 216 in T-bar, as printed, instead of 256 sigma^2.
        sharp: add the sharp lower bound, `nan` where it is not known (`with_sharp`).
        watch: takes the remarks.

    Raises:
        ConfigError: if the config or the result directory is not usable.
        CascadeError: if the table cannot be written.
    """
    study = read_study(config)
    cells = study.cells
    if cells[0].answers:
        return _of_budgets(cells, _measured(results, config, watch), csv, watch)
    table = with_measured(_promised(cells, printed), _measured(results, config, watch))[list(BOUND_COLUMNS)]
    if sharp:
        table = with_sharp(table, cells)
    if not study.independent:
        watch.warn(f"warning: rewards are {study.rewards}; the bounds are about independent ones")
    for sentence in outside(table) if study.independent else []:
        watch.warn(f"warning: {sentence}")
    if csv:
        write_table(csv, table)
    return Bounded(StudyTable(BOUNDS_CSV, table, bounds_printed(table)))


def promised(cells: Sequence[Cell], *, printed: bool = False, sharp: bool = False) -> pd.DataFrame:
    """The bounds alone, one row a cell; arguments as for `bounds`."""
    if cells[0].answers:
        return budget_bounds(cells, None)[list(OF_BUDGETS)]
    table = with_measured(_promised(cells, printed), None)
    return with_sharp(table, cells)[[*OF_STEPS, *SHARP]] if sharp else table[list(OF_STEPS)]


def _of_budgets(cells: Sequence[Cell], summary: pd.DataFrame | None, csv: Path | None, watch: Watch) -> Bounded:
    """What is proved of the chance of an error after each budget."""
    table = budget_bounds(cells, summary)
    for sentence in too_often_wrong(table):
        watch.warn(f"warning: {sentence}")
    if csv:
        write_table(csv, table)
    return Bounded(StudyTable(BOUNDS_CSV, table, budget_bounds_printed(table)))


def _promised(cells: Sequence[Cell], printed: bool) -> pd.DataFrame:
    return pd.DataFrame(
        {name: getattr(cell, name) for name in CELL}
        | bounds_row(
            learner_bounds(
                cell.problem, cell.delta, cell.spec.algorithm, cell.spec.options, cell.feedback, printed=printed
            )
        )
        for cell in cells
    )


def _measured(directory: Path | None, config: Path, watch: Watch) -> pd.DataFrame | None:
    """`summary.csv` of the sweep, if there is one; a directory that was asked for has to be one."""
    usual = Path("results") / config.stem
    if directory is None and not (usual / SUMMARY_CSV).exists():
        watch.warn(f"no measured steps: {usual} has no {SUMMARY_CSV}; `cascadebai sweep {for_shell(config)}` makes it")
        return None
    results = load_results(directory or usual)
    warn_of_gaps(results, watch)
    return results.summary
