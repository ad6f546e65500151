"""The tables that go with a study, and the data of figures."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.budgets import budgets_printed, budgets_table
from cascadebai_cli.analysis.cells import wide_table, with_moments
from cascadebai_cli.analysis.fits import (
    fits_printed,
    fits_table,
    models_printed,
    models_table,
    slopes_printed,
    slopes_table,
    weighted_fits_printed,
    weighted_fits_table,
)
from cascadebai_cli.analysis.ratios import orders_printed, orders_table, ratios_printed, ratios_table
from cascadebai_cli.analysis.results import StudyResults
from cascadebai_cli.store.columns import (
    BOUND_FITS_CSV,
    BUDGETS_CSV,
    FITS_CSV,
    MODELS_CSV,
    ORDERS_CSV,
    POINT,
    RATIOS_CSV,
    WEIGHTED_FITS_CSV,
)
from cascadebai_cli.study.kinds import KINDS, QUANTILES
from cascadebai_cli.text import Table

# --- The tables that go with a study --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StudyTable:
    """A table of a study.

    Attributes:
        rows: all its rows, one for each fit, model, ratio or order.
        printed: the part that a reader wants to see; `str` makes text of it.
    """

    file: str
    rows: pd.DataFrame
    printed: Table


_Printer = Callable[[pd.DataFrame], Table]


def tables_of(
    results: StudyResults, *, allow_capped: bool = False, files: Collection[str] | None = None
) -> Iterator[StudyTable]:
    """Yield the tables of a study that have a row.

    Args:
        allow_capped: also fit curves with trials that reached the cap.
        files: names of the files that are asked for; all by default.

    Raises:
        ConfigError: if a named model cannot be fitted.
    """
    for file, table, printer in _all_of(results, allow_capped):
        rows = table(results) if files is None or file in files else pd.DataFrame()
        if not rows.empty:
            yield StudyTable(file, rows, printer(rows))


def _all_of(
    results: StudyResults, allow_capped: bool
) -> Iterator[tuple[str, Callable[[StudyResults], pd.DataFrame], _Printer]]:
    if results.has_budget:
        yield BUDGETS_CSV, budgets_table, budgets_printed
        return
    yield FITS_CSV, partial(fits_table, allow_capped=allow_capped), fits_printed
    yield WEIGHTED_FITS_CSV, partial(weighted_fits_table, allow_capped=allow_capped), weighted_fits_printed
    yield MODELS_CSV, partial(models_table, allow_capped=allow_capped), models_printed
    yield BOUND_FITS_CSV, slopes_table, slopes_printed
    about = results.study.plot.figure.about
    if about == "learners":
        yield RATIOS_CSV, ratios_table, ratios_printed
    if about == "orders":
        yield ORDERS_CSV, orders_table, orders_printed


# --- The numbers that a figure shows, as a table for readers --------------------------------------------------------


def figure_data(results: StudyResults, kind: str) -> pd.DataFrame:
    """Return one row for each point or bar of a figure; empty for a figure without data.

    Names and sizes that are the same everywhere are left out, except `instance` and `K`.
    """
    figure = KINDS[kind]
    if not figure.data:
        return pd.DataFrame()
    table = _with_fit(results) if figure.beside == "fit" else results.summary
    if {*QUANTILES} & {*figure.data}:
        table = results.summary.merge(results.quantiles, on="cell_id")
    if figure.beside == "bounds":
        table = results.bounds[results.bounds["learner"] == results.main_learner]
    if figure.points == "steps":
        table = with_moments(wide_table([results]), [results])
    return _shown(table, figure.data)


def _shown(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    names = [name for name in POINT if name in ("instance", "K") or table[name].nunique() > 1]
    as_given = ("instance", "learner", "delta", "epsilon")
    rank = {name: {value: i for i, value in enumerate(dict.fromkeys(table[name]))} for name in as_given}
    ordered = table.sort_values(
        list(POINT), key=lambda column: column.map(rank[column.name]) if column.name in rank else column, kind="stable"
    )
    return ordered[[*names, *columns]].reset_index(drop=True)


def _with_fit(results: StudyResults) -> pd.DataFrame:
    table = results.summary.assign(fitted=np.nan)
    for curve in results.curves():
        if curve.models:
            table.loc[curve.points.index, "fitted"] = curve.best_named.predict(curve.values)
    return table
