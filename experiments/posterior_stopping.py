"""Guaranteed stopping and stopping by the posterior, side by side: `python -m experiments.posterior_stopping`.

Writes the table of docs/live.md, in three quarters of an hour of processor time. Where click rates are drawn from the
prior, the answers of `posterior` may be wrong in a share `delta` of the trials at most; the last column is the p-value
of a binomial test against a larger share. The rows with a planted fault, a learner that stops at three times the risk,
show that this test can fail.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from cascadebai_cli.engines.jobs import Run, in_order, never
from cascadebai_cli.engines.simulate import Trial, new_job
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.posterior import PRIORS, Laws, Posterior
from cascadebai_cli.model.problem import CASCADING, FloatArray, IntArray
from cascadebai_cli.planning.rates import fitted_prior
from cascadebai_cli.text import count, percent
from experiments.markdown import table

DELTAS = (0.1, 0.05)
SURE, PLANTED = "bounds", "planted fault"
FACTORS: Mapping[str, float] = {SURE: 1.0, "posterior": 1.0, PLANTED: 3.0}
"""Learner -> its risk as a multiple of the one that is told."""
K = 5
LEVELS = {
    "setting 1": (1 / K, 1 / K**2),
    "setting 2": (1 - 1 / K**2, 1 - 1 / K),
    "setting 3": (K**-0.5, 1 / K),
    "setting 4": (1 - 1 / K, 1 - K**-0.5),
    "setting 5": (1 - 1 / K, 1 / K),
}
CAPTIONS = "configs/data/new_yorker_caption_contest_508_round2.csv"
PAGE, BEGIN, END = Path("docs/live.md"), "<!-- begin: stoppings -->", "<!-- end: stoppings -->"
_BLOCK = 250
"""Draws of rates whose trials run side by side."""
_SEED = 31


@dataclass(frozen=True)
class Case:
    """Where click rates come from.

    Attributes:
        name: its name in the table.
        K: number of items to find.
        rates: draws the rates of a trial.
        cap: most page views of a trial; a trial that reaches it gives no answer.
        sure: share of the trials that are made with bounds.
        is_prior: whether the prior of `posterior` is the law of these rates.
        views: views of each item in the log with which a trial starts, and to which the prior is fitted; 0 for none.
        each: trials with the same rates and the same log, whose fit takes as long as some trials.
    """

    name: str
    K: int
    rates: Callable[[np.random.Generator], FloatArray]
    cap: int | None = None
    sure: float = 1.0
    is_prior: bool = False
    views: int = 0
    each: int = 1

    def run(self, learner: str, delta: float, draws: range) -> list[tuple[Run, bool]]:
        """Return the runs with some draws of the rates, and whether the answer of each is wrong."""
        jobs, best = [], []
        for draw in draws:
            rng = np.random.default_rng([_SEED, draw])
            rates = self.rates(rng)
            looks = np.full(len(rates), self.views)
            clicks = rng.binomial(looks, rates)
            for own in rng.spawn(self.each) if self.each > 1 else [rng]:
                made = self._learner(learner, delta * FACTORS[learner], looks, clicks, own)
                engine, job = new_job(made, Trial(rates, own), CASCADING, "auto", self.cap)
                jobs.append(job)
                best.append(set(np.argsort(-rates, kind="stable")[: self.K].tolist()))
        runs = in_order(engine.run(jobs, never))
        return [(run, set(run.recommendation) != right) for run, right in zip(runs, best, strict=True)]

    def _learner(
        self, learner: str, delta: float, looks: IntArray, clicks: IntArray, rng: np.random.Generator
    ) -> KLLucb | Posterior:
        L, prior = len(looks), PRIORS["uniform"]
        if learner == SURE:
            made: KLLucb | Posterior = KLLucb(L, self.K, delta)
        else:
            prior = _fitted(self.views, tuple(clicks.tolist())) if clicks.any() else prior
            made = Posterior(L, self.K, delta, prior=prior, rng=rng.spawn(1)[0])
        made.take_place(looks, clicks)
        return made


@cache
def _fitted(views: int, clicks: tuple[int, ...]) -> Laws:
    return fitted_prior(np.full(len(clicks), views), np.array(clicks))


def _fixed(weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    return weights


def _beta(a: float, b: float, L: int, rng: np.random.Generator) -> FloatArray:
    return rng.beta(a, b, L)


def cases() -> Iterator[Case]:
    """Yield the cases in the order of the table."""
    yield Case("drawn from the prior", 3, partial(_beta, 1, 1, 10), 5_000, is_prior=True)
    for name, (high, low) in LEVELS.items():
        yield Case(name, K, partial(_fixed, np.repeat([high, low], [K, 40 - K])))
    captions = pd.read_csv(CAPTIONS)
    rates = (captions["funny"] / captions["ratings"]).to_numpy()
    yield Case("captions, finalists", 4, partial(_fixed, rates), sure=0.1)
    yield Case("rare clicks, Beta(1, 9)", 3, partial(_beta, 1, 9, 10), 5_000)
    yield Case("nearly alike, Beta(20, 20)", 3, partial(_beta, 20, 20, 10), 5_000)
    yield Case("7 of 0.5 and 3 of 0.55", 3, partial(_fixed, np.repeat([0.55, 0.5], [3, 7])), 20_000)
    for views in (50, 500):
        yield Case(f"Beta(2, 30), log of {views} views", 3, partial(_beta, 2, 30, 20), 5_000, views=views, each=5)


def row(case: Case, delta: float, learner: str, trials: int) -> list[str]:
    """Return a row of the table."""
    draws = max(1, round(trials * (case.sure if learner == SURE else 1) / case.each))
    parts = [range(first, min(first + _BLOCK, draws)) for first in range(0, draws, _BLOCK)]
    found = [one for part in parts for one in case.run(learner, delta, part)]
    steps = [run.steps for run, _ in found]
    wrong = [is_wrong for run, is_wrong in found if run.status == "stopped"]
    views = count(round(np.mean(steps))) if len(wrong) == len(found) else f"{count(round(np.median(steps)))} (median)"
    p = stats.binomtest(sum(wrong), len(wrong), delta, alternative="greater").pvalue if wrong else 1.0
    rate = percent(float(np.mean(wrong)), 1) if wrong else "-"
    return [
        case.name,
        f"{delta:g}",
        learner,
        count(len(found)),
        percent(len(wrong) / len(found), 0),
        views,
        rate,
        f"{p:.2g}" if learner != SURE and case.is_prior else "",
    ]


HEADER = ("click rates", "delta", "stopping", "trials", "ended", "page views", "wrong", "p")


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2_000, help="number of trials of a cell")
    parser.add_argument("--processes", type=int, default=2, help="number of processes")
    wanted = parser.parse_args()
    cells = [(case, one) for case in cases() for one in FACTORS if one != PLANTED or case.is_prior]
    with ProcessPoolExecutor(wanted.processes) as pool:
        found = list(pool.map(partial(_rows_of, wanted.trials), cells))
    rows = [rows[i] for case in cases() for i in range(len(DELTAS)) for rows in found if rows[i][0] == case.name]
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    PAGE.write_text("".join([before, begin, "\n", table(HEADER, rows, numbers=5), "\n", end, after]), encoding="utf-8")


def _rows_of(trials: int, cell: tuple[Case, str]) -> list[list[str]]:
    """Return the rows of all risks together, since they share the priors that are fitted."""
    case, learner = cell
    return [row(case, delta, learner, trials) for delta in DELTAS]


if __name__ == "__main__":
    main()
