"""The options of `plan`, for the command line and for Python; this module imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.layout import Layout
from cascadebai_cli.options import MOST_TRIALS, SMALLEST_RISK, filled, option, refuse_outside

__all__ = ["MOST_BUDGET", "OPTIONS", "Layout", "Wanted", "read_options"]

_RISK, _RISK_AT_BUDGET = 0.05, 0.001
"""`delta` if none is given; it is small with a budget, where stopping early would only add errors."""
MOST_BUDGET = 10**15
"""Largest budget of page views."""
_RISKS = (lambda x: SMALLEST_RISK <= x < 1, "out of range", f"{SMALLEST_RISK:g} or more and less than 1, such as 0.05")
_BUDGETS = (
    lambda x: 1 <= x <= MOST_BUDGET and x % 1 == 0,
    "no number of page views",
    f"a whole number from 1 to {MOST_BUDGET:g}",
)
_PACES = (lambda x: 1e-6 <= x <= 1e15, "no number of page views a day", "one from 1e-06 to 1e+15")


@dataclass(frozen=True)
class Wanted:
    """What is to be found, what is simulated for it, and how sure the answer is to be.

    Raises:
        ConfigError: if a value is outside its range.
    """

    K: int = option(5, "Number of items to find.", "-K", least=1)
    page_size: int | None = option(None, "Number of items on a page; K if not given.", metavar="M", least=1)
    delta: float | None = option(
        None, "Largest probability of a wrong answer; 0.05, or 0.001 with a budget, if not given.", allowed=_RISKS
    )
    epsilon: float | None = option(
        None,
        "Items at most this far below w(K) are good enough; chosen from a table if not given.",
        allowed=(lambda epsilon: 0 <= epsilon < 1, "no tolerance", "0 or more, and less than 1"),
    )
    budget: int | None = option(
        None,
        "Say how likely all K are right after N page views, in place of a guarantee.",
        metavar="N",
        read_as=float | None,
        allowed=_BUDGETS,
    )
    sure: float | None = option(
        None,
        "Say after how many page views all K are right with this chance.",
        metavar="CHANCE",
        allowed=(lambda sure: 0 < sure < 1, "no chance that can be reached", "one between 0 and 1, such as 0.95"),
    )
    truth: Literal["posterior", "mean"] = option(
        "posterior", "Rates of a run: drawn from what the log leaves open, or the expected ones."
    )
    learner: tuple[str, ...] | None = option(
        None,
        "kl-lucb++, cascadebai-kl, cascadebai, posterior, which begins with the counts of the log, and with a budget "
        "sar or uniform; repeatable; the first two, with a budget sar and uniform too, if not given.",
    )
    trials: int | None = option(
        None,
        "Simulated runs of each learner; until the answer is known to 5 %, in half a minute at most, if not given.",
        least=2,
        allowed=(lambda trials: trials <= MOST_TRIALS, "too large", f"{MOST_TRIALS} or less"),
    )
    batch: int | None = option(
        None,
        "Page views for which a list stays, as pages that are fixed for a while; simulated for kl-lucb++ alone.",
        metavar="N",
        least=1,
        allowed=(lambda batch: batch <= MOST_BUDGET, "too large", f"{MOST_BUDGET:g} or less"),
    )
    per_day: float | None = option(None, "Page views a day, to know the days.", metavar="N", allowed=_PACES)
    horizon: float | None = option(
        None,
        "Days over which the clicks that better items bring are set against those that a test loses; needs --per-day.",
        metavar="DAYS",
        allowed=(lambda days: 0 < days <= 1e6, "no number of days", "one from 1 to 1e+06"),
    )
    seed: int = option(0, "Root seed.", least=0)

    def __post_init__(self) -> None:
        if self.per_day is not None and not self.per_day > 0:
            raise ConfigError(f"--per-day {self.per_day:g}: no test would end; give the page views of a day")
        refuse_outside(self)
        if self.horizon is not None and (self.per_day is None or self.at_budget):
            raise ConfigError("--horizon needs --per-day, the page views of a day, and a test without a budget")
        object.__setattr__(self, "budget", None if self.budget is None else int(self.budget))

    @property
    def at_budget(self) -> bool:
        """Whether a number of page views is given or sought for an answer that is only likely, without a guarantee."""
        return self.budget is not None or self.sure is not None

    @property
    def risk(self) -> float:
        """The largest probability of a wrong answer, `delta`."""
        return self.delta if self.delta is not None else _RISK_AT_BUDGET if self.at_budget else _RISK

    @property
    def enough(self) -> float:
        """The chance of good items from which on no test is needed: the one that is asked for, or `1 - delta`."""
        return self.sure if self.sure is not None else 1 - self.risk

    @property
    def pages(self) -> float | None:
        """Number of page views until the horizon, if one is given."""
        return self.horizon * self.per_day if self.horizon is not None and self.per_day is not None else None

    @property
    def shown(self) -> int:
        """Number of items on a page, provided that there are as many."""
        return self.page_size or self.K


OPTIONS = (Layout, Wanted)


def read_options(given: Mapping[str, Any]) -> tuple[Layout, Wanted]:
    """Return the records with the values given for their options; for `None` the default holds.

    Raises:
        ConfigError: if one is outside its range.
    """
    return filled(Layout, given), filled(Wanted, given)
