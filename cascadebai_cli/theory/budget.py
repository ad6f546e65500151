"""Bounds on the probability that the answer after `N` steps is not the `K` best items, with all their constants.

*Steps and observations.* Uniform looking and SAR show the survivors least observed first, so that their counts differ
by one at most. A step observes its first item whatever is clicked, so `n` steps with `D` survivors bring
`floor(n / D)` observations or more to each. After `N` steps of uniform looking every item was observed
`floor(N / L)` times; SAR gives phase `j` as many steps as keep `L + 1 - j` survivors busy for `n_j - n_{j-1}` rounds,
so each of them was observed `n_j` times by its end.

*Counts are random.* How often an item is observed may depend on its own outcomes, as a click ends the step. So the
bounds must hold for all counts from `n` on at once. They do, with the constants of a fixed count: the mean of the first
`t` outcomes is a martingale as `t` falls, so `exp(s mean)` is a submartingale, and by the inequality of Doob the chance
that a mean reaches `c > w` at any `t >= n` is at most `E exp(s (mean_n - c))` for each `s > 0`: at best
`exp(-n d(c, w))`, which is at most `exp(-2 n (c - w)^2)`. Likewise from above.

*Uniform looking.* If all the best `K` have means above `c` and all items that are not good enough have means below it,
none of these is named. So an error has at most the sum over both of `exp(-n d(c, w))`, for each `c` in between.

*SAR* (Bubeck, Wang and Viswanathan, 2013, Theorem 1). Let `D(1) <= D(2) <= ...` be the gaps. As long as at the end of
phase `j` all survivors' means are less than `e = D(L + 1 - j) / 4` off, for `j = 1, ..., L - 1`, every decision is
right. For let it be so up to phase `j`, which has `d = L + 1 - j` survivors, among them `k` good ones, the weakest of
weight `g`, and bad ones, the strongest of weight `b < g`; let `X(r)` be their r-th largest mean. All `k` good means
are above `g - e`, so `X(k) > g - e`; one of the `k + 1` largest means is that of a bad item, so `X(k + 1) < b + e`.
Of any `d` items one has a gap of `D(d) = 4 e` or more, and then so has the best or the worst of them. In the first
case `X(1) - X(k + 1) > 4 e - 2 e`, in the second `X(k) - X(d) > 2 e`. Now let a bad item have the mean `X(1)`. A good
one stands behind the k-th then, so `X(k + 1) > g - e` and `X(1) - X(k + 1) < b + e - (g - e) < 2 e`, although `X(1)`
is not less than the mean of the best: it is the second case, and this item is not accepted. In the same way no good
item is rejected. A union over items and phases bounds the chance of larger deviations by the sum of `2 L exp(-n_j D(L
+ 1 - j)^2 / 8)`, at most `2 L^2 exp(-(N - L) / (8 logbar(L) H2))`. It knows no tolerance.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from cascadebai_cli.model.problem import FloatArray, Instance, IntArray, divergence

_LEVELS = 400
"""Number of values of `c` that are tried; each of them gives a bound."""
_ROUNDING = 1e-14
"""Relative tolerance for rounding, far above the error of the few operations before it."""
_FAR = 2**62
"""Budgets beyond this are not looked at."""


def _log_bar(L: int) -> float:
    """Return `logbar(L) = 1/2 + 1/2 + 1/3 + ... + 1/L`."""
    return float(0.5 + (1 / np.arange(2, L + 1)).sum())


def least_observations(L: int, N: int) -> IntArray:
    """Return `n_1 <= ... <= n_{L-1}`, `n_j = ceil((N - L) / (logbar(L) (L + 1 - j)))`; all 0 for `N <= L`."""
    # so that a whole number that was rounded up is not raised to the next one
    share = max(N - L, 0) / (_log_bar(L) * np.arange(L, 1, -1))
    return np.asarray(np.ceil(share * (1 - _ROUNDING))).astype(np.int64)


def hardness(instance: Instance) -> float:
    """Return `H`, the sum over items of `1 / gap^2`; inf if a gap is 0."""
    with np.errstate(divide="ignore"):
        return float((instance.gaps**-2.0).sum())


def hardness_of_the_worst(instance: Instance) -> float:
    """Return `H2`, the largest `i / D(i)^2`; between `H / (ln(L) + 1)` and `H`."""
    with np.errstate(divide="ignore"):
        return float((np.arange(1, instance.L + 1) / np.sort(instance.gaps) ** 2).max())


def _uniform_error(instance: Instance, N: int) -> float:
    """Return a bound on the chance that uniform looking for `N` steps gives a wrong answer, at most 1."""
    best = instance.sorted_weights[: instance.K]
    bad = instance.weights[~instance.epsilon_optimal]
    if len(bad) == 0:
        return 0.0
    c = np.linspace(bad.max(), best.min(), _LEVELS + 2)[1:-1, None]
    rates = np.concatenate([divergence(c, best), divergence(c, bad)], axis=1)
    return min(1.0, float(_sum_of(rates, N // instance.L).min()))


def _sum_of(rates: FloatArray, n: int) -> FloatArray:
    # an item with w = 0 or w = 1 has an infinite divergence: once observed, its mean is exact
    return np.exp(-n * rates).sum(axis=1) if n else np.full(len(rates), np.inf)


def _sar_error(instance: Instance, N: int) -> float:
    """Return a bound on the chance that SAR errs with a budget of `N` steps, at most 1; `nan` with a tolerance."""
    if instance.epsilon > 0:
        return float("nan")
    gaps = np.sort(instance.gaps)[1:][::-1]
    exponents = least_observations(instance.L, N) * gaps**2 / 8
    return min(1.0, float(2 * instance.L * np.exp(-exponents).sum()))


ERRORS: dict[str, Callable[[Instance, int], float]] = {"uniform": _uniform_error, "sar": _sar_error}
"""Learner -> bound on the chance of an error after `N` steps, which falls with `N`."""


def enough(algorithm: str, instance: Instance, delta: float) -> float:
    """Return the smallest budget at which the bound of a learner is below `delta`; `nan` if there is none."""
    error = partial(ERRORS[algorithm], instance)
    high = 1
    while not error(high) < delta:
        high *= 2
        if high > _FAR:
            return float("nan")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if error(middle) < delta else (middle, high)
    return float(high)
