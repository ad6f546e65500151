"""`cascadebai plan`: from a log of clicks and views to the number of page views that a test will take."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cascadebai_cli.cli.console import Terminal, end_with, say
from cascadebai_cli.cli.options import Jobs, Quiet
from cascadebai_cli.text.numbers import count

if TYPE_CHECKING:
    from cascadebai_cli.workflows.plan import Plan, Question


def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="One row an item, with a header row.")],
    items: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the items' names.")],
    clicks: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the numbers of clicks.")],
    views: Annotated[str, typer.Option(metavar="COLUMN", help="Column of how often the item was looked at.")],
    K: Annotated[int, typer.Option("-K", min=1, help="Number of items to find and to show on a page.")] = 5,
    delta: Annotated[float, typer.Option(help="Largest probability of a wrong answer.")] = 0.05,
    epsilon: Annotated[float, typer.Option(help="Items so much below w(K) are good enough as well.")] = 0.0,
    trials: Annotated[
        int | None, typer.Option(min=2, help="Simulated runs of each learner; 20, or fewer for over 1000 items.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Root seed.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The plot, .pdf, .png or .svg; results/plan_NAME.png if not given."),
    ] = None,
    n_jobs: Jobs = -1,
    quiet: Quiet = False,
) -> None:
    """Tell from measured clicks how many page views it takes to find the best K items.

    The measured rates are shrunk towards their mean and taken for the truth; then each learner is run on pages that
    show K items and are read from the top to the first click.
    """
    from cascadebai_cli.workflows import plan as work

    done = work.plan(
        file,
        work.Columns(items, clicks, views),
        K,
        delta=delta,
        epsilon=epsilon,
        trials=trials,
        seed=seed,
        out=out,
        backend=work.Backend(n_jobs=n_jobs),
        watch=Terminal(quiet=quiet),
        begin=lambda question: say(_summary(question)),
    )
    end_with(not done.failed)
    say(_answer(done))
    say(f"plot: {done.picture}")


def _summary(question: "Question") -> str:
    problem, shrunk = question.problem, question.shrunk
    K, w = problem.K, problem.sorted_weights
    good = f", {problem.K_prime} items are good enough" if problem.epsilon > 0 else ""
    return (
        f"{question.file}: {count(problem.L)} items, {count(sum(question.clicks))} clicks in "
        f"{count(sum(question.views))} views\n"
        f"rates are shrunk towards their mean {shrunk.mean:.4g}, which counts as {shrunk.strength:.3g} more views of "
        "each item: the best raw rates owe something to luck\n"
        f"K = {K}, delta = {question.delta:g}, epsilon = {problem.epsilon:g}: "
        f"w({K}) = {w[K - 1]:.4g}, w({K + 1}) = {w[K]:.4g}{good}\n"
    )


def _answer(done: "Plan") -> str:
    bound = done.question.bound
    known = f"{count(bound)} page views on average" if bound == bound else "not known for epsilon > 0"
    parts = [
        done.learners_printed,
        f"of {done.trials} simulated runs of each learner; lower bound for any learner: {known}",
        "",
        f"items found by {done.learners[0].learner}:",
        done.items_printed,
    ]
    return "\n".join(map(str, parts))
