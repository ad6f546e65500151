"""Statements of the paper that no bound of the program uses; tests hold what it uses to them."""

import numpy as np

from cascadebai_cli.theory.paper import ROUNDING, log_survival, survival

# The law of the number of observations `X` of one list; all functions work along the last axis.


def observation_law(weights):
    """`P(X = n)` for `n = 1..k`, shape `(..., k)`."""
    w = np.asarray(weights, dtype=np.float64)
    stop = np.concatenate([w[..., :-1], np.ones((*w.shape[:-1], 1))], axis=-1)
    return np.asarray(survival(w) * stop)


def mean_observations(weights):
    """`E X`, the sum of the tail probabilities; shape of `weights` without its last axis."""
    return np.asarray(survival(weights).sum(axis=-1))


def second_moment(weights):
    """`E X^2`, the sum of `(2n - 1) P(X >= n)`."""
    tail = survival(weights)
    return np.asarray(((2 * np.arange(1, tail.shape[-1] + 1) - 1) * tail).sum(axis=-1))


def centred_cgf(weights, lam):
    """`ln E exp(lam (X - E X))` of one list, shape of `lam`; in log space, so no power overflows."""
    w = np.asarray(weights, dtype=np.float64)
    with np.errstate(divide="ignore"):
        log_law = log_survival(w) + np.append(np.log(w[:-1]), 0.0)
    centred = np.arange(1, len(w) + 1) - mean_observations(w)
    exponents = np.multiply.outer(np.asarray(lam, dtype=np.float64), centred) + log_law
    return np.asarray(np.logaddexp.reduce(exponents, axis=-1))


def sub_gaussian_excess(weights, v, lam):
    """`ln E exp(lam (X - E X)) - v^2 lam^2 / 2`, shape of `lam`: positive where `v` is not a parameter.

    [def:sub_gauss_left_sided] asks for at most 0 at every `lam <= 0`, which [thm:sec_moment_to_left_sub_gauss]
    grants when `E X^2 <= v^2`. (Its proof starts with `v >= E X^2`; `v^2 >= E X^2` is meant and used.)
    At `lam > 0`, the other side of a sub-Gaussian variable, nothing grants it, and long lists of large
    weights do violate it: the law is close to geometric there, with an exponential right tail.
    """
    scale = np.asarray(lam, dtype=np.float64)
    return np.asarray(centred_cgf(weights, scale) - v**2 * scale**2 / 2)


# Forms of the bounds.


def printed_confidence_factor(delta):
    """`ln(1 / (2.4 delta))` as [thm:lb_fix_conf_dep] prints it, cut off at 0."""
    return np.maximum(-np.log(2.4 * np.asarray(delta, dtype=np.float64)), 0.0)


def N_1(q):
    """`N_1`: the price of not knowing how many items a step will show."""
    r = q.spread_ratios
    return float(r.sum() * np.log(r.sum() / q.delta))


def N_1_ceiling(w_star, w_prime, K, delta):
    """[prop:term_by_cas]: a bound on `N_1` in the extreme weights alone, for `0 < w' < w*`."""
    scale = 4.0 * K if w_star <= 1 / K else 8.0 * K * (w_star / w_prime) ** 2
    return scale * float(np.log(scale / delta))


def K_1(q):
    """`max(K' - K, min(floor(1/w*), K-1))`: lists of `K' - K < k <= K_1` survivors have `k / mu_k <= 2`."""
    w_star = q.instance.w_star
    full_lists = q.K - 1 if w_star * (q.K - 1) <= 1 else int((1 + ROUNDING) / w_star)
    return max(q.K_prime - q.K, min(full_lists, q.K - 1))


def M(q):
    """`M_k = (K+1-k) / mu_(K+1-k) - (K-k) / mu_(K-k)` for `k = 1..K-1`; at least 0."""
    return np.diff(np.arange(1, q.K + 1) / q.mu)[::-1]


def N_3_by_item(q):
    """`N_3`, second printed form, with `K_1`, `K_2` and `M_k`: at least `N_3_by_phase(q) + first_full_lists(q)`.

    It replaces `m / mu_m` by 2 for lists of `m <= K_1` survivors, where `mu_m >= m / 2` [lemma:bound_obs].
    """
    phases = q.K - K_1(q) - 1
    T_last = q.T_bar[q.L - q.K :]
    corner = (K_1(q) + 1) / q.mu[K_1(q)] - 2
    return float((M(q)[:phases] * T_last[:phases]).sum() + corner * T_last[phases] + 2 * q.T_bar[q.L - q.K_2 - 1])


def two_level_upper_by_case(bound):
    """The two-level bound after `mu_K >= min(K/2, 1/(2 w*))`, by the two printed cases; never below `upper`."""
    observations = bound.L * (bound.T_bar - 1) + 1
    log_term = np.log(2 / np.asarray(bound.delta))
    small = 4 * observations / bound.K + 8 * log_term
    large = 4 * bound.w_star * observations + 16 * (bound.w_star / bound.w_prime) ** 2 * log_term
    return np.asarray(np.where(bound.w_star * bound.K <= 1, small, large) + bound.L - 2)
