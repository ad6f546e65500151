"""Shrinkage of click rates and quantiles of page views."""

import math

import numpy as np
import pytest

from cascadebai_cli.analysis.click_log import shrink, suggested_epsilon
from cascadebai_cli.analysis.page_views import page_views, page_views_printed


def test_planted_beta_comes_back():
    rng = np.random.default_rng(1)
    w = rng.beta(3, 17, 4000)
    views = rng.integers(5, 200, 4000)
    clicks = rng.binomial(views, w)
    found = shrink(clicks, views)
    assert found.mean == pytest.approx(0.15, rel=0.03)
    assert found.strength == pytest.approx(20, rel=0.1)
    raw, shrunk = np.mean((clicks / views - w) ** 2), np.mean((found.rates - w) ** 2)
    assert shrunk < 0.8 * raw


def test_by_hand():
    """Raw rates 0.1 and 0.5 of 10 views: mean 0.3, variance 0.08, so rho = (0.08 / 0.21 - 0.1) / 0.9."""
    rho = (0.08 / 0.21 - 0.1) / 0.9
    strength = 1 / rho - 1
    found = shrink([1, 5], [10, 10])
    assert found.strength == pytest.approx(strength)
    assert found.rates == pytest.approx(
        [(1 + 0.3 * strength) / (10 + strength), (5 + 0.3 * strength) / (10 + strength)]
    )


def test_few_views_are_shrunk_more():
    found = shrink([1, 40, 300, 30], [2, 100, 600, 600])
    assert found.rates[0] < 0.5
    assert abs(found.rates[2] - 0.5) < abs(found.rates[0] - 0.5)


@pytest.mark.parametrize(
    ("clicks", "views"),
    [([5, 5, 5], [10, 10, 10]), ([0, 0], [3, 9]), ([9, 9], [9, 9]), ([0, 1, 0], [1, 1, 1]), ([50, 51], [100, 100])],
)
def test_rates_that_differ_no_more_than_by_chance_are_all_the_mean(clicks, views):
    found = shrink(clicks, views)
    assert found.strength == math.inf
    assert found.rates.tolist() == [found.mean] * len(clicks)


def test_rates_0_and_1_stay_in_range():
    found = shrink([0, 100, 0, 100], [100, 100, 100, 100])
    assert ((found.rates >= 0) & (found.rates <= 1)).all()
    assert found.strength == 0


@pytest.mark.parametrize(("rate", "epsilon"), [(0.3, 0.03), (0.123, 0.01), (0.86, 0.09), (0, 0.001), (1, 0.1)])
def test_suggested_epsilon(rate, epsilon):
    assert suggested_epsilon(rate) == epsilon


def test_quantiles_are_counts_that_occurred():
    row = page_views("x", list(range(1, 21)), [True] * 19 + [False], 100)
    assert (row.low, row.median, row.high) == (1, 10, 19)
    assert (row.n, row.capped, row.right) == (20, 0, 0.95)


def test_runs_that_were_given_up_count_as_more_than_the_cap():
    row = page_views("slow", [10, 20, 50, 50], [True, True, None, None], 50)
    assert (row.low, row.median, row.high) == (10, 20, math.inf)
    assert "over 50" in str(page_views_printed([row]))
    assert "2 of 2" in str(page_views_printed([row]))
    assert "none ended" in str(page_views_printed([page_views("never", [50, 50], [None, None], 50)]))
