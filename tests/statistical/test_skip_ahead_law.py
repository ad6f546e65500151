"""Same law: with its own randomness skip-ahead agrees with the reference in distribution, and wrong twins do not.

Seeds are fixed. The threshold is shared among the comparisons: were both engines right and the seeds drawn afresh, one
of them would fail with probability at most 1 in 1,000. A twin must fail at the same threshold.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from cases import mostly_slow
from scipy import stats

from cascadebai_cli.engines.jobs import Job, in_order
from cascadebai_cli.engines.outcomes import RandomOutcomes
from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.engines.skip_ahead import run_skip_ahead
from cascadebai_cli.learners.cascadebai import CascadeRule
from cascadebai_cli.learners.protocol import RacingLearner
from cascadebai_cli.model.problem import CASCADING

INSTANCES = {
    "low": ([0.5] * 6 + [0.05] * 12, 6),
    "high": ([0.98] * 4 + [0.45] * 8, 4),
    "mixture": ([0.95] * 3 + [0.8] * 3 + [0.25] * 5 + [0.1] * 4, 6),
}
STATISTICS = ("steps", "observations", "first accepted", "largest count")
THRESHOLD = 0.001 / (len(INSTANCES) * len(STATISTICS))
TRIALS = 300
CAP = 5_000  # after an early error two equal items may be left, which no learner can tell apart


def sample(run, instance, seed):
    """Statistics of `TRIALS` runs, shape `(TRIALS, 4)`."""
    weights, K = INSTANCES[instance]
    rule = CascadeRule(len(weights), K, 0.1, sigma=0.2)
    outcomes = [RandomOutcomes(np.asarray(weights), np.random.default_rng([seed, trial])) for trial in range(TRIALS)]
    runs = run(rule, outcomes, CAP)
    return np.array([(run.steps, run.observations, [*run.accepted, -1][0], max(run.counts)) for run in runs])


def reference(rule, outcomes, cap):
    return [run_reference(RacingLearner(rule), source, CASCADING, cap) for source in outcomes]


def skip_ahead(rule, outcomes, cap):
    return in_order(run_skip_ahead([Job(RacingLearner(rule), source, CASCADING, cap) for source in outcomes]))


def p_values(one, other):
    return np.array([stats.ks_2samp(a, b).pvalue for a, b in zip(one.T, other.T, strict=True)])


@dataclass(frozen=True)
class LongerList(CascadeRule):
    """Wrong by one: a step without a click takes K + 1 observations."""

    def batch(self, survivors):
        return min(self.K + 1, survivors)


@dataclass(frozen=True)
class LaterRadius(CascadeRule):
    """Wrong count: the radius of a tenth more observations."""

    def radius(self, T):
        return super().radius(1.1 * np.asarray(T))


def twin(kind):
    return lambda rule, outcomes, cap: skip_ahead(kind(**vars_of(rule)), outcomes, cap)


def vars_of(rule):
    return {name: getattr(rule, name) for name in ("L", "K", "delta", "epsilon", "sigma")}


@cache
def expected(instance):
    return sample(reference, instance, 1)


@pytest.mark.parametrize("instance", mostly_slow(INSTANCES, ["low"]))
def test_same_law(instance):
    found = p_values(expected(instance), sample(skip_ahead, instance, 2))
    assert (found > THRESHOLD).all(), dict(zip(STATISTICS, found, strict=True))


@pytest.mark.parametrize("instance", mostly_slow(INSTANCES, ["low"]))
def test_wrong_radius_is_caught(instance):
    assert p_values(expected(instance), sample(twin(LaterRadius), instance, 2)).min() < THRESHOLD


def test_wrong_cut_is_caught():
    assert p_values(expected("low"), sample(twin(LongerList), "low", 2))[0] < THRESHOLD


@pytest.mark.slow
def test_no_more_errors_than_delta():
    """One-sided binomial test on an instance with tight gaps, at the risk that was asked for."""
    weights = np.array([0.6, 0.5, 0.45, 0.4, 0.3])
    rule = CascadeRule(5, 2, 0.1)
    outcomes = [RandomOutcomes(weights, np.random.default_rng([3, trial])) for trial in range(300)]
    wrong = sum(sorted(run.recommendation) != [0, 1] for run in skip_ahead(rule, outcomes, None))
    assert stats.binomtest(wrong, 300, 0.1, alternative="greater").pvalue > 0.001


def test_too_small_a_radius_makes_more_errors_than_delta():
    weights = np.array([0.6, 0.5, 0.45, 0.4, 0.3])
    rule = replace(CascadeRule(5, 2, 0.1), sigma=0.05)
    outcomes = [RandomOutcomes(weights, np.random.default_rng([3, trial])) for trial in range(300)]
    wrong = sum(sorted(run.recommendation) != [0, 1] for run in skip_ahead(rule, outcomes, None))
    assert stats.binomtest(wrong, 300, 0.1, alternative="greater").pvalue < 0.001
