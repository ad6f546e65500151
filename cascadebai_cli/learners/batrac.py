"""BatchRacing(k, r, b) of Jun, Jamieson, Nowak and Zhu (2016), the semi-bandit relative of CascadeBAI.

BatRac(K) of the paper is `b = K, r = 1`; BatRac(1) is `b = 1, r = 1`.
"""

from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Literal

from numpy.typing import ArrayLike

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.bounds import IteratedLogRadius, batch_racing_radius
from cascadebai_cli.learners.racing import RacingLearner, RadiusRule, part_by_bounds
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class BatchRacingRule(RadiusRule):
    """Which items BatchRacing pulls and identifies.

    Args:
        K: number of items to find, `k` in the source.
        b: number of pulls of a step.
        r: largest number of pulls of one item at a step.
    """

    L: int
    K: int
    delta: float
    b: int
    r: int = 1

    def batch(self, survivors: int) -> int:
        """Return `min(b, r |D|)`."""
        return min(self.b, self.r * survivors)

    @cached_property
    def _radius(self) -> IteratedLogRadius:
        return batch_racing_radius(self.L, self.delta)

    def radius(self, T: ArrayLike) -> FloatArray:
        """Return `2 sqrt( ln( log2(2T) / omega ) / T )` with `omega = sqrt(delta / (6 L))`; inf for `T = 0`."""
        return self._radius(T)

    def parting(self, high: FloatArray, low: FloatArray) -> FloatArray:
        """Return what the radius says of two means."""
        return self._radius.parting(high, low)

    @property
    def kind(self) -> tuple[object, ...]:
        """The class and all attributes except `K` and the batch."""
        return type(self), *astuple(replace(self, K=1, b=1, r=1))

    def blur(self, T: IntArray) -> FloatArray:
        """Return by how much the radius shrinks with one observation more, since this rule ranks bounds."""
        return self.radius(T) - self.radius(T + 1)

    def identify(
        self, mean: FloatArray, lower: FloatArray, upper: FloatArray, k: IntArray | int
    ) -> tuple[BoolArray, BoolArray]:
        """Accept above the (k+1)-th largest upper bound, reject below the k-th largest lower bound.

        The source also accepts the survivors together once only `k` are left. They are accepted by then: what is not
        rejected has the `k` largest lower bounds, each above the upper bounds of all that is rejected.
        """
        return part_by_bounds(lower, upper, k)


class BatRac(RacingLearner):
    """BatchRacing step by step.

    Args:
        L, K, delta: as for `BatchRacingRule`.
        epsilon: must be 0, as the algorithm has no tolerance.
        b: number of pulls of a step; `"K"` for the number of items to find.
        r: largest number of pulls of one item at a step.

    Raises:
        ConfigError: if `epsilon`, `b` or `r` is out of range.
    """

    def __init__(
        self, L: int, K: int, delta: float, epsilon: float = 0.0, b: int | Literal["K"] = "K", r: int = 1
    ) -> None:
        if epsilon != 0:
            raise ConfigError(f"epsilon is {epsilon:g}, but batrac has no tolerance; use epsilon: 0")
        for name, value in (("b", b), ("r", r)):
            if (name, value) != ("b", "K") and (type(value) is not int or value < 1):
                allowed = "K or a whole number" if name == "b" else "a whole number"
                raise ConfigError(f"{name} is {value!r}, but must be {allowed}, at least 1")
        super().__init__(BatchRacingRule(L, K, delta, K if b == "K" else b, r))
        self.repeats = r > 1
