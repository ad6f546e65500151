"""Values of the bounds at instances worked out by hand, and the relations between their forms."""

from math import floor, log, log2, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from printed_statements import K_1, N_1, M, N_1_ceiling, N_3_by_item, printed_confidence_factor, two_level_upper_by_case

from cascadebai_cli.analysis.fits import bound_slope
from cascadebai_cli.learners.cascadebai import cascade_radius
from cascadebai_cli.model.problem import Instance, divergence
from cascadebai_cli.theory.paper import (
    PRINTED_CONSTANT,
    CellBounds,
    Quantities,
    TwoLevelBounds,
    confidence_factor,
    exact_constant,
    lower_bound,
    rho,
    t_bar,
    two_level_instance,
    v,
)

PROPERTY = settings(max_examples=200)
DELTA = 0.1
TIGHT = 1e-9


def observations(gap, L, constant=64.0):
    """`T-bar` in plain Python."""
    root, c = sqrt(DELTA / (12 * L)), constant / gap**2
    return 1 + floor(c * log(2 / root * log2(3 * c / root)))


# Instance A: two levels, theorem, no phase after the first

A = Instance(np.array([0.25, 0.5, 0.5]), K=2)


def test_the_root_of_the_second_moment_is_bounded_by_the_list_and_by_the_weight():
    assert v(np.array([1, 2, 3, 10]), 0.5) == pytest.approx([1, 2, 2 * sqrt(2), 2 * sqrt(2)])


def test_quantities_of_instance_a():
    q = Quantities(A, DELTA)
    assert q.mu == pytest.approx([1, 1.5])
    assert q.mu_tilde == pytest.approx([1, 1.75])
    assert q.v == pytest.approx([1, 2])
    assert Quantities(A, DELTA).delta_bar.tolist() == [0.25, 0.25, 0.25]
    assert (q.K_prime, K_1(q), q.K_2) == (2, 1, 1)
    assert pytest.approx([2 / 1.5 - 1]) == M(q)
    assert q.T_bar.tolist() == [6552, 6552, 6552]
    assert Quantities(A, DELTA, PRINTED_CONSTANT).T_bar[0] == 22476


def test_upper_bounds_of_instance_a():
    q, T = Quantities(A, DELTA), 6552
    assert N_1(q) == pytest.approx(16 / 9 * log(160 / 9))
    assert pytest.approx(T / 1.5) == q.N_2
    assert q.N_3_by_phase == 0
    assert q.first_full_lists == pytest.approx(2 * T / 1.5)
    assert N_3_by_item(q) == pytest.approx(4 / 3 * T)
    terms = {"N_1": 32 / 9 * log(20), "N_2": 2 * T / 1.5, "N_3": 2 * (2 * T + 1) / 1.5}
    assert q.theorem_upper().terms == pytest.approx(terms)
    two_level = [2 * (3 * T - 2) / 1.5, 2 * (2 / 1.5) ** 2 * log(20), 1]
    assert list(CellBounds.of_algorithm_1(A, DELTA).two_level.terms.values()) == pytest.approx(two_level)
    assert CellBounds.of_algorithm_1(A, DELTA).upper.steps == pytest.approx(sum(two_level))
    assert CellBounds.of_algorithm_1(A, DELTA).upper.dominating == "observing"


def test_lower_bound_of_instance_a():
    forth, back = log(4 / 3) / 2, log(2) - (2 * log(2) - 0.75 * log(3))
    needed = 2 / forth + 1 / back
    assert lower_bound(A, DELTA) == pytest.approx(0.8 * log(9) * needed / 1.75)
    assert lower_bound(A, DELTA, semi_bandit=True) == pytest.approx(0.8 * log(9) * needed / 2)


# Instance B: different gaps, an item that is never clicked, two phases

B = Instance(np.array([0.8, 0.5, 0.4, 0.2, 0.0]), K=3)


def test_quantities_of_instance_b():
    q = Quantities(B, DELTA)
    assert q.mu == pytest.approx([1, 1.2, 1.3])
    assert q.mu_tilde == pytest.approx([1, 2, 2.8])
    assert q.v == pytest.approx([1, 2, 3])
    assert Quantities(B, DELTA).delta_bar == pytest.approx([0.6, 0.3, 0.2, 0.2, 0.4])
    assert (q.K_prime, K_1(q), q.K_2) == (3, 1, 1)
    assert pytest.approx([3 / 1.3 - 2 / 1.2, 2 / 1.2 - 1]) == M(q)
    assert q.T_bar.tolist() == [observations(gap, 5) for gap in (0.6, 0.4, 0.3, 0.4 - 0.2, 0.4 - 0.2)]


def test_upper_bounds_of_instance_b():
    q = Quantities(B, DELTA)
    T = q.T_bar
    r3, r2 = (3 / 1.3) ** 2, (2 / 1.2) ** 2
    assert N_1(q) == pytest.approx((r3 + r2) * log((r3 + r2) / DELTA))
    assert pytest.approx((T[0] + T[1]) / 1.3) == q.N_2
    assert q.N_3_by_phase == pytest.approx(2 / 1.2 * (T[3] - T[2]))
    assert N_3_by_item(q) == pytest.approx(3 / 1.3 * T[2] + 2 / 1.2 * (T[3] - T[2]))
    first = 2 * (T[0] + T[1] + 3 * T[2] + 2) / 1.3
    second = 2 * (2 * (T[3] - T[2]) + 3) / 1.2
    spread = 2 * r3 * log(2 * (r3 + r2) / (DELTA * r3)) + 2 * r2 * log(2 * (r3 + r2) / (DELTA * r2))
    assert q.theorem_upper().steps == pytest.approx(first + second + spread)
    assert CellBounds.of_algorithm_1(B, DELTA).two_level is None


def test_lower_bound_of_instance_b():
    divergences = [
        0.6 * log(4),
        0.5 * log(0.5 / 0.2) + 0.5 * log(0.5 / 0.8),
        0.4 * log(2) + 0.6 * log(0.6 / 0.8),
        0.2 * log(0.5) + 0.8 * log(0.8 / 0.6),
        -log(0.6),
    ]
    assert lower_bound(B, DELTA) == pytest.approx(0.8 * log(9) * sum(1 / d for d in divergences) / 2.8)


# Instance C: epsilon > 0 and many good items

C = Instance(np.array([0.1, 0.8, 0.5, 0.6]), K=2, epsilon=0.1)


def test_bounds_of_instance_c():
    q = Quantities(C, DELTA)
    assert q.K_prime == 3
    assert Quantities(C, DELTA).delta_bar == pytest.approx([0.4, 0.2, 0.1, 0.4])
    T = q.T_bar
    assert T[[0, 2, 3]] == pytest.approx([observations(gap, 4) for gap in (0.4, 0.2, 0.1)], rel=1e-3)
    bound = q.many_optimal_upper()
    assert bound.terms["N_1'"] == pytest.approx(2 * (2 / 1.2) ** 2 * log(20))
    assert bound.terms["N_2'"] == pytest.approx(2 * (T[0] + T[1] + 2 * T[2] + 1) / 1.2)
    assert CellBounds.of_algorithm_1(C, DELTA).upper.source == "many optimal"
    assert np.isnan(lower_bound(C, DELTA))


def test_theorem_with_a_tolerance_stops_two_items_early():
    q = Quantities(Instance(np.array([0.9, 0.8, 0.7, 0.6, 0.55, 0.52, 0.1]), K=4, epsilon=0.1), DELTA)
    assert (q.K_prime, K_1(q), q.K_2) == (6, 2, 2)
    assert q.delta_bar == pytest.approx([0.45, 0.35, 0.25, 0.15, 0.1, 0.07, 0.4])
    assert q.mu == pytest.approx([1, 1.1, 1.12, 1.126])
    T = q.T_bar
    assert q.N_3_by_phase == pytest.approx(3 / 1.12 * (T[4] - T[3]))
    assert N_3_by_item(q) == pytest.approx((4 / 1.126 - 3 / 1.12) * T[3] + (3 / 1.12 - 2) * T[4] + 2 * T[4])
    observations = (T[:3].sum() + 4 * T[3] + 3) / 1.126 + (3 * (T[4] - T[3]) + 5) / 1.12
    terms = q.theorem_upper().terms
    assert terms["N_2"] + terms["N_3"] == pytest.approx(2 * observations)


def test_each_theorem_refuses_the_other_ones_instances():
    with pytest.raises(ValueError, match="K' = 3 is not below 2K - 1 = 3"):
        Quantities(C, DELTA).theorem_upper()
    with pytest.raises(ValueError, match="K' = 2 is below 2K - 1 = 3"):
        Quantities(A, DELTA).many_optimal_upper()


def test_weights_0_and_1_are_exact():
    certain = Instance(np.array([1.0, 0.0]), K=1)
    assert lower_bound(certain, DELTA) == 0
    assert Quantities(certain, DELTA).general_upper().terms["N_2'"] == 2 * 2 * observations(1, 2)
    mixed = Quantities(Instance(np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), K=3), DELTA)
    assert mixed.mu.tolist() == [1, 1, 1]
    assert mixed.mu_tilde.tolist() == [1, 2, 3]


def test_an_item_that_nothing_certifies_leaves_the_bound_finite():
    # w(K) = w(K+1), and an item exactly epsilon below: it is good enough, but its gap is 0.
    flat = Instance(np.array([0.9, 0.8, 0.5, 0.5, 0.4, 0.1]), K=3, epsilon=0.1)
    q = Quantities(flat, DELTA)
    assert Quantities(flat, DELTA).delta_bar == pytest.approx([0.5, 0.4, 0.1, 0.1, 0, 0.3])
    assert q.T_bar[-1] == np.inf
    assert np.isfinite(q.general_upper().steps)


def test_a_gap_too_small_for_a_float_gives_an_infinite_bound():
    q = Quantities(Instance(np.array([0.5, 1e-200, 2e-200, 0.0, 3e-200]), K=3), DELTA)
    assert q.theorem_upper().steps == np.inf
    assert q.N_3_by_phase >= 0


# T-bar


@PROPERTY
@given(st.floats(1e-3, 1), st.integers(2, 10**5), st.floats(1e-6, 0.99), st.sampled_from([0.5, 0.7, 1.0, 2.0, 0.05]))
def test_t_bar_observations_are_enough(gap, L, delta, sigma):
    enough = t_bar(gap, rho(L, delta), exact_constant(sigma))
    assert 4 * cascade_radius(L, delta, sigma)(enough) < gap


def test_the_printed_constant_is_too_small_for_the_printed_radius():
    gap, L = 0.01, 128
    printed = t_bar(gap, rho(L, DELTA), PRINTED_CONSTANT)
    assert 4 * cascade_radius(L, DELTA, sigma=1)(printed) > gap
    assert 4 * cascade_radius(L, DELTA, sigma=0.5)(printed) < gap


def test_rho_is_that_of_the_algorithm():
    assert rho(128, DELTA) == cascade_radius(128, DELTA, 0.5).rho
    assert 6 * rho(128, DELTA) ** 2 == pytest.approx(DELTA / (2 * 128))


# The two forms of N_3


@st.composite
def problems(draw, least=0):
    """Instances with `K' < 2K - 1`, of 3 to 12 items with different weights, multiples of 1/1000."""
    thousandths = st.integers(least, 1000)
    w = np.array(draw(st.lists(thousandths, min_size=3, max_size=12, unique=True))) / 1000
    K = draw(st.integers(2, len(w) - 1))
    instance = Instance(w, K, draw(st.sampled_from([0.0, 0.02, 0.2])))
    return Quantities(instance if instance.K_prime < 2 * K - 1 else Instance(w, K), DELTA)


@PROPERTY
@given(problems())
def test_second_form_of_n_3_bounds_the_first_with_the_full_lists(q):
    assert q.N_3_by_phase + q.first_full_lists <= N_3_by_item(q) * (1 + TIGHT)


def test_the_printed_forms_of_n_3_differ():
    q = Quantities(Instance(np.array([0.2, 0.19, 0.17, 0.14, 0.05, 0.01]), K=4), DELTA)
    assert K_1(q) == 3
    assert N_3_by_item(q) > 1.05 * (q.N_3_by_phase + q.first_full_lists)
    assert N_3_by_item(q) > 1.5 * q.N_3_by_phase


@PROPERTY
@given(problems())
def test_quantities_obey_what_the_proof_uses(q):
    assert (M(q) >= -TIGHT).all()
    k = np.arange(1, K_1(q) + 1)[max(q.K_prime - q.K, 0) :]
    assert (k / q.mu[k - 1] <= 2 + TIGHT).all()
    assert (q.spread_ratios >= 1 - TIGHT).all()
    bound = q.theorem_upper()
    assert bound.terms["N_2"] == 2 * q.N_2
    # c_k ln(1 / c_k) <= 1 / e: the step from the sum over phases to N_1.
    r = q.spread_ratios
    assert bound.terms["N_1"] <= 2 * N_1(q) + 2 * log(4) * r.sum() + len(r) / np.e + TIGHT


@PROPERTY
@given(problems(least=1))
def test_n_1_is_bounded_by_the_extreme_weights(q):
    ceiling = N_1_ceiling(q.instance.w_star, q.instance.w_prime, q.K, DELTA)
    assert N_1(q) <= ceiling * (1 + TIGHT)


# Two levels


@st.composite
def two_levels(draw):
    L = draw(st.integers(2, 60))
    K = draw(st.integers(1, L - 1))
    weights = st.lists(st.integers(1, 10**4), min_size=2, max_size=2, unique=True)
    low, high = np.sort(draw(weights)) / 10**4
    return L, K, high, low


@PROPERTY
@given(two_levels())
def test_two_level_forms_equal_the_general_ones(parameters):
    L, K, w_star, w_prime = parameters
    q = Quantities(two_level_instance(L, K, w_star, w_prime), DELTA)
    closed = TwoLevelBounds(L, K, w_star, w_prime, DELTA)
    assert closed.mu(np.arange(1, K + 1)) == pytest.approx(q.mu, rel=TIGHT)
    assert closed.mu_tilde_K == pytest.approx(q.mu_tilde[-1], rel=TIGHT)
    assert closed.lower() == pytest.approx(lower_bound(q.instance, DELTA), rel=TIGHT)
    assert closed.T_bar == q.T_bar[0]
    assert closed.upper() <= two_level_upper_by_case(closed) * (1 + TIGHT)


def test_printed_mu_tilde_needs_a_long_tail_of_poor_items():
    L, K, w_star, w_prime = 10, 8, 0.9, 0.1
    printed = (1 - (1 - w_prime) ** K) / w_prime
    assert TwoLevelBounds(L, K, w_star, w_prime, DELTA).mu_tilde_K < 0.6 * printed
    assert TwoLevelBounds(16, K, w_star, w_prime, DELTA).mu_tilde_K == pytest.approx(printed)


def test_two_level_forms_take_arrays():
    K = np.arange(20, 61)
    bounds = TwoLevelBounds(128, K, 1 / K, 1 / K**2, DELTA)
    one = TwoLevelBounds(128, 40, 1 / 40, 1 / 1600, DELTA)
    assert bounds.upper()[20] == one.upper()
    assert bounds.lower()[20] == one.lower()
    assert (bounds.lower() < bounds.upper()).all()


# Divergences and the factor of delta


@pytest.mark.parametrize(
    ("p", "q", "value"),
    [(0, 0, 0), (1, 1, 0), (0, 0.5, log(2)), (1, 0.5, log(2)), (0.5, 0, np.inf), (0.5, 1, np.inf), (1, 0, np.inf)],
)
def test_divergence_at_0_and_1(p, q, value):
    assert divergence(p, q) == value


def test_divergence_of_nearly_equal_weights_is_not_lost():
    assert divergence(0.5, 0.5 + 1e-9) >= 2e-18 * 0.999


@PROPERTY
@given(st.floats(1e-9, 0.4999))
def test_factor_is_at_least_the_printed_one(delta):
    assert confidence_factor(delta) >= printed_confidence_factor(delta)


@pytest.mark.parametrize("delta", [1e-17, 1e-24, 1e-300])
def test_factor_of_a_risk_that_1_minus_delta_does_not_show(delta):
    assert confidence_factor(delta) == pytest.approx(-log(delta), rel=1e-15)


def test_factor_says_nothing_from_one_half_on():
    assert confidence_factor([0.5, 0.7, 0.99]).tolist() == [0, 0, 0]
    assert printed_confidence_factor(0.5) == 0


# Size


@pytest.mark.parametrize("K", [1, 50_000, 99_999])
def test_bounds_of_a_huge_instance_are_finite(K):
    bounds = CellBounds.of_algorithm_1(Instance(np.linspace(1, 0, 100_000), K), DELTA)
    assert np.isfinite([bounds.lower, bounds.upper.steps]).all()
    assert 0 <= bounds.lower < bounds.upper.steps


def test_the_factor_of_4_of_the_proof_fails_for_very_long_lists_with_large_gaps():
    def terms(L):
        q = Quantities(two_level_instance(L, L - 1, 1.0, 0.0), DELTA)
        observing = q.theorem_upper().terms["N_2"] + q.theorem_upper().terms["N_3"]
        return observing, 4 * (q.N_2 + q.first_full_lists + q.N_3_by_phase)

    few, many = terms(100), terms(100_000)
    assert few[0] <= few[1]
    assert many[0] > many[1]


def test_closed_form_of_a_huge_two_level_instance():
    L, K = 100_000, 50_000
    q = Quantities(two_level_instance(L, K, 1e-4, 1e-10), DELTA)
    closed = TwoLevelBounds(L, K, 1e-4, 1e-10, DELTA)
    assert closed.mu(K) == pytest.approx(q.mu[-1], rel=TIGHT)
    assert closed.mu_tilde_K == pytest.approx(q.mu_tilde[-1], rel=TIGHT)
    assert closed.lower() == pytest.approx(lower_bound(q.instance, DELTA), rel=TIGHT)


# The slope of the bound


def test_slope_of_the_bound_is_the_fit_of_its_values():
    K = np.arange(20, 61, 10)
    upper = TwoLevelBounds(128, K, 1 / K, 1 / K**2, DELTA).upper()
    fit = bound_slope(K, upper, "K")
    slope, constant = np.polyfit(K, upper, 1)
    assert (fit.c1, fit.c2) == pytest.approx((slope, constant))
    assert fit.r2 > 0.99


@pytest.mark.parametrize("missing", [np.nan, np.inf])
def test_no_slope_without_a_bound(missing):
    assert bound_slope([1, 2, 3], [5.0, 6.0, missing], "K") is None
