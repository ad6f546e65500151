"""Whether the cells of a study decide a claim, or are too few, too noisy or too often capped for that."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.ratios import Mean, ratio_of_means
from cascadebai_cli.analysis.verdicts import FAILS, HOLDS, UNDECIDED
from cascadebai_cli.store.schema import SETTING


class Ends(NamedTuple):
    """Between which values the ratios of two learners lie, setting by setting."""

    low: "pd.Series[float]"
    high: "pd.Series[float]"


def ratio_ends(summary: pd.DataFrame, learner: str, main: str) -> Ends:
    """The 95 % intervals of mean steps over those of the main learner; a capped mean is a lower limit only."""
    ours, theirs = (summary[summary["learner"] == name] for name in (learner, main))
    joined = ours.merge(theirs, on=list(SETTING), suffixes=("_ours", "_main"))
    ends = [_ends(row) for row in joined.to_dict("records")]
    return Ends(*(pd.Series([end[i] for end in ends], dtype=float) for i in (0, 1)))


def _ends(row: Mapping[Any, Any]) -> tuple[float, float]:
    ours, main = (
        Mean(float(row[f"mean_steps_{side}"]), float(row[f"se_steps_{side}"]), int(row[f"n_{side}"]))
        for side in ("ours", "main")
    )
    ratio = ratio_of_means(ours, main)
    low = 0.0 if row["n_capped_main"] or np.isnan(ratio.low) else ratio.low
    return low, np.inf if row["n_capped_ours"] or np.isnan(ratio.high) else ratio.high


def verdict_between(ends: Ends, holds: Callable[["pd.Series[float]"], bool]) -> str:
    """The verdict on a sentence that larger ratios make truer, or falser, throughout."""
    found = {holds(end) for end in ends}
    return UNDECIDED if len(found) > 1 else HOLDS if True in found else FAILS


def verdict_within(ends: Ends, least: float, most: float) -> str:
    """The verdict on the sentence that all ratios lie within a range."""
    if ((ends.low >= least) & (ends.high <= most)).all():
        return HOLDS
    return FAILS if ((ends.high < least) | (ends.low > most)).any() else UNDECIDED
