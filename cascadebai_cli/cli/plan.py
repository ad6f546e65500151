"""`cascadebai plan`: from a log of clicks and views to the number of page views that a test will take."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from cascadebai_cli.cli.console import Progress
from cascadebai_cli.cli.failures import Failures
from cascadebai_cli.cli.options import Jobs, Quiet
from cascadebai_cli.errors import ConfigError

if TYPE_CHECKING:
    from cascadebai_cli.analysis.click_log import Shrinkage
    from cascadebai_cli.analysis.page_views import PageViews
    from cascadebai_cli.model.instance import Instance
    from cascadebai_cli.running.runner import Backend
    from cascadebai_cli.running.worker import Finished
    from cascadebai_cli.study.cells import Cell

TRIALS, FEWEST_TRIALS = 20, 5
MOST_ITEMS = 20_000
MOST_BYTES = 100 * 2**20
MOST_NEEDED = 1_000_000
"""Page views beyond which a plan is not simulated but refused: rates that are nearly tied."""
FORMATS = ("pdf", "png", "svg")


class Log(NamedTuple):
    """The rows of the file, in its order."""

    names: tuple[str, ...]
    clicks: tuple[float, ...]
    views: tuple[float, ...]


def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="One row an item, with a header row.")],
    items: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the items' names.")],
    clicks: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the numbers of clicks.")],
    views: Annotated[str, typer.Option(metavar="COLUMN", help="Column of how often the item was looked at.")],
    K: Annotated[int, typer.Option("-K", min=1, help="Number of items to find and to show on a page.")] = 5,
    delta: Annotated[float, typer.Option(help="Largest probability of a wrong answer.")] = 0.05,
    epsilon: Annotated[float, typer.Option(help="Items so much below w(K) are good enough as well.")] = 0.0,
    trials: Annotated[
        int | None, typer.Option(min=2, help="Simulated runs of each learner; 20, or fewer for over 1000 items.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Root seed.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The plot, .pdf, .png or .svg; results/plan_NAME.png if not given."),
    ] = None,
    n_jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Tell from measured clicks how many page views it takes to find the best K items.

    The measured rates are shrunk towards their mean and taken for the truth; then each learner is run on pages that
    show K items and are read from the top to the first click.
    """
    from cascadebai_cli.analysis.click_log import shrink
    from cascadebai_cli.model.families import Items
    from cascadebai_cli.running.runner import Backend
    from cascadebai_cli.theory.lower import lower_bound
    from cascadebai_cli.workflows.plan_cells import plan_cells
    from cascadebai_cli.workflows.studies import check_trials

    check_trials(trials)
    target = _target(out, file)
    log = _read(file, items, clicks, views)
    shrunk = shrink(log.clicks, log.views)
    problem = _problem(shrunk, K, delta, epsilon)
    bound = lower_bound(problem, delta)
    _refuse_near_ties(problem, bound)
    typer.echo(_summary(file, log, shrunk, problem, delta))
    cells = plan_cells(file.stem, Items(log.names, shrunk.rates), K, delta, epsilon)
    trials = trials or max(FEWEST_TRIALS, min(TRIALS, TRIALS * 1000 // problem.L))
    runs = _run(cells, trials, Backend(n_jobs=n_jobs), Failures(None, seed, cells), quiet)
    table = _page_views(cells, runs)
    typer.echo(_answer(table, bound, trials, runs[cells[0].learner], log, shrunk, K))
    _draw(target, table, bound, f"best {K} of {len(log.names)} items, {file.name}")
    typer.echo(f"plot: {target}")


def _target(out: Path | None, file: Path) -> Path:
    target = out or Path("results") / f"plan_{file.stem}.png"
    if target.suffix[1:] not in FORMATS:
        raise ConfigError(f"--out {target}: format '{target.suffix}' is not known; use .pdf, .png or .svg")
    return target


def _read(path: Path, items: str, clicks: str, views: str) -> Log:
    from cascadebai_cli.model.click_rates import ClickRateFile, read_click_counts

    if not path.is_file():
        raise ConfigError(f"{path} is not a file; name a CSV file with one row an item")
    if path.stat().st_size > MOST_BYTES:
        raise ConfigError(f"{path} has more than {MOST_BYTES >> 20} MB; keep one row an item and the columns needed")
    log = Log(*read_click_counts(ClickRateFile(path, clicks=clicks, views=views, item=items)))
    if len(log.names) > MOST_ITEMS:
        raise ConfigError(
            f"{path} has {len(log.names):,} items, {MOST_ITEMS:,} is the most; keep those that might be among the best"
        )
    return log


def _problem(shrunk: "Shrinkage", K: int, delta: float, epsilon: float) -> "Instance":
    from cascadebai_cli.analysis.click_log import suggested_epsilon
    from cascadebai_cli.model.instance import Instance
    from cascadebai_cli.study.fields import SMALLEST_RISK

    if not SMALLEST_RISK <= delta < 1:
        raise ConfigError(
            f"--delta {delta:g} is no probability; give one between {SMALLEST_RISK:g} and 1, such as 0.05"
        )
    if len(shrunk.rates) <= K:
        raise ConfigError(f"-K {K} is not less than the {len(shrunk.rates)} items of the file; choose a smaller K")
    if not 0 <= epsilon < 1:
        raise ConfigError(f"--epsilon {epsilon:g} is no tolerance; give 0 or more, and less than 1")
    ordered = sorted(shrunk.rates.tolist(), reverse=True)
    if epsilon == 0 and ordered[K - 1] <= ordered[K]:
        tied = sum(rate == ordered[K] for rate in ordered)
        raise ConfigError(
            f"{tied} items are tied at w({K}) = {ordered[K]:.4g}, so nothing can tell which are the best {K}; "
            f"accept near misses with --epsilon {suggested_epsilon(ordered[K]):g}, or choose another K"
        )
    return Instance(shrunk.rates, K, epsilon)


def _refuse_near_ties(problem: "Instance", bound: float) -> None:
    from cascadebai_cli.analysis.click_log import suggested_epsilon

    if bound > MOST_NEEDED:
        K, w = problem.K, problem.sorted_weights
        raise ConfigError(
            f"w({K}) = {w[K - 1]:.6g} and w({K + 1}) = {w[K]:.6g} are nearly tied: every learner needs more than "
            f"{bound:,.0f} page views on average; accept near misses with --epsilon {suggested_epsilon(w[K - 1]):g}, "
            "or choose another K"
        )


def _summary(file: Path, log: Log, shrunk: "Shrinkage", problem: "Instance", delta: float) -> str:
    K, w = problem.K, problem.sorted_weights
    good = f", {problem.K_prime} items are good enough" if problem.epsilon > 0 else ""
    return (
        f"{file}: {problem.L:,} items, {sum(log.clicks):,.0f} clicks in {sum(log.views):,.0f} views\n"
        f"rates are shrunk towards their mean {shrunk.mean:.4g}, which counts as {shrunk.strength:.3g} more views of "
        "each item: the best raw rates owe something to luck\n"
        f"K = {K}, delta = {delta:g}, epsilon = {problem.epsilon:g}: w({K}) = {w[K - 1]:.4g}, "
        f"w({K + 1}) = {w[K]:.4g}{good}\n"
    )


def _run(
    cells: Sequence["Cell"], trials: int, backend: "Backend", failures: Failures, quiet: bool
) -> "Mapping[str, list[Finished]]":
    """The runs of each learner by name."""
    import numpy as np

    from cascadebai_cli.running.interrupts import one_interrupt
    from cascadebai_cli.running.runner import run_missing
    from cascadebai_cli.running.worker import Order

    runs: dict[str, list[Finished]] = {cell.learner: [] for cell in cells}
    order = Order(failures.seed, fail_fast=True, with_items=True)
    missing = [np.arange(trials)] * len(cells)
    with (
        one_interrupt(),
        Progress([trials] * len(cells), quiet=quiet) as progress,
        closing(run_missing(cells, missing, order, backend)) as results,
    ):
        for result in results:
            progress.update(result)
            failures.update(result)
            runs[cells[result.position].learner] += result.finished
    if failures.count:
        raise typer.Exit(1)
    return {name: sorted(rows) for name, rows in runs.items()}


def _page_views(cells: Sequence["Cell"], runs: "Mapping[str, list[Finished]]") -> "list[PageViews]":
    from cascadebai_cli.analysis.page_views import page_views

    return [
        page_views(
            cell.learner,
            [row.steps for row in runs[cell.learner]],
            [row.correct for row in runs[cell.learner]],
            cell.max_steps or 0,
        )
        for cell in cells
    ]


def _answer(
    table: "Sequence[PageViews]",
    bound: float,
    trials: int,
    rows: "Sequence[Finished]",
    log: Log,
    shrunk: "Shrinkage",
    K: int,
) -> str:
    from cascadebai_cli.analysis.page_views import page_views_printed

    known = f"{bound:,.0f} page views on average" if bound == bound else "not known for epsilon > 0"
    parts = [
        str(page_views_printed(table)),
        f"of {trials} simulated runs of each learner; lower bound for any learner: {known}",
        "",
        f"items found by {table[0].learner}:",
        _items(rows, log, shrunk, K),
    ]
    return "\n".join(parts)


def _items(rows: "Sequence[Finished]", log: Log, shrunk: "Shrinkage", K: int) -> str:
    """The best K items and those that were found as often, with how often."""
    from cascadebai_cli.text.table import table_of

    counts = Counter(item for row in rows for item in row.items if row.status == "stopped")
    best = sorted(range(len(log.names)), key=lambda item: -shrunk.rates[item])
    shown = [item for i, item in enumerate(best) if i < K or counts[item] * 5 >= len(rows)]
    lines = [
        [
            log.names[i],
            f"{log.clicks[i]:,.10g}",
            f"{log.views[i]:,.10g}",
            f"{shrunk.rates[i]:.4f}",
            f"{counts[i]} of {len(rows)}",
        ]
        for i in shown
    ]
    return str(table_of(["item", "clicks", "views", "shrunk rate", "found in runs"], lines))


def _draw(target: Path, table: "Sequence[PageViews]", bound: float, title: str) -> None:
    from dataclasses import asdict

    import pandas as pd

    from cascadebai_cli.figures.page_views import draw_page_views
    from cascadebai_cli.figures.style import render
    from cascadebai_cli.workflows.outputs import write_bytes

    figure = draw_page_views(pd.DataFrame([asdict(row) for row in table]), bound, title)
    write_bytes(target, render(figure, target.suffix[1:], title=title, rows_sha256=""))
