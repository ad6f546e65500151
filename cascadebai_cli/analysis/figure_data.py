"""The numbers that a figure shows, as a table for readers."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.bounds import bounds_of_results
from cascadebai_cli.analysis.fits import curves_of, fit_block
from cascadebai_cli.analysis.scaling import fit_scaling
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import POINT

MEASURED = ["n", "mean_steps", "sd_steps", "ci_low", "ci_high", "n_capped"]
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
    return _shown(results.summary, MEASURED)


def _shown(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    names = [name for name in POINT if name in ("instance", "K") or table[name].nunique() > 1]
    return table[[*names, *columns]].reset_index(drop=True)


def _with_fit(results: Results) -> pd.DataFrame:
    table = results.summary.assign(fitted=np.nan)
    for key, points in curves_of(results.summary):
        block = fit_block(results, key)
        if block:
            fit = fit_scaling(points["K"].to_numpy(), points["mean_steps"].to_numpy(), block.model)
            table.loc[points.index, "fitted"] = fit.predict(points["K"].to_numpy())
    return table
