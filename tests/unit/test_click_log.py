"""Tolerances, page views over all possible truths, and the cost of a test."""

import math

import numpy as np
import pytest

from cascadebai_cli.model.problem import Instance
from cascadebai_cli.planning.numbers import ClickCost, PageViews, Tolerance, click_chance, effort, lost_share
from cascadebai_cli.theory.paper import lower_bound

TRUTHS = np.array([[0.5, 0.4, 0.3, 0.1], [0.5, 0.31, 0.3, 0.1]])


@pytest.mark.parametrize("K", [1, 2, 3])
def test_the_effort_without_a_tolerance_is_the_lower_bound(K):
    w = np.array([0.1, 0.6, 0.3, 0.35])
    assert effort(w, K, 0.05, 0.0) == pytest.approx(lower_bound(Instance(w, K), 0.05))


def test_a_tolerance_saves_effort_and_a_tie_is_endless_without():
    w = np.array([0.5, 0.3, 0.3, 0.1])
    efforts = [effort(w, 2, 0.05, epsilon) for epsilon in (0, 0.01, 0.05, 0.3)]
    assert efforts[0] == math.inf
    assert efforts == sorted(efforts, reverse=True)
    assert efforts[1] / efforts[2] == pytest.approx(25, rel=0.2)


def test_a_tolerance_beyond_all_rates_is_for_nothing():
    assert effort(np.array([0.5, 0.3, 0.1]), 1, 0.05, 0.9) == pytest.approx(0, abs=10)


def test_good_enough_items_of_each_truth():
    assert Tolerance.of(TRUTHS, 2, 0.05, 0.0, M=2).good.tolist() == [2, 2]
    assert Tolerance.of(TRUTHS, 2, 0.05, 0.1, M=2).good.tolist() == [3, 3]
    assert Tolerance.of(TRUTHS, 2, 0.05, 0.02, M=2).good.tolist() == [2, 3]


def test_the_best_tolerance_is_the_smallest_that_ends():
    table = Tolerance.table(TRUTHS, 2, 0.05, 0.35, M=2)
    assert [one.epsilon for one in table] == pytest.approx([0.0035, 0.007, 0.0175, 0.035, 0.07])
    hardest = [one.efforts.max() for one in table]
    assert Tolerance.best(table, hardest[2] * 8.01, 8) is table[2]
    assert Tolerance.best(table, 1, 8) is table[-1]


def test_page_views_are_ratios_on_all_efforts():
    found = PageViews.of("x", [200, 300], [True, False], 1000, np.array([100.0, 100.0]), np.array([100.0, 1000.0]))
    assert (found.low, found.median, found.high) == (200, 300, 3000)
    assert (found.n, found.right, found.capped, found.ended) == (2, 1, 0, True)


def test_runs_with_one_truth_are_their_own_quantiles():
    steps = list(range(1, 21))
    found = PageViews.of("x", steps, [True] * 20, 100, np.full(20, 7.0), np.array([7.0]))
    assert (found.low, found.median, found.high) == pytest.approx((1, 10, 19))


def test_a_run_that_was_given_up_counts_at_least_as_far_as_it_went():
    efforts = np.array([10.0, 10.0, 10.0, 50.0])
    found = PageViews.of("x", [20, 30, 100, 100], [True, True, None, True], 100, efforts, efforts)
    assert found.ratios == (2, 3, 10, 2)
    assert found.ended
    found = PageViews.of("x", [20, 30, 60, 100], [True, True, True, None], 100, np.array([10.0, 10, 20, 100]), efforts)
    assert found.ratios == (2, 3, 3, 3)


def test_a_learner_that_mostly_did_not_end_says_nothing():
    found = PageViews.of("slow", [50, 50, 10], [None, None, True], 50, np.ones(3), np.ones(3))
    assert not found.ended
    assert found.median == math.inf


def test_where_page_views_do_not_grow_with_the_effort_each_run_stands_for_its_own_truth():
    efforts = np.array([10.0, 100.0, 1000.0, math.inf])
    found = PageViews.of("log kept", [0, 50, 60], [True] * 3, 100, efforts[[3, 1, 2]], efforts, [3, 1, 2])
    assert (found.low, found.median, found.high) == pytest.approx((0, 50, 60))
    assert found.expected(2 * efforts) == pytest.approx((0, 100, 120))


def test_page_views_of_lists_that_stay_begin_with_a_list_of_each_item():
    efforts = np.array([10.0, 100.0, 1000.0])
    found = PageViews.of("x", [300, 300], [True] * 2, 900, efforts[:2], efforts, least=300)
    assert (found.low, found.median, found.high, found.error) == (300, 300, 300, 0)
    found = PageViews.of("x", [320, 500], [True] * 2, 900, efforts[:2], efforts, least=300)
    assert (found.low, found.median, found.high) == pytest.approx((320, 500, 2300))


def test_cost_with_one_run_a_truth():
    truths = np.array([[0.5, 0.2, 0.1], [0.2, 0.5, 0.1]])
    found = ClickCost.of(np.array([[1 / 3], [0.0]]), truths, [0, 2], np.array([[100.0], [1000.0]]))
    assert found.against_best == pytest.approx((0, 0, 20))
    assert found.against_own == pytest.approx((-320, -320, 15))


def test_cost_by_hand():
    truths = np.array([[0.5, 0.2, 0.1], [0.5, 0.2, 0.1]])
    assert click_chance(truths[:, :2]) == pytest.approx([0.6, 0.6])
    loses = lost_share(np.array([40.0, 90.0]), [100, 200], np.array([0.6, 0.6]))
    found = ClickCost.of(loses, truths, [0, 2], np.array([[100.0, 200.0], [100.0, 200.0]]))
    assert found.against_best == pytest.approx((20, 20, 30))
    assert found.against_own == pytest.approx((15, 15, 20))


def test_a_page_of_the_same_items_in_another_order_gains_nothing():
    shown = np.random.default_rng(3).random((200, 7))
    assert np.array_equal(click_chance(shown), click_chance(-np.sort(-shown, axis=1)))


def test_clicks_lost_go_with_the_page_views_on_all_truths():
    truths = np.array([[0.5, 0.2, 0.1], [0.2, 0.5, 0.1]])
    found = ClickCost.of(np.array([1 / 3]), truths, [0, 2], np.array([[100.0], [1000.0]]))
    assert found.against_best == pytest.approx((20, 20, 200))
    assert found.against_own == pytest.approx((-120, -120, 15))


def test_no_run_gains_on_the_best_page_and_a_test_without_end_may_lose_nothing():
    truths = np.array([[0.3, 0.3, 0.3]])
    loses = lost_share(np.array([60.0]), [100], np.array([0.51]))
    found = ClickCost.of(loses, truths, [0, 1], np.array([[math.inf]]))
    assert found.against_best == found.against_own == (0, 0, 0)
