"""The slope that a bound itself would give: what Table 1 says in words, as a number."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.bounds import Row, bounds_of_results
from cascadebai_cli.analysis.curves import Curve, curves_of
from cascadebai_cli.analysis.fits import PLACE, columns_of, named_fit, tail
from cascadebai_cli.analysis.scaling import ScalingFit, fit_scaling
from cascadebai_cli.analysis.varying import names_of
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import BOUND_FIT_COLUMNS
from cascadebai_cli.text.numbers import coefficient, share
from cascadebai_cli.text.table import Table


def bound_slope(cells: pd.DataFrame, model: str, x: str = "K") -> ScalingFit | None:
    """Fit `model` to the upper bounds of cells, as `fit_scaling` fits it to their mean steps.

    The bound is a worst case, so its `c1` is the larger one. Where the bound is tight in `K`, as the paper
    concludes from its fits, the model fits the bound as well, and both `c1` differ by the same factor as the values.

    Args:
        cells: the axis and `upper`, one row a value of the axis.
        model: the regressor.
        x: name of the axis.

    Returns:
        The fit, `None` if a cell has no finite upper bound.

    Raises:
        ConfigError: as `fit_scaling`.
    """
    upper = cells["upper"].to_numpy(dtype=float)
    return fit_scaling(cells[x].to_numpy(), upper, model, x) if np.isfinite(upper).all() else None


def slopes_table(results: Results) -> pd.DataFrame:
    """Measured and promised slope of each curve that the config fits and that has an upper bound at every point.

    Raises:
        ConfigError: if a named model cannot be fitted.
    """
    table = bounds_of_results(results)
    rows = list(_slopes(results, table)) if len(table) else []
    return pd.DataFrame(rows, columns=columns_of(BOUND_FIT_COLUMNS, rows))


def _slopes(results: Results, table: pd.DataFrame) -> Iterator[Row]:
    for curve in curves_of(results, table):
        for model in curve.models:
            promised = bound_slope(curve.points, model, curve.x)
            if promised:
                yield _row(results, curve, named_fit(curve, model), promised)


def _row(results: Results, curve: Curve, measured: ScalingFit, promised: ScalingFit) -> Row:
    return {
        "study": results.name,
        "instance": curve.key["instance"],
        "learner": curve.key["learner"],
        "model": promised.model,
        "c1": measured.c1,
        "r2": measured.r2,
        "bound_c1": promised.c1,
        "bound_c2": promised.c2,
        "bound_r2": promised.r2,
        "bound_over_measured": promised.c1 / measured.c1 if measured.c1 else None,
        **tail(results, curve),
    }


def slopes_printed(slopes: pd.DataFrame) -> Table:
    """Measured slope and that of the upper bound, with their ratio.

    Args:
        slopes: as from `slopes_table`.
    """
    names = names_of(slopes, (*PLACE, "model"), always=("instance", "model"))
    columns = {"c1": coefficient, "r2": share, "bound_c1": coefficient, "bound_r2": share}
    columns["bound_over_measured"] = coefficient
    rows = [
        [*names.texts(row), *(show(row[name]) for name, show in columns.items())] for row in slopes.to_dict("records")
    ]
    return names.table(["c1 measured", "R^2", "c1 of the upper bound", "R^2 of it", "ratio"], rows)
