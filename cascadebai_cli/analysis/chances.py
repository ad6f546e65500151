"""How likely it is that all items are right after so many page views, from runs that were asked then."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.budgets import falls_below
from cascadebai_cli.store.intervals import binomial_interval, mean_interval
from cascadebai_cli.store.schema import TrialRow

Range = tuple[float, float, float]


@dataclass(frozen=True)
class Chance:
    """One learner at one budget.

    Attributes:
        budget: page views.
        n: number of runs.
        all_right: share of the runs that name `K` items that are good enough; with `low` and `high`, its 95 % interval.
        right: how many items are on average; with the ends of its 95 % interval.
    """

    budget: int
    n: int
    all_right: float
    low: float
    high: float
    right: float
    right_low: float
    right_high: float


def chance(budget: int, rows: Sequence[TrialRow], K: int) -> Chance:
    """What runs that were asked at a budget say."""
    all_right = sum(bool(row.correct) for row in rows)
    low, high = binomial_interval(all_right, len(rows))
    mean = mean_interval(np.array([row.right for row in rows], dtype=np.float64))
    ends = np.clip((mean.low, mean.high), 0, K)
    return Chance(budget, len(rows), all_right / len(rows), low, high, mean.value, float(ends[0]), float(ends[1]))


def needed(curve: Sequence[Chance], sure: float) -> Range:
    """Page views from which on the chance is `sure`, as the low end, the value and the high end of its 95 % interval.

    They are infinite beyond the largest budget, and 0 where it is so at the smallest one; between two budgets the
    logarithm of the chance of an error goes straight.
    """
    budgets = np.array([point.budget for point in curve], dtype=np.float64)
    least = 1 / (2 * min(point.n for point in curve))
    low, value, high = (
        falls_below(budgets, 1 - np.array([getattr(point, end) for point in curve]), 1 - sure, least)
        for end in ("high", "all_right", "low")
    )
    return low, value, high


def as_cells(curves: Sequence[tuple[str, Sequence[Chance]]], **same: object) -> pd.DataFrame:
    """Curves of learners as the cells of a figure, one row a budget.

    Args:
        curves: name of a learner, and its chances.
        same: columns that are the same everywhere.
    """
    return pd.DataFrame(
        [
            {
                **same,
                "learner": name,
                "budget": point.budget,
                "n": point.n,
                "n_capped": 0,
                "error_rate": 1 - point.all_right,
                "error_low": 1 - point.high,
                "error_high": 1 - point.low,
            }
            for name, curve in curves
            for point in curve
        ]
    )
