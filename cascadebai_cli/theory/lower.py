"""The lower bound on the expected steps of any `(delta, K)`-PAC algorithm [thm:lb_fix_conf_dep], for `epsilon = 0`."""

import numpy as np

from cascadebai_cli.model.divergence import divergence
from cascadebai_cli.model.instance import FloatArray, Instance
from cascadebai_cli.theory.quantities import Values, mu_tilde


def confidence_factor(delta: Values) -> FloatArray:
    """`KL(1 - delta, delta) = (1 - 2 delta) ln((1 - delta) / delta)`, 0 from `delta = 1/2` on.

    The theorem prints the smaller `ln(1 / (2.4 delta))`; its proof and [cor:conf_lowbd_two_prob] have this one,
    which is used. The event behind it has probability at least `1 - delta` in one instance and at most `delta`
    in the other, which says nothing for `delta >= 1/2`.
    """
    d = np.minimum(delta, 0.5)
    return np.asarray((1 - 2 * d) * (np.log1p(-d) - np.log(d)))


def observations_needed(instance: Instance) -> float:
    """Expected observations that any algorithm needs, per unit of `confidence_factor`: `sum of 1 / d(...)`.

    An item whose weight cannot be moved past its rival (`w(K+1) = 0` or `w(K) = 1`) has an infinite divergence
    and adds nothing.
    """
    w, K = instance.sorted_weights, instance.K
    divergences = np.concatenate([divergence(w[:K], w[K]), divergence(w[K:], w[K - 1])])
    return float((1 / divergences).sum())


def lower_bound(instance: Instance, delta: float, *, semi_bandit: bool = False, M: int = 0) -> float:
    """Expected steps that every `(delta, K)`-PAC algorithm needs; `nan` for `epsilon > 0`, which has no bound.

    The theorem is for lists of `K` items. Longer ones bring at most `mu~_M` observations a step in the same way.

    Args:
        instance: the instance.
        delta: risk.
        semi_bandit: all items of a step are observed, instead of at most `mu~_K` in expectation.
        M: items of a step, if more than `K`.
    """
    if instance.epsilon > 0:
        return float("nan")
    longest = max(M, instance.K)
    per_step = float(longest) if semi_bandit else float(mu_tilde(instance, longest)[-1])
    return float(confidence_factor(delta)) * observations_needed(instance) / per_step
