"""The directory that a plan writes: `plan.json`, two tables and a picture."""

import json
import math
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from cascadebai_cli.errors import ConfigError, of_removed_folder
from cascadebai_cli.logs.sheet import file_name
from cascadebai_cli.planning.answer import as_json, asked_json
from cascadebai_cli.planning.numbers import as_cells, quantiles
from cascadebai_cli.planning.options import read_options
from cascadebai_cli.planning.plan import Answers, Backend, Plan, plan
from cascadebai_cli.planning.runs import Simulated
from cascadebai_cli.planning.words import plan_in_words, question_in_words, start_of_test
from cascadebai_cli.running.watch import SILENT, Watch
from cascadebai_cli.store.files import open_regular, write_bytes, write_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Backend", "Plan", "as_json", "plan", "plan_in_words", "question_in_words", "read_options", "refuse_other"]
__all__ += ["refuse_unwritable", "start_of_test", "write_plan"]


_RESULTS = Path("results")
_PLAN, _ITEMS = "plan.json", "items.csv"
_PAGE_VIEWS, _BUDGETS = "page_views", "budgets"
"""File names of the table and the picture: of a test, and of a budget."""


def refuse_unwritable(out: Path | None = None) -> None:
    """Check that the directory can be written, before anything is read or simulated; leave nothing behind.

    Raises:
        ConfigError: if it cannot.
    """
    place = out or _RESULTS
    try:
        parent = next(path for path in (place, *place.absolute().parents) if path.exists())
        with tempfile.TemporaryDirectory(dir=parent):
            pass
    except OSError as error:
        gone = of_removed_folder(error)
        raise gone or ConfigError(f"{place} cannot be written ({error.strerror}); choose another directory") from None


def refuse_other(asked: Plan, out: Path | None = None) -> None:
    """Check that there is a directory for the plan, before anything is simulated.

    Raises:
        ConfigError: if the directory holds another plan.
    """
    _place(asked, out)


def write_plan(done: Plan, out: Path | None = None, watch: Watch = SILENT) -> Path:
    """Write `plan.json`, `items.csv`, and a table and a picture: `page_views` of a test, `budgets` of a budget.

    Args:
        done: a plan that did not fail.
        out: the directory; by default `results/plan_NAME_K5`, or `..._2` and so on where another plan is there.
        watch: is told of letters that the fonts of the picture lack.

    Raises:
        ConfigError: if `out` holds another plan.
        CascadeError: if a file cannot be written.
    """
    directory, name = _place(done, out), _BUDGETS if done.answers else _PAGE_VIEWS
    write_bytes(directory / f"{name}.png", _picture(done, watch))
    items = pd.DataFrame(list(map(asdict, done.items)))
    write_table(directory / _ITEMS, items.assign(name=items["name"].map(_no_formula)))
    write_table(directory / f"{name}.csv", _table(done))
    write_bytes(directory / _PLAN, (json.dumps(as_json(done), indent=2, ensure_ascii=False) + "\n").encode())
    return directory


def _no_formula(name: str) -> str:
    """Return a name of a stranger as a spreadsheet takes it for text and runs nothing."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def _place(asked: Plan, out: Path | None) -> Path:
    """Return a directory that holds this plan, or none."""
    content = asked_json(asked)
    if out is not None:
        if not _takes(out, content):
            raise ConfigError(f"{out} holds another plan or other files; name another directory")
        return out
    stem = file_name(asked.question.file).split(".")[0] or "log"
    return next(path for path in _places(f"plan_{stem}_K{asked.question.K}") if _takes(path, content))


def _places(name: str) -> Iterator[Path]:
    yield _RESULTS / name
    yield from (_RESULTS / f"{name}_{number}" for number in count(2))


def _takes(directory: Path, asked: dict[str, Any]) -> bool:
    """Return whether a plan may be written there; an older one has no value of an option that came later."""
    if not directory.exists():
        return True
    if not directory.is_dir():
        return False
    try:
        with os.fdopen(open_regular(directory / _PLAN, os.O_RDONLY), encoding="utf-8") as file:
            before = json.load(file)["asked"]
            return bool({name: one for name, one in asked.items() if one is not None or name in before} == before)
    except FileNotFoundError:
        return not any(directory.iterdir())
    except (OSError, ValueError, KeyError, TypeError):
        return False


# --- The table of the runs, and the picture: only what draws it imports matplotlib ----------------------------------


def _picture(done: Plan, watch: Watch) -> bytes:
    """Draw the learners of a test on one axis, or the chance of an error against page views, as PNG.

    Args:
        done: a plan that did not fail.
        watch: is told of letters that the fonts of the picture lack.
    """
    from cascadebai_cli.figures.style import render, warn_of_letters

    figure = _errors(done, done.answers) if done.answers else _page_views(done)
    warn_of_letters([figure], done.question.log.name, watch.warn)
    return render(figure, "png", title=_title(done), rows_sha256="")


def _table(done: Plan) -> pd.DataFrame:
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
    from cascadebai_cli.figures.pictures import draw_page_views

    planned = done.question.planned
    bound = quantiles(planned.efforts)[1] if planned.epsilon == 0 else math.nan
    return draw_page_views(pd.DataFrame([asdict(one.views) for one in _learners(done)]), bound, _title(done))


def _budgets(answers: Answers) -> pd.DataFrame:
    points = [{"learner": one.key, **asdict(point)} for one in answers.learners for point in one.curve]
    return pd.DataFrame(points).rename(columns={"budget": "page_views", "n": "runs"})


def _errors(done: Plan, answers: Answers) -> "Figure":
    from cascadebai_cli.figures.draw import draw
    from cascadebai_cli.figures.labels import Labels
    from cascadebai_cli.figures.panels import chart_of
    from cascadebai_cli.study.plot import Plot

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
    return draw(plot, chart_of(cells, plot, Labels()), {})[0]
