"""What the verbs share: messages and progress on the terminal, options, and their completion in a shell."""

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.running.watch import LINE_SECONDS, Watch, now_and_then
from cascadebai_cli.text import FormatName, for_terminal, values_of

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from cascadebai_cli.options import Option
    from cascadebai_cli.running.watch import Follower


# --- What a user reads: results on stdout, messages on stderr -------------------------------------------------------


def tell(text: str) -> None:
    """Print a message, on stderr."""
    typer.echo(for_terminal(text), err=True)


def say(text: object) -> None:
    """Print a result, on stdout; if its reader has enough, as `head -1` has, the rest is printed nowhere."""
    try:
        typer.echo(for_terminal(str(text)))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


# --- Completion in a shell: configs, result directories, names of a config ------------------------------------------

_SUFFIXES = (".yaml", ".yml")


def configs(incomplete: str) -> list[str]:
    """Return YAML files, and directories that may hold some."""
    return [text for text, path in _paths(incomplete) if path.is_dir() or path.suffix in _SUFFIXES]


def _result_directories(incomplete: str) -> list[str]:
    """Return directories of sweeps, and others that may hold some."""
    from cascadebai_cli.workflows.choices import is_result_directory

    folders = [(text, path) for text, path in _paths(incomplete) if path.is_dir()]
    return [text.rstrip("/") if is_result_directory(path) else text for text, path in folders]


def _names_under(key: Literal["instances", "learners"]) -> Callable[[typer.Context, str], list[str]]:
    """Return the completion by names of the entries under a key of the config that is on the same command line."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        from cascadebai_cli.workflows.choices import names_in

        config = context.params.get("config") or _typed_config(context)
        return [name for name in names_in(Path(str(config)), key) if name.startswith(incomplete)] if config else []

    return complete


def _columns(way: str) -> Callable[[typer.Context, str], list[str]]:
    """Return the completion by columns of the directory on the same command line, or by conditions on them."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        from cascadebai_cli.workflows.choices import columns_of

        return columns_of([Path(word) for word in (context.parent.args if context.parent else [])], way, incomplete)

    return complete


def _typed_config(context: typer.Context) -> str | None:
    """Return the config among the words, as arguments are not parsed while an option waits for its value."""
    words = context.parent.args if context.parent else []
    return next((word for word in words if Path(word).suffix in _SUFFIXES), None)


def _paths(incomplete: str) -> Iterator[tuple[str, Path]]:
    """Yield the visible entries of a folder that begin so, as they would be typed, directories with a slash."""
    folder, slash, start = incomplete.rpartition("/")
    place = Path(folder or slash or ".")
    try:
        found = sorted(place.iterdir())
    except OSError:
        return
    for path in found:
        if path.name.startswith(start) and not path.name.startswith("."):
            yield f"{folder}{slash}{path.name}{'/' * path.is_dir()}", path


# --- Options that several verbs share -------------------------------------------------------------------------------

Config = Annotated[Path, typer.Argument(metavar="CONFIG", autocompletion=configs, help="A study, as YAML.")]
TrialCount = Annotated[
    int | None, typer.Option("--trials", min=1, help="Trials of each cell, instead of those of CONFIG.")
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Root seed, instead of that of CONFIG.")]
MaxSteps = Annotated[
    int | None, typer.Option("--max-steps", min=1, help="Cap on the steps of a trial, instead of that of CONFIG.")
]
Jobs = Annotated[
    int,
    typer.Option("--n-jobs", help="Number of processes; -1 is one per core, -2 one less, and so on, but at least one."),
]
TrialTimeoutOption = Annotated[
    float | None, typer.Option("--trial-timeout", metavar="SECONDS", min=0.001, help="A trial that takes longer fails.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no remarks.")]
Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="MODULE:CLASS", help="Add a learner of your own to those of CONFIG; repeatable."),
]
SetValues = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Replace a value of CONFIG, such as instances.0.w_star=0.4; repeatable."
    ),
]
OneInstance = Annotated[
    str | None,
    typer.Option("--instance", "--instances", autocompletion=_names_under("instances"), help="Only this instance."),
]
OneLearner = Annotated[
    str | None,
    typer.Option("--learner", "--learners", autocompletion=_names_under("learners"), help="Only this learner."),
]
Format = Annotated[FormatName, typer.Option("--format", help="How tables are printed; csv and json hold all columns.")]

_LONGEST_PATH = 4095
"""Longest path in bytes; no system has a longer one."""


class _NoPath(CascadeError):
    """A text that is no path. It is no `ConfigError`, as Typer replaces the sentence of any `ValueError`."""

    exit_code = ConfigError.exit_code


def path_parser(name: str) -> Callable[[str], Path]:
    """Return the parser for the path of an option or an argument.

    It refuses an empty path, as from an unset shell variable, which would silently mean the current directory.
    """
    way_out = f", or do not give {name}" if name.startswith("-") else ""

    def parse(text: str) -> Path:
        if not text:
            raise _NoPath(f"{name} is empty; name a file or a directory{way_out}")
        if "\0" in str(text) or len(os.fsencode(text)) > _LONGEST_PATH:  # a default is a path already
            raise _NoPath(f"{name} {text[:20]}... is no path: too long, or with a zero byte; name a shorter one")
        return Path(text)

    return parse


def path_option(flag: str, metavar: str, help: str) -> Any:
    """Return an option that takes a path."""
    return typer.Option(flag, *_SHORT.get(flag, ()), metavar=metavar, parser=path_parser(flag), help=help)


_SHORT = {"--out": ("-o",), "--csv": ("-o",)}
"""Option that names what is written -> its short name."""

Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=VALUE,...",
        autocompletion=_columns("condition"),
        help="Only cells with one of these values; repeatable.",
    ),
]
ResultDirectory = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", parser=path_parser("DIR"), autocompletion=_result_directories, help="Directory of a sweep."
    ),
]
ResultDirectories = Annotated[
    list[Path],
    typer.Argument(
        metavar="DIR...", parser=path_parser("DIR"), autocompletion=_result_directories, help="Directories of sweeps."
    ),
]


# --- Options of records ---------------------------------------------------------------------------------------------

_Verb = TypeVar("_Verb", bound=Callable[..., None])

_RECORDS: dict[Callable[..., None], Callable[[], Sequence[type]]] = {}
"""Verb -> what returns the records of its options, which only the verb itself and its own help import."""


def with_options(records: Callable[[], Sequence[type]]) -> Callable[[_Verb], _Verb]:
    """Return a decorator that gives a verb the options of records, behind its argument; it gets them as `**given`."""

    def give(verb: _Verb) -> _Verb:
        _RECORDS[verb] = records
        return verb

    return give


def completed(verb: _Verb) -> _Verb:
    """Return a verb with the options of its records in its signature."""
    if verb in _RECORDS:
        from cascadebai_cli.options import record_options

        argument, *own, _ = inspect.signature(verb).parameters.values()
        made = [_parameter(one) for one in record_options(*_RECORDS.pop(verb)())]
        verb.__signature__ = inspect.Signature([argument, *made, *own])  # type: ignore[attr-defined]
    return verb


def _parameter(one: "Option") -> inspect.Parameter:
    kind = one.read_as or _TYPED.get(get_origin(one.kind), one.type)
    offered = one.offered and (lambda incomplete: [value for value in one.offered if value.startswith(incomplete)])
    complete = _columns(one.completed) if one.completed else offered or None
    flags = [one.flag, *filter(None, [one.alias])]
    default = typer.Option(
        one.default, *flags, metavar=one.metavar, min=one.least, help=one.meaning, autocompletion=complete
    )
    return inspect.Parameter(one.name, _BY_NAME, default=default, annotation=kind)


_BY_NAME = inspect.Parameter.POSITIONAL_OR_KEYWORD
_TYPED: dict[Any, Any] = {tuple: list[str] | None, dict: list[str] | None, list: str | None}
"""How the command line reads a field of several values: as an option that is repeated, or as one with commas."""


def keys_of(record: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a record that were given, as the values that a config would have."""
    from cascadebai_cli.options import record_options

    return {one.name: _as_key(one, value) for one in record_options(record) if (value := given[one.name]) is not None}


def _as_key(one: "Option", given: Any) -> Any:
    kind = get_origin(one.kind) or one.kind
    if kind is list:
        return [] if given == "none" else values_of(given)
    if kind is dict:
        plain = get_args(one.kind)[1] is str
        return {key: text if plain else list(map(_scalar, values_of(text))) for key, text in _pairs(one.flag, given)}
    return _scalar(given) if kind is float and isinstance(given, str) else given


def _pairs(flag: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    seen = set[str]()
    for name, equals, value in (text.partition("=") for text in texts):
        if not (name and equals and value):
            raise ConfigError(f"{flag} {name}{equals}{value} is no NAME=VALUE; write for example {flag} K=2")
        if name in seen:
            raise ConfigError(f"{flag} {name}={value}: {name} is named twice; name it once")
        seen.add(name)
        yield name, value


def _scalar(text: str) -> str | int | float:
    """Return a text as a number if it is one, as YAML would."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
