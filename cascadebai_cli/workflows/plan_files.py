"""What a plan leaves: a directory with the numbers for machines, two tables and a picture."""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd

from cascadebai_cli.analysis.page_views import quantiles
from cascadebai_cli.analysis.tolerances import Tolerance
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.page_views import draw_page_views
from cascadebai_cli.figures.style import render
from cascadebai_cli.logs.source import STDIN
from cascadebai_cli.workflows.letters import warn_of_letters
from cascadebai_cli.workflows.outputs import write_bytes, write_table
from cascadebai_cli.workflows.plan import Backend, Effort, Layout, Plan, Wanted, plan
from cascadebai_cli.workflows.plan_runs import CANDIDATES, Simulated
from cascadebai_cli.workflows.watch import SILENT, Watch

__all__ = ["Backend", "Effort", "Layout", "Plan", "Wanted", "as_json", "plan", "write_plan"]

PLAN, ITEMS, PAGE_VIEWS, PICTURE = "plan.json", "items.csv", "page_views.csv", "page_views.png"
SCHEMA = 1
"""Raised when a key of `plan.json` changes its meaning or goes."""


def write_plan(done: Plan, out: Path | None = None, watch: Watch = SILENT) -> Path:
    """Write `plan.json`, `items.csv`, `page_views.csv` and `page_views.png`.

    Args:
        done: a plan that did not fail.
        out: the directory; by default `results/plan_NAME_K5`, or `..._2` and so on where another plan is there.
        watch: is told of letters that the picture lacks.

    Raises:
        ConfigError: if `out` holds another plan.
        CascadeError: if a file cannot be written.
    """
    content = as_json(done)
    directory = _free(done, content["asked"], out)
    question = done.question
    title = f"best {question.K} of {question.L} items, {_name(question.file)}"
    table = pd.DataFrame([asdict(one.views) for one in done.learners])
    bound = quantiles(question.planned.efforts)[1] if question.planned.epsilon == 0 else math.nan
    figure = draw_page_views(table, bound, title)
    warn_of_letters([figure], question.log.name, watch)
    write_bytes(directory / PICTURE, render(figure, "png", title=title, rows_sha256=""))
    write_table(directory / ITEMS, pd.DataFrame(list(map(asdict, done.items))))
    write_table(directory / PAGE_VIEWS, _runs(done))
    write_bytes(directory / PLAN, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return directory


def _name(file: Path) -> str:
    return "stdin" if file == STDIN else file.name


def _free(done: Plan, asked: dict[str, Any], out: Path | None) -> Path:
    """A directory with this plan, or with none."""
    if out is not None:
        if not _takes(out, asked):
            raise ConfigError(f"--out {out} holds another plan or other files; name another directory")
        return out
    stem = _name(done.question.file).split(".")[0] or "log"
    return next(path for path in _places(f"plan_{stem}_K{done.question.K}") if _takes(path, asked))


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


def _runs(done: Plan) -> pd.DataFrame:
    """One row a run."""
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
            for one in done.learners
            for number, (row, truth) in enumerate(zip(one.rows, one.truths, strict=True))
        ]
    )


def as_json(done: Plan) -> dict[str, Any]:
    """The content of `plan.json`; numbers that are not finite are null."""
    question, rates, first = done.question, done.question.rates, done.learners[0]
    content = {
        "schema": SCHEMA,
        "asked": _asked(done),
        "log": {
            "items": question.L,
            "clicks": float(question.log.clicks.sum()),
            "views": float(question.log.views.sum()),
            "notes": list(question.log.notes),
        },
        "rates": {
            "mean": rates.mean,
            "strength": rates.strength,
            **asdict(rates.homogeneity),
            "own_top_right": question.own_right,
        },
        "examination": dict(question.seen),
        "epsilon": question.planned.epsilon,
        "tolerances": [_tolerance(one, first) for one in (question.exact, *question.table)],
        "learners": [_learner(one, done.effort.per_day) for one in done.learners],
        "items": [asdict(item) for item in done.shown],
        "cost": None
        if done.cost is None
        else {
            "clicks_lost_against_best": _range(*done.cost.against_best),
            "clicks_lost_against_own_top": _range(*done.cost.against_own),
        },
    }
    finite: dict[str, Any] = _finite(content)
    return finite


def _asked(done: Plan) -> dict[str, Any]:
    """All that the numbers depend on."""
    log, wanted, effort = done.question.log, done.question.wanted, done.effort
    counts = json.dumps([log.names, log.clicks.tolist(), log.views.tolist()])
    return {
        "file": _name(done.question.file),
        "sha256": hashlib.sha256(counts.encode()).hexdigest(),
        **asdict(wanted),
        "learners": list(effort.learners),
        "trials": effort.trials,
        "per_day": effort.per_day,
    }


def _tolerance(one: Tolerance, first: Simulated) -> dict[str, Any]:
    return {
        "epsilon": one.epsilon,
        "relative_to_w_K": one.relative,
        "good_enough": _range(*one.good_range),
        "page_views": _range(*first.views.expected(one.efforts)),
    }


def _learner(one: Simulated, per_day: float | None) -> dict[str, Any]:
    views = one.views
    spread = _range(views.low, views.median, views.high)
    return {
        "learner": one.key,
        "name": CANDIDATES[one.key].name,
        "page_views": spread,
        "days": None if per_day is None else {key: value / per_day for key, value in spread.items()},
        "more_than": None if views.ended else views.cap,
        "runs": views.n,
        "ended": views.n - views.capped,
        "right": views.right,
    }


def _range(low: float, median: float, high: float) -> dict[str, float]:
    return {"low": low, "median": median, "high": high}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
