"""Same law: with its own randomness lockstep agrees with the reference in distribution, and wrong twins do not.

Seeds are fixed. The threshold is shared among all comparisons: were both engines right and the seeds drawn afresh, one
of them would fail with probability at most 1 in 1,000. A twin must fail at the same threshold.
"""

import numpy as np
import pytest
from cases import mostly_slow
from scipy import stats

from cascadebai_cli.engines.jobs import Job, in_order
from cascadebai_cli.engines.lockstep import run_lockstep
from cascadebai_cli.engines.outcomes import RandomOutcomes, RandomStack
from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.learners.cascadebai import CascadeBAI, CascadeRule
from cascadebai_cli.learners.protocol import DisplayOrder
from cascadebai_cli.model.problem import CASCADING

CASES = {
    "mean, low": ("mean", [0.3] * 3 + [0.05] * 9, 3, 0.1),
    "-U, high": ("-U", [0.97] * 3 + [0.6] * 7, 3, 0.1),
    "L, mixture": ("L", np.linspace(0.95, 0.05, 8), 3, 0.12),
    "U, some capped": ("U", [0.95] * 4 + [0.3] * 8, 4, 0.2),
}
STATISTICS = ("steps", "observations", "first accepted", "smallest count", "largest count")
THRESHOLD = 0.001 / (len(CASES) * len(STATISTICS))
TRIALS, CAP = 200, 500


def learner(case):
    order, weights, K, sigma = CASES[case]
    return CascadeBAI(len(weights), K, 0.1, sigma=sigma, order=order), np.asarray(weights, dtype=float)


def by_reference(case, seed):
    runs = []
    for trial in range(TRIALS):
        made, weights = learner(case)
        outcomes = RandomOutcomes(weights, np.random.default_rng([seed, trial]))
        runs.append(run_reference(made, outcomes, CASCADING, CAP))
    return statistics(runs)


def by_lockstep(case, seed, twin=lambda made: made):
    jobs = []
    for trial in range(TRIALS):
        made, weights = learner(case)
        jobs.append(Job(twin(made), RandomStack(weights, np.random.default_rng([seed, trial])), CASCADING, CAP))
    return statistics(in_order(run_lockstep(jobs)))


def statistics(runs):
    """Statistics of the runs, shape `(TRIALS, 5)`."""
    return np.array([(r.steps, r.observations, [*r.accepted, -1][0], min(r.counts), max(r.counts)) for r in runs])


def p_values(one, other):
    return np.array([stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(one.T, other.T, strict=True)])


@pytest.fixture(scope="module", params=mostly_slow(CASES, ["-U, high"]))
def judged(request):
    return request.param, by_reference(request.param, 1)


def test_same_law(judged):
    case, expected = judged
    found = p_values(expected, by_lockstep(case, 2))
    assert (found > THRESHOLD).all(), dict(zip(STATISTICS, found, strict=True))


def test_wrong_radius_is_caught(judged):
    case, expected = judged
    assert p_values(expected, by_lockstep(case, 2, later_radius)).min() < THRESHOLD


def later_radius(made):
    """Wrong count: the radius of six observations more."""
    rule = made.rule
    made.rule = LaterRadius(rule.L, rule.K, rule.delta, rule.epsilon, rule.sigma)
    return made


class LaterRadius(CascadeRule):
    def radius(self, T):
        return super().radius(np.asarray(T) + 6)


@pytest.mark.parametrize(
    "judged", mostly_slow([case for case in CASES if "low" not in case], ["-U, high"]), indirect=True
)
def test_wrong_display_order_is_caught(judged):
    """Wrong by a sign."""
    case, expected = judged
    assert p_values(expected, by_lockstep(case, 2, other_way_round)).min() < THRESHOLD


def other_way_round(made):
    made.display = DisplayOrder(-made.display.sign, made.display.width)
    return made
