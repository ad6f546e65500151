"""The tables that go with a study."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd

from cascadebai_cli.analysis.bound_slopes import slopes_printed, slopes_table
from cascadebai_cli.analysis.budgets import budgets_printed, budgets_table
from cascadebai_cli.analysis.fits import fits_printed, fits_table, models_printed, models_table
from cascadebai_cli.analysis.orders import orders_printed, orders_table
from cascadebai_cli.analysis.ratios import ratios_printed, ratios_table
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import BOUND_FITS_CSV, BUDGETS_CSV, FITS_CSV, MODELS_CSV, ORDERS_CSV, RATIOS_CSV
from cascadebai_cli.text.table import Table


@dataclass(frozen=True, eq=False)
class StudyTable:
    """A table of a study.

    Attributes:
        file: name of its file.
        rows: all of it, one row a fit, model, ratio or order.
        printed: what a reader wants to see of it; `str` of it is text.
    """

    file: str
    rows: pd.DataFrame
    printed: Table


Printer = Callable[[pd.DataFrame], Table]


def tables_of(results: Results, *, allow_capped: bool = False) -> Iterator[StudyTable]:
    """The tables of a study that have a row.

    Args:
        results: of a sweep.
        allow_capped: fit curves with trials that reached the cap as well.

    Raises:
        ConfigError: if a named model cannot be fitted.
    """
    for file, rows, printer in _all_of(results, allow_capped):
        if not rows.empty:
            yield StudyTable(file, rows, printer(rows))


def _all_of(results: Results, allow_capped: bool) -> Iterator[tuple[str, pd.DataFrame, Printer]]:
    if results.has_budget:
        yield BUDGETS_CSV, budgets_table(results), budgets_printed
        return
    yield FITS_CSV, fits_table(results, allow_capped=allow_capped), fits_printed
    yield MODELS_CSV, models_table(results, allow_capped=allow_capped), models_printed
    yield BOUND_FITS_CSV, slopes_table(results), slopes_printed
    if results.plot_kind == "curves":
        yield RATIOS_CSV, ratios_table(results), ratios_printed
    if results.plot_kind == "bars":
        yield ORDERS_CSV, orders_table(results), orders_printed
