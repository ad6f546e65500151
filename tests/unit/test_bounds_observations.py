"""The statements on the number of observations, checked on random weights against their exact law."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from printed_statements import centred_cgf, mean_observations, observation_law, second_moment, sub_gaussian_excess

from cascadebai_cli.model.problem import Instance
from cascadebai_cli.theory.paper import Quantities, v

PROPERTY = settings(max_examples=200)
WEIGHT = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-9, 1 - 1e-9]))
LISTS = st.lists(WEIGHT, min_size=1, max_size=30).map(np.array)
LEFT = -np.concatenate([np.linspace(0, 3, 31), [5, 10, 30, 100]])
ROUNDING = 1e-12


def law_by_enumeration(w):
    """`P(X = n)` from all `2^k` outcomes of the list."""
    law = np.zeros(len(w))
    for clicks in itertools.product([0, 1], repeat=len(w)):
        chance = math.prod(p if c else 1 - p for p, c in zip(w, clicks, strict=True))
        law[clicks.index(1) if 1 in clicks else len(w) - 1] += chance
    return law


@PROPERTY
@given(st.lists(WEIGHT, min_size=1, max_size=7))
def test_law_is_that_of_all_outcomes(w):
    assert observation_law(w) == pytest.approx(law_by_enumeration(w), abs=1e-14)


@PROPERTY
@given(LISTS)
def test_moments_are_those_of_the_law(w):
    n, law = np.arange(1, len(w) + 1), observation_law(w)
    assert law.sum() == pytest.approx(1, rel=1e-12)
    assert mean_observations(w) == pytest.approx(n @ law, rel=1e-12)
    assert second_moment(w) == pytest.approx(n**2 @ law, rel=1e-12)
    assert centred_cgf(w, -0.3) == pytest.approx(np.log(np.exp(-0.3 * (n - n @ law)) @ law), abs=1e-12)


def test_moments_work_along_the_last_axis():
    lists = np.random.default_rng(3).random((4, 5, 6))
    assert mean_observations(lists).shape == (4, 5)
    assert second_moment(lists)[2, 3] == pytest.approx(second_moment(lists[2, 3]), rel=1e-15)


@pytest.mark.parametrize(
    ("w", "law"),
    [
        ([0, 0, 0], [0, 0, 1]),
        ([1, 1, 1], [1, 0, 0]),
        ([0, 1, 0], [0, 1, 0]),
        ([0.5, 0, 1], [0.5, 0, 0.5]),
        ([0.5, 0.5, 0.5], [0.5, 0.25, 0.25]),
    ],
)
def test_law_is_exact_at_weights_0_and_1(w, law):
    assert observation_law(w).tolist() == law


# [lemma:bound_obs]: mean between mu_k, mu~_k and their simple bounds


@PROPERTY
@given(LISTS)
def test_mean_is_at_least_half_of_k_or_of_one_over_w_star(w):
    least = min(len(w), 1 / float(w.max()) if w.any() else math.inf) / 2
    assert mean_observations(w) >= least * (1 - ROUNDING)


@PROPERTY
@given(LISTS)
def test_mean_is_at_most_k_and_one_over_w_prime(w):
    most = min(len(w), 1 / float(w.min()) if w.all() else math.inf)
    assert mean_observations(w) <= most * (1 + ROUNDING)


@PROPERTY
@given(st.lists(WEIGHT, min_size=3, max_size=12), st.data())
def test_any_list_lies_between_mu_and_mu_tilde(w, data):
    K = data.draw(st.integers(1, len(w) - 1))
    shown = data.draw(st.permutations(w))[:K]
    instance = Instance(np.array(w), K, epsilon=1.0)
    q = Quantities(instance, 0.1)
    low, high = q.mu, q.mu_tilde
    for k in range(1, K + 1):
        mean = mean_observations(shown[:k])
        assert low[k - 1] * (1 - ROUNDING) <= mean <= high[k - 1] * (1 + ROUNDING)


# [thm:prop_obs]: order and monotonicity


@PROPERTY
@given(st.lists(WEIGHT, min_size=2, max_size=12), st.data())
def test_descending_order_shows_least_and_ascending_order_most(w, data):
    mean = mean_observations(data.draw(st.permutations(w)))
    assert mean_observations(sorted(w, reverse=True)) <= mean * (1 + ROUNDING)
    assert mean_observations(sorted(w)) >= mean * (1 - ROUNDING)


@PROPERTY
@given(st.lists(st.tuples(WEIGHT, WEIGHT), min_size=1, max_size=30))
def test_smaller_weights_show_more(pairs):
    small, large = np.array([sorted(pair) for pair in pairs]).T
    assert mean_observations(small) >= mean_observations(large) * (1 - ROUNDING)
    assert second_moment(small) >= second_moment(large) * (1 - ROUNDING)


# [lemma:obs_sec_moment]


@PROPERTY
@given(LISTS)
def test_second_moment_is_at_most_v_squared(w):
    assert second_moment(w) <= v(len(w), w.min()) ** 2 * (1 + ROUNDING)


@PROPERTY
@given(st.floats(0.01, 0.99))
def test_second_moment_of_a_long_list_is_nearly_geometric(w):
    assert second_moment(np.full(5000, w)) == pytest.approx(2 / w**2 - 1 / w, rel=1e-9)


# [thm:sec_moment_to_left_sub_gauss]


@PROPERTY
@given(LISTS)
@example(np.full(64, 0.5))
def test_root_of_the_second_moment_is_a_left_sub_gaussian_parameter(w):
    assert sub_gaussian_excess(w, float(np.sqrt(second_moment(w))), LEFT).max() <= ROUNDING


@PROPERTY
@given(LISTS)
@example(np.full(64, 0.5))
def test_v_is_a_left_sub_gaussian_parameter(w):
    assert sub_gaussian_excess(w, float(v(len(w), w.min())), LEFT).max() <= ROUNDING


def test_a_parameter_below_the_standard_deviation_is_caught():
    w = np.full(20, 0.1)
    sd = np.sqrt(second_moment(w) - mean_observations(w) ** 2)
    assert sub_gaussian_excess(w, 0.9 * float(sd), LEFT).max() > 1e-3


@pytest.mark.parametrize(("k", "w"), [(64, 0.5), (128, 0.3), (40, 0.7)])
def test_v_is_not_a_two_sided_parameter_of_long_lists(k, w):
    # P(X = k) = (1-w)^(k-1), so the cgf grows like lam k - k |ln(1-w)|: above v^2 lam^2 / 2 for moderate lam > 0.
    weights, right = np.full(k, w), np.linspace(0, 3, 301)
    parameter = float(v(k, w))
    assert sub_gaussian_excess(weights, parameter, right).max() > 1
    assert sub_gaussian_excess(weights, parameter, -right).max() <= ROUNDING


@PROPERTY
@given(st.integers(1, 12), st.data())
def test_v_is_two_sided_where_it_is_k(k, data):
    # Where v_k = k, Hoeffding's (k-1)/2 is a parameter on both sides: only w' > sqrt(2) / k can break the right side.
    w = np.array(data.draw(st.lists(st.floats(0, min(1, math.sqrt(2) / k)), min_size=k, max_size=k)))
    assert sub_gaussian_excess(w, float(v(k, w.min())), np.linspace(-3, 3, 61)).max() <= ROUNDING


def test_cgf_of_a_very_long_list_does_not_overflow():
    value = centred_cgf(np.full(100_000, 1e-5), [-100.0, -1e-5, 100.0])
    assert np.isfinite(value).all()
    assert value[2] == pytest.approx(100 * (1e5 - mean_observations(np.full(100_000, 1e-5))) - 1, abs=0.01)
