"""Stopping by generalised likelihood ratios: the best `K` means are told apart from all others, pair by pair.

Let `J` hold the `K` largest empirical means, and for `a` in `J`, `b` not,

    `Z_ab = T_a d(mean_a, x) + T_b d(mean_b, x)`, `x` the pooled mean,

the logarithm of the likelihood of what `a` and `b` did, maximised over all `(u_a, u_b)`, against the same maximised
over `u_a <= u_b`. Stop once `Z_ab > ln(4 sqrt(T_a T_b) K (L - K) / delta)` for all these pairs.

**Whatever is shown and whenever one looks, an answer is wrong with probability at most `delta`** (`epsilon = 0`).

1. What is observed next depends on the past, and the outcome of item `i` then is Bernoulli(`w_i`) given the past. So
   the likelihood of the outcomes of `i` under the Beta(1/2, 1/2) mixture of all `u`, divided by that under `w_i`, is a
   non-negative martingale `R_i` of mean 1 along the single observations, and so is the product `R_a R_b` of two items,
   as an observation changes one factor at most. The ends of steps, or of stretches, are some of these times.
2. `ln R_i >= T_i d(mean_i, w_i) - ln(2 sqrt(T_i))` for `T_i >= 1` (Krichevsky and Trofimov, 1981).
3. By Ville's inequality `R_a R_b` ever exceeds `K (L - K) / delta` with probability at most `delta / (K (L - K))`;
   so for one of the `K (L - K)` pairs of a best item and another with probability at most `delta`.
4. A wrong `J` holds an item `a` that is not among the best `K` and misses one of these, `b`. As `w_a <= w_b`,
   `Z_ab <= T_a d(mean_a, w_a) + T_b d(mean_b, w_b) <= ln R_a + ln R_b + ln(4 sqrt(T_a T_b))`, and stopping means that
   `R_a R_b` has exceeded `K (L - K) / delta`.

Means that are equal have `Z_ab = 0`, as have items never observed: both only delay the stop. For `epsilon > 0` the
alternative would be `u_a <= u_b - epsilon`; this is not offered, and refused.
"""

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.racing import by_mean
from cascadebai_cli.model.divergence import evidence
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

AT_ONCE = 2**16
"""Pairs that are looked at together, about."""


def refuse_tolerance(name: str, epsilon: float) -> None:
    """Refuse `epsilon > 0`.

    Raises:
        ConfigError: if it is.
    """
    if epsilon > 0:
        raise ConfigError(f"{name} stops by likelihood ratios, which need epsilon = 0, not {epsilon:g}")


def threshold(T_a: ArrayLike, T_b: ArrayLike, pairs: int, delta: float) -> FloatArray:
    """`ln(4 sqrt(T_a T_b) pairs / delta)`, inf where a count is 0."""
    both = np.multiply(T_a, T_b, dtype=np.float64)
    return np.where(both > 0, np.log(4 * pairs / delta) + 0.5 * np.log(np.maximum(both, 1)), np.inf)


def told_apart(T: IntArray, S: IntArray, K: int, delta: float) -> bool:
    """Whether the best `K` means are told apart from all others.

    Args:
        T, S: observations and clicks of each item, shape `(L,)`.
        K: number of items sought.
        delta: risk.
    """
    if T.min() == 0:
        return False
    mean, inside = S / T, best_means(S / np.maximum(T, 1), K)
    b, pairs = ~inside, K * (len(T) - K)
    # the weakest first, as they tell soonest, and never all pairs at once
    weakest_first, step = by_mean(mean)[:K][::-1], max(1, AT_ONCE // (len(T) - K))
    parts = (weakest_first[first : first + step] for first in range(0, K, step))
    return all(bool(pairs_apart(T[a, None], mean[a, None], T[b], mean[b], pairs, delta).all()) for a in parts)


def pairs_apart(
    T_a: IntArray, mean_a: FloatArray, T_b: IntArray, mean_b: FloatArray, pairs: int, delta: float
) -> BoolArray:
    """Whether the evidence of each pair, broadcast together, exceeds its threshold."""
    Z, _ = evidence(T_a.astype(np.float64), mean_a, T_b.astype(np.float64), mean_b)
    return np.asarray(threshold(T_a, T_b, pairs, delta) < Z)


def best_means(mean: FloatArray, K: int) -> BoolArray:
    """Mask of the `K` largest means; of equals the first."""
    mask = np.zeros(len(mean), bool)
    mask[by_mean(mean)[:K]] = True
    return mask
