"""Learners that a person could use to find the best items, and what their simulated runs cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.instance import FloatArray

SECONDS = 36.0
"""Processor time of all runs, by the estimates below, which were measured; with start and end 30 s on two cores."""
SKIPPED, SKIPPED_ITEMS = 0.5, 1250
"""Seconds of a run that is skipped through to its end, and the items that take as long again."""
RARE, MOST_CROWDED = 0.02, 8.0
"""Click probability below which the items near the boundary change all the time, and how much slower that makes."""


@dataclass(frozen=True)
class Pace:
    """Processor time of a run in seconds: to start, for each item, for each page view, for each item of each of them.

    Attributes:
        along: whether a run goes on from one budget to the next; else each budget is a run of its own.
        skips: whether page views are skipped through, which bounds the time.
    """

    start: float
    item: float
    step: float
    step_item: float = 0.0
    along: bool = False
    skips: bool = False

    def seconds(self, page_views: float, L: int) -> float:
        """Of one run."""
        found = self.start + self.item * L + (self.step + self.step_item * L) * page_views
        return min(found, SKIPPED * (1 + L / SKIPPED_ITEMS)) if self.skips else found

    def within(self, seconds: float, L: int) -> int:
        """Page views of a run that takes so many seconds, 1 at least."""
        return max(1, int((seconds - self.seconds(0, L)) / (self.step + self.step_item * L)))


@dataclass(frozen=True)
class Candidate:
    """A learner that a person could use.

    Attributes:
        name: in words.
        spec: what runs.
        pace: how long a run takes that ends after a given number of page views.
        factor: page views until it stops over effort, about; none for those that only answer at a budget.
        by_steps: whether a run until it stops takes the longer the more page views it has; else it is skipped through.
        beyond_items: whether its budget must be larger than the number of items.
    """

    name: str
    spec: LearnerSpec
    pace: Pace
    factor: float | None = None
    by_steps: bool = False
    beyond_items: bool = False

    def shown(self, M: int, K: int) -> LearnerSpec:
        """What runs on pages of `M` items."""
        return self.spec if M == K else replace(self.spec, options={**self.spec.options, "list_length": M})

    def paced(self, w_K: float) -> Pace:
        """The pace where `w(K)` is about so large: rare clicks let items at the boundary change places for long."""
        crowded = float(np.clip(RARE / max(w_K, 1e-300), 1, MOST_CROWDED)) if self.by_steps else 1.0
        return replace(self.pace, step=crowded * self.pace.step, step_item=crowded * self.pace.step_item)

    def seconds(self, budgets: Sequence[int], efforts: FloatArray, L: int, w_K: float) -> float:
        """Processor time of a run that is asked at these budgets, on average over truths of these efforts."""
        pace = self.paced(w_K)
        each = [pace.seconds(self._page_views(budget, efforts), L) for budget in budgets]
        return max(each, default=0.0) if pace.along else sum(each)

    def _page_views(self, budget: int, efforts: FloatArray) -> float:
        """Fewer than the budget where it stops by itself."""
        return budget if self.factor is None else float(np.minimum(self.factor * efforts, budget).mean())


_RACING = Pace(7e-3, 0.0, 1.4e-6, 8e-10, skips=True)

CANDIDATES: Mapping[str, Candidate] = {
    "kl-lucb++": Candidate(
        "KL-LUCB++", LearnerSpec("kl-lucb++"), Pace(0.0, 3e-4, 9e-6, 1.6e-8, along=True), 8, by_steps=True
    ),
    "cascadebai-kl": Candidate(
        "CascadeBAI, KL bounds",
        LearnerSpec("cascadebai", {"confidence": "kl"}),
        _RACING,
        25,
    ),
    "cascadebai": Candidate("CascadeBAI", LearnerSpec("cascadebai"), _RACING, 200),
    "sar": Candidate("SAR", LearnerSpec("sar"), Pace(1e-3, 4.5e-5, 1.5e-7, 2e-10), beyond_items=True),
    "uniform": Candidate("uniform", LearnerSpec("uniform"), Pace(1e-3, 2e-7, 6e-8)),
}
"""What `--learner` takes -> learner: those that stop by themselves, the sharpest first, and those for a budget."""
DEFAULT = ("kl-lucb++", "cascadebai-kl")
DEFAULT_AT_BUDGET = (*DEFAULT, "sar", "uniform")


def chosen(keys: Sequence[str], *, at_budget: bool) -> tuple[str, ...]:
    """The learners asked for, or the best ones.

    Raises:
        ConfigError: if one is not known, or does not stop by itself and has no budget.
    """
    for key in keys:
        if key not in CANDIDATES:
            raise ConfigError(f"--learner {key} is not known; {suggest(key, CANDIDATES)}")
        if CANDIDATES[key].factor is None and not at_budget:
            raise ConfigError(f"--learner {key} does not stop by itself; give the page views with --budget")
    return tuple(dict.fromkeys(keys)) or (DEFAULT_AT_BUDGET if at_budget else DEFAULT)
