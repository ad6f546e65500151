"""The independent judge of KL-LUCB++ and of the KL bounds, as `algorithm1` is of Algorithm 1: plain Python.

Written from what `cascadebai_cli.learners.bounds` and `kl_lucb` say in words, not from how they do it.
"""

import math
from collections.abc import Callable
from functools import cache

from algorithm1 import Interval, Items, Rewards, Verdict

HALVINGS = 100
UNITS = 2**42
"""Bounds of KL-LUCB++ are whole multiples of one of so many parts, rounded outward; guarded ones need no rounding."""


def rounded(outward: Callable[[float], int], bound: float) -> float:
    """A lower bound by `math.floor`, an upper one by `math.ceil`."""
    return outward(bound * UNITS) / UNITS


def divergence(p: float, q: float) -> float:
    """`kl(p, q)` of clicks with probabilities `p` and `q`."""
    clicks = p * math.log(p / q) if p > 0 else 0.0
    skips = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return clicks + skips


def farthest(mean: float, end: float, level: float) -> float:
    """The `q` between `mean` and `end` that is farthest from `mean` with `kl(mean, q) <= level`, by bisection."""
    inside, outside = mean, end
    for _ in range(HALVINGS):
        q = (inside + outside) / 2
        if q in (0.0, 1.0) or divergence(mean, q) > level:
            outside = q
        else:
            inside = q
    return inside


def kl_interval(alpha_low: float, alpha_high: float) -> Interval:
    """`{q : T kl(S/T, q) <= ln(2 sqrt(T) / alpha)}`, each end at its own risk; [0, 1] before the first observation."""

    def interval(S: int, T: int) -> tuple[float, float]:
        if T == 0:
            return 0.0, 1.0
        low, high = (math.log(2 * math.sqrt(T) / alpha) / T for alpha in (alpha_low, alpha_high))
        return farthest(S / T, 0.0, low), farthest(S / T, 1.0, high)

    return cache(interval)


def kl_lucb_interval(L: int, K: int, delta: float) -> Interval:
    """`delta/2` is shared by the upper bounds of `K` items, and `delta/2` by the lower bounds of `L - K`."""
    return kl_interval(delta / (2 * (L - K)), delta / (2 * K))


def kl_lucb(
    rewards: Rewards,
    K: int,
    interval: Interval,
    epsilon: float = 0.0,
    *,
    M: int | None = None,
    cascading: bool = True,
    cap: float = math.inf,
    batch: int = 1,
) -> Verdict:
    """KL-LUCB++; `M` items are shown at once, `K` by default. Nothing is ever accepted or rejected before the end.

    A list stays for `batch` steps, and only then bounds are looked at; what is seen before is not counted until then.
    """
    items, M, t = Items(rewards, interval), K if M is None else M, 0
    everything = range(items.L)
    while True:
        J = items.ranked(everything)[:K]
        others = [i for i in everything if i not in J]
        weakest = min(sorted(J), key=lambda i: items.low[i])
        rival = max(others, key=lambda i: items.high[i])
        stopped = items.low[weakest] > items.high[rival] - epsilon
        if stopped or t >= cap:
            return Verdict(t, stopped, tuple(J), (), (), tuple(items.T))
        near = everything if 0 in items.T else nearest(items, J, weakest, rival, M)
        shown = sorted(near, key=lambda i: items.T[i])[:M]
        for _ in range(int(min(batch, cap - t))):
            items.observe(shown, cascading, t)
            t += 1


def nearest(items: Items, J: list[int], weakest: int, rival: int, M: int) -> list[int]:
    """The weakest, its rival and the `M - 2` whose bounds overlap most with these two, in the order of the items."""

    def overlap(i: int) -> float:
        return items.high[rival] - items.low[i] if i in J else items.high[i] - items.low[weakest]

    rest = [i for i in range(items.L) if i not in (weakest, rival)]
    chosen = sorted(rest, key=overlap, reverse=True)[: max(M - 2, 0)]
    return sorted([weakest, rival, *chosen])
