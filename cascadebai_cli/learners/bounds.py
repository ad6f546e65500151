"""Confidence bounds and stopping rules that hold for all numbers of observations at once."""

from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.protocol import by_mean
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray, evidence

# --- Confidence bounds from the Kullback-Leibler divergence of clicks -----------------------------------------------
#
# After `T` observations with mean `m`, the interval `{p : T kl(m, p) <= ln(2 sqrt(T) / alpha)}` misses the click
# probability at some `T` with probability at most `alpha`: the likelihood ratio of the Beta(1/2, 1/2) mixture of all
# `p` against the true one is a martingale of mean 1, which exceeds `1 / alpha` at some time with probability at most
# `alpha` (Ville's inequality), and its logarithm is at least `T kl(m, p) - ln(2 sqrt(T))` (Krichevsky and Trofimov).
#
# `p` solves an equation of a convex function, and Newton's steps from outside the interval never cross the solution.
# Every entry of an array is solved by itself, so that a bound does not depend on the others: engines that compute
# bounds one by one or in bulk get the same floats.

_STEPS = 60
"""Largest number of Newton's steps; about five are taken."""
_SMALL = 1e-15
"""Smaller steps are rounding."""


def kl(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Return `kl(p, q)` of clicks with probabilities `p` and `q`, for `0 < q < 1`.

    The results of learners with these bounds depend on its last bit, so it must not change; `problem.divergence` is
    more exact.
    """
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return np.asarray(_entropy(p) - p * np.log(q) - (1 - p) * np.log1p(-q))


def _entropy(p: FloatArray) -> FloatArray:
    """Return `p ln p + (1 - p) ln(1 - p)`, where `0 ln 0` is 0 (its logarithm is taken of the place holder 1)."""
    skip = 1 - p
    return p * np.log(np.where(p > 0, p, 1)) + skip * np.log(np.where(skip > 0, skip, 1))


def threshold(T: ArrayLike, alpha: float) -> FloatArray:
    """Return `ln(2 sqrt(T) / alpha)`, inf for `T = 0`."""
    count = np.asarray(T, dtype=np.float64)
    return np.where(count > 0, np.log(2 / alpha) + 0.5 * np.log(np.maximum(count, 1)), np.inf)


def kl_upper(mean: ArrayLike, T: ArrayLike, alpha: float) -> FloatArray:
    """Return the upper bound: 1 for `T = 0`, increasing in `mean` and decreasing in `T`.

    Args:
        mean: empirical means.
        T: numbers of observations, broadcast with `mean`.
        alpha: probability that the interval misses the click probability at some time.
    """
    level = threshold(T, alpha) / np.maximum(T, 1)
    return _upper(*np.broadcast_arrays(np.asarray(mean, dtype=np.float64), level))


def kl_lower(mean: ArrayLike, T: ArrayLike, alpha: float) -> FloatArray:
    """Return the lower bound: 0 for `T = 0`, increasing in `mean` and in `T`.

    It is 1 less the upper bound of the share of skips; arguments as for `kl_upper`.
    """
    return 1 - kl_upper(1 - np.asarray(mean, dtype=np.float64), T, alpha)


def _upper(mean: FloatArray, level: FloatArray) -> FloatArray:
    """Return the largest `p` with `kl(mean, p) <= level`: `-expm1(-level)` without clicks, 1 with clicks only."""
    inside = (mean > 0) & (mean < 1) & np.isfinite(level)
    m, b = np.where(inside, mean, 0.5), np.where(inside, level, 1.0)
    p = _solve(m, b, _outside(m, b))
    return np.where(inside, p, np.where(mean < 1, -np.expm1(-level), 1.0))


def _outside(m: FloatArray, b: FloatArray) -> FloatArray:
    """Return a point above the solution, the smallest that three inequalities give.

    These are `kl(m, p) >= (p - m)^2 / (2 v)`, where `v`, the largest `x (1 - x)` between `m` and `p`, is at most 1/4,
    `p` and `1 - m`; and `kl(m, p) >= -H(m) - (1 - m) ln(1 - p)`.
    """
    near = np.sqrt(2 * b * np.minimum(0.25, 1 - m))
    small = b + np.sqrt(b * (b + 2 * m))
    far = -np.expm1((_entropy(m) - b) / (1 - m))
    return np.minimum(m + np.minimum(near, small), np.minimum(far, 1 - 2**-53))


def _solve(m: FloatArray, b: FloatArray, p: FloatArray) -> FloatArray:
    """Take Newton's steps down from `p`, for each entry until it does not move any more."""
    clicks, skips = -m, 1 - m
    for _ in range(_STEPS):
        rise = p - m
        excess = clicks * np.log1p(rise / m) - skips * np.log1p(-rise / skips) - b
        step = excess * p * (1 - p) / np.maximum(rise, _SMALL)
        moves = step > _SMALL
        if not moves.any():
            return p
        p = np.where(moves, p - step, p)
    return p


# --- Stopping by generalised likelihood ratios ----------------------------------------------------------------------
#
# A run stops once the best `K` means are told apart from all others, pair by pair. Let `J` hold the items of the `K`
# largest empirical means, and for `a` in `J` and `b` not in `J` let
#
#     `Z_ab = T_a d(mean_a, x) + T_b d(mean_b, x)`, where `x` is the pooled mean.
#
# This is the logarithm of a likelihood ratio: the likelihood of the outcomes of `a` and `b`, maximised over all
# `(u_a, u_b)`, over the same maximised over `u_a <= u_b`. Stop once `Z_ab > ln(4 sqrt(T_a T_b) K (L - K) / delta)` for
# all these pairs.
#
# **Whatever is shown and whenever one looks, an answer is wrong with probability at most `delta`** (`epsilon = 0`).
#
# 1. What is observed next depends on the past, and the outcome of item `i` then is Bernoulli(`w_i`) given the past. So
#    the likelihood of the outcomes of `i` under the Beta(1/2, 1/2) mixture of all `u`, divided by that under `w_i`, is
#    a non-negative martingale `R_i` of mean 1 along the single observations, and so is the product `R_a R_b` of two
#    items, as an observation changes one factor at most. The ends of steps, or of stretches, are some of these times.
# 2. `ln R_i >= T_i d(mean_i, w_i) - ln(2 sqrt(T_i))` for `T_i >= 1` (Krichevsky and Trofimov, 1981).
# 3. By Ville's inequality `R_a R_b` ever exceeds `K (L - K) / delta` with probability at most `delta / (K (L - K))`; so
#    for one of the `K (L - K)` pairs of a best item and another with probability at most `delta`.
# 4. A wrong `J` holds an item `a` that is not among the best `K` and misses one of these, `b`. As `w_a <= w_b`, `Z_ab
#    <= T_a d(mean_a, w_a) + T_b d(mean_b, w_b) <= ln R_a + ln R_b + ln(4 sqrt(T_a T_b))`, and stopping means that `R_a
#    R_b` has exceeded `K (L - K) / delta`.
#
# Equal means have `Z_ab = 0`, and so have items that were never observed: both only delay the stop. For `epsilon > 0`
# the alternative would be `u_a <= u_b - epsilon`; this is not implemented, and refused.

_AT_ONCE = 2**16
"""About the number of pairs that are looked at together."""


def refuse_tolerance(name: str, epsilon: float) -> None:
    """Raise `ConfigError` for `epsilon > 0`."""
    if epsilon > 0:
        raise ConfigError(f"{name} stops by likelihood ratios, which need epsilon = 0, not {epsilon:g}")


def pair_threshold(T_a: ArrayLike, T_b: ArrayLike, pairs: int, delta: float) -> FloatArray:
    """Return `ln(4 sqrt(T_a T_b) pairs / delta)`, inf where a count is 0."""
    both = np.multiply(T_a, T_b, dtype=np.float64)
    return np.where(both > 0, np.log(4 * pairs / delta) + 0.5 * np.log(np.maximum(both, 1)), np.inf)


def told_apart(T: IntArray, S: IntArray, K: int, delta: float) -> bool:
    """Return whether the best `K` means are told apart from all others.

    Args:
        T, S: observations and clicks of each item, shape `(L,)`.
    """
    if T.min() == 0:
        return False
    mean, step, pairs = S / T, max(1, _AT_ONCE // (len(T) - K)), K * (len(T) - K)
    best, b = np.split(by_mean(mean), [K])
    # the weakest item comes first and alone, as it decides soonest, and never all pairs at once
    parts = np.split(best[::-1], range(1, K, step))
    return all(bool(pairs_apart(T[a, None], mean[a, None], T[b], mean[b], pairs, delta).all()) for a in parts)


def pairs_apart(
    T_a: IntArray, mean_a: FloatArray, T_b: IntArray, mean_b: FloatArray, pairs: int, delta: float
) -> BoolArray:
    """Return whether the evidence of each pair, broadcast together, exceeds its threshold."""
    Z, _ = evidence(T_a.astype(np.float64), mean_a, T_b.astype(np.float64), mean_b)
    return np.asarray(pair_threshold(T_a, T_b, pairs, delta) < Z)


def best_means(mean: FloatArray, K: int) -> BoolArray:
    """Return the mask of the `K` largest means; the first of equal means ranks higher."""
    mask = np.zeros(len(mean), bool)
    mask[by_mean(mean)[:K]] = True
    return mask


# --- Stopping by a martingale for each instance ---------------------------------------------------------------------
#
# One martingale for each instance, which no wrong answer keeps small: `stopping: mixture`.
#
# Let `w` be the true weights and `G` the best `K` items, by weight and then by number. The items outside `G` have ranks
# `1, 2, ...` from the boundary down, those of `G` from the boundary up. With the shifts `z`, of probabilities `c_z`,
# let
#
#     `up_i(x) = sum over z of c_z exp(z S_i - T_i ln(1 - x + x e^z))`, and `down_i(x)` the same with `-z` for `z`,
#     `R_a = A up_a(w_a) + (1 - A) down_a(w_a)` for `a` outside `G`, `R_b = A down_b(w_b) + (1 - A) up_b(w_b)` for `b`
#     in `G`, `M = (B + (1 - B) sum over a of pi_rank(a) R_a) (B + (1 - B) sum over b of rho_rank(b) R_b)`,
#
# where `pi` and `rho` sum to 1 over the ranks and fall with the rank; `A` is `_TOWARDS` and `B` is `_BASE`.
#
# **Stopping once `M > 1 / delta`, whatever `w` for which the answer is wrong, errs with probability at most `delta`,
# whatever is shown and whenever one looks** (`epsilon = 0`).
#
# 1. Which item is looked at next depends on the past, and its outcome is Bernoulli(`w_i`) given the past, so that
#    `e^(z outcome) / (1 - w_i + w_i e^z)` has mean 1. So each term of `R_i` is a nonnegative martingale that begins
#    with its probability. An observation changes the terms of one item only, hence products `R_a R_b` of two items are
#    martingales too, and so is `M`: its products have one item outside `G` and one of `G`. It begins with 1.
# 2. By Ville's inequality `M` ever exceeds `1 / delta` with probability at most `delta`, for the true `w`. There is no
#    union over pairs or answers: if the answer is wrong for the true `w`, stopping means that this one `M` has
#    exceeded.
#
# **What all these `M` exceed.** The answer `J` is wrong for `w`, that is, not `G`.
#
# 3. Let `a` be the item of `J` outside `G` with the best rank, `n + 1`. The `n` items of better ranks are not in `J`,
#    and have weights of at least `w_a`. Likewise let `b` be the item of `G` outside `J` with the best rank, `m + 1`;
#    the `m` of better ranks are in `J`, and have weights of at most `w_b`. And `w_a <= w_b`. The other terms of `M` are
#    left out.
# 4. `up_i` falls and `down_i` grows with `x`. So with `x = w_a` and `y = w_b` the sum of the first factor is at least
#
#     `pi_(n+1) A up_a(x) + sum over the n items of pi_rank (1 - A) down_i(x)`,
#
#    and at least the same with the least `up_a(x)` of `J` for `a`, and for the others the `n` least `down_i(x)` outside
#    `J`, the least of them with the largest `pi` (rearrangement). Let `F(x)` be the first factor with the least of this
#    over `n = 0, ..., L - K - 1` in place of its sum. Likewise the second factor is at least `H(y)`, with the least
#    `down_b(y)` outside `J` and the `m` least `up_i(y)` in `J`.
# 5. It remains that `F(x) H(y) > 1 / delta` for all `0 <= x <= y <= 1`. This is shown for whole cells `l <= x <= r`:
#    the `up_i` are at least `up_i(r)` there, the `down_i` at least `down_i(l)`; both `F` and `H` grow with them. The
#    cells cover 0 to 1, and pairs of which all `x` exceed all `y` are left out. Cells for which this is not enough are
#    halved, until it is enough or the ends of some fail themselves (`_HALVINGS` at most: to give up only delays the
#    stop).
#
# What is compared has to exceed `ln(1 / delta)` by `_ROUNDING` times the largest count, more than is lost by rounding:
# the exponents are differences of numbers of at most 4 times a count. `tests/unit/test_stopping_mixture.py` checks the
# steps by numbers.


_SHIFTS = 4 * 0.5 ** np.arange(20)
_OF_SHIFTS = np.append(0.98 * (1 / np.arange(2, 12)) / (1 / np.arange(2, 12)).sum(), np.full(10, 0.002))
"""Probabilities of the shifts; the ten smallest are for weights that differ by less than about .005."""
_TOWARDS = 0.8
"""Share of the shifts that make an item look as if it were on the other side of the boundary."""
_BASE = 0.15
"""Share of each side that is not put on any item."""
_FIRST_RANK = 0.5
"""Share of the first rank; all others are alike."""
_HALVINGS = 30
"""Most halvings of a cell."""
_ROUNDING = 1e-14


def all_refuted(T: IntArray, S: IntArray, K: int, delta: float) -> bool:
    """Return whether it is certified that `M > 1 / delta` for all weights for which the best `K` means are wrong.

    Args:
        T, S: observations and clicks of each item, shape `(L,)`.
        K: number of items sought.
        delta: risk.
    """
    mean = S / np.maximum(T, 1)
    inside, level = best_means(mean, K), -np.log(delta) + _ROUNDING * float(T.max())
    low, high = mean[~inside].max(), mean[inside].min()
    x = np.unique([0, mean.min(), low, (low + high) / 2, high, mean.max(), 1])
    terms = log_terms(T, S, inside, x)
    for _ in range(_HALVINGS):
        if least(*log_sides(terms[inside], terms[~inside])) <= level:
            return False
        cells = log_sides(terms[inside, 1:], terms[~inside, :-1])
        if least(*cells) > level:
            return True
        at = np.flatnonzero(_least_with_each(*cells) <= level)
        middle = (x[at] + x[at + 1]) / 2
        x = np.insert(x, at + 1, middle)
        terms = np.insert(terms, at + 1, log_terms(T, S, inside, middle), axis=1)
    return False


def log_terms(T: IntArray, S: IntArray, inside: BoolArray, x: FloatArray) -> FloatArray:
    """Return `ln up_i(x)` of the items inside and `ln down_i(x)` of the others, shape `(L, len(x))`."""
    sign = np.where(inside, 1, -1)

    def shifted(z: float, of_shift: float) -> FloatArray:
        cumulant = np.where(inside[:, None], np.log1p(x * np.expm1(z)), np.log1p(x * np.expm1(-z)))
        return np.asarray(np.log(of_shift) + (sign * z * S)[:, None] - T[:, None] * cumulant)

    return np.asarray(reduce(np.logaddexp, map(shifted, _SHIFTS, _OF_SHIFTS)))


def log_sides(up: FloatArray, down: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return `ln F` and `ln H` from the terms of the items in `J` and of the others, at the places of the last axis."""
    towards, away = np.log(_TOWARDS), np.log1p(-_TOWARDS)
    F = _log_side(towards + up.min(axis=0), away + down)
    return F, _log_side(towards + down.min(axis=0), away + up)


def _log_side(wrong: FloatArray, between: FloatArray) -> FloatArray:
    """Return one factor: the least over `n` of the wrong item at rank `n + 1` and the `n` least of those in between."""
    of_rank = np.log(_ranks(len(between)))[:, None]
    total = of_rank + wrong
    passed = np.logaddexp.accumulate(of_rank[:-1] + np.sort(between, axis=0)[:-1], axis=0)
    total[1:] = np.logaddexp(total[1:], passed)
    return np.asarray(np.logaddexp(np.log(_BASE), np.log1p(-_BASE) + total.min(axis=0)))


def _ranks(n: int) -> FloatArray:
    """Return `pi_1, ..., pi_n`."""
    return np.append(_FIRST_RANK, np.full(n - 1, (1 - _FIRST_RANK) / (n - 1))) if n > 1 else np.ones(1)


def least(F: FloatArray, H: FloatArray) -> float:
    """Return the least `F + H` of a place and one that is not left of it."""
    return float((np.minimum.accumulate(F) + H).min())


def _least_with_each(F: FloatArray, H: FloatArray) -> FloatArray:
    """Return the least `F + H` of which each place is part."""
    before, after = np.minimum.accumulate(F), np.minimum.accumulate(H[::-1])[::-1]
    return np.minimum(F + after, before + H)
