"""How to show lists so that the two laws hardest to tell apart are told apart soonest, with a certified gap."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray, divergence, evidence

# --- The lists that may be shown and how often they let a user look at an item --------------------------------------
#
# A list `s = (s_1, ..., s_M)` of different items gets `s_j` looked at with probability
# `q(s_j) = (1 - z(s_1)) ... (1 - z(s_(j-1)))`, where `z(i)` is the probability that the step ends with a look at item
# `i`: its weight under cascading feedback, 0 where every item shown is observed (semi-bandit feedback).
#
# **The best list for given rewards.** For rewards `r_i >= 0` of a look at item `i`, the list that maximises
# `r(s) = sum_j r(s_j) q(s_j)` has these properties.
#
# 1. It is sorted by `r_i / z_i`: with `p` the probability to reach two neighbours `i, k`, and the same chance
#    `p (1 - z_i)(1 - z_k)` to go on behind them in either order, exchanging them changes `r(s)` from
#    `p (r_i + (1 - z_i) r_k)` to `p (r_k + (1 - z_k) r_i)`, a loss if and only if `r_i z_k > r_k z_i`. Items
#    with `z_i = 0 < r_i` come first (they cost nothing), those with `z_i = r_i = 0` matter nowhere and come last.
# 2. Among lists in this order, the best with at most `j` items from the `k`-th on has the value
#    `V_k(j) = max(V_(k+1)(j), r_k + (1 - z_k) V_(k+1)(j - 1))`, `V(0) = 0`. One sort and `L M` operations find it.
# 3. Items put behind it take nothing away from those before, so lists of the full length `M` are optimal.
#
# Items alike are pooled: a *level* has a size, and a list names levels, each at most as often as its size. Rates and
# rewards belong to one item of a level, averaged over its items: by symmetry these take turns.


Levels = tuple[int, ...]
"""A list as the numbers of its levels, first to last."""


@dataclass(frozen=True, eq=False)
class Lists:
    """All lists of `M` different items.

    Args:
        ends: `z`, the probability that a look at an item ends the step, shape `(C,)` for `C` levels.
        sizes: number of items of each level, shape `(C,)`.
        M: length of a list; shorter where there are fewer items.
    """

    ends: FloatArray
    sizes: IntArray
    M: int

    def rates(self, shown: Sequence[int]) -> FloatArray:
        """Looks that a list is expected to bring to each item of a level, shape `(C,)`."""
        levels = np.array(shown, dtype=np.int64)
        reached = np.concatenate([[1.0], np.cumprod(1 - self.ends[levels])[:-1]])
        return np.bincount(levels, reached, len(self.sizes)) / self.sizes

    def best(self, reward: FloatArray) -> tuple[float, Levels]:
        """The largest reward of a list and a list that has it.

        Args:
            reward: at least 0, for the rate of each level, shape `(C,)`: `sum_c reward_c rates_c` is maximised.
        """
        per_look = reward / self.sizes
        items = self._in_order(per_look)
        value = np.zeros(self.M + 1)
        take = np.zeros((len(items), self.M + 1), bool)
        for k in range(len(items) - 1, -1, -1):
            with_it = per_look[items[k]] + (1 - self.ends[items[k]]) * value[:-1]
            take[k, 1:] = with_it > value[1:]
            value[1:] = np.maximum(with_it, value[1:])
        return float(value[-1]), self.filled(_taken(items, take))

    def _in_order(self, per_look: FloatArray) -> IntArray:
        """Levels by descending `r / z`, each as often as a list can hold it."""
        costs = self.ends > 0
        free = np.where(per_look > 0, np.inf, -1.0)
        order = np.argsort(-np.where(costs, per_look / np.where(costs, self.ends, 1), free), kind="stable")
        return np.repeat(order, np.minimum(self.sizes[order], self.M))

    def filled(self, shown: Sequence[int]) -> Levels:
        """The list filled up to its full length behind its end, with the levels that end a step least often."""
        left = self.sizes - np.bincount(np.array(shown, dtype=np.int64), minlength=len(self.sizes))
        order = np.argsort(self.ends, kind="stable")
        rest = np.repeat(order, np.minimum(left[order], self.M))
        return (*shown, *rest[: self.M - len(shown)].tolist())


def _taken(items: IntArray, take: BoolArray) -> list[int]:
    """Follow the decisions of the dynamic programme from the first item on."""
    chosen: list[int] = []
    for item, decisions in zip(items.tolist(), take[:, ::-1], strict=True):
        if len(chosen) < len(decisions) - 1 and decisions[len(chosen)]:
            chosen.append(item)
    return chosen


# --- How to show lists so that the two laws hardest to tell apart are told apart soonest, with a certified gap ------
#
# For `n` looks at an item of each level, `g_ab(n) = min over x of n_a d(w_a, x) + n_b d(w_b, x)` is the evidence that a
# best level `a` has a larger weight than another one, `b`; the minimum is at the pooled mean
# `x = (n_a w_a + n_b w_b) / (n_a + n_b)`. This module maximises `G(n) = min over a, b of g_ab(n)` over
# `n = seen + conv{rates(s)}`.
#
# *Certificate.* For any `x`, `n_a d(w_a, x) + n_b d(w_b, x)` is at least `g_ab(n)`: a *cut*, linear in `n`. So for any
# convex combination `r . n` of cuts, `G(n) <= r . n <= r . seen + max over s of r . rates(s)` for all `n`, and
# `Lists.best` finds this maximum exactly. A mixture of lists has a value, a mixture of cuts an upper bound, however
# they were found: the gap between both is certified.
#
# *Search.* A linear programme finds the best mixture of some lists against some cuts, and its multipliers the best
# mixture of these cuts. Then three things join it, until the gap is small:
#
# 1. the lists that are best against this mixture of cuts, and against those between it and the best one so far, which
#    keeps the search from jumping about;
# 2. the lists that a *drift* meets, steps of Frank and Wolfe on a softened minimum of the `g_ab`: many lists that
#    complement each other, at the price of one sort each;
# 3. cuts at the pooled means of the pairs with the least evidence.


_ROUNDS = 200
"""Linear programmes at most."""
_TOWARDS_BEST = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95)
"""How far from the multipliers found last to the best ones so far lists are sought."""
_WORTH = 0.1
"""Cuts join that lower the value by this part of the tolerance."""
_FIRST_DRIFT, _DRIFT = 4, 20
"""Steps of the first drift per level, and of the later ones."""
_SOFT, _SOFTER = 0.1, 0.02
"""Softness of the minimum, as a part of its value, in the first drift and in the later ones."""
_PACE, _LATER_PACE = 20, 0.02
"""The k-th step of the first drift moves by `2 / (k + _PACE)`, those of the later ones by `_LATER_PACE`."""


@dataclass(frozen=True, eq=False)
class Contest:
    """What is to be told apart, by which lists.

    Args:
        weights: click probability of each level, shape `(C,)`.
        best: mask of the best levels; each weighs more than every other level.
        lists: the lists that may be shown.
        seen: looks at an item of each level beforehand, in units of the lists to come; none by default.
    """

    weights: FloatArray
    best: BoolArray
    lists: Lists
    seen: FloatArray | float = 0.0

    def looks(self, rates: FloatArray) -> FloatArray:
        """`n`: what was seen and what will be."""
        return self.seen + rates

    def evidence(self, n: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`g_ab(n)` and the pooled means of all pairs of a best level and another one, of one shape each."""
        return evidence(n[self.best, None], self.weights[self.best, None], n[~self.best], self.weights[~self.best])

    def softened(self, n: FloatArray, softness: float) -> FloatArray:
        """Gradient of `-h ln sum_ab exp(-g_ab(n) / h)` for the softness `h`: a mixture of cuts."""
        g, x = self.evidence(n)
        part = np.exp((g.min() - g) / softness)
        part /= part.sum()
        r = np.empty(len(n))
        r[self.best] = (part * divergence(self.weights[self.best, None], x)).sum(axis=1)
        r[~self.best] = (part * divergence(self.weights[~self.best], x)).sum(axis=0)
        return r


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of lists and how good it is.

    Attributes:
        lists: lists as levels, first to last.
        shares: share of each list, positive, of sum 1.
        rates: looks at an item of each level per list shown, shape `(C,)`.
        value: `G` of the mixture.
        upper: no mixture has a larger value.
    """

    lists: tuple[Levels, ...]
    shares: FloatArray
    rates: FloatArray
    value: float
    upper: float

    @property
    def gap(self) -> float:
        """Certified relative gap `upper / value - 1`."""
        return self.upper / self.value - 1


def maximin(contest: Contest, tolerance: float = 1e-3) -> Mixture:
    """The mixture of lists that maximises `G`, within a relative `tolerance` unless `_ROUNDS` end the search."""
    search = _Search(contest, tolerance)
    search.begin()
    for _ in range(_ROUNDS):
        if search.upper <= search.value * (1 + tolerance) or not search.improve():
            break
    return search.result()


class _Search:
    """Lists and cuts that were found so far.

    Attributes:
        lists, columns: each list and its rates.
        a, b: levels of each cut; `d_a, d_b` its divergences.
        value, shares: the best mixture of lists so far.
        upper, weight: the best mixture of cuts so far, as a vector `r`.
        unit: what `n` is measured in by the linear programmes.
    """

    def __init__(self, contest: Contest, tolerance: float) -> None:
        self.contest, self.tolerance = contest, tolerance
        self.lists: dict[Levels, int] = {}
        self.columns: list[FloatArray] = []
        self.a, self.b = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.d_a, self.d_b = np.zeros(0), np.zeros(0)
        self.value, self.shares = 0.0, np.zeros(0)
        self.upper, self.weight = np.inf, np.zeros(len(contest.weights))
        self.unit = np.ones(len(contest.weights))

    def begin(self) -> None:
        """Drift from the equal mixture of lists that begin with one level each."""
        sizes, M = self.contest.lists.sizes.tolist(), self.contest.lists.M
        for level, size in enumerate(sizes):
            self.add(self.contest.lists.filled([level] * min(size, M)))
        equal = np.full(len(sizes), 1 / len(sizes))
        self.unit = self.looks(equal)
        self.try_shares(equal)
        self.try_shares(self.drift(equal, _SOFT, 2 / (_PACE + np.arange(_FIRST_DRIFT * len(sizes)))))

    def add(self, shown: Levels) -> int:
        """The number of a list, which is taken in if it is new."""
        if shown not in self.lists:
            self.lists[shown] = len(self.columns)
            self.columns.append(self.contest.lists.rates(shown))
        return self.lists[shown]

    def looks(self, shares: FloatArray) -> FloatArray:
        """`n` of a mixture of the first lists."""
        return self.contest.looks(shares @ np.array(self.columns[: len(shares)]))

    def try_shares(self, shares: FloatArray, claimed: float = np.inf) -> None:
        """Take in a mixture, and the cuts that show it to be worth less than `claimed`."""
        g, x = self.contest.evidence(self.looks(shares))
        if g.min() > self.value:
            self.value, self.shares = float(g.min()), shares
        nearest = np.zeros(g.shape, bool)
        nearest[np.arange(len(g)), g.argmin(axis=1)] = nearest[g.argmin(axis=0), np.arange(g.shape[1])] = True
        row, column = np.nonzero(nearest & (g < claimed * (1 - _WORTH * self.tolerance)))
        w, best, x = self.contest.weights, self.contest.best, x[row, column]
        a, b = np.flatnonzero(best)[row], np.flatnonzero(~best)[column]
        self.a, self.b = np.append(self.a, a), np.append(self.b, b)
        self.d_a, self.d_b = np.append(self.d_a, divergence(w[a], x)), np.append(self.d_b, divergence(w[b], x))

    def improve(self) -> bool:
        """Solve the linear programme, then add lists and cuts; whether anything was added."""
        before = len(self.columns), len(self.a)
        solved = self._solve()
        if solved is None:
            return False
        shares, claimed, mixture = solved
        r = np.bincount(self.a, mixture * self.d_a, len(self.weight))
        r += np.bincount(self.b, mixture * self.d_b, len(self.weight))
        for part in _TOWARDS_BEST:
            self.price(r + part * (self.weight - r))
        self.try_shares(shares, claimed)
        self.drift(shares, _SOFTER, np.full(_DRIFT, _LATER_PACE))
        return (len(self.columns), len(self.a)) != before

    def price(self, r: FloatArray) -> int:
        """Bound the value by a mixture of cuts; the number of the list that is best against it."""
        reward, shown = self.contest.lists.best(r)
        upper = float(r @ self.contest.looks(np.zeros(len(r)))) + reward
        if upper < self.upper:
            self.upper, self.weight = upper, r
        return self.add(shown)

    def drift(self, shares: FloatArray, softness: float, paces: FloatArray) -> FloatArray:
        """Move a mixture step by step towards the list that is best against its softened minimum."""
        n, moved = self.looks(shares), np.append(shares, np.zeros(len(self.columns) + len(paces) - len(shares)))
        for pace in paces.tolist():
            chosen = self.price(self.contest.softened(n, softness * self.value))
            n = n + pace * (self.contest.looks(self.columns[chosen]) - n)
            moved *= 1 - pace
            moved[chosen] += pace
        return moved[: len(self.columns)]

    def _solve(self) -> tuple[FloatArray, float, FloatArray] | None:
        """Shares of the lists, their value against the cuts, and the best mixture of cuts.

        The unknowns are the shares, `n` in units of the equal mixture and the value in units of the best so far.
        """
        columns = np.array(self.columns) / self.unit
        seen = self.contest.looks(np.zeros(len(self.unit))) / self.unit
        d = [self.d_a * self.unit[self.a] / self.value, self.d_b * self.unit[self.b] / self.value]
        found = _against_cuts(columns, seen, (self.a, self.b), (d[0], d[1]))
        if found is None:
            return None
        shares, claimed, multipliers = (np.maximum(part, 0) for part in found)
        return shares / shares.sum(), float(claimed) * self.value, multipliers / multipliers.sum()

    def result(self) -> Mixture:
        """The best mixture found."""
        used = np.flatnonzero(self.shares)
        lists, shares = list(self.lists), self.shares[used]
        rates = shares @ np.array(self.columns)[used]
        return Mixture(tuple(lists[i] for i in used), shares, rates, self.value, self.upper)


def _against_cuts(
    columns: FloatArray, seen: FloatArray, levels: tuple[IntArray, IntArray], d: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Maximise `t` where `t <= d_a n_a + d_b n_b` for all cuts, `n = seen + shares @ columns`, and shares sum to 1.

    Returns:
        the shares, `t` and the multipliers of the cuts; `None` if the solver fails.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    (S, C), cuts = columns.shape, np.arange(len(d[0]))
    places = np.concatenate([S + levels[0], S + levels[1], np.full(len(cuts), S + C)])
    entries = np.concatenate([-d[0], -d[1], np.ones(len(cuts))])
    below = sparse.csr_array((entries, (np.tile(cuts, 3), places)), (len(cuts), S + C + 1))
    makes_n = sparse.hstack([-columns.T, sparse.eye_array(C), sparse.csr_array((C, 1))])
    equal = sparse.vstack([makes_n, np.repeat([[1.0, 0.0]], [S, C + 1], axis=1)])
    right = np.append(np.broadcast_to(seen, C), 1.0)
    for presolve in (True, False):
        found = linprog(
            np.repeat([0.0, -1.0], [S + C, 1]),
            below,
            np.zeros(len(cuts)),
            equal,
            right,
            method="highs-ds",
            options={"presolve": presolve},
        )
        if found.x is not None and found.ineqlin.marginals.any():
            return found.x[:S], found.x[-1], -found.ineqlin.marginals
    return None
