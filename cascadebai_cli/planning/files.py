"""The directory that a plan writes: `plan.json`, with its model, two tables and a picture."""

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from cascadebai_cli.errors import ConfigError, of_removed_folder
from cascadebai_cli.logs.sheet import file_name
from cascadebai_cli.planning.numbers import Chance, Tolerance, quantiles
from cascadebai_cli.planning.options import OPTIONS, read_options
from cascadebai_cli.planning.plan import Answers, Asked, Backend, Plan, plan
from cascadebai_cli.planning.runs import CANDIDATES, Simulated, Test
from cascadebai_cli.planning.words import plan_in_words, question_in_words, start_of_test
from cascadebai_cli.running.watch import SILENT, Watch
from cascadebai_cli.store.files import open_regular, write_bytes, write_table
from cascadebai_cli.study.fields import says

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["OPTIONS", "Backend", "Plan", "as_json", "plan", "plan_in_words", "question_in_words", "read_options"]
__all__ += ["place_of", "refuse_unwritable", "start_of_test", "write_plan"]

# --- The model of `plan.json`, from which its JSON Schema and the table of docs/plan.md are made --------------------
#
# Further keys may be added without notice; `_SCHEMA` is raised when a key changes its meaning or is removed.

_SCHEMA = 1


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


_Maybe = Annotated[float | None, BeforeValidator(_finite)]
"""A number, or `null` where it is not finite."""


class _Part(BaseModel):
    model_config = ConfigDict(
        strict=True, frozen=True, extra="allow", model_title_generator=lambda model: model.__name__.lstrip("_")
    )


class _Range(_Part):
    """5, 50 and 95 % quantiles; `null` where they are not finite."""

    low: _Maybe
    median: _Maybe
    high: _Maybe


class _Interval(_Part):
    """A value and what lies around it; `null` where it is not finite."""

    low: _Maybe
    value: _Maybe
    high: _Maybe


_Three = TypeVar("_Three", _Range, _Interval)


class _LogPart(_Part):
    """The log that was read."""

    items: Annotated[int, says("Number of items.")]
    clicks: Annotated[float, says("All clicks.")]
    views: Annotated[float, says("All views.")]
    notes: Annotated[list[str], says("Sentences on what was done to the file.")]


class _Rates(_Part):
    """The likeliest beta law of the click rates, and whether they differ at all."""

    mean: Annotated[_Maybe, says("Mean of the law.")]
    strength: Annotated[_Maybe, says("Number of views of an item that the law counts as; `null` if infinite.")]
    chi_square: Annotated[_Maybe, says("Pearson's statistic of whether all rates are equal.")]
    degrees: Annotated[int, says("Degrees of freedom of this statistic.")]
    p_value: Annotated[_Maybe, says("P-value of the statistic, from up to 9,999 tables drawn with equal rates.")]
    own_top_right: Annotated[_Maybe, says("Chance that the first K of the log are the best.")]
    own_top_good: Annotated[
        _Maybe,
        says(
            "Chance that they are good enough at `epsilon`; from `--sure`, or else `1 - delta`, on no test is needed."
        ),
    ]
    own_top_good_error: Annotated[
        _Maybe, says("Standard error of this chance, as it comes from up to 400 draws of the rates.")
    ]


class _ToleranceRow(_Part):
    """What a tolerance would do."""

    epsilon: Annotated[float, says("The tolerance.")]
    relative_to_w_K: Annotated[_Maybe, says("The tolerance as a share of the K-th largest expected rate.")]
    good_enough: Annotated[_Range, says("How many items are good enough.")]
    page_views: Annotated[_Range, says("Page views of the first learner.")]


class _LearnerRow(_Part):
    """What a learner took."""

    learner: Annotated[str, says("The learner's name for `--learner`.")]
    name: Annotated[str, says("The learner's name in words.")]
    page_views: Annotated[_Range, says("Page views of a test.")]
    days: Annotated[_Range | None, says("Days of a test; `null` without `--per-day`.")]
    more_than: Annotated[int | None, says("Page views after which runs were given up, if most did not end.")]
    runs: Annotated[int, says("Number of simulated runs.")]
    ended: Annotated[int, says("Number of runs that ended.")]
    right: Annotated[int, says("Number of runs that ended with the right items.")]


class _Cost(_Part):
    """Clicks lost in a test with the first learner."""

    clicks_lost_against_best: Annotated[_Range, says("Clicks lost against always showing the best items.")]
    clicks_lost_against_own_top: Annotated[
        _Range, says("Clicks lost against always showing the items that the log ranks first.")
    ]
    clicks_gained: Annotated[
        _Range | None,
        says("Clicks that the test and then the best items bring more than these until `--horizon`; else `null`."),
    ]


class _NoTest(_Part):
    """The answer that the log gives without a test."""

    all_right: Annotated[_Maybe, says("Chance that the first K of the log are all good enough.")]
    right: Annotated[_Maybe, says("Average number of them that are good enough.")]


class _Point(_Part):
    """The answer after a number of page views."""

    page_views: Annotated[int, says("Page views after which the learner is asked.")]
    runs: Annotated[int, says("Number of simulated runs.")]
    all_right: Annotated[_Interval, says("Chance that all K named items are right.")]
    right: Annotated[_Interval, says("Average number of named items that are right.")]


class _Needed(_Part):
    """The page views after which an answer is sure enough."""

    page_views: Annotated[_Interval, says("Page views for the chance `--sure`; 0 below the smallest budget.")]
    days: Annotated[_Interval | None, says("Days for this chance; `null` without `--per-day`.")]
    more_than: Annotated[int | None, says("The largest simulated budget, if that is not enough.")]


class _AskedRow(_Part):
    """What a learner names after a number of page views."""

    learner: Annotated[str, says("The learner's name for `--learner`.")]
    name: Annotated[str, says("The learner's name in words.")]
    then: Annotated[_Point | None, says("The answer at `--budget`; `null` if that was not simulated.")]
    needed: Annotated[_Needed | None, says("What the chance `--sure` needs.")]
    simulated_up_to: Annotated[int, says("The largest simulated budget.")]
    curve: Annotated[list[_Point], says("The answer at each simulated budget.")]


class PlanFile(_Part):
    """What `cascadebai plan` found out; ranges are quantiles, and numbers that are not finite are `null`."""

    version: Annotated[
        int,
        Field(alias="schema", ge=1),
        says("Version, raised when a key changes its meaning or is removed."),
    ]
    asked: Annotated[dict[str, Any], says("All that the numbers depend on: options, and the hash of the counts.")]
    log: Annotated[_LogPart, says("The log that was read.")]
    rates: Annotated[_Rates, says("The law of the click rates.")]
    examination: Annotated[
        dict[str, _Maybe], says("Position and the chance that it is looked at; empty without `--position`.")
    ]
    epsilon: Annotated[float, says("The tolerance that is planned for.")]
    tolerances: Annotated[list[_ToleranceRow], says("What each tolerance would do; not with a budget.")] = []
    learners: Annotated[list[_LearnerRow], says("The learners, the fastest first; not with a budget.")] = []
    cost: Annotated[
        _Cost | None, says("Clicks lost with the first learner; `null` if it did not end; not with a budget.")
    ] = None
    no_test: Annotated[_NoTest | None, says("The answer that the log gives without a test; only with a budget.")] = None
    at_budget: Annotated[list[_AskedRow], says("The learners, the best first; only with a budget.")] = []
    items: Annotated[
        list[dict[str, Any]], says("The best K and those with a chance of 5 % or more, as in `items.csv`.")
    ]


# --- The content of `plan.json` -------------------------------------------------------------------------------------


def as_json(done: Plan) -> dict[str, Any]:
    """Return the content of `plan.json`; numbers that are not finite are null."""
    question, rates, test, answers = done.question, done.question.rates, done.test, done.answers
    content = PlanFile(
        schema=_SCHEMA,
        asked=_asked_json(done),
        log=_LogPart(
            items=question.L,
            clicks=float(question.log.clicks.sum()),
            views=float(question.log.views.sum()),
            notes=list(question.log.notes),
        ),
        rates=_Rates(
            mean=rates.mean,
            strength=rates.strength,
            **asdict(rates.homogeneity),
            own_top_right=question.own_right,
            own_top_good=question.own_good,
            own_top_good_error=question.own_good_error,
        ),
        examination=dict(question.corrected.seen),
        epsilon=question.planned.epsilon,
        **(_of_test(done, test) if test else {}),
        **(_of_budget(done, answers) if answers else {}),
        items=[asdict(item) for item in done.shown],
    )
    return content.model_dump(by_alias=True, exclude_unset=True)


def _asked_json(done: Plan) -> dict[str, Any]:
    """Return all that the numbers depend on, which is known before anything is simulated."""
    log, wanted = done.question.log, done.question.wanted
    counts = json.dumps([log.names, log.clicks.tolist(), log.views.tolist()])
    options = asdict(wanted)
    learners = list(options.pop("learner") or ())
    return {
        "file": file_name(done.question.file),
        "sha256": hashlib.sha256(counts.encode()).hexdigest(),
        **options,
        "delta": wanted.risk,
        "learners": learners,
    }


def _of_test(done: Plan, test: Test) -> dict[str, Any]:
    question, per_day, cost = done.question, done.question.wanted.per_day, test.cost
    return {
        "tolerances": [_tolerance(one, test.learners[0]) for one in (question.exact, *question.table)],
        "learners": [_learner(one, per_day) for one in test.learners],
        "cost": cost
        and _Cost(
            clicks_lost_against_best=_three(_Range, cost.against_best),
            clicks_lost_against_own_top=_three(_Range, cost.against_own),
            clicks_gained=None if cost.gained is None else _three(_Range, cost.gained),
        ),
    }


def _tolerance(one: Tolerance, first: Simulated) -> _ToleranceRow:
    return _ToleranceRow(
        epsilon=one.epsilon,
        relative_to_w_K=one.relative,
        good_enough=_three(_Range, one.good_range),
        page_views=_three(_Range, first.views.expected(one.efforts)),
    )


def _learner(one: Simulated, per_day: float | None) -> _LearnerRow:
    views = one.views
    spread = (views.low, views.median, views.high)
    return _LearnerRow(
        learner=one.key,
        name=CANDIDATES[one.key].name,
        page_views=_three(_Range, spread),
        days=_three(_Range, spread, per_day) if per_day else None,
        more_than=None if views.ended else views.cap,
        runs=views.n,
        ended=views.n - views.capped,
        right=views.right,
    )


def _of_budget(done: Plan, answers: Answers) -> dict[str, Any]:
    return {
        "no_test": _NoTest(all_right=answers.own_right, right=answers.own_number),
        "at_budget": [_asked(one, done.question.wanted.per_day) for one in answers.learners],
    }


def _asked(one: Asked, per_day: float | None) -> _AskedRow:
    return _AskedRow(
        learner=one.key,
        name=one.name,
        then=None if one.then is None else _point(one.then),
        needed=None if one.needed is None else _needed(one.needed, one.last, per_day),
        simulated_up_to=one.last,
        curve=[_point(point) for point in one.curve],
    )


def _needed(page_views: Sequence[float], last: int, per_day: float | None) -> _Needed:
    return _Needed(
        page_views=_three(_Interval, page_views),
        days=_three(_Interval, page_views, per_day) if per_day else None,
        more_than=last if math.isinf(page_views[1]) else None,
    )


def _point(point: Chance) -> _Point:
    return _Point(
        page_views=point.budget,
        runs=point.n,
        all_right=_three(_Interval, (point.low, point.all_right, point.high)),
        right=_three(_Interval, (point.right_low, point.right, point.right_high)),
    )


def _three(kind: type[_Three], values: Sequence[float], unit: float = 1.0) -> _Three:
    """Return the three values, divided by `unit`, under the names that `kind` has for them."""
    return kind(**{name: value / unit for name, value in zip(kind.model_fields, values, strict=True)})


# --- The directory, which holds one plan ----------------------------------------------------------------------------

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


def place_of(asked: Plan, out: Path | None = None) -> Path:
    """Return the directory for a plan, which holds this one or none; nothing need be simulated yet.

    Raises:
        ConfigError: if `out` holds another plan or other files.
    """
    content = _asked_json(asked)
    if out is not None:
        if not _takes(out, content):
            raise ConfigError(f"{out} holds another plan or other files; name another directory")
        return out
    name = f"plan_{file_name(asked.question.file).split('.')[0] or 'log'}_K{asked.question.K}"
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(path for path in map(_RESULTS.joinpath, names) if _takes(path, content))


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
    directory, name = place_of(done, out), _BUDGETS if done.answers else _PAGE_VIEWS
    write_bytes(directory / f"{name}.png", _picture(done, watch))
    items = pd.DataFrame(list(map(asdict, done.items)))
    write_table(directory / _ITEMS, items.assign(name=items["name"].map(_no_formula)))
    write_table(directory / f"{name}.csv", _budgets(done.answers) if done.answers else _runs(done))
    write_bytes(directory / _PLAN, (json.dumps(as_json(done), indent=2, ensure_ascii=False) + "\n").encode())
    return directory


def _no_formula(name: str) -> str:
    """Return a name of a stranger as a spreadsheet takes it for text and runs nothing."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


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
    return render([figure], "png", title=_title(done), rows_sha256="")[0]


def _title(done: Plan) -> str:
    return f"best {done.question.K} of {done.question.L} items, {file_name(done.question.file)}"


def _runs(done: Plan) -> pd.DataFrame:
    """Return a table with one row per run of a test."""
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
            for one in (done.test.learners if done.test else ())
            for number, (row, truth) in enumerate(zip(one.rows, one.truths, strict=True))
        ]
    )


def _page_views(done: Plan) -> "Figure":
    from cascadebai_cli.figures.pictures import draw_page_views

    planned = done.question.planned
    bound = quantiles(planned.efforts)[1] if planned.epsilon == 0 else math.nan
    return draw_page_views(
        pd.DataFrame([asdict(one.views) for one in (done.test.learners if done.test else ())]), bound, _title(done)
    )


def _budgets(answers: Answers) -> pd.DataFrame:
    """Return a table with one row per learner and budget."""
    points = [{"learner": one.key, **asdict(point)} for one in answers.learners for point in one.curve]
    return pd.DataFrame(points).rename(columns={"budget": "page_views", "n": "runs"})


def _errors(done: Plan, answers: Answers) -> "Figure":
    from cascadebai_cli.figures.draw import draw
    from cascadebai_cli.figures.panels import chart_of
    from cascadebai_cli.study.plot import Plot

    question = done.question
    cells = _as_cells(
        [(one.name, one.curve) for one in answers.learners],
        instance=_title(done),
        L=question.L,
        K=question.K,
        delta=question.wanted.risk,
        epsilon=question.planned.epsilon,
        directory="",
    )
    plot = Plot.model_validate({"kind": "error"})
    return draw(plot.kind, chart_of(cells, plot), {})[0]


def _as_cells(curves: Sequence[tuple[str, Sequence[Chance]]], **same: object) -> pd.DataFrame:
    """Return the curves of learners, by name, as the cells of a figure, one row per budget; all rows share `same`."""
    return pd.DataFrame(
        [
            {
                **same,
                "learner": name,
                "budget": point.budget,
                "n": point.n,
                "n_capped": 0,
                "error_rate": 1 - point.all_right,
                "error_low": 1 - point.high,
                "error_high": 1 - point.low,
            }
            for name, curve in curves
            for point in curve
        ]
    )
