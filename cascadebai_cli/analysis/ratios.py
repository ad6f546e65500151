"""Comparing learners: ratios of mean steps, display orders over all settings, and the budgets that each one needs."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cascadebai_cli.analysis.results import StudyResults
from cascadebai_cli.store.columns import (
    BUDGETS_CSV,
    ORDERS_CSV,
    POINT,
    RATIOS_CSV,
    SETTING,
    TABLES,
    Shown,
    cell_text,
    interval,
    printed,
)
from cascadebai_cli.store.summary import mean_interval
from cascadebai_cli.text import NO_NUMBER, Table, count, digits, is_missing, percent

# --- Ratios of the mean steps of CascadeBAI to those of each other learner (which Corollary 4.3 predicts) -----------

_SHOWN = 3
"""Number of values of `K` in the printed table: the first, the middle and the last."""
_Values = NDArray[np.float64]
_DIFFERENCE = ("difference", "difference_low", "difference_high")
_LARGEST_LOG = 500.0
"""Largest logarithm of the factor between a ratio and an end of its interval, then as good as 0 or infinite."""


@dataclass(frozen=True)
class Mean:
    """Mean of `n` trials with its standard error, NaN for a single trial."""

    value: float
    se: float
    n: int


@dataclass(frozen=True)
class Ratio:
    """Ratio of two means with its interval, whose ends are NaN if a mean is that of a single trial."""

    value: float
    low: float
    high: float


def ratio_of_means(a: Mean, b: Mean, level: float = 0.95) -> Ratio:
    """Return `a / b` for independent means, by the delta method on the logarithm with Welch's degrees of freedom.

    On the log scale the interval cannot reach below 0, and `b / a` has the reciprocal interval. If relative standard
    errors are a few per cent, as here, it agrees with Fieller's interval. If a mean is 0 steps, all values are NaN.
    """
    from scipy.special import stdtrit

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


def _paired_comparison(ours: _Values, theirs: _Values, level: float = 0.95) -> dict[str, float]:
    """Return the number of pairs, and the ratio of their means and the difference, from trials with the same rewards.

    The interval of the ratio is that of `ratio_of_means` with the covariance of the pairs; `pairing` is the factor by
    which independent trials would have to be more for an equally wide interval of the difference.

    Args:
        ours, theirs: steps of the trials, at least two pairs, none of them capped.
    """
    from scipy.special import stdtrit

    n, difference = len(ours), mean_interval(ours - theirs, level)
    cov = np.cov(ours, theirs) / n
    a, b = ours.mean(), theirs.mean()
    ends = (difference.value, difference.low, difference.high)
    found = {"pairs": n, **dict(zip(_DIFFERENCE, ends, strict=True))}
    found["pairing"] = float((cov[0, 0] + cov[1, 1]) / difference.se**2) if difference.se else math.nan
    if a > 0 and b > 0:
        variance = max(0.0, cov[0, 0] / a**2 + cov[1, 1] / b**2 - 2 * cov[0, 1] / (a * b))
        factor = math.exp(min(stdtrit(n - 1, (1 + level) / 2) * math.sqrt(variance), _LARGEST_LOG))
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
    return TABLES[ORDERS_CSV].frame(_row(results, name, joined[joined["learner"] == name]) for name in others)


def _beside_main(summary: pd.DataFrame, main: str) -> pd.DataFrame:
    base = summary.loc[summary["learner"] == main, [*SETTING, "mean_steps", "n_capped"]]
    return summary.merge(base.rename(columns={"mean_steps": "main_steps", "n_capped": "main_capped"}), on=list(SETTING))


def _row(results: StudyResults, name: str, rows: pd.DataFrame) -> dict[str, Any]:
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
    """Return the table of `budgets.csv`, with one row for each learner on each instance.

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


def falls_below(budgets: _Values, rates: _Values, level: float, least: float) -> float:
    """Return the budget from which on rates are below a level, with log rates interpolated between budgets.

    Args:
        budgets: ascending, shape `(n,)`.
        rates: rate at each budget.
        level: the level.
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
    """Return the table to print."""
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


COMPARISONS: Mapping[str, tuple[Callable[[StudyResults], pd.DataFrame], Callable[[pd.DataFrame], Table]]] = {
    RATIOS_CSV: (ratios_table, _ratios_printed),
    ORDERS_CSV: (_orders_table, _orders_printed),
    BUDGETS_CSV: (_budgets_table, _budgets_printed),
}
"""File of a table that compares learners -> how its rows are made of results, and how they are printed."""
