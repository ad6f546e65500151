"""The command line: its verbs and exit codes, with errors as one line."""

import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from cascadebai_cli.cli.console import completed, tell
from cascadebai_cli.cli.live import live
from cascadebai_cli.cli.verbs import (
    bounds,
    check,
    fit,
    init,
    merge,
    plan,
    plot,
    report,
    run,
    schema,
    summary,
    sweep,
    verify,
)
from cascadebai_cli.errors import INTERRUPTED, CascadeError, of_removed_folder
from cascadebai_cli.running.interrupts import one_interrupt
from cascadebai_cli.version import __version__

EXAMPLES: Mapping[Callable[..., None], str] = MappingProxyType(
    {
        init: "init mine.yaml --from clicks.csv",
        check: "check configs/smoke.yaml --set trials=100",
        run: "run configs/smoke.yaml --instance 'setting 1' --K 6 --trials 100",
        sweep: "sweep configs/table1.yaml --set delta=0.05 --out results/table1_005",
        merge: "merge results/part1 results/part2 --out results/whole",
        summary: "summary results/table1 --where K=20,60 --sort -mean_steps --format markdown",
        fit: "fit results/table1 --format latex",
        plot: "plot results/table1 --instances 'setting 1' --width column --out figure3.pdf",
        plan: "plan clicks.csv --items item --clicks clicks --views views -K 4",
        bounds: "bounds configs/table1.yaml --format csv",
        report: "report results/table1 results/figure2 --out report.html",
        verify: "verify --only table1",
        schema: "schema config",
    }
)
"""Verb -> an example of it, in the order of the help."""

_VERBS = {verb.__name__: verb for verb in EXAMPLES}
_PATIENCE = 15.0
"""Seconds after Ctrl-C after which a process that cannot end its workers ends itself; the workers then end too."""
_LONGEST_VALUE = 99
"""Largest number of letters of a value that a message echoes."""
_LIMITS = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)


class _Verb(TyperCommand):
    """A verb that the help of the program only names: its options are made when it is used or explained."""

    def make_context(self, *words: Any, **more: Any) -> Any:
        """Return the context of the verb with its options."""
        return self.made().make_context(*words, **more)

    def made(self) -> Any:
        """Return the command with its options."""
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)
        alone.command(self.name, epilog=self.epilog)(completed(_VERBS[str(self.name)]))
        return typer.main.get_command(alone)


class _Verbs(TyperGroup):
    """The verbs; of a value that an option does not take, one sentence says what it is and what would be right."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb of a command line."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _of_value(error)
            raise


def _of_value(error: typer.BadParameter) -> str:
    """Return the message without words of the package that has checked the value, and with the value."""
    text = error.message.removeprefix("Value error, ")
    faults = getattr(error.__cause__, "errors", None)
    if not (faults and text.startswith("Input should ")):
        return text
    value = str(faults()[0]["input"])[:_LONGEST_VALUE]
    return f"{value!r} {text.removeprefix('Input ').partition(',')[0]}."


app = typer.Typer(
    name="cascadebai",
    cls=_Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb, example in EXAMPLES.items():
    app.command(verb.__name__, cls=_Verb, help=verb.__doc__, epilog=f"Example: cascadebai {example}")(lambda: None)

app.add_typer(live, name="live")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cascadebai {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Best arm identification for cascading bandits: simulate, fit and plot.

    Exit codes: 0 all done, 1 something failed or some trial is missing, 2 bad usage or config, 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line, by default that of the process, and exit; errors for users become one line on stderr."""
    _prepare_streams()
    os.environ["MPLBACKEND"] = "agg"  # figures are files, so that a backend for windows is neither needed nor wanted
    try:
        with one_interrupt(_PATIENCE):
            app(arguments, prog_name="cascadebai")
    except CascadeError as error:
        gone = of_removed_folder()
        tell(f"error: {error}{f' ({gone})' if gone and str(gone) != str(error) else ''}")
        sys.exit(error.exit_code)
    except OSError as error:
        gone = of_removed_folder(error)
        _give_up(str(gone) if gone else _explained(error), gone)
    except MemoryError:
        _give_up("there is not enough memory for this; run fewer trials or cells at a time")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _prepare_streams() -> None:
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


def _explained(error: OSError) -> str:
    """Return a sentence about an error that no command has explained: a limit of the machine, or a broken stdout."""
    if error.errno in _LIMITS:
        return f"{error.strerror}: this machine allows no more; raise its limit (ulimit), or use a smaller --n-jobs"
    if error.filename is None:
        return f"{error.strerror or error}; the output could not be written, send it to another place"
    return f"{error.filename}: {error.strerror or error}; give a place that may be read and written"


def _give_up(text: str, error: CascadeError | None = None) -> None:
    tell(f"error: {text}")
    sys.exit((error or CascadeError).exit_code)
