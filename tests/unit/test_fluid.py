"""Steps over `ln(1 / delta)` as delta becomes small: closed forms against brute force and against simulation."""

from itertools import permutations
from math import log

import numpy as np
import pytest

from cascadebai_cli.engines.simulate import Trial, simulate_block
from cascadebai_cli.learners.cascadebai import CascadeRule
from cascadebai_cli.learners.protocol import RacingLearner
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.problem import CASCADING, FEEDBACKS, Instance, divergence
from cascadebai_cli.theory.fluid import race
from cascadebai_cli.theory.sharp import sharp_bound


def steps_of_a_round(w, b):
    """From the stationary law of the place at which a step begins, by following every step to its end."""
    d = len(w)
    ends, looks = np.zeros((d, d)), np.zeros(d)
    for first in range(d):
        reached = 1.0
        for j in range(b):
            looks[first] += reached
            stops = w[(first + j) % d] if j < b - 1 else 1
            ends[first, (first + j + 1) % d] += reached * stops
            reached *= 1 - w[(first + j) % d]
    law = np.linalg.lstsq(np.vstack([ends.T - np.eye(d), np.ones(d)]), np.append(np.zeros(d), 1), rcond=None)[0]
    return d / (law @ looks)


def apart_at_once(high, low):
    """All items leave together, after one observation of each."""
    return np.ones(np.broadcast_shapes(np.shape(high), np.shape(low)))


@pytest.mark.parametrize(
    ("w", "b"),
    [
        *(([0.9, 0.6, 0.35, 0.2, 0.05], b) for b in range(1, 6)),
        *(([0.9, 0.6, 0.6, 0.35, 0.2, 0.0], b) for b in (2, 3, 4)),
        ([1.0, 0.4, 0.3, 0.0], 3),
        ([1e-9, 5e-10, 0.0], 2),
    ],
)
def test_steps_of_a_round_are_the_mean_over_all_orders(w, b):
    each = [steps_of_a_round(np.array(order), b) for order in permutations(w)]
    assert race(Instance(w, 1), apart_at_once, lambda d: min(b, d)) == pytest.approx(np.mean(each), rel=1e-9)
    observed = race(Instance(w, 1), apart_at_once, lambda d: min(b, d), observes_all=True)
    assert observed == pytest.approx(len(w) / b)


def test_kl_bounds_part_where_both_divergences_are_equal():
    rule = LearnerSpec("cascadebai", {"confidence": "kl"}).build(4, 2, 0.1, 0).rule
    assert rule.parting(np.array([0.7]), np.array([0.3])) == pytest.approx(1 / divergence(0.7, 0.5))
    assert rule.parting(np.array([1.0]), np.array([0.0])) == pytest.approx(1 / log(2))
    close = rule.parting(np.array([0.5 + 1e-9]), np.array([0.5]))
    assert close == pytest.approx(8 / ((0.5 + 1e-9) - 0.5) ** 2 / 4, rel=1e-6)


class Narrower(CascadeRule):
    def radius(self, T):
        return super().radius(T) / 2


def test_the_limit_of_a_rule_with_another_radius_is_not_known():
    problem = Instance([0.9, 0.7, 0.3, 0.1], 2)
    known, unknown = (RacingLearner(rule(4, 2, 0.1)).limit(problem, CASCADING) for rule in (CascadeRule, Narrower))
    assert known > 0
    assert np.isnan(unknown)


GRADED = Instance([0.9, 0.8, 0.5, 0.4, 0.3, 0.1], 2)
LEARNERS = {
    "radius": ("cascadebai", {}),
    "printed": ("cascadebai", {"sigma": 1.0}),
    "longer lists": ("cascadebai", {"list_length": 3}),
    "kl": ("cascadebai", {"confidence": "kl"}),
    "batches": ("batrac", {"b": 2}),
}


@pytest.mark.parametrize("feedback", [name for name, each in FEEDBACKS.items() if each.has_theory])
@pytest.mark.parametrize("name", LEARNERS)
def test_steps_of_races_come_to_their_limit(name, feedback):
    """At 1e-300 the threshold and the noise of the means are worth less than a tenth, and more at 1e-30."""
    spec, model = LearnerSpec(*LEARNERS[name]), FEEDBACKS[feedback]
    limit = spec.build(6, 2, 0.1, 0).limit(GRADED, model)
    near, nearer = (mean_steps(spec, delta, model) / log(1 / delta) / limit for delta in (1e-30, 1e-300))
    assert 1 < nearer < 1.1
    assert nearer < near


def mean_steps(spec, delta, feedback):
    draws = [np.random.default_rng([5, trial]) for trial in range(60)]
    trials = [Trial(rng.permutation(GRADED.weights), rng) for rng in draws]
    runs = simulate_block(lambda: spec.build(6, 2, delta, 0), trials, feedback=feedback)
    return np.mean([run.steps for run in runs])


def test_the_limit_of_track_and_stop_is_the_sharp_bound():
    """Within 1.1 %, and measured with known means, so that the same test with simulated ones has to allow for more."""
    learner = LearnerSpec("track-and-stop").build(4, 2, 0.1, 0)
    instance = Instance([0.95, 0.5, 0.49, 0.1], 2)
    assert 1 <= learner.limit(instance, CASCADING) * evidence_of_a_step(instance) < 1.011


def evidence_of_a_step(instance):
    return 1 / sharp_bound(instance).characteristic_steps


def test_without_a_cyclic_sweep_no_limit_is_known():
    assert np.isnan(LearnerSpec("cascadebai", {"order": "-mean"}).build(6, 2, 0.1, 0).limit(GRADED, CASCADING))
