"""The divergence of clicks: exact ends, digits of nearly equal probabilities."""

from decimal import Decimal
from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from scipy.special import rel_entr

from cascadebai_cli.model.problem import divergence


def test_equals_the_definition():
    p, q = np.random.default_rng(0).random((2, 200))
    assert divergence(p, q) == pytest.approx(rel_entr(p, q) + rel_entr(1 - p, 1 - q), rel=1e-12, abs=1e-15)


def test_the_ends():
    assert divergence([0, 1, 0, 1, 0, 1], [0.5, 0.25, 0, 1, 1, 0]).tolist() == [log(2), log(4), 0, 0, inf, inf]
    assert divergence([0.5, 0.5], [0, 1]).tolist() == [inf, inf]


@pytest.mark.parametrize("gap", [1e-4, 1e-7, 1e-10])
def test_nearly_equal_probabilities_keep_their_digits(gap):
    """`d(p, q)` is `(q - p)^2 / (2 p (1 - p))` up to a relative error of the order of the gap."""
    p, q = 0.3, 0.3 + gap
    h = Fraction(q) - Fraction(p)
    expected = float(h * h / (2 * Fraction(p) * (1 - Fraction(p))))
    assert float(divergence(p, q)) == pytest.approx(expected, rel=10 * gap + 1e-5)


@pytest.mark.parametrize("q", [1e-9, 3e-9, 1e-6, 0.3, 1 - 1e-6, 1 - 2e-9])
@pytest.mark.parametrize("rise", [1e-3, -1e-3, 1e-5, 0.4, -0.9, -0.99999])
def test_a_known_rise_keeps_the_digits_of_probabilities_near_0_and_1(q, rise):
    """Against logarithms of 28 digits; the rise is in units of the distance of `p` from the nearer end."""
    p = Decimal(q)
    up = Decimal(rise) * min(p, 1 - p)
    expected = -p * (1 + up / p).ln() - (1 - p) * (1 - up / (1 - p)).ln()
    assert float(divergence(q, q + float(up), float(up))) == pytest.approx(float(expected), rel=1e-6)
