"""The long check of the engines: `python -m experiments.verify_simulators [--replicates N] [--seed N]`.

Every fast engine against the step-by-step loop: many independent runs of each, fresh seeds that are printed, the
two-sample test of Kolmogorov and Smirnov on steps, observations and the first item identified, and QQ plots into
results/verify_simulators/. If all engines are right, the probability that it ends with exit code 1 is at most 0.1 %.
"""

import argparse
import math
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from cascadebai_cli.engines.simulate import EngineName, Trial, resolve_engine, simulate_block
from cascadebai_cli.figures.labels import literal
from cascadebai_cli.figures.style import TEXT_WIDTH, Picture, render, style_of
from cascadebai_cli.learners.protocol import ORDERS
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.problem import CASCADING, SEMI_BANDIT, Feedback
from cascadebai_cli.running.worker import trial_generator
from cascadebai_cli.text import Table, change, count, p_value

PLACE = Path("results/verify_simulators")
FALSE_ALARMS = 1e-3
BLOCK = 50
"""Runs of one call: lockstep advances them together."""
CAP = 8_000
STATISTICS = ("steps", "observations", "first")

INSTANCES: dict[str, tuple[list[float], int]] = {
    "small weights": ([0.6] * 3 + [0.05] * 9, 3),
    "large weights": ([0.99] * 3 + [0.5] * 9, 3),
    "both sides of 1/2": ([0.95] * 2 + [0.8] * 2 + [0.25] * 3 + [0.05] * 4, 4),
    "zeros and ones": ([1.0] * 2 + [0.7] + [0.1] * 3 + [0.0] * 6, 3),
    "ramp": (np.linspace(1, 0, 6).tolist(), 2),
    "all but one": ([0.8] * 7 + [0.1], 7),
}
SIGMA = 0.25
"""A quarter of the steps of the paper's radius, so that the loop can be run often."""
DELTA = 0.1


class Case(NamedTuple):
    """A learner on an instance, with an engine to be held against the loop."""

    instance: str
    label: str
    learner: LearnerSpec
    feedback: Feedback
    engine: EngineName

    @property
    def title(self) -> str:
        """In words."""
        return f"{self.instance}, {self.label}"


def cases() -> list[Case]:
    """Every instance with CascadeBAI and BatRac in the skip-ahead engine, and every display order in lockstep."""
    found = []
    for instance in INSTANCES:
        found.append(Case(instance, "CascadeBAI", LearnerSpec("cascadebai", {"sigma": SIGMA}), CASCADING, "skip-ahead"))
        for b in ("K", 1):
            spec = LearnerSpec("batrac", {"b": b})
            found.append(Case(instance, f"BatRac({b})", spec, SEMI_BANDIT, "skip-ahead"))
        for order in ORDERS:
            spec = LearnerSpec("cascadebai", {"sigma": SIGMA, "order": order})
            found.append(Case(instance, f"order {order}", spec, CASCADING, "lockstep"))
    return found


def sample(case: Case, engine: EngineName, seed: int, replicates: int) -> NDArray[np.float64]:
    """Statistics of independent runs, shape `(replicates, 3)`; items in random order, as in a sweep."""
    numbers = np.array_split(np.arange(replicates), -(-replicates // BLOCK))
    return np.concatenate([_block(case, engine, seed, block.tolist()) for block in numbers])


def _block(case: Case, engine: EngineName, seed: int, numbers: Sequence[int]) -> NDArray[np.float64]:
    weights, K = INSTANCES[case.instance]
    words = np.frombuffer(f"{engine} {case.title}".encode().ljust(80)[:80], dtype=">u4")
    stream = "".join(f"{word:08x}" for word in words)
    trials = []
    for number in numbers:
        rng = trial_generator(seed, stream, number)
        trials.append(Trial(np.array(weights)[rng.permutation(len(weights))], rng))
    runs = simulate_block(
        lambda: case.learner.build(len(weights), K, DELTA, 0.0),
        trials,
        feedback=case.feedback,
        engine=engine,
        max_steps=CAP,
    )
    rows = []
    for run, trial in zip(runs, trials, strict=True):
        first = [*run.accepted[:1], *run.rejected[:1]]
        # Which item it is depends on the order of the items: its weight does not.
        rows.append((run.steps, run.observations, trial.weights[first].sum() if first else -1.0))
    return np.array(rows, dtype=float)


def compare(case: Case, seed: int, replicates: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sample of the loop and of the engine."""
    return sample(case, "reference", seed, replicates), sample(case, case.engine, seed, replicates)


def p_values(one: NDArray[np.float64], other: NDArray[np.float64]) -> list[float]:
    """Of the two-sample test, one a statistic."""
    return [float(stats.ks_2samp(a, b, method="asymp").pvalue) for a, b in zip(one.T, other.T, strict=True)]


def report(chosen: Sequence[Case], samples: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> int:
    """Print and keep what came out; number of tests that give an alarm."""
    level = FALSE_ALARMS / (len(chosen) * len(STATISTICS))
    rows, alarms = [], 0
    for case, (one, other) in zip(chosen, samples, strict=True):
        found = p_values(one, other)
        alarms += sum(p < level for p in found)
        alarm = "differs" if min(found) < level else ""
        means = [count(one[:, 0].mean(), 1), change(other[:, 0].mean() / one[:, 0].mean() - 1, 2)]
        rows.append([case.instance, case.label, case.engine, *means, *map(p_value, found), alarm])
    header = ["instance", "learner", "engine", "mean steps", "change", *(f"p {name}" for name in STATISTICS), ""]
    print(Table.of(header, rows, words=3))
    print(f"\n{alarms} of {len(chosen) * len(STATISTICS)} tests below {level:.2g}")
    _keep(header, rows, chosen, samples)
    return alarms


COLUMNS = 4
_PANEL_HEIGHT = 1.75
POINTS = 99
_POINT, _DIAGONAL = "#0072B2", "black"


@style_of()
def draw_quantiles(samples: Mapping[str, tuple[ArrayLike, ArrayLike]], expected: str, found: str) -> Figure:
    """One panel a pair of samples, four in a row; 99 quantiles, the extremes, and the diagonal.

    Args:
        samples: title -> sample on the horizontal axis, sample on the vertical one.
        expected, found: names of the axes.
    """
    columns = min(COLUMNS, len(samples))
    rows = math.ceil(len(samples) / columns)
    figure = Picture(TEXT_WIDTH * columns / COLUMNS, _PANEL_HEIGHT * rows + 0.3)
    for i, (title, (one, other)) in enumerate(samples.items()):
        axes = figure.add_subplot(rows, columns, i + 1)
        _draw_panel(axes, np.asarray(one, dtype=float), np.asarray(other, dtype=float))
        axes.set_title(literal(title), fontsize=7.5)
    figure.supxlabel(f"steps, {expected}", fontsize=9)
    figure.supylabel(f"steps, {found}", fontsize=9)
    return figure


def _draw_panel(axes: Axes, one: NDArray[np.float64], other: NDArray[np.float64]) -> None:
    share = np.linspace(0, 1, POINTS + 2)
    x, y = np.quantile(one, share), np.quantile(other, share)
    ends = [min(x[0], y[0]), max(x[-1], y[-1])]
    axes.plot(ends, ends, color=_DIAGONAL, linewidth=0.6, zorder=1)
    axes.plot(x, y, "o", color=_POINT, markersize=2, markeredgewidth=0, zorder=2)
    axes.set_aspect("equal", adjustable="datalim")
    axes.locator_params(nbins=3)
    axes.ticklabel_format(scilimits=(-3, 4))
    axes.tick_params(labelsize=6.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set_fontsize(6.5)


def _keep(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    chosen: Sequence[Case],
    samples: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> None:
    PLACE.mkdir(parents=True, exist_ok=True)
    pd.DataFrame([list(row) for row in rows], columns=list(header)).to_csv(PLACE / "tests.csv", index=False)
    for engine in dict.fromkeys(case.engine for case in chosen):
        pairs = {
            case.title: (one[:, 0], other[:, 0])
            for case, (one, other) in zip(chosen, samples, strict=True)
            if case.engine == engine
        }
        figure = draw_quantiles(pairs, "step by step", engine)
        for format in ("png", "pdf"):
            path = PLACE / f"quantiles_{engine}.{format}"
            path.write_bytes(render([figure], format, title="verify_simulators", rows_sha256="none")[0])
            print(path)


def main() -> None:
    """Read the command line, run everything, exit with 1 if an engine differs."""
    parser = argparse.ArgumentParser(description="Compare the fast engines with the step-by-step loop.")
    parser.add_argument("--replicates", type=int, default=500, help="runs of each engine in each case")
    parser.add_argument("--seed", type=int, help="root seed; a fresh one if not given")
    parser.add_argument("--only", default="", metavar="WORDS", help="only cases with these words in their title")
    parser.add_argument("--n-jobs", type=int, default=-1, help="processes; -1 is one a core")
    given = parser.parse_args()
    seed = secrets.randbits(63) if given.seed is None else given.seed
    chosen = [case for case in cases() if given.only in case.title]
    for case in chosen:
        weights, K = INSTANCES[case.instance]
        resolve_engine(case.engine, case.learner.build(len(weights), K, DELTA, 0.0), case.feedback)
    print(f"{len(chosen)} cases, {given.replicates} runs of each engine, root seed {seed}", flush=True)
    start = time.monotonic()
    samples = Parallel(n_jobs=given.n_jobs)(delayed(compare)(case, seed, given.replicates) for case in chosen)
    print(f"{time.monotonic() - start:.0f} s")
    sys.exit(1 if report(chosen, samples) else 0)


if __name__ == "__main__":
    main()
