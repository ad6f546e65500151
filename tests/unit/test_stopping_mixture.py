"""`stopping: mixture`: each step of its proof by numbers, and its stop by the judge's martingale."""

import itertools
import math
from functools import partial

import mixture_judge as judge
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from cascadebai_cli.engines.simulate import Trial, simulate_block
from cascadebai_cli.learners.bounds import all_refuted, best_means, least, log_sides, log_terms, told_apart
from cascadebai_cli.learners.track_and_stop import TrackAndStop
from experiments.stopping import stops_of


@st.composite
def states(draw, most=200, items=5):
    L = draw(st.integers(2, items))
    T = draw(st.lists(st.integers(0, most), min_size=L, max_size=L))
    S = [draw(st.integers(0, t)) for t in T]
    return np.array(T), np.array(S), draw(st.integers(1, L - 1))


def best_of_counts(T, S, K):
    return best_means(S / np.maximum(T, 1), K)


def certified(T, S, K, places):
    """What the program is certain of with these places from 0 to 1, and the least at the places themselves."""
    inside = best_of_counts(T, S, K)
    terms = log_terms(T, S, inside, np.array(places))
    return (least(*log_sides(terms[inside, 1:], terms[~inside, :-1])), least(*log_sides(terms[inside], terms[~inside])))


def hunting(T, S):
    """A sampler that depends on the past as much as it can: the largest mean first, one in three the smallest."""
    means = [(s + 1) / (t + 1) for t, s in zip(T, S, strict=True)]
    return means.index(max(means)) if sum(T) % 3 else means.index(min(means))


@pytest.mark.parametrize(
    ("w", "K"),
    [([0.5, 0.5], 1), ([0.9, 0.3, 0.3], 1), ([0.2, 0.6, 0.1, 0.6], 2), ([1.0, 0.7, 0.0, 0.05], 3), ([0.02] * 5, 2)],
)
def test_is_a_martingale_of_mean_1(w, K):
    """Steps 1 and 2: its mean over all outcomes of eight looks, wherever these depend on the past."""
    mean = 0.0
    for outcomes in itertools.product((0, 1), repeat=8):
        T, S, chance = [0] * len(w), [0] * len(w), 1.0
        for outcome in outcomes:
            item = hunting(T, S)
            chance *= w[item] if outcome else 1 - w[item]
            T[item] += 1
            S[item] += outcome
        mean += chance * judge.martingale(T, S, w, K) if chance else 0.0
    assert mean == pytest.approx(1, rel=1e-12)


@settings(max_examples=200, deadline=None)
@given(states(), st.data())
def test_every_wrong_answer_has_at_least_what_is_certified(state, data):
    """Steps 3 to 5, for any weights, ties among them, and any cells."""
    T, S, K = state
    weight = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.sampled_from(list(S / (T + 1))))
    w = data.draw(st.lists(weight, min_size=len(T), max_size=len(T)))
    places = sorted({0.0, 1.0, *data.draw(st.lists(st.floats(0, 1), max_size=6))})
    cells, at_places = certified(T, S, K, places)
    assert cells <= at_places + 1e-9
    if set(judge.best(w, K)) != set(np.flatnonzero(best_of_counts(T, S, K)).tolist()):
        assert math.log(judge.martingale(T, S, w, K)) >= cells - 1e-9


@settings(max_examples=60, deadline=None)
@given(states(most=60, items=8), st.lists(st.floats(0, 1), max_size=12))
def test_places_have_what_the_judge_finds(state, others):
    T, S, K = state
    places = sorted({0.0, 1.0, *others})
    assert certified(T, S, K, places)[1] == pytest.approx(math.log(judge.least(T, S, K, places)), abs=1e-9)


def test_the_other_ends_of_cells_would_be_noticed():
    T, S, K, places = np.array([30, 30]), np.array([24, 6]), 1, np.array([0, 0.3, 0.7, 1])
    terms, inside = log_terms(T, S, np.array([True, False]), places), np.array([True, False])
    wrong_ends = least(*log_sides(terms[inside, :-1], terms[~inside, 1:]))
    assert wrong_ends > certified(T, S, K, np.linspace(0, 1, 201))[1] > certified(T, S, K, places)[0]


def least_of_wrong_answers(T, S, K):
    """The least `ln M` that a search finds among the weights for which the answer is wrong."""
    J = set(np.flatnonzero(best_of_counts(T, S, K)).tolist())

    def of(w):
        w = np.clip(w, 0, 1)
        return 1e3 if set(judge.best(w, K)) == J else math.log(judge.martingale(T, S, w, K))

    pooled = S.sum() / T.sum()
    starts = [w for w in itertools.product((0.1, 0.3, pooled, 0.6, 0.9), repeat=len(T)) if of(w) < 1e3]
    promising = sorted(starts, key=of)[:5]
    return min(minimize(of, w, method="Nelder-Mead", options={"maxiter": 300}).fun for w in promising)


@pytest.mark.parametrize(
    ("T", "S", "K"), [([30, 30], [24, 6], 1), ([60, 25, 40], [40, 10, 12], 1), ([50, 50, 80], [40, 35, 20], 2)]
)
def test_what_is_certified_is_near_the_least_of_all_wrong_answers(T, S, K):
    """It is a lower bound, and no idle one: what is left out, terms and ranks, costs little."""
    cells, at_places = certified(np.array(T), np.array(S), K, np.linspace(0, 1, 2001))
    assert at_places - 0.05 < cells <= at_places
    assert cells <= least_of_wrong_answers(np.array(T), np.array(S), K) <= cells + 1.2


def states_near_the_stop(seed, L):
    """Counts that grow by a fifth until the rule has stopped for long."""
    rng = np.random.default_rng(seed)
    w = rng.uniform(0, 1, L)
    T, S = np.zeros(L, int), np.zeros(L, int)
    for _ in range(40):
        more = np.maximum(1, (T * rng.uniform(0, 0.4, L)).astype(int))
        T, S = T + more, S + rng.binomial(more, w)
        yield T, S


@pytest.mark.parametrize(("seed", "L", "K"), [(1, 2, 1), (2, 5, 2), (3, 6, 1), (4, 6, 5)])
def test_stops_when_the_judge_may_stop(seed, L, K):
    found = [(all_refuted(T, S, K, 0.1), judge.may_stop(T, S, K, 0.1)) for T, S in states_near_the_stop(seed, L)]
    assert {stops for stops, _ in found} == {True, False}
    assert all(one == other for one, other in found)


def test_needs_less_than_all_pairs_at_usual_risks():
    both = [
        (all_refuted(T, S, 2, 0.1), told_apart(T, S, 2, 0.1))
        for seed in range(20, 40)
        for T, S in states_near_the_stop(seed, 8)
    ]
    sooner, later = sum(a and not b for a, b in both), sum(b and not a for a, b in both)
    assert sooner > 3 * later


@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_the_experiment_finds_the_stops_of_the_learners(delta):
    w = np.array([0.8, 0.6, 0.3, 0.1])
    stops = stops_of(w, 2, (0.01, 0.1), np.random.default_rng(6))
    for rule, stopping in enumerate(("glr", "mixture")):
        made = partial(TrackAndStop, 4, 2, delta, stopping=stopping)
        (run,) = simulate_block(made, [Trial(w, np.random.default_rng(6))])
        assert stops[rule, delta] == (run.steps, run.recommendation)


def test_refutes_nothing_without_looks():
    assert not all_refuted(np.zeros(4, int), np.zeros(4, int), 2, 0.9)
    assert not all_refuted(np.array([9, 9, 9, 0]), np.array([9, 9, 0, 0]), 2, 0.1)


@pytest.mark.parametrize("scale", [10**3, 10**6, 10**9])
def test_tells_apart_however_near_the_weights_are(scale):
    """The smallest shifts are small enough."""
    gap = 20 / math.sqrt(scale)
    T = np.full(3, scale)
    assert all_refuted(T, (T * [0.5 + gap / 2, 0.5 - gap / 2, 0.1]).astype(int), 1, 0.01)
    assert not all_refuted(T, (T * [0.5 + gap / 20, 0.5 - gap / 20, 0.1]).astype(int), 1, 0.01)
