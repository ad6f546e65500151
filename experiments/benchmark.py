"""How fast the engines are, and how fast the program starts: `make bench`.

It is `python experiments/benchmark.py`, with `--quick`, `--against`, `--json`.

Seeds are fixed, so every run simulates the same steps. Rates are steps a second of processor time of one process.
Ratios are taken between runs that alternate with the reference engine, since times depend on the machine and on what
else it does. With `--against COMMIT` every part is measured with the package of that commit too, in turn with this one,
and its numbers stand in `before` of each row.
"""

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from cascadebai_cli.engines.jobs import Run
from cascadebai_cli.engines.simulate import EngineName, Trial, simulate_block
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.problem import FloatArray
from cascadebai_cli.text import Table

SETTINGS: dict[int, Callable[[int], tuple[float, float]]] = {
    1: lambda K: (1 / K, 1 / K**2),
    2: lambda K: (1 - 1 / K**2, 1 - 1 / K),
    3: lambda K: (1 / K**0.5, 1 / K),
    4: lambda K: (1 - 1 / K, 1 - 1 / K**0.5),
    5: lambda K: (1 - 1 / K, 1 / K),
}
DELTA = 0.1
PAPER = LearnerSpec("cascadebai")
REFERENCE_STEPS = 3_000
"""Steps of the stretch that the reference engine runs."""
ONCE = 2.0
"""Seconds of a measurement of growth from which it is made once."""
TOGETHER = 200
"""Trials of one measurement of skip-ahead, which runs them side by side: half a block of a large sweep."""
MEASURED = (
    "steps_per_second",
    "trials_per_second",
    "seconds_per_trial",
    "ratio_to_reference",
    "mean_steps",
    "seconds",
    "ratio_to_pass",
)
"""What is kept of another commit."""

Row = dict[str, object]


def two_level(L: int, K: int, w_star: float, w_prime: float) -> FloatArray:
    """`K` items with `w_star`, the others with `w_prime`."""
    return np.where(np.arange(L) < K, w_star, w_prime)


def trials_of(weights: FloatArray, count: int) -> list[Trial]:
    """Trials with fixed seeds and shuffled items."""
    rngs = [np.random.Generator(np.random.PCG64DXSM([2020, trial])) for trial in range(count)]
    return [Trial(weights[rng.permutation(len(weights))], rng) for rng in rngs]


def measure(
    weights: FloatArray,
    K: int,
    count: int,
    engine: EngineName,
    cap: int | None = None,
    learner: LearnerSpec = PAPER,
    delta: float = DELTA,
    *,
    answers: bool = False,
) -> tuple[float, list[Run]]:
    """Seconds of processor time for `count` trials, and their runs; with `answers` the cap is a budget."""
    make = partial(learner.build, len(weights), K, delta, 0.0, budget=cap if answers else None)
    trials = trials_of(weights, count)
    start = time.process_time()
    runs = simulate_block(make, trials, engine=engine, max_steps=cap, answers=answers)
    return time.process_time() - start, runs


def rate(seconds: float, runs: Sequence[Run]) -> float:
    """Steps a second."""
    return sum(run.steps for run in runs) / seconds


def beside_reference(
    pairs: int,
    weights: FloatArray,
    K: int,
    count: int,
    engine: EngineName,
    cap: int | None = None,
    learner: LearnerSpec = PAPER,
) -> tuple[list[Run], Row]:
    """Runs of the middle one of some measurements, and its rates, each measurement beside one of the reference."""
    fast = [measure(weights, K, count, engine, cap, learner) for _ in range(pairs)]
    slow = [measure(weights, K, 1, "reference", REFERENCE_STEPS, learner) for _ in range(pairs)]
    ratios = [rate(*a) / rate(*b) for a, b in zip(fast, slow, strict=True)]
    seconds, runs = sorted(fast, key=lambda pair: pair[0])[pairs // 2]
    return runs, {
        "steps_per_second": rate(seconds, runs),
        "trials_per_second": len(runs) / seconds,
        "ratio_to_reference": median(ratios),
    }


def skip_ahead_rows(Ks: Sequence[int], pairs: int) -> list[Row]:
    """Skip-ahead on whole runs, beside the reference on the first steps of the same instance."""
    rows = []
    for setting, weights_of in SETTINGS.items():
        for K in Ks:
            weights = two_level(128, K, *weights_of(K))
            runs, rates = beside_reference(pairs, weights, K, TOGETHER, "skip-ahead")
            rows.append(
                {
                    "engine": "skip-ahead",
                    "setting": setting,
                    "K": K,
                    "mean_steps": sum(run.steps for run in runs) / len(runs),
                    **rates,
                }
            )
    return rows


def lockstep_rows(counts: Sequence[int], cap: int, pairs: int) -> list[Row]:
    """Lockstep with more and more rows, display order -U, beside the reference; L = 64, K = 16, setting 1."""
    weights, rows = two_level(64, 16, *SETTINGS[1](16)), []
    learner = LearnerSpec("cascadebai", {"order": "-U"})
    for count in counts:
        _, rates = beside_reference(pairs, weights, 16, count, "lockstep", cap, learner)
        rows.append({"engine": "lockstep", "rows": count, **rates})
    return rows


def leap_rows(cap: int) -> list[Row]:
    """Nine runs that never see some item until the cap: display order U; L = 64, K = 16, setting 2."""
    weights = two_level(64, 16, *SETTINGS[2](16))
    seconds, runs = measure(weights, 16, 9, "lockstep", cap, LearnerSpec("cascadebai", {"order": "U"}))
    return [{"engine": "lockstep", "rows": len(runs), "cap": cap, "steps_per_second": rate(seconds, runs)}]


def kl_lucb_rows(cap: int, pairs: int) -> list[Row]:
    """KL-LUCB++, the first steps of 20 trials on each setting; L = 128, K = 20."""
    rows: list[Row] = []
    for setting, weights_of in SETTINGS.items():
        weights = two_level(128, 20, *weights_of(20))
        tries = [measure(weights, 20, 20, "lockstep", cap, LearnerSpec("kl-lucb++")) for _ in range(pairs)]
        rows.append(
            {
                "learner": "KL-LUCB++",
                "setting": setting,
                "steps_per_second": rate(*min(tries, key=lambda tried: tried[0])),
            }
        )
    return rows


@dataclass(frozen=True)
class Grown:
    """A learner whose time is measured while one size of the instance grows.

    Attributes:
        name: what tables call it.
        learner, engine: what runs.
        rows: number of trials side by side, where nothing else is said.
        budget: steps after which it answers; `None` if it stops by itself.
        leaves_out: sizes at which it takes minutes.
    """

    name: str
    learner: LearnerSpec
    engine: EngineName
    rows: int = 20
    budget: int | None = None
    leaves_out: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def is_measured(self, series: str, size: float) -> bool:
        """Whether it is measured at a size: not where that takes minutes, nor where the size makes no difference."""
        same = ("budget",) if self.budget is None else ("gap", "delta")
        return series not in same and size not in self.leaves_out.get(series, ())


GROWN = (
    Grown("CascadeBAI", LearnerSpec("cascadebai"), "skip-ahead"),
    Grown("CascadeBAI, KL bounds", LearnerSpec("cascadebai", {"confidence": "kl"}), "skip-ahead"),
    Grown(
        "CascadeBAI, order -U",
        LearnerSpec("cascadebai", {"order": "-U"}),
        "lockstep",
        leaves_out={"gap": [0.05, 0.025], "L": [1024, 4096], "rows": [128]},
    ),
    Grown("KL-LUCB++", LearnerSpec("kl-lucb++"), "lockstep", leaves_out={"gap": [0.025], "L": [4096]}),
    Grown("posterior", LearnerSpec("posterior"), "lockstep", leaves_out={"gap": [0.025], "L": [4096]}),
    Grown(
        "track-and-stop", LearnerSpec("track-and-stop"), "planned", 2, leaves_out={"L": [1024, 4096], "rows": [20, 128]}
    ),
    Grown("SAR", LearnerSpec("sar"), "phases", 128, 50_000),
    Grown("uniform", LearnerSpec("uniform"), "phases", 128, 50_000),
)
USUAL = {"gap": 0.2, "L": 128, "K": 20, "delta": DELTA}


def growth_rows(series: Mapping[str, Sequence[float]], pairs: int) -> list[Row]:
    """Steps and time of whole runs of each learner, where one size differs from the usual ones."""
    return [
        _growth_row(grown, name, value, pairs)
        for name, values in series.items()
        for value in values
        for grown in GROWN
        if grown.is_measured(name, value)
    ]


def _growth_row(grown: Grown, name: str, value: float, pairs: int) -> Row:
    usual: dict[str, Any] = {**USUAL, "rows": grown.rows, "budget": grown.budget}
    gap, L, K, delta, count, budget = (usual | {name: value}).values()
    weights = two_level(int(L), int(K), 0.1 + gap, 0.1)
    run = partial(
        measure,
        weights,
        int(K),
        int(count),
        grown.engine,
        budget,
        grown.learner,
        delta,
        answers=grown.budget is not None,
    )
    tries = [run()]
    while len(tries) < pairs and tries[0][0] < ONCE:
        tries.append(run())
    seconds, runs = min(tries, key=lambda tried: tried[0])
    steps = sum(run.steps for run in runs) / len(runs)
    size = {"series": name, "at": value, "learner": grown.name}
    return {**size, "mean_steps": steps, "seconds_per_trial": seconds / len(runs)}


STARTS: Mapping[str, Sequence[str]] = {
    "pass": ("-c", "pass"),
    "import cascadebai_cli": ("-c", "import cascadebai_cli"),
    "cascadebai --help": ("-m", "cascadebai_cli", "--help"),
}
"""What is started -> words behind `python`."""


def start_rows(rounds: int) -> list[Row]:
    """Processor time until a process has started, and over that of one that does nothing; -P leaves out this folder."""
    seconds: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(rounds):
        for name, words in STARTS.items():
            before = seconds_of_children()
            subprocess.run([sys.executable, "-P", *words], check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(seconds_of_children() - before)
    middle = {name: median(taken) for name, taken in seconds.items()}
    return [{"start": name, "seconds": middle[name], "ratio_to_pass": middle[name] / middle["pass"]} for name in STARTS]


def seconds_of_children() -> float:
    """Processor time of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_memory() -> float:
    """Peak resident memory of this process in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def parts(quick: bool) -> Mapping[str, Callable[[], list[Row]]]:
    """Name of each part -> what measures it."""
    pairs = 1 if quick else 3
    series: Mapping[str, Sequence[float]] = {
        "gap": [0.2, 0.1, 0.05, 0.025],
        "L": [64, 256, 1024, 4096],
        "K": [5, 60],
        "delta": [0.01, 0.0001],
        "rows": [1, 4, 20, 128],
        "budget": [5_000, 50_000, 500_000],
    }
    return {
        "skip_ahead": partial(skip_ahead_rows, [20] if quick else [20, 60], pairs),
        "growth": partial(growth_rows, {"K": [5], "rows": [1]} if quick else series, pairs),
        "lockstep": partial(lockstep_rows, [20, 200] if quick else [20, 200, 2000], 2_000 if quick else 20_000, pairs),
        "leap": partial(leap_rows, 100_000 if quick else 3_000_000),
        "kl_lucb": partial(kl_lucb_rows, 300 if quick else 3_000, pairs),
        "start": partial(start_rows, 5 if quick else 15),
    }


@contextmanager
def package_of(commit: str) -> Iterator[Path]:
    """A folder that holds the package as it was in a commit."""
    command = ["git", "archive", "--format=tar", commit, "cascadebai_cli"]
    archive = subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[1]).stdout
    with TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
        yield Path(folder)


def run_part(name: str, quick: bool, package: Path | None = None) -> tuple[list[Row], float]:
    """Rows of a part and the peak memory in MiB, measured in a process of its own."""
    command = [sys.executable, __file__, "--part", name, *(["--quick"] if quick else [])]
    paths = [str(package)] if package else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]).strip(":")}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    rows, memory = json.loads(done.stdout)
    return rows, memory


def run_benchmark(quick: bool, before: Path | None = None) -> dict[str, object]:
    """All measurements, those of another package beside them."""
    result: dict[str, object] = {"numpy": np.__version__}
    memory: dict[str, float] = {}
    for name in parts(quick):
        old = run_part(name, quick, before)[0] if before else []
        rows, memory[name] = run_part(name, quick)
        for row, was in zip(rows, old, strict=False):
            row["before"] = {key: was[key] for key in MEASURED if key in was}
        result[name] = rows
    return {**result, "peak_memory_MiB": memory}


def report(result: Mapping[str, object]) -> str:
    """The measurements as aligned text."""
    lines = []
    for part in parts(quick=True):
        rows = result[part]
        assert isinstance(rows, list)
        heads = list(rows[0])
        lines += [str(Table.of(heads, [[_cell(row[head]) for head in heads] for row in rows], words=0)), ""]
    return "\n".join([*lines, f"peak memory in MiB: {_cell(result['peak_memory_MiB'])}"])


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cell(each)}" for key, each in value.items())
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Parse the arguments, measure, print, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer instances, each measured once")
    parser.add_argument("--against", metavar="COMMIT", help="measure the package of this commit too, in turn")
    parser.add_argument("--json", type=Path, help="also write the measurements to this file")
    parser.add_argument("--part", choices=list(parts(quick=True)), help="measure one part, print its rows as JSON")
    arguments = parser.parse_args()
    if arguments.part:
        rows = parts(arguments.quick)[arguments.part]()
        print(json.dumps([rows, peak_memory()]))
        return
    if arguments.against:
        with package_of(arguments.against) as before:
            result = {"against": arguments.against, **run_benchmark(arguments.quick, before)}
    else:
        result = run_benchmark(arguments.quick)
    print(report(result))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
