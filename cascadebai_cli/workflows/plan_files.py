"""What a plan leaves: a directory with the numbers for machines, two tables and a picture."""

import json
import math
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from cascadebai_cli.analysis.chances import as_cells
from cascadebai_cli.analysis.page_views import quantiles
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.draw import draw
from cascadebai_cli.figures.labels import Labels
from cascadebai_cli.figures.page_views import draw_page_views
from cascadebai_cli.figures.panels import chart_of
from cascadebai_cli.figures.style import render
from cascadebai_cli.logs.source import file_name
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.workflows.letters import warn_of_letters
from cascadebai_cli.workflows.outputs import write_bytes, write_table
from cascadebai_cli.workflows.plan import Backend, Effort, Layout, Plan, Wanted, plan
from cascadebai_cli.workflows.plan_budget import Answers
from cascadebai_cli.workflows.plan_json import as_json, asked_json
from cascadebai_cli.workflows.watch import SILENT, Watch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Backend", "Effort", "Layout", "Plan", "Wanted", "as_json", "plan", "refuse_place", "write_plan"]

PLAN, ITEMS = "plan.json", "items.csv"
PAGE_VIEWS, BUDGETS = "page_views", "budgets"
"""Names of the table and the picture of a test, and of those of a budget."""


def refuse_place(asked: Plan, out: Path | None = None) -> None:
    """See that what is written has a place, before anything is simulated.

    Raises:
        ConfigError: if the directory holds another plan, or nothing can be written there.
    """
    place = _place(asked, out)
    parent = next(path for path in (place, *place.parents) if path.exists())
    try:
        with tempfile.TemporaryDirectory(dir=parent):
            pass
    except OSError as error:
        raise ConfigError(f"{place} cannot be written ({error.strerror or error}); choose another --out") from None


def write_plan(done: Plan, out: Path | None = None, watch: Watch = SILENT) -> Path:
    """Write `plan.json`, `items.csv`, and a table and a picture: `page_views` of a test, `budgets` of a budget.

    Args:
        done: a plan that did not fail.
        out: the directory; by default `results/plan_NAME_K5`, or `..._2` and so on where another plan is there.
        watch: is told of letters that the picture lacks.

    Raises:
        ConfigError: if `out` holds another plan.
        CascadeError: if a file cannot be written.
    """
    directory, question = _place(done, out), done.question
    name, table, figure = _of_budgets(done, done.answers) if done.answers else _of_runs(done)
    warn_of_letters([figure], question.log.name, watch)
    write_bytes(directory / f"{name}.png", render(figure, "png", title=_title(done), rows_sha256=""))
    write_table(directory / ITEMS, pd.DataFrame(list(map(asdict, done.items))))
    write_table(directory / f"{name}.csv", table)
    write_bytes(directory / PLAN, (json.dumps(as_json(done), indent=2, ensure_ascii=False) + "\n").encode())
    return directory


def _title(done: Plan) -> str:
    return f"best {done.question.K} of {done.question.L} items, {file_name(done.question.file)}"


def _place(asked: Plan, out: Path | None) -> Path:
    """A directory with this plan, or with none."""
    content = asked_json(asked)
    try:
        if out is not None:
            if not _takes(out, content):
                raise ConfigError(f"--out {out} holds another plan or other files; name another directory")
            return out
        stem = file_name(asked.question.file).split(".")[0] or "log"
        return next(path for path in _places(f"plan_{stem}_K{asked.question.K}") if _takes(path, content))
    except OSError as error:
        raise ConfigError(f"--out {out or 'results'} cannot be written ({error.strerror}); name another") from None


def _places(name: str) -> Iterator[Path]:
    yield Path("results") / name
    yield from (Path("results") / f"{name}_{number}" for number in count(2))


def _takes(directory: Path, asked: dict[str, Any]) -> bool:
    if not directory.exists():
        return True
    if not directory.is_dir():
        return False
    try:
        return bool(json.loads((directory / PLAN).read_text(encoding="utf-8"))["asked"] == asked)
    except FileNotFoundError:
        return not any(directory.iterdir())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _of_runs(done: Plan) -> tuple[str, pd.DataFrame, "Figure"]:
    """The runs of a test, and the learners on one axis."""
    planned, learners = done.question.planned, done.test.learners if done.test else ()
    views = pd.DataFrame([asdict(one.views) for one in learners])
    bound = quantiles(planned.efforts)[1] if planned.epsilon == 0 else math.nan
    runs = pd.DataFrame(
        [
            {
                "learner": one.key,
                "run": number,
                "page_views": row.steps,
                "status": row.status,
                "right": None if row.correct is None else int(row.correct),
                "clicks": row.clicks,
                "effort": planned.efforts[truth],
            }
            for one in learners
            for number, (row, truth) in enumerate(zip(one.rows, one.truths, strict=True))
        ]
    )
    return PAGE_VIEWS, runs, draw_page_views(views, bound, _title(done))


def _of_budgets(done: Plan, answers: Answers) -> tuple[str, pd.DataFrame, "Figure"]:
    """What learners answer at each budget, and the chance of an error against page views."""
    question = done.question
    table = pd.DataFrame(
        [{"learner": one.key, **asdict(point)} for one in answers.learners for point in one.curve]
    ).rename(columns={"budget": "page_views", "n": "runs"})
    cells = as_cells(
        [(one.name, one.curve) for one in answers.learners],
        instance=_title(done),
        L=question.L,
        K=question.K,
        delta=question.wanted.risk,
        epsilon=question.planned.epsilon,
        directory="",
    )
    return BUDGETS, table, draw(chart_of(cells, Plot.model_validate({"kind": "error"}), Labels()))[0]
