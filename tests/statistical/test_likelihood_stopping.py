"""Stopping by likelihood ratios errs seldom enough, whatever is shown: tight instances, looked at after each round."""

import numpy as np
import pytest
from scipy import stats

from cascadebai_cli.learners.glr import threshold
from cascadebai_cli.model.divergence import evidence

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
    failures = wrong_stops(L, K, weight, 0.3, threshold, shares)
    assert stats.binomtest(failures, TRIALS, 0.3, alternative="greater").pvalue > 1e-3


def test_a_threshold_without_the_mixtures_is_noticed():
    """The test can fail: `ln(pairs / delta)` looked at once is fine, looked at 400 times it is not."""

    def too_low(T_a, T_b, pairs, delta):
        return np.broadcast_to(np.log(pairs / delta), np.broadcast_shapes(T_a.shape, T_b.shape))

    failures = wrong_stops(2, 1, 0.5, 0.3, too_low)
    assert stats.binomtest(failures, TRIALS, 0.3, alternative="greater").pvalue < 1e-3
