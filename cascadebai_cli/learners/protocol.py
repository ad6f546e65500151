"""What every engine asks of a learner, lists that stay, racing, and the orders in which the chosen items are shown."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from inspect import getattr_static
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import BoolArray, Feedback, FloatArray, Instance, IntArray
from cascadebai_cli.theory.fluid import race

# --- The protocol ---------------------------------------------------------------------------------------------------


@runtime_checkable
class Learner(Protocol):
    """An algorithm for finding the best `K` items, one step at a time.

    The reference engine calls `select`, shows the items, calls `observe`, and repeats until `finished`.

    A learner may also have these attributes:

    - `answer`: the `K` items that it would return now, so that it can be asked after a budget of steps;
    - `endless`: whether it never stops by itself, so that it needs a budget or a cap;
    - `any_order`: whether what is proved of it holds for lists that are shown in a random order.
    """

    # One of this program may have, besides:
    # - `engines`: names of the fast engines that are exact for it, the best first;
    # - `engines_in_batches` and `take_in`: the same where lists stay (`Batched`), and how it takes in sums;
    # - `repeats`: whether a list may hold an item more than once;
    # - `limit`: steps over `ln(1 / delta)` for small `delta`, given an instance and a feedback (`analysis.bounds`).

    @property
    def finished(self) -> bool:
        """Whether the learner has stopped."""
        ...

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The `K` items returned once `finished`."""
        ...

    def select(self) -> Sequence[int]:
        """Return the items to show at this step, first to last."""
        ...

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Take in the outcomes (1 a click, 0 a skip) of the first `len(outcomes)` items shown."""
        ...


class _Answering(Learner, Protocol):
    """A learner that can be asked at any time, as a budget of steps needs it."""

    @property
    def answer(self) -> tuple[int, ...]:
        """The `K` items that the learner would return now."""
        ...


def can_answer(learner: Learner) -> bool:
    """Return whether a learner is `_Answering`, without asking it for anything."""
    return getattr_static(learner, "answer", None) is not None


# --- Lists that stay for many steps, as pages that are fixed for many views -----------------------------------------


class Batched:
    """A learner whose lists stay for many steps, and which is told what was seen on them only then.

    One that can take in sums of looks and clicks (`take_in`) is told these; another is told all in its order, and drops
    the rest of a batch within which it has stopped. So whatever holds for the learner because what is shown depends on
    the past alone, as its guarantee, holds here too.

    Args:
        name: its name in messages.
        batch: number of steps for which a list stays; or, below 1, by which share more often than so far the least
            observed item of a list is shown before the next list, for a learner with counts `T`.
    """

    def __init__(self, learner: Any, name: str, batch: float) -> None:
        self.learner, self.name, self.batch = learner, name, batch
        self.engines: Sequence[str] = getattr(learner, "engines_in_batches", ())
        self.any_order, self.endless, self.repeats = (
            bool(getattr(learner, what, False)) for what in ("any_order", "endless", "repeats")
        )
        self._shown: Sequence[int] = ()
        self._steps = 0
        self._untold: list[tuple[Sequence[int], Sequence[int]]] = []

    @property
    def finished(self) -> bool:
        """Whether the learner has stopped, by what it was told."""
        return bool(self.learner.finished)

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The `K` items returned once `finished`."""
        return tuple(self.learner.recommendation)

    def select(self) -> Sequence[int]:
        """Return the list of this batch."""
        if not self._untold:
            self._shown = self.learner.select()
            self._steps = int(self.steps(np.min(self.learner.T[list(self._shown)])) if self.batch < 1 else self.batch)
        return self._shown

    @property
    def rule(self) -> Any:
        """The part of the learner that does not change."""
        return self.learner.rule

    def steps(self, T: IntArray) -> IntArray:
        """Return for how many steps lists stay whose least observed item was observed `T` times."""
        grown = (self.batch * T).astype(np.int64) if self.batch < 1 else np.full(T.shape, self.batch, np.int64)
        return np.maximum(1, grown)

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Keep the outcomes, and tell them when the batch is over."""
        self._untold.append((shown, outcomes))
        if len(self._untold) == self._steps:
            self._tell()

    def _tell(self) -> None:
        if self.engines and self._untold:
            looks, clicks = np.zeros((2, self.rule.L), np.int64)
            for shown, outcomes in self._untold:
                looks[list(shown[: len(outcomes)])] += 1
                clicks[list(shown[: len(outcomes)])] += np.asarray(outcomes)
            self.learner.take_in(looks, clicks)
        for shown, outcomes in [] if self.engines else self._untold:
            if not self.learner.finished:
                self.learner.observe(shown, outcomes)
        self._untold = []


class BatchedAnswering(Batched):
    """One that can be asked at any time, and is told before what was seen so far."""

    learner: _Answering

    @property
    def answer(self) -> tuple[int, ...]:
        """The `K` items that the learner would return now."""
        self._tell()
        return self.learner.answer


def in_batches(learner: Learner, name: str, batch: float) -> Batched:
    """Return a learner whose lists stay for `batch` steps each."""
    return (BatchedAnswering if can_answer(learner) else Batched)(learner, name, batch)


# --- Racing: observe the least observed survivors, accept or reject an item once its interval is clear --------------
#
# A racing learner consists of a *rule*, which is frozen (how many items a step shows, the bounds, which items are
# identified) and of a *race* (the survivors, and the accepted and rejected items in order). The rule and the race are
# all that the fast engines need; `RacingLearner` adds the step-by-step bookkeeping of the reference engine, which it
# shares with every learner that is `LeastObservedFirst`.

_Picked = TypeVar("_Picked", np.float64, np.int64)

_MANY = 512
"""Number of means from which finding two ranks is faster than sorting."""


class RacingRule(ABC):
    """The part of a racing learner that does not change during a run; classes are frozen, with these attributes.

    Attributes:
        epsilon: tolerance used by `identify`.
    """

    L: int
    K: int
    epsilon: float = 0.0

    @abstractmethod
    def batch(self, survivors: int) -> int:
        """Return the largest number of observations of a step with `survivors` survivors."""

    @abstractmethod
    def lower(self, mean: ArrayLike, T: ArrayLike) -> FloatArray:
        """Return the lower confidence bound after `T` observations; it grows with `mean` and, for fixed mean, `T`."""

    @abstractmethod
    def upper(self, mean: ArrayLike, T: ArrayLike) -> FloatArray:
        """Return the upper confidence bound; it grows with `mean` and falls with `T`."""

    def above(self, mean: ArrayLike, T: ArrayLike, level: ArrayLike) -> BoolArray:
        """Return whether `lower(mean, T) > level`; the three are broadcast together."""
        return np.greater(self.lower(mean, T), level)

    def below(self, mean: ArrayLike, T: ArrayLike, level: ArrayLike) -> BoolArray:
        """Return whether `upper(mean, T) < level`."""
        return np.less(self.upper(mean, T), level)

    @abstractmethod
    def identify(
        self, mean: FloatArray, lower: FloatArray, upper: FloatArray, k: IntArray | int
    ) -> tuple[BoolArray, BoolArray]:
        """Return masks of the survivors to accept and to reject, disjoint, from means and bounds of shape `(..., d)`.

        Each index of the leading axes is a separate state.

        `k` items are still to be accepted, `1 <= k < d`: one number, or one for each state, of shape `(...)`.

        The engines that skip rely on this: if no count exceeds `T`, an item may be accepted only if its lower bound
        exceeds `upper(m, T) - epsilon` for the (k+1)-th largest mean `m`, and rejected only if its upper bound is
        below `lower(m, T) - epsilon` for the k-th. Entries with mean and bounds -inf, which belong to no item, must
        not change which items are identified.
        """

    def parting(self, high: FloatArray, low: FloatArray) -> FloatArray:
        """Return the observations of two items until intervals around these means part, over `ln(1 / delta)`.

        It is the limit for small `delta`, broadcast together; `nan` for a rule that does not say.
        """
        return np.full(np.broadcast_shapes(np.shape(high), np.shape(low)), np.nan)

    @property
    @abstractmethod
    def kind(self) -> tuple[object, ...]:
        """Label of the kind; rules of one kind have equal bounds and `identify`, but may differ in `K` and `batch`."""

    def blur(self, T: IntArray) -> FloatArray:
        """Return the difference above which means rank as in `identify`, for counts `t` and `t + 1` with `t >= T`."""
        return np.zeros(np.shape(T))


class RadiusRule(RacingRule):
    """A rule whose bounds are the mean plus and minus a radius that depends on the count alone."""

    @abstractmethod
    def radius(self, T: ArrayLike) -> FloatArray:
        """Return the confidence radius after `T` observations; decreasing in `T`, inf for `T = 0`."""

    def lower(self, mean: ArrayLike, T: ArrayLike) -> FloatArray:
        """Return `mean - C(T)`."""
        return np.subtract(mean, self.radius(T))

    def upper(self, mean: ArrayLike, T: ArrayLike) -> FloatArray:
        """Return `mean + C(T)`."""
        return np.add(mean, self.radius(T))

    def above(self, mean: ArrayLike, T: ArrayLike, level: ArrayLike) -> BoolArray:
        """Return whether `lower(mean, T) > level`, but for rounding."""
        return np.greater(mean, np.add(level, self.radius(T)))

    def below(self, mean: ArrayLike, T: ArrayLike, level: ArrayLike) -> BoolArray:
        """Return whether `upper(mean, T) < level`, but for rounding."""
        return np.less(mean, np.subtract(level, self.radius(T)))


class Race:
    """The survivors, and the accepted and rejected items in the order in which they were identified.

    A race knows no steps: who makes them says with `stamp` when items were identified.
    """

    def __init__(self, L: int, K: int) -> None:
        self.L, self.K = L, K
        self.survivors: IntArray = np.arange(L)
        self.accepted: list[int] = []
        self.rejected: list[int] = []
        self.accepted_at: list[int] = []
        self.rejected_at: list[int] = []

    def stamp(self, step: int) -> None:
        """Note that the items identified since the last call were identified at the end of this step."""
        self.accepted_at += [step] * (len(self.accepted) - len(self.accepted_at))
        self.rejected_at += [step] * (len(self.rejected) - len(self.rejected_at))

    @property
    def k(self) -> int:
        """Number of items still to be accepted, `k_t = K - |A_t|`."""
        return self.K - len(self.accepted)

    @property
    def finished(self) -> bool:
        """Whether line 3 of Algorithm 1 ends the race: no item survives, `K` are accepted or `L - K` are rejected."""
        return len(self.survivors) == 0 or len(self.accepted) >= self.K or len(self.rejected) >= self.L - self.K

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The first `K` accepted items; if rejections ended the race, the accepted items and the survivors."""
        return tuple([*self.accepted, *self.survivors.tolist()][: self.K])

    def answer(self, mean: FloatArray) -> tuple[int, ...]:
        """Return the `K` items to name now: the accepted, then the survivors of the largest means, ties by number.

        Args:
            mean: empirical means of all items, shape `(L,)`.
        """
        best = self.survivors[by_mean(mean[self.survivors])]
        return tuple([*self.accepted, *best.tolist()][: self.K])

    def settle(self, accept: BoolArray, reject: BoolArray, mean: FloatArray) -> None:
        """Remove the masked survivors; items accepted together enter in descending order of mean.

        Args:
            accept, reject: disjoint masks over `survivors`.
            mean: their empirical means.
        """
        chosen = np.flatnonzero(accept)
        chosen = chosen[np.argsort(-mean[chosen], kind="stable")]
        self.accepted += self.survivors[chosen].tolist()
        self.rejected += self.survivors[reject].tolist()
        self.survivors = self.survivors[~(accept | reject)]


def by_mean(mean: FloatArray) -> IntArray:
    """Return indices in descending order of mean along the last axis; the first of equal means ranks higher."""
    return np.argsort(-mean, axis=-1, kind="stable")


def of_rank(mean: FloatArray, rank: IntArray | int) -> IntArray:
    """Return `by_mean(mean)[..., rank]`, each state at its own rank, without sorting."""
    d = mean.shape[-1]
    rows, value = mean.reshape(-1, d), largest(mean, rank).reshape(-1, 1)
    equal = rows == value
    found, passed = equal.argmax(axis=-1), np.ravel(rank) - np.count_nonzero(rows > value, axis=-1)
    for row in np.flatnonzero(passed):
        found[row] = np.flatnonzero(equal[row])[passed[row]]
    return np.asarray(found.reshape(mean.shape[:-1]))


def largest(values: FloatArray, rank: IntArray | int) -> FloatArray:
    """Return the value of each state that exactly `rank` others precede in descending order, shape `(..., 1)`."""
    if isinstance(rank, int):
        last = values.shape[-1] - 1 - rank
        return np.asarray(np.partition(values, last, axis=-1)[..., last : last + 1])
    place = np.broadcast_to(values.shape[-1] - 1 - np.asarray(rank), values.shape[:-1])
    return pick(np.partition(values, np.unique(place), axis=-1), place)


def boundary(mean: FloatArray, k: IntArray | int) -> tuple[IntArray, IntArray]:
    """Return indices of the k-th and the (k+1)-th largest mean along the last axis, ties by index."""
    if mean.shape[-1] >= _MANY:
        return of_rank(mean, k - 1), of_rank(mean, k)
    ranked = by_mean(mean)
    if isinstance(k, int):
        return ranked[..., k - 1], ranked[..., k]
    return pick(ranked, k - 1)[..., 0], pick(ranked, k)[..., 0]


def pick(values: NDArray[_Picked], index: IntArray) -> NDArray[_Picked]:
    """Return the value of each state at its own `index`, shape `(..., 1)`; much faster than `np.take_along_axis`."""
    rows = values.reshape(-1, values.shape[-1])
    return rows[np.arange(len(rows)), np.ravel(index)].reshape(*values.shape[:-1], 1)


class LeastObservedFirst(ABC):
    """A learner that shows the least observed survivors, and keeps counts and sums of each item.

    Attributes:
        race: the race.
        T, S: observations and clicks of each item.
    """

    def __init__(self, L: int, K: int) -> None:
        self.race = Race(L, K)
        self.T: IntArray = np.zeros(L, np.int64)
        self.S: IntArray = np.zeros(L, np.int64)

    @abstractmethod
    def _batch(self, survivors: int) -> int:
        """Return the largest number of observations of a step with `survivors` survivors."""

    @property
    def finished(self) -> bool:
        """Whether the race is over."""
        return self.race.finished

    @property
    def recommendation(self) -> tuple[int, ...]:
        """The items found."""
        return self.race.recommendation

    @property
    def answer(self) -> tuple[int, ...]:
        """The items to name now."""
        return self.race.answer(self.S / np.maximum(self.T, 1))

    def select(self) -> list[int]:
        """Return the least observed survivors in ascending order of `T`, ties in the order of `D`; a long list repeats.

        A list may be filled with items that were identified already; these change nothing, so they are left out.
        """
        D = self.race.survivors
        order = np.argsort(self.T[D], kind="stable")
        return np.resize(D[order], self._batch(len(D))).tolist()

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Update counts and sums."""
        for item, outcome in zip(shown, outcomes, strict=False):
            self.T[item] += 1
            self.S[item] += outcome


class RacingLearner(LeastObservedFirst):
    """A racing rule run step by step.

    Attributes:
        repeats: whether one list may hold an item more than once.
    """

    def __init__(self, rule: RacingRule) -> None:
        super().__init__(rule.L, rule.K)
        self.rule, self.repeats = rule, False

    @property
    def engines(self) -> tuple[str, ...]:
        """Fast engines that are exact, the best first; none for a class with its own `select` or `observe`."""
        made = type(self)
        own = made.select is RacingLearner.select and made.observe is RacingLearner.observe
        return ("skip-ahead",) if own else ()

    def _batch(self, survivors: int) -> int:
        return self.rule.batch(survivors)

    def limit(self, instance: Instance, feedback: Feedback) -> float:
        """Return the limit of steps over `ln(1 / delta)` (`theory.fluid`); `nan` without a cyclic sweep."""
        if "skip-ahead" not in self.engines:
            return float("nan")
        return race(instance, self.rule.parting, self.rule.batch, observes_all=feedback.observes_all)

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Update counts and sums, then accept and reject from the state at the end of the step."""
        super().observe(shown, outcomes)
        D = self.race.survivors
        mean = self.S[D] / np.maximum(self.T[D], 1)
        lower, upper = self.rule.lower(mean, self.T[D]), self.rule.upper(mean, self.T[D])
        accept, reject = self.rule.identify(mean, lower, upper, self.race.k)
        if accept.any() or reject.any():
            self.race.settle(accept, reject, mean)


# --- How many items a step shows: `M`, apart from the `K` items to find ---------------------------------------------
#
# An item's outcome is independent of everything before it, including what decides whether the item is observed. So
# what is proved of a learner that shows `K` items holds for any `M >= 1`.


def check_list_length(M: int | None) -> None:
    """Raise `ConfigError` for a value that is not the length of a list."""
    if M is not None and (type(M) is not int or M < 1):
        raise ConfigError(f"list_length is {M!r}, but must be a whole number of at least 1")


# --- The order in which the chosen items are displayed (Section 6.1 of the paper, Figures 1 and 4) ------------------
#
# The items shown are always the least observed survivors; a display order changes only their places in the list. Yet
# only for the order `T` is it proved that the best items are found with probability `1 - delta`. With other orders the
# items at the end of a list may hardly ever be observed, so that counts are far apart, and the item of the (k+1)-th
# largest mean may have a smaller upper bound than one of the best items that was observed less.

_HUGE = 1e300
"""Value in place of an infinite radius: larger than any other value, yet finite."""


class DisplayOrder(NamedTuple):
    """Items are shown in ascending order of `sign (mean + width C(T))`, ties least observed first.

    `width` is 0 for the mean, 1 for the upper and -1 for the lower confidence bound; a `sign` of -1 makes the
    order descending, and 0 leaves the least-observed-first order of Algorithm 1.
    """

    sign: int
    width: int

    def values(self, mean: FloatArray, radius: FloatArray) -> FloatArray:
        """Return what items are sorted by; an unobserved one has mean 0, `U = inf`, `L = -inf`, written as `_HUGE`."""
        bound: FloatArray = mean + self.width * np.minimum(radius, _HUGE) if self.width else mean
        return bound if self.sign == 1 else self.sign * bound


ORDERS = MappingProxyType(
    {
        "T": DisplayOrder(0, 0),
        "mean": DisplayOrder(1, 0),
        "-mean": DisplayOrder(-1, 0),
        "U": DisplayOrder(1, 1),
        "-U": DisplayOrder(-1, 1),
        "L": DisplayOrder(1, -1),
        "-L": DisplayOrder(-1, -1),
    }
)
"""Name of a display order -> the order."""
