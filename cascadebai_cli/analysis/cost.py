"""What a test costs in clicks, beside showing the best items, or those that a log ranks first, all the time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cascadebai_cli.analysis.page_views import quantiles
from cascadebai_cli.model.instance import FloatArray


@dataclass(frozen=True)
class Cost:
    """Clicks that a test loses until it ends: 5, 50 and 95 % quantiles over runs.

    Attributes:
        against_best: beside always showing the best items.
        against_own: beside always showing the items that the log ranks first; negative where the test gains.
    """

    against_best: tuple[float, float, float]
    against_own: tuple[float, float, float]


def cost(steps: Sequence[int], clicks: Sequence[float], truths: FloatArray, own: Sequence[int]) -> Cost:
    """The cost of runs.

    Args:
        steps, clicks: page views of each run, and the clicks that they bring on average.
        truths: click probabilities of each run, shape `(n, L)`.
        own: the items that the log ranks first, as many as a page shows.
    """
    pages = np.asarray(steps, dtype=np.float64)
    best = np.sort(truths, axis=1)[:, -len(own) :]
    lost = [pages * click_chance(shown) - np.asarray(clicks) for shown in (best, truths[:, list(own)])]
    return Cost(quantiles(lost[0]), quantiles(lost[1]))


def click_chance(shown: FloatArray) -> FloatArray:
    """Chance that a page is clicked that shows items of these click probabilities, along the last axis."""
    return np.asarray(1 - np.prod(1 - shown, axis=-1))
