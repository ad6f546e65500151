"""A result directory as a sweep would leave it, made from a formula for the mean steps instead of a simulation."""

import hashlib
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

SETTINGS: list[dict[str, Any]] = [
    {"w_star": "1/K", "w_prime": "1/K**2", "model": "K", "c1": 21881.8, "c2": -50749.0, "published": 23802.95},
    {"w_star": "1 - 1/K**2", "w_prime": "1 - 1/K", "model": "K^2", "c1": 16839.0, "c2": 78199.0, "published": 21615.5},
    {"w_star": "1/sqrt(K)", "w_prime": "1/K", "model": "K", "c1": 936.5, "c2": 32105.0, "published": 944.82},
    {
        "w_star": "1 - 1/K",
        "w_prime": "1 - 1/sqrt(K)",
        "model": "K",
        "c1": 19743.7,
        "c2": 46779.0,
        "published": 23343.29,
    },
    {"w_star": "1 - 1/K", "w_prime": "1/K", "model": "K^2", "c1": 1.22, "c2": 3412.6, "published": 1.22},
]

MANIFEST = {
    "config_hash": "0" * 64,
    "seed": 1,
    "engine_version": 1,
    "versions": {"numpy": "2.0"},
    "git": None,
    "machine": {},
    "start": "2020-06-12T00:00:00+00:00",
    "end": "2020-06-12T00:00:01+00:00",
    "complete": True,
    "cells": {},
}
"""What a manifest holds beside the config and the hash of the rows."""

_AXES = ("L", "K", "delta", "epsilon")

Cell = dict[str, Any]
MeanSteps = Callable[[Cell], float]


def scaling_config(settings: int = 5, **changes: Any) -> dict[str, Any]:
    instances = [
        {
            "name": f"setting {i + 1}",
            "family": "two_level",
            "w_star": s["w_star"],
            "w_prime": s["w_prime"],
            "fit": {
                "model": s["model"],
                "published": {"c1": s["published"], "c2": 1.0, "r2": 0.9987, "p_value": 1e-58},
            },
        }
        for i, s in enumerate(SETTINGS[:settings])
    ]
    config = {
        "study": "table1",
        "seed": 1,
        "trials": 20,
        "L": [128],
        "K": list(range(20, 61)),
        "delta": [0.1],
        "epsilon": [0.0],
        "instances": instances,
        "learners": [{"name": "CascadeBAI", "algorithm": "cascadebai"}],
        "plot": {"kind": "scaling"},
    }
    return {**config, **changes}


def planted_steps(cell: Cell) -> float:
    setting = SETTINGS[int(str(cell["instance"]).split()[-1]) - 1]
    return float(setting["c1"] * (cell["K"] if setting["model"] == "K" else cell["K"] ** 2) + setting["c2"])


def trials_of(config: dict[str, Any], mean: MeanSteps, *, spread: float, cap: int | None, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for cell in cells_of(config):
        draws = mean(cell) * (1 + spread * rng.standard_normal(config["trials"]))
        for trial, steps in enumerate(np.maximum(1, np.rint(draws)).astype(int)):
            capped = cap is not None and steps >= cap
            taken = int(cap) if cap is not None and capped else int(steps)
            rows.append(
                {
                    **cell,
                    "trial": trial,
                    "status": "capped" if capped else "stopped",
                    "steps": taken,
                    "observations": 3 * taken,
                    "correct": "" if capped else "1",
                }
            )
    return pd.DataFrame(rows)


def cells_of(config: dict[str, Any]) -> Iterator[Cell]:
    points = (
        (instance, *point)
        for instance in config["instances"]
        for point in product(config["learners"], *(instance.get(axis, config[axis]) for axis in _AXES))
    )
    for i, (instance, learner, L, K, delta, epsilon) in enumerate(points):
        yield {
            "cell_id": f"{i:016x}",
            "study": config["study"],
            "instance": instance["name"],
            "learner": learner["name"],
            "L": L,
            "K": K,
            "w_star": 0.5,
            "w_prime": 0.25,
            "delta": delta,
            "epsilon": epsilon,
        }


def summary_of(trials: pd.DataFrame) -> pd.DataFrame:
    grid = list(trials.columns[:10])
    steps = trials.groupby(grid, sort=False)["steps"]
    table = steps.agg(n="count", mean_steps="mean", sd_steps="std").reset_index()
    table["se_steps"] = table["sd_steps"] / np.sqrt(table["n"])
    half = table["se_steps"] * stats.t.ppf(0.975, np.maximum(table["n"] - 1, 1))
    table["ci_low"], table["ci_high"] = table["mean_steps"] - half, table["mean_steps"] + half
    table["mean_observations"] = 3 * table["mean_steps"]
    capped = trials.assign(capped=trials["status"] == "capped").groupby(grid, sort=False)["capped"].sum()
    table["n_capped"] = capped.to_numpy()
    table["error_rate"], table["error_low"], table["error_high"] = 0.0, 0.0, 0.17
    return table


def write_results(
    directory: Path,
    config: dict[str, Any],
    mean: MeanSteps = planted_steps,
    *,
    spread: float = 0.02,
    cap: int | None = None,
    seed: int = 7,
    **manifest: Any,
) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    trials = trials_of(config, mean, spread=spread, cap=cap, seed=seed)
    rows = trials.to_csv(index=False, lineterminator="\n").encode()
    (directory / "trials.csv").write_bytes(rows)
    summary_of(trials).to_csv(directory / "summary.csv", index=False, lineterminator="\n")
    content = {"config": config, "rows_sha256": hashlib.sha256(rows).hexdigest()}
    (directory / "manifest.json").write_text(json.dumps({**MANIFEST, **content, **manifest}))
    return directory
