"""The verbs `summary`, `fit` and `bounds`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from cascadebai_cli.analysis.bounds import (
    bounds_printed,
    bounds_row,
    budget_bounds,
    learner_bounds,
    no_sharp,
    outside,
    too_often_wrong,
    with_factor,
    with_measured,
    with_sharp,
)
from cascadebai_cli.analysis.cells import averaged, cells_with, ordered
from cascadebai_cli.analysis.fits import fits_table
from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.analysis.tables import (
    StudyTable,
    Tables,
    cells_printed,
    compact,
    few_averaged,
    tables_of,
    with_quantiles_if,
)
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.own import is_own
from cascadebai_cli.options import filled
from cascadebai_cli.running.watch import SILENT, Watch
from cascadebai_cli.store.columns import BOUNDS_CSV, CELL, MANIFEST, SUMMARY_CSV, TABLES
from cascadebai_cli.store.files import refuse_to_replace, write_table
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.config import Study, load_study, stored_study
from cascadebai_cli.study.kinds import Selection
from cascadebai_cli.study.plot import refuse_unknown_option
from cascadebai_cli.text import for_shell

__all__ = ["Tables", "bounds", "fit", "fits_table", "promised", "summary"]


# --- Fitting a study: the tables are written into its directory -----------------------------------------------------


def fit(directory: Path, *, allow_capped: bool = False, watch: Watch = SILENT) -> Tables:
    """Fit the mean number of steps against K or another axis, and compare learners, as the config says.

    Args:
        allow_capped: also fit means with trials that reached the cap, which are lower limits, and mark such fits.

    Raises:
        ConfigError: if the directory is not that of a sweep, or there is nothing to fit.
        CascadeError: if a table cannot be written.
    """
    results = load_results(directory)
    tables = tuple(tables_of(results, allow_capped=allow_capped))
    refused = results.unfitted(allow_capped=allow_capped)
    if not tables:
        nothing = "nothing to fit: no instance has 3 values of K, or of what varies instead; add some to the config"
        raise ConfigError(f"{directory}: {refused[0] if refused else nothing}")
    results.tell_gaps(watch.warn)
    for sentence in refused:
        watch.warn(f"warning: {directory}: {sentence}")
    for table in tables:
        write_table(directory / table.file, table.rows, through=False)
    return Tables(tables, not results.missing)


# --- The cells of a result directory as a table ---------------------------------------------------------------------


def summary(directory: Path, given: Mapping[str, Any], *, on_a_page: bool = False, watch: Watch = SILENT) -> Tables:
    """Return the cells of a result directory with means, intervals and errors.

    Args:
        given: options of `Selection`: which cells and columns, and how they are arranged.
        on_a_page: whether the table is for a printed page, which has room for a few columns.

    Raises:
        ConfigError: if the directory is not that of a sweep, or a column, a value or an option is not known.
    """
    asked, results = filled(Selection, given), load_results(directory)
    if asked.average:
        _check_option(results, asked.average)
    sort, columns = asked.sort or (), asked.columns or ()
    cells = with_quantiles_if(averaged(results, asked.average), [*sort, *columns])
    rows = ordered(cells_with(cells, asked.where or ()), sort)
    shown, few = list(rows["cell_id"]), few_averaged(rows, asked.average) if asked.average else ""
    if columns or asked.pivot or on_a_page:
        found = compact(rows, columns, asked.pivot, on_a_page=on_a_page)
        rows, printed = found.rows, found.printed
    else:
        printed = cells_printed(rows)
    if asked.average:
        note = f"means over {asked.average}, each value once, with the interval of their means (on a log scale)"
        printed = printed.noted("; ".join(filter(None, [note, few])))
    results.tell_gaps(watch.warn, shown)
    printed = replace(printed, caption=asked.caption or "", label=asked.label or "")
    return Tables((StudyTable(SUMMARY_CSV, rows, printed),), not results.missing)


def _check_option(results: StudyResults, option: str) -> None:
    try:
        refuse_unknown_option(results.study.instances, option)
    except ConfigError as error:
        raise ConfigError(f"--average: {error}") from None


# --- The bounds of each cell of a study, beside what was measured ---------------------------------------------------

_OF_STEPS = ("lower", "upper", "source", "dominating", "upper_general", "dominating_general", "upper_two_level")
_OF_BUDGETS = ("H", "H2", "bound", "enough")
_SHARP = ("T_star", "gap", "sharp")
"""Columns that do not depend on what was measured."""


def bounds(
    config: Path,
    *,
    results: Path | None = None,
    csv: Path | None = None,
    printed: bool = False,
    sharp: bool = False,
    factor: bool = False,
    watch: Watch = SILENT,
) -> Tables:
    """Return the lower and upper bounds on the steps of each cell, and how far the measured mean is from both.

    For a study with budgets, it is the bound on the probability of an error.

    Args:
        config: the study, as a file or as the directory of its sweep, if its config names no files or code.
        results: directory of its sweep; `results/NAME OF CONFIG` by default, if that exists.
        csv: file for the table, none by default.
        printed: whether to use the constant 216 in T-bar, as printed in the paper, instead of 256 sigma^2.
        sharp: add the sharp lower bound, `nan` where it is not known (`with_sharp`).
        factor: add the limit of steps over it for small `delta`, `nan` where it is not known (`with_factor`).

    Raises:
        ConfigError: if the config or the result directory is not usable.
        CascadeError: if the table cannot be written.
    """
    if csv:
        refuse_to_replace(csv, [config])
    if config.is_dir():
        study, results = _swept(config), results or config
    else:
        study = load_study(config)
    cells, measured = study.cells, _measured(results, config, watch)
    if cells[0].answers:
        table = budget_bounds(cells, measured)
        remarks = too_often_wrong(table)
    else:
        table = with_measured(_promised(cells, printed), measured)
        table = table[TABLES[BOUNDS_CSV].names(table)]
        table = with_sharp(table, cells, watch.remark) if sharp else table
        table = with_factor(table, cells, watch.remark) if factor else table
        reused = [f"rewards are {study.rewards}; the bounds are about independent ones"]
        remarks = outside(table) if study.independent else reused
    for sentence in remarks:
        watch.warn(f"warning: {sentence}")
    for sentence in no_sharp(cells) if sharp or factor else []:
        watch.warn(sentence)
    if csv:
        write_table(csv, table)
    return Tables((StudyTable(BOUNDS_CSV, table, bounds_printed(table)),))


def _swept(directory: Path) -> Study:
    """Return the study of a sweep with its cells."""
    results = load_results(directory)
    named = {entry.algorithm for entry in results.study.learners} | {entry.family for entry in results.study.instances}
    try:
        if any(map(is_own, named)):
            raise ConfigError("its code is not run")
        return stored_study(results.manifest.config, directory / MANIFEST, folder=Path())
    except ConfigError:
        raise ConfigError(f"{directory}: its config names files or code; name its YAML file instead") from None


def promised(
    cells: Sequence[Cell], *, printed: bool = False, sharp: bool = False, factor: bool = False
) -> pd.DataFrame:
    """Return the bounds alone, with one row for each cell; arguments as for `bounds`."""
    if cells[0].answers:
        return budget_bounds(cells, None)[list(_OF_BUDGETS)]
    table = with_measured(_promised(cells, printed), None)
    table = with_sharp(table, cells) if sharp else table
    table = with_factor(table, cells) if factor else table
    return table[[name for name in (*_OF_STEPS, *_SHARP, "factor") if name in table]]


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
    """Return `summary.csv` of the sweep; `None` if no directory was given and the usual one holds no sweep."""
    usual = Path("results") / config.stem
    if directory is None and not (usual / SUMMARY_CSV).exists():
        watch.warn(f"no measured steps: {usual} has no {SUMMARY_CSV}; `cascadebai sweep {for_shell(config)}` makes it")
        return None
    results = load_results(directory or usual)
    results.tell_gaps(watch.warn)
    return results.summary
