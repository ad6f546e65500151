"""The lists that may be shown and how often they let a user look at an item.

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
   `V_k(j) = max(V_(k+1)(j), r_k + (1 - z_k) V_(k+1)(j - 1))`, `V(0) = 0`. One sort and `L M` operations find it.
3. Items put behind it take nothing away from those before, so lists of the full length `M` are optimal.

Items alike are pooled: a *level* has a size, and a list names levels, each at most as often as its size. Rates and
rewards belong to one item of a level, averaged over its items: by symmetry these take turns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

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
