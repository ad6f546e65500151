import dataclasses

import numpy as np
import pytest
from pydantic import ValidationError

from cascadebai_cli.model.problem import SEMI_BANDIT
from cascadebai_cli.study.study import Study

TWO_LEVEL = {"name": "two", "family": "two_level", "w_star": "1/K", "w_prime": "1/K**2"}
LINEAR = {"name": "ramp", "family": "linear", "w_max": 0.5, "w_min": 0.1, "L": 6, "K": 3, "epsilon": 0.05}


def study(**changes):
    base = {"study": "s", "seed": 1, "L": 8, "K": [2, 3], "instances": [TWO_LEVEL]}
    return Study.model_validate(base | changes)


def cell(**changes):
    return study(**{"K": 2} | changes).cells[0]


def test_grid_in_the_order_instance_learner_L_K_delta_epsilon():
    learners = [{"name": "one", "algorithm": "cascadebai"}, {"name": "printed", "algorithm": "cascadebai", "sigma": 1}]
    grid = study(L=[8, 9], delta=[0.1, 0.05], instances=[TWO_LEVEL, LINEAR], learners=learners).cells
    points = [(c.instance, c.learner, c.L, c.K, c.delta, c.epsilon) for c in grid]
    two = [
        ("two", learner, L, K, delta, 0)
        for learner in ("one", "printed")
        for L in (8, 9)
        for K in (2, 3)
        for delta in (0.1, 0.05)
    ]
    ramp = [("ramp", learner, 6, 3, delta, 0.05) for learner in ("one", "printed") for delta in (0.1, 0.05)]
    assert points == two + ramp


def test_a_cell_carries_what_a_trial_needs():
    c = cell(order="as_given", max_steps=10, engine="reference", feedback="semi-bandit")
    assert c.weights.tolist() == [0.5, 0.5] + 6 * [0.25]
    assert c.items == tuple("12345678")
    assert (c.order, c.max_steps, c.engine, c.feedback) == ("as_given", 10, "reference", SEMI_BANDIT)
    assert (c.problem.w_star, c.problem.w_prime, c.problem.K_prime, c.gap) == (0.5, 0.25, 2, 0.25)
    assert dataclasses.replace(c, L=4, weights=np.array([0.1, 0.9, 0.25, 0.5])).gap == 0.25
    assert c.spec.algorithm == "cascadebai"


def test_a_learner_overrides_the_feedback():
    learners = [{"name": "semi", "algorithm": "cascadebai", "feedback": "semi-bandit"}]
    assert cell(learners=learners).feedback == SEMI_BANDIT


def test_the_cell_id_is_pinned():
    """The random numbers of every result that is kept follow from it: it may never change."""
    assert cell().cell_id == "bae6a00c46c54303"


RENAMED = TWO_LEVEL | {"name": "other"}
SAME_WEIGHTS = {"name": "x", "family": "explicit", "weights": [0.5, 0.5] + 6 * [0.25]}
DEFAULT_SIGMA = {"name": "y", "algorithm": "cascadebai", "sigma": 0.5}


@pytest.mark.parametrize(
    "changes",
    [
        {"study": "t"},
        {"seed": 2},
        {"trials": 99},
        {"engine": "reference"},
        {"title": "text"},
        {"instances": [RENAMED]},
        {"L": None, "instances": [SAME_WEIGHTS]},
        {"learners": [DEFAULT_SIGMA]},
        {"epsilon": -0.0},
    ],
    ids=str,
)
def test_names_trials_engine_and_the_way_of_writing_leave_the_cell_id(changes):
    assert cell(**changes).cell_id == cell().cell_id


@pytest.mark.parametrize(
    "changes",
    [
        {"K": 3},
        {"L": 9},
        {"delta": 0.2},
        {"epsilon": 0.01},
        {"feedback": "semi-bandit"},
        {"order": "as_given"},
        {"max_steps": 10},
        {"rewards": {"rows": 100}},
        {"instances": [TWO_LEVEL | {"w_prime": 0.2}]},
        {"learners": [DEFAULT_SIGMA | {"sigma": 1}]},
    ],
    ids=str,
)
def test_content_changes_the_cell_id(changes):
    assert cell(**changes).cell_id != cell().cell_id


def test_rows_and_reuse_are_content():
    tables = [{"rows": 100}, {"rows": 101}, {"rows": 100, "reuse": False}]
    assert len({cell(rewards=table).cell_id for table in tables}) == 3
    assert cell(rewards={"rows": 100, "reuse": True}).cell_id == cell(rewards={"rows": 100}).cell_id


def test_the_order_of_the_weights_is_content():
    turned = {"name": "x", "family": "explicit", "weights": 6 * [0.25] + [0.5, 0.5]}
    assert cell(L=None, instances=[turned]).cell_id != cell().cell_id


def test_a_cell_changed_by_replace_gets_its_own_id():
    changed = dataclasses.replace(cell(), epsilon=0.01)
    assert changed.cell_id == cell(epsilon=0.01).cell_id


def test_cells_of_equal_content_are_refused():
    with pytest.raises(ValidationError, match=r"instance 'other' .* repeats instance 'two'"):
        study(instances=[TWO_LEVEL, RENAMED])


def test_weights_are_the_floats_of_the_formula():
    c = cell(L=128, K=60, instances=[TWO_LEVEL | {"w_star": "1 - 1/K**2", "w_prime": "1 - 1/K"}])
    assert np.unique(c.weights).tolist() == [1 - 1 / 60, 1 - 1 / 3600]
