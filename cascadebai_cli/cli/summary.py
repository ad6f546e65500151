"""`cascadebai summary`: the cells of a result directory."""

from typing import Annotated

import typer

from cascadebai_cli.cli.console import Terminal, end_with, say
from cascadebai_cli.cli.options import Average, Format, ResultDirectory


def summary(
    directory: ResultDirectory,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE,...", help="Only cells with one of these values; repeatable."),
    ] = None,
    sort: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Sort by it, -COLUMN for the largest first; repeatable.")
    ] = None,
    average: Average = None,
    form: Format = "text",
) -> None:
    """Print the cells of a sweep: mean steps and error rate, each with its 95 % interval.

    A mean with capped trials is a lower limit.
    """
    from cascadebai_cli.workflows import summary as work

    done = work.summary(directory, where=where or (), sort=sort or (), average=average, watch=Terminal())
    say(work.in_format([done.table], form))
    end_with(done.whole)
