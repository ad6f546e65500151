"""What the theorems promise, against runs of the algorithm."""

import numpy as np
import pytest

from cascadebai_cli.engines.simulate import Trial, simulate
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.model.problem import Instance
from cascadebai_cli.theory.paper import _CLICK_CONSTANT as CONSTANT
from cascadebai_cli.theory.paper import CellBounds, Quantities, rho, t_bar

DELTA, TRIALS = 0.1, 20

INSTANCES = {
    "two levels, large": Instance(np.repeat([0.9, 0.6], [3, 7]), 3),
    "two levels, small": Instance(np.repeat([0.2, 0.05], [5, 7]), 5),
    "ramp": Instance(np.linspace(0.9, 0.1, 9), 4),
    "with 0 and 1": Instance(np.array([1.0, 0.8, 0.5, 0.3, 0.0]), 2),
    "one item": Instance(np.array([0.7, 0.4, 0.3, 0.2]), 1),
    "many good items": Instance(np.linspace(0.9, 0.2, 12), 2, epsilon=0.3),
    "some good items": Instance(np.linspace(0.9, 0.2, 12), 6, epsilon=0.1),
}


def runs_of(instance):
    for t in range(TRIALS):
        trial = Trial(instance.sorted_weights, np.random.default_rng([2020, t]))
        yield simulate(lambda: CascadeBAI(instance.L, instance.K, DELTA, instance.epsilon), trial)


@pytest.fixture(scope="module", params=INSTANCES, ids=str)
def case(request):
    instance = INSTANCES[request.param]
    return instance, list(runs_of(instance))


def test_measured_steps_lie_between_the_bounds(case):
    instance, runs = case
    bounds = CellBounds.of_algorithm_1(instance, DELTA)
    steps = [run.steps for run in runs]
    assert max(steps) <= min(bounds.upper.steps, bounds.general.steps)
    if instance.epsilon == 0:
        assert np.mean(steps) >= bounds.lower > 0


def test_no_item_is_observed_more_often_than_its_identification_needs(case):
    # [le:suff_obs_to_identif], with the one observation more that a list crossing the end of a sweep can give. The
    # last items to survive stop when the run does.
    instance, runs = case
    enough = t_bar(Quantities(instance, DELTA).delta_bar, rho(instance.L, DELTA), CONSTANT)
    for run in runs:
        identified = [*run.accepted, *run.rejected]
        assert (np.array(run.counts)[identified] <= enough[identified] + 1).all()
