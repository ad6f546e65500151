"""The runs of a plan: which learners, which cells, and what came out."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from cascadebai_cli.learners.registry import LearnerSpec, find_algorithm
from cascadebai_cli.model.problem import FloatArray, IntArray
from cascadebai_cli.planning.numbers import ClickCost, PageViews, click_chance, lost_share
from cascadebai_cli.planning.question import Question
from cascadebai_cli.running.runner import Backend, collect
from cascadebai_cli.running.watch import Follower, Watch
from cascadebai_cli.running.worker import Settings
from cascadebai_cli.store.columns import TrialRow
from cascadebai_cli.study.cells import Cell

# --- Learners that a plan can simulate, and the time that their runs take -------------------------------------------


SECONDS = 20.0
"""Processor time of all runs by the estimates below, which were measured; a plan then takes 15 s on two cores."""
_HERE = 4.0
"""Processor time of all runs up to which this process makes them, as others take longer to begin."""
_STAYS = 0.05
"""By which share more often the least observed item of a list of KL-LUCB++ is shown before the next list, where a list
for each page view would take too long; it takes 1 to 8 % more page views so, and a small part of the time."""
_EXACTLY = 2.0
"""Processor time of the runs of the first round up to which KL-LUCB++ has a new list for each page view."""
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
        staying: processor time of a run whose lists stay, for each list in place of each page view, if it has such.
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
    staying: Pace | None = None
    keeps_log: bool = False

    @property
    def any_order(self) -> bool:
        """Whether its lists may be shown in a random order."""
        return bool(getattr(find_algorithm(self.spec.algorithm), "any_order", False))

    @staticmethod
    def asked(question: Question, key: str) -> "Candidate":
        """Return a learner with the time that its runs take with the users of the question."""
        found, batch = CANDIDATES[key], question.wanted.batch
        if found.staying and batch:
            times = {name: getattr(found.staying, name) / batch for name in ("step", "step_item", "turn")}
            return replace(found, pace=replace(found.staying, **times), by_steps=False)
        if not question.places_differ:
            return found
        return replace(found, pace=found.looking or Pace(1e-3, 0.0, found.slow), by_steps=True)

    def of(self, question: Question, batch: float | None = None) -> LearnerSpec:
        """Return what runs for a question, with lists that stay for so many page views or by such a share of looks.

        Raises:
            ConfigError: if it begins with the counts of the log, but these are no looks.
        """
        options = dict(self.spec.options)
        if batch:
            options["batch"] = batch
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
        staying=Pace(0.0, 3e-4, 3e-5, 3.5e-8, 3e-4),
    ),
    "cascadebai-kl": Candidate("CascadeBAI, KL bounds", LearnerSpec("cascadebai", {"confidence": "kl"}), _RACING, 25),
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
    "sar": Candidate("SAR", LearnerSpec("sar"), Pace(1e-3, 4.5e-5, 3e-8, 6e-11), beyond_items=True, slow=3e-5),
    "uniform": Candidate("uniform", LearnerSpec("uniform"), Pace(1e-3, 3e-7, 3e-8), slow=3e-5),
}
"""Value of `--learner` -> learner: those that stop by themselves, the sharpest first, then those for a budget."""
# --- Runs: a learner and a truth that the log leaves open make a cell, as in a sweep --------------------------------


_TIE = 1e-12
"""Tolerance of runs with a tied truth and no tolerance: they do not end, but the cell is valid."""


def turns_of(efforts: FloatArray, trials: int, size: int) -> list[int]:
    """Return which truths are simulated, evenly spread from the easiest to the hardest, in the order of the runs.

    About every `size` of them are spread as all are.
    """
    order = np.argsort(efforts, kind="stable")
    truths = order[((np.arange(trials) + 0.5) / trials * len(order)).astype(int)]
    number = max(1, -(-trials // size))
    first = number // 2
    starts = (first, *(one for one in range(number) if one != first))
    return [truth for start in starts for truth in truths[start::number].tolist()]


def next_round(
    turns: Mapping[str, list[int]], places: Sequence[tuple[str, int]], wanted: Mapping[str, int]
) -> list[int]:
    """Return how many further runs there are of each cell, so many of each learner, and take them out of `turns`.

    Args:
        turns: the truths of the runs of each learner that have not begun.
        places: learner and truth of each cell.
        wanted: how many further runs of each learner there shall be.
    """
    ask = {key: Counter(mine[: wanted.get(key, 0)]) for key, mine in turns.items()}
    for key, mine in turns.items():
        del mine[: wanted.get(key, 0)]
    return [ask[key][truth] for key, truth in places]


def missing_runs(n: int, error: float, known: float) -> int:
    """Return how many runs are missing, after `n` with this standard error, until it is about as small as `known`."""
    return 0 if error <= known else int(min(n * (error / known) ** 2, 1e6)) - n + 1


def cell_of(
    question: Question,
    candidate: Candidate,
    truth: int,
    *,
    cap: int | None = None,
    budget: int | None = None,
    batch: float | None = None,
) -> Cell:
    """Return the cell of a learner on a truth, given up after `cap` page views or asked after `budget`."""
    epsilon = question.looked * question.planned.epsilon
    if not np.isfinite(question.planned.efforts[truth]):
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
        spec=candidate.of(question, batch),
        feedback=question.feedback(any_order=candidate.any_order),
        order="random",
        max_steps=cap,
        budget=budget,
        engine="auto",
    )


_Told = TypeVar("_Told")


def run_cells(
    question: Question,
    cells: Mapping[tuple[str, int, Any], Cell],
    turns: Mapping[str, list[int]],
    learners: Callable[[Sequence[list[TrialRow]]], list[_Told]],
    missing: Callable[[list[_Told]], Mapping[str, int]],
    so_far: Callable[[list[_Told]], str],
    backend: Backend,
    watch: Watch,
    seconds: float,
) -> list[_Told] | None:
    """Run cells in rounds, until no further run is asked for; return the learners, or `None` if a run raised.

    Args:
        question: what was asked.
        cells: learner, truth and budget -> cell.
        turns: the truths of the runs of each learner that have not begun.
        learners: makes the learners that have runs of the rows of each cell.
        missing: says from the learners so far, and from nothing else, how many further runs each shall have.
        so_far: says in a few words what the runs that have ended tell.
        backend: where the runs are simulated.
        watch: follows the runs.
        seconds: processor time that all take, by the estimates.
    """
    settings, all_cells = Settings(question.wanted.seed, fail_fast=True, with_items=True), list(cells.values())
    places = [(key, truth) for key, truth, _ in cells]
    told = Follower(watch, all_cells, [0] * len(cells), so_far=lambda rows: so_far(learners(rows)), seconds=seconds)
    with told.shown() as follower:
        while not follower.failed and any(further := next_round(turns, places, missing(learners(follower.rows)))):
            follower.expect(further)
            numbers = [len(rows) + np.arange(more) for rows, more in zip(follower.rows, further, strict=True)]
            collect(all_cells, numbers, settings, backend, follower)
    return None if follower.failed else learners(follower.rows)


# --- A test with a guarantee: runs until the learner stops ----------------------------------------------------------


_MOST_TRIALS, _FEWEST_TRIALS = 40, 4
_ENOUGH = 8
"""Number of runs of a learner without which it is left out, and of those of the first round."""
_KNOWN = 0.05
"""Standard error of the mean ratio of page views to efforts, as a share of it, from which on no round follows."""
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
        stays: by which share of their looks lists grew before the next one; 0 if each page view had a list of its own.
    """

    key: str
    views: PageViews
    rows: tuple[TrialRow, ...]
    truths: IntArray
    stays: float = 0.0


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

    @classmethod
    def of(
        cls, question: Question, keys: Sequence[str], trials: int | None, backend: Backend, watch: Watch
    ) -> "Test | None":
        """Run a test with each learner; return `None` if a run raised."""
        sizes = _sizes_of(question, keys, trials)
        keys, left_out = tuple(sizes), [key for key in keys if key not in sizes]
        seconds = sum(size.seconds for size in sizes.values())
        if seconds <= _HERE:
            backend = Backend("sequential")
        turns = {key: turns_of(question.planned.efforts, size.trials, _ENOUGH) for key, size in sizes.items()}
        cells = {
            (key, truth, None): cell_of(question, CANDIDATES[key], truth, cap=size.cap, batch=size.batch)
            for key, size in sizes.items()
            for truth in sorted(set(turns[key]))
        }

        numbers = {key: len(mine) for key, mine in turns.items()}

        def learners(runs: Sequence[list[TrialRow]]) -> list[Simulated]:
            mine: dict[str, list[tuple[int, TrialRow]]] = {key: [] for key in keys}
            for (key, truth, _), rows in zip(cells, runs, strict=True):
                mine[key] += [(truth, row) for row in rows]
            return [_simulated(question, key, ran, sizes[key]) for key, ran in mine.items() if ran]

        def missing(found: list[Simulated]) -> dict[str, int]:
            # a few runs alone take as long as many side by side
            wanted = {key: _ENOUGH if not trials and n >= 2 * _ENOUGH else n for key, n in numbers.items()}
            return wanted | {one.key: missing_runs(one.views.n, one.views.error, _KNOWN) for one in found}

        def so_far(found: list[Simulated]) -> str:
            return ", ".join(one.views.so_far for one in found)

        found = run_cells(question, cells, turns, learners, missing, so_far, backend, watch, seconds)
        if found is None:
            return None
        ranked = tuple(sorted(found, key=lambda one: (not one.views.ended, one.views.median)))
        return cls(ranked, _cost(question, ranked[0]), tuple(CANDIDATES[key].name for key in left_out))


@dataclass(frozen=True)
class _Size:
    """Size of the runs of a learner.

    Attributes:
        trials, cap: how many there are at most, and after how many page views they are given up.
        seconds: their processor time.
        fits: whether they shall end in time.
        batch: for how many page views a list stays, or by which share of looks; `None` if for one.
    """

    trials: int
    cap: int
    seconds: float
    fits: bool = True
    batch: float | None = None


def _sizes_of(question: Question, keys: Sequence[str], trials: int | None) -> dict[str, _Size]:
    """Return the sizes of the learners whose runs end in time, or of all if none does; they share the time."""
    kept = list(keys)
    while True:
        sizes = {key: _size(Candidate.asked(question, key), question, SECONDS / len(kept), trials) for key in kept}
        fitting = [key for key in kept if sizes[key].fits]
        if not fitting or fitting == kept:
            return sizes
        kept = fitting


def _size(candidate: Candidate, question: Question, seconds: float, trials: int | None) -> _Size:
    """Return the runs that fit into `seconds`."""
    L, planned, factor = question.L, question.planned, candidate.factor
    assert factor is not None
    pace = candidate.paced(question.w_K)
    if candidate.keeps_log:
        return _size_as_planned(pace, factor, question, seconds, trials)
    longest = factor * float(np.quantile(planned.efforts, _NEARLY_ALL, method="inverted_cdf"))
    if candidate.staying:
        n = trials or _ENOUGH
        if not question.wanted.batch and n * pace.seconds(longest, L, n) <= _EXACTLY:
            return _size_by_steps(pace, longest, L, seconds, trials)
        return _size_of_lists(candidate.staying, longest, question, seconds, trials)
    if candidate.by_steps:
        return _size_by_steps(pace, longest, L, seconds, trials)
    cap = int(min(seconds / _FEWEST_TRIALS / max(pace.still, 1e-300), _SKIPPED_STEPS))
    still = pace.still * float(np.minimum(factor * planned.efforts, cap).mean())
    crowded = _CROWDED_SKIPS if question.w_K < _RARE else 1.0
    each = crowded * (0.03 + 4e-4 * L) + 0.5 * (planned.epsilon == 0) + still
    n = trials or int(np.clip(seconds / each, _FEWEST_TRIALS, _MOST_TRIALS))
    return _Size(n, cap, n * each)


def _size_by_steps(pace: Pace, longest: float, L: int, seconds: float, trials: int | None) -> _Size:
    fitting = pace.runs(seconds, longest, L) if np.isfinite(longest) else 0
    if fitting >= (trials or _ENOUGH):
        n = trials or min(fitting, _MOST_TRIALS)
        return _Size(n, pace.within(seconds / n, L, n), n * pace.seconds(longest, L, n))
    n = trials or _FEWEST_TRIALS
    return _Size(n, pace.within(seconds / n, L, n), seconds, fits=False)


def _size_of_lists(pace: Pace, longest: float, question: Question, seconds: float, trials: int | None) -> _Size:
    """Return runs whose lists stay: some page views each, or until they have grown by a share with the looks of items.

    The least observed items of `L / M` lists are then shown once, and from `1 / _STAYS` looks on more often each time.
    """
    if question.wanted.batch:
        size = _size_by_steps(pace, longest / question.wanted.batch, question.L, seconds, trials)
        return replace(size, cap=min(size.cap * question.wanted.batch, _SKIPPED_STEPS), batch=question.wanted.batch)
    grown = _STAYS * question.M / question.L
    size = _size_by_steps(pace, (1 + np.log(max(1.0, grown * longest))) / grown, question.L, seconds, trials)
    return replace(size, cap=int(min(np.exp(min(size.cap * grown - 1, 100.0)) / grown, _SKIPPED_STEPS)), batch=_STAYS)


def _size_as_planned(pace: Pace, factor: float, question: Question, seconds: float, trials: int | None) -> _Size:
    """Return runs with the planned tolerance, as those with another one tell little where a log goes before them.

    By the posterior, a truth that is harder than the median is hardly told from those that are not.
    """
    L, planned = question.L, question.planned
    usual = min(factor * float(np.median(planned.efforts)), _SKIPPED_STEPS)
    n = trials or int(np.clip(pace.runs(seconds, usual, L), _ENOUGH, _MOST_TRIALS))
    return _Size(n, pace.within(seconds / n, L, n), min(seconds, n * pace.seconds(usual, L, n)))


def _simulated(question: Question, key: str, ran: Sequence[tuple[int, TrialRow]], size: _Size) -> Simulated:
    truths, rows = np.array([truth for truth, _ in ran]), tuple(row for _, row in ran)
    good = question.good(question.planned.epsilon)
    views = PageViews.of(
        CANDIDATES[key].name,
        [row.steps for row in rows],
        [None if row.correct is None else bool(good[truth, list(row.items)].all()) for truth, row in ran],
        size.cap,
        question.planned.efforts[truths],
        question.planned.efforts,
        truths.tolist() if CANDIDATES[key].keeps_log else (),
        -(-question.L // question.M) * (question.wanted.batch or 0),
    )
    return Simulated(key, views, rows, truths, _STAYS if size.batch == _STAYS else 0.0)


def _cost(question: Question, first: Simulated) -> ClickCost | None:
    if not first.views.ended:
        return None
    own = list(first.views.truths)
    pages, shares = first.views.pages(question.planned.efforts), _loses(question, first)
    truths, shares = (question.truths[own], shares[:, None]) if own else (question.truths, shares)
    return ClickCost.of(shares, truths, question.page, pages, np.array(question.looks), question.wanted.pages)


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
