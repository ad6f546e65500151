"""The Kullback-Leibler divergence of clicks."""

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.instance import FloatArray


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
