"""How much a tolerance helps where the best items can hardly be told apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cascadebai_cli.analysis.page_views import quantiles
from cascadebai_cli.model.instance import ROUNDING, FloatArray
from cascadebai_cli.theory.effort import effort

RELATIVE = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Tolerances that are compared, relative to `w(K)`."""
BOUNDARY = 0.95
"""Share of the truths for which a tolerance must do."""


@dataclass(frozen=True, eq=False)
class Tolerance:
    """A tolerance, and what it means for each of `D` possible truths.

    Attributes:
        relative: to the expected `w(K)`; nan if it was asked for.
        epsilon: the tolerance.
        good: how many items are good enough, shape `(D,)`.
        efforts: steps of the order of what a sharp learner takes, shape `(D,)`; infinite for a tie.
    """

    relative: float
    epsilon: float
    good: FloatArray
    efforts: FloatArray

    @property
    def good_range(self) -> tuple[float, float, float]:
        """5, 50 and 95 % quantiles of the number of items that are good enough."""
        return quantiles(self.good)

    def ends_within(self, page_views: float, factor: float) -> bool:
        """Whether a learner that takes `factor` times the effort ends within so many page views, mostly."""
        return bool(factor * np.quantile(self.efforts, BOUNDARY, method="inverted_cdf") <= page_views)


def tolerance(
    truths: FloatArray, K: int, delta: float, epsilon: float, *, M: int, relative: float = float("nan")
) -> Tolerance:
    """What `epsilon` means for each truth, click probabilities of shape `(D, L)`, with `M` items on a page."""
    kth = np.partition(truths, -K, axis=1)[:, -K]
    good = (truths >= kth[:, None] - epsilon - ROUNDING * (epsilon > 0)).sum(axis=1)
    efforts = [effort(w, K, delta, epsilon, M) for w in truths]
    return Tolerance(relative, epsilon, good.astype(np.float64), np.array(efforts))


def tolerances(truths: FloatArray, K: int, delta: float, w_K: float, *, M: int) -> tuple[Tolerance, ...]:
    """The tolerances of the table, the smallest first; `w_K` is the expected `w(K)`."""
    return tuple(tolerance(truths, K, delta, share * w_K, M=M, relative=share) for share in RELATIVE)


def best_of(choices: Sequence[Tolerance], page_views: float, factor: float) -> Tolerance:
    """The smallest with which a learner mostly ends within so many page views; the largest if there is none."""
    return next((choice for choice in choices if choice.ends_within(page_views, factor)), choices[-1])
