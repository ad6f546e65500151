"""What `plan.json` holds: the model from which its JSON Schema and the table of docs/plan.md are made.

Further keys may come without notice; a key that changes its meaning or goes raises `schema`.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from cascadebai_cli.study.fields import says

Chance = Annotated[float, Field(ge=0, le=1)]
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
    relative_to_w_K: Annotated[Maybe, says("The same as a share of w(K).")]
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
