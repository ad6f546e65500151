"""`cascadebai report`: one page about some result directories."""

from pathlib import Path
from typing import Annotated

import typer

from cascadebai_cli.cli.console import Terminal, end_with, say
from cascadebai_cli.cli.options import ResultDirectories, some_path


def report(
    directories: ResultDirectories,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", parser=some_path, help="The page.")] = Path(
        "report.html"
    ),
    title: Annotated[str | None, typer.Option(help="Heading of the page; that of the studies if not given.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE,...", help="Only cells with one of these values; repeatable."),
    ] = None,
) -> None:
    """Write one page with claims, figures, their data, settings and run times; it needs no network and no script."""
    from cascadebai_cli.workflows import report as work

    done = work.report(directories, out=out, title=title, where=where or (), watch=Terminal())
    say(done.file)
    end_with(done.whole)
