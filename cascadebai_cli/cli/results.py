"""What `fit` and `plot` say about a result directory before and after their work."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from cascadebai_cli.store.directory import Results


def warn(results: "Results") -> None:
    """Point out missing and capped trials on stderr."""
    from cascadebai_cli.store.directory import capped_trials, missing_trials

    for sentence in (*missing_trials(results), *capped_trials(results)):
        typer.echo(f"warning: {results.directory}: {sentence}", err=True)


def finish(results: "Results") -> None:
    """End with exit code 1 if trials are missing: what was written rests on less than the config asks for."""
    from cascadebai_cli.store.directory import missing_trials

    if missing_trials(results):
        raise typer.Exit(1)
