"""The martingale of `stopping: mixture`, term by term in plain Python: the judge of `learners/bounds.py`.

Shares nothing with the package.
"""

import math

TOWARDS, BASE, FIRST = 0.8, 0.15, 0.5
LARGE = sum(1 / (k + 2) for k in range(10))
SHIFTS = [(4 / 2**k, 0.98 / (k + 2) / LARGE if k < 10 else 0.002) for k in range(20)]


def best(weights, K):
    """The `K` largest; of equals the first."""
    return sorted(range(len(weights)), key=lambda i: -weights[i])[:K]


def shifted(t, s, w, sign):
    """The mixture over all shifts of one sign; more than `e^600` is called that."""
    return sum(c * math.exp(min(sign * z * s - t * math.log1p(w * math.expm1(sign * z)), 600)) for z, c in SHIFTS)


def of_rank(n):
    """Shares of the ranks from the boundary on."""
    return [1.0] if n == 1 else [FIRST] + [(1 - FIRST) / (n - 1)] * (n - 1)


def side(items, T, S, w, sign):
    """The factor of one side, whose items are given from the boundary on."""
    total = 0.0
    for share, i in zip(of_rank(len(items)), items, strict=True):
        towards, away = (shifted(T[i], S[i], w[i], turn) for turn in (sign, -sign))
        total += share * (TOWARDS * towards + (1 - TOWARDS) * away)
    return BASE + (1 - BASE) * total


def martingale(T, S, w, K):
    """`M` after these counts and clicks, if the weights are `w`."""
    inside = best(w, K)
    outside = sorted(set(range(len(w))) - set(inside), key=lambda i: (-w[i], i))
    return side(outside, T, S, w, 1) * side(inside[::-1], T, S, w, -1)


def least(T, S, K, places):
    """The least `F(x) H(y)` of these places with `x <= y`."""
    J = best([s / max(t, 1) for t, s in zip(T, S, strict=True)], K)
    others = [i for i in range(len(T)) if i not in J]
    found, F = math.inf, math.inf
    for x in sorted(places):
        up, down = ([shifted(T[i], S[i], x, turn) for i in items] for turn, items in ((1, J), (-1, others)))
        F = min(F, least_side(min(up), down))
        found = min(found, F * least_side(min(down), up))
    return found


def least_side(wrong, between):
    """The least factor of a side over all numbers of items in between."""
    share, passed = of_rank(len(between)), sorted(between)
    sums = (
        TOWARDS * share[n] * wrong + (1 - TOWARDS) * sum(p * r for p, r in zip(share[:n], passed, strict=False))
        for n in range(len(between))
    )
    return BASE + (1 - BASE) * min(sums)


def may_stop(T, S, K, delta, places=40):
    """All wrong answers are refuted at all places between the smallest and the largest mean, and at 0 and 1."""
    means = [s / max(t, 1) for t, s in zip(T, S, strict=True)]
    low, high = min(means), max(means)
    return least(T, S, K, [0, 1, *(low + (high - low) * k / places for k in range(places + 1))]) > 1 / delta
