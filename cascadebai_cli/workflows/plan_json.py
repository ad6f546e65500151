"""A plan for machines: the content of `plan.json`, whose keys `docs/plan.md` explains."""

import hashlib
import json
import math
from dataclasses import asdict
from typing import Any

from cascadebai_cli.analysis.chances import Chance
from cascadebai_cli.analysis.tolerances import Tolerance
from cascadebai_cli.logs.source import file_name
from cascadebai_cli.workflows.plan import Plan
from cascadebai_cli.workflows.plan_budget import Answers, Asked
from cascadebai_cli.workflows.plan_learners import CANDIDATES
from cascadebai_cli.workflows.plan_runs import Simulated, Test

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
