"""The problem (Section 2): instances and their families, how far two items are apart, and what a step reveals."""

from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from operator import index
from typing import TYPE_CHECKING, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.text import quoted, unrounded

if TYPE_CHECKING:
    from cascadebai_cli.model.users import Users

# --- A problem instance: click probabilities, list length and tolerance (Section 2 of the paper) --------------------

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_MOST_ITEMS = 10**15
"""No list has as many; a larger `K` may have more digits than Python prints."""
ROUNDING = 1e-12
"""Slack for rounding: 0.8 - 0.1 is a little more than 0.7 in binary, and yet weight 0.7 is 0.1-optimal."""


@dataclass(frozen=True, eq=False, init=False)
class Instance:
    """`L` items with click probabilities `weights`, of which the best `K` are sought.

    Args:
        weights: click probability of each item, shape `(L,)`, in any order, each in `[0, 1]`; any array-like object,
            which is copied.
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
        """Weights in descending order, `w(1) >= ... >= w(L)`, shape `(L,)`."""
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
        """Gaps `Delta_i` of the items in descending order of weight, shape `(L,)` (Section 4.1)."""
        w = self.sorted_weights
        return np.concatenate([w[: self.K] - w[self.K], w[self.K - 1] - w[self.K :]])

    @property
    def epsilon_optimal(self) -> BoolArray:
        """Mask of the epsilon-optimal items, shape `(L,)`, in the order of `weights`."""
        slack = self.epsilon + ROUNDING if self.epsilon > 0 else 0.0
        return np.asarray(self.weights >= self.sorted_weights[self.K - 1] - slack)

    @property
    def K_prime(self) -> int:
        """Number of epsilon-optimal items, `K' = #{i: w(i) >= w(K) - epsilon}`, at least `K`."""
        return int(self.epsilon_optimal.sum())

    def right(self, items: Iterable[int]) -> int:
        """Return how many different epsilon-optimal items are among `items`.

        Raises:
            ConfigError: if one is not an item of the instance.
        """
        return int(self.epsilon_optimal[self._distinct(items)].sum())

    def is_correct(self, items: Iterable[int]) -> bool:
        """Return whether `items` are `K` distinct epsilon-optimal items.

        Raises:
            ConfigError: if one is not an item of the instance.
        """
        chosen = self._distinct(items)
        return len(chosen) == self.K and bool(self.epsilon_optimal[chosen].all())

    def _distinct(self, items: Iterable[int]) -> list[int]:
        try:
            chosen = sorted(set(map(index, items)))
        except TypeError:
            raise ConfigError(f"items are {quoted(items)}, but must be a list of whole numbers") from None
        if chosen and not 0 <= chosen[0] <= chosen[-1] < self.L:
            raise ConfigError(f"items are {quoted(chosen)}, but must be from 0 to {self.L - 1}")
        return chosen


def _whole(value: SupportsIndex) -> int:
    try:
        if isinstance(value, bool) or not -_MOST_ITEMS <= index(value) <= _MOST_ITEMS:
            raise TypeError
        return index(value)
    except TypeError:
        raise ConfigError(f"K is {quoted(value)}, but must be a whole number") from None


def _number(value: SupportsFloat) -> float:
    try:
        if isinstance(value, bool | np.bool_ | np.ma.MaskedArray) or np.ndim(value) or np.iscomplexobj(value):  # type: ignore[arg-type]
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"epsilon is {quoted(value)}, but must be a number") from None


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
    """Return a copy as an array, in which masked entries are NaN."""
    if isinstance(values, Mapping):
        raise ConfigError("an instance needs a list of weights, not a mapping; give its values()")
    if isinstance(values, Set) and not isinstance(values, KeysView):
        raise ConfigError("an instance needs a list of weights, not a set, which holds equal ones once")
    if isinstance(values, np.ma.MaskedArray):
        values = values.filled(np.nan)
    try:
        listed = values if hasattr(values, "__array__") else list(values)  # type: ignore[call-overload]
        if isinstance(values, str | bytes) or _are_no_numbers(np.asarray(listed)):
            raise TypeError
        return np.array(listed, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"an instance needs a list of weights, numbers in [0, 1], not {quoted(values)}") from None


def _are_no_numbers(values: NDArray[np.generic]) -> bool:
    """Return whether NumPy would make numbers of dates, or drop imaginary parts."""
    return values.dtype.kind in "cMm" or (values.dtype.kind == "O" and any(map(np.iscomplexobj, values.flat)))


# --- The Kullback-Leibler divergence of clicks, and what it says about two items ------------------------------------

_APART = 1e-9
"""Smallest distance of a pooled mean from both weights, as a share of their difference; changes results by 1e-18."""
_CLOSE = 1e-4
"""Relative distance of two probabilities from which on logarithms keep enough digits."""
_LOST = -0.999
"""Relative rise up to which the digits of the smaller probability are lost in it."""


def divergence(p: ArrayLike, q: ArrayLike, rise: ArrayLike | None = None) -> FloatArray:
    """Return `d(p, q) = p ln(p / q) + (1 - p) ln((1 - p) / (1 - q))`, inf where `q` is 0 or 1 and `p` is not.

    The formula is evaluated in terms of `q - p`, so that nearly equal probabilities lose no digits; the arguments are
    broadcast together.

    Args:
        p, q: probabilities.
        rise: `q - p`, if it is known to more digits than a subtraction has.
    """
    a, b = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    skip, rise = 1 - a, np.asarray(b - a if rise is None else rise, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        up, down = rise / np.where(a > 0, a, 1), -rise / np.where(skip > 0, skip, 1)
        clicks = np.where(a > 0, -a * _logarithm(up, b, a), 0)
        skips = np.where(skip > 0, -skip * _logarithm(down, 1 - b, skip), 0)
        far = np.asarray(np.maximum(clicks + skips, 0))
    close = (np.abs(up) < _CLOSE) & (np.abs(down) < _CLOSE) & (a > 0) & (skip > 0)
    return np.where(close, a * _excess(up) + skip * _excess(down), far) if close.any() else far


def _logarithm(s: FloatArray, q: FloatArray, p: FloatArray) -> FloatArray:
    """Return `ln(1 + s)` where `1 + s = q / p`, which keeps the digits of a small `q`."""
    lost = s < _LOST
    if not lost.any():
        return np.asarray(np.log1p(s))
    return np.where(lost, np.log(np.where(q > 0, q, (1 + s) * p)) - np.log(p), np.log1p(np.where(lost, 0, s)))


def _excess(s: FloatArray) -> FloatArray:
    """Return `s - ln(1 + s)` for small `s`: what the logarithms leave, as the first powers of both sides cancel."""
    return np.asarray(s * s * (1 / 2 - s * (1 / 3 - s * (1 / 4 - s / 5))))


def evidence(n_a: FloatArray, w_a: FloatArray, n_b: FloatArray, w_b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the minimum of `n_a d(w_a, x) + n_b d(w_b, x)` over `x`, and the pooled mean `x` that attains it.

    The minimum is 0 where a count is 0.

    `x` is kept away from the weights, where a divergence may be infinite, by `_APART` of their difference.
    """
    total, gap = n_a + n_b, w_a - w_b
    share = np.divide(n_a, total, out=np.full(np.shape(total), 0.5), where=total > 0)
    share = np.clip(share, _APART, 1 - _APART)
    x = w_b + share * gap
    g = n_a * divergence(w_a, x, (share - 1) * gap) + n_b * divergence(w_b, x, share * gap)
    return np.where((n_a > 0) & (n_b > 0), g, 0.0), x


# --- Click models: what the agent sees of a list that is shown (Section 2) ------------------------------------------

Draw = Callable[[int], int]
"""`draw(item)` returns the next outcome of `item`: 1 a click, 0 a skip."""
NextChance = Callable[[], float]
"""`chance()` returns a number in `[0, 1)` that is independent of all outcomes, for what else happens on a page."""


@dataclass(frozen=True)
class Feedback:
    """A click model; the reference engine runs any by `reveal`, other engines name those that they are exact for.

    Args:
        name: its name in a config.
        shows: what is observed of a list, in words.
        reveal: takes the items shown and a `Draw`, and returns the outcomes of the observed items, which come first.
        ends_at_click: whether exactly the outcomes up to and including the first click are observed.
        observes_all: whether the outcome of every item shown is observed.
        needs_users: whether it says nothing without users, of whom it is a reading.
        thins: whether clicks are dropped by chance, until each place would show as few as the one least looked at.
        users: who clicks; `None` for those to whom `reveal` is true. Then `reveal` reads the clicks on their page.
        shuffled: whether each list is shown in a random order.
    """

    name: str
    shows: str
    reveal: Callable[[Sequence[int], Draw], list[int]]
    ends_at_click: bool = False
    observes_all: bool = False
    needs_users: bool = False
    thins: bool = False
    users: "Users | None" = None
    shuffled: bool = False

    def of(self, users: "Users | None", shuffled: bool = False) -> "Feedback":
        """Return what a learner takes of pages that some users have clicked.

        Args:
            users: who clicks; `None` for the users to whom the reading is true (a cascade, or users who look at all).

        Raises:
            ConfigError: if the reading needs to know more of the users than can be known.
        """
        if users is None:
            if self.needs_users:
                known = "{kind: position-based, looks: [1, 0.7]}" if self.thins else "{kind: cascade}"
                raise ConfigError(f"feedback {self.name} needs users; write for example users: {known}")
            return replace(self, shuffled=shuffled)
        if self.thins and not users.examines_all:
            raise ConfigError(
                f"feedback {self.name} needs users of whom it is known how often each place is looked at, such as "
                "users: {kind: position-based, looks: [1, 0.7, 0.45]} with several clicks and no place at 0"
            )
        same = users.comes_to(self) or replace(self, ends_at_click=False, observes_all=False)
        return replace(same, shuffled=shuffled, users=users)

    def shown(self, items: Sequence[int], chance: NextChance | None) -> Sequence[int]:
        """Return the items in the order in which the user sees them."""
        if not self.shuffled or chance is None:
            return items
        return sorted(items, key=lambda _: chance())

    def seen(self, shown: Sequence[int], draw: Draw, chance: NextChance | None) -> list[int]:
        """Return what the learner takes of a page: the outcomes, or what it reads for them, of the first items."""
        if self.users is None or chance is None:
            return self.reveal(shown, draw)
        clicks = self.users.clicks(shown, draw, chance)
        if self.thins:
            looks = self.users.examination(len(shown)) or []
            clicks = [int(click and chance() * look < min(looks)) for click, look in zip(clicks, looks, strict=True)]
        return self.reveal(range(len(clicks)), clicks.__getitem__)

    def looks(self, places: int) -> list[float] | None:
        """Return the chances that places are looked at, if they say all of a list that is read up to its first click,
        or of one that is read as a whole, in whatever order it is shown.

        The outcome of an item is then a click with its own probability times that of its place.
        """
        if self.users is None or (self.shuffled and self.name == CASCADING.name):
            return None
        if self.name == CASCADING.name:
            return self.users.before_a_click(places)
        return self.users.examination(places) if self.name == SEMI_BANDIT.name else None

    @property
    def is_drawn(self) -> bool:
        """Whether more than the outcomes of items is drawn."""
        return self.users is not None or self.shuffled

    def is_like(self, other: "Feedback") -> bool:
        """Return whether learners get the same of it, in law, as of another one."""
        return (self if self.users is None else replace(self, users=None)) == other

    @property
    def has_theory(self) -> bool:
        """Whether bounds that depend on what is observed are proved for this click model."""
        return self.ends_at_click or self.observes_all


def _up_to_the_first_click(shown: Sequence[int], draw: Draw) -> list[int]:
    """Return the outcomes up to the first click, where the user stops; without a click, all are 0."""
    outcomes: list[int] = []
    for item in shown:
        outcomes.append(draw(item))
        if outcomes[-1]:
            break
    return outcomes


def _of_every_item(shown: Sequence[int], draw: Draw) -> list[int]:
    return [draw(item) for item in shown]


def _up_to_the_last_click(shown: Sequence[int], draw: Draw) -> list[int]:
    """Return the outcomes up to the last click; without a click, all are 0."""
    outcomes = _of_every_item(shown, draw)
    while 1 in outcomes and not outcomes[-1]:
        del outcomes[-1]
    return outcomes


CASCADING = Feedback("cascading", "the list up to the first click", _up_to_the_first_click, ends_at_click=True)
SEMI_BANDIT = Feedback("semi-bandit", "all of it", _of_every_item, observes_all=True)
LAST_CLICK = Feedback(
    "last-click", "with users, the list up to the last click", _up_to_the_last_click, needs_users=True
)
_THINNED = Feedback(
    "thinned",
    "with position-based users, all of it, with clicks thinned to those of the place least looked at",
    _of_every_item,
    needs_users=True,
    thins=True,
)

FEEDBACKS: Mapping[str, Feedback] = {each.name: each for each in (CASCADING, SEMI_BANDIT, LAST_CLICK, _THINNED)}
"""Name -> click model. A model that is added here can be named in configs, and is run by the reference engine."""


# --- Families of instances: click probabilities of the items from a few numbers -------------------------------------
#
# Pure functions; formulas in `K` and `L` are evaluated by the caller.


@dataclass(frozen=True, eq=False)
class Items:
    """Named items and their click probabilities.

    Attributes:
        names: name of each item, `"1"` to `str(L)` if the family has no names.
        weights: click probability of each item, shape `(L,)`.
    """

    names: tuple[str, ...]
    weights: FloatArray


def two_level(L: int, K: int, w_star: float, w_prime: float) -> Items:
    """Return `K` items with `w_star`, then `L - K` with `w_prime` (Section 5 of the paper)."""
    if w_star < w_prime:
        raise ConfigError(
            f"w_star = {unrounded(w_star)} is smaller than w_prime = {unrounded(w_prime)}; "
            "exchange them or change a formula"
        )
    return _numbered(np.repeat([w_star, w_prime], [K, L - K]))


def linear(L: int, w_max: float, w_min: float) -> Items:
    """Return `L` weights evenly spaced from `w_max` down to `w_min`, both included."""
    if w_max < w_min:
        raise ConfigError(
            f"w_max = {unrounded(w_max)} is smaller than w_min = {unrounded(w_min)}; exchange them or change a formula"
        )
    return _numbered(np.linspace(w_max, w_min, L))


def explicit(weights: Sequence[float]) -> Items:
    """Return the weights as they are listed."""
    return _numbered(np.array(weights, dtype=np.float64))


def _numbered(weights: FloatArray) -> Items:
    return Items(_padded_numbers((len(weights) - 1).bit_length())[: len(weights)], weights)


@cache
def _padded_numbers(bits: int) -> tuple[str, ...]:
    """Return `"1", "2", ...` up to a power of two, so that lists of about equal length share the texts."""
    return tuple(map(str, range(1, (1 << bits) + 1)))
