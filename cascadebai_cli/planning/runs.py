"""The runs of a plan: which learners, which cells, and what came out."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.learners.registry import LearnerSpec, find_algorithm
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


SECONDS = 20.0
"""Processor time of all runs by the estimates below, which were measured; a plan then takes 15 s on two cores."""
_HERE = 2.0
"""Processor time of all runs up to which this process makes them, as others take longer to begin."""
_SKIPPED, _SKIPPED_ITEMS = 0.5, 1250
"""Seconds that a skipping engine takes for a run to its end, and the number of items that doubles this time."""
_STILL = 5e-17
"""Seconds for each page view, over `w(K)`, in which bounds move less than their rounding, and none is skipped."""
_RARE, _MOST_CROWDED, _CROWDED_SKIPS = 0.02, 8.0, 2.0
"""Click probability below which items near the boundary change all the time, the most that this slows a run of
KL-LUCB++, and how much it slows one that skips."""


@dataclass(frozen=True)
class Pace:
    """Processor time of a run, in seconds.

    Attributes:
        start, item: time of any run, and time for each item.
        step, step_item: time for each page view, and for each item in each page view.
        turn, turn_item: the same for a page view of all runs that go side by side.
        along: whether a run goes on from one budget to the next; if not, each budget takes a separate run.
        skips: whether the engine skips over page views, which bounds the time.
        still: time for each page view that the engine cannot skip.
    """

    start: float
    item: float
    step: float
    step_item: float = 0.0
    turn: float = 0.0
    turn_item: float = 0.0
    along: bool = False
    skips: bool = False
    still: float = 0.0

    def seconds(self, page_views: float, L: int, runs: int = 1) -> float:
        """Return the processor time of one run beside others, so many in all."""
        found = self.start + self.item * L + self._each(L, runs) * page_views
        if not self.skips:
            return found
        return min(found, _SKIPPED * (1 + L / _SKIPPED_ITEMS) + self.still * page_views)

    def within(self, seconds: float, L: int, runs: int = 1) -> int:
        """Return the page views of a run that takes `seconds` beside others, at least 1."""
        return max(1, int((seconds - self.seconds(0, L)) / self._each(L, runs)))

    def runs(self, seconds: float, page_views: float, L: int) -> int:
        """Return how many runs of so many page views take `seconds` side by side; 0 or less if not even one does."""
        alone = self.seconds(page_views, L) - self.seconds(0, L) - (self.step + self.step_item * L) * page_views
        return int((seconds - alone) / (self.seconds(page_views, L) - alone))

    def _each(self, L: int, runs: int) -> float:
        return self.step + self.step_item * L + (self.turn + self.turn_item * L) / runs


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
        looking: processor time of a run with users who look by place, if a fast engine can run them.
        keeps_log: whether it begins with the counts of the log and expects rates as those of the log are.
    """

    name: str
    spec: LearnerSpec
    pace: Pace
    factor: float | None = None
    by_steps: bool = False
    beyond_items: bool = False
    slow: float = 4e-4
    looking: Pace | None = None
    keeps_log: bool = False

    @property
    def any_order(self) -> bool:
        """Whether its lists may be shown in a random order."""
        return bool(getattr(find_algorithm(self.spec.algorithm), "any_order", False))

    def of(self, question: Question) -> LearnerSpec:
        """Return what runs for a question.

        Raises:
            ConfigError: if it begins with the counts of the log, but these are no looks.
        """
        options = dict(self.spec.options)
        if question.M != question.K:
            options["list_length"] = question.M
        if self.keeps_log:
            options |= {"known": question.known, "prior": question.prior}
        return replace(self.spec, options=options)

    def paced(self, w_K: float) -> Pace:
        """Return the pace at this `w(K)`: with rare clicks, items at the boundary change places for a long time."""
        w_K = max(w_K, 1e-300)
        crowded = float(np.clip(_RARE / w_K, 1, _MOST_CROWDED)) if self.by_steps and not self.keeps_log else 1.0
        times = {name: crowded * getattr(self.pace, name) for name in ("step", "step_item", "turn", "turn_item")}
        return replace(self.pace, **times, still=_STILL / w_K if w_K < _RARE else 0.0)

    def seconds(self, budgets: Sequence[int], efforts: FloatArray, L: int, w_K: float) -> float:
        """Return the processor time of a run that is asked at these budgets, averaged over truths of these efforts."""
        pace = self.paced(w_K)
        each = [pace.seconds(self._page_views(budget, efforts), L, _SIDE_BY_SIDE) for budget in budgets]
        return max(each, default=0.0) if pace.along else sum(each)

    def _page_views(self, budget: int, efforts: FloatArray) -> float:
        """Return the average page views of a run, fewer than the budget where the learner stops by itself."""
        return budget if self.factor is None else float(np.minimum(self.factor * efforts, budget).mean())


_SIDE_BY_SIDE = 20
"""Number of runs at budgets that go side by side at least."""
_RACING = Pace(7e-3, 0.0, 1.4e-6, 8e-10, skips=True)

CANDIDATES: Mapping[str, Candidate] = {
    "kl-lucb++": Candidate(
        "KL-LUCB++",
        LearnerSpec("kl-lucb++"),
        Pace(0.0, 3e-4, 1e-6, 2.8e-8, 3.6e-5, 4.5e-8, along=True),
        8,
        by_steps=True,
        looking=Pace(0.0, 3e-4, 3e-5, 1e-7, 3e-4, 2e-7, along=True),
    ),
    "cascadebai-kl": Candidate(
        "CascadeBAI, KL bounds",
        LearnerSpec("cascadebai", {"confidence": "kl"}),
        _RACING,
        25,
    ),
    "cascadebai": Candidate("CascadeBAI", LearnerSpec("cascadebai"), _RACING, 200, slow=8e-5),
    "posterior": Candidate(
        "posterior with the log",
        LearnerSpec("posterior"),
        Pace(0.02, 4e-4, 3e-6, 3e-8, 6e-5, 1e-7, along=True),
        1,
        by_steps=True,
        slow=1e-3,
        keeps_log=True,
    ),
    "sar": Candidate("SAR", LearnerSpec("sar"), Pace(1e-3, 4.5e-5, 1.5e-7, 2e-10), beyond_items=True, slow=3e-5),
    "uniform": Candidate("uniform", LearnerSpec("uniform"), Pace(1e-3, 2e-7, 6e-8), slow=3e-5),
}
"""Value of `--learner` -> learner: those that stop by themselves, the sharpest first, then those for a budget."""
_DEFAULT = ("kl-lucb++", "cascadebai-kl")
_DEFAULT_AT_BUDGET = (*_DEFAULT, "sar", "uniform")


def candidate_of(question: Question, key: str) -> Candidate:
    """Return a learner with the time that its runs take with the users of the question."""
    found = CANDIDATES[key]
    if not question.places_differ:
        return found
    return replace(found, pace=found.looking or Pace(1e-3, 0.0, found.slow), by_steps=True)


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
        spec=candidate.of(question),
        feedback=question.feedback(any_order=candidate.any_order),
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
    seconds: float,
) -> CellRuns | None:
    """Run each cell as often as `trials` says; return `None` if a run raised.

    Args:
        cells, trials: the cells, and the number of runs of each.
        seed: root seed.
        backend: where the runs are simulated.
        watch: follows the runs.
        so_far: says in a few words what the runs that have ended tell.
        seconds: processor time that all take, by the estimates.
    """
    settings = Settings(seed, fail_fast=True, with_items=True)
    with Follower(watch, cells, trials, so_far=so_far, seconds=seconds).shown() as follower:
        collect(cells, [np.arange(number) for number in trials], settings, backend, follower)
    return None if follower.failed else follower.rows


# --- A test with a guarantee: runs until the learner stops ----------------------------------------------------------


_MOST_TRIALS, _FEWEST_TRIALS = 40, 4
_ENOUGH = (16, 8)
"""Numbers of runs side by side, for which a larger tolerance is taken if those with the planned one are too long."""
_NEARLY_ALL = 0.9
"""Share of the truths with which a run shall end."""
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
        too_long: names of learners that were not simulated, as that takes too long.
    """

    learners: tuple[Simulated, ...]
    cost: ClickCost | None
    too_long: tuple[str, ...] = ()

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
    sizes = _sizes_of(question, keys, trials)
    keys, left_out = tuple(sizes), [key for key in keys if key not in sizes]
    seconds = sum(size.seconds for size in sizes.values())
    if seconds <= _HERE:
        backend = Backend("sequential")
    places = [
        (key, tolerance, truth, times)
        for key in keys
        for tolerance in sizes[key].tolerances
        for truth, times in Counter(truths_of_trials(tolerance.efforts, sizes[key].trials).tolist()).items()
    ]
    cells = [
        cell_of(question, CANDIDATES[key], truth, tolerance, cap=sizes[key].cap) for key, tolerance, truth, _ in places
    ]

    def learners(runs: CellRuns) -> list[Simulated]:
        mine: dict[str, _Ran] = {key: ([], []) for key in keys}
        for (key, tolerance, truth, _), rows in zip(places, runs, strict=True):
            mine[key][tolerance is not sizes[key].tolerance].extend((truth, row) for row in rows)
        return [_simulated(question, key, ran, sizes[key]) for key, ran in mine.items() if ran[0]]

    def so_far(runs: CellRuns) -> str:
        return ", ".join(f"{one.views.learner} {one.views.in_words}" for one in learners(runs))

    runs = run_cells(cells, [times for _, _, _, times in places], question.wanted.seed, backend, watch, so_far, seconds)
    if runs is None:
        return None
    ranked = tuple(sorted(learners(runs), key=lambda one: (not one.views.ended, one.views.median)))
    return Test(ranked, _cost(question, ranked[0]), tuple(CANDIDATES[key].name for key in left_out))


@dataclass(frozen=True, eq=False)
class _Size:
    """Size of the runs of a learner.

    Attributes:
        trials, cap: how many there are, and after how many page views they are given up.
        tolerance: the tolerance they have.
        seconds: their processor time.
        fits: whether they shall end in time.
        wider: twice this tolerance, with which there are as many runs again, if it is larger than the planned one.
    """

    trials: int
    cap: int
    tolerance: Tolerance
    seconds: float
    fits: bool = True
    wider: Tolerance | None = None

    @property
    def tolerances(self) -> tuple[Tolerance, ...]:
        """All tolerances of runs."""
        return (self.tolerance, *([self.wider] if self.wider else []))


_Ran = tuple[list[tuple[int, TrialRow]], list[tuple[int, TrialRow]]]
"""Truths and rows of the runs of a learner, and of those with the wider tolerance."""


def _sizes_of(question: Question, keys: Sequence[str], trials: int | None) -> dict[str, _Size]:
    """Return the sizes of the learners whose runs end in time, or of all if none does; they share the time."""
    kept = list(keys)
    while True:
        sizes = {key: _size(candidate_of(question, key), question, SECONDS / len(kept), trials) for key in kept}
        fitting = [key for key in kept if sizes[key].fits]
        if not fitting or fitting == kept:
            return sizes
        kept = fitting


def _size(candidate: Candidate, question: Question, seconds: float, trials: int | None) -> _Size:
    """Return the runs that fit into `seconds`.

    If runs with the planned tolerance are too long, they have the smallest one of the table with which they are not.
    Page views over effort then grow a little from there to the planned one (`_grown`).
    """
    L, planned, factor = question.L, question.planned, candidate.factor
    assert factor is not None
    pace = candidate.paced(question.w_K)
    if candidate.keeps_log:
        return _size_as_planned(pace, factor, question, seconds, trials)
    if candidate.by_steps:
        return _size_by_steps(pace, factor, question, seconds, trials)
    cap = int(min(seconds / _FEWEST_TRIALS / max(pace.still, 1e-300), _SKIPPED_STEPS))
    still = pace.still * float(np.minimum(factor * planned.efforts, cap).mean())
    crowded = _CROWDED_SKIPS if question.w_K < _RARE else 1.0
    each = crowded * (0.03 + 4e-4 * L) + 0.5 * (planned.epsilon == 0) + still
    n = trials or int(np.clip(seconds / each, _FEWEST_TRIALS, _MOST_TRIALS))
    return _Size(n, cap, planned, n * each)


def _size_by_steps(pace: Pace, factor: float, question: Question, seconds: float, trials: int | None) -> _Size:
    L, planned = question.L, question.planned
    choices = (planned, *(one for one in question.table if one.epsilon > planned.epsilon))
    for enough, one in product(_ENOUGH, choices):
        longest = factor * float(np.quantile(one.efforts, _NEARLY_ALL, method="inverted_cdf"))
        n = pace.runs(seconds, longest, L) if np.isfinite(longest) else 0
        if n >= (trials or enough):
            n = trials or min(n, _MOST_TRIALS)
            wider = question.tolerance(2 * one.epsilon) if one is not planned else None
            return _Size(n, pace.within(seconds / n, L, n), one, n * pace.seconds(longest, L, n), wider=wider)
    n = trials or _FEWEST_TRIALS
    return _Size(n, pace.within(seconds / n, L, n), choices[-1], seconds, fits=False)


def _size_as_planned(pace: Pace, factor: float, question: Question, seconds: float, trials: int | None) -> _Size:
    """Return runs with the planned tolerance, as those with another one tell little where a log goes before them.

    By the posterior, a truth that is harder than the median is hardly told from those that are not.
    """
    L, planned = question.L, question.planned
    usual = min(factor * float(np.median(planned.efforts)), _SKIPPED_STEPS)
    n = trials or int(np.clip(pace.runs(seconds, usual, L), _ENOUGH[-1], _MOST_TRIALS))
    return _Size(n, pace.within(seconds / n, L, n), planned, min(seconds, n * pace.seconds(usual, L, n)))


_STEEPEST = 0.5
"""Largest power of the effort with which page views over effort are taken to grow."""


def _grown(question: Question, ran: _Ran, size: _Size) -> float:
    """Return how many times more page views over effort the runs had with the planned tolerance; 1 if they have it.

    The logarithm of page views over effort is a line in the logarithm of the effort, through the medians of the runs
    with both tolerances: from 20 to 2 % of `w(K)`, for example, page views over effort become twice as many.
    """
    if size.wider is None or not all(ran):
        return 1.0
    places = []
    for runs, one in zip(ran, size.tolerances, strict=True):
        efforts = one.efforts[[truth for truth, _ in runs]]
        ratio = float(np.median(np.array([row.steps for _, row in runs]) / efforts))
        places.append(np.log([float(np.median(efforts)), ratio]))
    (effort, ratio), (smaller, less) = places
    power = np.clip((ratio - less) / max(effort - smaller, 1e-9), 0, _STEEPEST)
    return float(np.exp(power * max(np.log(np.median(question.planned.efforts)) - effort, 0)))


def _simulated(question: Question, key: str, ran: _Ran, size: _Size) -> Simulated:
    runs = ran[0]
    truths = np.array([truth for truth, _ in runs])
    rows = tuple(row for _, row in runs)
    good = question.good(size.tolerance.epsilon)
    views = page_views(
        CANDIDATES[key].name,
        [row.steps for row in rows],
        [None if row.correct is None else bool(good[truth, list(row.items)].all()) for truth, row in runs],
        size.cap,
        size.tolerance.efforts[truths] / _grown(question, ran, size),
        question.planned.efforts,
        truths.tolist() if CANDIDATES[key].keeps_log else (),
    )
    return Simulated(key, views, rows, truths, size.tolerance)


def _cost(question: Question, first: Simulated) -> ClickCost | None:
    if not first.views.ended:
        return None
    own = list(first.views.truths)
    pages, shares = first.views.pages(question.planned.efforts), _loses(question, first)
    truths, shares = (question.truths[own], shares[:, None]) if own else (question.truths, shares)
    return cost(shares, truths, question.page, pages, np.array(question.looks), question.wanted.pages)


def _loses(question: Question, first: Simulated) -> FloatArray:
    """Return the share of the clicks of the best page that each run loses, shape `(n,)`.

    Users who do not look at all places are only known by what a learner reads, where a skip may be no look; the rate
    of the items that it shows is then compared with that of the best ones.
    """
    best = -np.sort(-question.truths, axis=1)[first.truths, : question.M]
    rows = first.rows
    clicks = np.array([row.clicks for row in rows])
    if not question.places_differ:
        return lost_share(clicks, np.array([row.steps for row in rows]), click_chance(best))
    return lost_share(clicks, np.array([row.observations for row in rows]), best.mean(axis=1))
