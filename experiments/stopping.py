"""How much sooner `stopping: mixture` stops than `stopping: glr`: both asked about the same runs of track-and-stop.

The lists of a run do not depend on when it stops. So one run says when each rule stops at each risk: it goes on until
all have, and both rules are asked at the same times as by the learner.

python -m experiments.stopping --trials 40
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from cascadebai_cli.engines.simulate import Trial, simulate_block
from cascadebai_cli.learners.bounds import all_refuted, told_apart
from cascadebai_cli.learners.track_and_stop import TrackAndStop
from cascadebai_cli.model.problem import FloatArray
from cascadebai_cli.study.config import load_study

CONFIG = Path(__file__).parents[1] / "configs" / "sharp.yaml"
RULES = (told_apart, all_refuted)
Stops = dict[tuple[int, float], tuple[int, tuple[int, ...]] | None]
"""Place of a rule in `RULES`, and a risk -> steps and answer, `None` before the rule stops."""
_NEVER = 1e-300


class Asked(TrackAndStop):
    """Track-and-stop that notes in `stops` when each rule would stop at each risk, and with which answer."""

    def __init__(self, L: int, K: int, stops: Stops) -> None:
        super().__init__(L, K, _NEVER)
        self.stops = stops

    def end_stretch(self) -> None:
        """Plan the next stretch, and ask the rules that have not stopped."""
        super().end_stretch()
        for rule, risk in [asked for asked, stop in self.stops.items() if stop is None]:
            if RULES[rule](self.T, self.S, self.K, risk):
                self.stops[rule, risk] = self.steps, self.recommendation
        self.finished = None not in self.stops.values()


def stops_of(weights: FloatArray, K: int, risks: Sequence[float], rng: np.random.Generator) -> Stops:
    """Return steps and answer of each rule at each risk, in one run."""
    stops: Stops = dict.fromkeys(product(range(len(RULES)), risks))
    simulate_block(partial(Asked, len(weights), K, stops), [Trial(weights, rng)])
    return stops


def _shuffled(
    weights: FloatArray, K: int, risks: Sequence[float], seed: int, trial: int
) -> dict[Any, tuple[int, bool]]:
    """Return steps of each rule at each risk and whether the answer is right, in one run with shuffled items."""
    rng = np.random.default_rng([seed, trial])
    w = rng.permutation(weights)
    stops = stops_of(w, K, risks, rng)
    return {asked: (stop[0], w[list(stop[1])].min() >= np.sort(w)[-K]) for asked, stop in stops.items() if stop}


def rows(instances: Sequence[str], risks: Sequence[float], seed: int, trials: int, n_jobs: int) -> Iterator[list[str]]:
    """Yield the rows of the table: one for each instance and risk."""
    cells = {cell.instance: (cell.weights, cell.K) for cell in load_study(CONFIG).cells}
    for name in instances or cells:
        weights, K = cells[name]
        found = Parallel(n_jobs)(delayed(_shuffled)(weights, K, risks, seed, trial) for trial in range(trials))
        for risk in risks:
            glr, mixture = (np.array([run[rule, risk] for run in found]) for rule in range(len(RULES)))
            yield [name, f"{risk:g}", *_compared(glr, mixture)]


def _compared(glr: FloatArray, mixture: FloatArray) -> list[str]:
    """Return mean steps, their ratio with its standard error, and wrong answers; steps and rightness in columns."""
    before, after = glr[:, 0].mean(), mixture[:, 0].mean()
    error = (mixture[:, 0] / before - after / before * glr[:, 0] / before).std(ddof=1) / np.sqrt(len(glr))
    wrong = [f"{np.count_nonzero(rule[:, 1] == 0)}" for rule in (glr, mixture)]
    return [f"{before:,.0f}", f"{after:,.0f}", f"{after / before:.2f}", f"{error:.2f}", *wrong]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instances", nargs="*", help="instances of configs/sharp.yaml; all if left out")
    parser.add_argument("--delta", nargs="+", type=float, default=[0.1, 0.05])
    parser.add_argument("--seed", type=int, default=2718)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--n-jobs", type=int, default=2)
    given = parser.parse_args()
    for row in rows(given.instances, given.delta, given.seed, given.trials, given.n_jobs):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
