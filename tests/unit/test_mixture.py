"""Laws of click probabilities that a log leaves possible."""

from itertools import islice

import numpy as np
import pytest

from cascadebai_cli.planning.rates import RateLaw, laws


def log(w, seed=1):
    rng = np.random.default_rng(seed)
    views = np.floor(10 ** rng.uniform(3, 6, len(w)))
    return rng.binomial(views.astype(int), w).astype(float), views


def gaps(w, K, seed=1):
    """Between the K-th and the next, in draws."""
    drawn = np.sort(RateLaw.of(*log(np.array(w), seed), draws=200, seed=seed).draw(np.random.default_rng(seed)), axis=1)
    return drawn[:, -K] - drawn[:, -K - 1]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_two_levels_are_two_levels(seed):
    """A single beta law would put rivals between them."""
    w = [0.3] * 5 + [0.15] * 45
    made = list(islice(laws(*log(np.array(w), seed), np.random.default_rng(seed)), 100))
    main = [np.sort((law.a / (law.a + law.b))[np.argsort(-law.chances)[:2]]) for law in made]
    assert np.median(main, axis=0) == pytest.approx([0.15, 0.3], rel=0.02)
    assert np.median(gaps(w, 5, seed)) == pytest.approx(0.15, abs=0.01)


def test_one_level_has_no_gap():
    assert np.quantile(gaps([0.2] * 40, 5), 0.9) < 0.003


def test_a_beta_law_is_one_component():
    w = np.random.default_rng(4).beta(3, 17, 300)
    made = list(islice(laws(*log(w), np.random.default_rng(5)), 100))
    largest = [law.chances.argmax() for law in made]
    assert np.mean([law.chances[i] for law, i in zip(made, largest, strict=True)]) > 0.8
    strength = np.median([law.a[i] + law.b[i] for law, i in zip(made, largest, strict=True)])
    assert 12 < strength < 33


def test_a_long_tail_is_followed():
    """A single beta law of all items would draw the best of a Zipf law down to the others."""
    clicks, views = log(0.5 / np.arange(1, 201))
    clicks[0], views[0] = 40, 80
    found = RateLaw.of(clicks, views, draws=200)
    low, high = found.interval()[:, 0]
    assert low < 0.5 < high
    assert found.expected[0] > (clicks[0] + found.strength * found.mean) / (views[0] + found.strength)


def test_equal_counts_have_equal_rates_and_the_seed_decides():
    clicks, views = [5, 5, 40, 0, 0], [50, 50, 100, 0, 0]
    first, again, other = (RateLaw.of(clicks, views, draws=50, seed=seed) for seed in (0, 0, 1))
    assert first.expected[0] == first.expected[1]
    assert first.expected[3] == first.expected[4]
    assert (first.a == again.a).all()
    assert (first.a != other.a).any()
