"""What a plan is asked for: the clicks and views of a log, corrected, and the wishes of the user."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.posterior import Laws
from cascadebai_cli.logs.read import Log, log_of, read_log
from cascadebai_cli.model.problem import CASCADING, ROUNDING, SEMI_BANDIT, BoolArray, Feedback, FloatArray, Instance
from cascadebai_cli.model.users import PositionBased
from cascadebai_cli.planning.numbers import Quantiles, Tolerance, click_chance, quantiles
from cascadebai_cli.planning.options import Layout, Wanted
from cascadebai_cli.planning.positions import Corrected
from cascadebai_cli.planning.rates import RateLaw, first_draws, fitted_prior
from cascadebai_cli.text import count
from cascadebai_cli.theory.sharp import sharp_bound

SHARP = 8.0
"""Page views of the sharpest learner over the effort (`numbers.effort`), about."""
_MOST_ITEMS = 20_000
_MOST_VIEWS = 1e11
"""Largest number of views of an item; rates that are known even better would drown in rounding."""
_MOST_NEEDED = 1_000_000
"""Page views that a test may take; the tolerance is chosen so that it mostly takes fewer."""
_DRAWS, _FEWEST_DRAWS, _NUMBERS = 400, 50, 1_000_000
"""Number of draws of all click probabilities: 400, or fewer to keep within a million numbers, but at least 50."""
_DECIMALS = 12
"""Decimals of truths: further ones differ between processors, and would change the seeds of the runs."""
_BATCHES = 20
"""Number of parts of all draws from which the error of a chance is estimated."""
_MOST_RATES = 64
"""Largest number of different rates for which the sharp bound is worked out."""


@dataclass(frozen=True, eq=False)
class Question:
    """A log, and what is to be found in it.

    Attributes:
        file: the log.
        corrected: contents of the log, with the views that were looked at.
        rates: what the log says about the click probabilities.
        wanted: what is to be found.
        beliefs: draws of the click probabilities, shape `(D, L)`.
        truths: click probabilities that runs are simulated with: `beliefs`, or the expected ones, shape `(1, L)`.
        exact: the tolerance 0.
        table: tolerances relative to `w_K`; empty with a budget.
        planned: the tolerance that is planned for.
        ranked: the items as the log ranks them, by their expected rates, shape `(L,)`.
    """

    file: Path
    corrected: Corrected
    rates: RateLaw
    wanted: Wanted
    beliefs: FloatArray
    truths: FloatArray
    exact: Tolerance
    table: tuple[Tolerance, ...]
    planned: Tolerance
    ranked: tuple[int, ...]

    @property
    def log(self) -> Log:
        """Contents of the log."""
        return self.corrected.log

    @property
    def looks(self) -> tuple[float, ...]:
        """How often the places of a page are looked at, from the top; ones without positions."""
        return _looks(self.corrected, self.M)

    @property
    def places_differ(self) -> bool:
        """Whether users look at some places of a page less often than at others: then the order of a list matters."""
        return set(self.looks) != {1.0}

    def feedback(self, *, any_order: bool) -> Feedback:
        """Return what a learner reads off the pages of the users: each list up to the first click.

        Where places differ, a learner that allows any order has its lists shown in a random one, and reads the whole
        page: then all items are looked at alike, and its guarantee holds for what is looked at.
        """
        if not self.places_differ:
            return CASCADING
        return (SEMI_BANDIT if any_order else CASCADING).of(PositionBased(looks=self.looks), any_order)

    @property
    def looked(self) -> float:
        """Share of the places of a page that is looked at."""
        return float(np.mean(self.looks))

    def good(self, epsilon: float) -> BoolArray:
        """Return which items are good enough in each truth, those that tie with `w(K)` among them; shape `(D, L)`."""
        kth = np.partition(self.truths, -self.K, axis=1)[:, -self.K, None]
        return np.asarray(self.truths >= kth - epsilon - ROUNDING * (epsilon > 0))

    def tolerance(self, epsilon: float) -> Tolerance:
        """Return what `epsilon` means for each truth."""
        return _tolerance(self.wanted, self.truths, epsilon, self.looked)

    @property
    def K(self) -> int:
        """Number of items to find."""
        return self.wanted.K

    @property
    def M(self) -> int:
        """Number of items on a page."""
        return min(self.wanted.shown, self.L)

    @property
    def own(self) -> tuple[int, ...]:
        """The `K` items that the log ranks first."""
        return self.ranked[: self.K]

    @property
    def page(self) -> tuple[int, ...]:
        """The items that the log ranks first, as many as a page shows."""
        return self.ranked[: self.M]

    @property
    def L(self) -> int:
        """Number of items."""
        return len(self.log.names)

    @property
    def w_K(self) -> float:
        """The `K`-th largest of the expected rates, which differs from the expected `w(K)`."""
        return float(np.sort(self.rates.expected)[-self.K])

    @property
    def guess(self) -> Quantiles:
        """5, 50 and 95 % quantiles of the page views of a sharp learner, `SHARP` times the efforts."""
        return quantiles(SHARP * self.planned.efforts)

    @property
    def least(self) -> float | None:
        """Page views that any learner needs on average if the rates are the expected ones, by the sharp bound.

        It is `None` with a tolerance, for which no such bound is known, with too many different rates to be quick, and
        with a tie, for which a test has no end, and with users who do not look at all places.
        """
        rates, K = self.rates.expected, self.K
        ranked = np.sort(rates)[::-1]
        if (
            self.wanted.at_budget
            or self.planned.epsilon > 0
            or self.places_differ
            or len(np.unique(rates)) > _MOST_RATES
            or ranked[K - 1] == ranked[K]
        ):
            return None
        return sharp_bound(Instance(rates, K), M=self.M).steps(self.wanted.risk)

    @property
    def unusable(self) -> str:
        """Why a test cannot begin with the counts of the log; empty if it can."""
        log = self.log
        if self.corrected.examined:
            return "its views are no looks where places differ; give the rows of the first position only"
        if log.dispersion > 1:
            return "the rows of its items scatter more than clicks do"
        return "they are no whole numbers" if (log.views % 1).any() or (log.clicks % 1).any() else ""

    @cached_property
    def known(self) -> list[list[int]]:
        """Looks and clicks of each item in the log, with which a test can begin.

        Raises:
            ConfigError: if it cannot.
        """
        if self.unusable:
            raise ConfigError(
                f"{self.log.name}: --learner posterior begins with the counts of the log, but {self.unusable}"
            )
        counts: list[list[int]] = np.stack([self.log.views, self.log.clicks], axis=1).astype(np.int64).tolist()
        return counts

    @cached_property
    def prior(self) -> Laws:
        """The laws that a test that begins with the counts of the log takes for possible."""
        looks, clicks = np.array(self.known).T
        return fitted_prior(looks, clicks)

    @property
    def chances(self) -> FloatArray:
        """Chance that each item is among the best `K`, shape `(L,)`."""
        best = np.argpartition(-self.beliefs, self.K - 1, axis=1)[:, : self.K]
        return np.bincount(best.ravel(), minlength=self.L) / len(self.beliefs)

    @cached_property
    def _own_good(self) -> BoolArray:
        """In which draws the `K` items that the log ranks first are all good enough at the planned tolerance."""
        kth = np.partition(self.beliefs, -self.K, axis=1)[:, -self.K]
        return np.asarray(self.beliefs[:, self.own].min(axis=1) >= kth - self.planned.epsilon - ROUNDING)

    @property
    def own_good(self) -> float:
        """Chance that the `K` items that the log ranks first are all good enough at the planned tolerance."""
        return float(self._own_good.mean())

    @property
    def own_good_error(self) -> float:
        """Standard error of `own_good`, as the draws are finitely many and depend on each other (batch means)."""
        means = [batch.mean() for batch in np.array_split(self._own_good, _BATCHES)]
        return float(np.std(means, ddof=1) / np.sqrt(_BATCHES))

    @property
    def gain(self) -> Quantiles:
        """Clicks that the best page brings more than that of the log, on each page view: 5, 50 and 95 % quantiles."""
        looks = np.array(self.looks)
        best = -np.sort(-self.beliefs, axis=1)[:, : self.M]
        return quantiles(click_chance(best * looks) - click_chance(self.beliefs[:, self.page] * looks))

    @property
    def needs_test(self) -> bool:
        """Whether the log alone is less sure than a test shall be."""
        return self.own_good < self.wanted.enough

    @property
    def own_right(self) -> float:
        """Chance that the `K` items that the log ranks first are the best `K`."""
        others = np.delete(self.beliefs, self.own, axis=1)
        return float((self.beliefs[:, self.own].min(axis=1) > others.max(axis=1)).mean())

    @classmethod
    def of(
        cls,
        file: Path | pd.DataFrame,
        layout: Layout,
        wanted: Wanted,
        guessed: Callable[[Quantiles], None] | None = None,
    ) -> "Question":
        """Read a log, and return it together with what is asked of it.

        Args:
            file: the log, `-` for stdin, or a table with its contents.
            layout: how the log is laid out.
            wanted: what is to be found.
            guessed: receives an early estimate of `Question.guess`, from the likeliest single law of the rates.

        Raises:
            ConfigError: if the file or a value is not usable.
        """
        read = log_of(file, layout) if isinstance(file, pd.DataFrame) else read_log(file, layout)
        log = _checked(read, wanted)
        if guessed:
            truths = first_draws(log.log.clicks / log.log.dispersion, log.log.views / log.log.dispersion, _FEWEST_DRAWS)
            exact, table, planned = _tolerances(wanted, truths, truths.mean(axis=0), _share(log, wanted))
            guessed(_first_guess(planned, (exact, *table)))
        return _question(log, Path(read.name) if isinstance(file, pd.DataFrame) else file, wanted)

    @classmethod
    def about(cls, log: Log, file: Path, wanted: Wanted) -> "Question":
        """Return the question of a log that was read already.

        Raises:
            ConfigError: if a value is not usable.
        """
        return _question(_checked(log, wanted), file, wanted)


def _checked(log: Log, wanted: Wanted) -> Corrected:
    """Return the log with the views that were looked at."""
    _refuse(log, wanted.K)
    return Corrected.of(log)


def _question(log: Corrected, file: Path, wanted: Wanted) -> Question:
    L = len(log.log.names)
    draws = int(np.clip(_NUMBERS // L, _FEWEST_DRAWS, _DRAWS))
    counts = log.counts(draws, np.random.default_rng([wanted.seed, L, 1]))
    rates = RateLaw.of(*counts, draws, wanted.seed)
    beliefs = rates.draw(np.random.default_rng([wanted.seed, L])).round(_DECIMALS)
    truths = beliefs if wanted.truth == "posterior" else rates.expected[None, :].round(_DECIMALS)
    exact, table, planned = _tolerances(wanted, truths, rates.expected, _share(log, wanted))
    return Question(file, log, rates, wanted, beliefs, truths, exact, table, planned, _ranked(rates))


def _first_guess(planned: Tolerance, others: Sequence[Tolerance]) -> Quantiles:
    """Return a guess with a range from the largest tolerance to the smallest, as the choice may still change."""
    _, median, _ = quantiles(SHARP * planned.efforts)
    ends = [quantiles(SHARP * one.efforts) for one in (planned, *others)]
    return min(low for low, _, _ in ends), median, max(high for _, _, high in ends)


def _refuse(log: Log, K: int) -> None:
    L = len(log.names)
    if L > _MOST_ITEMS:
        raise ConfigError(
            f"{log.name} has {count(L)} items, {count(_MOST_ITEMS)} is the most; keep those that "
            "might be among the best"
        )
    if L <= K:
        raise ConfigError(f"-K {K} is not less than the {L} items of the file; choose a smaller K")
    if (log.views > _MOST_VIEWS).any():
        i = int(log.views.argmax())
        raise ConfigError(
            f"{log.name}: item {log.names[i]} has {log.views[i]:g} views, {_MOST_VIEWS:g} is the most; divide all "
            "clicks and views by one number"
        )
    if not log.clicks.any():
        raise ConfigError(f"{log.name} has no clicks, so that it says nothing about rates; name the right columns")


def _looks(log: Corrected, M: int) -> tuple[float, ...]:
    known = log.looks[:M]
    return tuple(round(look, _DECIMALS) for look in (*known, *[known[-1]] * (M - len(known))))


def _share(log: Corrected, wanted: Wanted) -> float:
    return float(np.mean(_looks(log, min(wanted.shown, len(log.log.names)))))


def _planned(
    wanted: Wanted, truths: FloatArray, exact: Tolerance, table: tuple[Tolerance, ...], looked: float
) -> Tolerance:
    """Return the tolerance that is planned for.

    It is the one asked for, if a test with it can end. Otherwise it is none if such a test ends, or if only a likely
    answer is asked for; otherwise the best of the table.
    """
    if wanted.at_budget and not wanted.epsilon:
        return exact
    if wanted.epsilon:
        return _tolerance(wanted, truths, wanted.epsilon, looked)
    if wanted.epsilon == 0 and np.isfinite(exact.efforts).all():
        return exact
    return Tolerance.best((exact, *table) if wanted.epsilon is None else table, _MOST_NEEDED, SHARP)


def _tolerances(
    wanted: Wanted, truths: FloatArray, expected: FloatArray, looked: float
) -> tuple[Tolerance, tuple[Tolerance, ...], Tolerance]:
    """Return zero tolerance, the tolerances to compare (none if an answer need only be likely), and the planned one."""
    exact, w_K = _tolerance(wanted, truths, 0.0, looked), np.sort(expected)[-wanted.K]
    table = (
        () if wanted.at_budget else Tolerance.table(truths, wanted.K, wanted.risk, w_K, M=wanted.shown, looked=looked)
    )
    return exact, table, _planned(wanted, truths, exact, table, looked)


def _tolerance(wanted: Wanted, truths: FloatArray, epsilon: float, looked: float) -> Tolerance:
    return Tolerance.of(truths, wanted.K, wanted.risk, epsilon, M=wanted.shown, looked=looked)


def _ranked(rates: RateLaw) -> tuple[int, ...]:
    """Return the items in descending order of expected rate: the raw rate of few views may be large by chance."""
    return tuple(np.argsort(-rates.expected, kind="stable").tolist())
