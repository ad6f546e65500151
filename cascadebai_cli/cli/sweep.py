"""`cascadebai sweep`: all trials of a study into a directory; goes on where an earlier sweep ended."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cascadebai_cli.cli.console import Progress, tell
from cascadebai_cli.cli.failures import Failures
from cascadebai_cli.cli.options import (
    BackendName,
    Config,
    Jobs,
    Plugins,
    Quiet,
    Seed,
    Trials,
    some_path,
)
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.text.numbers import duration

if TYPE_CHECKING:
    from cascadebai_cli.running.runner import Backend
    from cascadebai_cli.study.config import Study
    from cascadebai_cli.workflows.sweep import OpenSweep, Sweep

FAILURES = "failures.log"


def sweep(
    config: Config,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", parser=some_path, help="Directory of the results; results/NAME OF CONFIG if not given."
        ),
    ] = None,
    trials: Trials = None,
    seed: Seed = None,
    plugin: Plugins = None,
    n_jobs: Jobs = -1,
    backend: Annotated[BackendName, typer.Option(help="Where trials run.")] = "loky",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler, with --backend dask.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move an earlier result aside and start over.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what is missing.")] = False,
    collect: Annotated[bool, typer.Option("--collect", help="Only write the tables from what is there.")] = False,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast/--keep-going", help="Whether to stop at the first trial that fails.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run all trials of a study that are missing, and write its tables.

    What is finished is kept, whenever the sweep is interrupted: the same command goes on from there. More --trials
    or more cells in CONFIG add to what is there.
    """
    from cascadebai_cli.running.runner import Backend
    from cascadebai_cli.workflows.studies import read_study

    if fresh + dry_run + collect > 1:
        raise ConfigError("--fresh, --dry-run and --collect exclude each other; give one of them")
    place = Backend(backend, n_jobs, scheduler)
    task = _task(read_study(config, trials, seed, plugin or ()), out or Path("results") / config.stem)
    if dry_run:
        _list_missing(task)
    elif collect:
        _collect(task, trials, quiet)
    else:
        if fresh:
            _move_aside(task.directory, quiet)
        failures = Failures(config, task.study.seed, task.cells, task.directory / FAILURES, plugin or ())
        _run(task, place, failures, fail_fast, quiet)


def _task(study: "Study", directory: Path) -> "Sweep":
    from cascadebai_cli.workflows.studies import check_rows
    from cascadebai_cli.workflows.sweep import Sweep

    check_rows(study, len(study.cells))
    return Sweep(study, study.cells, directory)


def _list_missing(task: "Sweep") -> None:
    stored = task.stored()
    counts = [len(trials) for trials in task.missing(stored)]
    for cell, count in zip(task.cells, counts, strict=True):
        if count:
            typer.echo(f"{cell.cell_id}  {count} of {task.study.trials} trials missing: {cell.label}")
    cells = sum(count > 0 for count in counts)
    wanted = task.study.trials * len(counts)
    if any(counts) and len(stored.rows):
        seconds = float(stored.rows["seconds"].mean()) * sum(counts)
        typer.echo(f"about {duration(seconds)} on one core, if a trial takes as long as those that are there did")
    typer.echo(f"{sum(counts):,} of {wanted:,} trials are missing, in {cells:,} of {len(counts):,} cells")


def _move_aside(directory: Path, quiet: bool) -> None:
    from cascadebai_cli.workflows.sweep import move_aside

    moved = move_aside(directory)
    if moved and not quiet:
        tell(f"the earlier result is now in {moved}")


def _collect(task: "Sweep", trials: int | None, quiet: bool) -> None:
    from cascadebai_cli.store.journal import JOURNAL

    if not (task.directory / JOURNAL).exists():
        raise ConfigError(f"{task.directory} holds no {JOURNAL} to collect from; sweep first, or give another --out")
    with task.opened() as opened:
        missing = opened.collect(lambda: _summarise(task.directory), trials)
    _report(task, missing, quiet)


def _run(task: "Sweep", place: "Backend", failures: Failures, fail_fast: bool, quiet: bool) -> None:
    import cascadebai_cli.store.summary  # noqa: F401  # a broken installation shows before the work, not after

    try:
        with task.opened() as opened:
            _simulate(opened, place, failures, fail_fast, quiet)
            missing = opened.collect(lambda: _summarise(task.directory), task.study.trials)
    except KeyboardInterrupt:
        tell(f"interrupted; finished trials are kept in {task.directory}: the same command goes on from there")
        raise
    failures.conclude()
    _report(task, missing, quiet)


def _simulate(opened: "OpenSweep", place: "Backend", failures: Failures, fail_fast: bool, quiet: bool) -> None:
    counts = [len(trials) for trials in opened.missing]
    if not quiet:
        _announce(opened, sum(counts))
    failures.clear()
    with (
        Progress(counts, quiet=quiet) as progress,
        closing(opened.run(place, fail_fast=fail_fast)) as results,
    ):
        for result in results:
            progress.update(result)
            failures.update(result)


def _announce(opened: "OpenSweep", missing: int) -> None:
    wanted = opened.sweep.study.trials * len(opened.sweep.cells)
    if opened.stored.damaged:
        tell(f"{opened.stored.damaged} damaged lines of the journal are left out; their trials run again")
    if missing < wanted:
        tell(f"{wanted - missing:,} of {wanted:,} trials are there already, {missing:,} to run")


def _summarise(directory: Path) -> None:
    """Write `summary.csv` from `trials.csv`."""
    from cascadebai_cli.store.files import write_atomically
    from cascadebai_cli.store.summary import summarise_file
    from cascadebai_cli.store.trials import SUMMARY, TRIALS

    table = summarise_file(directory / TRIALS)
    write_atomically(directory / SUMMARY, [table.to_csv(index=False, lineterminator="\n")])


def _report(task: "Sweep", missing: int, quiet: bool) -> None:
    """Say where the tables are; end with exit code 1 if trials are missing."""
    if not quiet:
        typer.echo(f"tables: {task.directory}/trials.csv, summary.csv, timings.csv")
        typer.echo(f"next:   cascadebai fit {task.directory}; cascadebai plot {task.directory}")
    if missing:
        tell(f"{missing:,} trials are missing; a sweep without --collect runs them")
        raise typer.Exit(1)
