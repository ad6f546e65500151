"""The bounds on the chance of an error are never below what is measured, and the step of their proof is right."""

import numpy as np
import pytest

from cascadebai_cli.engines.jobs import Job, in_order
from cascadebai_cli.engines.outcomes import RandomOutcomes
from cascadebai_cli.engines.phases import run_phases
from cascadebai_cli.learners.fixed_budget import SuccessiveAcceptsRejects, Uniform
from cascadebai_cli.model.problem import Instance, divergence
from cascadebai_cli.store.summary import binomial_interval
from cascadebai_cli.theory.budget import ERRORS

TRIALS, LEVEL = 400, 0.9999
INSTANCES = {
    "ramp": Instance(np.array([0.9, 0.7, 0.4, 0.3, 0.1]), 2),
    "one of three": Instance(np.array([0.9, 0.4, 0.4]), 1),
    "high": Instance(np.array([0.99, 0.98, 0.8, 0.75]), 2),
}
MAKE = {
    "uniform": lambda instance, N: Uniform(instance.L, instance.K),
    "sar": lambda instance, N: SuccessiveAcceptsRejects(instance.L, instance.K, budget=N),
}


@pytest.mark.parametrize("algorithm", MAKE)
@pytest.mark.parametrize("name", INSTANCES)
def test_no_error_rate_is_above_its_bound(name, algorithm):
    instance, said = INSTANCES[name], []
    for N in (20, 40, 80, 160):
        wrong = 0
        for trial in range(TRIALS):
            learner = MAKE[algorithm](instance, N)
            outcomes = RandomOutcomes(instance.weights, np.random.default_rng([7, N, trial]))
            in_order(run_phases([Job(learner, outcomes, max_steps=N)]))
            wrong += not instance.is_correct(learner.answer)
        low, _ = binomial_interval(wrong, TRIALS, LEVEL)
        bound = ERRORS[algorithm](instance, N)
        assert low <= bound
        said.append((wrong, bound))
    assert said[0][0] > 0


@pytest.mark.parametrize(("w", "c", "n"), [(0.3, 0.45, 10), (0.05, 0.2, 15), (0.5, 0.6, 40)])
def test_a_mean_exceeds_a_level_at_any_later_count_no_more_often_than_by_the_bound_of_the_first(w, c, n):
    outcomes = np.random.default_rng(11).random((20_000, 40 * n)) < w
    means = np.cumsum(outcomes, axis=1) / np.arange(1, 40 * n + 1)
    ever, once = (means[:, n - 1 :] >= c).any(axis=1).sum(), (means[:, n - 1] >= c).sum()
    assert binomial_interval(int(ever), 20_000, LEVEL)[0] <= np.exp(-n * divergence(c, w))
    assert ever > once
