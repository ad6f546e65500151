"""The beta-binomial model of a log."""

import math

import numpy as np
import pytest
from scipy import stats

from cascadebai_cli.planning import rates
from cascadebai_cli.planning.rates import _TABLES, Homogeneity, RateLaw


def test_planted_beta_comes_back():
    rng = np.random.default_rng(1)
    w = rng.beta(3, 17, 4000)
    views = rng.integers(5, 200, 4000)
    clicks = rng.binomial(views, w)
    found = RateLaw.of(clicks, views)
    assert found.mean == pytest.approx(0.15, rel=0.03)
    assert found.strength == pytest.approx(20, rel=0.1)
    raw, shrunk = np.mean((clicks / views - w) ** 2), np.mean((found.expected - w) ** 2)
    assert shrunk < 0.8 * raw


def test_it_is_the_largest_likelihood():
    clicks, views = np.array([3, 10, 40, 0, 8]), np.array([10, 20, 50, 9, 100])
    found = RateLaw.of(clicks, views)

    def height(mean, strength):
        return stats.betabinom.logpmf(clicks, views, strength * mean, strength * (1 - mean)).sum()

    best = height(found.mean, found.strength)
    near = [(m, s) for m in (0.97, 1, 1.03) for s in (0.9, 1, 1.1) if (m, s) != (1, 1)]
    assert all(height(found.mean * m, found.strength * s) < best for m, s in near)


def test_ten_views_do_not_weigh_like_a_million():
    """The items of two large counts differ for sure; those of few views may be anything like them."""
    found = RateLaw.of([20_000, 10_000, 0, 0, 0], [1_000_000, 1_000_000, 10, 10, 10])
    assert found.homogeneity.chi_square > 1000
    assert found.homogeneity.p_value == 1 / (_TABLES + 1)
    assert found.expected[:2] == pytest.approx([0.02, 0.01], rel=1e-3)
    assert 0.005 < found.expected[2] < 0.03
    assert found.strength < 1e4


def test_items_without_views_get_the_prior():
    found = RateLaw.of([0, 30, 10, 20], [0, 100, 100, 100])
    assert found.expected[0] == pytest.approx(found.mean, rel=0.1)
    low, high = found.interval()[:, 0]
    assert low < found.expected[1] < high


@pytest.mark.parametrize(("clicks", "views"), [([5, 5, 5], [10, 10, 10]), ([50, 51], [100, 100])])
def test_rates_that_differ_no_more_than_by_chance(clicks, views):
    found = RateLaw.of(clicks, views)
    assert found.strength == math.inf
    assert found.homogeneity.p_value > 0.5
    drawn = found.draw(np.random.default_rng(0))
    assert (np.diff(drawn, axis=1) != 0).all()


def test_homogeneity_is_the_chi_square_of_the_table():
    clicks, views = np.array([10.0, 20, 40, 0]), np.array([100.0, 90, 150, 0])
    expected = stats.chi2_contingency([clicks[:3], (views - clicks)[:3]], correction=False)
    found = Homogeneity.of(clicks, views)
    assert found.chi_square == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue, abs=0.002)  # many views of each: the usual law holds
    assert found.degrees == 2
    assert Homogeneity.of(clicks, views) == found


def unequal_logs(number):
    """Logs of items with one click probability and views that differ by three orders of magnitude."""
    rng = np.random.default_rng(8)
    for _ in range(number):
        views = np.maximum(1, np.rint(rng.lognormal(3, 2.5, 100)))
        yield rng.binomial(views.astype(int), 0.02).astype(float), views


def test_equal_rates_are_called_different_as_often_as_said_with_very_unequal_views(monkeypatch):
    """Where the chi-square law, the twin, errs four times as often at 5 % and eighty times at 0.1 %."""
    monkeypatch.setattr(rates, "_TABLES", 999)
    found = [Homogeneity.of(*log) for log in unequal_logs(400)]
    ours = np.array([one.p_value for one in found])
    twin = np.array([stats.chi2.sf(one.chi_square, one.degrees) for one in found])
    for level in (0.05, 0.001):
        errors, wrong = int((ours <= level).sum()), int((twin <= level).sum())
        assert stats.binomtest(errors, len(ours), level, "greater").pvalue > 1e-3
        assert stats.binomtest(wrong, len(twin), level, "greater").pvalue < 1e-9
    assert stats.binomtest(int((ours <= 0.05).sum()), len(ours), 0.05, "less").pvalue > 1e-3


def test_unequal_rates_are_found_with_very_unequal_views():
    rng = np.random.default_rng(9)
    views = np.maximum(1, np.rint(rng.lognormal(3, 2.5, 100)))
    assert Homogeneity.of(rng.binomial(views.astype(int), rng.beta(1, 49, 100)).astype(float), views).p_value < 0.001


def test_views_that_are_fractions_of_one_say_nothing():
    assert Homogeneity.of(np.array([0.1, 0.0]), np.array([0.3, 0.2])).p_value == 1


def test_draws_have_the_posterior_mean_and_interval():
    found = RateLaw.of([3, 10, 40, 0, 8], [10, 20, 50, 0, 100], draws=4_000)
    drawn = found.draw(np.random.default_rng(3))
    assert drawn.mean(axis=0) == pytest.approx(found.expected, abs=0.01)
    inside = ((drawn >= found.interval()[0]) & (drawn <= found.interval()[1])).mean(axis=0)
    assert ((inside > 0.8) & (inside < 0.95)).all()


@pytest.mark.parametrize(
    ("clicks", "views"),
    [([9, 9], [9, 9]), ([1, 0, 0], [1, 1, 10**6]), ([1, 10**9], [10**9, 10**9]), ([0.5, 2], [3, 9])],
)
def test_extremes(clicks, views):
    found = RateLaw.of(clicks, views)
    assert np.isfinite(found.expected).all()
    drawn = found.draw(np.random.default_rng(0))
    assert ((drawn >= 0) & (drawn <= 1)).all()
