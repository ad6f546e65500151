"""Bounds that refuse a comparison which rounding could decide.

Two programs that compute a logarithm or a root in different ways may differ in the last bits of a confidence bound,
and then rightly differ in what they do. A judge that is given `guarded` bounds runs as usual, but raises `Undecided`
at a comparison (also one inside a sort) closer than `CLOSE`, unless both sides are the same expression of the same
numbers or one of the `exact` values: such ties are broken in the same way by all who break them by the same rule.
"""

import math
from dataclasses import dataclass

from algorithm1 import Interval

CLOSE = 1e-12


class Undecided(Exception):
    """The run depends on the last bits of some number."""


@dataclass(frozen=True, eq=False)
class Rough:
    """A number that is known up to `CLOSE`, and the expression that it comes from."""

    value: float
    origin: object

    def _exceeds(self, other: "float | Rough") -> float:
        """The difference, 0 for the same expression."""
        value, origin = (other.value, other.origin) if isinstance(other, Rough) else (other, other)
        if self.origin == origin:
            return 0.0
        if abs(self.value - value) < CLOSE:
            raise Undecided
        return self.value - value

    def __lt__(self, other: "float | Rough") -> bool:
        return self._exceeds(other) < 0

    def __gt__(self, other: "float | Rough") -> bool:
        return self._exceeds(other) > 0

    def __sub__(self, other: "float | Rough") -> "Rough":
        return _minus(self, other)

    def __rsub__(self, other: float) -> "Rough":
        return _minus(other, self)


def _minus(left: "float | Rough", right: "float | Rough") -> Rough:
    (a, origin_a), (b, origin_b) = (
        (side.value, side.origin) if isinstance(side, Rough) else (side, side) for side in (left, right)
    )
    return Rough(a - b, (origin_a, "-", origin_b))


def guarded(interval: Interval, exact: tuple[float, float] = (-math.inf, math.inf)) -> Interval:
    """The same bounds as rough numbers, but for `exact` lower and upper ones."""

    def rough(S: int, T: int) -> tuple[float, float]:
        bounds = interval(S, T)
        return tuple(
            bound if bound == end else Rough(bound, (side, S, T))
            for bound, end, side in zip(bounds, exact, "LU", strict=True)
        )

    return rough
