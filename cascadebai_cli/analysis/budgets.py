"""The table of the budgets from which on a learner is wrong seldom enough."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.results import StudyResults
from cascadebai_cli.model.problem import FloatArray
from cascadebai_cli.store.columns import BUDGETS_CSV, POINT, TABLES, Shown, printed
from cascadebai_cli.text import NO_NUMBER, Table, count

LEVELS = (10, 5, 1)
"""Levels of the error rate, in percent."""
ENDS = {"budget": "error_rate", "low": "error_low", "high": "error_high"}
"""Column of a budget -> the column that falls below the level there."""


def budgets_table(results: StudyResults) -> pd.DataFrame:
    """Return the table of `budgets.csv`, with one row for each learner on each instance.

    `budget` is where the error rate falls below the level and stays there; `low` and `high` are where the lower and
    the upper end of its 95 % interval do. Inf means above the largest budget of the study, 0 below the smallest.
    """
    return TABLES[BUDGETS_CSV].frame(_rows(results))


def _rows(results: StudyResults) -> Iterator[dict[str, Any]]:
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


def budgets_printed(table: pd.DataFrame) -> Table:
    """Return the table to print."""
    columns = [
        Shown(heading, partial(text, level))
        for level in LEVELS
        for heading, text in ((f"below {level} %", _value), ("95 % interval", _interval))
    ]
    return printed(table, POINT, columns)


def _value(level: int, row: Mapping[Any, Any]) -> str:
    return _text(row[f"budget_{level}"], row)


def _interval(level: int, row: Mapping[Any, Any]) -> str:
    low, high = (_text(row[f"{end}_{level}"], row) for end in ("low", "high"))
    return NO_NUMBER if low == high else f"{low} to {high}"


def _text(budget: float, row: Mapping[Any, Any]) -> str:
    if np.isinf(budget):
        return f"> {count(row['largest'])}"
    return count(budget) if budget else f"< {count(row['smallest'])}"
