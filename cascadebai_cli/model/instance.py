"""A problem instance: click probabilities, list length and tolerance (Section 2 of the paper)."""

from collections.abc import Iterable, KeysView, Mapping, Set
from dataclasses import dataclass
from operator import index
from typing import SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.text.numbers import unrounded

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

ROUNDING = 1e-12
"""0.8 - 0.1 is a little more than 0.7 in binary; an item of weight 0.7 is 0.1-optimal all the same."""


@dataclass(frozen=True, eq=False, init=False)
class Instance:
    """`L` items with click probabilities `weights`, of which the best `K` are sought.

    Args:
        weights: click probability of each item, shape `(L,)`, in any order, each in `[0, 1]`; anything that is like an
            array is taken, and copied.
        K: number of items to find and length of the list shown, `1 <= K < L`.
        epsilon: tolerance; items with `w(i) >= w(K) - epsilon` are good enough.

    Raises:
        ConfigError: if a value is outside its range, or `epsilon` is 0 and `w(K) = w(K+1)`.
    """

    weights: FloatArray
    K: int
    epsilon: float

    def __init__(
        self, weights: ArrayLike | Iterable[SupportsFloat], K: SupportsIndex, epsilon: SupportsFloat = 0.0
    ) -> None:
        object.__setattr__(self, "weights", _checked_weights(weights))
        object.__setattr__(self, "K", _whole(K))
        object.__setattr__(self, "epsilon", _number(epsilon))
        self._check_ranges()

    def _check_ranges(self) -> None:
        if not 1 <= self.K < self.L:
            raise ConfigError(f"K is {self.K}, but must be at least 1 and less than L = {self.L}")
        if not (self.epsilon >= 0 and np.isfinite(self.epsilon)):
            raise ConfigError(f"epsilon is {self.epsilon}, but must be 0 or larger")
        w = self.sorted_weights
        if self.epsilon == 0 and w[self.K - 1] <= w[self.K]:
            raise ConfigError(
                f"w(K) = w(K+1) = {w[self.K]:g} at K = {self.K}: with epsilon = 0 the best K items are not "
                "unique; change K or the weights, or allow an epsilon > 0"
            )

    @property
    def L(self) -> int:
        """Number of items."""
        return len(self.weights)

    @property
    def sorted_weights(self) -> FloatArray:
        """`w(1) >= ... >= w(L)`, shape `(L,)`."""
        return np.sort(self.weights)[::-1]

    @property
    def w_star(self) -> float:
        """Largest weight."""
        return float(self.weights.max())

    @property
    def w_prime(self) -> float:
        """Smallest weight."""
        return float(self.weights.min())

    @property
    def gaps(self) -> FloatArray:
        """`Delta_i` of the items in descending order of weight, shape `(L,)` (Section 4.1)."""
        w = self.sorted_weights
        return np.concatenate([w[: self.K] - w[self.K], w[self.K - 1] - w[self.K :]])

    @property
    def epsilon_optimal(self) -> BoolArray:
        """Mask of the epsilon-optimal items, shape `(L,)`, in the order of `weights`."""
        slack = self.epsilon + ROUNDING if self.epsilon > 0 else 0.0
        return np.asarray(self.weights >= self.sorted_weights[self.K - 1] - slack)

    @property
    def K_prime(self) -> int:
        """`K' = #{i: w(i) >= w(K) - epsilon}`, at least `K`."""
        return int(self.epsilon_optimal.sum())

    def right(self, items: Iterable[int]) -> int:
        """How many different epsilon-optimal items are among `items`."""
        return int(self.epsilon_optimal[sorted(set(items))].sum())

    def is_correct(self, items: Iterable[int]) -> bool:
        """Whether `items` are `K` distinct epsilon-optimal items."""
        chosen = sorted(set(items))
        return len(chosen) == self.K and bool(self.epsilon_optimal[chosen].all())


def _whole(value: SupportsIndex) -> int:
    try:
        return index(value)
    except TypeError:
        raise ConfigError(f"K is {value!r}, but must be a whole number") from None


def _number(value: SupportsFloat) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"epsilon is {value!r}, but must be a number") from None


def _checked_weights(values: object) -> FloatArray:
    weights = _numbers(values)
    if weights.ndim != 1 or len(weights) < 2:
        raise ConfigError(f"an instance needs a list of at least 2 weights, not shape {weights.shape}")
    bad = np.flatnonzero(~((weights >= 0) & (weights <= 1)))
    if len(bad):
        raise ConfigError(f"weight {unrounded(weights[bad[0]])} of item {bad[0] + 1} is outside [0, 1]")
    weights.flags.writeable = False
    return weights


def _numbers(values: object) -> FloatArray:
    """A copy as an array; what is masked in an array is no number."""
    if isinstance(values, Mapping):
        raise ConfigError("an instance needs a list of weights, not a mapping; give its values()")
    if isinstance(values, Set) and not isinstance(values, KeysView):
        raise ConfigError("an instance needs a list of weights, not a set, which holds equal ones once")
    if isinstance(values, np.ma.MaskedArray):
        values = values.filled(np.nan)
    try:
        listed = values if hasattr(values, "__array__") else list(values)  # type: ignore[call-overload]
        return np.array(listed, dtype=np.float64)
    except (TypeError, ValueError):
        shown = repr(values) if len(repr(values)) <= 60 else f"{repr(values)[:57]}..."
        raise ConfigError(f"an instance needs a list of weights, numbers in [0, 1], not {shown}") from None
