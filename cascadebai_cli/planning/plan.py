"""From a log of clicks and views to the page views that a test takes, or to how sure its answer is after a budget."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from cascadebai_cli.planning.budget import Answers, answered
from cascadebai_cli.planning.numbers import Quantiles
from cascadebai_cli.planning.options import SHARP, Layout, Wanted
from cascadebai_cli.planning.question import Question, question_of
from cascadebai_cli.planning.runs import Test, chosen_learners, tested
from cascadebai_cli.running.runner import Backend
from cascadebai_cli.running.watch import SILENT, Watch
from cascadebai_cli.text import spread_in_words

__all__ = ["Answers", "Backend", "Layout", "Plan", "Question", "Test", "Wanted", "plan"]


_SHOWN = 0.05
"""Smallest chance to be among the best with which items are listed beside the best `K`."""


@dataclass(frozen=True)
class Item:
    """An item: its counts in the log, what these say about its rate, and whether it may be one of the best.

    Attributes:
        rate, low, high: posterior mean of the click probability, and its 5 and 95 % quantiles.
        chance: chance to be among the best `K`.
        found_in: number of runs of the first learner that named it; `None` if these mostly did not end.
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
    """What a test will take, or what a budget leads to.

    Attributes:
        question: what was asked.
        outcome: the result; `None` if a run raised, so that nothing is known.
        items: all items, the likeliest to be among the best first.
    """

    question: Question
    outcome: Test | Answers | None = None
    items: tuple[Item, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a run raised, so that nothing is known."""
        return self.outcome is None

    @property
    def test(self) -> Test | None:
        """Result for a test with a guarantee, if that was asked."""
        return self.outcome if isinstance(self.outcome, Test) else None

    @property
    def answers(self) -> Answers | None:
        """Result for a budget, if that was asked."""
        return self.outcome if isinstance(self.outcome, Answers) else None

    @property
    def shown(self) -> tuple[Item, ...]:
        """The best `K` items, and those that may be among them."""
        K = self.question.K
        return tuple(item for place, item in enumerate(self.items) if place < K or item.chance >= _SHOWN)


def plan(
    file: Path | pd.DataFrame,
    layout: Layout,
    wanted: Wanted,
    *,
    backend: Backend | None = None,
    watch: Watch = SILENT,
    begin: Callable[[Plan], None] | None = None,
) -> Plan:
    """Return how many page views it takes to find the best `K` items, or how likely all are right after a budget.

    The click probabilities are drawn from what the log leaves open; for each draw, each learner is run on pages that
    show `K` items and are read from the top to the first click.

    Args:
        file: the log, `-` for stdin, or a table with its contents.
        layout: how the log is laid out.
        wanted: what is to be found, and what is simulated for it.
        backend: where runs are simulated; all cores by default.
        watch: follows the runs.
        begin: receives the plan before anything is simulated, that is without an outcome.

    Raises:
        ConfigError: if the file or a value is not usable.
        CascadeError: if the backend breaks.
    """
    learners = chosen_learners(wanted.learner or (), at_budget=wanted.at_budget)
    question = question_of(
        file, layout, replace(wanted, learner=learners), lambda guess: watch.remark(_first_guess(guess))
    )
    if begin:
        begin(Plan(question))
    run = answered if wanted.at_budget else tested
    outcome = run(question, learners, wanted.trials, backend or Backend(), watch)
    return Plan(question, outcome, _items(question, outcome) if outcome else ())


def _first_guess(guess: Quantiles) -> str:
    return f"first guess, by {SHARP:g} times the lower bound: a test takes some {spread_in_words(*guess)} page views"


def _items(question: Question, outcome: Test | Answers) -> tuple[Item, ...]:
    log, rates, chances = question.log, question.rates.expected, question.chances
    low, high = question.rates.interval()
    found = outcome.found
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
