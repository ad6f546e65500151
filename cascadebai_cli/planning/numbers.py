"""Numbers of a plan: page views, cost, tolerances, chances."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.budgets import falls_below
from cascadebai_cli.model.problem import ROUNDING, FloatArray, IntArray, divergence
from cascadebai_cli.store.columns import TrialRow
from cascadebai_cli.store.intervals import binomial_interval, mean_interval
from cascadebai_cli.text.numbers import count, spread_in_words
from cascadebai_cli.theory.paper import confidence_factor

# --- How hard an instance is, with a tolerance as well: a scale for the steps of sharp learners, not a bound --------


def effort(weights: FloatArray, K: int, delta: float, epsilon: float, M: int | None = None) -> float:
    """Steps of the order of what a sharp learner takes, 1 at least.

    For `epsilon = 0` it is the lower bound [thm:lb_fix_conf_dep], infinite for a tie. With a tolerance nothing is
    proved; each item then need not be told from its rival any better than to `epsilon`: `w(K+1)` becomes
    `min(w(K+1), w(i) - epsilon)` for the best `K` items and `w(K)` becomes `max(w(K), w(i) + epsilon)` for the others.

    Args:
        weights: click probabilities, shape `(L,)`, in any order.
        K, delta, epsilon: as in the paper.
        M: items shown at once, `K` by default.
    """
    w = np.sort(weights)[::-1]
    best, others = w[:K], w[K:]
    divergences = np.concatenate(
        [
            divergence(best, np.clip(np.minimum(w[K], best - epsilon), 0, 1)),
            divergence(others, np.clip(np.maximum(w[K - 1], others + epsilon), 0, 1)),
        ]
    )
    with np.errstate(divide="ignore"):
        needed = float((1 / divergences).sum())
    return max(1.0, float(confidence_factor(delta)) * needed / _most_looked_at(w[::-1][: M or K]))


def _most_looked_at(poorest: FloatArray) -> float:
    """`mu~`: expected observations of a list of the poorest items."""
    return float(np.cumprod(np.concatenate([[1.0], 1 - poorest[:-1]])).sum())


# --- How many page views a learner takes, from simulated runs and from how hard all possible truths are -------------


_LEVELS = (0.05, 0.5, 0.95)


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
    low, median, high = np.quantile(values, _LEVELS, method="inverted_cdf")
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


# --- How much a tolerance helps where the best items can hardly be told apart ---------------------------------------


_RELATIVE = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Tolerances that are compared, relative to the `K`-th largest expected rate."""
_BOUNDARY = 0.95
"""Share of the truths for which a tolerance must do."""


@dataclass(frozen=True, eq=False)
class Tolerance:
    """A tolerance, and what it means for each of `D` possible truths.

    Attributes:
        relative: to `w_K` of `tolerances`; nan if it was asked for.
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
        return bool(factor * np.quantile(self.efforts, _BOUNDARY, method="inverted_cdf") <= page_views)


def tolerance(
    truths: FloatArray, K: int, delta: float, epsilon: float, *, M: int, relative: float = float("nan")
) -> Tolerance:
    """What `epsilon` means for each truth, click probabilities of shape `(D, L)`, with `M` items on a page."""
    kth = np.partition(truths, -K, axis=1)[:, -K]
    good = (truths >= kth[:, None] - epsilon - ROUNDING * (epsilon > 0)).sum(axis=1)
    efforts = [effort(w, K, delta, epsilon, M) for w in truths]
    return Tolerance(relative, epsilon, good.astype(np.float64), np.array(efforts))


def tolerances(truths: FloatArray, K: int, delta: float, w_K: float, *, M: int) -> tuple[Tolerance, ...]:
    """The tolerances of the table, the smallest first; `w_K` is the `K`-th largest expected rate."""
    return tuple(tolerance(truths, K, delta, share * w_K, M=M, relative=share) for share in _RELATIVE)


def best_of(choices: Sequence[Tolerance], page_views: float, factor: float) -> Tolerance:
    """The smallest with which a learner mostly ends within so many page views; the largest if there is none."""
    return next((choice for choice in choices if choice.ends_within(page_views, factor)), choices[-1])


# --- What a test costs in clicks, beside showing the best items, or those that a log ranks first, all the time ------


@dataclass(frozen=True)
class ClickCost:
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
) -> ClickCost:
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
    return ClickCost(quantiles(_on_all(pages, lost)), quantiles(_on_all(pages, lost - behind)))


def _on_all(pages: FloatArray, lost: FloatArray) -> FloatArray:
    """Clicks lost on so many pages; none in a test without end whose pages lose none."""
    return np.multiply(pages, lost, out=np.zeros_like(pages), where=lost != 0)


def click_chance(shown: FloatArray) -> FloatArray:
    """Chance that a page is clicked that shows items of these click probabilities, along the last axis."""
    return np.asarray(1 - np.prod(1 - shown, axis=-1))


# --- How likely it is that all items are right after so many page views, from runs that were asked then -------------


Quantiles = tuple[float, float, float]
"""5, 50 and 95 % quantiles, or a value between the ends of its interval."""


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


def needed(curve: Sequence[Chance], sure: float) -> Quantiles:
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
