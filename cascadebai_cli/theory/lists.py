"""The lists that may be shown, how often they let a user look at an item, and the best list for given rewards.

A list `s = (s_1, ..., s_M)` of different items gets `s_j` looked at with probability
`q(s_j) = (1 - z(s_1)) ... (1 - z(s_(j-1)))`, where `z(i)` is the probability that the step ends with a look at item
`i`: its weight under cascading feedback, 0 where every item shown is observed (semi-bandit feedback).

**The best list for given rewards.** For rewards `r_i >= 0` of a look at item `i`, the list that maximises
`r(s) = sum_j r(s_j) q(s_j)` has these properties.

1. It is sorted by `r_i / z_i`: with `p` the probability to reach two neighbours `i, k`, and the same chance
   `p (1 - z_i)(1 - z_k)` to go on behind them in either order, exchanging them changes `r(s)` from
   `p (r_i + (1 - z_i) r_k)` to `p (r_k + (1 - z_k) r_i)`, a loss if and only if `r_i z_k > r_k z_i`. Items
   with `z_i = 0 < r_i` come first (they cost nothing), those with `z_i = r_i = 0` matter nowhere and come last.
2. Among lists in this order, the best with at most `j` items from the `k`-th on has the value
   `V_k(j) = max(V_(k+1)(j), r_k + (1 - z_k) V_(k+1)(j - 1))`, `V(0) = 0`: for each `j` the largest of
   `r_i + (1 - z_i) V_(i+1)(j - 1)` from `i = k` on. One sort and `M` passes over the items find it.
3. Items put behind it take nothing away from those before, so lists of the full length `M` are optimal.

*Other users.* Nothing here asks why a step ends, so `z(i)` may be any chance that belongs to the item: `w (1 - g)` of
users who go on after a click with probability `g`, `w + (1 - w) l` of users who leave after a skip with probability
`l`. Where each place is looked at with a probability of its own, whatever is shown, the best list has the largest
reward in the place that is looked at most, and so on (`PlacedLists`).

Items alike are pooled: a *level* has a size, and a list names levels, each at most as often as its size. Rates and
rewards belong to one item of a level, averaged over its items: by symmetry these take turns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from cascadebai_cli.model.problem import FloatArray, IntArray

Levels = tuple[int, ...]
"""A list as the numbers of its levels, first to last."""
_AT_ONCE = 2**21
"""Values of the dynamic programme that are kept at once, about."""


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

    @cached_property
    def _items(self) -> IntArray:
        """The level of each item that a list can hold, shape `(N,)`."""
        return np.repeat(np.arange(len(self.sizes)), np.minimum(self.sizes, self.M))

    @cached_property
    def length(self) -> int:
        """Items of a list: `M`, or all if there are fewer."""
        return min(self.M, len(self._items))

    @property
    def effort(self) -> int:
        """Values of the dynamic programme that finds a best list."""
        return (self.length + 1) * (len(self._items) + 1)

    def rates(self, shown: Sequence[int]) -> FloatArray:
        """Looks that a list is expected to bring to each item of a level, shape `(C,)`."""
        levels = np.array(shown, dtype=np.int64)
        return np.bincount(levels, self.looks(levels), len(self.sizes)).astype(np.float64)

    def looks(self, shown: IntArray) -> FloatArray:
        """Looks that each place of lists, shape `(..., M)`, is expected to bring to an item of its level."""
        reached = np.cumprod(1 - self.ends[shown[..., :-1]], axis=-1)
        return np.concatenate([np.ones((*shown.shape[:-1], 1)), reached], axis=-1) / self.sizes[shown]

    def best(self, rewards: FloatArray) -> tuple[FloatArray, IntArray]:
        """Find the largest reward of a list, and a list that has it, for each row of rewards: `(B,)` and `(B, length)`.

        Args:
            rewards: at least 0, for the rate of each level, shape `(B, C)`: `sum_c reward_c rates_c` is maximised.
        """
        step = max(1, _AT_ONCE // self.effort)
        parts = [self._best(rewards[first : first + step]) for first in range(0, len(rewards), step)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _best(self, rewards: FloatArray) -> tuple[FloatArray, IntArray]:
        per_look = rewards / self.sizes
        items = self._last_first(per_look)
        reward, goes_on = np.take_along_axis(per_look, items, axis=1), 1 - self.ends[items]
        # V[j, :, k] is the best of at most j of the last k items
        V = np.zeros((self.length + 1, len(items), items.shape[1] + 1))
        for before, V_j in pairwise(V):
            np.maximum.accumulate(reward + goes_on * before[:, :-1], axis=1, out=V_j[:, 1:])
        shown = _chosen(V, items)
        for row in np.flatnonzero(shown[:, -1] < 0):
            shown[row] = self.filled(shown[row][shown[row] >= 0])
        return V[-1, :, -1], shown

    def _last_first(self, per_look: FloatArray) -> IntArray:
        """Levels by ascending `r / z`, each as often as a list can hold it, for each row of rewards."""
        costs = self.ends > 0
        free = np.where(per_look > 0, np.inf, -1.0)
        ratio = np.where(costs, per_look / np.where(costs, self.ends, 1), free)
        return np.asarray(self._items[np.argsort(ratio[:, self._items], axis=1, kind="stable")])

    def filled(self, shown: Sequence[int] | IntArray) -> Levels:
        """The list filled up to its full length behind its end, with the levels that end a step least often."""
        left = self.sizes - np.bincount(np.array(shown, dtype=np.int64), minlength=len(self.sizes))
        order = np.argsort(self.ends, kind="stable")
        rest = np.repeat(order, np.minimum(left[order], self.M))
        return (*np.array(shown).tolist(), *rest[: self.length - len(shown)].tolist())


@dataclass(frozen=True, eq=False)
class PlacedLists(Lists):
    """Lists of which each place is looked at with a probability of its own.

    Args:
        examined: probability of a look at each place, from the top, shape `(M,)`.
    """

    examined: FloatArray

    def looks(self, shown: IntArray) -> FloatArray:
        """Looks that each place of lists is expected to bring to an item of its level."""
        return np.asarray(self.examined[: self.length] / self.sizes[shown])

    def _best(self, rewards: FloatArray) -> tuple[FloatArray, IntArray]:
        per_look, examined = (rewards / self.sizes)[:, self._items], self.examined[: self.length]
        best = np.argsort(-per_look, axis=1, kind="stable")[:, : self.length]
        place = np.argsort(-examined, kind="stable")
        shown = np.empty_like(best)
        shown[:, place] = self._items[best]
        return np.take_along_axis(per_look, best, axis=1) @ examined[place], shown


def _chosen(V: FloatArray, items: IntArray) -> IntArray:
    """Follow the decisions of the dynamic programme from the first item on; -1 where nothing more is worth a look.

    `V` is smaller before the item that attains it and stays the same from there on along `k`.
    """
    rows, at = np.arange(len(items)), np.full(len(items), items.shape[1])
    first = np.empty((len(V) - 1, len(items)), np.int64)
    for V_j, found in zip(V[:0:-1], first, strict=True):
        np.argmax(V_j >= V_j[rows, at, None], axis=1, out=found)
        at = np.maximum(found - 1, 0)
    return np.where(first > 0, items[rows, first - 1], -1).T
