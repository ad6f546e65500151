"""A table of the runs of a plan, and a picture of them."""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import pandas as pd

from cascadebai_cli.figures.draw import draw
from cascadebai_cli.figures.labels import Labels
from cascadebai_cli.figures.page_views import draw_page_views
from cascadebai_cli.figures.panels import chart_of
from cascadebai_cli.figures.style import render, warn_of_letters
from cascadebai_cli.logs.sheet import file_name
from cascadebai_cli.planning.numbers import as_cells, quantiles
from cascadebai_cli.planning.plan import Answers, Plan
from cascadebai_cli.planning.runs import Simulated
from cascadebai_cli.running.watch import Watch
from cascadebai_cli.study.plot import Plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture_of(done: Plan, watch: Watch) -> bytes:
    """Draw the learners of a test on one axis, or the chance of an error against page views, as PNG.

    Args:
        done: a plan that did not fail.
        watch: is told of letters that the fonts of the picture lack.
    """
    figure = _errors(done, done.answers) if done.answers else _page_views(done)
    warn_of_letters([figure], done.question.log.name, watch.warn)
    return render(figure, "png", title=_title(done), rows_sha256="")


def plan_table(done: Plan) -> pd.DataFrame:
    """Return a table with one row per run of a test, or with one per learner and budget."""
    return _budgets(done.answers) if done.answers else _runs(done)


def _title(done: Plan) -> str:
    return f"best {done.question.K} of {done.question.L} items, {file_name(done.question.file)}"


def _runs(done: Plan) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "learner": one.key,
                "run": number,
                "page_views": row.steps,
                "status": row.status,
                "right": None if row.correct is None else int(row.correct),
                "clicks": row.clicks,
                "effort": done.question.planned.efforts[truth],
            }
            for one in _learners(done)
            for number, (row, truth) in enumerate(zip(one.rows, one.truths, strict=True))
        ]
    )


def _learners(done: Plan) -> tuple[Simulated, ...]:
    return done.test.learners if done.test else ()


def _page_views(done: Plan) -> "Figure":
    planned = done.question.planned
    bound = quantiles(planned.efforts)[1] if planned.epsilon == 0 else math.nan
    return draw_page_views(pd.DataFrame([asdict(one.views) for one in _learners(done)]), bound, _title(done))


def _budgets(answers: Answers) -> pd.DataFrame:
    points = [{"learner": one.key, **asdict(point)} for one in answers.learners for point in one.curve]
    return pd.DataFrame(points).rename(columns={"budget": "page_views", "n": "runs"})


def _errors(done: Plan, answers: Answers) -> "Figure":
    question = done.question
    cells = as_cells(
        [(one.name, one.curve) for one in answers.learners],
        instance=_title(done),
        L=question.L,
        K=question.K,
        delta=question.wanted.risk,
        epsilon=question.planned.epsilon,
        directory="",
    )
    plot = Plot.model_validate({"kind": "error"})
    return draw(plot, chart_of(cells, plot, Labels()))[0]
