"""Which weights give the published numbers? `python -m experiments.published_weights [--n-jobs N] [--quick]`.

Solves, `K` by `K`, for the exponent of one weight that puts the mean steps on the published line of Table 2; tries
pairs of simple weights on these lines and on the number quoted for Figure 1; tries other places of the best items.
Observations, not corrections: nothing in the project uses them. Writes results/published_weights/*.csv.
"""

import argparse
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import brentq

from cascadebai_cli.analysis.curves import MODELS
from cascadebai_cli.engines.simulate import Trial, simulate_block
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.formula import evaluate
from cascadebai_cli.model.problem import two_level
from cascadebai_cli.running.worker import trial_generator
from cascadebai_cli.study.config import load_study
from experiments.artefacts import CONFIGS, RESULTS

CONFIG = Path("experiments/published_weights.yaml")
PLACE = RESULTS / "published_weights"
CLOSE = 2e-4
"""Error of an exponent at which the search ends; the noise of the means is larger."""
FAR = 3.0
"""Runs that take this many times the steps that are looked for are stopped: their pair is no candidate."""
APART = 0.01
"""Least distance of two exponents from which the slope of the mean is taken: nearer ones differ by noise alone."""

Config = Mapping[str, Any]
Line = Callable[[int], float]


class Means(NamedTuple):
    """Mean steps of some runs, with the standard deviation of a run."""

    mean: float
    sd: float
    n: int

    @property
    def relative_error(self) -> float:
        """Standard error of the mean, relative to it."""
        return self.sd / math.sqrt(self.n) / self.mean


def measure(
    problem: Config, w_star: float, w_prime: float, stream: str, *, place: str = "random", cap: float | None = None
) -> Means:
    """Steps of CascadeBAI on a two-level instance.

    Args:
        problem: `L, K, delta, trials, seed`.
        w_star, w_prime: the weights.
        stream: names the random numbers; the same name gives the same ones.
        place: where the best items stand: `random`, `best first` or `best last`.
        cap: most steps of a run.
    """
    L, K = problem["L"], problem["K"]
    weights = two_level(L, K, w_star, w_prime).weights
    build = partial(LearnerSpec().build, L, K, problem["delta"], 0.0)
    words = hashlib.sha256(stream.encode()).hexdigest()[:16]
    rngs = [trial_generator(problem["seed"], words, number) for number in range(problem["trials"])]
    trials = [Trial(weights[_order(place, L, rng)], rng) for rng in rngs]
    runs = simulate_block(build, trials, max_steps=None if cap is None else int(cap))
    steps = [run.steps for run in runs]
    return Means(float(np.mean(steps)), float(np.std(steps, ddof=1)), len(steps))


def _order(place: str, L: int, rng: np.random.Generator) -> NDArray[np.int64]:
    if place == "random":
        return rng.permutation(L)
    return np.arange(L) if place == "best first" else np.arange(L)[::-1]


def published_lines() -> dict[str, Line]:
    """Name of a row -> the published mean steps at `K`."""
    lines: dict[str, Line] = {}
    for entry in load_study(CONFIGS / "table1.yaml").instances:
        if entry.fit and entry.fit.published:
            lines[entry.name] = _line(entry.fit.model[0], entry.fit.published.c1 or 0, entry.fit.published.c2 or 0)
    return lines


def _line(model: str, c1: float, c2: float) -> Line:
    return lambda K: float(c1 * MODELS[model](np.array(float(K))) + c2)


# --- one unknown exponent -------------------------------------------------------------------------------------------


def solve(unknown: Config, problem: Config, target: float) -> dict[str, Any]:
    """The exponent at which the mean steps equal `target`.

    Args:
        unknown: `row, name, w_star, w_prime, printed, low, high`, formulas in `K` and `x`.
        problem: as for `measure`.
        target: published mean steps.

    Returns:
        a row of `solved.csv`; the exponent is `nan` if there is none between `low` and `high`.
    """
    tried: dict[float, Means] = {}

    def excess(x: float) -> float:
        w_star, w_prime = (evaluate(unknown[name], {"K": problem["K"], "x": x}) for name in ("w_star", "w_prime"))
        tried[x] = measure(problem, w_star, w_prime, f"{unknown['row']} {problem['K']}")
        return math.log(tried[x].mean / target)

    printed = excess(float(unknown["printed"]))
    try:
        x = float(brentq(excess, unknown["low"], unknown["high"], xtol=CLOSE, rtol=1e-6, maxiter=30))
    except ValueError:
        x = math.nan
    return {
        "row": unknown["row"],
        "name": unknown["name"],
        "K": problem["K"],
        "printed": unknown["printed"],
        "printed_over_published": math.exp(printed),
        "exponent": x,
        "error": _error(tried, x),
    }


def _error(tried: Mapping[float, Means], x: float) -> float:
    """Standard error of the exponent: that of the mean over the slope of the mean."""
    if math.isnan(x):
        return math.nan
    near = sorted(tried, key=lambda other: abs(other - x))
    far = next(other for other in near if abs(other - near[0]) > APART)
    slope = math.log(tried[far].mean / tried[near[0]].mean) / (far - near[0])
    return abs(tried[near[0]].relative_error / slope)


def solved(config: Config, n_jobs: int) -> pd.DataFrame:
    """`solved.csv`: every unknown at every `K`."""
    lines = published_lines()
    tasks = (
        delayed(solve)(unknown, {**config, "K": K}, lines[unknown["row"]](K))
        for unknown in config["unknowns"]
        for K in config["K"]
    )
    return pd.DataFrame(Parallel(n_jobs=n_jobs)(tasks))


# --- pairs of simple weights ----------------------------------------------------------------------------------------


def pairs_of(config: Config, K: int) -> Iterator[tuple[str, str, float, float]]:
    """Every pair of simple weights of which the first is the larger one: formulas and values."""
    values = {name: evaluate(name, {"K": K}) for name in config["weights"]}
    for star, w_star in values.items():
        for prime, w_prime in values.items():
            if w_star > w_prime:
                yield star, prime, w_star, w_prime


def pairs(config: Config, n_jobs: int) -> pd.DataFrame:
    """`pairs.csv`: how far the means of each pair are from the published line of each row, nearest first."""
    lines = published_lines()
    cap = {K: FAR * max(lines[row](K) for row in config["rows"]) for K in config["pair_K"]}
    tasks = [(*pair, K) for K in config["pair_K"] for pair in pairs_of(config, K)]
    problem = {**config, "trials": config["pair_trials"]}
    means = Parallel(n_jobs=n_jobs)(
        delayed(measure)({**problem, "K": K}, w_star, w_prime, f"{star} {prime} {K}", cap=cap[K])
        for star, prime, w_star, w_prime, K in tasks
    )
    found = pd.DataFrame(
        {"w_star": t[0], "w_prime": t[1], "K": t[4], "mean": m.mean} for t, m in zip(tasks, means, strict=True)
    )
    rows = [row for name in config["rows"] for row in _distances(name, lines[name], found)]
    return pd.DataFrame(rows)


def _distances(row: str, line: Line, found: pd.DataFrame) -> Iterable[dict[str, Any]]:
    ratios = found["mean"] / found["K"].map(line)
    table = found.assign(ratio=ratios, log=np.log(ratios) ** 2)
    grouped = table.groupby(["w_star", "w_prime"], sort=False)
    distances = [
        {
            "row": row,
            "w_star": star,
            "w_prime": prime,
            "smallest_ratio": float(part["ratio"].min()),
            "largest_ratio": float(part["ratio"].max()),
            "distance": float(np.sqrt(part["log"].mean())),
        }
        for (star, prime), part in grouped
    ]
    return sorted(distances, key=lambda one: float(one["distance"]))


def quoted(config: Config, n_jobs: int) -> pd.DataFrame:
    """`quoted.csv`: mean steps of each pair beside the number quoted for Figure 1, nearest first."""
    problem = {**config, **config["quoted"]}
    tasks = list(pairs_of(config, problem["K"]))
    means = Parallel(n_jobs=n_jobs)(
        delayed(measure)(problem, w_star, w_prime, f"quoted {star} {prime}", cap=20 * problem["mean"])
        for star, prime, w_star, w_prime in tasks
    )
    rows: list[dict[str, Any]] = [
        {
            "w_star": star,
            "w_prime": prime,
            "mean_steps": found.mean,
            "sd_steps": found.sd,
            "over_quoted": found.mean / problem["mean"],
        }
        for (star, prime, _, _), found in zip(tasks, means, strict=True)
    ]
    rows.sort(key=lambda row: abs(math.log(row["over_quoted"])))
    return pd.DataFrame(rows)


# --- places of the best items ---------------------------------------------------------------------------------------


def places(config: Config, n_jobs: int) -> pd.DataFrame:
    """`places.csv`: mean steps over the published line, by where the best items stand in the list of items."""
    lines = published_lines()
    entries = {entry.name: entry for entry in load_study(CONFIGS / "table1.yaml").instances}
    tasks = [(row, K, place) for row in lines for K in config["pair_K"] for place in config["places"]]
    means = Parallel(n_jobs=n_jobs)(
        delayed(measure)({**config, "K": K}, *_printed(entries[row], K), f"place {row} {K}", place=place)
        for row, K, place in tasks
    )
    return pd.DataFrame(
        {
            "row": row,
            "K": K,
            "place": place,
            "over_published": found.mean / lines[row](K),
            "error": found.relative_error,
        }
        for (row, K, place), found in zip(tasks, means, strict=True)
    )


def _printed(entry: Any, K: int) -> tuple[float, float]:
    return evaluate(entry.w_star, {"K": K}), evaluate(entry.w_prime, {"K": K})


TABLES: Mapping[str, Callable[[Config, int], pd.DataFrame]] = {
    "solved": solved,
    "pairs": pairs,
    "quoted": quoted,
    "places": places,
}
"""Name of a file -> how it is made."""


def main() -> None:
    """Solve, try, keep and print."""
    parser = argparse.ArgumentParser(description="Solve for the weights that would give the published numbers.")
    parser.add_argument("--n-jobs", type=int, default=-1, help="processes; -1 is one a core")
    parser.add_argument("--quick", action="store_true", help="three values of K and three runs a mean, to see it work")
    given = parser.parse_args()
    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    if given.quick:
        config |= {"K": config["K"][::4], "trials": 3, "pair_trials": 2}
        config["quoted"]["trials"] = 3
    PLACE.mkdir(parents=True, exist_ok=True)
    for name, make in TABLES.items():
        table = make(config, given.n_jobs)
        table.to_csv(PLACE / f"{name}.csv", index=False, float_format="%.6g", lineterminator="\n")
        print(
            f"{PLACE / name}.csv\n{table.head(40).to_string(index=False, float_format='{:.4g}'.format)}\n", flush=True
        )


if __name__ == "__main__":
    main()
