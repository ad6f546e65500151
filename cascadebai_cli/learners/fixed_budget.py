"""Learners for a budget of steps in place of a risk: they observe all items equally, or fewer and fewer of them.

The module `theory.budget` has the bounds that are proved for them: bounds for `N` single pulls hold for `N` steps.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.protocol import LeastObservedFirst, by_mean, check_list_length, pick
from cascadebai_cli.model.problem import ROUNDING, BoolArray, FloatArray, IntArray
from cascadebai_cli.theory.budget import least_observations


class Uniform(LeastObservedFirst):
    """A learner that observes all items equally and never stops by itself.

    Args:
        delta, epsilon: without effect.
        list_length: `M`, the number of items shown at once; `K` if `None`.

    Attributes:
        engines: the fast engine that is exact for it.
        ends: steps after which an item is decided, ascending; repeated where a phase has no steps; empty here.
        steps: number of steps made.

    Raises:
        ConfigError: if `list_length` is not a whole number of at least 1.
    """

    engines = ("phases",)
    endless = True

    def __init__(
        self, L: int, K: int, delta: float = 0.1, epsilon: float = 0.0, list_length: int | None = None
    ) -> None:
        super().__init__(L, K)
        check_list_length(list_length)
        self.M = list_length or K
        self.ends: Sequence[int] = ()
        self.steps = 0

    def _batch(self, survivors: int) -> int:
        return min(self.M, survivors)

    def observe(self, shown: Sequence[int], outcomes: Sequence[int]) -> None:
        """Update counts and sums, and decide when it is time."""
        super().observe(shown, outcomes)
        self.steps += 1
        self.decide()

    def next_end(self, cap: int) -> int:
        """Return the next step at whose end an item is decided, or the cap if that comes first."""
        place = bisect_right(self.ends, self.steps)
        return min(self.ends[place], cap) if place < len(self.ends) else cap

    def decide(self) -> None:
        """Accept or reject an item for each phase that ends with this step."""
        for _ in range(self.phases_at(self.steps)):
            if not self.finished:
                self._end_phase()

    def phases_at(self, step: int) -> int:
        """Return the number of phases that end with a step."""
        return bisect_right(self.ends, step) - bisect_left(self.ends, step)

    def _end_phase(self) -> None:
        """Accept or reject a survivor (`farthest`)."""
        D = self.race.survivors
        mean: FloatArray = self.S[D] / np.maximum(self.T[D], 1)
        survivor, accepts = farthest(mean, self.race.k)
        decided = np.arange(len(D)) == survivor
        self.race.settle(decided & accepts, decided & ~accepts, mean)


def farthest(mean: FloatArray, k: IntArray | int) -> tuple[IntArray, BoolArray]:
    """Return the survivor whose mean is farthest from the other side of the boundary, and whether it is the best one.

    It is the best or the worst survivor. Gaps that differ by rounding only count as equal; then it is the worst.

    Args:
        mean: means of the survivors, shape `(..., d)`; each index of the leading axes is a separate state.
        k: number of items still to be accepted, `1 <= k < d`: one number, or one for each state.

    Returns:
        its index and whether it is the best, shape `(..., 1)`.
    """
    ranked = by_mean(mean)
    best, worst = ranked[..., :1], ranked[..., -1:]
    places = best, pick(ranked, np.asarray(k) - 1), pick(ranked, np.asarray(k)), worst
    first, last_in, first_out, last = (pick(mean, place[..., 0]) for place in places)
    accepts = first - first_out > last_in - last + ROUNDING
    return np.where(accepts, best, worst), accepts


class SuccessiveAcceptsRejects(Uniform):
    """SAR of Bubeck, Wang and Viswanathan (2013, Figure 2), with steps in place of pulls.

    Phase `j = 1, ..., L - 1` has `L + 1 - j` survivors and `(n_j - n_{j-1}) (L + 1 - j)` steps, where
    `n_j = ceil((N - L) / (logbar(L) (L + 1 - j)))`, `n_0 = 0` and `logbar(L) = 1/2 + 1/2 + 1/3 + ... + 1/L`; so each
    survivor is observed at least `n_j` times by the end of the phase, and there are at most `N` steps in all. Then the
    item with the largest empirical gap is decided: the best survivor is accepted or the worst one rejected.

    Args:
        L, K, delta, epsilon, list_length: as for `Uniform`.
        budget: number of steps, `N`.

    Raises:
        ConfigError: if there is no budget, or it is not larger than `L`.
    """

    endless = False

    def __init__(
        self,
        L: int,
        K: int,
        delta: float = 0.1,
        epsilon: float = 0.0,
        list_length: int | None = None,
        budget: int | None = None,
    ) -> None:
        super().__init__(L, K, list_length=list_length)
        if budget is None:
            raise ConfigError("sar needs to know when it is asked; write for example budget: 20000")
        if budget <= L:
            raise ConfigError(
                f"budget is {budget}, but sar needs more steps than there are items, L = {L}; write budgets "
                f"from {L + 1} on, or leave sar out"
            )
        steps = np.diff(least_observations(L, budget), prepend=0) * np.arange(L, 1, -1)
        self.ends = tuple(np.cumsum(steps).tolist())
