"""Tests whether fresh trials agree with those of a baseline, at a stated rate of false alarms.

Mean steps are compared; in studies with budgets, which all but fix the steps, error rates are.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

FALSE_ALARMS = 1e-3
"""Largest probability that any comparison of one call gives an alarm although nothing has changed."""

_Measure = Literal["mean steps", "error rate"]


class _Comparison(NamedTuple):
    """The comparison of a cell, or of several cells together.

    Attributes:
        z: statistic that is standard normal, or nearer to 0, if nothing has changed; positive if fresh trials take
            more steps, or are wrong more often.
        change: mean relative change of the mean steps, or mean difference of the error rates.
    """

    what: str
    z: float
    change: float
    measure: _Measure

    @property
    def p_value(self) -> float:
        """Probability of a `z` at least this far from 0, if nothing has changed."""
        return float(2 * stats.norm.sf(abs(self.z)))


def compare_means(
    baseline: pd.DataFrame, fresh: pd.DataFrame, groups: Mapping[str, Sequence[str]]
) -> list[_Comparison]:
    """Compare each cell, and groups of cells together, which reveals a small change that all of them share.

    Args:
        baseline, fresh: rows of `summary.csv` of independent trials, with the same cells; all with budgets, or none.
        groups: name -> cells.
    """
    both = baseline.merge(fresh, on="cell_id", suffixes=("_old", "_new"))
    measure: _Measure = "error rate" if "budget_old" in both else "mean steps"
    compared = _errors if measure == "error rate" else _steps
    cells = {row["cell_id"]: _Comparison(row["cell_id"], *compared(row), measure) for row in both.to_dict("records")}
    there = {name: [cells[cell] for cell in members if cell in cells] for name, members in groups.items()}
    return [*cells.values(), *(_pooled(name, members, measure) for name, members in there.items() if members)]


def moved(comparisons: Iterable[_Comparison], tests: int) -> list[_Comparison]:
    """Return the comparisons that give an alarm when `tests` of them share `FALSE_ALARMS` equally (Bonferroni)."""
    return [comparison for comparison in comparisons if comparison.p_value < FALSE_ALARMS / tests]


def same_numbers(one: pd.DataFrame, other: pd.DataFrame, tolerance: float = 1e-6) -> bool:
    """Return whether two tables have the same columns and words, and numbers that differ by rounding only."""
    if list(one) != list(other) or len(one) != len(other):
        return False
    numbers = [name for name in one if pd.api.types.is_numeric_dtype(one[name])]
    words = [name for name in one if name not in numbers]
    if not (one[words].astype(str).to_numpy() == other[words].astype(str).to_numpy()).all():
        return False
    try:
        ours, theirs = (table[numbers].to_numpy(dtype=float) for table in (one, other))
    except ValueError:  # words in `other` where `one` has numbers
        return False
    return bool(np.allclose(ours, theirs, rtol=tolerance, atol=0, equal_nan=True))


def _steps(row: Mapping[Any, Any]) -> tuple[float, float]:
    """Return Welch's t of two means, as the standard normal value with the same p-value, and the relative change."""
    parts = [row["sd_steps_old"] ** 2 / row["n_old"], row["sd_steps_new"] ** 2 / row["n_new"]]
    difference, variance = row["mean_steps_new"] - row["mean_steps_old"], sum(parts)
    change = difference / row["mean_steps_old"]
    if variance == 0:
        return 0.0 if difference == 0 else float(np.copysign(np.inf, difference)), change
    sizes = [row["n_old"], row["n_new"]]
    freedom = variance**2 / sum(part**2 / (n - 1) for part, n in zip(parts, sizes, strict=True))
    t = difference / np.sqrt(variance)
    return float(np.copysign(stats.norm.isf(stats.t.sf(abs(t), freedom)), t)), change


def _errors(row: Mapping[Any, Any]) -> tuple[float, float]:
    """Return Fisher's exact test of two error rates as a standard normal value, 0 if p > 1/2, and their difference."""
    new, old = (round(row[f"error_rate_{end}"] * row[f"n_{end}"]) for end in ("new", "old"))
    drawn = (row["n_new"] + row["n_old"], new + old, row["n_new"])  # a frozen distribution would take most of the time
    more, fewer = stats.hypergeom.sf(new - 1, *drawn), stats.hypergeom.cdf(new, *drawn)
    z = max(0.0, stats.norm.isf(min(more, fewer)))
    return float(z if more < fewer else -z), row["error_rate_new"] - row["error_rate_old"]


def _pooled(name: str, members: Sequence[_Comparison], measure: _Measure) -> _Comparison:
    """Return several cells as one comparison, by Stouffer's sum, which is standard normal again."""
    z = float(np.sum([one.z for one in members]) / np.sqrt(len(members)))
    return _Comparison(name, z, float(np.mean([one.change for one in members])), measure)
