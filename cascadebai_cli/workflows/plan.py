"""From a log of clicks and views to the number of page views that a test will take."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.page_views import PageViews, page_views, page_views_printed
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.page_views import draw_page_views
from cascadebai_cli.figures.style import render
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.running.interrupts import one_interrupt
from cascadebai_cli.running.runner import Backend, run_missing
from cascadebai_cli.running.worker import Settings
from cascadebai_cli.store.schema import Row
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.plot import FORMATS
from cascadebai_cli.text.numbers import exact, share
from cascadebai_cli.text.table import Table, table_of
from cascadebai_cli.workflows.click_log import Columns, Question, question_of
from cascadebai_cli.workflows.failures import Failures
from cascadebai_cli.workflows.outputs import warn_of_letters, write_bytes
from cascadebai_cli.workflows.studies import check_trials
from cascadebai_cli.workflows.watch import SILENT, Watch

__all__ = ["Backend", "Columns", "Plan", "Question", "plan"]

TRIALS, FEWEST_TRIALS = 20, 5
LEARNERS: Mapping[str, LearnerSpec] = {
    "KL-LUCB++": LearnerSpec("kl-lucb++"),
    "CascadeBAI, KL bounds": LearnerSpec("cascadebai", {"confidence": "kl"}),
    "CascadeBAI": LearnerSpec("cascadebai"),
}
"""Name -> learner that a person could use, the sharpest first."""
SKIPPED_STEPS = 10**9
"""Page views after which a run is given up that is simulated by skipping ahead."""
SINGLE_STEPS = 300_000
"""The same for one that is simulated step by step, with up to 1000 items."""


@dataclass(frozen=True)
class FoundItem:
    """An item and in how many of the runs of the first learner it was found."""

    name: str
    clicks: float
    views: float
    rate: float
    found_in: int


@dataclass(frozen=True)
class Plan:
    """What a test will take.

    Attributes:
        question: what was asked.
        trials: runs of each learner.
        learners: page views of each learner, the first one first.
        items: the best `K` items, and those that were found as often.
        failed: whether a run raised; then nothing else is known.
        picture: the plot.
    """

    question: Question
    trials: int
    learners: tuple[PageViews, ...]
    items: tuple[FoundItem, ...]
    failed: bool
    picture: Path

    @property
    def learners_printed(self) -> Table:
        """The page views of each learner."""
        return page_views_printed(self.learners)

    @property
    def items_printed(self) -> Table:
        """The items with the runs that found them."""
        rows = [
            [
                item.name,
                exact(item.clicks),
                exact(item.views),
                share(item.rate),
                f"{item.found_in} of {self.trials}",
            ]
            for item in self.items
        ]
        return table_of(["item", "clicks", "views", "shrunk rate", "found in runs"], rows)


def plan(
    file: Path,
    columns: Columns,
    K: int,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    trials: int | None = None,
    seed: int = 0,
    out: Path | None = None,
    backend: Backend | None = None,
    watch: Watch = SILENT,
    begin: Callable[[Question], None] | None = None,
) -> Plan:
    """How many page views it takes to find the best `K` items.

    The measured rates are shrunk towards their mean and taken for the truth; then each learner is run on pages that
    show `K` items and are read from the top to the first click.

    Args:
        file: a CSV file, one row an item.
        columns: which of its columns are which.
        K, delta, epsilon: as in the paper.
        trials: simulated runs of each learner; 20, or fewer for over 1000 items.
        seed: root seed.
        out: the plot; `results/plan_NAME.png` by default.
        backend: where runs are simulated; all cores by default.
        watch: follows the runs.
        begin: takes what is asked, before it is simulated.

    Raises:
        ConfigError: if the file or a value is not usable, or the items are tied or nearly so.
        CascadeError: if the plot cannot be written, or the backend breaks.
    """
    check_trials(trials)
    picture = _picture(out, file)
    question = question_of(file, columns, K, delta, epsilon)
    if begin:
        begin(question)
    cells = _cells(question)
    trials = trials or max(FEWEST_TRIALS, min(TRIALS, TRIALS * 1000 // question.problem.L))
    failures = Failures(cells, watch)
    runs = _run(cells, trials, Settings(seed, fail_fast=True, with_items=True), backend or Backend(), failures)
    if failures.count:
        return Plan(question, trials, (), (), True, picture)
    learners = tuple(_page_views(cell, runs[cell.learner]) for cell in cells)
    _draw(picture, learners, question, watch)
    return Plan(question, trials, learners, _items(runs[cells[0].learner], question), False, picture)


def _picture(out: Path | None, file: Path) -> Path:
    picture = out or Path("results") / f"plan_{file.stem}.png"
    if picture.suffix[1:] not in FORMATS:
        raise ConfigError(f"--out {picture}: format '{picture.suffix}' is not known; use .pdf, .png or .svg")
    return picture


def _cells(question: Question) -> list[Cell]:
    """One cell a learner."""
    problem = question.problem
    return [
        Cell(
            study="plan",
            instance=question.file.stem,
            learner=learner,
            L=problem.L,
            K=problem.K,
            delta=question.delta,
            epsilon=problem.epsilon,
            weights=question.shrunk.rates,
            items=question.names,
            spec=spec,
            feedback="cascading",
            order="random",
            max_steps=SINGLE_STEPS // (1 + problem.L // 1000) if spec.algorithm == "kl-lucb++" else SKIPPED_STEPS,
            engine="auto",
        )
        for learner, spec in LEARNERS.items()
    ]


def _run(
    cells: Sequence[Cell], trials: int, settings: Settings, backend: Backend, failures: Failures
) -> Mapping[str, list[Row]]:
    """The runs of each learner by name."""
    runs: dict[str, list[Row]] = {cell.learner: [] for cell in cells}
    missing = [np.arange(trials)] * len(cells)
    with (
        one_interrupt(),
        failures.watch.trials([trials] * len(cells)) as progress,
        closing(run_missing(cells, missing, settings, backend)) as results,
    ):
        for result in results:
            progress.update(result)
            failures.update(result)
            runs[cells[result.position].learner] += result.finished
    return {name: sorted(rows) for name, rows in runs.items()}


def _page_views(cell: Cell, rows: Sequence[Row]) -> PageViews:
    return page_views(cell.learner, [row.steps for row in rows], [row.correct for row in rows], cell.max_steps or 0)


def _items(rows: Sequence[Row], question: Question) -> tuple[FoundItem, ...]:
    """The best K items and those that were found as often, with how often."""
    counts = Counter(item for row in rows for item in row.items if row.status == "stopped")
    rates = question.shrunk.rates
    best = sorted(range(len(question.names)), key=lambda item: -rates[item])
    shown = [item for i, item in enumerate(best) if i < question.problem.K or counts[item] * 5 >= len(rows)]
    return tuple(
        FoundItem(question.names[i], question.clicks[i], question.views[i], float(rates[i]), counts[i]) for i in shown
    )


def _draw(picture: Path, learners: Sequence[PageViews], question: Question, watch: Watch) -> None:
    title = f"best {question.problem.K} of {len(question.names)} items, {question.file.name}"
    figure = draw_page_views(pd.DataFrame(list(map(asdict, learners))), question.bound, title)
    warn_of_letters([figure], str(question.file), watch)
    write_bytes(picture, render(figure, picture.suffix[1:], title=title, rows_sha256=""))
