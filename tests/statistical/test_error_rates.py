"""No learner errs more often than delta: one-sided binomial tests on small instances with tight gaps.

The promises are met with much to spare, as bounds for all times and items at once are wide; that a test like this one
can fail is shown by twins whose bounds are too narrow.
"""

from functools import partial

import numpy as np
import pytest
from cases import mostly_slow
from scipy import stats

from cascadebai_cli.engines.simulate import Trial, simulate_block
from cascadebai_cli.learners.cascadebai import BatRac, CascadeBAI, KLCascadeRule
from cascadebai_cli.learners.kl_lucb import KLLucb, LucbRule
from cascadebai_cli.learners.protocol import RacingLearner, RacingRule
from cascadebai_cli.model.problem import Instance

TRIALS = 2000
DELTA = 0.3
INSTANCES = {
    "low": Instance(np.array([0.25, 0.2, 0.15, 0.05]), 2),
    "high": Instance(np.array([0.97, 0.9, 0.8, 0.8]), 1),
    "middle, with a tolerance": Instance(np.array([0.6, 0.56, 0.55, 0.4, 0.4]), 2, 0.05),
}
LEARNERS = {
    "CascadeBAI": CascadeBAI,
    "CascadeBAI, KL bounds": partial(CascadeBAI, confidence="kl"),
    "BatRac": BatRac,
    "KL-LUCB++": KLLucb,
}
CASES = [(learner, name) for learner in LEARNERS for name in INSTANCES if learner != "BatRac" or "," not in name]
LEVEL = 1e-3 / len(CASES)
"""Were all promises just met, one of the tests would fail with probability at most 1 in 1,000."""


def wrong(make, instance, trials=TRIALS):
    """Trials that ended with another set; where a learner may run on for ever, at the cap, with what it has then."""
    learner = partial(make, instance.L, instance.K, DELTA, instance.epsilon)
    made = [Trial(instance.weights, np.random.default_rng([11, trial])) for trial in range(trials)]
    runs = simulate_block(learner, made, max_steps=10**6)
    return sum(not instance.is_correct(run.recommendation) for run in runs)


def too_many(errors, trials=TRIALS):
    return stats.binomtest(errors, trials, DELTA, alternative="greater").pvalue


@pytest.mark.parametrize(("learner", "name"), mostly_slow(CASES, [("KL-LUCB++", "high")]))
def test_errs_no_more_often_than_delta(learner, name):
    assert too_many(wrong(LEARNERS[learner], INSTANCES[name])) > LEVEL


class Narrow:
    """Wrong: bounds of 10 times as many observations."""

    def lower(self, mean, T):
        return super().lower(mean, 10 * np.asarray(T))

    def upper(self, mean, T):
        return super().upper(mean, 10 * np.asarray(T))


class NarrowRacing(Narrow, KLCascadeRule):
    above, below = RacingRule.above, RacingRule.below


class NarrowLucb(Narrow, LucbRule):
    pass


def narrow_lucb(*arguments):
    learner = KLLucb(*arguments)
    learner.rule = NarrowLucb(*arguments)
    return learner


TWINS = {
    "CascadeBAI": partial(CascadeBAI, sigma=0.02),
    "CascadeBAI, KL bounds": lambda *arguments: RacingLearner(NarrowRacing(*arguments)),
    "KL-LUCB++": narrow_lucb,
}


@pytest.mark.parametrize("learner", mostly_slow(TWINS, ["CascadeBAI"]))
def test_too_narrow_bounds_are_caught(learner):
    assert too_many(wrong(TWINS[learner], INSTANCES["low"], 300), 300) < LEVEL
