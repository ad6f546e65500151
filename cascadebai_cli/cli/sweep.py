"""`cascadebai sweep`: all trials of a study into a directory; goes on where an earlier sweep ended."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cascadebai_cli.cli.console import Terminal, end_with, say, tell
from cascadebai_cli.cli.options import (
    BackendName,
    Config,
    Jobs,
    MaxSteps,
    Plugins,
    Quiet,
    Seed,
    Settings,
    Trials,
    some_path,
)
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.text.clean import for_shell
from cascadebai_cli.text.numbers import count, duration

if TYPE_CHECKING:
    from cascadebai_cli.workflows.sweep import Missing, Request, Swept


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
    max_steps: MaxSteps = None,
    settings: Settings = None,
    plugin: Plugins = None,
    n_jobs: Jobs = -1,
    backend: Annotated[BackendName, typer.Option(help="Where trials run.")] = "loky",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler, with --backend dask.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move an earlier result aside and start over.")] = False,
    shard: Annotated[
        str | None,
        typer.Option(metavar="N/OF", help="Run this part of the trials only, such as 2/5; `merge` joins the parts."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what is missing.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Only list the cells and how far each is.")] = False,
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
    from cascadebai_cli.workflows import sweep as work

    if fresh + dry_run + status + collect > 1:
        raise ConfigError("--fresh, --dry-run, --status and --collect exclude each other; give one of them")
    place = work.Backend(backend, n_jobs, scheduler)
    part = {"shard": work.shard_of(shard)} if shard is not None else {}
    request = work.Request(config, out, work.Given(trials, seed, max_steps, plugin or (), settings or ()), **part)
    watch = Terminal(quiet=quiet)
    if dry_run:
        _print_missing(work.missing(request))
    elif status:
        _print_status(request)
    elif collect:
        _print_tables(work.collect(request), quiet, shard, "a sweep without --collect runs them")
    else:
        done = work.sweep(request, backend=place, fresh=fresh, fail_fast=fail_fast, watch=watch)
        _print_tables(done, quiet, shard, "the same command runs them again")


def _print_missing(found: "Missing") -> None:
    for cell, trials, wanted in found.cells:
        say(f"{cell.cell_id}  {trials} of {wanted} trials missing: {cell.label}")
    if found.seconds is not None:
        say(f"about {duration(found.seconds)} on one core, if a trial takes as long as those that are there did")
    trials = sum(trials for _, trials, _ in found.cells)
    say(
        f"{count(trials)} of {count(found.wanted)} trials are missing, "
        f"in {count(len(found.cells))} of {count(found.of_cells)} cells"
    )


def _print_status(request: "Request") -> None:
    from cascadebai_cli.workflows.status import status

    found = status(request)
    say(found.table)
    left = "" if found.seconds is None else f"; about {duration(found.seconds)} left on one core"
    say(f"{count(found.cells)} cells, {count(found.done)} of them done{left if found.done < found.cells else ''}")


def _print_tables(done: "Swept", quiet: bool, shard: str | None, remedy: str) -> None:
    """Say where the tables are; end with exit code 1 if trials are missing, and say what `remedy` is."""
    if not quiet:
        directory = for_shell(done.directory)
        say(f"tables: {done.directory}/trials.csv, summary.csv, timings.csv")
        if shard is None:
            say(f"next:   cascadebai fit {directory}; cascadebai plot {directory}")
        else:
            say(f"next:   cascadebai merge {directory} ... --out DIR, with the directories of the other shards")
    if done.missing:
        tell(f"{count(done.missing)} trials are missing; {remedy}")
    end_with(not done.missing)
