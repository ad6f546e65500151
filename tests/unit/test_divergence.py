"""The divergence of clicks: exact ends, digits of nearly equal probabilities."""

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
