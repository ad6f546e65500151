"""Algorithm 1, CascadeBAI(epsilon, delta, K), with either of its bounds, and BatRac, its semi-bandit relative."""

from dataclasses import astuple, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.bounds import kl, kl_lower, kl_upper, threshold
from cascadebai_cli.learners.protocol import (
    ORDERS,
    RacingLearner,
    RacingRule,
    RadiusRule,
    boundary,
    check_list_length,
    largest,
    pick,
)
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray, divergence

_Order = Literal["T", "mean", "-mean", "U", "-U", "L", "-L"]
_Confidence = Literal["lil", "kl"]

# --- Confidence radii from the law of the iterated logarithm --------------------------------------------------------

_TABLE = 2**21
"""Radii of smaller counts are looked up, as evaluating the formula would take most of the time of a run."""


class _IteratedLogRadius:
    """`C(T) = scale sqrt( ln( log2(2T) / rho ) / T )`, `C(0) = inf`.

    Source: Section 3 of the paper for CascadeBAI (`scale = 4 sigma`, `rho = sqrt(delta / (12 L))`), and
    Jun et al. (2016) for BatchRacing (`scale = 2`, `omega = sqrt(delta / (6 L))`). Decreasing in `T`.
    """

    def __init__(self, scale: float, rho: float) -> None:
        self.scale, self.rho = scale, rho
        self._known = _table(scale, rho, 1024)

    def __call__(self, T: ArrayLike) -> FloatArray:
        """Return the radius after `T` observations, same shape as `T`."""
        try:
            return np.asarray(self._known[T])  # type: ignore[index]
        except IndexError:
            return self._beyond(np.asarray(T))

    def parting(self, high: FloatArray, low: FloatArray) -> FloatArray:
        """Return `2 scale^2 / gap^2`, where `C(T)` is half the gap: `ln(1 / rho)` is about `ln(1 / delta) / 2`."""
        return np.asarray(2 * (self.scale / (high - low)) ** 2)

    def _beyond(self, T: np.ndarray) -> FloatArray:
        """Return the radius of counts that the table does not hold yet, or never will."""
        if T.dtype.kind not in "iu" or T.max() >= _TABLE:
            return _formula(self.scale, self.rho, T)
        while len(self._known) <= T.max():
            self._known = _table(self.scale, self.rho, 4 * len(self._known))
        return self(T)


def _formula(scale: float, rho: float, T: ArrayLike) -> FloatArray:
    count = np.asarray(T, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = scale * np.sqrt(np.log(np.log2(2 * count) / rho) / count)
    return np.where(count > 0, radius, np.inf)


@lru_cache(maxsize=32)
def _table(scale: float, rho: float, size: int) -> FloatArray:
    return _formula(scale, rho, np.arange(size))


def cascade_radius(L: int, delta: float, sigma: float) -> _IteratedLogRadius:
    """Return the radius of Algorithm 1 for `sigma`-sub-Gaussian outcomes.

    Algorithm 1 is printed with the factor 4. Its concentration theorem [thm:conc_log] has `4 sigma`, and clicks are
    1/2-sub-Gaussian, so that 2 is the factor used; `sigma = 1` gives the formula as printed.
    """
    return _IteratedLogRadius(4 * sigma, float(np.sqrt(delta / (12 * L))))


# --- Algorithm 1 ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Racing(RacingRule):
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
class CascadeRule(_Racing, RadiusRule):
    """Algorithm 1 with its own radius, as the paper has it; a subclass may have another decreasing `radius`.

    Args:
        L, K: numbers of items and of items to find.
        delta: risk of a wrong answer, in `(0, 1)`.
        epsilon: tolerance: an item that is worse than the `K`-th best by at most this is good enough.
        list_length: number of items shown at once; `K` if `None`.
        sigma: sub-Gaussian parameter of an outcome; 0.5 for clicks, 1 gives the radius as printed.
    """

    sigma: float = 0.5

    @cached_property
    def _radius(self) -> _IteratedLogRadius:
        return cascade_radius(self.L, self.delta, self.sigma)

    def radius(self, T: ArrayLike) -> FloatArray:
        """Return `C(T)`, inf for `T = 0`."""
        return self._radius(T)

    def parting(self, high: FloatArray, low: FloatArray) -> FloatArray:
        """Return what the radius says of two means; `nan` if a subclass has another radius."""
        own = type(self).radius is not CascadeRule.radius
        return super().parting(high, low) if own else self._radius.parting(high, low)

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


def _part_by_bounds(
    lower: FloatArray, upper: FloatArray, k: IntArray | int, epsilon: float = 0.0
) -> tuple[BoolArray, BoolArray]:
    """Return masks of the survivors to accept and to reject by bounds alone; arguments as for `RacingRule.identify`.

    An item is accepted if its lower bound exceeds the k-th largest upper bound of the *others* less `epsilon`, and
    rejected if its upper bound is below the k-th largest lower bound less `epsilon`.

    *Proof* that each returned item is good enough as long as every interval holds, whatever the counts. Let `G` be the
    best `K` items and `v` the smallest of their weights. At least `k` items of `G` survive at any time. This holds at
    first. Accepting an item lowers `k` by one, and the number of survivors in `G` by at most one. The `k` items with
    the largest lower bounds are never rejected, as no upper bound is below the lower bound of the same item; if an item
    of `G` is rejected, these `k` items have larger weights, so that they are in `G` and still survive. Hence, if an
    item outside `G` is accepted, `k` others have upper bounds of at least `v`, and its weight exceeds `v - epsilon`.
    And if the race ends with `k` survivors, all of them are in `G`.
    """
    last, following = largest(upper, k - 1), largest(upper, k)
    accept = lower > np.where(upper >= last, following, last) - epsilon
    return accept, upper < largest(lower, k - 1) - epsilon


_HALVINGS = 60
"""Number of bisections, after which a float does not change any more."""


@dataclass(frozen=True)
class KLCascadeRule(_Racing):
    """Algorithm 1 with KL bounds at the risk `delta / L` per item: all hold with probability `1 - delta`.

    While they hold, `_part_by_bounds` returns items that are good enough. Algorithm 1 compares with the items of the
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

    def lower(self, mean: ArrayLike, T: ArrayLike) -> FloatArray:
        """Return the smallest `p` of the interval."""
        return kl_lower(mean, T, self.alpha)

    def upper(self, mean: ArrayLike, T: ArrayLike) -> FloatArray:
        """Return the largest `p` of the interval."""
        return kl_upper(mean, T, self.alpha)

    def parting(self, high: FloatArray, low: FloatArray) -> FloatArray:
        """Return `1 / d` at the `x` in between with `d(high, x) = d(low, x) = d`, found by bisection."""
        gap = high - low
        left, right = np.zeros(np.shape(gap)), np.ones(np.shape(gap))
        for _ in range(_HALVINGS):
            share = (left + right) / 2
            x = low + share * gap
            above = divergence(low, x, share * gap) > divergence(high, x, (share - 1) * gap)
            left, right = np.where(above, left, share), np.where(above, share, right)
        return np.asarray(1 / divergence(low, low + left * gap, left * gap))

    def above(self, mean: ArrayLike, T: ArrayLike, level: ArrayLike) -> BoolArray:
        """Return whether `lower(mean, T) > level`: `level` then lies below the mean and outside the interval."""
        m, q = np.asarray(mean), np.asarray(level)
        return np.asarray((q < 0) | ((q < m) & self._outside(m, T, q)))

    def below(self, mean: ArrayLike, T: ArrayLike, level: ArrayLike) -> BoolArray:
        """Return whether `upper(mean, T) < level`."""
        m, q = np.asarray(mean), np.asarray(level)
        return np.asarray((q > 1) | ((q > m) & self._outside(m, T, q)))

    def _outside(self, m: FloatArray, T: ArrayLike, q: FloatArray) -> BoolArray:
        return np.multiply(kl(m, np.clip(q, 1e-300, 1 - 2**-53)), T) > threshold(T, self.alpha)

    def identify(
        self, mean: FloatArray, lower: FloatArray, upper: FloatArray, k: IntArray | int
    ) -> tuple[BoolArray, BoolArray]:
        """Compare with the bounds of the other items, whichever item has them."""
        return _part_by_bounds(lower, upper, k, self.epsilon)


class CascadeBAI(RacingLearner):
    """Algorithm 1 step by step.

    Args:
        L, K, delta, epsilon, list_length: as for `CascadeRule`.
        sigma: as for `CascadeRule`, with its radius only.
        order: order of the least observed survivors in the list: `T`, or `mean`, `U`, `L`, each perhaps behind a
            minus sign. Only with `T`, the order of Algorithm 1, do counts never differ by more than one; for the other
            orders nothing is proved.
        confidence: `lil` for the radius of Algorithm 1, `kl` for the sharper bounds by the Bernoulli divergence.

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
        order: _Order = "T",
        confidence: _Confidence = "lil",
        list_length: int | None = None,
    ) -> None:
        if order not in ORDERS:
            raise ConfigError(f"order is {order!r}, but must be one of {', '.join(ORDERS)}")
        self.order, self.display = order, ORDERS[order]
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
    def _radius(self) -> _IteratedLogRadius:
        return _IteratedLogRadius(2.0, float(np.sqrt(self.delta / (6 * self.L))))

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
        return _part_by_bounds(lower, upper, k)


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
