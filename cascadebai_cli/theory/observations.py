"""The exact law of the number of observations `X` that one list of items yields (Sections 2 and 5.1).

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


def observation_law(weights: ArrayLike) -> FloatArray:
    """`P(X = n)` for `n = 1..k`, shape `(..., k)`."""
    w = np.asarray(weights, dtype=np.float64)
    stop = np.concatenate([w[..., :-1], np.ones((*w.shape[:-1], 1))], axis=-1)
    return np.asarray(survival(w) * stop)


def mean_observations(weights: ArrayLike) -> FloatArray:
    """`E X`, the sum of the tail probabilities; shape of `weights` without its last axis."""
    return np.asarray(survival(weights).sum(axis=-1))


def second_moment(weights: ArrayLike) -> FloatArray:
    """`E X^2`, the sum of `(2n - 1) P(X >= n)`."""
    tail = survival(weights)
    return np.asarray(((2 * np.arange(1, tail.shape[-1] + 1) - 1) * tail).sum(axis=-1))


def centred_cgf(weights: ArrayLike, lam: ArrayLike) -> FloatArray:
    """`ln E exp(lam (X - E X))` of one list, shape of `lam`; in log space, so no power overflows."""
    w = np.asarray(weights, dtype=np.float64)
    with np.errstate(divide="ignore"):
        log_law = log_survival(w) + np.append(np.log(w[:-1]), 0.0)
    centred = np.arange(1, len(w) + 1) - mean_observations(w)
    exponents = np.multiply.outer(np.asarray(lam, dtype=np.float64), centred) + log_law
    return np.asarray(np.logaddexp.reduce(exponents, axis=-1))


def sub_gaussian_excess(weights: ArrayLike, v: float, lam: ArrayLike) -> FloatArray:
    """`ln E exp(lam (X - E X)) - v^2 lam^2 / 2`, shape of `lam`: positive where `v` is not a parameter.

    [def:sub_gauss_left_sided] asks for at most 0 at every `lam <= 0`, which [thm:sec_moment_to_left_sub_gauss]
    grants when `E X^2 <= v^2`. (Its proof starts with `v >= E X^2`; `v^2 >= E X^2` is meant and used.)
    At `lam > 0`, the other side of a sub-Gaussian variable, nothing grants it, and long lists of large
    weights do violate it: the law is close to geometric there, with an exponential right tail.
    """
    scale = np.asarray(lam, dtype=np.float64)
    return np.asarray(centred_cgf(weights, scale) - v**2 * scale**2 / 2)
