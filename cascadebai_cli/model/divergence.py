"""The Kullback-Leibler divergence of clicks, and what it says about two items."""

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.instance import FloatArray

APART = 1e-9
"""Least distance of a pooled mean from both weights; it changes `g` by `1e-18` of the larger term at most."""


def divergence(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """`d(p, q) = p ln(p / q) + (1 - p) ln((1 - p) / (1 - q))`, inf where `q` is 0 or 1 and `p` is not.

    Written in `q - p`, so that nearly equal probabilities keep their digits; broadcast together.
    """
    a, b = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    skip, rise = 1 - a, b - a
    with np.errstate(divide="ignore", invalid="ignore"):
        clicks = np.where(a > 0, -a * np.log1p(rise / np.where(a > 0, a, 1)), 0)
        skips = np.where(skip > 0, -skip * np.log1p(-rise / np.where(skip > 0, skip, 1)), 0)
    return np.asarray(np.maximum(clicks + skips, 0))


def evidence(n_a: FloatArray, w_a: FloatArray, n_b: FloatArray, w_b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least of `n_a d(w_a, x) + n_b d(w_b, x)`, which is at the pooled mean `x`, and `x`; 0 where a count is 0.

    `x` keeps off the weights, where a divergence may be infinite, by `APART` of their difference.
    """
    total = n_a + n_b
    share = np.divide(n_a, total, out=np.full(np.shape(total), 0.5), where=total > 0)
    x = w_b + np.clip(share, APART, 1 - APART) * (w_a - w_b)
    g = n_a * divergence(w_a, x) + n_b * divergence(w_b, x)
    return np.where((n_a > 0) & (n_b > 0), g, 0.0), x
