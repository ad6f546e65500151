"""`cascadebai plan`: from a log of clicks and views to the number of page views that a test will take."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from cascadebai_cli.cli.console import Terminal, end_with, say
from cascadebai_cli.cli.options import Jobs, Quiet, path_of, some_path
from cascadebai_cli.planning.words import plan_in_words, question_in_words


def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE", parser=path_of("FILE"), help="The log, as CSV; - is stdin.")],
    items: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the items' names.")] = None,
    clicks: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the numbers of clicks; of 0 and 1 with --event.")
    ] = None,
    views: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of how often an item was looked at, not just served.")
    ] = None,
    position: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of where an item was shown, to correct the rates for.")
    ] = None,
    event: Annotated[bool, typer.Option("--event", help="Each row is one view of one item.")] = False,
    wide: Annotated[
        bool,
        typer.Option("--wide", help="Each column is an item, each row a page view: 1, 0, or empty if unseen."),
    ] = False,
    sep: Annotated[str | None, typer.Option(help="Between values, such as ';' or tab; found out if not given.")] = None,
    K: Annotated[int, typer.Option("-K", min=1, help="Number of items to find.")] = 5,
    page_size: Annotated[
        int | None, typer.Option(metavar="M", min=1, help="Number of items on a page; K if not given.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Largest probability of a wrong answer; 0.05, or 0.001 with a budget, if not given."),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Items so much below w(K) are good enough; chosen from a table if not given.")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="N", help="Say how likely all K are right after N page views, in place of a guarantee."),
    ] = None,
    sure: Annotated[
        float | None,
        typer.Option(metavar="CHANCE", help="Say after how many page views all K are right with so large a chance."),
    ] = None,
    truth: Annotated[
        Literal["posterior", "mean"],
        typer.Option(help="Rates of a run: drawn from what the log leaves open, or the expected ones."),
    ] = "posterior",
    learner: Annotated[
        list[str] | None,
        typer.Option(
            help="kl-lucb++, cascadebai-kl, cascadebai, and with a budget sar or uniform; repeatable; the first two, "
            "with a budget sar and uniform too, if not given."
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=2, help="Simulated runs of each learner; as many as half a minute allows if not given."),
    ] = None,
    per_day: Annotated[float | None, typer.Option(metavar="N", help="Page views a day, to know the days.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Root seed.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=some_path, help="What is written; results/plan_NAME_K5 if not given."),
    ] = None,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="What is printed.")] = "text",
    n_jobs: Jobs = -1,
    quiet: Quiet = False,
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
    done = work.plan(
        file,
        work.Layout(items, clicks, views, position, event=event, wide=wide, separator=sep),
        work.Wanted(K, delta, epsilon, truth, seed, page_size, work.page_views(budget), sure),
        work.Effort(learner or (), trials, per_day),
        backend=work.Backend(n_jobs=n_jobs),
        watch=watch,
        begin=begin,
    )
    end_with(not done.failed)
    written = work.write_plan(done, out, watch)
    say(json.dumps(work.as_json(done), indent=2, ensure_ascii=False) if form == "json" else plan_in_words(done))
    watch.remark(f"written: {written}")
