"""`cascadebai run`: a few cells of a study, printed and not kept."""

import time
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cascadebai_cli.cli.console import Progress
from cascadebai_cli.cli.failures import Failures
from cascadebai_cli.cli.options import Config, Jobs, Plugins, Quiet, Seed, Trials
from cascadebai_cli.errors import ConfigError

if TYPE_CHECKING:
    from cascadebai_cli.model.instance import IntArray
    from cascadebai_cli.running.runner import Backend
    from cascadebai_cli.study.cells import Cell

MOST_CELLS = 8


def run(
    config: Config,
    instance: Annotated[str | None, typer.Option(help="Only this instance.")] = None,
    learner: Annotated[str | None, typer.Option(help="Only this learner.")] = None,
    L: Annotated[int | None, typer.Option("--L", help="Only this number of items.")] = None,
    K: Annotated[int | None, typer.Option("--K", help="Only this number of items to find.")] = None,
    delta: Annotated[float | None, typer.Option(help="Only this risk.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Only this tolerance.")] = None,
    cell_id: Annotated[str | None, typer.Option("--cell", metavar="ID", help="Only the cell of this id.")] = None,
    trials: Trials = None,
    trial: Annotated[
        int | None, typer.Option("--trial", min=0, help="Run only the trial of this number, as a sweep does.")
    ] = None,
    seed: Seed = None,
    plugin: Plugins = None,
    n_jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Run one cell of a study, or a few, and print what came out."""
    import numpy as np

    from cascadebai_cli.running.runner import Backend
    from cascadebai_cli.workflows.studies import read_study

    wanted = {"instance": instance, "learner": learner, "L": L, "K": K, "delta": delta, "epsilon": epsilon}
    study = read_study(config, trials, seed, plugin or ())
    cells = _chosen(study.cells, {**wanted, "cell_id": cell_id})
    numbers = np.arange(study.trials) if trial is None else np.array([trial])
    failures = Failures(config, study.seed, cells, plugins=plugin or ())
    _run_all(cells, numbers, Backend(n_jobs=n_jobs), failures, quiet)
    if failures.count:
        failures.conclude()
        raise typer.Exit(1)


def _chosen(cells: Sequence["Cell"], wanted: dict[str, Any]) -> list["Cell"]:
    """Cells that agree with every value that is given."""
    left = list(cells)
    for key, value in wanted.items():
        if value is None:
            continue
        there = list(dict.fromkeys(getattr(cell, key) for cell in left))
        left = [cell for cell in left if getattr(cell, key) == value]
        if not left:
            name = "id" if key == "cell_id" else key
            raise ConfigError(f"no cell has {name} {value}; choose from {_listed(there)}")
    if len(left) > MOST_CELLS:
        raise ConfigError(
            f"{len(left)} cells are too many to print, {MOST_CELLS} is the most; choose some with "
            f"{_choices(left)}, or run all of them with: cascadebai sweep"
        )
    return left


def _choices(cells: Sequence["Cell"]) -> str:
    keys = {"--instance": "instance", "--learner": "learner", "--L": "L", "--K": "K"}
    keys |= {"--delta": "delta", "--epsilon": "epsilon"}
    values = {flag: list(dict.fromkeys(getattr(cell, key) for cell in cells)) for flag, key in keys.items()}
    return ", ".join(f"{flag} ({_listed(there)})" for flag, there in values.items() if len(there) > 1)


def _listed(values: Sequence[Any]) -> str:
    names = [f"'{value}'" if isinstance(value, str) else f"{value:g}" for value in values]
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:3])}, ... {names[-1]}"


def _run_all(cells: Sequence["Cell"], numbers: "IntArray", backend: "Backend", failures: Failures, quiet: bool) -> None:
    """Run the cells one after the other and print each as it is done."""
    from cascadebai_cli.cli.cell_report import cell_report
    from cascadebai_cli.running.interrupts import one_interrupt
    from cascadebai_cli.running.runner import run_missing
    from cascadebai_cli.running.worker import Order

    order = Order(failures.seed, with_items=True)
    with one_interrupt(), Progress([len(numbers)] * len(cells), quiet=quiet) as progress:
        for position, cell in enumerate(cells):
            start, rows = time.monotonic(), []
            with closing(run_missing([cell], [numbers], order, backend)) as results:
                for result in results:
                    placed = result._replace(position=position)
                    rows += placed.finished
                    progress.update(placed)
                    failures.update(placed)
            if rows:
                typer.echo(cell_report(cell, sorted(rows), time.monotonic() - start))
