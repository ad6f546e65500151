"""Racing: observe the least observed survivors, accept or reject an item once its interval is clear.

A racing learner is a *rule* (frozen: how many items a step shows, the radius, who is identified from means and
counts) and a *race* (who survives, who was accepted and rejected, in which order). The rule and the race are all
that the fast engines need; `RacingLearner` adds the step-by-step bookkeeping of the reference engine.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray


class RacingRule(Protocol):
    """The part of a racing learner that does not change during a run."""

    @property
    def L(self) -> int:
        """Number of items."""
        ...

    @property
    def K(self) -> int:
        """Number of items to find."""
        ...

    @property
    def epsilon(self) -> float:
        """Tolerance used by `identify`."""
        ...

    @property
    def closes(self) -> bool:
        """Whether the survivors are accepted together once as many survive as are still to be accepted."""
        ...

    def batch(self, survivors: int) -> int:
        """Largest number of observations of a step with that many survivors."""
        ...

    def radius(self, T: ArrayLike) -> FloatArray:
        """Confidence radius after `T` observations; decreasing in `T`."""
        ...

    def identify(self, mean: FloatArray, radius: FloatArray, k: int) -> tuple[BoolArray, BoolArray]:
        """Masks of the survivors to accept and to reject, disjoint, from means and radii of shape `(d,)`.

        `k` items are still to be accepted, `1 <= k < d`. May accept an item only if its mean less its radius
        exceeds the (k+1)-th largest mean plus the smallest radius minus epsilon, and reject one only if its mean
        plus its radius is below the k-th largest mean less the smallest radius minus epsilon: the engines that
        skip rely on it.
        """
        ...


class Race:
    """Who survives, who was accepted and who was rejected, in the order in which it happened."""

    def __init__(self, L: int, K: int, closes: bool = False) -> None:
        self.L, self.K, self.closes = L, K, closes
        self.survivors: IntArray = np.arange(L)
        self.accepted: list[int] = []
        self.rejected: list[int] = []

    @property
    def k(self) -> int:
        """Number of items still to be accepted, `k_t = K - |A_t|`."""
        return self.K - len(self.accepted)

    @property
    def finished(self) -> bool:
        """Line 3 of Algorithm 1: nobody survives, `K` are accepted or `L - K` are rejected."""
        return len(self.survivors) == 0 or len(self.accepted) >= self.K or len(self.rejected) >= self.L - self.K

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The first `K` accepted; if the rejections ended the race, the accepted and the survivors."""
        return tuple([*self.accepted, *self.survivors.tolist()][: self.K])

    def settle(self, accept: BoolArray, reject: BoolArray, mean: FloatArray) -> None:
        """Remove the masked survivors; those accepted together enter in descending order of mean.

        Args:
            accept, reject: disjoint masks over `survivors`.
            mean: their empirical means.
        """
        chosen = np.flatnonzero(accept)
        chosen = chosen[np.argsort(-mean[chosen], kind="stable")]
        self.accepted += self.survivors[chosen].tolist()
        self.rejected += self.survivors[reject].tolist()
        rest = ~(accept | reject)
        self.survivors, mean = self.survivors[rest], mean[rest]
        if self.closes and 0 < len(self.survivors) == self.k:
            self.settle(np.ones(self.k, bool), np.zeros(self.k, bool), mean)


def kth_largest(values: FloatArray, k: int) -> int:
    """Index of the `k`-th largest value (`k` from 1); the first of equals counts as the larger."""
    return int(np.argsort(-values, kind="stable")[k - 1])


class RacingLearner:
    """A racing rule run step by step, counts and sums kept per item.

    Attributes:
        repeats: whether one list may hold an item more than once.
    """

    def __init__(self, rule: RacingRule) -> None:
        self.rule, self.repeats = rule, False
        self.race = Race(rule.L, rule.K, rule.closes)
        self.T: IntArray = np.zeros(rule.L, np.int64)
        self.S: IntArray = np.zeros(rule.L, np.int64)

    @property
    def finished(self) -> bool:
        """Whether the race is over."""
        return self.race.finished

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The items found."""
        return self.race.recommendation

    def select(self) -> list[int]:
        """The least observed survivors in ascending order of `T`, ties in the order of `D`; over again in a long list.

        Items that were already identified may fill the list behind them; they change nothing and are left out.
        """
        D = self.race.survivors
        order = np.argsort(self.T[D], kind="stable")
        return np.resize(D[order], self.rule.batch(len(D))).tolist()

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Update counts and sums, then accept and reject from the state at the end of the step."""
        for item, outcome in zip(shown, outcomes, strict=False):
            self.T[item] += 1
            self.S[item] += outcome
        D = self.race.survivors
        mean = self.S[D] / np.maximum(self.T[D], 1)
        accept, reject = self.rule.identify(mean, self.rule.radius(self.T[D]), self.race.k)
        if accept.any() or reject.any():
            self.race.settle(accept, reject, mean)
