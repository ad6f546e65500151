"""The scaling fits of a whole study, as tables to keep and to print."""

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.scaling import (
    MIN_POINTS,
    FloatArray,
    ScalingFit,
    Slope,
    fit_models,
    fit_scaling,
    log_log_slope,
)
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import FIT_COLUMNS, MODEL_COLUMNS, SERIES
from cascadebai_cli.study.instance_entry import Coefficients, Fit
from cascadebai_cli.text.numbers import coefficient, difference, exponent, p_value, share
from cascadebai_cli.text.table import Table, table_of

ESTIMATES = ("c1", "c1_se", "c2", "c2_se", "r2", "p_value", "n_points")
PUBLISHED = ("c1", "c2", "r2", "p_value")
CURVE_POINTS = 201

Row = dict[str, Any]


def fits_table(results: Results) -> pd.DataFrame:
    """`fits.csv`: for each instance and learner the model that the config names.

    Raises:
        ConfigError: if a named model cannot be fitted, naming the instance.
    """
    rows = []
    for key, points in curves_of(results.summary):
        block = fit_block(results, key)
        if block:
            rows.append(_fit_row(results, key, points, block))
    return pd.DataFrame(rows, columns=list(FIT_COLUMNS))


def models_table(results: Results) -> pd.DataFrame:
    """`models.csv`: every model for each instance and learner with enough values of `K`, the best by AIC flagged."""
    rows = []
    for key, points in curves_of(results.summary):
        if points["K"].nunique() >= MIN_POINTS:
            rows += _model_rows(results, key, points)
    return pd.DataFrame(rows, columns=list(MODEL_COLUMNS))


def fitted_curves(results: Results) -> pd.DataFrame:
    """The named model on a fine grid of `K` with its 95 % band: `SERIES` columns, `K, fitted, low, high`."""
    parts = []
    for key, points in curves_of(results.summary):
        block = fit_block(results, key)
        if block:
            K = np.linspace(points["K"].min(), points["K"].max(), CURVE_POINTS)
            fit = _named_fit(key, points, block)
            low, high = fit.band(K)
            parts.append(pd.DataFrame({**key, "K": K, "fitted": fit.predict(K), "low": low, "high": high}))
    return (
        pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*SERIES, "K", "fitted", "low", "high"])
    )


def curves_of(summary: pd.DataFrame) -> Iterator[tuple[Row, pd.DataFrame]]:
    """The cells that make one curve over `K`, curve by curve: (values of `SERIES`, rows sorted by `K`)."""
    for values, points in summary.groupby(list(SERIES), sort=False):
        yield dict(zip(SERIES, values, strict=True)), points.sort_values("K", kind="stable")


def fit_block(results: Results, key: Mapping[str, Any]) -> Fit | None:
    """The `fit` entry of an instance, `None` if it has none."""
    entry = results.instances.get(str(key["instance"]))
    return entry.fit if entry else None


def _named_fit(key: Row, points: pd.DataFrame, block: Fit) -> ScalingFit:
    try:
        return fit_scaling(points["K"].to_numpy(), points["mean_steps"].to_numpy(), block.model)
    except ConfigError as error:
        raise ConfigError(f"{key['instance']}, {key['learner']}: {error}") from error


def _fit_row(results: Results, key: Row, points: pd.DataFrame, block: Fit) -> Row:
    fit = _named_fit(key, points, block)
    K, steps = points["K"].to_numpy(), points["mean_steps"].to_numpy()
    best = min(fit_models(K, steps), key=lambda other: other.aic)
    published = block.published or Coefficients()
    return {
        **_head(results, key, fit),
        **{f"published_{name}": getattr(published, name) for name in PUBLISHED},
        "best_model": best.model,
        **_slope(K, steps),
        **_tail(results, key),
    }


def _model_rows(results: Results, key: Row, points: pd.DataFrame) -> list[Row]:
    K, steps = points["K"].to_numpy(), points["mean_steps"].to_numpy()
    fits, slope = fit_models(K, steps), _slope(K, steps)
    best = min(fits, key=lambda fit: fit.aic)
    return [
        {**_head(results, key, fit), "aic": fit.aic, "best": int(fit is best), **slope, **_tail(results, key)}
        for fit in fits
    ]


def _slope(K: FloatArray, steps: FloatArray) -> Row:
    # a learner that needs no step has no slope
    slope = log_log_slope(K, steps) if steps.min() > 0 else Slope(nan, nan, nan)
    return {"loglog_slope": slope.value, "loglog_low": slope.low, "loglog_high": slope.high}


def _head(results: Results, key: Row, fit: ScalingFit) -> Row:
    names = {"study": results.name, "instance": key["instance"], "learner": key["learner"], "model": fit.model}
    return {**names, **{name: getattr(fit, name) for name in ESTIMATES}}


def _tail(results: Results, key: Row) -> Row:
    return {**{name: key[name] for name in ("L", "delta", "epsilon")}, "rows_sha256": results.rows_sha256}


def fits_printed(fits: pd.DataFrame) -> Table:
    """Our fit and, in the line below, the published one where the config carries it.

    Args:
        fits: as from `fits_table`.
    """
    header = ["instance", "learner", "model", "source", "c1", "se", "c2", "se", "R^2", "p-value", "points", "c1 diff."]
    rows: list[list[str]] = []
    for row in fits.to_dict("records"):
        rows.append(_our_line(row))
        if pd.notna(row["published_c1"]):
            rows.append(_published_line(row))
    known = bool(fits["published_c1"].notna().any())
    return table_of(header, rows, words=4) if known else table_of(header[:-1], [row[:-1] for row in rows], words=4)


def _our_line(row: Mapping[Any, Any]) -> list[str]:
    names = [str(row["instance"]), str(row["learner"]), f"c1 {row['model']} + c2", "here"]
    estimates = [coefficient(row[name]) for name in ("c1", "c1_se", "c2", "c2_se")]
    quality = [share(row["r2"]), p_value(row["p_value"]), str(row["n_points"])]
    return [*names, *estimates, *quality, difference(row["c1"], row["published_c1"])]


def _published_line(row: Mapping[Any, Any]) -> list[str]:
    c1, c2 = coefficient(row["published_c1"]), coefficient(row["published_c2"])
    quality = [share(row["published_r2"]), p_value(row["published_p_value"])]
    return ["", "", "", "published", c1, "", c2, "", *quality, "", ""]


def models_printed(models: pd.DataFrame) -> Table:
    """For each instance and learner by how much each model's AIC is above the smallest, and the log-log slope.

    Args:
        models: as from `models_table`.
    """
    curves = list(models.groupby(["instance", "learner", "L", "delta", "epsilon"], sort=False))
    names = list(dict.fromkeys(models["model"]))
    header = [
        "instance",
        "learner",
        "smallest AIC",
        *(f"AIC {name}" for name in names),
        "log-log slope",
        "95 % interval",
    ]
    return table_of(header, [_models_line(curve, names) for _, curve in curves], words=3)


def _models_line(curve: pd.DataFrame, names: Sequence[str]) -> list[str]:
    best = curve[curve["best"] == 1].iloc[0]
    # Points exactly on every curve have an AIC of -inf each.
    above = {
        row["model"]: row["aic"] - best["aic"] if row["aic"] > best["aic"] else 0.0 for row in curve.to_dict("records")
    }
    slope, low, high = (exponent(best[name]) for name in ("loglog_slope", "loglog_low", "loglog_high"))
    differences = ["best" if name == best["model"] else f"+{above[name]:.1f}" for name in names]
    return [best["instance"], best["learner"], best["model"], *differences, slope, f"{low} to {high}"]
