"""What a budget of page views leads to, in words."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cascadebai_cli.text.numbers import NO_NUMBER, count, precise_percent, quantity
from cascadebai_cli.text.table import Table, table_of

if TYPE_CHECKING:
    from cascadebai_cli.workflows.plan import Answers, Plan, Question
    from cascadebai_cli.workflows.plan_budget import Asked


def answers_in_words(done: "Plan", answers: "Answers") -> str:
    """How sure learners are at the budget, what it takes to be as sure as wanted, and what was left out."""
    wanted, parts = done.question.wanted, []
    if wanted.budget is not None:
        parts += [
            f"after {count(wanted.budget)} page views{_days(wanted.budget, done.effort.per_day)}:",
            str(_then(done, answers)),
        ]
    if wanted.sure is not None:
        parts += [f"page views until all {wanted.K} are right with a chance of {100 * wanted.sure:.12g}%:"]
        parts += [str(_needed(done, answers))]
    return "\n".join([*parts, _left_out(done, answers)])


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
            chance = f"{precise_percent(then.low)} to {precise_percent(then.high)}"
            number = f"{then.right_low:.2f} to {then.right_high:.2f}"
            rows.append([one.name, precise_percent(then.all_right), chance, f"{then.right:.2f}", number])
    rows.append(["no test, the log's own", precise_percent(answers.own_right), "", f"{answers.own_number:.2f}", ""])
    return table_of(["learner", f"all {K} right", "95 % interval", f"right of {K}", "95 % interval"], rows)


def _needed(done: "Plan", answers: "Answers") -> Table:
    per_day, sure = done.effort.per_day, done.question.wanted.sure
    rows = []
    for one in answers.learners:
        row = [one.name, *_spread(one, one.needed, 1.0, count)]
        rows.append([*row, *(_spread(one, one.needed, per_day, quantity) if per_day else [])])
    none = "0" if answers.own_right >= (sure or 1.0) else "never"
    rows.append(["no test, the log's own", none, "", *(["", ""] if per_day else [])])
    days = ["days", "95 % interval"] if per_day else []
    return table_of(["learner", "page views", "95 % interval", *days], rows)


def _spread(one: "Asked", needed: Sequence[float] | None, unit: float, text: Callable[[float], str]) -> list[str]:
    """The value and its interval, in a unit."""
    if needed is None:
        return ["not simulated", ""]

    def told(page_views: float) -> str:
        if page_views == float("inf"):
            return f"more than {text(one.last / unit)}"
        return text(page_views / unit) if page_views else f"fewer than {text(one.curve[0].budget / unit)}"

    low, value, high = map(told, needed)
    return [value, "" if low == high else f"{low} to {high}"]


def _left_out(done: "Plan", answers: "Answers") -> str:
    question = done.question
    runs = max((point.n for one in answers.learners for point in one.curve), default=0)
    told = [f"simulated runs: {count(runs)} of each learner, {truths_in_words(question)}"]
    short = [one for one in answers.learners if one.budget and one.then is None]
    if runs * (1 - (question.wanted.sure or 0)) < 1:
        told += ["so few do not tell such a chance from certainty, the interval does"]
    told += [f"{one.name} needs more page views than there are items" for one in short if _is_too_early(one, question)]
    slow = [_known(one) for one in short if not _is_too_early(one, question)]
    told += [f"too slow to simulate so far, unless --trials is smaller: {', '.join(slow)}"] if slow else []
    return "; ".join(told) + "\n"


def truths_in_words(question: "Question") -> str:
    """Where the rates of the runs come from."""
    many = len(question.truths)
    if question.wanted.at_budget and many > 1:
        return f"with rates out of {count(many)} draws"
    return f"put on {count(many)} draws of the rates" if many > 1 else "all with the expected rates"


def _is_too_early(one: "Asked", question: "Question") -> bool:
    return one.beyond_items and (one.budget or 0) <= question.L


def _known(one: "Asked") -> str:
    """A learner with what is known of it at a smaller budget."""
    if not one.curve:
        return one.name
    return f"{one.name} ({precise_percent(one.curve[-1].all_right)} after {count(one.last)})"
