"""The runs of a plan: which learners, which cells, and what came out."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.problem import FloatArray, IntArray
from cascadebai_cli.planning.numbers import (
    ClickCost,
    PageViews,
    Tolerance,
    click_chance,
    cost,
    lost_share,
    page_views,
)
from cascadebai_cli.planning.question import Question
from cascadebai_cli.running.runner import Backend, collect
from cascadebai_cli.running.watch import Follower, Watch
from cascadebai_cli.running.worker import Settings
from cascadebai_cli.store.columns import TrialRow
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.text import for_table

# --- Learners that a plan can simulate, and the time that their runs take -------------------------------------------


SECONDS = 36.0
"""Processor time of all runs by the estimates below, which were measured; a plan then takes 30 s on two cores."""
_SKIPPED, _SKIPPED_ITEMS = 0.5, 1250
"""Seconds that a skipping engine takes for a run to its end, and the number of items that doubles this time."""
_STILL = 5e-17
"""Seconds for each page view, over `w(K)`, in which bounds move less than their rounding, and none is skipped."""
_RARE, _MOST_CROWDED = 0.02, 8.0
"""Click probability below which items near the boundary change all the time, and the most that this slows a run."""


@dataclass(frozen=True)
class Pace:
    """Processor time of a run, in seconds.

    Attributes:
        start, item: time of any run, and time for each item.
        step, step_item: time for each page view, and for each item in each page view.
        along: whether a run goes on from one budget to the next; if not, each budget takes a separate run.
        skips: whether the engine skips over page views, which bounds the time.
        still: time for each page view that the engine cannot skip.
    """

    start: float
    item: float
    step: float
    step_item: float = 0.0
    along: bool = False
    skips: bool = False
    still: float = 0.0

    def seconds(self, page_views: float, L: int) -> float:
        """Return the processor time of one run."""
        found = self.start + self.item * L + (self.step + self.step_item * L) * page_views
        if not self.skips:
            return found
        return min(found, _SKIPPED * (1 + L / _SKIPPED_ITEMS) + self.still * page_views)

    def within(self, seconds: float, L: int) -> int:
        """Return the page views of a run that takes `seconds`, at least 1."""
        return max(1, int((seconds - self.seconds(0, L)) / (self.step + self.step_item * L)))


@dataclass(frozen=True)
class Candidate:
    """A learner that a plan can simulate.

    Attributes:
        name: name of the learner in words.
        spec: algorithm and options that run.
        pace: processor time of a run by its page views.
        factor: about how many page views it takes to stop, over the effort; `None` if it only answers at a budget.
        by_steps: whether the time of a run until it stops grows with its page views; if not, an engine skips over them.
        beyond_items: whether its budget must be larger than the number of items.
        slow: processor time of a page view, in seconds, with users that only the reference engine can run.
    """

    name: str
    spec: LearnerSpec
    pace: Pace
    factor: float | None = None
    by_steps: bool = False
    beyond_items: bool = False
    slow: float = 4e-4

    def shown(self, M: int, K: int) -> LearnerSpec:
        """Return what runs on pages of `M` items."""
        return self.spec if M == K else replace(self.spec, options={**self.spec.options, "list_length": M})

    def paced(self, w_K: float) -> Pace:
        """Return the pace at this `w(K)`: with rare clicks, items at the boundary change places for a long time."""
        w_K = max(w_K, 1e-300)
        crowded = float(np.clip(_RARE / w_K, 1, _MOST_CROWDED)) if self.by_steps else 1.0
        step, step_item = crowded * self.pace.step, crowded * self.pace.step_item
        return replace(self.pace, step=step, step_item=step_item, still=_STILL / w_K if w_K < _RARE else 0.0)

    def seconds(self, budgets: Sequence[int], efforts: FloatArray, L: int, w_K: float) -> float:
        """Return the processor time of a run that is asked at these budgets, averaged over truths of these efforts."""
        pace = self.paced(w_K)
        each = [pace.seconds(self._page_views(budget, efforts), L) for budget in budgets]
        return max(each, default=0.0) if pace.along else sum(each)

    def _page_views(self, budget: int, efforts: FloatArray) -> float:
        """Return the average page views of a run, fewer than the budget where the learner stops by itself."""
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
    "cascadebai": Candidate("CascadeBAI", LearnerSpec("cascadebai"), _RACING, 200, slow=8e-5),
    "sar": Candidate("SAR", LearnerSpec("sar"), Pace(1e-3, 4.5e-5, 1.5e-7, 2e-10), beyond_items=True, slow=3e-5),
    "uniform": Candidate("uniform", LearnerSpec("uniform"), Pace(1e-3, 2e-7, 6e-8), slow=3e-5),
}
"""Value of `--learner` -> learner: those that stop by themselves, the sharpest first, then those for a budget."""
_DEFAULT = ("kl-lucb++", "cascadebai-kl")
_DEFAULT_AT_BUDGET = (*_DEFAULT, "sar", "uniform")


def candidate_of(question: Question, key: str) -> Candidate:
    """Return a learner with the time that its runs take with the users of the question."""
    found = CANDIDATES[key]
    if any(ENGINES[name].knows(question.feedback) for name in ENGINES if name != "reference"):
        return found
    return replace(found, pace=Pace(1e-3, 0.0, found.slow), by_steps=True)


def chosen_learners(keys: Sequence[str], *, at_budget: bool) -> tuple[str, ...]:
    """Return the learners asked for, or by default the best ones.

    Raises:
        ConfigError: if one is not known, or does not stop by itself and has no budget.
    """
    for key in keys:
        if key not in CANDIDATES:
            raise ConfigError(f"--learner {for_table(key)} is not known; {suggest(key, CANDIDATES)}")
        if CANDIDATES[key].factor is None and not at_budget:
            raise ConfigError(f"--learner {key} does not stop by itself; give the page views with --budget")
    return tuple(dict.fromkeys(keys)) or (_DEFAULT_AT_BUDGET if at_budget else _DEFAULT)


# --- Runs: a learner and a truth that the log leaves open make a cell, as in a sweep --------------------------------


CellRuns = list[list[TrialRow]]
"""The runs of each cell."""
_TIE = 1e-12
"""Tolerance of runs with a tied truth and no tolerance: they do not end, but the cell is valid."""


def truths_of_trials(efforts: FloatArray, trials: int) -> IntArray:
    """Return which truths are simulated: evenly spread from the easiest to the hardest, shape `(trials,)`."""
    order = np.argsort(efforts, kind="stable")
    return np.asarray(order[((np.arange(trials) + 0.5) / trials * len(order)).astype(int)])


def cell_of(
    question: Question,
    candidate: Candidate,
    truth: int,
    tolerance: Tolerance,
    *,
    cap: int | None = None,
    budget: int | None = None,
) -> Cell:
    """Return the cell of a learner on a truth, given up after `cap` page views or asked after `budget`."""
    epsilon = question.looked * tolerance.epsilon
    if not np.isfinite(tolerance.efforts[truth]):
        epsilon = max(epsilon, _TIE)
    return Cell(
        study="plan",
        instance=question.file.stem,
        learner=candidate.name,
        L=question.L,
        K=question.K,
        delta=question.wanted.risk,
        epsilon=epsilon,
        weights=question.truths[truth],
        items=question.log.names,
        spec=candidate.shown(question.M, question.K),
        feedback=question.feedback,
        order="random",
        max_steps=cap,
        budget=budget,
        engine="auto",
    )


def run_cells(
    cells: Sequence[Cell],
    trials: Sequence[int],
    seed: int,
    backend: Backend,
    watch: Watch,
    so_far: Callable[[CellRuns], str],
) -> CellRuns | None:
    """Run each cell as often as `trials` says; return `None` if a run raised.

    Args:
        cells, trials: the cells, and the number of runs of each.
        seed: root seed.
        backend: where the runs are simulated.
        watch: follows the runs.
        so_far: says in a few words what the runs that have ended tell.
    """
    settings = Settings(seed, fail_fast=True, with_items=True)
    with Follower(watch, cells, trials, so_far=so_far).shown() as follower:
        collect(cells, [np.arange(number) for number in trials], settings, backend, follower)
    return None if follower.failed else follower.rows


# --- A test with a guarantee: runs until the learner stops ----------------------------------------------------------


_MOST_TRIALS, _FEWEST_TRIALS = 40, 4
_SKIPPED_STEPS = 10**10
"""Page views after which a run of a skipping engine is given up."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """The runs of one learner.

    Attributes:
        key: name of the learner for `--learner`.
        views: page views of the learner.
        rows: rows of the runs.
        truths: which truth each run had, shape `(n,)`.
        tolerance: the tolerance of the runs, larger than the planned one if its runs take too long.
    """

    key: str
    views: PageViews
    rows: tuple[TrialRow, ...]
    truths: IntArray
    tolerance: Tolerance


@dataclass(frozen=True, eq=False)
class Test:
    """What a test takes.

    Attributes:
        learners: the runs of each learner, the fastest first; learners whose runs mostly did not end come last.
        cost: clicks lost with the first learner; `None` if its runs mostly did not end.
    """

    learners: tuple[Simulated, ...]
    cost: ClickCost | None

    @property
    def told(self) -> tuple[Simulated, ...]:
        """The learners of which the runs say something: those that mostly ended, or all if there is none."""
        return tuple(one for one in self.learners if one.views.ended) or self.learners

    @property
    def found(self) -> Counter[int] | None:
        """Number of runs of the first learner that found each item; `None` if it mostly did not end."""
        if self.cost is None:
            return None
        return Counter(item for row in self.learners[0].rows if row.status == "stopped" for item in row.items)

    @property
    def named(self) -> int:
        """Number of runs of the first learner that named items."""
        return sum(row.status == "stopped" for row in self.learners[0].rows)


def tested(question: Question, keys: Sequence[str], trials: int | None, backend: Backend, watch: Watch) -> Test | None:
    """Run a test with each learner; return `None` if a run raised."""
    sizes = {key: _size(candidate_of(question, key), question, SECONDS / len(keys), trials) for key in keys}
    places = [
        (key, truth, times)
        for key in keys
        for truth, times in Counter(truths_of_trials(sizes[key].tolerance.efforts, sizes[key].trials).tolist()).items()
    ]
    cells = [
        cell_of(question, CANDIDATES[key], truth, sizes[key].tolerance, cap=sizes[key].cap) for key, truth, _ in places
    ]

    def learners(runs: CellRuns) -> list[Simulated]:
        mine: dict[str, list[tuple[int, TrialRow]]] = {}
        for (key, truth, _), rows in zip(places, runs, strict=True):
            mine.setdefault(key, []).extend((truth, row) for row in rows)
        return [_simulated(question, key, found, sizes[key]) for key, found in mine.items() if found]

    def so_far(runs: CellRuns) -> str:
        return ", ".join(f"{one.views.learner} {one.views.in_words}" for one in learners(runs))

    runs = run_cells(cells, [times for _, _, times in places], question.wanted.seed, backend, watch, so_far)
    if runs is None:
        return None
    ranked = tuple(sorted(learners(runs), key=lambda one: (not one.views.ended, one.views.median)))
    return Test(ranked, _cost(question, ranked[0]))


@dataclass(frozen=True, eq=False)
class _Size:
    """How many runs there are, after how many page views they are given up, and the tolerance they have."""

    trials: int
    cap: int
    tolerance: Tolerance


def _size(candidate: Candidate, question: Question, seconds: float, trials: int | None) -> _Size:
    """Return the runs that fit into `seconds`.

    If runs with the planned tolerance are too long, they have the smallest one of the table with which they are not:
    page views over effort, which is what is wanted of them, hardly depends on it.
    """
    L, planned = question.L, question.planned
    assert candidate.factor is not None
    pace = candidate.paced(question.w_K)
    if candidate.by_steps:
        cap = pace.within(seconds / min(trials or _FEWEST_TRIALS, _FEWEST_TRIALS), L)
        larger = [one for one in question.table if one.epsilon > planned.epsilon]
        fitting = (one for one in (planned, *larger) if candidate.factor * np.median(one.efforts) <= cap)
        chosen = next(fitting, (planned, *larger)[-1])
        each = pace.seconds(float(np.minimum(candidate.factor * chosen.efforts, cap).mean()), L)
    else:
        cap, chosen = int(min(seconds / _FEWEST_TRIALS / max(pace.still, 1e-300), _SKIPPED_STEPS)), planned
        still = pace.still * float(np.minimum(candidate.factor * planned.efforts, cap).mean())
        each = 0.03 + 4e-4 * L + 0.5 * (planned.epsilon == 0) + still
    return _Size(trials or int(np.clip(seconds / each, _FEWEST_TRIALS, _MOST_TRIALS)), cap, chosen)


def _simulated(question: Question, key: str, runs: Sequence[tuple[int, TrialRow]], size: _Size) -> Simulated:
    truths = np.array([truth for truth, _ in runs])
    rows = tuple(row for _, row in runs)
    good = question.good(size.tolerance.epsilon)
    views = page_views(
        CANDIDATES[key].name,
        [row.steps for row in rows],
        [None if row.correct is None else bool(good[truth, list(row.items)].all()) for truth, row in runs],
        size.cap,
        size.tolerance.efforts[truths],
        question.planned.efforts,
    )
    return Simulated(key, views, rows, truths, size.tolerance)


def _cost(question: Question, first: Simulated) -> ClickCost | None:
    if not first.views.ended:
        return None
    looks = np.array(question.looks)
    shares = _loses(question, first)
    return cost(shares, question.truths, question.page, first.views.ratios, question.planned.efforts, looks)


def _loses(question: Question, first: Simulated) -> FloatArray:
    """Return the share of the clicks of the best page that each run loses, shape `(n,)`.

    Users who do not look at all places are only known by what a learner reads, where a skip may be no look; the rate
    of the items that it shows is then compared with that of the best ones.
    """
    best = -np.sort(-question.truths, axis=1)[first.truths, : question.M]
    rows = first.rows
    clicks = np.array([row.clicks for row in rows])
    if question.feedback.ends_at_click:
        return lost_share(clicks, np.array([row.steps for row in rows]), click_chance(best))
    return lost_share(clicks, np.array([row.observations for row in rows]), best.mean(axis=1))
