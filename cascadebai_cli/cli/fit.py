"""`cascadebai fit`: the tables that go with a study's figure."""

from typing import Annotated

import typer

from cascadebai_cli.cli.console import Terminal, end_with, say
from cascadebai_cli.cli.options import Format, ResultDirectory


def fit(
    directory: ResultDirectory,
    form: Format = "text",
    allow_capped: Annotated[
        bool, typer.Option("--allow-capped", help="Fit means of trials that reached the cap too, and mark the fit.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Write the files, print no table.")] = False,
) -> None:
    """Fit the mean number of steps against K, compare learners, and print the published values beside ours.

    Writes DIR/fits.csv (the model that the config names), DIR/models.csv (all models) and, for two-level instances,
    DIR/bound_fits.csv (the same model fitted to the upper bound); for a study whose plot is of the kind `curves`
    DIR/ratios.csv, of the kind `bars` DIR/orders.csv. A mean with trials that reached the cap is a lower limit: curves
    with such means are not fitted.
    """
    from cascadebai_cli.workflows import fit as work

    done = work.fit(directory, allow_capped=allow_capped, watch=Terminal())
    if not quiet:
        say(work.in_format(done.tables, form))
    end_with(done.whole)
