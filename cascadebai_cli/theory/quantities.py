"""The quantities in the theorems of the paper."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.problem import ROUNDING, FloatArray, Instance, IntArray

# --- The law of the number of observations `X` that one list of items yields (Sections 2 and 5.1) -------------------
#
# A list with weights `w_1, ..., w_k` (in the order shown) yields `n < k` observations if item `n` is the first
# one clicked, and `k` otherwise. So `P(X >= n)` is the product of `1 - w_j` over `j < n`: everything here follows from
# those `k` tail probabilities. The last item's weight never matters. All functions work along the last axis.


def log_survival(weights: ArrayLike) -> FloatArray:
    """Return `ln P(X >= n)` for `n = 1..k`, shape `(..., k)`; `-inf` behind an item of weight 1."""
    w = np.asarray(weights, dtype=np.float64)
    with np.errstate(divide="ignore"):
        steps = np.log1p(-w[..., :-1])
    start = np.zeros((*w.shape[:-1], 1))
    return np.concatenate([start, np.cumsum(steps, axis=-1)], axis=-1)


def survival(weights: ArrayLike) -> FloatArray:
    """Return `P(X >= n)` for `n = 1..k`, shape `(..., k)`."""
    return np.asarray(np.exp(log_survival(weights)))


# --- The quantities in the theorems: `mu_k`, `mu~_k`, `v_k`, `Delta-bar`, `T-bar`, `K_2` ----------------------------
#
# Arrays over `k` hold `k = 1..K` at positions `0..K-1`; arrays over items follow the paper's order.


Values = float | FloatArray | IntArray
"""A number or an array of numbers."""

PRINTED_CONSTANT = 216.0
"""The constant of `T-bar` as printed; `exact_constant(1.0)` is 256."""


def mu(instance: Instance) -> FloatArray:
    """Return `mu_1, ..., mu_K`: fewest expected observations of a list of `k` items (Section 4.1), shape `(K,)`.

    The list shows the `k` best items, best first; `mu_k` is the sum of the products of `1 - w(j)`, `j < i`, over
    `i <= k`, which equals the printed sum and needs one pass for all `k`.
    """
    return np.asarray(np.cumsum(survival(instance.sorted_weights[: instance.K])))


def mu_tilde(instance: Instance, M: int | None = None) -> FloatArray:
    """Return `mu~_1, ..., mu~_M`: most expected observations of `k` items, the worst, worst first (Section 4.2)."""
    return np.asarray(np.cumsum(survival(instance.sorted_weights[::-1][: M or instance.K])))


def v(k: Values, w_prime: Values) -> FloatArray:
    """Return `v_k = min(k, sqrt(2) / w')`, with `E X^2 <= v_k^2` [lemma:obs_sec_moment]."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.minimum(k, np.sqrt(2) / np.asarray(w_prime, dtype=np.float64)), dtype=np.float64)


def rho(L: Values, delta: Values) -> FloatArray:
    """Return `rho = sqrt(delta / (12 L))`, as in Algorithm 1 and [le:conc_event].

    The proofs of [le:suff_obs_to_identif], [thm:fix_conf_up_bd] and [prop:conf_upbd_two_prob] write
    `delta / (12 L)`, a slip: `6 rho^2` has to be `delta / (2 L)`, and `T-bar` has to invert the radius that the
    algorithm uses. The proof of [le:conc_event] also divides by `tau + 1` inside the radius; `tau` is used.
    """
    share = np.asarray(delta, dtype=np.float64) / (12 * np.asarray(L))
    return np.asarray(np.sqrt(share))


def exact_constant(sigma: float) -> float:
    """Return the constant of `T-bar` for the radius `4 sigma sqrt(ln(log2(2T) / rho) / T)`: `256 sigma^2`.

    An item with gap `g` is identified once `g > 4 C(T)`, that is `T > (16 sigma / g)^2 ln(log2(2T) / rho)`. The
    paper prints 216 with `sigma = 1`, where this gives 256: with 216, `T-bar` observations need not suffice.
    The same argument needs noise that is `sigma`-sub-Gaussian, so `sigma >= 1/2` for clicks.
    """
    return 256.0 * sigma**2


CLICK_CONSTANT = exact_constant(0.5)
"""Clicks are 1/2-sub-Gaussian, the `sigma` of the experiments: 64."""


def t_bar(gap: Values, rho: Values, constant: Values) -> FloatArray:
    """Return `T-bar = 1 + floor(c ln((2 / rho) log2(3 c / rho)))`, `c = constant / gap^2`; infinite for a gap of 0.

    From [le:suff_obs_to_identif], which inverts `tau <= c ln(log2(2 tau) / rho)` into
    `tau <= c ln((2 / rho) log2(3 c / rho))`. That holds for all `c, rho > 0` and `tau >= 1`; where the right side
    is not positive, one observation is enough.
    """
    with np.errstate(divide="ignore", over="ignore"):
        c = constant / np.asarray(gap, dtype=np.float64) ** 2
        inner = 2 / np.asarray(rho) * np.log2(np.maximum(3 * c / rho, 1.0))
        return np.asarray(1 + np.floor(c * np.log(np.maximum(inner, 1.0))))


def _near_optimal(instance: Instance) -> int:
    """Return `K'`; for `epsilon = 0` it is `K` however small the gap, while `instance.K_prime` allows for rounding."""
    return instance.K if instance.epsilon == 0 else instance.K_prime


def delta_bar(instance: Instance) -> FloatArray:
    """Return `Delta-bar_i` of the items in descending order of weight, shape `(L,)` (Section 4.1).

    For `epsilon > 0` these are the gaps before anything is accepted. The proof of [le:suff_obs_to_identif] says
    that accepting items only removes them; but once an item outside the best `K` is accepted, the others are
    compared with `w(K)` instead of `w(K+1)`, and their gap can be smaller than `Delta-bar_i`. It is used as printed.
    """
    K, K_prime, epsilon = instance.K, _near_optimal(instance), instance.epsilon
    gaps = instance.gaps
    bar = np.concatenate([gaps[:K] + epsilon, gaps[K - 1] - gaps[K:K_prime] + epsilon, gaps[K_prime:] - epsilon])
    return bar if epsilon == 0 else np.where(bar < ROUNDING, 0.0, bar)


@dataclass(frozen=True, eq=False)
class Quantities:
    """All quantities of one instance, each computed once when first asked for.

    Args:
        instance: the instance; item order does not matter.
        delta: largest probability of a wrong answer, in `(0, 1)`.
        constant: constant of `T-bar`, `exact_constant(sigma)` or `PRINTED_CONSTANT`.
    """

    instance: Instance
    delta: float
    constant: float = CLICK_CONSTANT

    @property
    def L(self) -> int:
        """Number of items."""
        return self.instance.L

    @property
    def K(self) -> int:
        """Number of items to find."""
        return self.instance.K

    @cached_property
    def K_prime(self) -> int:
        """Number of epsilon-optimal items."""
        return _near_optimal(self.instance)

    @property
    def K_2(self) -> int:
        """`max(K' - K, 1)`: number of items still unidentified when the algorithm stops [le:stop_eliminate_no].

        (The proof of the lemma prints `K' + K`.)
        """
        return max(self.K_prime - self.K, 1)

    @cached_property
    def mu(self) -> FloatArray:
        """`mu_1, ..., mu_K`."""
        return mu(self.instance)

    @cached_property
    def mu_tilde(self) -> FloatArray:
        """`mu~_1, ..., mu~_K`."""
        return mu_tilde(self.instance)

    @cached_property
    def v(self) -> FloatArray:
        """`v_1, ..., v_K`."""
        return v(np.arange(1, self.K + 1, dtype=np.int64), self.instance.w_prime)

    @cached_property
    def T_bar(self) -> FloatArray:
        """`T-bar_sigma(1) <= ... <= T-bar_sigma(L)`, the permutation `sigma` sorting by descending `Delta-bar`."""
        gaps = np.sort(delta_bar(self.instance))[::-1]
        return t_bar(gaps, rho(self.L, self.delta), self.constant)
