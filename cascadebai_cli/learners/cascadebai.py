"""Algorithm 1, CascadeBAI(epsilon, delta, K), with either of its bounds, and BatRac, its semi-bandit relative."""

from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.bounds import IteratedLogRadius, KLRule, batch_racing_radius, cascade_radius
from cascadebai_cli.learners.protocol import check_list_length
from cascadebai_cli.learners.racing import (
    OrderName,
    RacingLearner,
    RacingRule,
    RadiusRule,
    boundary,
    display_order,
    part_by_bounds,
    pick,
)
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

_Confidence = Literal["lil", "kl"]


@dataclass(frozen=True)
class Racing(RacingRule):
    """The items that Algorithm 1 shows, lines 5 to 9.

    Args:
        list_length: `M`, the number of items shown at once; `K` if `None`.
    """

    L: int
    K: int
    delta: float
    epsilon: float = 0.0
    list_length: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_list_length(self.list_length)

    def batch(self, survivors: int) -> int:
        """Return `min(M, |D|)`."""
        return min(self.list_length or self.K, survivors)

    @property
    def kind(self) -> tuple[object, ...]:
        """The class and all attributes except `K` and `M`."""
        return type(self), *astuple(replace(self, K=1, list_length=1))


@dataclass(frozen=True)
class CascadeRule(Racing, RadiusRule):
    """Algorithm 1 with its own radius, as the paper has it; a subclass may have another decreasing `radius`.

    Args:
        L, K, delta, epsilon, list_length: as for `Racing`.
        sigma: sub-Gaussian parameter of an outcome; 0.5 for clicks, 1 gives the radius as printed.
    """

    sigma: float = 0.5

    @cached_property
    def _radius(self) -> IteratedLogRadius:
        return cascade_radius(self.L, self.delta, self.sigma)

    def radius(self, T: ArrayLike) -> FloatArray:
        """Return `C(T)`, inf for `T = 0`."""
        return self._radius(T)

    def parting(self, high: FloatArray, low: FloatArray) -> FloatArray:
        """Return what the radius says of two means."""
        return self._radius.parting(high, low)

    def identify(
        self, mean: FloatArray, lower: FloatArray, upper: FloatArray, k: IntArray | int
    ) -> tuple[BoolArray, BoolArray]:
        """Apply lines 14 to 17: compare with the items of the (k+1)-th and the k-th largest mean, ties by number.

        For epsilon > 0 both rules can hold for one item. It is then rejected: the rejection certifies that it is not
        epsilon-optimal, while the acceptance alone certifies nothing about `w(K)`.
        """
        j_prime, j_star = boundary(mean, k)
        reject = upper < pick(lower, j_prime) - self.epsilon
        accept = (lower > pick(upper, j_star) - self.epsilon) & ~reject
        return accept, reject


@dataclass(frozen=True)
class KLCascadeRule(KLRule, Racing):
    """Algorithm 1 with KL bounds at the risk `delta / L` per item: all hold with probability `1 - delta`.

    While they hold, `part_by_bounds` returns items that are good enough. Algorithm 1 compares with the items of the
    (k+1)-th and the k-th largest *mean* instead. That is not enough: an item whose mean is no larger, but which was
    observed once less, can have the larger upper bound.

    *The two rules are nearly the same.* As long as counts differ by at most one, an item of the smaller mean has
    neither the larger upper nor the larger lower bound. For equal counts that is clear, and so it is for upper bounds
    if the item of the larger mean was observed less. Let it have been observed once more, and let `s` of `T` and `s'`
    of `T + 1` observations be clicks, `s / T < s' / (T + 1)`: then `s' >= s + 1`. It remains to show that a further
    observation that is a click never lowers the upper bound `u` of `(s, T)`. If `u < (s + 1) / (T + 1)`, the new mean
    exceeds `u`. Otherwise `T kl(s / T, u)` changes by `h(s) - h(T) - ln u`, where `h(x) = (x + 1) ln(x + 1) - x ln x`.
    As `-ln u <= ln(T + 1) - ln(s + 1)`, that is at most `q(s) - q(T)`, where `q(x) = x ln(1 + 1/x)` grows: it is not
    positive, and the threshold does not fall. Lower bounds follow with clicks and skips exchanged. So means that differ
    rank as their bounds do (`blur` is 0), and equal means of unequal counts are 0 or 1. Only when the (k+1)-th largest
    mean is 0 can the rules accept at different steps. For epsilon > 0, Algorithm 1 may accept further items at its last
    step, which it does not return.
    """

    @property
    def alpha(self) -> float:
        """Risk of one item, `delta / L`."""
        return self.delta / self.L

    def identify(
        self, mean: FloatArray, lower: FloatArray, upper: FloatArray, k: IntArray | int
    ) -> tuple[BoolArray, BoolArray]:
        """Compare with the bounds of the other items, whichever item has them."""
        return part_by_bounds(lower, upper, k, self.epsilon)


class CascadeBAI(RacingLearner):
    """Algorithm 1 step by step.

    Args:
        L, K, delta, epsilon: as for `Racing`.
        sigma: as for `CascadeRule`, with its radius only.
        order: order of the least observed survivors in the list, a key of `racing.ORDERS`. Only with `T`, the order of
            Algorithm 1, do counts never differ by more than one; for the other orders nothing is proved.
        confidence: `lil` for the radius of Algorithm 1, `kl` for the sharper bounds of `KLCascadeRule`.
        list_length: as for `Racing`.

    Raises:
        ConfigError: if there is no such order or confidence, or the options do not fit together.
    """

    def __init__(
        self,
        L: int,
        K: int,
        delta: float,
        epsilon: float = 0.0,
        sigma: float = 0.5,
        order: OrderName = "T",
        confidence: _Confidence = "lil",
        list_length: int | None = None,
    ) -> None:
        self.order, self.display = order, display_order(order)
        if confidence == "lil":
            super().__init__(CascadeRule(L, K, delta, epsilon, sigma, list_length=list_length))
        else:
            _refuse_options(confidence, sigma, order)
            super().__init__(KLCascadeRule(L, K, delta, epsilon, list_length=list_length))

    @property
    def engines(self) -> tuple[str, ...]:
        """Fast engines that are exact: skip-ahead in the order of Algorithm 1, lockstep with its radius."""
        made = type(self)
        if made.select is not CascadeBAI.select or made.observe is not RacingLearner.observe:
            return ()
        skips = ("skip-ahead",) if self.order == "T" else ()
        return (*skips, "lockstep") if isinstance(self.rule, RadiusRule) else skips

    def select(self) -> list[int]:
        """Return the least observed survivors in the display order; ties keep the order of `RacingLearner.select`."""
        least = super().select()
        if self.order == "T":
            return least
        assert isinstance(self.rule, CascadeRule)
        shown = np.array(least)
        T = self.T[shown]
        values = self.display.values(self.S[shown] / np.maximum(T, 1), self.rule.radius(T))
        ordered: list[int] = shown[np.argsort(values, kind="stable")].tolist()
        return ordered


def _refuse_options(confidence: str, sigma: float, order: str) -> None:
    """Refuse options that do not go with bounds other than a radius."""
    if confidence != "kl":
        raise ConfigError(f"confidence is {confidence!r}, but must be lil or kl")
    if sigma != 0.5:
        raise ConfigError(f"sigma is {sigma:g}, but confidence: kl knows that outcomes are clicks; leave sigma out")
    if order != "T":
        raise ConfigError(f"order is {order!r}, which confidence: kl does not have; leave it out")


# --- BatchRacing(k, r, b) of Jun, Jamieson, Nowak and Zhu (2016) ----------------------------------------------------
#
# BatRac(K) of the paper is `b = K, r = 1`; BatRac(1) is `b = 1, r = 1`.


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
