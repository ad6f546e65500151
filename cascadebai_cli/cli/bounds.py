"""`cascadebai bounds`: what the theorems promise for each cell of a study, beside what was measured."""

from pathlib import Path
from typing import Annotated

import typer

from cascadebai_cli.cli.console import Terminal, say
from cascadebai_cli.cli.options import Config, Format, path_of


def bounds(
    config: Config,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", parser=path_of("--csv"), help="Write the table to this file as well."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=path_of("--results"),
            help="Directory of a sweep; results/NAME OF CONFIG if it exists.",
        ),
    ] = None,
    printed: Annotated[
        bool, typer.Option("--printed", help="Constant 216 in T-bar, as printed, instead of 256 sigma^2.")
    ] = False,
    sharp: Annotated[
        bool,
        typer.Option("--sharp", help="The sharp lower bound as well; seconds for each instance of many weights."),
    ] = False,
    form: Format = "text",
) -> None:
    """Print the lower and the upper bound on the number of steps, and how far the measured mean is from both.

    Of a study with budgets, print the bound on the chance of an error after each, and the budget that is enough for
    delta by that bound.

    The lower bounds hold for the mean of any algorithm, the upper one for CascadeBAI with probability 1 - delta.
    """
    from cascadebai_cli.workflows import bounds as work

    bounded = work.bounds(config, results=results, csv=csv, printed=printed, sharp=sharp, watch=Terminal())
    say(work.in_format([bounded.table], form))
