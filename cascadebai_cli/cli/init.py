"""`cascadebai init`: a commented config to begin with."""

from pathlib import Path
from typing import Annotated

import typer

from cascadebai_cli.cli.console import say
from cascadebai_cli.cli.options import path_of
from cascadebai_cli.text.clean import for_shell


def init(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", parser=path_of("FILE"), help="What is written; study.yaml if not given."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="CSV",
            parser=path_of("--from"),
            help="A row an item, with clicks and views or rates: these are the weights.",
        ),
    ] = None,
) -> None:
    """Write a config with a comment at each key. Nothing is asked, and no file is overwritten."""
    from cascadebai_cli.workflows.init import write_starter

    written = write_starter(path, source)
    say(f"written: {written}")
    file = for_shell(written)
    say(f"next:    cascadebai check {file}; cascadebai sweep {file}")
