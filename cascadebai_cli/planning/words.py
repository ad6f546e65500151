"""The answer of `plan` in words."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cascadebai_cli.planning.plan import SHARP
from cascadebai_cli.text import (
    NO_NUMBER,
    Table,
    count,
    exact,
    for_shell,
    for_table,
    is_missing,
    listed,
    number,
    percent,
    quantity,
    share,
    spread_in_words,
)

if TYPE_CHECKING:
    from cascadebai_cli.planning.plan import Answers, Asked, Plan, Question, Test


# --- What a budget of page views leads to, in words -----------------------------------------------------------------


def _answers_in_words(done: "Plan", answers: "Answers") -> str:
    """Say how sure learners are at the budget, what it takes to be as sure as wanted, and what was left out."""
    wanted, parts = done.question.wanted, []
    if wanted.budget is not None:
        parts += [
            f"after {_page_views(wanted.budget)}{_days(wanted.budget, done.question.wanted.per_day)}:",
            str(_then(done, answers)),
        ]
    if wanted.sure is not None:
        parts += [f"page views until all {wanted.K} are right with a chance of {100 * wanted.sure:.12g}%:"]
        parts += [str(_needed(done, answers))]
    return "\n".join([*parts, _order(done) + _budgets_left_out(done, answers)])


def _order(done: "Plan") -> str:
    """Say how lists must be shown for what was simulated to hold, if their order matters."""
    if not done.shuffled:
        return ""
    return (
        f"show each list in a random order, and count every item of a page, clicked or not: {listed(done.shuffled)} "
        "is simulated so, as its guarantee then holds for what is looked at; `cascadebai live start --reads page` runs "
        "such a test\n"
    )


def _page_views(number: float) -> str:
    return f"{count(number)} page view{'s' * (count(number) != '1')}"


def _days(page_views: int, per_day: float | None) -> str:
    if per_day is None:
        return ""
    days = quantity(page_views / per_day)
    return f", {days} day{'s' * (days != '1')}"


def _then(done: "Plan", answers: "Answers") -> Table:
    K = done.question.K
    rows = []
    for one in answers.learners:
        if (then := one.then) is None:
            rows.append([one.name, NO_NUMBER, "", NO_NUMBER, ""])
        else:
            chance = f"{_precise_percent(then.low)} to {_precise_percent(then.high)}"
            number = f"{then.right_low:.2f} to {then.right_high:.2f}"
            rows.append([one.name, _precise_percent(then.all_right), chance, f"{then.right:.2f}", number])
    rows.append(["no test, the log's own", _precise_percent(answers.own_right), "", f"{answers.own_number:.2f}", ""])
    return Table.of(["learner", f"all {K} right", "95 % interval", f"right of {K}", "95 % interval"], rows)


def _needed(done: "Plan", answers: "Answers") -> Table:
    per_day, sure = done.question.wanted.per_day, done.question.wanted.sure
    rows = []
    for one in answers.learners:
        row = [one.name, *_spread(one, one.needed, 1.0, count)]
        rows.append([*row, *(_spread(one, one.needed, per_day, quantity) if per_day else [])])
    none = "0" if answers.own_right >= (sure or 1.0) else "never"
    rows.append(["no test, the log's own", none, "", *(["", ""] if per_day else [])])
    days = ["days", "95 % interval"] if per_day else []
    return Table.of(["learner", "page views", "95 % interval", *days], rows)


def _precise_percent(chance: float) -> str:
    """Format a share in per cent, with more digits near 0 and 1: 62%, 95.2%, 99.93%."""
    rest = min(chance, 1 - chance)
    return percent(chance, 0 if rest >= 0.1 or rest <= 0 else 1 if rest >= 0.01 else 2)


def _spread(one: "Asked", needed: Sequence[float] | None, unit: float, text: Callable[[float], str]) -> list[str]:
    """Return the value and its interval, divided by `unit`."""
    if needed is None:
        return ["not simulated", ""]

    def told(page_views: float) -> str:
        if page_views == float("inf"):
            return f"more than {text(one.last / unit)}"
        return text(page_views / unit) if page_views else f"fewer than {text(one.curve[0].budget / unit)}"

    low, value, high = map(told, needed)
    return [value, "" if low == high else f"{low} to {high}"]


def _budgets_left_out(done: "Plan", answers: "Answers") -> str:
    question = done.question
    numbers = {one.name: one.curve[-1].n for one in answers.learners if one.curve}
    runs = min(numbers.values(), default=0)
    each = [f"{count(n)} of {name}" for name, n in numbers.items()]
    told = [f"{count(runs)} of each learner" if len(set(numbers.values())) < 2 else ", ".join(each)]
    told = [f"simulated runs: {told[0]}, {_truths_in_words(question)}"]
    short = [one for one in answers.learners if one.budget and one.then is None]
    if runs * (1 - (question.wanted.sure or 0)) < 1:
        told += ["too few to tell such a chance from certainty; look at the interval"]
    told += [f"{one.name} needs more page views than there are items" for one in short if _is_too_early(one, question)]
    slow = [_known(one) for one in short if not _is_too_early(one, question)]
    told += [f"too slow to simulate so far, unless --trials is smaller: {', '.join(slow)}"] if slow else []
    return "; ".join(told) + "\n"


def _truths_in_words(question: "Question") -> str:
    """Say where the rates of the runs come from."""
    many = len(question.truths)
    if question.wanted.at_budget and many > 1:
        return f"with rates out of {count(many)} draws"
    return f"put on {count(many)} draws of the rates" if many > 1 else "all with the expected rates"


def _is_too_early(one: "Asked", question: "Question") -> bool:
    return one.beyond_items and (one.budget or 0) <= question.L


def _known(one: "Asked") -> str:
    """Return the name of a learner, with its chance at the largest budget that was simulated."""
    if not one.curve:
        return one.name
    return f"{one.name} ({_precise_percent(one.curve[-1].all_right)} after {count(one.last)})"


# --- A plan in words ------------------------------------------------------------------------------------------------


_MOST_SHOWN = 30
"""Largest number of items that are listed; `items.csv` has all."""
_MOST_NAMED = 5
"""Largest number of items that are named in a sentence."""
_LEAST = 0.001
"""Smallest p-value that is printed; a few thousand drawn tables say little about smaller ones."""


def question_in_words(question: "Question") -> str:
    """Say what the log says, and how hard the question is by the lower bound, before anything is simulated."""
    log, rates, test = question.log, question.rates, question.rates.homogeneity
    strength = "more than any number of" if rates.strength == float("inf") else f"{rates.strength:.3g}"
    unseen = int((log.views == 0).sum())
    none = "has none and gets" if unseen == 1 else "have none and get"
    lines = [
        *_advice(question),
        f"{log.name}: {count(question.L)} items, {exact(float(log.clicks.sum()))} clicks in "
        f"{exact(round(float(log.views.sum()), 1))} views"
        + (f"; {count(unseen)} of the items {none} the rates that the others have" if unseen else ""),
        *log.notes,
        f"rates: mean {rates.mean:.4g}, which counts as {strength} more views of each item (beta-binomial, maximum "
        "likelihood)",
        f"are all rates equal? chi-square {number(test.chi_square)} at {count(test.degrees)} "
        f"degree{'s' * (test.degrees != 1)} of freedom, "
        + (f"p = {test.p_value:.2g}" if test.p_value >= _LEAST else f"p < {_LEAST:g}"),
        f"chance that what the log ranks first, K = {question.K}, is right already: {percent(question.own_right)}",
        _wanted_in_words(question),
        f"by {SHARP:g} times the lower bound a test takes some {spread_in_words(*question.guess)} page views",
    ]
    least = question.least
    if least is not None:
        lines.append(f"were these the rates, no learner could do with fewer than {_page_views(least)} on average")
    return "\n".join(lines) + "\n"


def _advice(question: "Question") -> list[str]:
    """Say whether a test is needed, which items are to be shown without one, and what better ones would bring."""
    named = [for_table(question.log.names[item]) for item in question.own[:_MOST_NAMED]]
    more = question.K - len(named)
    own = f"{', '.join(named)} and {count(more)} more" if more else listed(named)
    error = percent(1.96 * question.own_good_error)
    sure = "" if error == "0%" else f", give or take {error}"
    enough = f"good enough with a chance of {_precise_percent(question.own_good)}{sure}"
    chance = f"{own}, which the log ranks first, {'are all' if question.K > 1 else 'is'} {enough}"
    if question.planned.epsilon:
        best = f"the rates of the best {question.K}" if question.K > 1 else "the best rate"
        chance += f" (at most {question.planned.epsilon:.3g} below {best})"
    if question.needs_test:
        start = f"a test is needed: {chance}, and {100 * question.wanted.enough:.12g}% is wanted"
    else:
        start = f"no test is needed: {chance}"
    pages = question.wanted.per_day or 1_000
    low, median, high = (quantity(pages * gain) for gain in question.gain)
    span = "a day" if question.wanted.per_day else "in 1,000 page views"
    lines = [start, f"the best items in place of these would bring {median} ({low} to {high}) clicks more {span}"]
    if question.wanted.horizon and question.wanted.pages:
        low, median, high = (quantity(question.wanted.pages * gain) for gain in question.gain)
        lines.append(f"that is {median} ({low} to {high}) clicks in {question.wanted.horizon:g} days, without a test")
    return lines


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
    """Say what the runs say."""
    parts = [_answers_in_words(done, done.answers)] if done.answers else []
    parts += _test_in_words(done, done.test) if done.test else []
    parts += ["the items that may be among the best:", str(_items(done))]
    return "\n".join([*parts, *(["", _SHORTER] if done.test and _is_long(done.question, done.test) else [])])


_KEEPING = "posterior"
"""Name for `--learner` of the test that keeps the counts of the log."""
_SHORTER = (
    f"that is long: --learner {_KEEPING} plans a test that begins with the counts of the log, so that it takes fewer "
    "page views, and whose risk holds on average over rates as the log leaves possible"
)
_LONG_DAYS, _LONG_TIMES = 90, 10
"""A test is long from so many days on; without `--per-day`, with so many times the page views of the log."""


def _is_long(question: "Question", test: "Test") -> bool:
    """Return whether a test that is needed takes so long that the counts of the log should not be thrown away."""
    wanted, first = question.wanted, test.learners[0].views
    if not question.needs_test or question.unusable or _KEEPING in (wanted.learner or ()):
        return False
    pages = first.median if first.ended else first.cap
    if wanted.per_day:
        return pages > _LONG_DAYS * wanted.per_day
    return bool(pages > _LONG_TIMES * question.log.views.sum() / question.M)


def start_of_test(done: "Plan", directory: Path) -> str | None:
    """Return the command that starts the planned test, whose items are in this directory.

    It is `None` if none is planned, or none that a live test is. Where places differ, it reads whole pages in a random
    order; then its rates, and so its tolerance, are those of an item that is looked at on a share of the pages only.
    """
    question = done.question
    if done.test is None or not question.needs_test or (question.places_differ and not done.shuffled):
        return None
    reads = " --reads page" if question.places_differ else ""
    page = f" --page-size {question.M}" if question.M != question.K else ""
    items, log = for_shell(directory / "items.csv"), ""
    if _KEEPING in (question.wanted.learner or ()):
        log = " --stopping posterior --prior log --columns name,clicks,views"
    return (
        f"cascadebai live start {for_shell(Path(directory.name.replace('plan', 'live', 1)))} "
        f"{'--log' if log else '--items'} {items} -K {question.K} --delta {question.wanted.risk:g} "
        f"--epsilon {question.looked * question.planned.epsilon:.6g}{page}{reads}{log}"
    )


def _test_in_words(done: "Plan", test: "Test") -> list[str]:
    told = [str(_learners(done, test)), _order(done) + _left_out(done, test)]
    if done.question.wanted.epsilon is None:
        told += ["", "what a tolerance would do:", str(_tolerances(done, test))]
    return [*told, "", _cost(done, test)]


def _learners(done: "Plan", test: "Test") -> Table:
    per_day = done.question.wanted.per_day
    rows = []
    for one in test.told:
        views = one.views
        spread = (views.median, views.low, views.high)
        row = [views.learner, *_counts(spread, views.cap, views.ended)]
        if per_day:
            row += _counts(tuple(value / per_day for value in spread), views.cap / per_day, views.ended)
        rows.append([*row, f"{views.right} of {views.n - views.capped}" if views.ended else NO_NUMBER])
    days = ["days", "5 %", "95 %"] if per_day else []
    return Table.of(["learner", "page views", "5 %", "95 %", *days, "runs that ended right"], rows)


def _counts(values: tuple[float, ...], cap: float, ended: bool) -> list[str]:
    if not ended:
        return [f"more than {quantity(cap)}", "", ""]
    return [quantity(value) if value < float("inf") else "no end" for value in values]


def _left_out(done: "Plan", test: "Test") -> str:
    runs = ", ".join(f"{one.views.n} of {one.views.learner}" for one in test.learners)
    capped = [
        f"{one.views.capped} of {one.views.learner} given up after {_page_views(one.views.cap)}"
        + (", too early to say anything of it" if one not in test.told else "")
        for one in test.learners
        if one.views.capped
    ]
    capped += [
        f"{one.views.learner} is wrong more often than delta, as its lists do not have a random order and places differ"
        for one in test.told
        if one.views.right < (1 - 2 * done.question.wanted.risk) * (one.views.n - one.views.capped)
        and done.question.places_differ
        and one.views.learner not in done.shuffled
    ]
    capped += [
        f"{one.views.learner} has lists that stay until they were looked at {one.stays:.0%} more often, "
        "which takes 1 to 8% more page views"
        for one in test.learners
        if one.stays
    ]
    capped += [f"{name} is left out, as its runs take too long to simulate" for name in test.too_long]
    return f"simulated runs: {runs}, {_truths_in_words(done.question)}" + "".join(f"; {text}" for text in capped)


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
    return Table.of(header, rows)


def _cost(done: "Plan", test: "Test") -> str:
    if test.cost is None:
        return "no learner ended in most of its runs, so that none finds items: allow a larger --epsilon\n"
    M, first, days = done.question.M, test.learners[0].views.learner, done.question.wanted.horizon
    gained = (
        f"in {days:g} days, such a test and then the items that it finds bring "
        f"{spread_in_words(*test.cost.gained)} clicks more than what the log ranks first\n"
        if test.cost.gained
        else ""
    )
    return (
        f"clicks lost in a test with {first}: {spread_in_words(*test.cost.against_best)} against always showing the "
        f"best {M}, {spread_in_words(*test.cost.against_own)} against always showing what the log ranks first\n"
        + gained
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
        for item in done.shown[:_MOST_SHOWN]
    ]
    header = ["item", "clicks", "views", "rate", "5 to 95 %", f"among the best {done.question.K}", "found in runs"]
    return Table.of(header, rows)
