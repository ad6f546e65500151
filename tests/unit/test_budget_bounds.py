"""Bounds on the chance of an error after a budget: their formulas in plain Python, and where they end."""

import math

import budget_judge
import numpy as np
import pandas as pd
import pytest
from sweeps import call, sweep

from cascadebai_cli.analysis.bounds import too_often_wrong
from cascadebai_cli.model.problem import Instance
from cascadebai_cli.theory.budget import (
    ERRORS,
    enough,
    hardness,
    hardness_of_the_worst,
    least_observations,
)

uniform_error, sar_error = ERRORS["uniform"], ERRORS["sar"]
RAMP = Instance(np.array([0.9, 0.7, 0.4, 0.3, 0.1]), 2)
GAPS = [0.5, 0.3, 0.3, 0.4, 0.6]
"""Of its items, to the other side of the boundary."""


def test_hardness_is_the_sum_over_items_and_the_worst_of_those_in_order():
    assert hardness(RAMP) == pytest.approx(sum(1 / gap**2 for gap in GAPS))
    assert hardness_of_the_worst(RAMP) == pytest.approx(max((i + 1) / gap**2 for i, gap in enumerate(sorted(GAPS))))


def divergence(p, q):
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


@pytest.mark.parametrize("N", [49, 50, 300])
def test_the_bound_of_uniform_looking_is_that_of_the_best_level(N):
    levels = [0.4 + 0.3 * i / 1000 for i in range(1, 1000)]
    best = min(sum(math.exp(-(N // 5) * divergence(c, w)) for w in RAMP.weights) for c in levels)
    assert uniform_error(RAMP, N) == pytest.approx(min(1, best), rel=1e-3)


@pytest.mark.parametrize("N", [6, 2_000, 20_000])
def test_the_bound_of_sar_is_the_union_over_items_and_phases(N):
    lengths = budget_judge.phase_lengths(5, N)
    n = np.cumsum([length // survivors for length, survivors in zip(lengths, (5, 4, 3, 2), strict=True)])
    assert n.tolist() == least_observations(5, N).tolist()
    union = sum(2 * 5 * math.exp(-n[j] * sorted(GAPS)[4 - j] ** 2 / 8) for j in range(4))
    assert sar_error(RAMP, N) == pytest.approx(min(1, union), rel=1e-9, abs=0)
    log_bar = 0.5 + sum(1 / i for i in range(2, 6))
    assert sar_error(RAMP, N) <= 2 * 25 * math.exp(-(N - 5) / (8 * log_bar * hardness_of_the_worst(RAMP)))


def test_items_that_never_or_always_bring_a_click_never_err_once_they_were_seen():
    certain = Instance(np.array([1.0, 1.0, 0.0]), 2)
    assert (uniform_error(certain, 2), uniform_error(certain, 3)) == (1.0, 0.0)


def test_a_tolerance_counts_items_that_are_good_enough_for_uniform_looking_and_has_no_bound_for_sar():
    tolerant = Instance(np.array([0.9, 0.7, 0.65, 0.3, 0.1]), 2, 0.1)
    assert uniform_error(tolerant, 200) < uniform_error(Instance(tolerant.weights, 2), 200)
    assert uniform_error(Instance(np.array([0.5, 0.5, 0.5]), 1, 0.1), 0) == 0
    assert math.isnan(sar_error(tolerant, 200))
    assert math.isnan(enough("sar", tolerant, 0.1))


@pytest.mark.parametrize("algorithm", ERRORS)
@pytest.mark.parametrize("delta", [0.3, 0.01, 1e-9])
def test_the_budget_that_is_enough_is_the_first_one_below_delta(algorithm, delta):
    budget = int(enough(algorithm, RAMP, delta))
    assert ERRORS[algorithm](RAMP, budget) < delta <= ERRORS[algorithm](RAMP, budget - 1)


CONFIG = """\
seed: 5
trials: 40
budget: [100, 400]
instances:
  - {name: ramp, family: linear, L: 8, K: 3, w_max: 0.9, w_min: 0.2}
learners:
  - {name: uniform, algorithm: uniform}
  - {name: sar, algorithm: sar}
  - {name: CascadeBAI, algorithm: cascadebai}
"""


def test_bounds_of_a_study_with_budgets_stand_beside_what_was_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "study.yaml"
    config.write_text(CONFIG)
    alone = call("bounds", config, "--csv", tmp_path / "alone.csv")
    assert (alone.code, "no measured steps" in alone.err) == (0, True)
    assert sweep(config, tmp_path / "results/study").code == 0
    said = call("bounds", config, "--csv", tmp_path / "bounds.csv")
    assert (said.code, said.err) == (0, "")
    table, summary = pd.read_csv(tmp_path / "bounds.csv"), pd.read_csv(tmp_path / "results/study/summary.csv")
    ramp = Instance(np.linspace(0.9, 0.2, 8), 3)
    assert table["error_rate"].tolist() == summary["error_rate"].tolist()
    assert table["bound"][:4].tolist() == pytest.approx(
        [ERRORS[name](ramp, budget) for name in ("uniform", "sar") for budget in (100, 400)]
    )
    assert table["enough"][0] == enough("uniform", ramp, 0.1)
    assert table[["bound", "enough"]][4:].isna().all(axis=None)
    assert pd.read_csv(tmp_path / "alone.csv")["error_rate"].isna().all()


def test_an_error_rate_above_its_bound_is_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(ERRORS, "uniform", lambda instance, N: 1e-6 if N == 100 else 1.0)
    config = tmp_path / "study.yaml"
    config.write_text(CONFIG)
    assert sweep(config, tmp_path / "results/study").code == 0
    assert "warning: ramp, uniform, budget = 100: errors in" in call("bounds", config).err


def test_an_error_rate_above_its_bound_is_told_with_both():
    row = {"instance": "a", "learner": "sar", "budget": 9, "error_rate": 0.123, "error_low": 0.1, "bound": 0.0456}
    table = pd.DataFrame([row, {**row, "error_low": 0.01}])
    assert too_often_wrong(table) == ["a, sar, budget = 9: errors in 12.3%, above the bound 4.6%"]
