"""From a log of clicks and views to the page views that a test takes, or to how sure its answer is after a budget."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.planning import runs
from cascadebai_cli.planning.numbers import Chance, Quantiles, needed
from cascadebai_cli.planning.options import MOST_BUDGET, Layout, Wanted
from cascadebai_cli.planning.question import SHARP, Question
from cascadebai_cli.planning.runs import CANDIDATES, Candidate, Test, cell_of, missing_runs, run_cells, turns_of
from cascadebai_cli.running.runner import Backend
from cascadebai_cli.running.watch import SILENT, Watch
from cascadebai_cli.store.columns import TrialRow
from cascadebai_cli.text import count, for_table, percent, spread_in_words

# --- With a budget: how sure the answer is after it, or which budget makes the answer sure enough ---------------------

_MOST_RUNS, _FEWEST_RUNS = 400, 20
_ROUND = 80
"""Number of runs of the first round."""
_KNOWN = 0.025
"""Standard error of a chance from which on no round follows: its 95 % interval is then 5 points to each side."""
_HALVES = 8
"""Number of budgets up to the one that is asked about, each half of the next."""
_FURTHER = 4
"""Largest budget, as a multiple of what a sharp learner needs by the bounds, so that slower learners get there."""


@dataclass(frozen=True, eq=False)
class Asked:
    """One learner that was asked at several budgets.

    Attributes:
        key: name of the learner for `--learner`.
        rows: budget -> rows of the runs, in ascending order of budgets.
        K: number of items to find.
        budget: the budget that is asked about, if any.
        sure: the chance that is wanted, if any.
    """

    key: str
    rows: Mapping[int, Sequence[TrialRow]]
    K: int
    budget: int | None
    sure: float | None

    @property
    def name(self) -> str:
        """Name of the learner, in words."""
        return CANDIDATES[self.key].name

    @property
    def beyond_items(self) -> bool:
        """Whether the learner's budget must be larger than the number of items."""
        return CANDIDATES[self.key].beyond_items

    @cached_property
    def curve(self) -> tuple[Chance, ...]:
        """Result of the learner at each budget; empty if none was simulated."""
        return tuple(Chance.of(budget, rows, self.K) for budget, rows in self.rows.items() if rows)

    @property
    def then(self) -> Chance | None:
        """Result at the budget that is asked about; `None` if that takes too long to simulate."""
        return next((point for point in self.curve if point.budget == self.budget), None)

    @property
    def needed(self) -> Quantiles | None:
        """Page views after which the chance is as wanted, with their interval (`needed`); `None` if unknown."""
        return needed(self.curve, self.sure) if self.curve and self.sure is not None else None

    @property
    def error(self) -> float:
        """Largest standard error of the chances that are asked about; no chance counts as 1 for sure."""
        reached = next((point for point in self.curve if point.all_right >= (self.sure or 2)), None)
        asked = [point for point in (self.then, reached) if point] or self.curve[-1:]
        chances = [(point.n, (point.all_right * point.n + 1) / (point.n + 2)) for point in asked]
        return max((math.sqrt(p * (1 - p) / n) for n, p in chances), default=0.0)

    @property
    def last(self) -> int:
        """The largest budget that was simulated, 0 if none was."""
        return self.curve[-1].budget if self.curve else 0


@dataclass(frozen=True, eq=False)
class Answers:
    """What a budget leads to.

    Attributes:
        learners: the learners, those with the best chances first.
        own_right: chance that the `K` items that the log ranks first are all good enough.
        own_number: average number of them that are good enough.
    """

    learners: tuple[Asked, ...]
    own_right: float
    own_number: float

    @property
    def _last(self) -> Sequence[TrialRow]:
        """The runs of the first learner at its largest budget, or at the one that is asked about."""
        first = self.learners[0]
        return first.rows.get(first.budget or first.last, first.rows.get(first.last, ()))

    @property
    def found(self) -> Counter[int]:
        """Number of these runs in which each item was named."""
        return Counter(item for row in self._last for item in row.items)

    @property
    def named(self) -> int:
        """Number of these runs."""
        return len(self._last)

    @classmethod
    def of(
        cls, question: Question, keys: Sequence[str], trials: int | None, backend: Backend, watch: Watch
    ) -> "Answers | None":
        """Ask each learner at its budgets; return `None` if a run raised."""
        wanted, budgets = question.wanted, _budgets(question)
        runs, lists = _sizes(question, keys, budgets, trials)
        _refuse_nothing(question, lists)
        turns = {key: turns_of(question.planned.efforts, runs, _ROUND) for key in keys}
        cells = {
            (key, truth, budget): cell_of(question, CANDIDATES[key], truth, budget=budget, batch=wanted.batch)
            for key in keys
            for budget in lists[key]
            for truth in sorted(set(turns[key]))
        }

        def learners(done: Sequence[list[TrialRow]]) -> list[Asked]:
            rows: dict[str, dict[int, list[TrialRow]]] = {key: {budget: [] for budget in lists[key]} for key in keys}
            for (key, _, budget), mine in zip(cells, done, strict=True):
                rows[key][budget] += mine
            return [Asked(key, rows[key], wanted.K, wanted.budget, wanted.sure) for key in keys]

        def missing(found: list[Asked]) -> dict[str, int]:
            known = {one.key: missing_runs(one.curve[-1].n, one.error, _KNOWN) for one in found if one.curve}
            return dict.fromkeys(keys, trials or _ROUND) | known

        seconds = runs * sum(_seconds(Candidate.asked(question, key), question, lists[key]) for key in keys)
        found = run_cells(question, cells, turns, learners, missing, _so_far, backend, watch, seconds)
        if found is None:
            return None
        good = question.good(question.planned.epsilon)[:, list(question.own)]
        ranked = sorted(found, key=_rank)
        return cls(tuple(ranked), float(good.all(axis=1).mean()), float(good.sum(axis=1).mean()))


def _rank(asked: Asked) -> tuple[float, float, float, float]:
    """Return a key that sorts by fewest page views needed, then best at the budget, then largest budget."""
    needed = asked.needed[1] if asked.needed else math.inf
    all_right, right = (asked.then.all_right, asked.then.right) if asked.then else (-1.0, -1.0)
    return needed, -all_right, -right, -asked.last


def _so_far(learners: Sequence[Asked]) -> str:
    told = [(one.name, one.then or (one.curve[-1] if one.curve else None)) for one in learners]
    return ", ".join(f"{name} {percent(known.all_right)} at {count(known.budget)}" for name, known in told if known)


def _budgets(question: Question) -> tuple[int, ...]:
    """Return the budgets to ask at, each twice the one before.

    Some lead up to the budget asked about; for `--sure` they go from one look at each item to more than is needed.
    """
    asked, sure = question.wanted.budget, question.wanted.sure
    found = {asked >> half for half in range(_HALVES)} if asked else set()
    if sure is not None:
        efforts = question.planned.efforts
        finite = efforts[np.isfinite(efforts)]
        hard = float(np.quantile(finite, sure, method="inverted_cdf")) if len(finite) else math.inf
        last = min(_FURTHER * SHARP * hard, MOST_BUDGET)
        first = -(-question.L // question.M)
        anchor = asked or first
        found |= {anchor >> half for half in range(60) if anchor >> half >= first}
        found |= {anchor << twice for twice in range(60) if anchor << twice <= 2 * last}
    return tuple(sorted(found - {0}))


def _sizes(
    question: Question, keys: Sequence[str], budgets: Sequence[int], trials: int | None
) -> tuple[int, Mapping[str, tuple[int, ...]]]:
    """Return the number of runs, and the budgets at which each learner is asked, so that all fits into the time."""
    share = runs.SECONDS / len(keys) / min(trials or _FEWEST_RUNS, _FEWEST_RUNS)
    lists = {key: _fitting(Candidate.asked(question, key), question, budgets, share) for key in keys}
    each = sum(_seconds(Candidate.asked(question, key), question, lists[key]) for key in keys)
    return trials or int(np.clip(runs.SECONDS / max(each, 1e-9), _FEWEST_RUNS, _MOST_RUNS)), lists


def _seconds(candidate: Candidate, question: Question, budgets: Sequence[int]) -> float:
    return candidate.seconds(budgets, question.planned.efforts, question.L, question.w_K)


def _refuse_nothing(question: Question, lists: Mapping[str, Sequence[int]]) -> None:
    """Refuse a question to which there would be no answer at all.

    Raises:
        ConfigError: if no learner can be simulated at any budget.
    """
    if any(lists.values()):
        return
    budget, L = question.wanted.budget, question.L
    if budget is not None and budget <= L:
        raise ConfigError(f"--budget {budget}: SAR needs more page views than the {count(L)} items; give more")
    raise ConfigError(
        "this many page views with this many items take too long to simulate; give fewer, or fewer --trials"
    )


def _fitting(candidate: Candidate, question: Question, budgets: Sequence[int], seconds: float) -> tuple[int, ...]:
    """Return the budgets that one run can be asked at within `seconds`.

    Budgets that are too large for that alone are left out, then some of the others, at equal distances.
    """
    L, asked = question.L, question.wanted.budget
    possible = [one for one in budgets if one > L or not candidate.beyond_items]
    found = [one for one in possible if _seconds(candidate, question, [one]) <= seconds]
    anchor = found.index(asked) if asked in found else len(found) - 1
    thinned = ([one for i, one in enumerate(found) if (i - anchor) % step == 0] for step in range(1, len(found) + 1))
    return next((tuple(some) for some in thinned if _seconds(candidate, question, some) <= seconds), ())


# --- The plan: its question, the items, and the answer to what was asked ----------------------------------------------

__all__ = ["SHARP", "Answers", "Backend", "Layout", "Plan", "Question", "Test", "Wanted", "plan"]


_DEFAULT = ("kl-lucb++", "cascadebai-kl")
_DEFAULT_AT_BUDGET = (*_DEFAULT, "sar", "uniform")
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
    def shuffled(self) -> tuple[str, ...]:
        """Names of the simulated learners whose lists are shown in a random order, as places differ."""
        if self.outcome is None or not self.question.places_differ:
            return ()
        told = self.outcome.told if isinstance(self.outcome, Test) else self.outcome.learners
        return tuple(CANDIDATES[one.key].name for one in told if CANDIDATES[one.key].any_order)

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
    learners = _chosen(wanted.learner or (), at_budget=wanted.at_budget, batch=wanted.batch)
    question = Question.of(
        file, layout, replace(wanted, learner=learners), lambda guess: watch.remark(_first_guess(guess))
    )
    for key in learners:
        CANDIDATES[key].of(question)  # which refuses a log that it cannot begin with
    if begin:
        begin(Plan(question))
    kind: type[Answers | Test] = Answers if wanted.at_budget else Test
    outcome = kind.of(question, learners, wanted.trials, backend or Backend(), watch)
    return Plan(question, outcome, _items(question, outcome) if outcome else ())


def _chosen(keys: Sequence[str], *, at_budget: bool, batch: int | None = None) -> tuple[str, ...]:
    """Return the learners asked for, or by default the best ones.

    Raises:
        ConfigError: if one is not known, does not stop by itself and has no budget, or cannot have lists that stay.
    """
    for key in keys:
        if batch and key in CANDIDATES and not CANDIDATES[key].staying:
            raise ConfigError(f"--batch {batch} is simulated for kl-lucb++ alone; leave --learner {key} out")
        if key not in CANDIDATES:
            raise ConfigError(f"--learner {for_table(key)} is not known; {suggest(key, CANDIDATES)}")
        if CANDIDATES[key].factor is None and not at_budget:
            raise ConfigError(f"--learner {key} does not stop by itself; give the page views with --budget")
    default = _DEFAULT[:1] if batch else _DEFAULT_AT_BUDGET if at_budget else _DEFAULT
    return tuple(dict.fromkeys(keys)) or default


def _first_guess(guess: Quantiles) -> str:
    return (
        f"first guess, from one simple law of the rates and {SHARP:g} times the lower bound: a test takes some "
        f"{spread_in_words(*guess)} page views, from the largest tolerance to the smallest"
    )


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
