"""What a user reads: results on stdout, messages on stderr, whatever these can show."""

import os
import sys
from collections.abc import Callable, Sequence

import typer

from cascadebai_cli.cli.progress import Progress
from cascadebai_cli.text.clean import for_terminal


def prepare_streams() -> None:
    """Letters that the encoding of a stream lacks stand as `\\u4e00`; a stream that is closed swallows what it gets.

    Without the latter the next file to be opened would become stdout, and what others print would go into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8"))  # noqa: SIM115 - to the end of the process
        elif reconfigure := getattr(getattr(sys, name), "reconfigure", None):
            reconfigure(errors="backslashreplace")


def tell(text: str) -> None:
    """A message, on stderr."""
    typer.echo(for_terminal(text), err=True)


def say(text: object) -> None:
    """A result, on stdout."""
    typer.echo(for_terminal(str(text)))


def end_with(success: bool) -> None:
    """End with exit code 1 unless all went well."""
    if not success:
        raise typer.Exit(1)


class Terminal:
    """Shows what a workflow tells: a `Watch`.

    Args:
        quiet: show warnings only.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._progress: Progress | None = None

    def warn(self, text: str) -> None:
        """A line that is always shown."""
        if self._progress:
            self._progress.tell(for_terminal(text))
        else:
            tell(text)

    def remark(self, text: str) -> None:
        """A line for those who want to follow."""
        if not self._quiet:
            self.warn(text)

    def trials(self, missing: Sequence[int], so_far: Callable[[], str] | None = None) -> Progress:
        """A bar or lines."""
        self._progress = Progress(missing, tell, quiet=self._quiet, so_far=so_far)
        return self._progress
