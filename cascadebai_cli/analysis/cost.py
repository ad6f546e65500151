"""What a test costs in clicks, beside showing the best items, or those that a log ranks first, all the time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cascadebai_cli.analysis.page_views import quantiles
from cascadebai_cli.model.instance import FloatArray, IntArray


@dataclass(frozen=True)
class Cost:
    """Clicks that a test loses until it ends: 5, 50 and 95 % quantiles over runs.

    Attributes:
        against_best: beside always showing the best items.
        against_own: beside always showing the items that the log ranks first; negative where the test gains.
    """

    against_best: tuple[float, float, float]
    against_own: tuple[float, float, float]


def cost(
    steps: Sequence[int],
    clicks: Sequence[float],
    truths: IntArray,
    all_truths: FloatArray,
    own: Sequence[int],
    ratios: Sequence[float],
    all_efforts: FloatArray,
) -> Cost:
    """The cost over all possible truths, of which a few were simulated, as `page_views` has it.

    A run loses a share of the clicks of the best page; these shares are put on all truths together with the ratios, so
    that clicks and page views go with the same runs. A share below 0 is chance, as nothing beats the best page.

    Args:
        steps, clicks: page views of each run, and the clicks that they bring on average.
        truths: which truth each run had, shape `(n,)`.
        all_truths: click probabilities, shape `(D, L)`.
        own: the items that the log ranks first, as many as a page shows.
        ratios: page views over effort of each run.
        all_efforts: of all truths, shape `(D,)`.
    """
    best = click_chance(np.sort(all_truths, axis=1)[:, -len(own) :])
    loses = np.clip(1 - np.asarray(clicks) / (np.maximum(steps, 1) * best[truths]), 0, 1)
    pages = np.multiply.outer(all_efforts, ratios)
    behind = (best - click_chance(all_truths[:, list(own)]))[:, None]
    lost = best[:, None] * loses
    return Cost(quantiles(_on_all(pages, lost)), quantiles(_on_all(pages, lost - behind)))


def _on_all(pages: FloatArray, lost: FloatArray) -> FloatArray:
    """Clicks lost on so many pages; none in a test without end whose pages lose none."""
    return np.multiply(pages, lost, out=np.zeros_like(pages), where=lost != 0)


def click_chance(shown: FloatArray) -> FloatArray:
    """Chance that a page is clicked that shows items of these click probabilities, along the last axis."""
    return np.asarray(1 - np.prod(1 - shown, axis=-1))
