"""The law of the number of observations `X` that one list of items yields (Sections 2 and 5.1).

A list with weights `w_1, ..., w_k` (in the order shown) yields `n < k` observations if item `n` is the first
one clicked, and `k` otherwise. So `P(X >= n)` is the product of `1 - w_j` over `j < n`: everything here follows from
those `k` tail probabilities. The last item's weight never matters. All functions work along the last axis.
"""

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.instance import FloatArray


def log_survival(weights: ArrayLike) -> FloatArray:
    """`ln P(X >= n)` for `n = 1..k`, shape `(..., k)`; `-inf` behind an item of weight 1."""
    w = np.asarray(weights, dtype=np.float64)
    with np.errstate(divide="ignore"):
        steps = np.log1p(-w[..., :-1])
    start = np.zeros((*w.shape[:-1], 1))
    return np.concatenate([start, np.cumsum(steps, axis=-1)], axis=-1)


def survival(weights: ArrayLike) -> FloatArray:
    """`P(X >= n)` for `n = 1..k`, shape `(..., k)`."""
    return np.asarray(np.exp(log_survival(weights)))
