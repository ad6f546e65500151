"""The sharp lower bound on expected steps, `T*(w) kl(delta, 1 - delta)`, for cascading lists and batches.

For `epsilon = 0` and `w(K) > w(K+1)`, let `q_i(s)` be the probability that a user who is shown the list `s` looks at
item `i` (`lists`), and for `n` in the convex hull of all `q(s)`

    `g_ab(n) = n_a d(w_a, x) + n_b d(w_b, x)` at `x = (n_a w_a + n_b w_b) / (n_a + n_b)`,
    `1 / T*(w) = max over n of min over a among the best K, b not, of g_ab(n)`.

**Every (delta, K)-PAC algorithm has `E[tau] >= T*(w) kl(delta, 1 - delta)`**, `delta < 1/2`. If `E[tau]` is infinite
there is nothing to show; otherwise let `N_s` be the number of times that list `s` is shown, and `T_i` the number of
looks at item `i`.

1. *Looks.* Which list is shown depends on the past only, so each time `i` is looked at with probability `q_i(s)`
   given the past, and `E[T_i] = sum_s E[N_s] q_i(s)`: `E[T] = E[tau] n` for an `n` in the hull, as
   `sum_s E[N_s] = E[tau]`.
2. *Information.* Whether an item is looked at depends on outcomes of the items before it, so each outcome that is
   observed is Bernoulli(`w_i`) given the past, and the logarithm of the likelihood ratio of two instances `w` and `v`
   is a sum over what was observed, of mean `sum_i E[T_i] d(w_i, v_i)` (Wald). If other items are best under `v`, the
   event that the best items under `w` are returned has probability at least `1 - delta` under `w` and at most
   `delta` under `v`, so this mean is at least `kl(delta, 1 - delta)` (data processing; Kaufmann, Cappé and Garivier,
   2016, Lemma 1).
3. *The nearest instance.* Other items are best under `v` exactly if `v_a < v_b` for one of the best `a` under `w` and
   one of the others, `b`. The cheapest way to this moves these two to a common `x`, or just beyond:
   `min over x of n_a d(w_a, x) + n_b d(w_b, x)`, convex in `x`, with the derivative
   `((n_a + n_b) x - n_a w_a - n_b w_b) / (x (1 - x))`, so the pooled mean is the best `x`. Hence
   `E[tau] g_ab(n) >= kl(delta, 1 - delta)` for all `a` and `b`, as `g_ab` is homogeneous: `E[tau]` times the maximum
   over `n` of the minimum over `a, b` is at least `kl(delta, 1 - delta)`.

`g_ab` is a minimum of linear functions of `n`, hence concave, so equal weights may share their looks: averaging an
optimal `n` over all exchanges of equal items stays in the hull and loses nothing. Equal weights are therefore one
level. `maximin` solves what is left and certifies how far from the optimum it can be at most.

*Many levels* are pooled with neighbours on their side of the boundary, and two smaller problems enclose the true one.

- Let each group have the weight of its member farthest from the boundary, and end a step as seldom as its member that
  ends it least often. A true mixture brings each group at least as many looks as its members get on average, some
  member gets no more than that, and no member is told apart sooner: `1 / T*` is at most the value of this problem.
- With the weight of the nearest member, and the probability of the member that ends a step most often, items that take
  turns in their group get at least the looks that are computed, and are told apart at least as soon: `1 / T*` is at
  least this value.

Distances from the boundary within a group differ by a constant factor, so that far items share large groups.

*Other users* change `q(s)` alone, as long as how they look depends on nothing but the outcomes of items and on chances
that are known (`model/users.py`). Then a page tells at most which items were looked at and which of them attracted, so
the bound holds for whatever is read off it: what is not told, such as looks without a click, can only make a learner
need more steps (data processing). It is sharp where looks are told.

Garivier and Kaufmann (2016) have `K = 1` and lists of one item. For `epsilon > 0` several answers can be right and the
bound has another form (Degenne and Koolen, 2019), so it is refused.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import BoolArray, FloatArray, Instance, IntArray
from cascadebai_cli.model.users import Users
from cascadebai_cli.theory.lists import Levels, Lists, PlacedLists
from cascadebai_cli.theory.maximin import Contest, Mixture, maximin
from cascadebai_cli.theory.paper import confidence_factor

_TOLERANCE = 1e-3
"""Relative gap of the bound by default."""
_LARGEST, _GROUPS = 300, (250, 750, 2000)
"""Number of levels beyond which neighbours are pooled, and the largest numbers of groups, tried in this order."""
_FINEST, _COARSER = 1e-5, 1.5
"""Smallest relative difference of distances from the boundary within a group, and the factor by which it grows."""
_POOLED = 0.4
"""Part of the tolerance that each of the two problems with groups may use."""
_SECONDS = 10.0
"""Seconds between two sentences about a bound that takes long."""


@dataclass(frozen=True, eq=False)
class SharpBound:
    """`T*` of an instance and the mixture of lists that attains it.

    Attributes:
        levels: the different weights in descending order, shape `(C,)`; of many weights, one for each group.
        mixture: the best mixture found; its lists name levels, or groups, whose items take turns.
        rates: expected looks at each item per step of this mixture, shape `(L,)`, in the order of the instance; at
            least these, if there are groups.
    """

    levels: FloatArray
    mixture: Mixture
    rates: FloatArray

    @property
    def characteristic_steps(self) -> float:
        """`T*(w)`, from below, so that the bound holds; it is at most `gap` too small, relatively."""
        return 1 / self.mixture.upper

    @property
    def gap(self) -> float:
        """Certified relative gap of `characteristic_steps`."""
        return self.mixture.gap

    @property
    def lists(self) -> tuple[Levels, ...]:
        """The lists of the mixture as numbers of `levels`, first to last."""
        return self.mixture.lists

    @property
    def shares(self) -> FloatArray:
        """Share of the steps of each list."""
        return self.mixture.shares

    def steps(self, delta: float) -> float:
        """Return the expected steps that every `(delta, K)`-PAC algorithm needs: `T*(w) kl(delta, 1 - delta)`."""
        return self.characteristic_steps * float(confidence_factor(delta))


def sharp_bound(
    instance: Instance,
    *,
    semi_bandit: bool = False,
    M: int | None = None,
    users: Users | None = None,
    tolerance: float = _TOLERANCE,
    tell: Callable[[str], None] | None = None,
) -> SharpBound:
    """Return the sharp bound with its certified gap.

    Args:
        instance: the instance; the order of its items does not matter.
        semi_bandit: all items of a step are observed, instead of those up to the first click.
        M: number of different items that a step shows, `K` by default.
        users: who looks at the lists, instead of the users to whom the feedback is true.
        tolerance: relative gap to reach; a search that would take minutes ends earlier, with a larger gap.
        tell: called with a sentence every few seconds about how far the search is.

    Raises:
        ConfigError: for `epsilon > 0`, an `M` that is not positive, or users who are not `known_to_look`.
    """
    if instance.epsilon > 0:
        raise ConfigError(f"epsilon is {instance.epsilon:g}, but the sharp bound is known for epsilon = 0 only")
    slots = instance.K if M is None else M
    if slots < 1:
        raise ConfigError(f"M is {slots}, but a step must show at least 1 item")
    if users and not users.known_to_look(slots):
        raise ConfigError(
            f"what {users.kind} users look at depends on more than items or places, so no sharp bound is known"
        )
    descending, level, sizes = np.unique(-instance.weights, return_inverse=True, return_counts=True)
    levels, lowest = -descending, instance.sorted_weights[instance.K - 1]
    follow = _now_and_then(f"the sharp bound of {len(levels):,} different weights", tell) if tell else None

    def solve(weights: FloatArray, ends: FloatArray, sizes: IntArray, tolerance: float) -> Mixture:
        ends = np.zeros(len(sizes)) if semi_bandit else ends
        lists = (
            _lists(users, ends, sizes, min(slots, instance.L)) if users else Lists(ends, sizes, min(slots, instance.L))
        )
        return maximin(Contest(weights, weights >= lowest, lists), tolerance, follow)

    if len(levels) <= _LARGEST:
        mixture = solve(levels, levels, sizes, tolerance)
        return SharpBound(levels, mixture, mixture.rates[level])
    for most in _GROUPS:
        first = _first_of_groups(levels, levels >= lowest, most)
        largest, smallest, members = levels[first], np.minimum.reduceat(levels, first), np.add.reduceat(sizes, first)
        far, near = np.where(largest >= lowest, (largest, smallest), (smallest, largest))
        easier = solve(far, smallest, members, _POOLED * tolerance)
        harder = solve(near, largest, members, _POOLED * tolerance)
        mixture = replace(harder, upper=easier.upper)
        if mixture.gap <= tolerance or max(easier.gap, harder.gap) > _POOLED * tolerance:
            break
    return SharpBound(near, mixture, mixture.rates[np.searchsorted(first, level, side="right") - 1])


def _lists(users: Users, weights: FloatArray, sizes: IntArray, M: int) -> Lists:
    """Return the lists that users are shown; `weights` are those that end a step."""
    ends = users.ends(weights)
    return PlacedLists(weights, sizes, M, np.array(users.examination(M))) if ends is None else Lists(ends, sizes, M)


def _first_of_groups(levels: FloatArray, best: BoolArray, most: int) -> IntArray:
    """Return where groups begin, at most `most`: neighbours on a side at nearly the same distance from the boundary."""
    low, high = levels[~best].max(), levels[best].min()
    distance, width = np.log(np.where(best, levels - high, low - levels) + (high - low) / 2), _FINEST
    while True:
        band = np.floor((distance - distance.min()) / width)
        first = np.flatnonzero((np.diff(band, prepend=-1) != 0) | (np.diff(best, prepend=False) != 0))
        if len(first) <= most:
            return first
        width *= _COARSER


def _now_and_then(what: str, tell: Callable[[str], None]) -> Callable[[float, float], None]:
    """Return a function that takes the limits of the maximum and says every few seconds what they are."""
    said = time.monotonic()

    def follow(value: float, upper: float) -> None:
        nonlocal said
        if time.monotonic() - said >= _SECONDS:
            said = time.monotonic()
            tell(f"{what}: T* is between {1 / upper:.5g} and {1 / value:.5g} so far")

    return follow
