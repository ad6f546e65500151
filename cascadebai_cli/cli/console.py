"""The terminal: progress, messages and results."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import typer

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.running.watch import LINE_SECONDS, Watch, now_and_then
from cascadebai_cli.text import for_terminal

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from cascadebai_cli.running.watch import Follower


# --- What a user reads: results on stdout and messages on stderr, whatever letters these can show -------------------


def prepare_streams() -> None:
    """Make streams write letters that their encoding lacks as `\\u4e00`, and replace closed streams by the null device.

    Else the next file to be opened could take the place of a closed stdout, and printed text would go into it.
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
    """Print a message, on stderr."""
    typer.echo(for_terminal(text), err=True)


def say(text: object) -> None:
    """Print a result, on stdout; if its reader has enough, as `head -1` has, the rest is printed nowhere."""
    try:
        typer.echo(for_terminal(str(text)))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def end_with(success: bool) -> None:
    """End with exit code 1 unless all went well."""
    if not success:
        raise typer.Exit(1)


@contextmanager
def debugger(wanted: bool) -> Iterator[None]:
    """If wanted, open Python's debugger where an error was raised in the block, and then end with exit code 1.

    Errors of usage stay what they are.
    """
    try:
        yield
    except (ConfigError, KeyboardInterrupt, typer.Exit):
        raise
    except BaseException as error:
        if not wanted:
            raise
        import pdb
        import traceback

        tell("".join(traceback.format_exception(error)).rstrip())
        pdb.post_mortem(error.__traceback__)
        raise typer.Exit(1) from None


# --- What a user sees while trials run, on stderr: a bar on a terminal, else a plain line now and then --------------

_LONGEST_BAR = 20
"""Largest width of the bar in columns; on a narrow terminal it is a sixth of the width."""
_NO_BARS = ("dumb", "unknown")
"""Kinds of terminals that cannot overwrite a line."""


class Terminal(Watch):
    """Shows the messages of a workflow, and how far its trials are.

    Args:
        quiet: show warnings only.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Bar | None = None

    def warn(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        if self._bar:
            self._bar.console.print(for_terminal(text), markup=False, highlight=False, soft_wrap=True)
        else:
            tell(text)

    def remark(self, text: str) -> None:
        """Print a line, unless `quiet`."""
        if not self._quiet:
            self.warn(text)

    def progress(self, run: "Follower") -> AbstractContextManager[Callable[[], None] | None]:
        """Show a bar, or lines now and then."""
        if self._quiet or not run.trials:
            return super().progress(run)
        if sys.stderr.isatty() and os.environ.get("TERM") not in _NO_BARS:
            return self._drawn(run)
        return now_and_then(LINE_SECONDS, lambda: tell(run.line()))

    @contextmanager
    def _drawn(self, run: "Follower") -> Iterator[Callable[[], None]]:
        bar = self._bar = _bar(run.trials)

        def show() -> None:
            room = bar.console.width - _bar_width(bar.console.width) - 1
            bar.update(bar.task_ids[0], completed=run.done, total=run.trials, text=run.line(room))

        show()
        bar.start()
        try:
            yield show
        except KeyboardInterrupt:
            bar.live.transient = True  # the `^C` that a terminal prints moves the bar, so that it cannot be overwritten
            raise
        finally:
            bar.stop()
            self._bar = None


def _bar(trials: int) -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    text = TextColumn("{task.fields[text]}", markup=False)
    bar = Bar(BarColumn(bar_width=_bar_width(console.width)), text, console=console)
    bar.add_task("", total=trials, text="")
    return bar


def _bar_width(columns: int) -> int:
    return min(_LONGEST_BAR, columns // 6)
