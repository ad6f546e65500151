"""Simulated runs for a plan: which learners, how many runs, and after how many page views they are given up."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from cascadebai_cli.analysis.page_views import PageViews, page_views
from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.instance import IntArray
from cascadebai_cli.running.interrupts import one_interrupt
from cascadebai_cli.running.runner import Backend, run_missing
from cascadebai_cli.running.work import Settings
from cascadebai_cli.store.schema import TrialRow
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.workflows.click_log import Question
from cascadebai_cli.workflows.failures import Failures
from cascadebai_cli.workflows.watch import Watch


@dataclass(frozen=True)
class Candidate:
    """A learner that a person could use.

    Attributes:
        name: in words.
        spec: what runs.
        factor: page views over effort, about.
        by_steps: whether a run takes the longer the more page views it has; else it is skipped through.
    """

    name: str
    spec: LearnerSpec
    factor: float
    by_steps: bool = False

    def shown(self, M: int, K: int) -> LearnerSpec:
        """What runs on pages of `M` items."""
        return self.spec if M == K else replace(self.spec, options={**self.spec.options, "list_length": M})


CANDIDATES: Mapping[str, Candidate] = {
    "kl-lucb++": Candidate("KL-LUCB++", LearnerSpec("kl-lucb++"), 8, by_steps=True),
    "cascadebai-kl": Candidate("CascadeBAI, KL bounds", LearnerSpec("cascadebai", {"confidence": "kl"}), 25),
    "cascadebai": Candidate("CascadeBAI", LearnerSpec("cascadebai"), 200),
}
"""What `--learner` takes -> learner, the sharpest first."""
DEFAULT = ("kl-lucb++", "cascadebai-kl")
MOST_TRIALS, FEWEST_TRIALS = 40, 4
SECONDS = 36.0
"""Processor time of all runs, by the estimates below, which were measured; with start and end 30 s on two cores."""
SKIPPED_STEPS = 10**10
"""Page views after which a run is given up that is skipped through."""
TIE = 1e-12
"""Tolerance of a run without one whose truth is tied: it does not end, but it can be run."""


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


def chosen(keys: Sequence[str]) -> tuple[str, ...]:
    """The learners asked for, or the two best.

    Raises:
        ConfigError: if one is not known.
    """
    for key in keys:
        if key not in CANDIDATES:
            raise ConfigError(f"--learner {key} is not known; {suggest(key, CANDIDATES)}")
    return tuple(dict.fromkeys(keys)) or DEFAULT


def simulated(
    question: Question, keys: Sequence[str], trials: int | None, backend: Backend, watch: Watch
) -> tuple[Simulated, ...] | None:
    """The learners, the fastest first and those that did not end last; `None` if a run raised."""
    sizes = {key: _size(CANDIDATES[key], question, SECONDS / len(keys), trials) for key in keys}
    places = {key: _spread(question, sizes[key][0]) for key in keys}
    cells = [_cell(question, CANDIDATES[key], truth, sizes[key][1]) for key in keys for truth in np.unique(places[key])]
    owners = [(key, truth) for key in keys for truth in np.unique(places[key])]
    missing = [np.arange(np.count_nonzero(places[key] == truth)) for key, truth in owners]
    rows = _run(cells, missing, Settings(question.wanted.seed, fail_fast=True, with_items=True), backend, watch)
    if rows is None:
        return None
    found = []
    for key in keys:
        mine = [(truth, row) for (owner, truth), done in zip(owners, rows, strict=True) if owner == key for row in done]
        found.append(_simulated(question, key, mine, sizes[key][1]))
    return tuple(sorted(found, key=lambda one: (not one.views.ended, one.views.median)))


def _size(candidate: Candidate, question: Question, seconds: float, trials: int | None) -> tuple[int, int]:
    """How many runs fit into so many seconds, and after how many page views they are given up."""
    L, efforts = question.L, question.planned.efforts
    if candidate.by_steps:
        step = 9e-6 * (1 + L / 900)
        cap = int(seconds / (FEWEST_TRIALS * step))
        each = step * float(np.minimum(candidate.factor * efforts, cap).mean())
    else:
        cap = SKIPPED_STEPS
        each = 0.03 + 4e-4 * L + 0.5 * (question.planned.epsilon == 0)
    return trials or int(np.clip(seconds / each, FEWEST_TRIALS, MOST_TRIALS)), cap


def _spread(question: Question, trials: int) -> IntArray:
    """Which truths are simulated: spread evenly from the easiest to the hardest, shape `(trials,)`."""
    order = np.argsort(question.planned.efforts, kind="stable")
    return np.asarray(order[((np.arange(trials) + 0.5) / trials * len(order)).astype(int)])


def _cell(question: Question, candidate: Candidate, truth: int, cap: int) -> Cell:
    epsilon = question.planned.epsilon
    if not np.isfinite(question.planned.efforts[truth]):
        epsilon = max(epsilon, TIE)
    return Cell(
        study="plan",
        instance=question.file.stem,
        learner=candidate.name,
        L=question.L,
        K=question.K,
        delta=question.wanted.delta,
        epsilon=epsilon,
        weights=question.truths[truth],
        items=question.log.names,
        spec=candidate.shown(question.M, question.K),
        feedback="cascading",
        order="random",
        max_steps=cap,
        engine="auto",
    )


def _run(
    cells: Sequence[Cell], missing: Sequence[IntArray], settings: Settings, backend: Backend, watch: Watch
) -> list[list[TrialRow]] | None:
    """The runs of each cell; `None` if one raised."""
    rows: list[list[TrialRow]] = [[] for _ in cells]
    failures = Failures(cells, watch)
    with (
        one_interrupt(),
        watch.trials([len(trials) for trials in missing]) as progress,
        closing(run_missing(cells, missing, settings, backend)) as results,
    ):
        for result in results:
            progress.update(result)
            failures.update(result)
            rows[result.position] += result.finished
    return None if failures.count else [sorted(done) for done in rows]


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
