"""`cascadebai verify`: does this code still give the numbers of the reference?"""

from pathlib import Path
from typing import Annotated

import typer

from cascadebai_cli.cli.console import Terminal, end_with, say
from cascadebai_cli.cli.options import Jobs, path_of


def verify(
    reference: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            parser=path_of("--reference"),
            help="Directory with a result directory for each artefact.",
        ),
    ] = Path("results/reference"),
    configs: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            parser=path_of("--configs"),
            help="Folder from which the data files of their configs count.",
        ),
    ] = Path("configs"),
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this artefact; may be repeated.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Root seed of the fresh trials; a new one if not given.")
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=3, help="Fresh trials a cell.")] = 20,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="MODULE:NAME",
            help="Import this learner or family that the reference names, instead of skipping it; repeatable.",
        ),
    ] = None,
    n_jobs: Jobs = -1,
) -> None:
    """Compare this code with the committed reference; exit code 1 if something has moved.

    (1) Bit for bit: a fixed set of trials of every artefact is run again and must give the same rows. (2) By
    statistics: fresh trials of the same cells must have the same mean steps; if nothing has moved, the probability
    of an alarm is at most 0.1 % a call. Before both, the tables must follow from the committed rows.
    """
    from cascadebai_cli.workflows import verify as work

    done = work.verify(
        reference,
        configs=configs,
        only=only or (),
        seed=seed,
        trials=trials,
        plugins=plugin or (),
        backend=work.Backend(n_jobs=n_jobs),
        watch=Terminal(),
    )
    for line in done.moved:
        say(f"moved: {line}")
    end_with(not done.moved)
    say(f"nothing has moved in {', '.join(done.artefacts)}")
