"""The bounds of the Kullback-Leibler divergence: against brute force, exact ends, monotone, kept at every time."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kl_lucb_judge import kl_interval
from scipy import stats
from scipy.special import rel_entr

from cascadebai_cli.learners.bounds import kl, kl_lower, kl_upper, threshold
from cascadebai_cli.learners.cascadebai import KLCascadeRule
from cascadebai_cli.model.problem import divergence

ALPHAS = st.sampled_from([1e-9, 1e-3, 0.1, 0.9])


@st.composite
def observations(draw):
    """Clicks and observations; few clicks and few skips are as likely as the middle."""
    T = draw(st.one_of(st.integers(1, 30), st.integers(1, 10**9)))
    few = draw(st.integers(0, min(T, 3)))
    return draw(st.sampled_from([few, T - few, draw(st.integers(0, T))])), T


@settings(max_examples=300)
@given(observations(), ALPHAS)
def test_equals_bisection(observed, alpha):
    """Bisection of the definition, which rounding lets decide to 1e-12 or so for a mean near 1/2."""
    S, T = observed
    found = float(kl_lower(S / T, T, alpha)), float(kl_upper(S / T, T, alpha))
    assert found == pytest.approx(kl_interval(alpha, alpha)(S, T), abs=2e-12)


def test_the_ends_are_exact():
    T = np.array([1, 7, 10**6])
    closed = np.exp(-threshold(T, 0.05) / T)
    assert kl_upper(np.zeros(3), T, 0.05) == pytest.approx(1 - closed, abs=1e-16)
    assert kl_lower(np.ones(3), T, 0.05) == pytest.approx(closed, abs=2e-16)
    assert kl_lower(np.zeros(3), T, 0.05).tolist() == [0, 0, 0]
    assert kl_upper(np.ones(3), T, 0.05).tolist() == [1, 1, 1]


def test_nothing_is_known_before_the_first_observation():
    assert (kl_lower(0.0, 0, 0.1), kl_upper(0.0, 0, 0.1)) == (0, 1)


def test_by_hand():
    """One skip, alpha = 0.1: -ln(1 - U) = ln(20), so U = 19/20."""
    assert kl_upper(0.0, 1, 0.1) == pytest.approx(0.95, abs=1e-15)


@pytest.mark.parametrize("alpha", [1e-6, 0.2])
@pytest.mark.parametrize("T", [1, 2, 50, 1000])
def test_monotone_in_the_clicks(T, alpha):
    mean = np.arange(T + 1) / T
    lower, upper = kl_lower(mean, T, alpha), kl_upper(mean, T, alpha)
    assert (np.diff(lower) > 0).all()
    assert (np.diff(upper) > 0).all() or upper[-1] == 1
    assert (np.diff(upper) >= 0).all()
    assert ((lower <= mean) & (mean <= upper)).all()


@pytest.mark.parametrize("mean", [0.0, 0.001, 0.3, 0.5, 0.99, 1.0])
def test_tighter_with_more_observations(mean):
    T = np.unique(np.geomspace(1, 10**9, 400).astype(int))
    assert (np.diff(kl_lower(mean, T, 0.1)) >= 0).all()
    assert (np.diff(kl_upper(mean, T, 0.1)) <= 0).all()


@settings(max_examples=300)
@given(observations(), ALPHAS)
def test_a_click_lowers_no_bound_and_a_skip_raises_none(observed, alpha):
    """So items of different means, whose counts differ by at most one, rank as their bounds do: `blur` is 0."""
    S, T = observed
    before, click, skip = ((kl_lower(s / t, t, alpha), kl_upper(s / t, t, alpha)) for s, t in _next(S, T))
    assert click[1] >= before[1] - 1e-14
    assert skip[0] <= before[0] + 1e-14


def _next(S, T):
    """As it is, after a click and after a skip."""
    return (S, T), (S + 1, T + 1), (S, T + 1)


def test_a_bound_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(0)
    T = rng.integers(1, 10**6, (40, 33))
    mean = rng.integers(0, T + 1) / T
    together = kl_upper(mean, T, 0.01)
    one_by_one = [float(kl_upper(m, t, 0.01)) for m, t in zip(mean.flat, T.flat, strict=True)]
    assert together.ravel().tolist() == one_by_one


@settings(max_examples=300)
@given(observations(), ALPHAS, st.floats(-0.5, 1.5), st.sampled_from([0.0, 1e-11, -1e-11, 1e-6, -1e-6]))
def test_comparing_with_a_level_needs_no_bound(observed, alpha, level, shift):
    """`above` and `below` decide as the bounds do, unless the level is within rounding of the bound."""
    rule = KLCascadeRule(1, 1, alpha)
    mean, T = observed[0] / observed[1], observed[1]
    for bound, test in ((rule.lower(mean, T), rule.above), (rule.upper(mean, T), rule.below)):
        for q in (level, float(bound) + shift):
            if abs(q - bound) > 5e-12:
                assert test(mean, T, q) == (bound > q if test == rule.above else bound < q)


def test_divergence():
    for function in (kl, divergence):
        assert function(0.3, 0.6) == pytest.approx(rel_entr(0.3, 0.6) + rel_entr(0.7, 0.4), rel=1e-14)
        assert function(0.0, 0.5) == pytest.approx(math.log(2))
        assert function(1.0, 0.25) == pytest.approx(math.log(4))


def missed(weight, alpha, trials, rounds, seed):
    """How many of the sequences leave the interval at some time up to `rounds`."""
    outcomes = np.random.default_rng(seed).random((trials, rounds)) < weight
    T = np.arange(1, rounds + 1)
    mean = outcomes.cumsum(axis=1) / T
    q = np.clip(weight, 1e-300, 1)
    return int((T * kl(mean, q) > threshold(T, alpha)).any(axis=1).sum())


@pytest.mark.parametrize("weight", [0.02, 0.3, 0.5, 0.95])
def test_the_interval_holds_at_all_times(weight):
    alpha, trials = 0.2, 2000
    failures = missed(weight, alpha, trials, 1000, seed=7)
    assert failures > 0
    assert stats.binomtest(failures, trials, alpha, alternative="greater").pvalue > 1e-3


def test_an_interval_for_one_time_does_not_hold_at_all_times():
    """The test can fail: ln(2 / alpha) without the root of T is too little."""
    T = np.arange(1, 3001)
    outcomes = np.random.default_rng(7).random((1000, 3000)) < 0.5
    wrong = (T * kl(outcomes.cumsum(axis=1) / T, 0.5) > np.log(2 / 0.2)).any(axis=1).sum()
    assert stats.binomtest(int(wrong), 1000, 0.2, alternative="greater").pvalue < 1e-3
