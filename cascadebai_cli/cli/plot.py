"""`cascadebai plot`: the figure of a study."""

from pathlib import Path
from typing import Annotated

import typer

from cascadebai_cli.cli.console import Terminal, end_with, say
from cascadebai_cli.cli.options import ResultDirectory, some_path


def plot(
    directory: ResultDirectory,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|DIR",
            parser=some_path,
            help="A .pdf, .png or .svg file, or a directory; DIR if not given.",
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="scaling, curves, bars, bounds or schematic; else as in CONFIG.")
    ] = None,
) -> None:
    """Draw the study's figure, ready for a paper, as PDF and PNG.

    `--kind bounds` sets the measured steps between the bounds of the theorems, `--kind schematic` shows the instances
    behind the lower bound; both are named after the study and the kind.
    """
    from cascadebai_cli.workflows import plot as work

    done = work.plot(directory, out=out, kind=kind, watch=Terminal())
    for path in done.files:
        say(path)
    end_with(done.whole)
