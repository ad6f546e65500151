"""Ratios of means and their intervals."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from synthetic import Cell, scaling_config, write_results

from cascadebai_cli.analysis.fits import Mean, ratio_of_means, ratios_table
from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.analysis.tables import study_table

LEARNERS = [{"name": "BatRac(K)", "algorithm": "batrac"}, {"name": "CascadeBAI", "algorithm": "cascadebai"}]
LEARNERS.append({"name": "BatRac(1)", "algorithm": "batrac"})
FACTORS = {"CascadeBAI": 1.2, "BatRac(K)": 1.0, "BatRac(1)": 30.0}


def steps(cell: Cell) -> float:
    return 1e4 * float(cell["K"]) * FACTORS[str(cell["learner"])]


@pytest.fixture
def results(tmp_path: Path) -> StudyResults:
    config = scaling_config(2, K=list(range(20, 61)), learners=LEARNERS, plot={"kind": "curves"})
    return load_results(write_results(tmp_path / "figure2", config, steps))


def welch(a: Mean, b: Mean) -> float:
    v, w = (a.se / a.value) ** 2, (b.se / b.value) ** 2
    return (v + w) ** 2 / (v**2 / (a.n - 1) + w**2 / (b.n - 1))


def test_interval_is_close_to_fiellers() -> None:
    a, b = Mean(120.0, 1.5, 20), Mean(100.0, 1.0, 20)
    ratio = ratio_of_means(a, b)
    q = stats.t.ppf(0.975, welch(a, b))
    g = (q * b.se / b.value) ** 2
    centre = a.value / b.value / (1 - g)
    half = q / b.value * math.sqrt(a.se**2 * (1 - g) + (a.value / b.value * b.se) ** 2) / (1 - g)
    assert ratio.value == pytest.approx(1.2)
    assert ratio.low == pytest.approx(centre - half, rel=1e-3)
    assert ratio.high == pytest.approx(centre + half, rel=1e-3)


def test_degrees_of_freedom_are_welchs() -> None:
    a, b = Mean(50.0, 2.0, 5), Mean(100.0, 1.0, 20)
    v, w = (2 / 50) ** 2, (1 / 100) ** 2
    assert welch(a, b) == pytest.approx((v + w) ** 2 / (v**2 / 4 + w**2 / 19))
    expected = 0.5 * math.exp(stats.t.ppf(0.975, welch(a, b)) * math.sqrt(v + w))
    assert ratio_of_means(a, b).high == pytest.approx(expected)


def test_swapping_the_means_inverts_the_interval() -> None:
    a, b = Mean(120.0, 3.0, 20), Mean(100.0, 1.0, 10)
    there, back = ratio_of_means(a, b), ratio_of_means(b, a)
    assert [back.low, back.high] == pytest.approx([1 / there.high, 1 / there.low])


def test_interval_covers_the_true_ratio_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    runs, n, hits = 4000, 20, 0
    for x, y in zip(rng.normal(120, 12, (runs, n)), rng.normal(100, 5, (runs, n)), strict=True):
        means = [Mean(float(z.mean()), float(z.std(ddof=1) / n**0.5), n) for z in (x, y)]
        ratio = ratio_of_means(*means)
        hits += ratio.low <= 1.2 <= ratio.high
    # Exact up to the curvature of the logarithm; false alarm rate 1e-4 at 95 %.
    assert stats.binomtest(hits, runs, 0.95).pvalue > 1e-4


def test_without_spread_the_interval_is_a_point() -> None:
    ratio = ratio_of_means(Mean(2.0, 0.0, 5), Mean(1.0, 0.0, 5))
    assert (ratio.value, ratio.low, ratio.high) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize("other", [Mean(1.0, 0.1, 5), Mean(1.0, 0.0, 5), Mean(1.0, math.nan, 1)])
def test_a_single_trial_has_no_interval(other: Mean) -> None:
    ratio = ratio_of_means(Mean(2.0, math.nan, 1), other)
    assert ratio.value == 2.0
    assert math.isnan(ratio.low)
    assert math.isnan(ratio.high)


def test_cascadebai_is_compared_with_each_other_learner(results: StudyResults) -> None:
    ratios = ratios_table(results)
    assert len(ratios) == 2 * 41 * 2
    assert set(ratios["learner"]) == {"CascadeBAI"}
    for other, expected in [("BatRac(K)", 1.2), ("BatRac(1)", 0.04)]:
        part = ratios[ratios["other"] == other]
        assert part["ratio"].to_numpy() == pytest.approx(expected, rel=0.03)
        assert (part["ratio_low"] < part["ratio"]).all()
        assert (part["ratio"] < part["ratio_high"]).all()
    assert set(ratios["rows_sha256"]) == {results.rows_sha256}


def test_printed_at_the_first_middle_and_last_K(results: StudyResults) -> None:
    ratios = ratios_table(results)
    lines = str(study_table(results, "ratios.csv").printed).splitlines()
    assert lines[0] == "L = 128, delta = 0.1, epsilon = 0"
    assert len(lines) == 1 + 2 + 2 * 2 * 3
    first = ratios.iloc[0]
    assert " K  steps of  " in lines[1]
    assert lines[3].startswith("setting 1  20  CascadeBAI / BatRac(K)")
    assert lines[3].split()[-7:] == [
        "0%",
        "/",
        "0%",
        f"{first['ratio']:.2f}",
        f"{first['ratio_low']:.2f}",
        "to",
        f"{first['ratio_high']:.2f}",
    ]
    assert [line.split()[2] for line in lines[3:9]] == ["20", "40", "60"] * 2


def test_a_cell_without_the_main_learner_is_left_out(results: StudyResults) -> None:
    summary = results.summary
    gone = (summary["learner"] == "CascadeBAI") & (summary["K"] == 20)
    part = replace(results, summary=summary[~gone])
    assert ratios_table(part)["K"].min() == 21


def test_capped_trials_are_counted(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30], learners=LEARNERS, trials=5)
    ratios = ratios_table(load_results(write_results(tmp_path / "r", config, steps, cap=2_000_000)))
    assert ratios.set_index(["other", "K"])["n_capped"].to_dict() == {
        ("BatRac(K)", 20): 0,
        ("BatRac(K)", 30): 0,
        ("BatRac(1)", 20): 5,
        ("BatRac(1)", 30): 5,
    }


def test_means_of_two_trials_of_which_little_is_known_have_a_ratio_that_may_be_anything() -> None:
    ratio = ratio_of_means(Mean(51549.0, 48451.0, 2), Mean(2691.5, 139.5, 2), 1 - 0.05 / 80)
    assert ratio.low < 1e-100
    assert ratio.high > 1e100
