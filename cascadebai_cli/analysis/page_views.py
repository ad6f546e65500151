"""How many page views a learner takes, from simulated runs and from how hard all possible truths are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cascadebai_cli.model.instance import FloatArray
from cascadebai_cli.text.numbers import count, spread_in_words

LEVELS = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class PageViews:
    """Page views of one learner.

    Attributes:
        learner: its name.
        low, median, high: 5, 50 and 95 % quantiles; infinite for a learner that did not end in most of its runs.
        cap: page views after which runs were given up.
        n: number of runs.
        right: number of the runs that ended with `K` items that are good enough.
        capped: number of runs that were given up.
        ratios: page views of each run over its effort, those of runs that were given up being at least so large.
    """

    learner: str
    low: float
    median: float
    high: float
    cap: int
    n: int
    right: int
    capped: int
    ratios: tuple[float, ...]

    @property
    def ended(self) -> bool:
        """Whether most of the runs ended, so that something is known."""
        return 2 * self.capped < self.n

    @property
    def in_words(self) -> str:
        """The median, and 5 to 95 %."""
        return spread_in_words(self.low, self.median, self.high) if self.ended else f"more than {count(self.cap)}"

    def expected(self, efforts: FloatArray) -> tuple[float, float, float]:
        """5, 50 and 95 % quantiles of page views for truths of these efforts, shape `(D,)`."""
        return quantiles(np.multiply.outer(efforts, self.ratios)) if self.ended else (np.inf, np.inf, np.inf)


def quantiles(values: FloatArray) -> tuple[float, float, float]:
    """5, 50 and 95 %, each one of the values."""
    low, median, high = np.quantile(values, LEVELS, method="inverted_cdf")
    return float(low), float(median), float(high)


def page_views(
    learner: str,
    steps: Sequence[int],
    correct: Sequence[bool | None],
    cap: int,
    efforts: FloatArray,
    all_efforts: FloatArray,
) -> PageViews:
    """Page views over all possible truths, of which a few were simulated.

    A run takes its effort times a ratio that varies little; the ratios of the runs are put on the efforts of all
    truths. The ratio of a run that was given up is taken for the median of the others, or more if it is more already.

    Args:
        learner: its name.
        steps: page views of each run.
        correct: whether it ended right; `None` if it was given up.
        cap: page views after which runs were given up.
        efforts: of the truths that were simulated, one a run.
        all_efforts: of all truths, shape `(D,)`.
    """
    capped = np.array([right is None for right in correct])
    ratios = np.asarray(steps, dtype=np.float64) / efforts
    if capped.any() and not capped.all():
        ratios = np.where(capped, np.maximum(ratios, np.median(ratios[~capped])), ratios)
    known = PageViews(
        learner, 0, 0, 0, cap, len(steps), sum(map(bool, correct)), int(capped.sum()), tuple(map(float, ratios))
    )
    low, median, high = known.expected(all_efforts)
    return replace(known, low=low, median=median, high=high)
