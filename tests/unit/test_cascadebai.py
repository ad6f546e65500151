"""Algorithm 1, decision by decision."""

import numpy as np
import pytest
from given import TableOutcomes

from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.learners.cascadebai import _TABLE, CascadeBAI, CascadeRule
from cascadebai_cli.learners.protocol import Learner, Race, by_mean
from cascadebai_cli.model.problem import CASCADING, SEMI_BANDIT


def test_radius_as_printed_and_with_clicks():
    """C(T) = 4 sigma sqrt(ln(log2(2T) / rho) / T), rho = sqrt(delta / (12 L))."""
    rho = np.sqrt(0.1 / (12 * 128))
    T = np.array([1, 2, 1000])
    printed = 4 * np.sqrt(np.log(np.log2(2 * T) / rho) / T)
    assert CascadeRule(128, 20, 0.1, sigma=1).radius(T) == pytest.approx(printed)
    assert CascadeRule(128, 20, 0.1).radius(T) == pytest.approx(printed / 2)
    assert CascadeRule(128, 20, 0.1).radius(0) == np.inf


def test_radius_decreases():
    radius = CascadeRule(2, 1, 0.99).radius(np.arange(1, 10_000))
    assert (np.diff(radius) < 0).all()


def test_radius_is_the_same_inside_and_beyond_the_table():
    T = np.array([10, 5000, _TABLE - 1])
    radius = CascadeRule(64, 2, 0.1).radius
    assert radius(T) == pytest.approx(radius(T.astype(float)), rel=1e-14)
    assert radius(np.array([10, _TABLE]))[0] == radius(10)
    assert radius(10**12) == pytest.approx(2 * np.sqrt(np.log(np.log2(2e12) / np.sqrt(0.1 / 768)) / 1e12))


def test_select_is_least_observed_first_with_ties_in_the_order_of_D():
    learner = CascadeBAI(5, 3, 0.1)
    learner.T[:] = [2, 1, 1, 2, 1]
    assert learner.select() == [1, 2, 4]
    learner.observe([1, 2, 4], [0, 1])
    assert learner.T.tolist() == [2, 2, 2, 2, 1]
    assert learner.S.tolist() == [0, 0, 1, 0, 0]
    assert learner.select() == [4, 0, 1]


def test_fewer_survivors_than_K_shorten_the_list():
    learner = CascadeBAI(5, 3, 0.1)
    learner.race.survivors = np.array([1, 4])
    assert learner.select() == [1, 4]


def test_identify_compares_with_the_items_of_the_kth_and_next_mean():
    rule = CascadeRule(4, 2, 0.1)
    mean = np.array([0.9, 0.6, 0.55, 0.2])
    radius = np.array([0.1, 0.3, 0.1, 0.05])
    accept, reject = rule.identify(mean, mean - radius, mean + radius, 2)
    assert accept.tolist() == [True, False, False, False]  # 0.8 > 0.55 + 0.1
    assert reject.tolist() == [False, False, False, True]  # 0.25 < 0.6 - 0.3


@pytest.mark.parametrize(("epsilon", "accepted"), [(0.0, 0), (0.15, 1), (0.25, 2)])
def test_epsilon_eases_acceptance(epsilon, accepted):
    rule = CascadeRule(2, 1, 0.1, epsilon)
    accept, _ = rule.identify(np.array([0.6, 0.5]), np.array([0.5, 0.4]), np.array([0.7, 0.6]), 1)
    assert accept.sum() == accepted


def test_an_item_that_both_rules_name_is_rejected():
    rule = CascadeRule(3, 1, 0.1, epsilon=0.5)
    mean, radius = np.array([0.9, 0.35, 0.3]), np.full(3, 0.01)
    accept, reject = rule.identify(mean, mean - radius, mean + radius, 1)
    assert accept.tolist() == [True, False, False]
    assert reject.tolist() == [False, True, True]
    assert (mean - radius > mean[1] + radius[1] - 0.5).all()


def test_items_accepted_together_enter_by_descending_mean():
    race = Race(4, 3)
    race.settle(np.array([1, 0, 1, 0], bool), np.zeros(4, bool), np.array([0.6, 0.1, 0.8, 0.2]))
    assert race.accepted == [2, 0]
    assert race.survivors.tolist() == [1, 3]
    assert race.k == 1


def test_rejections_end_the_race_and_survivors_complete_the_recommendation():
    race = Race(4, 2)
    race.settle(np.array([0, 0, 0, 1], bool), np.array([1, 0, 1, 0], bool), np.array([0.1, 0.5, 0.2, 0.9]))
    assert race.finished
    assert race.recommendation == (3, 1)


def test_more_than_K_accepted_returns_the_first_K():
    race = Race(4, 1)
    race.settle(np.array([1, 1, 0, 0], bool), np.zeros(4, bool), np.array([0.5, 0.9, 0.1, 0.1]))
    assert race.finished
    assert race.recommendation == (1,)


def test_the_first_of_equal_means_ranks_higher():
    assert by_mean(np.array([0.5, 0.9, 0.5, 0.1])).tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize(("outcomes", "seen"), [([0, 0, 0], 3), ([0, 1, 1], 2), ([1, 0, 0], 1)])
def test_cascading_feedback_ends_at_the_first_click(outcomes, seen):
    table = TableOutcomes(np.array(outcomes)[:, None])
    assert CASCADING.reveal([0, 1, 2], table.next) == outcomes[:seen]


def test_semi_bandit_feedback_shows_all():
    assert SEMI_BANDIT.reveal([0, 1, 2], TableOutcomes(np.array([[1], [0], [1]])).next) == [1, 0, 1]


@pytest.mark.parametrize(("clicks", "observations"), [(1, 1), (0, 3)])
def test_observations_of_certain_lists(clicks, observations):
    """w = 1: one observation a step; w = 0: the whole list."""
    table = TableOutcomes(np.full((6, 400), clicks))
    run = run_reference(CascadeBAI(6, 3, 0.1), table, CASCADING, max_steps=100)
    assert (run.status, run.steps, run.observations) == ("capped", 100, 100 * observations)


def test_cascadebai_is_a_learner():
    assert isinstance(CascadeBAI(3, 1, 0.1), Learner)


def test_finds_the_best_items_step_by_step():
    w = np.array([0.95, 0.1, 0.9, 0.05])
    table = TableOutcomes(np.random.default_rng(0).random((4, 3000)) < w[:, None])
    run = run_reference(CascadeBAI(4, 2, 0.1), table, CASCADING)
    assert sorted(run.recommendation) == [0, 2]
    assert run.status == "stopped"
    assert sum(run.counts) == run.observations
