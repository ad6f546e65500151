"""Is `plan` calibrated? Logs are made from known rates, and a test is run with the rates that made them.

    python -m experiments.plan_calibration --cases 300 --learner kl-lucb++
    python -m experiments.plan_calibration --budget rows.csv --file 508 --cases 300
    python -m experiments.plan_calibration --logs 300
    python -m experiments.plan_calibration --positions 20

The second asks about `plan --budget` (`budget_calibration`); it goes on with the cases that are not in `rows.csv` yet.
The third asks whether ranges of rates hold for logs of several kinds (`interval_calibration`).
The fourth compares the page views of plans from logs by position with those of the users who made the logs.
The first has two questions: does the 5 to 95 % range of page views hold those of the real run, and of the items that
are among the best `K` with a chance of 30 %, are 30 % among them?
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cascadebai_cli.engines.simulate import Trial, simulate, simulate_block
from cascadebai_cli.logs.read import Log, log_of
from cascadebai_cli.model.problem import SEMI_BANDIT, FloatArray
from cascadebai_cli.model.users import PositionBased
from cascadebai_cli.planning.options import Layout, Wanted
from cascadebai_cli.planning.question import Question
from cascadebai_cli.planning.runs import CANDIDATES, Test
from cascadebai_cli.running.runner import Backend
from cascadebai_cli.running.watch import SILENT
from cascadebai_cli.store.summary import binomial_interval, mean_interval
from cascadebai_cli.text import count, percent
from experiments import budget_calibration, interval_calibration
from experiments.markdown import table

K = 5
SIZES = (50, 50, 50, 200, 200, 1000)
"""Numbers of items, in turn; and now and then `LARGEST`."""
LARGEST, EVERY = 5000, 40
EDGES = (0.0, 0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.99, 1.0)
LEARNER = "cascadebai-kl"


def two_level(L: int, rng: np.random.Generator) -> FloatArray:
    """`K` items of one rate, the others of a smaller one."""
    high = rng.uniform(0.05, 0.5)
    return np.repeat([high, high * rng.uniform(0.4, 0.8)], [K, L - K])


def zipf(L: int, rng: np.random.Generator) -> FloatArray:
    """Rates that fall with a power of the rank."""
    return np.asarray(rng.uniform(0.1, 0.6) / np.arange(1, L + 1) ** rng.uniform(0.3, 1.0))


def beta(L: int, rng: np.random.Generator) -> FloatArray:
    """Rates of a beta law."""
    mean, strength = rng.uniform(0.02, 0.3), rng.uniform(5, 100)
    return np.asarray(rng.beta(mean * strength, (1 - mean) * strength, L))


FAMILIES: Mapping[str, Callable[[int, np.random.Generator], FloatArray]] = {
    "two-level": two_level,
    "Zipf": zipf,
    "beta": beta,
}


@dataclass(frozen=True, eq=False)
class Case:
    """One log, what the plan says, and what happened."""

    family: str
    L: int
    covered: bool
    chances: FloatArray
    among: FloatArray


def cases(number: int, seconds: float, seed: int, learner: str) -> Iterator[Case]:
    """So many cases, or as many as begin within so many seconds."""
    start = time.monotonic()
    for case in range(number):
        if time.monotonic() - start > seconds:
            return
        family = list(FAMILIES)[case % len(FAMILIES)]
        L = LARGEST if case % EVERY == EVERY - 1 else SIZES[(case // len(FAMILIES)) % len(SIZES)]
        yield one_case(family, L, np.random.default_rng([seed, case]), learner)


def one_case(family: str, L: int, rng: np.random.Generator, learner: str) -> Case:
    """Make a log, plan from it, and run the test."""
    w = FAMILIES[family](L, rng)
    views = np.floor(10 ** rng.uniform(1, 6, L))
    clicks = rng.binomial(views.astype(int), w).astype(float)
    log = Log("made", tuple(map(str, range(L))), clicks, views, ())
    question = Question.about(log, Path("made.csv"), Wanted(K, seed=int(rng.integers(2**31))))
    found = Test.of(question, [learner], None, Backend("sequential"), SILENT)
    assert found is not None
    views_of = found.learners[0].views
    real = simulate(
        lambda: CANDIDATES[learner].of(question).build(L, K, question.wanted.risk, question.planned.epsilon),
        Trial(w[rng.permutation(L)], rng),
        max_steps=views_of.cap,
    )
    best = np.zeros(L)
    best[np.argsort(-w, kind="stable")[:K]] = 1
    return Case(family, L, views_of.low <= real.steps <= views_of.high, question.chances, best)


def coverage(done: list[Case]) -> str:
    """A row for each family and size, and one for all."""
    groups = {name: [case for case in done if case.family == name] for name in FAMILIES}
    groups |= {f"{count(L)} items": [case for case in done if case.L == L] for L in sorted({case.L for case in done})}
    rows = []
    for name, group in {**groups, "all": done}.items():
        inside = sum(case.covered for case in group)
        low, high = binomial_interval(inside, len(group))
        rows.append([name, str(len(group)), percent(inside / len(group)), f"{percent(low)} to {percent(high)}"])
    return table(["logs", "cases", "real run inside 5 to 95 %", "95 % interval"], rows)


def reliability(done: list[Case]) -> str:
    """Items by the chance that the plan gives them."""
    chances, among = (np.concatenate([getattr(case, name) for case in done]) for name in ("chances", "among"))
    place = np.clip(np.searchsorted(EDGES, chances, side="right") - 1, 0, len(EDGES) - 2)
    rows = []
    for i in range(len(EDGES) - 1):
        mine = place == i
        if mine.any():
            row = [f"{percent(EDGES[i])} to {percent(EDGES[i + 1])}", count(int(mine.sum()))]
            rows.append([*row, percent(float(chances[mine].mean()), 1), percent(float(among[mine].mean()), 1)])
    return table(["chance", "items", "mean chance", "among the best"], rows)


BEST, TOLERANCE, RUNS = 3, 0.05, 16
"""Plans from logs by position: items to find, tolerance, runs with each log."""
VIEWS, ITEMS, LOOKS = 60_000, 12, (1.0, 0.7, 0.45, 0.3)


def positions(number: int) -> str:
    """Page views of KL-LUCB++ with the expected rates and looks of logs by position, over those of their users."""
    found = np.array([_of_log(log) for log in range(number)])
    rows = []
    for kind, mine in zip(("expected, as in plans", "expected rates, true looks", "true"), found.T, strict=True):
        ratio = mean_interval(mine / found[:, -1])
        apart = f"{ratio.low:.2f} to {ratio.high:.2f}" if kind != "true" else ""
        rows.append([kind, count(round(float(mine.mean()))), f"{ratio.value:.2f}", apart])
    return table(["users", "page views", "over those of the true ones", "95 % interval"], rows)


def _of_log(log: int) -> tuple[float, ...]:
    """Mean page views with the estimates of one log, with its rates and the true looks, and with true users."""
    rates, rows = _events(log)
    read = log_of(rows, Layout("item", "click", event=True, position="slot"), "made.csv")
    question = Question.about(read, Path("made.csv"), Wanted(BEST, truth="mean", epsilon=TOLERANCE))
    true = rates[[int(name) for name in read.names]]
    kinds = [(question.truths[0], question.looks), (question.truths[0], LOOKS[:BEST]), (true, LOOKS[:BEST])]
    return tuple(_mean_steps(*users, [log, kind]) for kind, users in enumerate(kinds, 1))


def _events(log: int) -> tuple[FloatArray, pd.DataFrame]:
    """The rates of the items, and a row for each view of a log in which better items are shown higher more often."""
    rng, rates = np.random.default_rng(ITEMS + log), np.linspace(0.3, 0.08, ITEMS)
    item = rng.integers(ITEMS, size=VIEWS)
    own = item * len(LOOKS) // ITEMS
    slot = np.where(rng.random(VIEWS) < 0.6, own, rng.integers(len(LOOKS), size=VIEWS))
    click = rng.random(VIEWS) < np.array(LOOKS)[slot] * rates[item]
    return rates, pd.DataFrame({"item": item.astype(str), "slot": slot + 1, "click": click.astype(int)})


def _mean_steps(w: FloatArray, looks: tuple[float, ...], seed: list[int]) -> float:
    """Mean page views of KL-LUCB++ with users who look at places like this, as a plan simulates it."""
    page = SEMI_BANDIT.of(PositionBased(looks), shuffled=True)
    spec, epsilon = CANDIDATES["kl-lucb++"].spec, TOLERANCE * float(np.mean(looks))
    own = [np.random.default_rng([*seed, run]) for run in range(RUNS)]
    trials = [Trial(w[rng.permutation(len(w))], rng) for rng in own]
    ran = simulate_block(lambda: spec.build(len(w), BEST, Wanted(BEST).risk, epsilon), trials, feedback=page)
    return float(np.mean([run.steps for run in ran]))


def budgets(path: Path, file: str, number: int, seconds: float) -> str:
    """The table of all cases in a file of rows, to which those are added that are missing and begin in time."""
    rows = pd.read_csv(path, dtype={"file": str}) if path.exists() else pd.DataFrame(columns=["file", "case"])
    known = set(rows.loc[rows["file"] == file, "case"])
    end = time.monotonic() + seconds
    for found in budget_calibration.cases(file, [case for case in range(number) if case not in known]):
        rows = pd.concat([rows, budget_calibration.as_table(found)], ignore_index=True)
        rows.to_csv(path, index=False)
        if time.monotonic() > end:
            break
    return budget_calibration.reliability(rows)


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--learner", choices=sorted(CANDIDATES), default=LEARNER)
    parser.add_argument("--seconds", type=float, default=3600, help="time after which no new case begins")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=Path, metavar="ROWS", help="a CSV file of cases for plan --budget")
    parser.add_argument("--file", choices=sorted(budget_calibration.SETTINGS), default="508")
    parser.add_argument("--logs", type=int, metavar="N", help="number of logs of each kind for the ranges of rates")
    parser.add_argument("--positions", type=int, metavar="N", help="number of logs by position for page views")
    given = parser.parse_args()
    if given.positions:
        print(positions(given.positions))
        return
    if given.logs:
        print(interval_calibration.ranges(given.logs))
        return
    if given.budget:
        print(budgets(given.budget, given.file, given.cases, given.seconds))
        return
    done = list(cases(given.cases, given.seconds, given.seed, given.learner))
    print(coverage(done), reliability(done), sep="\n\n")


if __name__ == "__main__":
    main()
