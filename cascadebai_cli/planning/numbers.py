"""The numbers of a plan: page views, cost, tolerances, chances."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.problem import ROUNDING, FloatArray, divergence
from cascadebai_cli.store.columns import TrialRow
from cascadebai_cli.store.summary import binomial_interval, mean_interval
from cascadebai_cli.text import count, percent, spread_in_words
from cascadebai_cli.theory.paper import confidence_factor

# --- How hard an instance is: a scale for the steps of sharp learners, not a bound ----------------------------------


def effort(weights: FloatArray, K: int, delta: float, epsilon: float, M: int | None = None) -> float:
    """Return the order of magnitude of the steps that a sharp learner takes, at least 1.

    For `epsilon = 0` this is the lower bound [thm:lb_fix_conf_dep], infinite for a tie. For a tolerance nothing is
    proved; the formula then takes a rival of each item that is at least `epsilon` away: `w(K+1)` becomes
    `min(w(K+1), w(i) - epsilon)` for the best `K` items, and `w(K)` becomes `max(w(K), w(i) + epsilon)` for the others.

    Args:
        weights: click probabilities, shape `(L,)`, in any order.
        K, delta, epsilon: as in the paper.
        M: number of items shown at once, `K` by default.
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
    """Return `mu~`: the expected number of observations of a list of the poorest items."""
    return float(np.cumprod(np.concatenate([[1.0], 1 - poorest[:-1]])).sum())


# --- How many page views a learner takes ----------------------------------------------------------------------------


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
        ratios: page views of each run beyond `least`, over its effort; a lower limit for a run that was given up.
        truths: which truth each run had, where the ratios of other truths are others; empty where they are the same.
        least: page views that a run takes however easy its truth is, as each item is in a list that stays so long.
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
    truths: tuple[int, ...] = ()
    least: int = 0

    @property
    def ended(self) -> bool:
        """Whether most of the runs ended, so that something is known."""
        return 2 * self.capped < self.n

    @property
    def in_words(self) -> str:
        """Median and 5 to 95 % quantiles, in words."""
        return spread_in_words(self.low, self.median, self.high) if self.ended else f"more than {count(self.cap)}"

    @property
    def error(self) -> float:
        """Standard error of the mean ratio as a share of it; infinite if runs were given up or stand for themselves."""
        if self.capped or self.truths or self.n < 2:
            return np.inf
        mean = np.mean(self.ratios)
        return float(np.std(self.ratios, ddof=1) / mean / np.sqrt(self.n)) if mean else 0.0

    @property
    def so_far(self) -> str:
        """Learner and page views while further runs go on, and how well the ratios are known."""
        error = f", known to {percent(self.error)}" if self.error < np.inf else ""
        return f"{self.learner} {self.in_words}{error}"

    def expected(self, efforts: FloatArray) -> tuple[float, float, float]:
        """Return 5, 50 and 95 % quantiles of page views for truths of these efforts, shape `(D,)`."""
        return quantiles(self.pages(efforts)) if self.ended else (np.inf, np.inf, np.inf)

    def pages(self, efforts: FloatArray) -> FloatArray:
        """Return the page views of `n` runs on all truths, shape `(D, n)`, or of each on its own, shape `(n, 1)`."""
        if not self.truths:
            return self.least + _products(efforts[:, None], np.array(self.ratios))
        return self.least + _products(efforts[list(self.truths)], np.array(self.ratios))[:, None]

    @classmethod
    def of(
        cls,
        learner: str,
        steps: Sequence[int],
        correct: Sequence[bool | None],
        cap: int,
        efforts: FloatArray,
        all_efforts: FloatArray,
        truths: Sequence[int] = (),
        least: int = 0,
    ) -> "PageViews":
        """Return the page views over all possible truths, of which a few were simulated.

        A run takes `least` page views and its effort times a ratio that varies little. So the page views over all
        truths are estimated by `least` and the products of all efforts and all ratios. A run that was given up gets the
        median ratio of the other runs, or its own ratio if that is larger.

        Args:
            learner: its name.
            steps: page views of each run.
            correct: whether it ended right; `None` if it was given up.
            cap: page views after which runs were given up.
            efforts: effort of the truth of each run.
            all_efforts: efforts of all truths, shape `(D,)`.
            truths: which truth each run had, if page views do not grow with the effort; it then stands for its own.
            least: page views that a run takes however easy its truth is.
        """
        capped = np.array([right is None for right in correct])
        ratios = np.maximum(np.asarray(steps, dtype=np.float64) - least, 0) / efforts
        if capped.any() and not capped.all():
            ratios = np.where(capped, np.maximum(ratios, np.median(ratios[~capped])), ratios)
        right, given_up = sum(map(bool, correct)), int(capped.sum())
        known = cls(
            learner,
            0,
            0,
            0,
            cap,
            len(steps),
            right,
            given_up,
            tuple(map(float, ratios)),
            tuple(map(int, truths)),
            least,
        )
        low, median, high = known.expected(all_efforts)
        return replace(known, low=low, median=median, high=high)


def _products(efforts: FloatArray, ratios: FloatArray) -> FloatArray:
    """Return efforts times ratios, 0 for a ratio of 0 even where the effort is infinite."""
    shape = np.broadcast_shapes(efforts.shape, ratios.shape)
    return np.asarray(np.multiply(efforts, ratios, out=np.zeros(shape), where=ratios > 0))


def quantiles(values: FloatArray) -> tuple[float, float, float]:
    """Return the 5, 50 and 95 % quantiles, each of which is one of the values."""
    low, median, high = np.quantile(values, _LEVELS, method="inverted_cdf")
    return float(low), float(median), float(high)


# --- Tolerances, for best items that can hardly be told apart -------------------------------------------------------


_RELATIVE = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Tolerances that are compared, relative to the `K`-th largest expected rate."""
_BOUNDARY = 0.95
"""Share of the truths for which a learner must end with a tolerance."""


@dataclass(frozen=True, eq=False)
class Tolerance:
    """A tolerance, and what it means for each of `D` possible truths.

    Attributes:
        relative: the tolerance over `w_K` of `tolerances`; NaN if it was asked for.
        epsilon: the tolerance itself.
        good: how many items are good enough, shape `(D,)`.
        efforts: effort of each truth (`effort`), shape `(D,)`; infinite for a tie.
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
        """Return whether a learner that takes `factor` times the effort mostly ends within `page_views`."""
        return bool(factor * np.quantile(self.efforts, _BOUNDARY, method="inverted_cdf") <= page_views)

    @classmethod
    def of(
        cls,
        truths: FloatArray,
        K: int,
        delta: float,
        epsilon: float,
        *,
        M: int,
        relative: float = float("nan"),
        looked: float = 1.0,
    ) -> "Tolerance":
        """Return what `epsilon` means for each truth.

        Args:
            truths: click probabilities, shape `(D, L)`.
            K, delta, epsilon: as in the paper.
            M: number of items on a page.
            relative: `Tolerance.relative`.
            looked: share of the places of a page that is looked at; all rates that a learner sees are smaller by it.
        """
        kth = np.partition(truths, -K, axis=1)[:, -K]
        good = (truths >= kth[:, None] - epsilon - ROUNDING * (epsilon > 0)).sum(axis=1)
        efforts = [effort(looked * w, K, delta, looked * epsilon, M) for w in truths]
        return cls(relative, epsilon, good.astype(np.float64), np.array(efforts))

    @classmethod
    def table(
        cls, truths: FloatArray, K: int, delta: float, w_K: float, *, M: int, looked: float = 1.0
    ) -> "tuple[Tolerance, ...]":
        """Return the tolerances of the table, the smallest first; `w_K` is the `K`-th largest expected rate."""
        return tuple(cls.of(truths, K, delta, share * w_K, M=M, relative=share, looked=looked) for share in _RELATIVE)

    @staticmethod
    def best(choices: "Sequence[Tolerance]", page_views: float, factor: float) -> "Tolerance":
        """Return the smallest tolerance with which a learner mostly ends within `page_views`, else the largest."""
        return next((choice for choice in choices if choice.ends_within(page_views, factor)), choices[-1])


# --- What a test costs in clicks ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClickCost:
    """Clicks that a test loses until it ends: 5, 50 and 95 % quantiles.

    Attributes:
        against_best: compared with always showing the best items.
        against_own: compared with always showing the items that the log ranks first; negative where the test gains.
        gained: clicks that the test and then the best items bring more than the log's own items until the horizon.
    """

    against_best: tuple[float, float, float]
    against_own: tuple[float, float, float]
    gained: tuple[float, float, float] | None = None

    @classmethod
    def of(
        cls,
        loses: FloatArray,
        all_truths: FloatArray,
        own: Sequence[int],
        pages: FloatArray,
        looks: FloatArray | float = 1.0,
        until: float | None = None,
    ) -> "ClickCost":
        """Return the cost over all possible truths, of which a few were simulated, as in `PageViews.of`.

        Each run loses some share of the clicks of the best page. Each truth is combined with the share and the page
        views of each run (`PageViews.pages`), so that a share stays with the page views of its run.

        Args:
            loses: share of the clicks of the best page that each run loses, shape `(n,)`; `(D, 1)` if truths have one.
            all_truths: click probabilities, shape `(D, L)`.
            own: the items that the log ranks first, as many as a page shows.
            pages: page views of each run on each truth, shape `(D, n)`; `(D, 1)` if each truth has one.
            looks: how often the places of a page are looked at, from the top.
            until: number of page views until the horizon; a test that takes longer is not over by then.
        """
        best = click_chance(-np.sort(-all_truths, axis=1)[:, : len(own)] * looks)
        behind = (best - click_chance(all_truths[:, list(own)] * looks))[:, None]
        lost = best[:, None] * loses
        gained = None
        if until is not None:
            after = np.maximum(until - pages, 0)
            gained = quantiles(after * behind - _on_all(np.minimum(pages, until), lost - behind))
        return cls(quantiles(_on_all(pages, lost)), quantiles(_on_all(pages, lost - behind)), gained)


def lost_share(clicks: FloatArray, shown: ArrayLike, best: FloatArray) -> FloatArray:
    """Return the share of clicks that each run loses; a negative one, which only chance can make, is set to 0.

    Args:
        clicks: clicks that a run brings on average, shape `(n,)`.
        shown: pages of each run, or items shown, shape `(n,)`.
        best: chance of a click on the best page, or of an item on it, shape `(n,)`.
    """
    return np.asarray(np.clip(1 - clicks / (np.maximum(shown, 1) * best), 0, 1))


def _on_all(pages: FloatArray, lost: FloatArray) -> FloatArray:
    """Return the clicks lost on `pages` pages; 0 where a page loses none, even in a test without end."""
    return np.multiply(pages, lost, out=np.zeros_like(pages), where=lost != 0)


def click_chance(shown: FloatArray) -> FloatArray:
    """Return the chance that a page of items with these click probabilities (last axis) is clicked.

    Pages of the same items have the same chance to the last bit, so that one does not seem to gain on the other.
    """
    return np.asarray(1 - np.prod(np.sort(1 - shown, axis=-1), axis=-1))


# --- How likely it is that all items are right after a budget of page views -----------------------------------------


Quantiles = tuple[float, float, float]
"""5, 50 and 95 % quantiles; or the low end, the value and the high end of an interval."""


@dataclass(frozen=True)
class Chance:
    """The result of one learner at one budget.

    Attributes:
        budget: page views after which the learner was asked.
        n: number of runs.
        all_right: share of the runs in which all `K` named items are good enough.
        low, high: ends of the 95 % interval of `all_right`.
        right: average number of named items that are good enough.
        right_low, right_high: ends of the 95 % interval of `right`.
    """

    budget: int
    n: int
    all_right: float
    low: float
    high: float
    right: float
    right_low: float
    right_high: float

    @classmethod
    def of(cls, budget: int, rows: Sequence[TrialRow], K: int) -> "Chance":
        """Return the result of runs that were asked at a budget."""
        all_right = sum(bool(row.correct) for row in rows)
        low, high = binomial_interval(all_right, len(rows))
        mean = mean_interval(np.array([row.right for row in rows], dtype=np.float64))
        ends = np.clip((mean.low, mean.high), 0, K)
        return cls(budget, len(rows), all_right / len(rows), low, high, mean.value, float(ends[0]), float(ends[1]))


def needed(curve: Sequence[Chance], sure: float) -> Quantiles:
    """Return the page views from which the chance is `sure`: low end, value and high end of their 95 % interval.

    A number beyond the largest budget is infinite; one below the smallest budget is 0. Between two budgets the
    logarithm of the chance of an error is interpolated linearly.
    """
    from cascadebai_cli.analysis.fits import falls_below  # which loads the bounds of a study

    budgets = np.array([point.budget for point in curve], dtype=np.float64)
    least = 1 / (2 * min(point.n for point in curve))
    low, value, high = (
        falls_below(budgets, 1 - np.array([getattr(point, end) for point in curve]), 1 - sure, least)
        for end in ("high", "all_right", "low")
    )
    return low, value, high
