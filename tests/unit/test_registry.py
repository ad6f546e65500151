"""What a learner's record says of it."""

import pytest

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.fixed_budget import SuccessiveAcceptsRejects
from cascadebai_cli.learners.protocol import check_list_length
from cascadebai_cli.learners.registry import LearnerSpec


@pytest.mark.parametrize(
    ("options", "K", "expected"),
    [
        ({}, None, True),
        ({"order": "T", "confidence": "lil", "sigma": 0.5}, None, True),
        ({"order": "U"}, None, False),
        ({"confidence": "kl"}, None, False),
        ({"list_length": 5}, 5, True),
        ({"list_length": 5}, 4, False),
    ],
)
def test_algorithm_1_is_known_by_its_options(options, K, expected):
    assert LearnerSpec("cascadebai", options).is_algorithm_1(K) is expected


def test_another_algorithm_is_not_algorithm_1():
    assert not LearnerSpec("kl-lucb++").is_algorithm_1()


@pytest.mark.parametrize("M", [None, 1, 2])
def test_lengths_of_lists(M):
    check_list_length(M)


@pytest.mark.parametrize("M", [0, -1, True, 2.0, "2"])
def test_what_is_no_length_of_a_list(M):
    with pytest.raises(ConfigError, match="must be a whole number of at least 1"):
        check_list_length(M)


@pytest.mark.parametrize("algorithm", ["cascadebai", "batrac", "uniform", "sar"])
def test_each_learner_refuses_what_is_no_length_of_a_list(algorithm):
    with pytest.raises(ConfigError, match="must be a whole number of at least 1"):
        LearnerSpec(algorithm, {"list_length": 0}).build(4, 2, 0.1, 0.0, budget=50)


def test_only_a_learner_that_knows_a_budget_gets_one():
    assert not hasattr(LearnerSpec("cascadebai").build(4, 2, 0.1, 0.0, budget=20), "budget")
    assert isinstance(LearnerSpec("sar").build(4, 2, 0.1, 0.0, budget=20), SuccessiveAcceptsRejects)
    with pytest.raises(ConfigError, match="sar needs to know when it is asked"):
        LearnerSpec("sar").build(4, 2, 0.1, 0.0)
