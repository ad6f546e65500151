"""Stopping by likelihood ratios errs seldom enough, whatever is shown: tight instances, looked at after each round."""

from functools import partial, reduce

import numpy as np
import pytest
from cases import mostly_slow
from scipy import stats

from cascadebai_cli.engines.simulate import Trial, simulate_block
from cascadebai_cli.learners import bounds, track_and_stop
from cascadebai_cli.learners.bounds import pair_threshold, pairs_apart
from cascadebai_cli.model.problem import evidence

TRIALS, ROUNDS = 2000, 400


def wrong_stops(L, K, weight, delta, level, shares=None, seed=3):
    """Trials in which, of equal items, some `K` are told apart from the others: the limit of ever tighter instances.

    Any answer is counted as wrong, though one of them may be right. `shares` observes some items less often.
    """
    rng = np.random.default_rng(seed)
    often = np.ones(L, int) if shares is None else np.array(shares)
    T, S, stopped = np.zeros(L, int), np.zeros((TRIALS, L), int), np.zeros(TRIALS, bool)
    for _ in range(ROUNDS):
        T = T + often
        S += rng.binomial(often, weight, (TRIALS, L))
        mean = S / T
        order = np.argsort(-mean, axis=1, kind="stable")
        ranked, counts = np.take_along_axis(mean, order, 1), T[order]
        a, b = (slice(None), slice(0, K), None), (slice(None), None, slice(K, None))
        Z, _ = evidence(counts[a].astype(float), ranked[a], counts[b].astype(float), ranked[b])
        stopped |= (level(counts[a], counts[b], K * (L - K), delta) < Z).all(axis=(1, 2))
    return int(stopped.sum())


TIGHT = [(2, 1, 0.5, None), (2, 1, 0.05, None), (5, 2, 0.3, None), (4, 1, 0.1, [4, 1, 1, 4])]


@pytest.mark.parametrize(("L", "K", "weight", "shares"), TIGHT)
def test_errs_at_most_delta(L, K, weight, shares):
    failures = wrong_stops(L, K, weight, 0.3, pair_threshold, shares)
    assert stats.binomtest(failures, TRIALS, 0.3, alternative="greater").pvalue > 1e-3


def wrong_by_one_martingale(L, K, weight, delta, trials=150, seed=3):
    """The same for `mixture`, looked at when the counts have grown by an eighth."""
    rng = np.random.default_rng(seed)
    times = np.unique((1.125 ** np.arange(55)).astype(int))
    looks = rng.binomial(np.diff(times, prepend=0)[None, :, None], weight, (trials, len(times), L)).cumsum(axis=1)
    asked = partial(bounds.all_refuted, K=K, delta=delta)
    return sum(any(asked(np.full(L, t), S) for t, S in zip(times, trial, strict=True)) for trial in looks)


@pytest.mark.parametrize(("L", "K", "weight"), mostly_slow([(2, 1, 0.5), (2, 1, 0.05), (5, 2, 0.3)], [(2, 1, 0.5)]))
def test_one_martingale_errs_at_most_delta(L, K, weight):
    failures = wrong_by_one_martingale(L, K, weight, 0.3)
    assert stats.binomtest(failures, 150, 0.3, alternative="greater").pvalue > 1e-3


def test_the_best_shift_in_place_of_a_mixture_is_noticed(monkeypatch):
    monkeypatch.setattr(bounds, "_OF_SHIFTS", np.ones(20))
    monkeypatch.setattr(bounds, "reduce", lambda _, terms: reduce(np.maximum, terms))
    failures = wrong_by_one_martingale(2, 1, 0.5, 0.3)
    assert stats.binomtest(failures, 150, 0.3, alternative="greater").pvalue < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("stopping", ["glr", "mixture"])
@pytest.mark.parametrize(("weights", "K"), [((0.5, 0.4), 1), ((0.97, 0.9, 0.8), 2), ((0.25, 0.2, 0.15), 1)])
def test_track_and_stop_errs_at_most_delta(weights, K, stopping, monkeypatch):
    """With mixtures that are made anew less often, which is quicker and changes no promise."""
    monkeypatch.setattr(track_and_stop, "_RENEWAL", 8)
    trials = [Trial(np.array(weights), np.random.default_rng([17, trial])) for trial in range(500)]
    runs = simulate_block(partial(track_and_stop.TrackAndStop, len(weights), K, 0.1, stopping=stopping), trials)
    failures = sum(sorted(run.recommendation) != list(range(K)) for run in runs)
    assert stats.binomtest(failures, len(runs), 0.1, alternative="greater").pvalue > 1e-3


def test_a_threshold_without_the_mixtures_is_noticed():
    """The test can fail: `ln(pairs / delta)` looked at once is fine, looked at 400 times it is not."""

    def too_low(T_a, T_b, pairs, delta):
        return np.broadcast_to(np.log(pairs / delta), np.broadcast_shapes(T_a.shape, T_b.shape))

    failures = wrong_stops(2, 1, 0.5, 0.3, too_low)
    assert stats.binomtest(failures, TRIALS, 0.3, alternative="greater").pvalue < 1e-3


ITEMS, WEIGHT, FIRST, LAST, HUNTS = 3000, 0.2, 40, 1000, 100


def wrong_hunts(pairs, delta, seed=5):
    """Trials in which a hunt for luck ends, of items that are all alike but for the first, which is hardly better.

    Each of the others gets `FIRST` looks, until at some time the mean of one is so high that it would be told apart
    from items of `LAST` looks whose means are somewhat too high; there its looks end, all others get `LAST`, and the
    run stops if all are told apart. So as many items as there are have one chance each, and the answer is wrong.
    """
    rng = np.random.default_rng(seed)
    t = np.arange(1.0, FIRST + 1)
    high = WEIGHT + 3 * np.sqrt(WEIGHT * (1 - WEIGHT) / LAST)
    wrong = 0
    for _ in range(HUNTS):
        clicks = (rng.random((ITEMS, FIRST)) < WEIGHT).cumsum(axis=1)
        lucky = (clicks > high * t) & pairs_apart(t, clicks / t, np.float64(LAST), high, pairs, delta)
        lucky[0] = False
        if lucky.any():
            item = int(lucky.any(axis=1).argmax())
            time = int(lucky[item].argmax())
            rest = np.delete(clicks[:, -1], item) + rng.binomial(LAST - FIRST, WEIGHT, ITEMS - 1)
            mean = clicks[item, time] / t[time]
            apart = pairs_apart(t[time], mean, np.float64(LAST), rest / LAST, pairs, delta)
            wrong += bool((apart & (rest / LAST < mean)).all())
    return wrong


def test_a_threshold_without_the_pairs_is_noticed():
    """Whatever is shown: a sampler that hunts for luck among many items errs too often if these are not paid for."""
    delta = 0.3
    assert stats.binomtest(wrong_hunts(1, delta), HUNTS, delta, alternative="greater").pvalue < 1e-3
    assert stats.binomtest(wrong_hunts(ITEMS - 1, delta), HUNTS, delta, alternative="greater").pvalue > 1e-3


def wrong_hunts_of_one_martingale(delta, seed=5):
    """The same hunt against `mixture`: the looks of an item end once it seems very unlikely to be no better."""
    rng = np.random.default_rng(seed)
    high, wrong = WEIGHT + 3 * np.sqrt(WEIGHT * (1 - WEIGHT) / LAST), 0
    t = np.tile(np.arange(1, FIRST + 1), ITEMS)
    for _ in range(HUNTS):
        clicks = (rng.random((ITEMS, FIRST)) < WEIGHT).cumsum(axis=1)
        up = bounds.log_terms(t, clicks.ravel(), np.ones(len(t), bool), np.array([high])).reshape(clicks.shape)
        up[0] = -np.inf
        item, time = np.unravel_index(up.argmax(), up.shape)
        T, S = np.full(ITEMS, LAST), clicks[:, -1] + rng.binomial(LAST - FIRST, WEIGHT, ITEMS)
        T[item], S[item] = time + 1, clicks[item, time]
        wrong += S[item] / T[item] > np.delete(S / T, item).max() and bounds.all_refuted(T, S, 1, delta)
    return int(wrong)


@pytest.mark.slow
def test_one_martingale_pays_for_all_items(monkeypatch):
    """A martingale that gives each rank all of its share in place of a part errs too often."""
    delta = 0.3
    assert stats.binomtest(wrong_hunts_of_one_martingale(delta), HUNTS, delta, alternative="greater").pvalue > 1e-3
    monkeypatch.setattr(bounds, "ranks", np.ones)
    assert stats.binomtest(wrong_hunts_of_one_martingale(delta), HUNTS, delta, alternative="greater").pvalue < 1e-3
