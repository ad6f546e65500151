"""The tables that `fit` writes: scaling fits, ratios of learners, display orders, and budgets that learners need."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from cascadebai_cli.analysis.curves import Curve, ScalingFit, fit_scaling, models_of
from cascadebai_cli.analysis.results import StudyResults
from cascadebai_cli.model.problem import FloatArray
from cascadebai_cli.store.columns import (
    BOUND_FITS_CSV,
    BUDGETS_CSV,
    FITS_CSV,
    MODELS_CSV,
    ORDERS_CSV,
    POINT,
    RATIOS_CSV,
    SETTING,
    TABLES,
    WEIGHTED_FITS_CSV,
    Shown,
    cell_text,
    interval,
    printed,
)
from cascadebai_cli.store.summary import mean_interval, t_quantile
from cascadebai_cli.study.kinds import AXES
from cascadebai_cli.text import NO_NUMBER, Table, count, difference, digits, is_missing, percent

# --- The scaling fits of a whole study, as tables for files and for print -------------------------------------------

_Row = dict[str, Any]

_COEFFICIENTS = ("c1", "c1_se", "c2", "c2_se")
_ESTIMATES = (*_COEFFICIENTS, "r2", "p_value", "n_points")
_PUBLISHED = ("c1", "c2", "r2", "p_value")

_PLACE = ("instance", "learner", "x", *AXES, "n_capped")
"""Columns that tell the curves of a table apart, and the number of capped trials of curves that have any."""
_ALWAYS = ("instance", "n_capped")


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
    theirs = row.get("published_c1", math.nan)
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
    columns: list[str | Shown] = [Shown(name, f"{{above[{place}]}}".format_map) for place, name in enumerate(header)]
    columns += ["loglog_slope", interval("loglog_low", "loglog_high")]
    note = "AIC of each model above the smallest AIC; slope on a log-log scale"
    return printed(models, _PLACE, columns, always=_ALWAYS, note=note, lines=lines)


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
    """Return the fit of `model` to upper bounds of cells, shape `(n,)`; `None` if one has no finite upper bound.

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
                yield _slopes_row(results, curve, fit, promised)


def _slopes_row(results: StudyResults, curve: Curve, measured: ScalingFit, promised: ScalingFit) -> _Row:
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
    columns = ["c1", "r2", "bound_c1", "bound_r2", "bound_over_measured"]
    return printed(slopes, (*_PLACE, "model"), columns, always=("instance", "model"))


# --- Ratios of the mean steps of the main learner to those of each other one (Corollary 4.3 predicts some) ----------

_SHOWN = 3
"""Number of values of `K` in the printed table: the first, the middle and the last."""
_DIFFERENCE = ("difference", "difference_low", "difference_high")
_LARGEST_LOG = 500.0
"""Largest logarithm of the factor between a ratio and an end of its interval, then as good as 0 or infinite."""


class Mean(NamedTuple):
    """Mean of `n` trials with its standard error, NaN for a single trial."""

    value: float
    se: float
    n: int


class Ratio(NamedTuple):
    """Ratio of two means with its interval, whose ends are NaN if a mean is that of a single trial."""

    value: float
    low: float
    high: float


def ratio_of_means(a: Mean, b: Mean, level: float = 0.95) -> Ratio:
    """Return `a / b` for independent means, by the delta method on the logarithm with Welch's degrees of freedom.

    On the log scale the interval cannot reach below 0, and `b / a` has the reciprocal interval. If relative standard
    errors are a few per cent, as here, it agrees with Fieller's interval. If a mean is 0 steps, all values are NaN.
    """
    if not (a.value > 0 and b.value > 0):
        return Ratio(math.nan, math.nan, math.nan)
    value = a.value / b.value
    parts = [(mean.se / mean.value) ** 2 for mean in (a, b)]
    variance = sum(parts)
    if math.isnan(variance):
        return Ratio(value, math.nan, math.nan)
    if variance == 0:
        return Ratio(value, value, value)
    freedom = variance**2 / sum(v**2 / (mean.n - 1) for v, mean in zip(parts, (a, b), strict=True) if mean.n > 1)
    factor = math.exp(min(stdtrit(freedom, (1 + level) / 2) * math.sqrt(variance), _LARGEST_LOG))
    return Ratio(value, value / factor, value * factor)


def _paired_comparison(ours: FloatArray, theirs: FloatArray, level: float = 0.95) -> dict[str, float]:
    """Return the number of pairs, and the ratio of their means and the difference, from trials with the same rewards.

    The interval of the ratio is that of `ratio_of_means` with the covariance of the pairs; `pairing` is the factor by
    which independent trials would have to be more for an equally wide interval of the difference.

    Args:
        ours, theirs: steps of the trials, at least two pairs, none of them capped.
    """
    n, difference = len(ours), mean_interval(ours - theirs, level)
    cov = np.cov(ours, theirs) / n
    a, b = ours.mean(), theirs.mean()
    ends = (difference.value, difference.low, difference.high)
    found = {"pairs": n, **dict(zip(_DIFFERENCE, ends, strict=True))}
    found["pairing"] = float((cov[0, 0] + cov[1, 1]) / difference.se**2) if difference.se else math.nan
    if a > 0 and b > 0:
        variance = max(0.0, cov[0, 0] / a**2 + cov[1, 1] / b**2 - 2 * cov[0, 1] / (a * b))
        factor = math.exp(min(t_quantile(n, level) * math.sqrt(variance), _LARGEST_LOG))
        found |= {"ratio": float(a / b), "ratio_low": float(a / b / factor), "ratio_high": float(a / b * factor)}
    return found


def ratios_table(results: StudyResults) -> pd.DataFrame:
    """Return `ratios.csv`: the main learner against each other one, cell by cell, in the order of the summary.

    In a paired study the trials are compared pair by pair.
    """
    main = results.main_learner
    instances, learners = (list(dict.fromkeys(results.summary[name])) for name in ("instance", "learner"))
    rows = list(_rows(results, main))
    rows.sort(key=lambda row: (instances.index(row["instance"]), learners.index(row["other"])))
    return TABLES[RATIOS_CSV].frame(rows)


def _rows(results: StudyResults, main: str) -> Iterator[dict[str, Any]]:
    for values, cell in results.summary.groupby(list(SETTING), sort=False):
        by_learner = {str(row["learner"]): row for row in cell.to_dict("records")}
        ours = by_learner.pop(main, None)
        for name, theirs in by_learner.items() if ours else ():
            names = {"study": results.name, **dict(zip(SETTING, values, strict=True)), "learner": main, "other": name}
            pairs = _by_pairs(results, ours or {}, theirs) if results.study.paired else {}
            yield {**names, **_compared(ours or {}, theirs), **pairs, "rows_sha256": results.rows_sha256}


def _by_pairs(results: StudyResults, ours: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> dict[str, float]:
    """Return the columns of a paired comparison; none of them has a value if a trial is capped, or pairs are few."""
    steps = results.steps_of_trials
    pair = [steps.get(row["cell_id"]) for row in (ours, theirs)]
    both = pd.concat([one for one in pair if one is not None], axis=1, join="inner").to_numpy(dtype=float)
    if ours["n_capped"] + theirs["n_capped"] > 0 or both.shape[1:] != (2,) or len(both) < 2:
        return {"pairs": 0} | dict.fromkeys((*_DIFFERENCE, "pairing"), math.nan)
    return _paired_comparison(both[:, 0], both[:, 1])


def _compared(ours: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the ratio and the errors; if one mean is a lower limit, one bound of the ratio is known, if both none."""
    ratio = ratio_of_means(_mean(ours), _mean(theirs))
    above, below = ours["n_capped"] > 0, theirs["n_capped"] > 0
    return {
        "ratio": math.nan if above and below else ratio.value,
        "ratio_low": math.nan if below else ratio.low,
        "ratio_high": math.nan if above else ratio.high,
        "n_capped": int(ours["n_capped"] + theirs["n_capped"]),
        **{"error_rate": ours.get("error_rate"), "other_error_rate": theirs.get("error_rate")},
    }


def _mean(row: Mapping[Any, Any]) -> Mean:
    return Mean(float(row["mean_steps"]), float(row["se_steps"]), int(row["n"]))


def _ratios_printed(ratios: pd.DataFrame) -> Table:
    """Return the ratios at the first, middle and last `K` of each curve, as a table."""
    curves = ratios.groupby(["other", *(name for name in SETTING if name != "K")], sort=False)
    thinned = [row for _, curve in curves for row in _thinned(curve.sort_values("K").to_dict("records"))]
    columns: list[str | Shown] = [
        Shown("steps of", "{learner} / {other}".format_map, words=True),
        Shown("wrong trials", _wrong),
        Shown("ratio", _ratio_text),
        interval("ratio_low", "ratio_high"),
    ]
    if "difference" in ratios:
        columns += ["pairs", "difference", interval("difference_low", "difference_high"), "pairing"]
    return printed(ratios, SETTING, columns, always=("instance", "K"), lines=thinned)


def _wrong(row: Mapping[Any, Any]) -> str:
    return " / ".join(percent(row[name]) for name in ("error_rate", "other_error_rate"))


def _thinned(rows: Sequence[Any]) -> Sequence[Any]:
    return [rows[0], rows[len(rows) // 2], rows[-1]] if len(rows) > _SHOWN else rows


def _ratio_text(row: Mapping[str, Any]) -> str:
    """Return the ratio as text, with `<=` or `>=` if it is only a bound."""
    if is_missing(row["ratio"]):
        return "unknown"
    one_sided = row["n_capped"] > 0 and is_missing(row["ratio_low"]) != is_missing(row["ratio_high"])
    side = "" if not one_sided else "<= " if is_missing(row["ratio_low"]) else ">= "
    return side + digits(row["ratio"])


# --- Which display orders do as well as Algorithm 1, and which do not (Figures 1 and 4) -----------------------------

CLOSE = 0.05
"""Means whose ratio differs from 1 by no more than this count as equal."""
MUCH_WORSE = 2.0
"""Beyond this factor a mean counts as much worse."""
_KINDS = ("better", "within", "worse", "much_worse")
"""Columns that count settings by how the mean steps compare."""


def _orders_table(results: StudyResults) -> pd.DataFrame:
    """Return `orders.csv`: for each other learner, in how many settings it is better or worse than the main one.

    A setting is an instance at one `L, K, delta, epsilon`. A mean with trials that reached the cap is a lower limit:
    such a setting is counted only if the comparison is certain nevertheless.
    """
    main = results.main_learner
    joined = _beside_main(results.summary, main)
    others = [name for name in dict.fromkeys(results.summary["learner"]) if name != main]
    return TABLES[ORDERS_CSV].frame(_order_row(results, name, joined[joined["learner"] == name]) for name in others)


def _beside_main(summary: pd.DataFrame, main: str) -> pd.DataFrame:
    base = summary.loc[summary["learner"] == main, [*SETTING, "mean_steps", "n_capped"]]
    return summary.merge(base.rename(columns={"mean_steps": "main_steps", "n_capped": "main_capped"}), on=list(SETTING))


def _order_row(results: StudyResults, name: str, rows: pd.DataFrame) -> dict[str, Any]:
    ratio = rows["mean_steps"] / rows["main_steps"]
    known, main_known = rows["n_capped"] == 0, rows["main_capped"] == 0
    return {
        "study": results.name,
        "learner": name,
        "compared_with": results.main_learner,
        "settings": len(rows),
        "better": int((known & (ratio < 1 - CLOSE)).sum()),
        "within": int((known & main_known & ratio.between(1 - CLOSE, 1 + CLOSE)).sum()),
        "worse": int((known & main_known & (ratio > 1 + CLOSE) & (ratio <= MUCH_WORSE)).sum()),
        "much_worse": int((main_known & (ratio > MUCH_WORSE)).sum()),
        "capped": int((rows["n_capped"] > 0).sum()),
        "rows_sha256": results.rows_sha256,
    }


def _orders_printed(orders: pd.DataFrame) -> Table:
    """Return a table with a line for each order that counts settings; "not known" are those that limits leave open."""
    close, unknown = f"{100 * CLOSE:g} %", orders["settings"] - orders[list(_KINDS)].sum(axis=1)
    header = [f"better by {close}", f"within {close}", f"worse up to {MUCH_WORSE:g}x", "worse than that"]
    columns: list[str | Shown] = [
        Shown(heading, partial(cell_text, name)) for heading, name in zip(header, _KINDS, strict=True)
    ]
    columns += [*(["not known"] if unknown.any() else []), "capped"]
    compared, settings = orders["compared_with"].iloc[0], orders["settings"].iloc[0]
    above = f"in how many of {settings} settings the mean steps compare in this way with those of {compared}"
    return printed(orders.assign(**{"not known": unknown}), ["learner"], columns, always=("learner",), note=above)


# --- Budgets from which on a learner is wrong seldom enough (`budgets.csv`) -----------------------------------------

LEVELS = (10, 5, 1)
"""Levels of the error rate, in percent."""
ENDS = {"budget": "error_rate", "low": "error_low", "high": "error_high"}
"""Column of a budget -> the column that falls below the level there."""


def _budgets_table(results: StudyResults) -> pd.DataFrame:
    """Return `budgets.csv`, with one row for each learner on each instance.

    `budget` is where the error rate falls below the level and stays there; `low` and `high` are where the lower and
    the upper end of its 95 % interval do. Inf means above the largest budget of the study, 0 below the smallest.
    """
    return TABLES[BUDGETS_CSV].frame(_rows_of_budgets(results))


def _rows_of_budgets(results: StudyResults) -> Iterator[dict[str, Any]]:
    for values, cells in results.summary.groupby(list(POINT), sort=False):
        points = cells.sort_values("budget")
        budgets, n = points["budget"].to_numpy(dtype=float), int(points["n"].min())
        yield {
            "study": results.name,
            **dict(zip(POINT, values, strict=True)),
            "n": n,
            "smallest": int(budgets[0]),
            "largest": int(budgets[-1]),
            **{
                f"{end}_{level}": falls_below(budgets, points[rate].to_numpy(dtype=float), level / 100, 1 / (2 * n))
                for level in LEVELS
                for end, rate in ENDS.items()
            },
            "rows_sha256": results.rows_sha256,
        }


def falls_below(budgets: FloatArray, rates: FloatArray, level: float, least: float) -> float:
    """Return the budget from which on rates are below a level, with log rates interpolated between budgets.

    Args:
        budgets, rates: ascending budgets and the rate at each, shape `(n,)`.
        least: replaces a rate of 0, which has no logarithm.
    """
    above = np.flatnonzero(rates >= level)
    if len(above) == 0:
        return 0.0
    last = int(above[-1])
    if last == len(rates) - 1:
        return float("inf")
    before, after = np.log(np.maximum(rates[last : last + 2], min(least, level / 2)))
    share = (before - np.log(level)) / (before - after)
    return float(budgets[last] + share * (budgets[last + 1] - budgets[last]))


def _budgets_printed(table: pd.DataFrame) -> Table:
    columns = [
        Shown(heading, partial(text, level))
        for level in LEVELS
        for heading, text in ((f"below {level} %", _budget_text), ("95 % interval", _interval))
    ]
    return printed(table, POINT, columns)


def _budget_text(level: int, row: Mapping[Any, Any]) -> str:
    return _text(row[f"budget_{level}"], row)


def _interval(level: int, row: Mapping[Any, Any]) -> str:
    low, high = (_text(row[f"{end}_{level}"], row) for end in ("low", "high"))
    return NO_NUMBER if low == high else f"{low} to {high}"


def _text(budget: float, row: Mapping[Any, Any]) -> str:
    if np.isinf(budget):
        return f"> {count(row['largest'])}"
    return count(budget) if budget else f"< {count(row['smallest'])}"


# --- All of these tables --------------------------------------------------------------------------------------------

_Maker = tuple[Callable[[StudyResults], pd.DataFrame], Callable[[pd.DataFrame], Table]]


def makers(*, allow_capped: bool) -> Mapping[str, _Maker]:
    """Return for the file of each table how its rows are made of results, and how they are printed.

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
        RATIOS_CSV: (ratios_table, _ratios_printed),
        ORDERS_CSV: (_orders_table, _orders_printed),
        BUDGETS_CSV: (_budgets_table, _budgets_printed),
    }
