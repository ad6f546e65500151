"""Upper bounds on the steps of CascadeBAI that hold with probability `1 - delta` ([thm:fix_conf_up_bd] and relatives).

The proof follows the worst case: items are identified in descending order of `Delta-bar`, and in *phase* `k` the
lists hold `K - k + 1` survivors. A phase that needs `T` observations takes at most
`2 T / mu + (2 v^2 / mu^2) ln(1 / delta_k)` steps with probability `1 - delta_k`
[lemma:conc_one_sub_gauss_apply_obs]; the `delta_k` share `delta / 2` in the best way.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cascadebai_cli.model.instance import FloatArray, IntArray
from cascadebai_cli.theory.quantities import Quantities


@dataclass(frozen=True)
class UpperBound:
    """A number of steps that is not exceeded with probability `1 - delta`.

    Args:
        source: which statement it comes from.
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


def has_theorem(q: Quantities) -> bool:
    """Whether [thm:fix_conf_up_bd] applies: `K' < 2K - 1`; otherwise [prop:fix_conf_up_bd_many_eps_opt] does."""
    return q.K_prime < 2 * q.K - 1


def spread_ratios(q: Quantities) -> FloatArray:
    """`v_m^2 / mu_m^2` of the phases `k = 1..K-K_2`, where `m = K-k+1` survivors are shown; each at least 1."""
    m = _list_lengths(q)
    return (q.v[m - 1] / q.mu[m - 1]) ** 2


def N_2(q: Quantities) -> float:
    """`N_2 = (1 / mu_K) sum of T-bar_sigma(i), i <= L-K`: the items identified while lists are full."""
    return float(q.T_bar[: q.L - q.K].sum() / q.mu[-1])


def N_3_by_phase(q: Quantities) -> float:
    """`N_3`, first printed form: sum over `k >= 2` of `(K-k+1) / mu_(K-k+1)` times the growth of `T-bar`.

    The theorem lets `k` run to `2K - K'`, its proof to `K - K_2`. They differ when `K' = K`, where `2K - K' = K`
    but one item is never identified; `K - K_2` is used. (With `epsilon = 0` the extra summand is 0, as the two
    smallest gaps are equal.)

    The two printed forms are not equal: the second bounds the first *plus* `first_full_lists(q)`. The bound in
    steps uses this form plus that term, which is the smaller.
    """
    m = _list_lengths(q)[1:]
    return float((m / q.mu[m - 1] * _growth(q)).sum())


def first_full_lists(q: Quantities) -> float:
    """`K T-bar_sigma(L-K+1) / mu_K`, what the last `K` items need while lists are full; missing in `N_3_by_phase`."""
    return float(q.K * q.T_bar[q.L - q.K] / q.mu[-1])


def theorem_upper(q: Quantities) -> UpperBound:
    """[thm:fix_conf_up_bd] in steps, with the explicit constants of its proof; needs `K' < 2K - 1`.

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
    if not has_theorem(q):
        raise ValueError(f"K' = {q.K_prime} is not below 2K - 1 = {2 * q.K - 1}")
    m = _list_lengths(q)
    c = 2 * spread_ratios(q)
    rounding = np.concatenate([[q.K - 1], 2 * m[1:] - 1])
    last = first_full_lists(q) + N_3_by_phase(q) + (rounding / q.mu[m - 1]).sum()
    return UpperBound(
        "theorem",
        {
            "N_1": float((c * np.log(2 * c.sum() / (c * q.delta))).sum()),
            "N_2": 2 * N_2(q),
            "N_3": float(2 * last),
        },
    )


def many_optimal_upper(q: Quantities) -> UpperBound:
    """[prop:fix_conf_up_bd_many_eps_opt] in steps: lists stay full to the end; needs `K' >= 2K - 1`.

    Raises:
        ValueError: if `K' < 2K - 1`.
    """
    if has_theorem(q):
        raise ValueError(f"K' = {q.K_prime} is below 2K - 1 = {2 * q.K - 1}")
    left = q.K_prime - q.K
    last = q.L - left - 1
    observations = q.T_bar[:last].sum() + (left + 1) * q.T_bar[last] + left
    spread = 2 * (q.v[-1] / q.mu[-1]) ** 2 * np.log(2 / q.delta)
    return UpperBound("many optimal", {"N_1'": float(spread), "N_2'": float(2 * observations / q.mu[-1])})


def general_upper(q: Quantities) -> UpperBound:
    """The bound for any instance: the theorem, or the proposition where it does not apply."""
    return theorem_upper(q) if has_theorem(q) else many_optimal_upper(q)


def _list_lengths(q: Quantities) -> IntArray:
    """Survivors shown in phases `k = 1..K-K_2`: `K, K-1, ..., K_2 + 1`."""
    return np.arange(q.K, q.K_2, -1, dtype=np.int64)


def _growth(q: Quantities) -> FloatArray:
    """`T-bar_sigma(L-K+k) - T-bar_sigma(L-K+k-1)` for `k = 2..K-K_2`; infinite behind an infinite `T-bar`."""
    T = q.T_bar[q.L - q.K : q.L - q.K_2]
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(T[1:]), np.inf, np.diff(T))
