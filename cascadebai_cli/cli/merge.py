"""`cascadebai merge`: shards of a grid from several machines become one result directory."""

from pathlib import Path
from typing import Annotated

import typer

from cascadebai_cli.cli.console import Terminal, end_with, say, tell
from cascadebai_cli.cli.options import Quiet, ResultDirectories, some_path
from cascadebai_cli.text.numbers import count


def merge(
    directories: ResultDirectories,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", parser=some_path, help="A new directory for all rows.")
    ],
    quiet: Quiet = False,
) -> None:
    """Join the shards of a grid, or sweeps of its parts, in one directory, as if one machine had run them all.

    They must have the same seed, the same versions of the engines, and the same content wherever two of them have
    the same cell or learner; a trial that two of them hold must have ended in the same way. The directories are left as
    they are.
    """
    from cascadebai_cli.workflows import merge as work

    done = work.merge(directories, out=out, watch=Terminal(quiet=quiet))
    if not quiet:
        say(f"{count(done.rows)} trials: {done.directory}/trials.csv, summary.csv, timings.csv")
    if done.missing:
        tell(f"{count(done.missing)} trials are missing; merge more shards, or sweep the whole config into {out}")
    end_with(not done.missing)
