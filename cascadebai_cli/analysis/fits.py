"""The tables of fits: `fits.csv`, `weighted_fits.csv`, `models.csv` and `bound_fits.csv`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import nan
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cascadebai_cli.analysis.curves import MIN_POINTS, Curve, ScalingFit, fit_scaling, models_of
from cascadebai_cli.analysis.results import StudyResults
from cascadebai_cli.store.columns import (
    BOUND_FITS_CSV,
    FITS_CSV,
    MODELS_CSV,
    TABLES,
    WEIGHTED_FITS_CSV,
    Shown,
    interval,
    printed,
)
from cascadebai_cli.study.kinds import AXES
from cascadebai_cli.text import Table, difference

# --- The scaling fits of a whole study, as tables for files and for print -------------------------------------------

_Row = dict[str, Any]
_Makers = Mapping[str, tuple[Callable[[StudyResults], pd.DataFrame], Callable[[pd.DataFrame], Table]]]

_COEFFICIENTS = ("c1", "c1_se", "c2", "c2_se")
_ESTIMATES = (*_COEFFICIENTS, "r2", "p_value", "n_points")
_PUBLISHED = ("c1", "c2", "r2", "p_value")

_PLACE = ("instance", "learner", "x", *AXES, "n_capped")
"""Columns that tell the curves of a table apart, and the number of capped trials of curves that have any."""
_ALWAYS = ("instance", "n_capped")


def fit_tables(*, allow_capped: bool = False) -> _Makers:
    """Return for the file of each table of fits how its rows are made of results, and how they are printed.

    Args:
        allow_capped: also fit curves with means that are lower limits; a column `n_capped` marks them.
    """
    fits, weighted, models = (
        partial(table, allow_capped=allow_capped) for table in (fits_table, _weighted_fits, _models)
    )
    return {
        FITS_CSV: (fits, _fits_printed),
        WEIGHTED_FITS_CSV: (weighted, _weighted_fits_printed),
        MODELS_CSV: (models, _models_printed),
        BOUND_FITS_CSV: (_slopes_table, _slopes_printed),
    }


def fits_table(results: StudyResults, *, allow_capped: bool = False) -> pd.DataFrame:
    """Return `fits.csv`: for each curve with enough points, the fits of the models that the config names.

    Raises:
        ConfigError: if a named model cannot be fitted; the message names the instance.
    """
    curves = results.curves(allow_capped=allow_capped)
    rows = [_fit_row(results, curve, fit) for curve in curves for fit in curve.named.values()]
    return TABLES[FITS_CSV].frame(rows)


def _models(results: StudyResults, *, allow_capped: bool) -> pd.DataFrame:
    """Return `models.csv`: for each curve with enough points, every usual model, the best by AIC flagged."""
    curves = [curve for curve in results.curves(allow_capped=allow_capped) if curve.is_long_enough]
    rows = [row for curve in curves for row in _model_rows(results, curve)]
    return TABLES[MODELS_CSV].frame(rows)


def _weighted_fits(results: StudyResults, *, allow_capped: bool) -> pd.DataFrame:
    """Return `weighted_fits.csv`: the fits of `fits.csv` with weights, if each mean has a standard error."""
    curves = [curve for curve in results.curves(allow_capped=allow_capped) if curve.means]
    rows = [_weighted_row(results, curve, model) for curve in curves for model in curve.named]
    return TABLES[WEIGHTED_FITS_CSV].frame(rows)


def _weighted_row(results: StudyResults, curve: Curve, model: str) -> _Row:
    fit, rival, (low, high) = curve.weighted[model], curve.rival(model), curve.exponent.interval()
    return {
        **_names(results, curve, model),
        **{"c1": fit.c1.value, "c1_se": fit.c1.se, "c2": fit.c2.value, "c2_se": fit.c2.se},
        **{"lack_of_fit": fit.lack_of_fit, "lack_of_fit_p": fit.p_value, "rival": rival.model},
        **{"rival_lack_of_fit": rival.lack_of_fit, "rival_lack_of_fit_p": rival.p_value},
        **{"exponent": curve.exponent.value, "exponent_low": low, "exponent_high": high, "n_points": len(curve.values)},
        **_tail(results, curve),
    }


def unfitted(results: StudyResults, *, allow_capped: bool = False) -> list[str]:
    """Return a sentence for each curve that is not fitted: it has capped trials, or a model but too few points."""
    return [why for curve in results.curves(allow_capped=True) if (why := _why_not(curve, allow_capped))]


def _why_not(curve: Curve, allow_capped: bool) -> str:
    if curve.fit and not curve.is_long_enough:
        number = curve.points[curve.x].nunique()
        return (
            f"{curve.name}: no fit: it takes {MIN_POINTS} values of {curve.x}, not {number}; add some to the config, "
            "or run its sweep to the end"
        )
    if allow_capped or not (curve.n_capped and curve.is_long_enough):
        return ""
    return f"{curve.name}: no fit, since the means at {curve.limits} are lower limits; --allow-capped fits them too"


def _fit_row(results: StudyResults, curve: Curve, fit: ScalingFit) -> _Row:
    published = curve.fit.published if curve.fit else None
    return {
        **_head(results, curve, fit),
        **({f"published_{name}": getattr(published, name) for name in _PUBLISHED} if published else {}),
        "best_model": curve.best.model,
        **_slope(curve),
        **_tail(results, curve),
    }


def _model_rows(results: StudyResults, curve: Curve) -> list[_Row]:
    shared = {**_slope(curve), **_tail(results, curve)}
    return [
        {**_head(results, curve, fit), "aic": fit.aic, "best": int(fit is curve.best), **shared}
        for fit in curve.usual.values()
    ]


def _slope(curve: Curve) -> _Row:
    return {"loglog_slope": curve.slope.value, "loglog_low": curve.slope.low, "loglog_high": curve.slope.high}


def _head(results: StudyResults, curve: Curve, fit: ScalingFit) -> _Row:
    return {**_names(results, curve, fit.model), **{name: getattr(fit, name) for name in _ESTIMATES}}


def _names(results: StudyResults, curve: Curve, model: str) -> _Row:
    return {"study": results.name, **{name: curve.key[name] for name in ("instance", "learner")}, "model": model}


def _tail(results: StudyResults, curve: Curve) -> _Row:
    """Return where on the grid a curve lies; if its axis is not `K`, also the axis and `K`."""
    further = {} if curve.x == "K" else {"x": curve.x, "K": curve.key.get("K")}
    place = {name: curve.key.get(name) for name in AXES if name != "K"}
    capped = {"n_capped": curve.n_capped} if curve.n_capped else {}
    return {**place, "rows_sha256": results.rows_sha256, **further, **capped}


def _fits_printed(fits: pd.DataFrame) -> Table:
    """Return each fit as a line and, if the config has one, the published fit in the line below."""
    known = "published_c1" in fits and bool(fits["published_c1"].notna().any())
    columns: list[str | Shown] = ["model", *(["source"] if known else []), *_COEFFICIENTS, "r2", "p_value"]
    columns += [Shown("c1 diff.", itemgetter("difference"))] if known else []
    lines = [line for row in fits.to_dict("records") for line in _lines(row)]
    note = "mean steps = c1 model + c2"
    return printed(fits, (*_PLACE, "n_points"), columns, always=_ALWAYS, note=note, lines=lines)


def _lines(row: Mapping[Any, Any]) -> Iterator[Mapping[Any, Any]]:
    """Yield a fit, and the published one if there is one."""
    theirs = row.get("published_c1", nan)
    yield {**row, "source": "here", "difference": difference(row["c1"], theirs)}
    if pd.notna(theirs):
        published = {name: row[f"published_{name}"] for name in _PUBLISHED}
        yield {**dict.fromkeys(row, ""), "source": "published", **published, "difference": ""}


def _weighted_fits_printed(fits: pd.DataFrame) -> Table:
    """Return the weighted coefficients, the lack of fit of each model and its rival, and the exponent, as a table."""
    columns: list[str | Shown] = ["model", *_COEFFICIENTS, "lack_of_fit", "lack_of_fit_p", "rival", "rival_lack_of_fit"]
    columns += ["rival_lack_of_fit_p", "exponent", interval("exponent_low", "exponent_high")]
    note = "weighted by the errors of the trials; exponent b of c1 x^b + c2"
    return printed(fits, (*_PLACE, "n_points"), columns, always=_ALWAYS, note=note)


def _models_printed(models: pd.DataFrame) -> Table:
    """Return for each curve how far each model's AIC is above the smallest, and the log-log slope, as a table."""
    axes = list(models["x"].fillna("K").unique()) if "x" in models else ["K"]
    usual = [list(models_of(x)) for x in axes]
    groups = [name for name in _PLACE if name in models and name != "n_capped"]
    lines = [_models_line(curve, usual) for _, curve in models.groupby(groups, sort=False, dropna=False)]
    header = models_of(axes[0] if len(axes) == 1 else "x")
    columns: list[str | Shown] = [Shown(name, partial(_nth, place)) for place, name in enumerate(header)]
    columns += ["loglog_slope", interval("loglog_low", "loglog_high")]
    note = "AIC of each model above the smallest AIC; slope on a log-log scale"
    return printed(models, _PLACE, columns, always=_ALWAYS, note=note, lines=lines)


def _nth(place: int, row: Mapping[Any, Any]) -> str:
    return str(row["above"][place])


def _models_line(curve: pd.DataFrame, usual: Sequence[Sequence[str]]) -> Mapping[Any, Any]:
    best = curve[curve["best"] == 1].iloc[0].to_dict()
    # Points exactly on every curve have an AIC of -inf each.
    above = {
        row["model"]: row["aic"] - best["aic"] if row["aic"] > best["aic"] else 0.0 for row in curve.to_dict("records")
    }
    texts = {name: "best" if name == best["model"] else f"+{value:.1f}" for name, value in above.items()}
    models = next(names for names in usual if best["model"] in names)
    return {**best, "above": [texts.get(name, "") for name in models]}


# --- Fits to the upper bounds: the slope that Table 1 speaks of in words, as a number -------------------------------


def bound_slope(values: ArrayLike, upper: ArrayLike, model: str, x: str = "K") -> ScalingFit | None:
    """Return the fit of `model` to the upper bounds of cells; `None` if one has no finite upper bound.

    Args:
        values: values of the axis, shape `(n,)`.
        upper: the bounds, shape `(n,)`.

    The bound is a worst case, so its `c1` is larger than the one measured. If the bound is tight in `K`, as the paper
    concludes from its fits, the model fits it as well, and the two `c1` differ by the same factor as bound and means.
    """
    return fit_scaling(values, upper, model, x) if np.isfinite(upper).all() else None


def _slopes_table(results: StudyResults) -> pd.DataFrame:
    """Return the slopes of the means and of the bound, for each fitted curve with an upper bound at every point."""
    return TABLES[BOUND_FITS_CSV].frame(_slopes(results))


def _slopes(results: StudyResults) -> Iterator[_Row]:
    for curve in results.curves():
        for model, fit in curve.named.items():
            promised = bound_slope(
                curve.values, results.bounds.loc[curve.points.index, "upper"].to_numpy(float), model, curve.x
            )
            if promised:
                yield _row(results, curve, fit, promised)


def _row(results: StudyResults, curve: Curve, measured: ScalingFit, promised: ScalingFit) -> _Row:
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
        **_tail(results, curve),
    }


def _slopes_printed(slopes: pd.DataFrame) -> Table:
    """Return the measured slope and that of the upper bound, with their ratio, as a table."""
    columns = ["c1", "r2", "bound_c1", "bound_r2", "bound_over_measured"]
    return printed(slopes, (*_PLACE, "model"), columns, always=("instance", "model"))
