"""`cascadebai schema`: JSON Schema for editors and other programs."""

from typing import Annotated, Literal

import typer

from cascadebai_cli.cli.console import say


def schema(
    kind: Annotated[
        Literal["config", "plan", "manifest"],
        typer.Argument(metavar="config|plan|manifest", help="What is described."),
    ],
) -> None:
    """Print the JSON Schema of a config, a plan.json or a manifest.json, made from what validates them.

    Editors complete and check a config that begins with the line `# yaml-language-server: $schema=FILE`.
    """
    from cascadebai_cli.workflows.schema import schema_text

    say(schema_text(kind))
