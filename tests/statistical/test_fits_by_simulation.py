"""Fits, verdicts on growth and on agreement, held to their rates of error where the truth is planted.

Each has a wrong twin beside it, which must fail the same test.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats
from synthetic import scaling_config, summary_of, trials_of, write_results

from cascadebai_cli.analysis.claims import Ends, claims_of
from cascadebai_cli.analysis.curves import Means, fit_scaling
from cascadebai_cli.analysis.fits import Mean, ratio_of_means
from cascadebai_cli.analysis.results import load_results

K = np.arange(20.0, 61.0)
TRUE = 16836.0 * K**2 + 87247.0
RUNS, TRIALS = 400, 20
ALARM = 1e-4
"""Chance at which a test of a right method fails."""


def measured() -> Iterator[Means]:
    """Setting 2 of Table 1: the spread grows with the mean, nine-fold."""
    rng = np.random.default_rng(41)
    for _ in range(RUNS):
        steps = TRUE[:, None] * (1 + 0.0055 * rng.standard_normal((len(K), TRIALS)))
        se = steps.std(axis=1, ddof=1) / TRIALS**0.5
        yield Means(K, steps.mean(axis=1), se, np.full(len(K), float(TRIALS)))


def is_rate(hits: NDArray[np.bool_], rate: float) -> bool:
    return bool(stats.binomtest(int(hits.sum()), len(hits), rate).pvalue > ALARM)


@cache
def outcomes() -> pd.DataFrame:
    """One row a run: what covers the truth, and what rejects the right model at 5 %."""
    rows = []
    for means in measured():
        ols, weighted, alike = fit_scaling(K, means.mean, "K^2"), means.fit("K^2"), means.fit("K^2", weighted=False)
        half = ols.c1_se * stats.t.ppf(0.975, len(K) - 2)
        each = (means.mean - (weighted.c1.value * K**2 + weighted.c2.value)) / means.se
        rows.append(
            {
                "slope, weighted": within(16836.0, weighted.c1.interval()),
                "slope": within(16836.0, alike.c1.interval()),
                "slope, twin": within(16836.0, (ols.c1 - half, ols.c1 + half)),
                "band": within(TRUE[-1], means.band("K^2", K[-1:])),
                "band, twin": within(TRUE[-1], ols.band(K[-1:])),
                "rejected": weighted.p_value < 0.05,
                "rejected, twin": stats.chi2.sf(each @ each, len(K) - 2) < 0.05,
            }
        )
    return pd.DataFrame(rows)


def within(value: float, ends: tuple[float, float]) -> bool:
    low, high = map(np.asarray, ends)
    return bool((low <= value) & (value <= high))


@pytest.mark.parametrize("name", ["slope, weighted", "slope", "band"])
def test_intervals_cover_the_truth_in_95_per_cent_where_the_spread_grows(name: str) -> None:
    assert is_rate(outcomes()[name].to_numpy(), 0.95)


@pytest.mark.parametrize("name", ["slope, twin", "band, twin"])
def test_those_of_ordinary_least_squares_do_not(name: str) -> None:
    assert not is_rate(outcomes()[name].to_numpy(), 0.95)


def test_the_right_model_lacks_fit_as_often_as_said() -> None:
    """The twin takes each mean's error for known, as if it were not estimated from 20 trials."""
    assert is_rate(outcomes()["rejected"].to_numpy(), 0.05)
    assert not is_rate(outcomes()["rejected, twin"].to_numpy(), 0.05)


def test_the_exponent_is_covered_in_95_per_cent() -> None:
    hits = [within(2.0, means.exponent().interval()) for means, _ in zip(measured(), range(200), strict=False)]
    assert is_rate(np.array(hits), 0.95)


@pytest.mark.parametrize("model", ["K^2", "log(K)"])
def test_a_wrong_model_lacks_fit(model: str) -> None:
    rng = np.random.default_rng(3)
    mean = 2000 * K * (1 + 0.01 / TRIALS**0.5 * rng.standard_normal(len(K)))
    means = Means(K, mean, 0.01 * mean / TRIALS**0.5, np.full(len(K), float(TRIALS)))
    assert means.fit(model).p_value < 1e-10
    assert means.fit("K").p_value > 1e-3
    assert means.exponent().interval()[0] < 1 < means.exponent().interval()[1]


def test_a_slope_at_the_margin_agrees_in_5_per_cent_at_most(tmp_path: Path) -> None:
    """The twin says that it agrees whenever the estimate is within the margin, which is half of the time."""
    config = scaling_config(1, K=[20, 30, 40, 50, 60])
    results = load_results(write_results(tmp_path / "r", config))
    agrees, twin = [], []
    for seed in range(60):
        trials = trials_of(config, lambda cell: 1.03 * 23802.95 * cell["K"], spread=0.02, cap=None, seed=seed)
        found = claims_of(replace(results, summary=summary_of(trials)))
        (claim,) = (claim for claim in found if claim.claim.startswith("slope"))
        agrees.append(claim.verdict == "agrees")
        twin.append(abs(float(claim.ours.split()[0]) / 23802.95 - 1) <= 0.03)
    assert stats.binomtest(sum(agrees), len(agrees), 0.05, "greater").pvalue > ALARM
    assert stats.binomtest(sum(twin), len(twin), 0.05, "greater").pvalue < ALARM


def test_some_of_80_ratios_is_beyond_a_bound_by_chance_in_5_per_cent_at_most() -> None:
    """All are exactly twice; the twin takes the interval of each by itself, and finds one beyond most of the time."""
    rng = np.random.default_rng(80)
    settings = {"instance": "x", "L": 9, "K": range(1, 81), "delta": 0.1, "epsilon": 0.0, "n": TRIALS, "n_capped": 0}
    rounds, ours, twin = 60, 0, 0
    for _ in range(rounds):
        parts = []
        for name, size in (("other", 200), ("main", 100)):
            steps = rng.normal(size, size / 50, (80, TRIALS))
            numbers = {"mean_steps": steps.mean(axis=1), "se_steps": steps.std(axis=1, ddof=1) / TRIALS**0.5}
            parts.append(pd.DataFrame({**settings, "learner": name, **numbers}))
        ours += bool((Ends.of(pd.concat(parts), "other", "main").low > 2).any())
        others, mains = ([Mean(*row, TRIALS) for row in part[list(numbers)].to_numpy().tolist()] for part in parts)
        twin += any(ratio_of_means(a, b).low > 2 for a, b in zip(others, mains, strict=True))
    assert stats.binomtest(ours, rounds, 0.05, "greater").pvalue > ALARM
    assert stats.binomtest(twin, rounds, 0.05, "greater").pvalue < ALARM
