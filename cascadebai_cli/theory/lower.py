"""The lower bound on the expected steps of any `(delta, K)`-PAC algorithm [thm:lb_fix_conf_dep], for `epsilon = 0`."""

import numpy as np

from cascadebai_cli.model.instance import FloatArray, Instance
from cascadebai_cli.theory.quantities import Values, mu_tilde


def bernoulli_kl(p: Values, q: Values) -> FloatArray:
    """`KL(p, q)` of two Bernoulli laws; infinite where `q` is 0 or 1 and `p` is not.

    Never below Pinsker's `2 (p - q)^2`, which matters when rounding eats the difference of nearly equal weights.
    (The proof of [cor:conf_lowbd_two_prob] sets the total variation to `(w* - w')^2`; it is `w* - w'`.)
    """
    from scipy.special import rel_entr

    a, b = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return np.asarray(np.maximum(rel_entr(a, b) + rel_entr(1 - a, 1 - b), 2 * (a - b) ** 2))


def confidence_factor(delta: Values) -> FloatArray:
    """`KL(1 - delta, delta)`, 0 from `delta = 1/2` on.

    The theorem prints the smaller `ln(1 / (2.4 delta))`; its proof and [cor:conf_lowbd_two_prob] have this one,
    which is used. The event behind it has probability at least `1 - delta` in one instance and at most `delta`
    in the other, which says nothing for `delta >= 1/2`.
    """
    d = np.minimum(delta, 0.5)
    return bernoulli_kl(1 - d, d)


def observations_needed(instance: Instance) -> float:
    """Expected observations that any algorithm needs, per unit of `confidence_factor`: `sum of 1 / d(...)`.

    An item whose weight cannot be moved past its rival (`w(K+1) = 0` or `w(K) = 1`) has an infinite divergence
    and adds nothing.
    """
    w, K = instance.sorted_weights, instance.K
    divergences = np.concatenate([bernoulli_kl(w[:K], w[K]), bernoulli_kl(w[K:], w[K - 1])])
    return float((1 / divergences).sum())


def lower_bound(instance: Instance, delta: float, *, semi_bandit: bool = False) -> float:
    """Expected steps that every `(delta, K)`-PAC algorithm needs; `nan` for `epsilon > 0`, which has no bound.

    Args:
        instance: the instance.
        delta: risk.
        semi_bandit: all `K` items of a step are observed, instead of at most `mu~_K` in expectation.
    """
    if instance.epsilon > 0:
        return float("nan")
    per_step = float(instance.K) if semi_bandit else float(mu_tilde(instance)[-1])
    return float(confidence_factor(delta)) * observations_needed(instance) / per_step
