"""A table of rewards has the law of independent rewards until its rows are used again, and not after that.

Seeds are fixed. The threshold is shared among the comparisons: were the laws equal and the seeds drawn afresh, one of
them would fail with probability at most 1 in 1,000. A table that is used again is the wrong twin: it must fail.
"""

import numpy as np
import pytest
from cases import mostly_slow
from scipy import stats

from cascadebai_cli.engines.outcomes import RandomOutcomes
from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.engines.walk import RandomTable, TableShape, run_walk
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.model.problem import CASCADING

CASES = {
    "low": ([0.3] * 3 + [0.05] * 9, 3),
    "high": ([0.95] * 3 + [0.6] * 7, 3),
    "mixture": (np.linspace(0.95, 0.05, 8), 3),
}
SIGMA, TRIALS, CAP = 0.1, 150, 3000
SHAPES = {"never used up": TableShape(CAP), "drawn anew": TableShape(40, reuse=False)}
STATISTICS = 3
THRESHOLD = 0.001 / (len(CASES) * len(SHAPES) * STATISTICS)


def learner(case):
    weights, K = CASES[case]
    return CascadeBAI(len(weights), K, 0.1, sigma=SIGMA), np.asarray(weights, dtype=float)


def statistics(runs):
    return np.array([(run.steps, run.observations, max(run.counts)) for run in runs])


def with_independent_rewards(case):
    made = [(*learner(case), np.random.default_rng([1, trial])) for trial in range(TRIALS)]
    return statistics([run_reference(one, RandomOutcomes(w, rng), CASCADING, CAP) for one, w, rng in made])


def with_table(case, shape):
    made = [(*learner(case), np.random.default_rng([2, trial])) for trial in range(TRIALS)]
    return statistics([run_walk(one.rule, RandomTable(w, rng, shape), CAP) for one, w, rng in made])


def p_values(one, other):
    return np.array([stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(one.T, other.T, strict=True)])


@pytest.fixture(scope="module", params=mostly_slow(CASES, ["low"]))
def independent(request):
    return request.param, with_independent_rewards(request.param)


@pytest.mark.parametrize("name", mostly_slow(SHAPES, ["drawn anew"]))
def test_same_law(independent, name):
    case, expected = independent
    assert (p_values(expected, with_table(case, SHAPES[name])) > THRESHOLD).all()


def test_a_table_that_is_used_again_has_another_law(independent):
    case, expected = independent
    assert (p_values(expected, with_table(case, TableShape(40))) < THRESHOLD).any()
