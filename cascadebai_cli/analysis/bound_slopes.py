"""The slope that a bound itself would give: what Table 1 says in words, as a number."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.bounds import Row, bounds_of_results
from cascadebai_cli.analysis.fits import curves_of, fit_block
from cascadebai_cli.analysis.scaling import ScalingFit, fit_scaling
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import BOUND_FIT_COLUMNS, SERIES
from cascadebai_cli.text.numbers import coefficient, share
from cascadebai_cli.text.table import Table, table_of


def bound_slope(cells: pd.DataFrame, model: str) -> ScalingFit | None:
    """Fit `model` to the upper bounds of cells, as `fit_scaling` fits it to their mean steps.

    The bound is a worst case, so its `c1` is the larger one. Where the bound is tight in `K`, as the paper
    concludes from its fits, the model fits the bound as well, and both `c1` differ by the same factor as the values.

    Args:
        cells: columns `K, upper`, one row a value of `K`.
        model: a key of `scaling.MODELS`.

    Returns:
        The fit, `None` if a cell has no finite upper bound.

    Raises:
        ConfigError: as `fit_scaling`.
    """
    upper = cells["upper"].to_numpy(dtype=float)
    return fit_scaling(cells["K"].to_numpy(), upper, model) if np.isfinite(upper).all() else None


def slopes_table(results: Results) -> pd.DataFrame:
    """Measured and promised slope of each curve that the config fits and that has an upper bound at every `K`.

    Raises:
        ConfigError: if a named model cannot be fitted.
    """
    table = bounds_of_results(results)
    return pd.DataFrame(list(_slopes(results, table)) if len(table) else [], columns=list(BOUND_FIT_COLUMNS))


def _slopes(results: Results, table: pd.DataFrame) -> Iterator[Row]:
    for key, cells in curves_of(table):
        block = fit_block(results, key)
        promised = bound_slope(cells, block.model) if block else None
        if promised:
            measured = fit_scaling(cells["K"].to_numpy(), cells["mean_steps"].to_numpy(), promised.model)
            yield _row(results, key, measured, promised)


def _row(results: Results, key: Mapping[str, Any], measured: ScalingFit, promised: ScalingFit) -> Row:
    return {
        "study": results.name,
        "instance": key["instance"],
        "learner": key["learner"],
        "model": promised.model,
        "c1": measured.c1,
        "r2": measured.r2,
        "bound_c1": promised.c1,
        "bound_c2": promised.c2,
        "bound_r2": promised.r2,
        "bound_over_measured": promised.c1 / measured.c1 if measured.c1 else None,
        **{name: key[name] for name in SERIES[2:]},
        "rows_sha256": results.rows_sha256,
    }


def slopes_printed(slopes: pd.DataFrame) -> Table:
    """Measured slope and that of the upper bound, with their ratio.

    Args:
        slopes: as from `slopes_table`.
    """
    header = ["instance", "learner", "model", "c1 measured", "R^2", "c1 of the upper bound", "R^2 of it", "ratio"]
    rows = [
        [
            str(row["instance"]),
            str(row["learner"]),
            str(row["model"]),
            coefficient(row["c1"]),
            share(row["r2"]),
            coefficient(row["bound_c1"]),
            share(row["bound_r2"]),
            coefficient(row["bound_over_measured"]),
        ]
        for row in slopes.to_dict("records")
    ]
    return table_of(header, rows, words=3)
