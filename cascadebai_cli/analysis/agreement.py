"""Whether fresh means agree with those of a baseline, at a stated rate of false alarms."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

FALSE_ALARMS = 1e-3
"""Largest probability that any comparison of one call gives an alarm although nothing has moved."""


class Comparison(NamedTuple):
    """A cell, or several cells together.

    Attributes:
        what: which cells.
        z: standard normal if nothing has moved; positive if fresh trials take more steps.
        change: mean relative change of the mean steps.
    """

    what: str
    z: float
    change: float

    @property
    def p_value(self) -> float:
        """Probability of a `z` as large as this, either sign, if nothing has moved."""
        return float(2 * stats.norm.sf(abs(self.z)))


def compare_means(baseline: pd.DataFrame, fresh: pd.DataFrame, groups: Mapping[str, Sequence[str]]) -> list[Comparison]:
    """Compare each cell, and groups of cells together, which shows a small change that all of them share.

    Args:
        baseline, fresh: rows of `summary.csv` of independent trials, with the same cells in column `cell_id`.
        groups: name -> cells.
    """
    both = baseline.merge(fresh, on="cell_id", suffixes=("_old", "_new"))
    z = {row["cell_id"]: _z(row) for row in both.to_dict("records")}
    change = dict(zip(both["cell_id"], both["mean_steps_new"] / both["mean_steps_old"] - 1, strict=True))
    cells = [Comparison(cell, z[cell], change[cell]) for cell in z]
    there = {name: [cell for cell in members if cell in z] for name, members in groups.items()}
    together = [
        Comparison(name, _pooled([z[cell] for cell in members]), float(np.mean([change[cell] for cell in members])))
        for name, members in there.items()
        if members
    ]
    return [*cells, *together]


def moved(comparisons: Iterable[Comparison], tests: int) -> list[Comparison]:
    """Comparisons that give an alarm when `tests` of them share `FALSE_ALARMS` equally (Bonferroni)."""
    return [comparison for comparison in comparisons if comparison.p_value < FALSE_ALARMS / tests]


def same_numbers(one: pd.DataFrame, other: pd.DataFrame, tolerance: float = 1e-6) -> bool:
    """Whether two tables have the same columns and words, and numbers that differ by rounding only."""
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


def _z(row: Mapping[Any, Any]) -> float:
    """Welch's t of two means, as the standard normal value of the same tail probability."""
    parts = [row["sd_steps_old"] ** 2 / row["n_old"], row["sd_steps_new"] ** 2 / row["n_new"]]
    difference, variance = row["mean_steps_new"] - row["mean_steps_old"], sum(parts)
    if variance == 0:
        return 0.0 if difference == 0 else float(np.copysign(np.inf, difference))
    sizes = [row["n_old"], row["n_new"]]
    freedom = variance**2 / sum(part**2 / (n - 1) for part, n in zip(parts, sizes, strict=True))
    t = difference / np.sqrt(variance)
    return float(np.copysign(stats.norm.isf(stats.t.sf(abs(t), freedom)), t))


def _pooled(z: Sequence[float]) -> float:
    """Stouffer's sum: standard normal again."""
    return float(np.sum(z) / np.sqrt(len(z)))
