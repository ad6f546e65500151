"""A plan in words."""

from typing import TYPE_CHECKING

from cascadebai_cli.cli.plan_budget_report import answers_in_words, truths_in_words
from cascadebai_cli.text.numbers import (
    NO_NUMBER,
    count,
    exact,
    is_missing,
    number,
    percent,
    quantity,
    share,
    spread_in_words,
)
from cascadebai_cli.text.table import Table, table_of

if TYPE_CHECKING:
    from cascadebai_cli.workflows.plan import Plan, Question, Test

MOST_SHOWN = 30
"""Items that are listed; `items.csv` has all."""
LEAST = 0.001
"""Smallest chance that is told; how much smaller one is, a few thousand drawn tables do not tell."""


def question_in_words(question: "Question") -> str:
    """What the log says, and how hard the question is by the bounds; known before anything is simulated."""
    log, rates, test = question.log, question.rates, question.rates.homogeneity
    strength = "more than any number of" if rates.strength == float("inf") else f"{rates.strength:.3g}"
    unseen = int((log.views == 0).sum())
    lines = [
        f"{log.name}: {count(question.L)} items, {exact(float(log.clicks.sum()))} clicks in "
        f"{exact(round(float(log.views.sum()), 1))} views"
        + (f"; {count(unseen)} of the items have none and get the rates that the others have" if unseen else ""),
        *log.notes,
        f"rates: mean {rates.mean:.4g}, which counts as {strength} more views of each item (beta-binomial, maximum "
        "likelihood)",
        f"are all rates equal? chi-square {number(test.chi_square)} at {count(test.degrees)} degrees of freedom, "
        + (f"p = {test.p_value:.2g}" if test.p_value >= LEAST else f"p < {LEAST:g}"),
        f"chance that what the log ranks first, K = {question.K}, is right already: {percent(question.own_right)}",
        _wanted_in_words(question),
        f"by the bounds a test takes some {spread_in_words(*question.guess)} page views",
    ]
    least = question.least
    if least is not None:
        lines.append(f"were these the rates, no learner could do with fewer than {count(least)} page views on average")
    return "\n".join(lines) + "\n"


def _wanted_in_words(question: "Question") -> str:
    planned, K = question.planned, question.K
    start = f"K = {K}{_page_in_words(question)}, delta = {question.wanted.risk:g}, epsilon = {planned.epsilon:.3g}"
    if is_missing(planned.relative):
        return start
    none = "with --epsilon 0 some runs would not end: " if question.wanted.epsilon == 0 else ""
    return (
        f"{none}w({K}) and w({K + 1}) are closer than the log can tell: {start}, "
        f"{percent(planned.relative)} of w({K}), is planned for"
    )


def _page_in_words(question: "Question") -> str:
    M, asked = question.M, question.wanted.page_size
    fewer = f", as there are no {count(asked)}" if asked and asked > M else ""
    return f", {count(M)} on a page{fewer}" if M != question.K or fewer else ""


def plan_in_words(done: "Plan") -> str:
    """What the runs say."""
    parts = [answers_in_words(done, done.answers)] if done.answers else []
    parts += _test_in_words(done, done.test) if done.test else []
    return "\n".join([*parts, "the items that may be among the best:", str(_items(done))])


def _test_in_words(done: "Plan", test: "Test") -> list[str]:
    told = [str(_learners(done, test)), _left_out(done, test)]
    if done.question.wanted.epsilon is None:
        told += ["", "what a tolerance would do:", str(_tolerances(done, test))]
    return [*told, "", _cost(done, test)]


def _learners(done: "Plan", test: "Test") -> Table:
    per_day = done.effort.per_day
    rows = []
    for one in test.learners:
        views = one.views
        spread = (views.median, views.low, views.high)
        row = [views.learner, *_counts(spread, views.cap, views.ended)]
        if per_day:
            row += _counts(tuple(value / per_day for value in spread), views.cap / per_day, views.ended)
        rows.append([*row, f"{views.right} of {views.n - views.capped}" if views.ended else NO_NUMBER])
    days = ["days", "5 %", "95 %"] if per_day else []
    return table_of(["learner", "page views", "5 %", "95 %", *days, "runs that ended right"], rows)


def _counts(values: tuple[float, ...], cap: float, ended: bool) -> list[str]:
    if not ended:
        return [f"more than {quantity(cap)}", "", ""]
    return [quantity(value) if value < float("inf") else "no end" for value in values]


def _left_out(done: "Plan", test: "Test") -> str:
    runs = ", ".join(f"{one.views.n} of {one.views.learner}" for one in test.learners)
    capped = [
        f"{one.views.capped} of {one.views.learner} given up after {count(one.views.cap)} page views"
        for one in test.learners
        if one.views.capped
    ]
    return f"simulated runs: {runs}, {truths_in_words(done.question)}" + "".join(f"; {text}" for text in capped)


def _tolerances(done: "Plan", test: "Test") -> Table:
    question, first = done.question, test.learners[0].views
    rows = []
    for one in (question.exact, *question.table):
        low, good, high = one.good_range
        spread = first.expected(one.efforts)
        rows.append(
            [
                "none" if one.epsilon == 0 else f"{percent(one.relative)} of w({question.K})",
                f"{one.epsilon:.3g}",
                f"{count(good)} ({count(low)} to {count(high)})",
                *_counts((spread[1], spread[0], spread[2]), first.cap, first.ended),
                "planned" if one is question.planned else "",
            ]
        )
    header = ["tolerance", "epsilon", "items good enough", f"page views, {first.learner}", "5 %", "95 %", ""]
    return table_of(header, rows)


def _cost(done: "Plan", test: "Test") -> str:
    if test.cost is None:
        return "no learner ended in most of its runs, so that none finds items: allow a larger --epsilon\n"
    M, first = done.question.M, test.learners[0].views.learner
    return (
        f"clicks lost in a test with {first}: {spread_in_words(*test.cost.against_best)} against always showing the "
        f"best {M}, {spread_in_words(*test.cost.against_own)} against always showing what the log ranks first\n"
    )


def _items(done: "Plan") -> Table:
    named = done.outcome.named if done.outcome else 0
    rows = [
        [
            item.name,
            exact(item.clicks),
            exact(round(item.views, 1)),
            share(item.rate),
            f"{share(item.low)} to {share(item.high)}",
            percent(item.chance),
            NO_NUMBER if item.found_in is None else f"{item.found_in} of {named}",
        ]
        for item in done.shown[:MOST_SHOWN]
    ]
    header = ["item", "clicks", "views", "rate", "5 to 95 %", f"among the best {done.question.K}", "found in runs"]
    return table_of(header, rows)
