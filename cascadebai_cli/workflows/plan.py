"""From a log of clicks and views to the number of page views that a test will take."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cascadebai_cli.analysis.cost import Cost, cost
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.read import Layout
from cascadebai_cli.running.runner import Backend
from cascadebai_cli.workflows.click_log import Question, Truth, Wanted, question_of
from cascadebai_cli.workflows.plan_runs import Simulated, chosen, simulated
from cascadebai_cli.workflows.studies import check_trials
from cascadebai_cli.workflows.watch import SILENT, Watch

__all__ = ["Backend", "Effort", "Item", "Layout", "Plan", "Question", "Truth", "Wanted", "plan"]

SHOWN = 0.05
"""Items whose chance to be among the best is as large are listed beside the best `K`."""


@dataclass(frozen=True)
class Effort:
    """What is simulated, and what for.

    Args:
        learners: keys of `plan_runs.CANDIDATES`; the two best if empty.
        trials: runs of each learner; as many as fit into half a minute, up to 40, if `None`.
        per_day: page views a day, for the number of days.
    """

    learners: Sequence[str] = ()
    trials: int | None = None
    per_day: float | None = None

    def __post_init__(self) -> None:
        check_trials(self.trials)
        object.__setattr__(self, "learners", chosen(self.learners))
        if self.per_day is not None and not self.per_day > 0:
            raise ConfigError(f"--per-day {self.per_day:g}: no test would end; give the page views of a day")


@dataclass(frozen=True)
class Item:
    """An item: what the log has, what it says about its rate, and whether it may be one of the best.

    Attributes:
        rate, low, high: posterior mean of the click probability, and 5 and 95 % quantiles.
        chance: to be among the best `K`.
        found_in: runs of the first learner that found it; `None` if that did not end.
    """

    name: str
    clicks: float
    views: float
    rate: float
    low: float
    high: float
    chance: float
    found_in: int | None


@dataclass(frozen=True, eq=False)
class Plan:
    """What a test will take.

    Attributes:
        question: what was asked.
        effort: what was simulated.
        learners: the runs of each learner, the fastest first, those that did not end last.
        items: all items, the likeliest to be among the best first.
        cost: of the first learner; `None` if that did not end.
    """

    question: Question
    effort: Effort
    learners: tuple[Simulated, ...] = ()
    items: tuple[Item, ...] = ()
    cost: Cost | None = field(default=None)

    @property
    def failed(self) -> bool:
        """Whether a run raised; then nothing is known."""
        return not self.learners

    @property
    def shown(self) -> tuple[Item, ...]:
        """The best `K` items, and those that may be among them."""
        K = self.question.K
        return tuple(item for place, item in enumerate(self.items) if place < K or item.chance >= SHOWN)


def plan(
    file: Path,
    layout: Layout,
    wanted: Wanted,
    effort: Effort | None = None,
    *,
    backend: Backend | None = None,
    watch: Watch = SILENT,
    begin: Callable[[Question], None] | None = None,
) -> Plan:
    """How many page views it takes to find the best `K` items.

    The click probabilities are drawn from what the log leaves open; for each draw, each learner is run on pages that
    show `K` items and are read from the top to the first click.

    Args:
        file: the log, `-` for stdin.
        layout: how it is laid out.
        wanted: what is to be found.
        effort: what is simulated.
        backend: where runs are simulated; all cores by default.
        watch: follows the runs.
        begin: takes what is asked, before it is simulated.

    Raises:
        ConfigError: if the file or a value is not usable.
        CascadeError: if the backend breaks.
    """
    effort = effort or Effort()
    question = question_of(file, layout, wanted)
    if begin:
        begin(question)
    learners = simulated(question, effort.learners, effort.trials, backend or Backend(), watch)
    if learners is None:
        return Plan(question, effort)
    first = learners[0] if learners[0].views.ended else None
    return Plan(question, effort, learners, _items(question, first), _cost(question, first))


def _items(question: Question, first: Simulated | None) -> tuple[Item, ...]:
    log, rates, chances = question.log, question.rates.expected, question.chances
    low, high = question.rates.interval()
    found = Counter(item for row in first.rows for item in row.items if row.status == "stopped") if first else None
    order = np.lexsort((-rates, -chances))
    return tuple(
        Item(
            log.names[i],
            float(log.clicks[i]),
            float(log.views[i]),
            float(rates[i]),
            float(low[i]),
            float(high[i]),
            float(chances[i]),
            None if found is None else found[i],
        )
        for i in order.tolist()
    )


def _cost(question: Question, first: Simulated | None) -> Cost | None:
    if first is None:
        return None
    ended = [place for place, row in enumerate(first.rows) if row.status == "stopped"]
    rows = [first.rows[place] for place in ended]
    truths = question.truths[first.truths[ended]]
    return cost([row.steps for row in rows], [row.clicks for row in rows], truths, question.page)
