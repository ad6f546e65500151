"""`plan.json`: the model of the answer, and the answer."""

import hashlib
import json
import math
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from cascadebai_cli.logs.sheet import file_name
from cascadebai_cli.planning.budget import Answers, Asked
from cascadebai_cli.planning.numbers import Chance, Tolerance
from cascadebai_cli.planning.plan import Plan
from cascadebai_cli.planning.runs import CANDIDATES, Simulated, Test
from cascadebai_cli.study.fields import says

# --- What `plan.json` holds: the model from which its JSON Schema and the table of docs/plan.md are made ------------
#
# Further keys may come without notice; a key that changes its meaning or goes raises `schema`.


Probability = Annotated[float, Field(ge=0, le=1)]
Maybe = float | None
"""A number, or `null` where it is not finite."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class Range(_Part):
    """5, 50 and 95 % quantiles; `null` where they are not finite."""

    low: Maybe
    median: Maybe
    high: Maybe


class Interval(_Part):
    """A value and what lies around it; `null` where it is not finite."""

    low: Maybe
    value: Maybe
    high: Maybe


class LogPart(_Part):
    """The log that was read."""

    items: Annotated[int, says("Number of items.")]
    clicks: Annotated[float, says("All clicks.")]
    views: Annotated[float, says("All views.")]
    notes: Annotated[list[str], says("Sentences on what was done to the file.")]


class Rates(_Part):
    """The likeliest beta law of the click rates, and whether they differ at all."""

    mean: Annotated[Maybe, says("Mean of the law.")]
    strength: Annotated[Maybe, says("How many views of an item it counts as; `null`: infinite.")]
    chi_square: Annotated[Maybe, says("Pearson's statistic of whether all rates are equal.")]
    degrees: Annotated[int, says("Its degrees of freedom.")]
    p_value: Annotated[Maybe, says("Chance of one as large were all rates equal, from up to 9,999 drawn tables.")]
    own_top_right: Annotated[Maybe, says("Chance that the first K of the log are the best.")]


class ToleranceRow(_Part):
    """What a tolerance would do."""

    epsilon: Annotated[float, says("The tolerance.")]
    relative_to_w_K: Annotated[Maybe, says("The same as a share of the K-th largest expected rate.")]
    good_enough: Annotated[Range, says("How many items are good enough.")]
    page_views: Annotated[Range, says("Page views of the first learner.")]


class LearnerRow(_Part):
    """What a learner took."""

    learner: Annotated[str, says("As `--learner` calls it.")]
    name: Annotated[str, says("In words.")]
    page_views: Annotated[Range, says("Page views of a test.")]
    days: Annotated[Range | None, says("The same in days; `null` without `--per-day`.")]
    more_than: Annotated[Maybe, says("Page views after which it was given up, if it did not end.")]
    runs: Annotated[int, says("Simulated runs.")]
    ended: Annotated[int, says("Those that ended.")]
    right: Annotated[int, says("Those that ended right.")]


class Cost(_Part):
    """Clicks lost in a test with the first learner."""

    clicks_lost_against_best: Annotated[Range, says("Against always showing the best items.")]
    clicks_lost_against_own_top: Annotated[Range, says("Against always showing what the log ranks first.")]


class NoTest(_Part):
    """What the log alone comes to."""

    all_right: Annotated[Maybe, says("Chance that the first K of the log are all good enough.")]
    right: Annotated[Maybe, says("How many of them are.")]


class Point(_Part):
    """What an answer after so many page views comes to."""

    page_views: Annotated[float, says("When the learner is asked.")]
    runs: Annotated[int, says("Simulated runs.")]
    all_right: Annotated[Interval, says("Chance that all K are right.")]
    right: Annotated[Interval, says("How many are.")]


class Needed(_Part):
    """When an answer is sure enough."""

    page_views: Annotated[Interval, says("Page views for `--sure`; 0 below the smallest budget.")]
    days: Annotated[Interval | None, says("The same in days.")]
    more_than: Annotated[Maybe, says("The last budget that was simulated, if that is not enough.")]


class AskedRow(_Part):
    """What a learner names after a number of page views."""

    learner: Annotated[str, says("As `--learner` calls it.")]
    name: Annotated[str, says("In words.")]
    then: Annotated[Point | None, says("At `--budget`; `null` if that was not simulated.")]
    needed: Annotated[Needed | None, says("For `--sure`.")]
    simulated_up_to: Annotated[float, says("The last budget.")]
    curve: Annotated[list[Point], says("At each budget that was simulated.")]


class PlanFile(_Part):
    """What `cascadebai plan` found out; ranges are quantiles, and numbers that are not finite are `null`."""

    version: Annotated[int, Field(alias="schema", ge=1), says("Raised when a key changes its meaning or goes.")]
    asked: Annotated[dict[str, Any], says("All that the numbers depend on: options, and the hash of the counts.")]
    log: Annotated[LogPart, says("The log that was read.")]
    rates: Annotated[Rates, says("The law of the click rates.")]
    examination: Annotated[
        dict[str, Maybe], says("Position and the chance that it is looked at; empty without `--position`.")
    ]
    epsilon: Annotated[float, says("The tolerance that is planned for.")]
    tolerances: Annotated[list[ToleranceRow], says("What each tolerance would do; not with a budget.")] = []
    learners: Annotated[list[LearnerRow], says("The learners, the fastest first; not with a budget.")] = []
    cost: Annotated[
        Cost | None, says("Clicks lost with the first learner; `null` if it did not end; not with a budget.")
    ] = None
    no_test: Annotated[NoTest | None, says("What the log alone comes to; only with a budget.")] = None
    at_budget: Annotated[list[AskedRow], says("The learners, the best first; only with a budget.")] = []
    items: Annotated[
        list[dict[str, Any]], says("The best K and those with a chance of 5 % or more, as in `items.csv`.")
    ]


# --- A plan for machines: the content of `plan.json`, whose keys `docs/plan.md` explains ----------------------------


SCHEMA = 1
"""Raised when a key of `plan.json` changes its meaning or goes."""


def as_json(done: Plan) -> dict[str, Any]:
    """The content of `plan.json`; numbers that are not finite are null."""
    question, rates = done.question, done.question.rates
    content = {
        "schema": SCHEMA,
        "asked": asked_json(done),
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
        **(_answers(done, done.answers) if done.answers else {}),
        **(_test(done, done.test) if done.test else {}),
        "items": [asdict(item) for item in done.shown],
    }
    finite: dict[str, Any] = _finite(content)
    return finite


def asked_json(done: Plan) -> dict[str, Any]:
    """All that the numbers depend on; known before anything is simulated."""
    log, wanted, effort = done.question.log, done.question.wanted, done.effort
    counts = json.dumps([log.names, log.clicks.tolist(), log.views.tolist()])
    return {
        "file": file_name(done.question.file),
        "sha256": hashlib.sha256(counts.encode()).hexdigest(),
        **asdict(wanted),
        "delta": wanted.risk,
        "learners": list(effort.learners),
        "trials": effort.trials,
        "per_day": effort.per_day,
    }


def _test(done: Plan, test: Test) -> dict[str, Any]:
    question, cost = done.question, test.cost
    return {
        "tolerances": [_tolerance(one, test.learners[0]) for one in (question.exact, *question.table)],
        "learners": [_learner(one, done.effort.per_day) for one in test.learners],
        "cost": None
        if cost is None
        else {
            "clicks_lost_against_best": _range(*cost.against_best),
            "clicks_lost_against_own_top": _range(*cost.against_own),
        },
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
        "days": _days(spread, per_day),
        "more_than": None if views.ended else views.cap,
        "runs": views.n,
        "ended": views.n - views.capped,
        "right": views.right,
    }


def _answers(done: Plan, answers: Answers) -> dict[str, Any]:
    return {
        "no_test": {"all_right": answers.own_right, "right": answers.own_number},
        "at_budget": [_asked_learner(one, done.effort.per_day) for one in answers.learners],
    }


def _asked_learner(one: Asked, per_day: float | None) -> dict[str, Any]:
    needed = None
    if one.needed is not None:
        spread = _interval(*one.needed)
        beyond = one.last if math.isinf(spread["value"]) else None
        needed = {"page_views": spread, "days": _days(spread, per_day), "more_than": beyond}
    return {
        "learner": one.key,
        "name": one.name,
        "then": None if one.then is None else _chance(one.then),
        "needed": needed,
        "simulated_up_to": one.last,
        "curve": [_chance(point) for point in one.curve],
    }


def _chance(point: Chance) -> dict[str, Any]:
    return {
        "page_views": point.budget,
        "runs": point.n,
        "all_right": _interval(point.low, point.all_right, point.high),
        "right": _interval(point.right_low, point.right, point.right_high),
    }


def _days(page_views: dict[str, float], per_day: float | None) -> dict[str, float] | None:
    return None if per_day is None else {key: value / per_day for key, value in page_views.items()}


def _range(low: float, median: float, high: float) -> dict[str, float]:
    return {"low": low, "median": median, "high": high}


def _interval(low: float, value: float, high: float) -> dict[str, float]:
    return {"low": low, "value": value, "high": high}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
