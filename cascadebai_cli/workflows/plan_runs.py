"""A test with a guarantee: runs until the learner stops, how many, and after how many page views they are given up."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cascadebai_cli.analysis.cost import Cost, cost
from cascadebai_cli.analysis.page_views import PageViews, page_views
from cascadebai_cli.model.instance import IntArray
from cascadebai_cli.running.runner import Backend
from cascadebai_cli.store.schema import TrialRow
from cascadebai_cli.workflows.click_log import Question
from cascadebai_cli.workflows.plan_cells import Runs, cell_of, run_cells, spread
from cascadebai_cli.workflows.plan_learners import CANDIDATES, SECONDS, Candidate
from cascadebai_cli.workflows.watch import Watch

MOST_TRIALS, FEWEST_TRIALS = 40, 4
SKIPPED_STEPS = 10**10
"""Page views after which a run is given up that is skipped through."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """The runs of one learner.

    Attributes:
        key: what `--learner` calls it.
        views: its page views.
        rows: the runs.
        truths: which truth each run had, shape `(n,)`.
    """

    key: str
    views: PageViews
    rows: tuple[TrialRow, ...]
    truths: IntArray


@dataclass(frozen=True, eq=False)
class Test:
    """What a test takes.

    Attributes:
        learners: the runs of each learner, the fastest first, those that did not end last.
        cost: of the first learner; `None` if that did not end.
    """

    learners: tuple[Simulated, ...]
    cost: Cost | None

    @property
    def found(self) -> Counter[int] | None:
        """How many runs of the first learner found each item; `None` if it did not end."""
        if self.cost is None:
            return None
        return Counter(item for row in self.learners[0].rows if row.status == "stopped" for item in row.items)

    @property
    def named(self) -> int:
        """How many runs of the first learner named items."""
        return sum(row.status == "stopped" for row in self.learners[0].rows)


def tested(question: Question, keys: Sequence[str], trials: int | None, backend: Backend, watch: Watch) -> Test | None:
    """The learners, the fastest first and those that did not end last; `None` if a run raised."""
    sizes = {key: _size(CANDIDATES[key], question, SECONDS / len(keys), trials) for key in keys}
    places = [
        (key, truth, times)
        for key in keys
        for truth, times in Counter(spread(question, sizes[key][0]).tolist()).items()
    ]
    cells = [cell_of(question, CANDIDATES[key], truth, cap=sizes[key][1]) for key, truth, _ in places]

    def learners(runs: Runs) -> list[Simulated]:
        mine: dict[str, list[tuple[int, TrialRow]]] = {}
        for (key, truth, _), rows in zip(places, runs, strict=True):
            mine.setdefault(key, []).extend((truth, row) for row in rows)
        return [_simulated(question, key, found, sizes[key][1]) for key, found in mine.items() if found]

    def so_far(runs: Runs) -> str:
        return ", ".join(f"{one.views.learner} {one.views.in_words}" for one in learners(runs))

    runs = run_cells(cells, [times for _, _, times in places], question.wanted.seed, backend, watch, so_far)
    if runs is None:
        return None
    ranked = tuple(sorted(learners(runs), key=lambda one: (not one.views.ended, one.views.median)))
    return Test(ranked, _cost(question, ranked[0]))


def _size(candidate: Candidate, question: Question, seconds: float, trials: int | None) -> tuple[int, int]:
    """How many runs fit into so many seconds, and after how many page views they are given up."""
    L, efforts = question.L, question.planned.efforts
    assert candidate.factor is not None
    if candidate.by_steps:
        pace = candidate.paced(question.w_K)
        cap = pace.within(seconds / FEWEST_TRIALS, L)
        each = pace.seconds(float(np.minimum(candidate.factor * efforts, cap).mean()), L)
    else:
        cap = SKIPPED_STEPS
        each = 0.03 + 4e-4 * L + 0.5 * (question.planned.epsilon == 0)
    return trials or int(np.clip(seconds / each, FEWEST_TRIALS, MOST_TRIALS)), cap


def _simulated(question: Question, key: str, runs: Sequence[tuple[int, TrialRow]], cap: int) -> Simulated:
    truths = np.array([truth for truth, _ in runs])
    rows = tuple(row for _, row in runs)
    efforts = question.planned.efforts
    views = page_views(
        CANDIDATES[key].name,
        [row.steps for row in rows],
        [row.correct for row in rows],
        cap,
        efforts[truths],
        efforts,
    )
    return Simulated(key, views, rows, truths)


def _cost(question: Question, first: Simulated) -> Cost | None:
    if not first.views.ended:
        return None
    steps, clicks = ([getattr(row, name) for row in first.rows] for name in ("steps", "clicks"))
    return cost(
        steps, clicks, first.truths, question.truths, question.page, first.views.ratios, question.planned.efforts
    )
