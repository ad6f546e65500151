"""How many page views a learner took in simulated runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cascadebai_cli.text.numbers import count
from cascadebai_cli.text.table import Table, table_of


@dataclass(frozen=True)
class PageViews:
    """Quantiles of the page views of one learner; infinite where the runs were given up.

    Attributes:
        learner: its name.
        low, median, high: 5, 50 and 95 % quantiles.
        cap: page views after which runs were given up.
        n: number of runs.
        right: share of the runs that ended with `K` items that are good enough, out of those that ended.
        capped: number of runs that were given up.
    """

    learner: str
    low: float
    median: float
    high: float
    cap: int
    n: int
    right: float
    capped: int


def page_views(learner: str, steps: Sequence[int], correct: Sequence[bool | None], cap: int) -> PageViews:
    """Quantiles of runs, `correct` being `None` for those that were given up.

    A quantile is the smallest count that as large a share of the runs did not exceed, so that it is one of the counts.
    """
    ended = [right for right in correct if right is not None]
    counts = np.where([right is None for right in correct], np.inf, np.asarray(steps, dtype=np.float64))
    low, median, high = np.quantile(counts, [0.05, 0.5, 0.95], method="inverted_cdf")
    right = sum(ended) / len(ended) if ended else float("nan")
    return PageViews(learner, low, median, high, cap, len(steps), right, len(steps) - len(ended))


def page_views_printed(rows: Sequence[PageViews]) -> Table:
    """Table of the learners."""
    lines = [
        [row.learner, *(_count(value, row.cap) for value in (row.median, row.low, row.high)), _right(row)]
        for row in rows
    ]
    return table_of(["learner", "median page views", "5 %", "95 %", "runs that ended right"], lines)


def _count(value: float, cap: int) -> str:
    return count(value) if np.isfinite(value) else f"over {count(cap)}"


def _right(row: PageViews) -> str:
    ended = row.n - row.capped
    return f"{round(row.right * ended)} of {ended}" if ended else "none ended"
