"""Stopping by one martingale for each instance, which no wrong answer keeps small: `stopping: mixture`.

Let `w` be the true weights and `G` the best `K` items, by weight and then by number. The items outside `G` have ranks
`1, 2, ...` from the boundary down, those of `G` from the boundary up. With the shifts `z`, of probabilities `c_z`, let

    `up_i(x) = sum over z of c_z exp(z S_i - T_i ln(1 - x + x e^z))`, and `down_i(x)` the same with `-z` for `z`,
    `R_a = A up_a(w_a) + (1 - A) down_a(w_a)` for `a` outside `G`, `R_b = A down_b(w_b) + (1 - A) up_b(w_b)` for `b` in
    `G`, `M = (B + (1 - B) sum over a of pi_rank(a) R_a) (B + (1 - B) sum over b of rho_rank(b) R_b)`,

where `pi` and `rho` sum to 1 over the ranks and fall with the rank; `A` is `_TOWARDS` and `B` is `_BASE`.

**Stopping once `M > 1 / delta`, whatever `w` for which the answer is wrong, errs with probability at most `delta`,
whatever is shown and whenever one looks** (`epsilon = 0`).

1. Which item is looked at next depends on the past, and its outcome is Bernoulli(`w_i`) given the past, so that
   `e^(z outcome) / (1 - w_i + w_i e^z)` has mean 1. So each term of `R_i` is a nonnegative martingale that begins with
   its probability. An observation changes the terms of one item only, hence products `R_a R_b` of two items are
   martingales too, and so is `M`: its products have one item outside `G` and one of `G`. It begins with 1.
2. By Ville's inequality `M` ever exceeds `1 / delta` with probability at most `delta`, for the true `w`. There is no
   union over pairs or answers: if the answer is wrong for the true `w`, stopping means that this one `M` has exceeded.

**What all these `M` exceed.** The answer `J` is wrong for `w`, that is, not `G`.

3. Let `a` be the item of `J` outside `G` with the best rank, `n + 1`. The `n` items of better ranks are not in `J`, and
   have weights of at least `w_a`. Likewise let `b` be the item of `G` outside `J` with the best rank, `m + 1`; the `m`
   of better ranks are in `J`, and have weights of at most `w_b`. And `w_a <= w_b`. The other terms of `M` are left out.
4. `up_i` falls and `down_i` grows with `x`. So with `x = w_a` and `y = w_b` the sum of the first factor is at least

    `pi_(n+1) A up_a(x) + sum over the n items of pi_rank (1 - A) down_i(x)`,

   and at least the same with the least `up_a(x)` of `J` for `a`, and for the others the `n` least `down_i(x)` outside
   `J`, the least of them with the largest `pi` (rearrangement). Let `F(x)` be the first factor with the least of this
   over `n = 0, ..., L - K - 1` in place of its sum. Likewise the second factor is at least `H(y)`, with the least
   `down_b(y)` outside `J` and the `m` least `up_i(y)` in `J`.
5. It remains that `F(x) H(y) > 1 / delta` for all `0 <= x <= y <= 1`. This is shown for whole cells `l <= x <= r`: the
   `up_i` are at least `up_i(r)` there, the `down_i` at least `down_i(l)`; both `F` and `H` grow with them. The cells
   cover 0 to 1, and pairs of which all `x` exceed all `y` are left out. Cells for which this is not enough are halved,
   until it is enough or the ends of some fail themselves (`_HALVINGS` at most: to give up only delays the stop).

What is compared has to exceed `ln(1 / delta)` by `_ROUNDING` times the largest count, more than is lost by rounding:
the exponents are differences of numbers of at most 4 times a count. `tests/unit/test_stopping_mixture.py` checks the
steps by numbers.
"""

from functools import reduce

import numpy as np

from cascadebai_cli.learners.bounds import best_means
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

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
    of_rank = np.log(ranks(len(between)))[:, None]
    total = of_rank + wrong
    passed = np.logaddexp.accumulate(of_rank[:-1] + np.sort(between, axis=0)[:-1], axis=0)
    total[1:] = np.logaddexp(total[1:], passed)
    return np.asarray(np.logaddexp(np.log(_BASE), np.log1p(-_BASE) + total.min(axis=0)))


def ranks(n: int) -> FloatArray:
    """Return `pi_1, ..., pi_n`."""
    return np.append(_FIRST_RANK, np.full(n - 1, (1 - _FIRST_RANK) / (n - 1))) if n > 1 else np.ones(1)


def least(F: FloatArray, H: FloatArray) -> float:
    """Return the least `F + H` of a place and one that is not left of it."""
    return float((np.minimum.accumulate(F) + H).min())


def _least_with_each(F: FloatArray, H: FloatArray) -> FloatArray:
    """Return the least `F + H` of which each place is part."""
    before, after = np.minimum.accumulate(F), np.minimum.accumulate(H[::-1])[::-1]
    return np.minimum(F + after, before + H)
