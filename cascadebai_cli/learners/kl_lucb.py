"""KL-LUCB++ for cascading feedback: show the items that stand in the way of stopping.

After KL-LUCB (Kaufmann and Kalyanakrishnan, 2013) and LUCB++ (Simchowitz, Jamieson and Recht, 2017), which observe the
weakest of the seemingly best `K` items and its strongest rival at each step; a list of `M` has room for `M - 2` more.

Why this stays (epsilon, delta, K)-PAC under cascading feedback: whether an item of a list is observed depends on the
outcomes of the items before it, and what is shown depends on the past, but nothing depends on the item's own next
outcome. So the n-th observation of item `i` is Bernoulli(w(i)), independent of everything before, and the KL bounds
(`bounds`) hold for every number of observations at once. The upper bounds of the `K` best items fail with probability
at most `delta / 2` together, and so do the lower bounds of the `L - K` others. If none fails, take a returned item `b`
that is not epsilon-optimal. It is none of the `K` best, so one of these, `a`, was not returned, and
`w(b) >= L(b) > U(a) - epsilon >= w(a) - epsilon >= w(K) - epsilon`, a contradiction.

With `stopping: glr` the same items are shown, and the run stops by likelihood ratios (`bounds`) instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.bounds import best_means, kl_lower, kl_upper, refuse_tolerance, told_apart
from cascadebai_cli.learners.protocol import by_mean, check_list_length
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

_Stopping = Literal["bounds", "glr"]

_MOST_ITEMS = 2**17
"""Largest number of items for which the lockstep engine can keep an item and a bound in one whole number."""


@dataclass(frozen=True)
class LucbRule:
    """The part of KL-LUCB++ that does not change during a run.

    Args:
        epsilon: tolerance, 0 or larger; 0 for `glr`.
        stopping: `bounds` to stop once the bounds part, `glr` once likelihood ratios tell all pairs apart.
        list_length: `M`, the number of items shown at once; `K` if `None`.

    Attributes:
        UNIT: bounds are rounded outward to whole multiples of it, so that their differences and comparisons are exact.

    Raises:
        ConfigError: for another `stopping`, or `glr` with a tolerance.
    """

    UNIT: ClassVar = 2.0**-42

    L: int
    K: int
    delta: float
    epsilon: float = 0.0
    stopping: _Stopping = "bounds"
    list_length: int | None = None

    def __post_init__(self) -> None:
        check_list_length(self.list_length)
        if self.stopping == "glr":
            refuse_tolerance("kl-lucb++ with stopping: glr", self.epsilon)
        elif self.stopping != "bounds":
            raise ConfigError(f"stopping is {self.stopping!r}, but must be bounds or glr")

    @property
    def M(self) -> int:
        """Length of the list, at most the number of items."""
        return min(self.list_length or self.K, self.L)

    def lower(self, mean: ArrayLike, T: ArrayLike) -> FloatArray:
        """Return the lower confidence bound, at the risk `delta / (2 (L - K))`: at most `L - K` of them matter."""
        return np.floor(kl_lower(mean, T, self.delta / (2 * (self.L - self.K))) / self.UNIT) * self.UNIT

    def upper(self, mean: ArrayLike, T: ArrayLike) -> FloatArray:
        """Return the upper confidence bound, at the risk `delta / (2 K)`: `K` of them matter."""
        return np.ceil(kl_upper(mean, T, self.delta / (2 * self.K)) / self.UNIT) * self.UNIT

    def best(self, mean: FloatArray) -> tuple[int, ...]:
        """Return the items of the `K` largest means, in descending order."""
        return tuple(by_mean(mean)[: self.K].tolist())

    @property
    def may_end_early(self) -> bool:
        """Whether a run may stop before all items were observed, which takes a tolerance close to 1.

        An unobserved item reaches from 0 to 1, and no other was observed more than once.
        """
        return bool(self.epsilon > min(1 - self.lower(1.0, 1), self.upper(0.0, 1)))


class Boundary(NamedTuple):
    """The boundary between the seemingly best items, `J`, and the others.

    Attributes:
        inside: mask of `J`.
        weakest: the item of `J` with the smallest lower bound, `h`.
        rival: the item outside with the largest upper bound, `l`.
    """

    inside: BoolArray
    weakest: int
    rival: int


class KLLucb:
    """KL-LUCB++ step by step; arguments as for `LucbRule`. Ties go to the item that comes first."""

    any_order = True  # the proof holds whatever decides that an item is looked at

    def __init__(
        self,
        L: int,
        K: int,
        delta: float,
        epsilon: float = 0.0,
        stopping: _Stopping = "bounds",
        list_length: int | None = None,
    ) -> None:
        self.rule = LucbRule(L, K, delta, epsilon, stopping, list_length)
        self.take_place(np.zeros(L, np.int64), np.zeros(L, np.int64))

    def take_place(self, T: IntArray, S: IntArray) -> None:
        """Go on from these counts and clicks, shape `(L,)`."""
        self.T, self.S = T.copy(), S.copy()
        self.lower, self.upper = self.rule.lower(self.mean, self.T), self.rule.upper(self.mean, self.T)
        self.boundary = self._boundary()

    @property
    def engines(self) -> tuple[str, ...]:
        """Fast engine that is exact: lockstep, but not for a derived class, nor for very many items."""
        return ("lockstep",) if type(self) is KLLucb and self.rule.L <= _MOST_ITEMS else ()

    @property
    def engines_in_batches(self) -> tuple[str, ...]:
        """Fast engine for lists that stay; then the learner takes in sums, which the bounds allow at any time."""
        return self.engines if self.rule.stopping == "bounds" else ()

    def take_in(self, looks: IntArray, clicks: IntArray) -> None:
        """Take in further looks and clicks of each item, shape `(L,)`."""
        self.take_place(self.T + looks, self.S + clicks)

    @property
    def mean(self) -> FloatArray:
        """Empirical means, 0 for items that were not observed."""
        return np.asarray(self.S / np.maximum(self.T, 1))

    @property
    def finished(self) -> bool:
        """Whether the run stops, by the bounds or by likelihood ratios (`stopping`).

        By the bounds it stops if every lower bound inside `J` exceeds all upper bounds outside less `epsilon`.
        """
        if self.rule.stopping == "glr":
            return told_apart(self.T, self.S, self.rule.K, self.rule.delta)
        _, weakest, rival = self.boundary
        return bool(self.upper[rival] - self.lower[weakest] < self.rule.epsilon)

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The items of `J`, in descending order of mean."""
        return self.rule.best(self.mean)

    @property
    def answer(self) -> tuple[int, ...]:
        """The items to name now, `J`."""
        return self.recommendation

    def select(self) -> list[int]:
        """Return the items nearest to the boundary in ascending order of `T`; at first the least observed items."""
        by_count: list[int] = np.argsort(self.T, kind="stable").tolist()
        near = set(by_count) if self.T.min() == 0 else self._nearest()
        return [item for item in by_count if item in near][: self.rule.M]

    def _boundary(self) -> Boundary:
        inside = best_means(self.mean, self.rule.K)
        weakest = int(np.where(inside, self.lower, np.inf).argmin())
        rival = int(np.where(inside, -np.inf, self.upper).argmax())
        return Boundary(inside, weakest, rival)

    def _nearest(self) -> set[int]:
        """Return the weakest item, its rival and the `M - 2` items whose bounds overlap most across the boundary."""
        inside, weakest, rival = self.boundary
        overlap = np.where(inside, self.upper[rival] - self.lower, self.upper - self.lower[weakest])
        overlap[[weakest, rival]] = np.inf
        return set(np.argsort(-overlap, kind="stable")[: max(self.rule.M, 2)].tolist())

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Update counts, sums and bounds of the items that were observed."""
        seen = np.array(shown[: len(outcomes)])
        self.T[seen] += 1
        self.S[seen] += np.array(outcomes)
        mean = self.S[seen] / self.T[seen]
        self.lower[seen] = self.rule.lower(mean, self.T[seen])
        self.upper[seen] = self.rule.upper(mean, self.T[seen])
        self.boundary = self._boundary()
