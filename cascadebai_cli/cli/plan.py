"""`cascadebai plan`: from a log of clicks and views to the number of page views that a test will take."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cascadebai_cli.cli.console import Terminal, end_with, say
from cascadebai_cli.cli.options import Jobs, Quiet, path_parser, some_path, with_options
from cascadebai_cli.planning.options import OPTIONS, read_options
from cascadebai_cli.planning.words import plan_in_words, question_in_words


@with_options(*OPTIONS)
def plan(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", parser=path_parser("FILE"), help="The log, as CSV; - is stdin.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=some_path, help="What is written; results/plan_NAME_K5 if not given."),
    ] = None,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="What is printed.")] = "text",
    n_jobs: Jobs = -1,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Tell from measured clicks how many page views it takes to find the best K items, and what that costs.

    With --budget or --sure: how likely it is that all K are right after so many page views.

    Each simulated run draws the rates from what the log leaves open; a page is read from the top to the first
    click.
    """
    from cascadebai_cli.planning import files as work

    watch = Terminal(quiet=quiet)

    def begin(asked: work.Plan) -> None:
        work.refuse_other(asked, out)
        if form == "text":
            say(question_in_words(asked.question))

    work.refuse_unwritable(out)
    layout, wanted = read_options(given)
    done = work.plan(file, layout, wanted, backend=work.Backend(n_jobs=n_jobs), watch=watch, begin=begin)
    end_with(not done.failed)
    written = work.write_plan(done, out, watch)
    say(json.dumps(work.as_json(done), indent=2, ensure_ascii=False) if form == "json" else plan_in_words(done))
    watch.remark(f"written: {written}")
