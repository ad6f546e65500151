"""Sources of outcomes: right rates for every way of drawing, and nothing read twice."""

import numpy as np
import pytest
from given import TableOutcomes
from scipy import stats

from cascadebai_cli.engines.outcomes import RandomOutcomes


def bits_of(outcomes, items, start, rounds):
    """Clicks, shape `(rounds, len(items))`."""
    keys, clicks = outcomes.stretch(np.asarray(items), start, rounds, 3)
    assert (np.diff(keys) > 0).all()
    bits = np.full((rounds, 8), not clicks)
    bits[keys >> 3, keys & 7] = clicks
    return bits[:, items].astype(int)


RATES = {
    "sparse, equal": [0.01] * 6,
    "sparse, several octaves": [0.08, 0.03, 0.02, 0.011, 0.002, 0.0],
    "sparse skips": [0.99, 0.97, 0.999, 1.0, 0.98, 0.985],
    "sparse, but for one": [0.4, 0.001, 0.002, 0.01, 0.0, 0.02],
    "sparse, but for one that is nearly certain": [0.98, 1e-3, 1e-3, 1e-3, 0.0, 1e-3],
    "dense": [0.5, 0.2, 0.35, 0.0, 1.0, 0.13],
    "dense skips": [0.9, 0.6, 0.75, 1.0, 0.99, 0.5],
    "below the 16 bits of the dense draw": [0.3, 0.3, 0.3, 1e-5, 2e-5, 0.2],
}


@pytest.mark.parametrize("case", RATES)
def test_clicks_have_the_right_rate_and_spread(case):
    w, rounds = np.array(RATES[case]), 50_000
    bits = bits_of(RandomOutcomes(w, np.random.default_rng(7)), np.arange(6), 0, rounds)
    groups = bits.reshape(50, 1000, 6).sum(axis=1)
    for column, rate in enumerate(w):
        clicks = groups[:, column]
        if rate in (0.0, 1.0):
            assert set(clicks) == {int(1000 * rate)}
            continue
        assert stats.binomtest(int(clicks.sum()), rounds, rate).pvalue > 1e-4
        if 1000 * rate * (1 - rate) < 1:
            continue  # too few for the chi-square approximation of the index of dispersion
        dispersion = clicks.var(ddof=1) / (1000 * rate * (1 - rate)) * 49
        assert 1e-4 < stats.chi2.cdf(dispersion, 49) < 1 - 1e-4


@pytest.mark.parametrize("case", RATES)
def test_neighbours_are_independent(case):
    w, rounds = np.array(RATES[case]), 40_000
    bits = bits_of(RandomOutcomes(w, np.random.default_rng(8)), np.arange(6), 0, rounds)
    next_item, next_round = bits[:, 0] * bits[:, 1], bits[:-1, 0] * bits[1:, 0]
    assert stats.binomtest(int(next_item.sum()), rounds, w[0] * w[1]).pvalue > 1e-4
    assert stats.binomtest(int(next_round.sum()), rounds - 1, w[0] ** 2).pvalue > 1e-4


def test_sixteen_bits_do_not_round_the_rate():
    rate = np.array([2.5 / 65536] * 64)
    drawn = RandomOutcomes(rate, np.random.default_rng(9))._dense(rate, 60_000)
    assert stats.binomtest(int(drawn.sum()), drawn.size, rate[0]).pvalue > 1e-4


class Tied:
    """Every first draw is the prefix 16384 of the rate."""

    def integers(self, *_, size, dtype):
        return np.full(size, 16384, dtype)

    def random(self, n):
        return np.linspace(0, 1, n, endpoint=False)


def test_a_draw_that_equals_the_prefix_of_the_rate_is_settled_by_another():
    rate = np.array([16384.25, 16384.75]) / 65536
    rare = RandomOutcomes(rate, Tied())._dense(rate, 50)
    assert rare.mean(axis=0).tolist() == [0.26, 0.74]


def test_table_is_read_once_and_in_order():
    table = np.array([[1, 0, 1], [0, 0, 1]])
    outcomes = TableOutcomes(table)
    assert [outcomes.next(0), outcomes.next(1), outcomes.next(0), outcomes.next(0)] == [1, 0, 0, 1]
    with pytest.raises(IndexError):
        outcomes.next(0)
    assert bits_of(outcomes, [0, 1], 1, 4).tolist() == [[0, 0], [1, 1], [0, 0], [0, 0]]
