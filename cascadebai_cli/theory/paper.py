"""The bounds of the paper: the lower bound, the upper bounds, and their closed forms for two click probabilities."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.problem import ROUNDING, FloatArray, Instance, IntArray, divergence

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

_Values = float | FloatArray | IntArray
"""A number or an array of numbers."""

PRINTED_CONSTANT = 216.0
"""The constant of `T-bar` as printed; `exact_constant(1.0)` is 256."""


def v(k: _Values, w_prime: _Values) -> FloatArray:
    """Return `v_k = min(k, sqrt(2) / w')`, with `E X^2 <= v_k^2` [lemma:obs_sec_moment]."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.minimum(k, np.sqrt(2) / np.asarray(w_prime, dtype=np.float64)), dtype=np.float64)


def rho(L: _Values, delta: _Values) -> FloatArray:
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


_CLICK_CONSTANT = exact_constant(0.5)
"""Clicks are 1/2-sub-Gaussian, the `sigma` of the experiments: 64."""


def t_bar(gap: _Values, rho: _Values, constant: _Values) -> FloatArray:
    """Return `T-bar = 1 + floor(c ln((2 / rho) log2(3 c / rho)))`, `c = constant / gap^2`; infinite for a gap of 0.

    From [le:suff_obs_to_identif], which inverts `tau <= c ln(log2(2 tau) / rho)` into
    `tau <= c ln((2 / rho) log2(3 c / rho))`. That holds for all `c, rho > 0` and `tau >= 1`; where the right side
    is not positive, one observation is enough.
    """
    with np.errstate(divide="ignore", over="ignore"):
        c = constant / np.asarray(gap, dtype=np.float64) ** 2
        inner = 2 / np.asarray(rho) * np.log2(np.maximum(3 * c / rho, 1.0))
        return np.asarray(1 + np.floor(c * np.log(np.maximum(inner, 1.0))))


def _mu_tilde(instance: Instance, M: int) -> FloatArray:
    return np.asarray(np.cumsum(survival(instance.sorted_weights[::-1][:M])))


@dataclass(frozen=True)
class UpperBound:
    """A number of steps that with probability `1 - delta` is not exceeded.

    Args:
        source: the statement that it comes from.
        terms: its parts by name, in steps; the bound is their sum.
    """

    source: str
    terms: Mapping[str, float]

    @property
    def steps(self) -> float:
        """The bound."""
        return sum(self.terms.values())

    @property
    def dominating(self) -> str:
        """Name of the largest term."""
        return max(self.terms, key=lambda name: self.terms[name])


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
    constant: float = _CLICK_CONSTANT

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
        """Number of epsilon-optimal items; `K` for `epsilon = 0` however small the gap, without room for rounding."""
        return self.K if self.instance.epsilon == 0 else self.instance.K_prime

    @property
    def K_2(self) -> int:
        """`max(K' - K, 1)`: number of items still unidentified when the algorithm stops [le:stop_eliminate_no].

        (The proof of the lemma prints `K' + K`.)
        """
        return max(self.K_prime - self.K, 1)

    @cached_property
    def mu(self) -> FloatArray:
        """`mu_1, ..., mu_K`: fewest expected observations of a list of `k` items (Section 4.1), shape `(K,)`.

        The list shows the `k` best items, best first; `mu_k` is the sum of the products of `1 - w(j)`, `j < i`, over
        `i <= k`, which equals the printed sum and needs one pass for all `k`.
        """
        return np.asarray(np.cumsum(survival(self.instance.sorted_weights[: self.K])))

    @cached_property
    def mu_tilde(self) -> FloatArray:
        """`mu~_1, ..., mu~_K`: most expected observations of `k` items, the worst, worst first (Section 4.2)."""
        return _mu_tilde(self.instance, self.K)

    @cached_property
    def v(self) -> FloatArray:
        """`v_1, ..., v_K`."""
        return v(np.arange(1, self.K + 1, dtype=np.int64), self.instance.w_prime)

    @cached_property
    def delta_bar(self) -> FloatArray:
        """`Delta-bar_i` of the items in descending order of weight, shape `(L,)` (Section 4.1).

        For `epsilon > 0` these are the gaps before anything is accepted. The proof of [le:suff_obs_to_identif] says
        that accepting items only removes them; but once an item outside the best `K` is accepted, the others are
        compared with `w(K)` instead of `w(K+1)`, and their gap can be smaller than `Delta-bar_i`. It is used as
        printed.
        """
        K, K_prime, epsilon = self.K, self.K_prime, self.instance.epsilon
        gaps = self.instance.gaps
        bar = np.concatenate([gaps[:K] + epsilon, gaps[K - 1] - gaps[K:K_prime] + epsilon, gaps[K_prime:] - epsilon])
        return bar if epsilon == 0 else np.where(bar < ROUNDING, 0.0, bar)

    @cached_property
    def T_bar(self) -> FloatArray:
        """`T-bar_sigma(1) <= ... <= T-bar_sigma(L)`, the permutation `sigma` sorting by descending `Delta-bar`."""
        gaps = np.sort(self.delta_bar)[::-1]
        return t_bar(gaps, rho(self.L, self.delta), self.constant)

    # Upper bounds on the steps of CascadeBAI that hold with probability `1 - delta`, [thm:fix_conf_up_bd] and
    # [prop:fix_conf_up_bd_many_eps_opt]. The proof follows the worst case: items are identified in descending order of
    # `Delta-bar`, and in *phase* `k` the lists hold `K - k + 1` survivors. A phase that needs `T` observations takes at
    # most `2 T / mu + (2 v^2 / mu^2) ln(1 / delta_k)` steps with probability `1 - delta_k`
    # [lemma:conc_one_sub_gauss_apply_obs]; the `delta_k` share `delta / 2` in the best way.

    @property
    def _has_theorem(self) -> bool:
        """Whether [thm:fix_conf_up_bd] applies, `K' < 2K - 1`; else [prop:fix_conf_up_bd_many_eps_opt] does."""
        return self.K_prime < 2 * self.K - 1

    @property
    def _list_lengths(self) -> IntArray:
        """The numbers of survivors shown in phases `k = 1..K-K_2`: `K, K-1, ..., K_2 + 1`."""
        return np.arange(self.K, self.K_2, -1, dtype=np.int64)

    @property
    def spread_ratios(self) -> FloatArray:
        """`v_m^2 / mu_m^2` of the phases `k = 1..K-K_2`, where `m = K-k+1` survivors are shown; each at least 1."""
        m = self._list_lengths
        return (self.v[m - 1] / self.mu[m - 1]) ** 2

    @property
    def N_2(self) -> float:
        """`N_2 = (1 / mu_K) sum of T-bar_sigma(i), i <= L-K`, for the items identified while lists are full."""
        return float(self.T_bar[: self.L - self.K].sum() / self.mu[-1])

    @property
    def N_3_by_phase(self) -> float:
        """`N_3` as first printed: the sum over `k >= 2` of `(K-k+1) / mu_(K-k+1)` times the growth of `T-bar`.

        The theorem lets `k` run to `2K - K'`, its proof to `K - K_2`. They differ when `K' = K`, where `2K - K' = K`
        but one item is never identified; `K - K_2` is used. (With `epsilon = 0` the extra summand is 0, as the two
        smallest gaps are equal.)

        The two printed forms are not equal: the second bounds the first *plus* `first_full_lists`. The bound in
        steps uses this form plus that term, which is the smaller.
        """
        m = self._list_lengths[1:]
        return float((m / self.mu[m - 1] * self._growth).sum())

    @property
    def _growth(self) -> FloatArray:
        """`T-bar_sigma(L-K+k) - T-bar_sigma(L-K+k-1)` for `k = 2..K-K_2`; infinite behind an infinite `T-bar`."""
        T = self.T_bar[self.L - self.K : self.L - self.K_2]
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(T[1:]), np.inf, np.diff(T))

    @property
    def first_full_lists(self) -> float:
        """`K T-bar_sigma(L-K+1) / mu_K`, for the last `K` items while lists are full; `N_3_by_phase` lacks it."""
        return float(self.K * self.T_bar[self.L - self.K] / self.mu[-1])

    def theorem_upper(self) -> UpperBound:
        """Return the bound of [thm:fix_conf_up_bd] in steps, with the constants of its proof; needs `K' < 2K - 1`.

        `sum of c_k ln(2 sum(c) / (c_k delta)) + 2 sum of T~_k / mu_(K-k+1)` over the phases `k = 1..K-K_2`, with
        `c_k = 2 v^2 / mu^2` at `K-k+1`. That is the last line before the proof rounds up to
        `c_1 N_1 + c_2 N_2 + c_3 N_3`; the next one swallows the constants of `T~_k` in a factor of 4, which fails for
        very long lists with large gaps. Slips: the proof prints the second sum inside the first (taken apart
        here); it says `mu_(K+1-k) >= 2`, which is wrong and not needed; and it allots an item `T-bar` observations
        where a list that crosses the end of a pass can give it one more (left as printed).

        The terms keep the names of the theorem; `N_3` includes `first_full_lists` and the constants of `T~_k`.

        Raises:
            ValueError: if `K' >= 2K - 1`.
        """
        if not self._has_theorem:
            raise ValueError(f"K' = {self.K_prime} is not below 2K - 1 = {2 * self.K - 1}")
        m = self._list_lengths
        c = 2 * self.spread_ratios
        rounding = np.concatenate([[self.K - 1], 2 * m[1:] - 1])
        last = self.first_full_lists + self.N_3_by_phase + (rounding / self.mu[m - 1]).sum()
        return UpperBound(
            "theorem",
            {
                "N_1": float((c * np.log(2 * c.sum() / (c * self.delta))).sum()),
                "N_2": 2 * self.N_2,
                "N_3": float(2 * last),
            },
        )

    def many_optimal_upper(self) -> UpperBound:
        """Return the bound of [prop:fix_conf_up_bd_many_eps_opt] in steps, for lists full to the end; `K' >= 2K - 1`.

        Raises:
            ValueError: if `K' < 2K - 1`.
        """
        if self._has_theorem:
            raise ValueError(f"K' = {self.K_prime} is below 2K - 1 = {2 * self.K - 1}")
        left = self.K_prime - self.K
        last = self.L - left - 1
        observations = self.T_bar[:last].sum() + (left + 1) * self.T_bar[last] + left
        spread = 2 * (self.v[-1] / self.mu[-1]) ** 2 * np.log(2 / self.delta)
        return UpperBound("many optimal", {"N_1'": float(spread), "N_2'": float(2 * observations / self.mu[-1])})

    def general_upper(self) -> UpperBound:
        """Return the bound for any instance, of the theorem, or of the proposition where that does not apply."""
        return self.theorem_upper() if self._has_theorem else self.many_optimal_upper()


# --- The lower bound on the expected steps of any `(delta, K)`-PAC algorithm, for `epsilon = 0` ---------------------
#
# This is [thm:lb_fix_conf_dep].


def confidence_factor(delta: _Values) -> FloatArray:
    """Return `KL(1 - delta, delta) = (1 - 2 delta) ln((1 - delta) / delta)`, and 0 for `delta >= 1/2`.

    The theorem prints the smaller `ln(1 / (2.4 delta))`; its proof and [cor:conf_lowbd_two_prob] have the factor
    that is used here. It comes from an event with probability at least `1 - delta` in one instance and at most `delta`
    in the other, which says nothing for `delta >= 1/2`.
    """
    d = np.minimum(delta, 0.5)
    return np.asarray((1 - 2 * d) * (np.log1p(-d) - np.log(d)))


def _observations_needed(instance: Instance) -> float:
    """Return the expected observations that any algorithm needs per unit of `confidence_factor`: `sum of 1 / d(...)`.

    An item whose weight cannot be moved past its rival (`w(K+1) = 0` or `w(K) = 1`) has an infinite divergence
    and adds nothing.
    """
    w, K = instance.sorted_weights, instance.K
    divergences = np.concatenate([divergence(w[:K], w[K]), divergence(w[K:], w[K - 1])])
    return float((1 / divergences).sum())


def lower_bound(instance: Instance, delta: float, *, semi_bandit: bool = False, M: int = 0) -> float:
    """Return the expected steps that every `(delta, K)`-PAC algorithm needs; `nan` (no bound) for `epsilon > 0`.

    The theorem is for lists of `K` items. In the same way, longer ones bring at most `mu~_M` observations in each step.

    Args:
        semi_bandit: whether all items of a step are observed, instead of at most `mu~_K` in expectation.
        M: number of items shown in a step, if more than `K`.
    """
    if instance.epsilon > 0:
        return float("nan")
    longest = max(M, instance.K)
    per_step = float(longest) if semi_bandit else float(_mu_tilde(instance, longest)[-1])
    return float(confidence_factor(delta)) * _observations_needed(instance) / per_step


# --- Closed forms for two click probabilities and `epsilon = 0` [assump:two_prob_cond] ------------------------------


def _observations_of_equals(k: _Values, w: _Values) -> FloatArray:
    """Return `(1 - (1-w)^k) / w`, the expected observations of `k` items of weight `w`; `k` for `w = 0`."""
    count, weight = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(w, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = -np.expm1(count * np.log1p(-weight)) / weight
    return np.where((weight == 0) | (count == 0), count, value)


@dataclass(frozen=True)
class TwoLevelBounds:
    """`K` items of weight `w_star`, `L - K` of weight `w_prime`.

    Every field may be an array with an entry for each cell of a grid; they broadcast.

    Args:
        w_star: weight of the `K` best.
        w_prime: weight of the others, `0 < w_prime < w_star`.
        delta: largest probability of a wrong answer.
        constant: constant of `T-bar`, see `exact_constant`.
    """

    L: _Values
    K: _Values
    w_star: _Values
    w_prime: _Values
    delta: _Values
    constant: _Values = _CLICK_CONSTANT

    def mu(self, k: _Values) -> FloatArray:
        """Return `mu_k` for `k <= K`: a list of items of weight `w_star`."""
        return _observations_of_equals(k, self.w_star)

    @property
    def mu_tilde_K(self) -> FloatArray:
        """`mu~_K`.

        [cor:conf_lowbd_two_prob] prints `(1 - (1-w')^K) / w'`. That needs `K <= L-K` (or one more, as the last
        item shown does not matter): a longer list ends with items of weight `w_star`, which are counted here.
        """
        poor = np.minimum(self.K, self.L - self.K)
        reach_rich = (1 - np.asarray(self.w_prime)) ** poor
        rich = _observations_of_equals(self.K - poor, self.w_star)
        return np.asarray(_observations_of_equals(poor, self.w_prime) + reach_rich * rich)

    @property
    def T_bar(self) -> FloatArray:
        """`T-bar`, the same for every item, as every gap is `w* - w'`."""
        return t_bar(np.asarray(self.w_star - self.w_prime, dtype=np.float64), rho(self.L, self.delta), self.constant)

    def lower(self) -> FloatArray:
        """Return the expected steps that any algorithm needs [cor:conf_lowbd_two_prob]."""
        best = self.K / divergence(self.w_star, self.w_prime)
        others = (self.L - self.K) / divergence(self.w_prime, self.w_star)
        return np.asarray(confidence_factor(self.delta) * (best + others) / self.mu_tilde_K)

    def upper_terms(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the three terms of the bound in the proof of [prop:conf_upbd_two_prob], in steps.

        `2 (L T-bar - L + 1) / mu_K` to observe every item often enough, `(2 v_K^2 / mu_K^2) ln(2 / delta)` for
        the spread of the observations, and `L - 2`: the proof has the agent identify one item a step in
        `L - 2` further steps, but leaves them out of its bound; they are counted here. It also writes
        `rho = delta / (12 L)` (see `rho`) and `K* = 1` where `K' = K` is meant.
        """
        mu_K = self.mu(self.K)
        observing = 2 * (self.L * (self.T_bar - 1) + 1) / mu_K
        spread = 2 * (v(self.K, self.w_prime) / mu_K) ** 2 * np.log(2 / np.asarray(self.delta))
        return observing, spread, np.asarray(self.L - 2.0)

    def upper(self) -> FloatArray:
        """Return the bound of [prop:conf_upbd_two_prob] in steps: the sum of `upper_terms`."""
        observing, spread, identifying = self.upper_terms()
        return np.asarray(observing + spread + identifying)


def two_level_instance(L: int, K: int, w_star: float, w_prime: float, epsilon: float = 0.0) -> Instance:
    """Return the instance with these weights, best items first."""
    return Instance(np.repeat([w_star, w_prime], [K, L - K]), K, epsilon)


# --- All bounds of one cell of a grid -------------------------------------------------------------------------------


@dataclass(frozen=True)
class CellBounds:
    """The bounds of the theorems for one instance and learner.

    Args:
        lower: steps that any algorithm needs in expectation; `nan` for `epsilon > 0`.
        general: [thm:fix_conf_up_bd], or [prop:fix_conf_up_bd_many_eps_opt] where it does not apply; `None` for
            learners other than Algorithm 1.
        two_level: [prop:conf_upbd_two_prob]; `None` for other learners or weights.
    """

    lower: float
    general: UpperBound | None = None
    two_level: UpperBound | None = None

    @classmethod
    def of_algorithm_1(cls, instance: Instance, delta: float, constant: float = _CLICK_CONSTANT) -> "CellBounds":
        """Return the bounds for Algorithm 1; see `Quantities` for `constant`."""
        return cls(
            lower=lower_bound(instance, delta),
            general=Quantities(instance, delta, constant).general_upper(),
            two_level=_two_level(instance, delta, constant) if _is_two_level(instance) else None,
        )

    @property
    def upper(self) -> UpperBound | None:
        """The smaller of the upper bounds that apply, `None` if none does."""
        found = [bound for bound in (self.general, self.two_level) if bound]
        return min(found, key=lambda bound: bound.steps, default=None)


def _is_two_level(instance: Instance) -> bool:
    """Return whether [assump:two_prob_cond] holds: weights `w*` and `L-K` times `w'`, `0 < w' < w*`, `epsilon = 0`."""
    w, K = instance.sorted_weights, instance.K
    return bool(instance.epsilon == 0 and w[0] == w[K - 1] and w[K] == w[-1] > 0)


def _two_level(instance: Instance, delta: float, constant: float) -> UpperBound:
    forms = TwoLevelBounds(instance.L, instance.K, instance.w_star, instance.w_prime, delta, constant)
    names = ("observing", "spread", "identifying")
    return UpperBound("two-level", {n: float(t) for n, t in zip(names, forms.upper_terms(), strict=True)})
