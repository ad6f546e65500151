"""What is to be found in a click log."""

from dataclasses import dataclass
from typing import Literal

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.study.fields import SMALLEST_RISK

Truth = Literal["posterior", "mean"]

RISK, RISK_AT_BUDGET = 0.05, 0.001
"""`delta` if none is given; with a budget there is no use in stopping early, and erring."""
MOST_BUDGET = 10**15
"""Page views that somebody may have."""


@dataclass(frozen=True)
class Wanted:
    """What is to be found.

    Args:
        K: number of items to find.
        delta: as in the paper; `RISK`, or with a budget `RISK_AT_BUDGET`, if `None`.
        epsilon: the tolerance; chosen if `None`, and 0 with a budget.
        truth: whether each run draws its click probabilities from what the log leaves open, or takes the expected.
        seed: root seed.
        page_size: number of items on a page, `K` if `None`.
        budget: page views after which a learner is asked, if it has so many.
        sure: chance that all `K` are right, for which the page views are wanted, if they are.

    Raises:
        ConfigError: if a value is outside its range.
    """

    K: int
    delta: float | None = None
    epsilon: float | None = None
    truth: Truth = "posterior"
    seed: int = 0
    page_size: int | None = None
    budget: int | None = None
    sure: float | None = None

    @property
    def at_budget(self) -> bool:
        """Whether page views are given or sought for an answer that is only likely, in place of a guarantee."""
        return self.budget is not None or self.sure is not None

    @property
    def risk(self) -> float:
        """`delta`."""
        return self.delta if self.delta is not None else RISK_AT_BUDGET if self.at_budget else RISK

    @property
    def shown(self) -> int:
        """Number of items on a page, if there are as many."""
        return self.page_size or self.K

    def __post_init__(self) -> None:
        if not SMALLEST_RISK <= self.risk < 1:
            raise ConfigError(
                f"--delta {self.risk:g} is out of range; give {SMALLEST_RISK:g} or more and less than 1, such as 0.05"
            )
        if self.epsilon is not None and not 0 <= self.epsilon < 1:
            raise ConfigError(f"--epsilon {self.epsilon:g} is no tolerance; give 0 or more, and less than 1")
        page_views(self.budget)
        if self.sure is not None and not 0 < self.sure < 1:
            raise ConfigError(
                f"--sure {self.sure:g} is no chance that can be reached; give one between 0 and 1, such as 0.95"
            )


def page_views(number: float | None) -> int | None:
    """A budget as somebody writes it, such as 20000 or 2e4.

    Raises:
        ConfigError: if that is no number of page views.
    """
    if number is None:
        return None
    if not 1 <= number <= MOST_BUDGET or number % 1:
        raise ConfigError(
            f"--budget {number:.16g} is no number of page views; give a whole number from 1 to {MOST_BUDGET:g}"
        )
    return int(number)
