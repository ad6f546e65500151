"""Instances: gaps, the epsilon-optimal set and what is refused."""

import numpy as np
import pytest

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import Instance


def test_gaps_and_extremes():
    instance = Instance(np.array([0.2, 0.9, 0.5, 0.7]), K=2)
    assert instance.sorted_weights.tolist() == [0.9, 0.7, 0.5, 0.2]
    assert instance.gaps == pytest.approx([0.4, 0.2, 0.2, 0.5])
    assert (instance.L, instance.w_star, instance.w_prime) == (4, 0.9, 0.2)


@pytest.mark.parametrize(("epsilon", "K_prime"), [(0.1, 3), (0.0999, 2), (0.6, 4)])
def test_epsilon_optimal_items(epsilon, K_prime):
    instance = Instance(np.array([0.9, 0.8, 0.7, 0.2]), K=2, epsilon=epsilon)
    assert instance.K_prime == K_prime
    assert instance.epsilon_optimal.tolist() == [i < K_prime for i in range(4)]


def test_is_correct():
    instance = Instance(np.array([0.9, 0.8, 0.7, 0.2]), K=2, epsilon=0.1)
    assert instance.is_correct([0, 2])
    assert not instance.is_correct([0, 3])
    assert not instance.is_correct([0, 0])
    assert not instance.is_correct([0, 1, 2])


def test_weights_are_frozen():
    instance = Instance(np.array([0.9, 0.1]), K=1)
    with pytest.raises(ValueError, match="read-only"):
        instance.weights[0] = 0.5


@pytest.mark.parametrize(
    ("weights", "K", "epsilon", "message"),
    [
        ([0.5, 1.5], 1, 0, "weight 1.5 of item 2 is outside [0, 1]"),
        ([0.5, float("nan")], 1, 0, "weight nan of item 2 is outside [0, 1]"),
        ([0.5], 1, 0, "an instance needs a list of at least 2 weights, not shape (1,)"),
        ([0.5, 0.4], 2, 0, "K is 2, but must be at least 1 and less than L = 2"),
        ([0.5, 0.4], 0, 0, "K is 0, but must be at least 1 and less than L = 2"),
        ([0.5, 0.4], 1, -0.1, "epsilon is -0.1, but must be 0 or larger"),
        (
            [0.5, 0.5],
            1,
            0,
            "w(K) = w(K+1) = 0.5 at K = 1: with epsilon = 0 the best K items are not unique; "
            "change K or the weights, or allow an epsilon > 0",
        ),
    ],
)
def test_refused(weights, K, epsilon, message):
    with pytest.raises(ConfigError) as error:
        Instance(np.array(weights), K, epsilon)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("weights", "K", "epsilon", "message"),
    [
        ([10**400, 0], 1, 0, "an instance needs a list of weights, numbers in [0, 1], not [1000000"),
        ([0.5 + 1j, 0], 1, 0, "an instance needs a list of weights, numbers in [0, 1], not [(0.5+1j), 0]"),
        (np.array([0.5 + 1j, 0]), 1, 0, "an instance needs a list of weights, numbers in [0, 1], not array([0.5+1.j"),
        ([np.complex128(0.5 + 1j), 10**20], 1, 0, "an instance needs a list of weights, numbers in [0, 1], not [np"),
        (np.array([0, 1], "M8[D]"), 1, 0, "an instance needs a list of weights, numbers in [0, 1], not array(['1970"),
        ("10", 1, 0, "an instance needs a list of weights, numbers in [0, 1], not '10'"),
        ([0.5, 0], True, 0, "K is True, but must be a whole number"),
        ([0.5, 0], 10**5000, 0, "K is of type int and too long to print, but must be a whole number"),
        ([0.5, 0], 1, 10**400, "epsilon is 1000000"),
        ([0.5, 0], 1, True, "epsilon is True, but must be a number"),
        ([0.5, 0], 1, np.ma.masked, "epsilon is masked, but must be a number"),
    ],
    ids=range(11),
)
def test_what_is_no_number_is_refused_and_not_made_one(weights, K, epsilon, message):
    with pytest.raises(ConfigError) as error:
        Instance(weights, K, epsilon)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("items", [[-1], [4], [10**30], [0.5], 3, ["a"], [None]])
def test_items_that_are_none_are_refused(items):
    instance = Instance([0.9, 0.8, 0.7, 0.2], K=2)
    for asked in (instance.right, instance.is_correct):
        with pytest.raises(ConfigError, match=r"^items are .*, but must be "):
            asked(items)
