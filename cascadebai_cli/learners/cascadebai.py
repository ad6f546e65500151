"""Algorithm 1, CascadeBAI(epsilon, delta, K)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.learners.display import OrderName, display_order
from cascadebai_cli.learners.racing import RacingLearner, RadiusRule, by_mean
from cascadebai_cli.learners.radius import IteratedLogRadius, cascade_radius
from cascadebai_cli.model.instance import BoolArray, FloatArray


@dataclass(frozen=True)
class CascadeRule(RadiusRule):
    """Lines 5 to 17 of Algorithm 1.

    Args:
        L: number of items.
        K: number of items to find and length of the list.
        delta: risk, in `(0, 1)`.
        epsilon: tolerance, 0 or larger.
        sigma: sub-Gaussian parameter of an outcome; 0.5 for clicks, 1 gives the radius as printed.
    """

    L: int
    K: int
    delta: float
    epsilon: float = 0.0
    sigma: float = 0.5

    def batch(self, survivors: int) -> int:
        """`min(K, |D|)`."""
        return min(self.K, survivors)

    @cached_property
    def _radius(self) -> IteratedLogRadius:
        return cascade_radius(self.L, self.delta, self.sigma)

    def radius(self, T: ArrayLike) -> FloatArray:
        """`C(T)`, inf for `T = 0`."""
        return self._radius(T)

    def identify(self, mean: FloatArray, lower: FloatArray, upper: FloatArray, k: int) -> tuple[BoolArray, BoolArray]:
        """Lines 14 to 17: compare with the items of the (k+1)-th and the k-th largest mean.

        For epsilon > 0 both rules can hold for one item. It is then rejected: the rejection certifies that it
        is not epsilon-optimal, the acceptance alone certifies nothing about `w(K)`.
        """
        ranked = by_mean(mean)
        j_prime, j_star = ranked[..., k - 1 : k], ranked[..., k : k + 1]
        reject = upper < np.take_along_axis(lower, j_prime, axis=-1) - self.epsilon
        accept = (lower > np.take_along_axis(upper, j_star, axis=-1) - self.epsilon) & ~reject
        return accept, reject


class CascadeBAI(RacingLearner):
    """Algorithm 1 step by step; arguments as for `CascadeRule`.

    Args:
        order: how the least observed survivors are ordered in the list, a key of `display.ORDERS`.

    Raises:
        ConfigError: if there is no such order.
    """

    def __init__(
        self,
        L: int,
        K: int,
        delta: float,
        epsilon: float = 0.0,
        sigma: float = 0.5,
        order: OrderName = "T",
    ) -> None:
        rule = CascadeRule(L, K, delta, epsilon, sigma)
        super().__init__(rule)
        self.radius = rule.radius
        self.order = order
        self.display = display_order(order)

    def select(self) -> list[int]:
        """The least observed survivors, in the display order; ties keep the order of `RacingLearner.select`."""
        least = super().select()
        if self.order == "T":
            return least
        shown = np.array(least)
        T = self.T[shown]
        values = self.display.values(self.S[shown] / np.maximum(T, 1), self.radius(T))
        ordered: list[int] = shown[np.argsort(values, kind="stable")].tolist()
        return ordered
