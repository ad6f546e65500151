"""Is the chance that `plan --budget` states true? Called by `python -m experiments.plan_calibration --budget`.

A truth is drawn from what a file in `configs/data/` leaves open, and a log like that file is made from it: the same
items and views, new clicks. The plan is made from that log alone; then each learner runs once with the truth at every
other budget of the plan, and names all of the best `K` or not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from cascadebai_cli.engines.simulate import Trial, simulate
from cascadebai_cli.logs.layout import Layout
from cascadebai_cli.logs.read import Log
from cascadebai_cli.model.problem import FloatArray
from cascadebai_cli.planning.options import Wanted
from cascadebai_cli.planning.plan import Answers
from cascadebai_cli.planning.question import Question
from cascadebai_cli.planning.runs import CANDIDATES
from cascadebai_cli.running.runner import Backend
from cascadebai_cli.running.watch import SILENT
from cascadebai_cli.store.summary import binomial_interval
from cascadebai_cli.text import count, percent
from experiments.artefacts import REFERENCE
from experiments.markdown import from_csv, table

NO_TEST = "no test"
EDGES = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)
FEWEST = 100
"""Chances in a row from which on its deviation says something."""


@dataclass(frozen=True)
class Setting:
    """A file, what is asked about it, and of whom."""

    file: str
    K: int
    budget: int
    learners: tuple[str, ...]
    trials: int


SETTINGS = {
    "508": Setting("new_yorker_caption_contest_508_round2.csv", 4, 16_000, ("sar", "uniform"), 20),
    "508, KL-LUCB++": Setting("new_yorker_caption_contest_508_round2.csv", 4, 4_000, ("kl-lucb++",), 20),
    "691": Setting("new_yorker_caption_contest_691.csv", 5, 800_000, ("uniform",), 20),
}
LAYOUT = Layout("item", "funny", "ratings")


@dataclass(frozen=True)
class Stated:
    """A chance that a plan states, and whether it was so; `page_views` is 0 without a test."""

    file: str
    case: int
    learner: str
    page_views: int
    chance: float
    right: int


def cases(name: str, numbers: Sequence[int]) -> Iterator[list[Stated]]:
    """What each case states and what happened."""
    setting = SETTINGS[name]
    known = _known(name)
    for case in numbers:
        rng = np.random.default_rng([691, case])
        w = known.beliefs[rng.integers(len(known.beliefs))]
        clicks = rng.binomial(known.log.views.astype(int), w).astype(np.float64)
        log = Log("made", known.log.names, clicks, known.log.views, ())
        wanted = Wanted(setting.K, seed=int(rng.integers(2**31)), budget=setting.budget)
        yield list(_stated(name, case, Question.about(log, Path("made.csv"), wanted), w, rng))


@lru_cache
def _known(name: str) -> Question:
    setting = SETTINGS[name]
    return Question.of(Path("configs/data") / setting.file, LAYOUT, Wanted(setting.K, budget=setting.budget))


def _stated(name: str, case: int, question: Question, w: FloatArray, rng: np.random.Generator) -> Iterator[Stated]:
    setting = SETTINGS[name]
    answers = Answers.of(question, setting.learners, setting.trials, Backend("sequential"), SILENT)
    assert answers is not None
    best = set(np.argsort(-w, kind="stable")[: setting.K].tolist())
    yield Stated(name, case, NO_TEST, 0, answers.own_right, int(set(question.own) == best))
    for one in answers.learners:
        for point in one.curve[::-2]:
            found = _run(one.key, question, w, point.budget, rng)
            yield Stated(name, case, one.name, point.budget, point.all_right, int(found == best))


def _run(key: str, question: Question, w: FloatArray, budget: int, rng: np.random.Generator) -> set[int]:
    """The items that a learner names after so many page views with the truth."""
    spec, order = CANDIDATES[key].spec, rng.permutation(question.L)
    run = simulate(
        lambda: spec.build(question.L, question.K, question.wanted.risk, budget=budget, epsilon=0.0),
        Trial(w[order], rng),
        max_steps=budget,
        answers=True,
    )
    return set(order[list(run.recommendation)].tolist())


def as_table(found: Sequence[Stated]) -> pd.DataFrame:
    """One row a chance."""
    return pd.DataFrame([asdict(one) for one in found])


def reliability(rows: pd.DataFrame) -> str:
    """Two tables as Markdown, by page views and by the size of the chance, and the largest deviation in words."""
    place = np.clip(np.searchsorted(EDGES, rows["chance"], side="right") - 1, 0, len(EDGES) - 2)
    sizes = [f"{percent(low)} to {percent(high)}" for low, high in pairwise(EDGES)]
    views = rows["page_views"].map(lambda page_views: count(page_views) if page_views else "-")
    by_views = _rows(rows.assign(group=views, rank=rows["page_views"]))
    by_size = _rows(rows.assign(group=[sizes[i] for i in place], rank=place))
    header = ["file", "learner", "{}", "chances", "mean chance", "all were right", "95 % interval"]
    many = rows.groupby("file", sort=False)["case"].nunique()
    told = "; ".join(f"{count(int(n))} of {file}" for file, n in many.items())
    return "\n\n".join(
        [
            *(
                table([name.format(word) for name in header], [row.texts for row in found], numbers=5)
                for word, found in (("page views", by_views), ("chance", by_size))
            ),
            f"Cases: {told}. Largest deviation of a row with {FEWEST} chances or more: {_largest(by_views)} by page "
            f"views, {_largest(by_size)} by chance.",
        ]
    )


class _Row(NamedTuple):
    """A line of a table: how many chances there are, and by how much they are off."""

    n: int
    off: float
    texts: list[str]


def _rows(rows: pd.DataFrame) -> list[_Row]:
    """One for each file, learner and group, in the order of `rank`."""
    found = []
    for (file, learner, _), part in rows.groupby(["file", "learner", "rank"]):
        n, right, stated = len(part), int(part["right"].sum()), float(part["chance"].mean())
        low, high = binomial_interval(right, n)
        values = [percent(stated, 1), percent(right / n, 1), f"{percent(low)} to {percent(high)}"]
        texts = [str(file), str(learner), str(part["group"].iloc[0]), count(n), *values]
        found.append(_Row(n, right / n - stated, texts))
    return found


def _largest(rows: Sequence[_Row]) -> str:
    """In points; positive where the chances are too small."""
    known = [row for row in rows if row.n >= FEWEST]
    if not known:
        return "-"
    worst = max(known, key=lambda row: abs(row.off))
    file, learner, group = worst.texts[:3]
    return f"{100 * worst.off:+.1f} points ({learner} on {file}, {group})"


BLOCKS: Mapping[str, Callable[[], str]] = {
    "plan-budget-calibration": from_csv(REFERENCE / "plan" / "budget_calibration.csv", reliability)
}
