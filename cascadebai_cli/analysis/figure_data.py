"""The numbers that a figure shows, as a table for readers."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.bounds import bounds_of_results
from cascadebai_cli.analysis.curves import curves_of
from cascadebai_cli.analysis.fits import best_named
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import POINT

MEASURED = ["n", "mean_steps", "sd_steps", "ci_low", "ci_high", "n_capped"]
ERRORS = ["budget", "n", "error_rate", "error_low", "error_high", "mean_right"]
BOUNDS = ["lower", "mean_steps", "upper", "upper_over_measured"]


def figure_data(results: Results, kind: str) -> pd.DataFrame:
    """One row a point or bar of a figure; empty for a figure without data.

    Names and sizes that are the same everywhere are left out, `K` is always there.
    """
    if kind == "schematic":
        return pd.DataFrame()
    if kind == "bounds":
        table = bounds_of_results(results)
        return _shown(table[table["learner"] == results.main_learner], BOUNDS)
    if kind == "scaling":
        return _shown(_with_fit(results), [*MEASURED, "fitted"])
    return _shown(results.summary, ERRORS if kind == "error" else MEASURED)


def _shown(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    names = [name for name in POINT if name in ("instance", "K") or table[name].nunique() > 1]
    rank = {name: {value: i for i, value in enumerate(dict.fromkeys(table[name]))} for name in ("instance", "learner")}
    ordered = table.sort_values(
        list(POINT), key=lambda column: column.map(rank[column.name]) if column.name in rank else column, kind="stable"
    )
    return ordered[[*names, *columns]].reset_index(drop=True)


def _with_fit(results: Results) -> pd.DataFrame:
    table = results.summary.assign(fitted=np.nan)
    for curve in curves_of(results):
        if curve.models:
            table.loc[curve.points.index, "fitted"] = best_named(curve).predict(curve.values)
    return table
