"""The verbs of `cascadebai live`: a test on a live page."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cascadebai_cli.cli.console import path_option, path_parser, say, tell
from cascadebai_cli.text import count, for_shell

if TYPE_CHECKING:
    from cascadebai_cli.live.live import Live

_Directory = Annotated[
    Path, typer.Argument(metavar="DIR", parser=path_parser("DIR"), help="Directory that keeps the test.")
]
_Column = Annotated[str | None, typer.Option(metavar="COLUMN", help="What this column is called in the file.")]
_Form = Annotated[Literal["text", "json"], typer.Option("--format", help="How the status is printed.")]

live = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run a test on a live page: start it, show pages, take clicks, and see when it is over.",
)


def _verb(example: str) -> Callable[[Any], Any]:
    """Return a decorator that makes the verb with which an example begins."""
    return live.command(example.split()[0], epilog=f"Example: cascadebai live {example}")


@_verb("start captions --items names.txt -K 5 --delta 0.1 --page-size 5")
def _start(
    directory: _Directory,
    items: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAMES", help="A file with a name on each line, or names with commas between; or see --log."
        ),
    ] = None,
    K: Annotated[int, typer.Option("-K", help="Number of items to find.")] = 5,
    delta: Annotated[float, typer.Option(help="Risk of a wrong answer.")] = 0.1,
    epsilon: Annotated[float, typer.Option(help="By how much a click rate may miss the K-th best.")] = 0.0,
    page_size: Annotated[int | None, typer.Option(help="Number of items on a page; K if not given.")] = None,
    stopping: Annotated[
        Literal["bounds", "posterior"],
        typer.Option(help="bounds keeps the risk for any click rates; posterior ends sooner, and keeps it on average."),
    ] = "bounds",
    prior: Annotated[
        Literal["uniform", "jeffreys", "log"],
        typer.Option(help="What posterior believes at first: of each rate alike, or as the rates of the log are."),
    ] = "uniform",
    log: Annotated[Path | None, path_option("--log", "FILE", "Start with the clicks and views of this log.")] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Its columns, if they are not item,clicks,views,position.")
    ] = None,
    reads: Annotated[
        Literal["click", "page"],
        typer.Option(
            help="What counts: the items down to the first click, if people look from the top; or all items of a page, "
            "clicked or not, which then have a random order."
        ),
    ] = "click",
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn.")] = 0,
) -> None:
    """Make a new test in a new directory."""
    from cascadebai_cli.live import files as work

    terms = {"K": K, "delta": delta, "epsilon": epsilon, "page_size": page_size}
    made = work.start(directory, items, log, columns, **terms, stopping=stopping, prior=prior, reads=reads, seed=seed)
    for note in made.notes:
        tell(note)
    say(f"a test of {count(len(made.terms.items))} items: {directory}")
    say(f"next: cascadebai live show {for_shell(directory)} -n 100")


def _opened(directory: Path) -> "Live":
    from cascadebai_cli.live.live import Live

    return Live.open(directory)


@_verb("show captions -n 1000 --out monday.csv")
def _show(
    directory: _Directory,
    n: Annotated[int, typer.Option("-n", min=1, max=100_000, help="Number of pages.")] = 1,
    out: Annotated[Path | None, path_option("--out", "FILE", "Write them to this file instead of stdout.")] = None,
) -> None:
    """Give out the next pages, as CSV with the columns page, position and item."""
    from cascadebai_cli.live import files as work

    test = _opened(directory)
    text = work.show(test, n, out)
    say(text.rstrip("\n") if out is None else f"written: {out}")
    _tell_if_over(test, directory)


def _tell_if_over(test: "Live", directory: Path) -> None:
    if test.done:
        tell(f"the test is over; `cascadebai live stop {for_shell(directory)}` prints the answer")


@_verb("take captions clicks.csv")
def _take(
    directory: _Directory,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", parser=path_parser("FILE"), help="The clicks, as CSV; - is stdin.")
    ],
    page: _Column = None,
    items: _Column = None,
    position: _Column = None,
    clicks: _Column = None,
    separator: Annotated[str | None, typer.Option("--sep", help="Separator of values; detected if not given.")] = None,
) -> None:
    """Take clicks: a CSV file with a row for each page: page and item (or position) of the click, empty for no click.

    The columns that `show` writes and a column clicked with 0 and 1 do as well, or a column for each item with 0, 1 or
    nothing, which counts as 0 only in a file that has no 0 at all. Columns with other names are named as for `plan`. A
    page without a row stays open. If a row is wrong, nothing of the file is taken; a page may be taken again with the
    same clicks.
    """
    from cascadebai_cli.live import files as work

    test = _opened(directory)
    names = {"page": page, "item": items, "position": position, "clicked": clicks}
    new, pages = work.take(test, file, names, separator)
    known = f"; {count(pages - new)} known before" if pages > new else ""
    say(f"{count(new)} page{'s' * (new != 1)} taken{known}")
    _tell_if_over(test, directory)


@_verb("status captions --format json")
def _status(
    directory: _Directory,
    picture: Annotated[
        Path | None, path_option("--picture", "FILE", "Draw the intervals against page views: .png, .pdf or .svg.")
    ] = None,
    form: _Form = "text",
) -> None:
    """Print how far the test is: items, page views, how many more it takes, and whether the page is as assumed."""
    from cascadebai_cli.live import files as work

    test = _opened(directory)
    if picture is not None:
        work.draw_to(test, picture)
    say(work.status_of(test, form))


@_verb("stop captions")
def _stop(directory: _Directory) -> None:
    """Print the answer, a name on each line, the best first; the test may go on all the same."""
    test = _opened(directory)
    say("\n".join(test.best))
    if not test.done:
        tell("warning: the test is not done, so that the risk of this answer is not known to be as small as asked for")


@_verb("rehearse captions --rates rates.csv --delay 500 --lost 0.1")
def _rehearse(
    directory: _Directory,
    rates: Annotated[Path, path_option("--rates", "FILE", "CSV file with the columns item and rate.")],
    pages: Annotated[int, typer.Option(min=1, help="Most page views.")] = 10_000,
    delay: Annotated[int, typer.Option(min=0, help="Page views until the clicks of a page are told.")] = 0,
    lost: Annotated[float, typer.Option(help="Share of pages that are never told.")] = 0.0,
    users: Annotated[
        str, typer.Option(metavar="KIND[=NUMBER]", help="Users: cascade, position-based=0.7, dependent-click=0.5, ...")
    ] = "cascade",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the users.")] = 0,
    form: _Form = "text",
) -> None:
    """Try the test of DIR with simulated users and print its status at the end; DIR itself stays as it is.

    The rehearsal begins as the test began: with the counts of its log, and without the clicks that were taken.
    """
    from cascadebai_cli.live import files as work

    say(work.status_of(work.rehearse(_opened(directory), rates, pages, delay, lost, users, seed), form))
