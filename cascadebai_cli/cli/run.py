"""`cascadebai run`: a few cells of a study, printed and not kept."""

from typing import Annotated

import typer

from cascadebai_cli.cli.cell_report import cell_report
from cascadebai_cli.cli.completion import names_in
from cascadebai_cli.cli.console import Terminal, end_with, say
from cascadebai_cli.cli.options import Config, Jobs, MaxSteps, Plugins, Quiet, Seed, Settings, Trials


def run(
    config: Config,
    instance: Annotated[
        str | None, typer.Option(autocompletion=names_in("instances"), help="Only this instance.")
    ] = None,
    learner: Annotated[str | None, typer.Option(autocompletion=names_in("learners"), help="Only this learner.")] = None,
    L: Annotated[int | None, typer.Option("--L", help="Only this number of items.")] = None,
    K: Annotated[int | None, typer.Option("--K", help="Only this number of items to find.")] = None,
    delta: Annotated[float | None, typer.Option(help="Only this risk.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Only this tolerance.")] = None,
    budget: Annotated[int | None, typer.Option(help="Only this number of steps, of a study with budgets.")] = None,
    cell_id: Annotated[str | None, typer.Option("--cell", metavar="ID", help="Only the cell of this id.")] = None,
    trials: Trials = None,
    trial: Annotated[
        int | None, typer.Option("--trial", min=0, help="Run only the trial of this number, as a sweep does.")
    ] = None,
    seed: Seed = None,
    max_steps: MaxSteps = None,
    settings: Settings = None,
    plugin: Plugins = None,
    n_jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Run one cell of a study, or a few, and print what came out; of several a table at the end."""
    from cascadebai_cli.workflows import run as work

    done = work.run(
        config,
        work.Choice(instance, learner, L, K, delta, epsilon, budget, cell_id),
        given=work.Given(trials, seed, max_steps, plugin or (), settings or ()),
        trial=trial,
        backend=work.Backend(n_jobs=n_jobs),
        watch=Terminal(quiet=quiet),
        each=lambda cell: say(cell_report(cell)),
    )
    if done.table and len(done.cells) > 1:
        say(f"\n{done.table}")
    end_with(not done.failed)
