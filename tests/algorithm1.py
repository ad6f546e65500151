"""The independent judge: Algorithm 1 and BatchRacing line by line, from the papers alone, in plain Python.

Nothing here is imported from the package, and nothing is fast. `rewards[i][n]` is the outcome of the (n+1)-th
observation of item `i`, 1 a click and 0 a skip; rewards *by time* are a table that begins anew behind its last row,
`rewards[t][i]` the outcome at step `t + 1`. An *interval* is a function of the clicks `S` and observations `T` of an
item to its lower and upper confidence bound.

Numbers are computed in the order in which the papers write them (`S / T`, then minus or plus the radius, then minus
epsilon), so with a radius that is exact every comparison comes out as in any other program that does the same.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

Interval = Callable[[int, int], tuple[float, float]]
Rewards = Sequence[Sequence[int]]


class Verdict(NamedTuple):
    """How a run went: lists shown, whether it stopped by itself, items returned, `A` and `R` in order, counts `T`.

    `accepted_at` and `rejected_at` are the numbers of the steps at whose ends the items of `A` and `R` entered.
    """

    steps: int
    stopped: bool
    output: tuple[int, ...]
    accepted: tuple[int, ...]
    rejected: tuple[int, ...]
    counts: tuple[int, ...]
    accepted_at: tuple[int, ...] = ()
    rejected_at: tuple[int, ...] = ()


def around_the_mean(radius: Callable[[int], float]) -> Interval:
    """`S/T` minus and plus `radius(T)`; everything before the first observation."""

    def interval(S: int, T: int) -> tuple[float, float]:
        return (S / T - radius(T), S / T + radius(T)) if T else (-math.inf, math.inf)

    return cache(interval)


def cascade_interval(L: int, delta: float, sigma: float = 0.5) -> Interval:
    """Section 3: `C(T) = 4 sigma sqrt( ln( log2(2T) / rho ) / T )`, `rho = sqrt(delta / (12 L))`."""
    rho = math.sqrt(delta / (12 * L))
    return around_the_mean(lambda T: 4 * sigma * math.sqrt(math.log(math.log2(2 * T) / rho) / T))


def batch_racing_interval(L: int, delta: float) -> Interval:
    """Jun et al.: `2 sqrt( ln( log2(2T) / omega ) / T )`, `omega = sqrt(delta / (6 L))`."""
    omega = math.sqrt(delta / (6 * L))
    return around_the_mean(lambda T: 2 * math.sqrt(math.log(math.log2(2 * T) / omega) / T))


class Items:
    """What was seen of each item: counts `T`, clicks `S`, mean `w` (0 at first), bounds `low` and `high`."""

    def __init__(self, rewards: Rewards, interval: Interval, by_time: bool = False) -> None:
        self.rewards, self.interval, self.by_time = rewards, interval, by_time
        self.L = len(rewards[0]) if by_time else len(rewards)
        self.T, self.S, self.w = [0] * self.L, [0] * self.L, [0.0] * self.L
        self.low, self.high = ([interval(0, 0)[end]] * self.L for end in (0, 1))

    def observe(self, shown: Sequence[int], cascading: bool, t: int) -> None:
        """The outcomes of `shown` at step `t + 1`, under cascading feedback up to the first click."""
        for i in shown:
            W = self.rewards[t % len(self.rewards)][i] if self.by_time else self.rewards[i][self.T[i]]
            self.S[i] += W
            self.T[i] += 1
            self.w[i] = self.S[i] / self.T[i]
            self.low[i], self.high[i] = self.interval(self.S[i], self.T[i])
            if W and cascading:
                break

    def ranked(self, some: Sequence[int]) -> list[int]:
        """In descending order of mean; of equals the first in the order of `some`."""
        return sorted(some, key=lambda i: self.w[i], reverse=True)

    def displayed(self, shown: list[int], order: str) -> list[int]:
        """In ascending order of mean, U or L, with `-` descending, ties as they are; `T` leaves all as it is."""
        if order == "T":
            return shown
        value = {"mean": self.w, "U": self.high, "L": self.low}[order.removeprefix("-")]
        return sorted(shown, key=lambda i: value[i], reverse=order.startswith("-"))


Rule = Callable[[Items, Sequence[int], int, float], tuple[list[int], list[int]]]
"""Who of the survivors is accepted and rejected, `k` and epsilon given."""


def by_means(items: Items, D: Sequence[int], k: int, epsilon: float) -> tuple[list[int], list[int]]:
    """Lines 14 to 16: compare with the items of the (k+1)-th and the k-th largest mean."""
    ranked = items.ranked(D)
    j_star, j_prime = ranked[k], ranked[k - 1]  # line 14
    accepted = [i for i in ranked if items.low[i] > items.high[j_star] - epsilon]  # line 15
    rejected = [i for i in D if items.high[i] < items.low[j_prime] - epsilon]  # line 16
    return [i for i in accepted if i not in rejected], rejected  # what both lines name is certified to be bad


def by_bounds(items: Items, D: Sequence[int], k: int, epsilon: float) -> tuple[list[int], list[int]]:
    """Compare with the k-th largest upper bound of the other items, and the k-th largest lower bound."""
    least = sorted((items.low[i] for i in D), reverse=True)[k - 1] - epsilon
    accepted = []
    for i in items.ranked(D):
        rivals = sorted((items.high[j] for j in D if j != i), reverse=True)
        if items.low[i] > rivals[k - 1] - epsilon:
            accepted.append(i)
    return accepted, [i for i in D if items.high[i] < least]


def cascade_bai(
    rewards: Rewards,
    K: int,
    interval: Interval,
    epsilon: float = 0.0,
    *,
    rule: Rule = by_means,
    M: int | None = None,
    order: str = "T",
    cascading: bool = True,
    by_time: bool = False,
    cap: float = math.inf,
) -> Verdict:
    """Algorithm 1, with the line numbers of the paper; `M` items are shown at once, `K` by default.

    Identified items that fill up a short list stand behind the survivors and change nothing: they are left out.
    """
    items, M = Items(rewards, interval, by_time), K if M is None else M
    (L, D, A, R, t), at = (items.L, list(range(items.L)), [], [], 0), {}  # line 2
    while D and len(A) < K and len(R) < L - K and t < cap:  # line 3
        shown = sorted(D, key=lambda i: items.T[i])[:M]  # lines 4 to 9
        items.observe(items.displayed(shown, order), cascading, t)  # lines 10, 11 and 13
        k = K - len(A)  # line 12
        accepted, rejected = rule(items, D, k, epsilon)  # lines 14 to 16
        A, R = A + accepted, R + rejected
        D = [i for i in D if i not in A and i not in R]  # line 17
        t += 1  # line 18
        at |= {i: t for i in A + R if i not in at}
    over = not D or len(A) >= K or len(R) >= L - K
    times = (tuple(at[i] for i in those) for those in (A, R))
    return Verdict(t, over, tuple((A + D)[:K]), tuple(A), tuple(R), tuple(items.T), *times)  # line 20


def bat_rac(
    rewards: Rewards, K: int, interval: Interval, b: int, r: int = 1, *, cascading: bool = False, cap: float = math.inf
) -> Verdict:
    """BatchRacing of Jun et al. for the `K` best: `b` pulls a step, at most `r` of one item."""
    items = Items(rewards, interval)
    (L, D, A, R, t), at = (items.L, list(range(items.L)), [], [], 0), {}
    while D and len(A) < K and len(R) < L - K and t < cap:
        items.observe(least_pulled(D, items.T, b, r), cascading, t)
        k, ranked = K - len(A), items.ranked(D)
        high, low = (sorted((bound[i] for i in D), reverse=True) for bound in (items.high, items.low))
        accepted = [i for i in ranked if items.low[i] > high[k]]
        rejected = [i for i in D if items.high[i] < low[k - 1]]
        A, R = A + accepted, R + rejected
        D = [i for i in D if i not in A and i not in R]
        if len(D) == K - len(A):
            A, D = A + items.ranked(D), []
        t += 1
        at |= {i: t for i in A + R if i not in at}
    over = not D or len(A) >= K or len(R) >= L - K
    times = (tuple(at[i] for i in those) for those in (A, R))
    return Verdict(t, over, tuple((A + D)[:K]), tuple(A), tuple(R), tuple(items.T), *times)


def least_pulled(D: Sequence[int], T: Sequence[int], b: int, r: int) -> list[int]:
    """`min(b, r |D|)` pulls chosen one after the other as the least pulled so far, none more than `r` times."""
    pulls: list[int] = []
    for _ in range(min(b, r * len(D))):
        pulls.append(min((i for i in D if pulls.count(i) < r), key=lambda i: T[i] + pulls.count(i)))
    return pulls
