"""How to show lists so that the two laws hardest to tell apart are told apart soonest, with a certified gap.

For `n` looks at an item of each level, `g_ab(n) = min over x of n_a d(w_a, x) + n_b d(w_b, x)` is the evidence that a
best level `a` has a larger weight than another one, `b`; the minimum is at the pooled mean
`x = (n_a w_a + n_b w_b) / (n_a + n_b)`. This module maximises `G(n) = min over a, b of g_ab(n)` over
`n = seen + conv{rates(s)}`.

*Certificate.* For any `x`, `n_a d(w_a, x) + n_b d(w_b, x)` is at least `g_ab(n)`: a *cut*, linear in `n`. So for any
convex combination `r . n` of cuts, `G(n) <= r . n <= r . seen + max over s of r . rates(s)` for all `n`, and
`Lists.best` finds this maximum exactly. A mixture of lists has a value, a mixture of cuts an upper bound, however
they were found: the gap between both is certified.

*Few constraints.* Both minima may change places, `G(n) = min over x of (A(x) + B(x))` with
`A(x) = min over a of n_a d(w_a, x)`, `B(x) = min over b of n_b d(w_b, x)` and `x` between the largest of the other
weights and the smallest of the best: beyond these ends one of both is 0 and the other one has grown. At points `x_j`
this is a linear programme of `C` constraints a point instead of one cut a pair: the largest `t` with numbers `A_j`
such that `n_a d(w_a, x_j) >= A_j` and `n_b d(w_b, x_j) >= t - A_j`. Multipliers that weigh both sides of each point
alike, and 1 in all, are a mixture of cuts.

*Search.* First a *drift*, steps of Frank and Wolfe on a softened minimum. Then an interior point method, whose lists
and points grow as it goes. Each of its rounds

1. takes in the lists that are best against the multipliers, and against some that are shaken at random by as much
   as they may be wrong, and points at the pooled means of the hardest pairs where the points are too few;
2. goes back towards the best multipliers so far, as far as it takes not to lose much of what is certified;
3. makes one step of Newton towards the central path (`_Newton`), on which each list and each constraint has the same
   product of its share, or multiplier, and its slack.

Vertices of the programme would be worse: their multipliers jump about, and the best lists against them are new ones
every time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray, divergence, evidence
from cascadebai_cli.theory.lists import Levels, Lists

_ROUNDS = 200
"""Steps of Newton at most."""
_VALUES = 2e9
"""Values of the dynamic programme after which the search ends, some minutes; the drift ends after half of them."""
_PACE = 10
"""The drift has so many steps more than there are levels; the k-th moves by `2 / (k + _PACE)`."""
_SOFT, _SOFTNESSES = 0.1, (0.03, 0.1, 0.2, 0.4)
"""Softness of the minimum in the drift, as a part of the value, and what is tried for the first multipliers."""
_DRIFT_POINTS, _POINTS, _MORE_POINTS = 16, 128, 6
"""Points of the drift, of the interior point method at first, and how many may join in a round."""
_COARSE = 0.2
"""Points join while they overlook more than this part of the gap."""
_CANDIDATES, _NEAR = 64, 0.2
"""Pairs whose pooled means may become points, and how near to others they are too near, in roots of the gap."""
_TOWARDS_BEST, _LOSS = np.array([0.0, 0.3, 0.6, 0.8, 0.9, 0.95]), 0.3
"""How far a round may go back to the best multipliers, and what it may lose of the bound, as a part of the gap."""
_SHAKEN, _FEWEST, _NOISE, _MOST_NOISE = 0.1, 4, 2.0, 0.5
"""Multipliers that are shaken, per level and at least, and by how much, in gaps of `_MOST_NOISE` at most."""
_CENTRING, _SHORT = 0.2, 0.95
"""A step aims at this part of the products, and goes this part of the way to the nearest boundary."""
_MARGIN = 0.1
"""How far from all boundaries a step begins, as a part of the gap."""
_ADDED, _RAISED = 0.1, (1.0, 0.1, 0.01, 1e-3, 1e-4)
"""What shares and multipliers too small to be heeded may cost when they are raised, in gaps, and how far they are."""
_DENSE = 8
"""Lists with less than one level in so many are looked up in a sparse matrix."""
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Contest:
    """What is to be told apart, by which lists.

    Args:
        weights: click probability of each level, shape `(C,)`.
        best: mask of the best levels; each weighs more than every other level.
        lists: the lists that may be shown.
        seen: looks at an item of each level beforehand, in units of the lists to come; none by default.
    """

    weights: FloatArray
    best: BoolArray
    lists: Lists
    seen: FloatArray | float = 0.0

    def looks(self, rates: FloatArray) -> FloatArray:
        """`n`: what was seen and what will be."""
        return self.seen + rates

    def evidence(self, n: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`g_ab(n)` and the pooled means of all pairs of a best level and another one, of one shape each."""
        return evidence(n[self.best, None], self.weights[self.best, None], n[~self.best], self.weights[~self.best])

    def divergences(self, places: FloatArray) -> FloatArray:
        """`d(w, x)` of each level, shape `(C, J)`, at the points `x` that divide the gap between both sides."""
        low, high = self.weights[~self.best].max(), self.weights[self.best].min()
        nearest = np.where(self.best, high, low)[:, None]
        part = np.where(self.best[:, None], places - 1, places)
        rise = (nearest - self.weights[:, None]) + part * (high - low)
        return divergence(self.weights[:, None], low + places * (high - low), rise)

    def place(self, x: FloatArray) -> FloatArray:
        """Where points lie in the gap between both sides, from 0 to 1."""
        low, high = self.weights[~self.best].max(), self.weights[self.best].min()
        return np.asarray((x - low) / (high - low))


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of lists and how good it is.

    Attributes:
        lists: lists as levels, first to last.
        shares: share of each list, positive, of sum 1.
        rates: looks at an item of each level per list shown, shape `(C,)`.
        value: `G` of the mixture.
        upper: no mixture has a larger value.
    """

    lists: tuple[Levels, ...]
    shares: FloatArray
    rates: FloatArray
    value: float
    upper: float

    @property
    def gap(self) -> float:
        """Certified relative gap `upper / value - 1`."""
        return self.upper / self.value - 1


def maximin(contest: Contest, tolerance: float = 1e-3, tell: Callable[[float, float], None] | None = None) -> Mixture:
    """The mixture of lists that maximises `G`, within a relative `tolerance` unless the search is given up before.

    Args:
        contest: what is to be told apart.
        tolerance: relative gap to reach.
        tell: takes the value and the upper bound after each round.
    """
    search = _Search(contest, tolerance)
    for _ in range(_ROUNDS):
        if search.measure() or search.left < 0:
            break
        if tell:
            tell(search.value * search.scale, search.upper * search.scale)
        search.improve()
    return search.result()


class _Search:
    """Lists, points and multipliers found so far.

    From the end of the drift on, looks are measured in `unit`, those at its end, and evidence in `scale`, the value
    there.

    Attributes:
        shown, looks: lists, shape `(S, M)`, and what each of their places brings to an item of its level.
        shares: of each list, shape `(S,)`.
        places, d: points and the divergences of all levels at these, shape `(C, J)`.
        multipliers: of the constraint of each level at each point, shape `(C, J)`; `safest`, those of `upper`.
        value, upper: the best that are certified so far; `now`, the value of `shares`.
        kept: the shares of `value`.
        left: values of the dynamic programme until the search is given up.
    """

    def __init__(self, contest: Contest, tolerance: float) -> None:
        self.contest, self.tolerance, self.random = contest, tolerance, np.random.default_rng(0)
        self.best, self.C, length = contest.best, len(contest.weights), contest.lists.length
        self.shown, self.looks, self.known = np.zeros((0, length), np.int64), np.zeros((0, length)), set[bytes]()
        self.shares = self.kept = np.zeros(0)
        self.value, self.upper, self.left = 0.0, np.inf, _VALUES
        self.seen = np.zeros(self.C) + contest.seen
        self.drift()

    @property
    def gap(self) -> float:
        """Certified relative gap."""
        return self.upper / self.value - 1

    def join(self, shown: IntArray) -> None:
        """Take in those lists that are new, with no share."""
        new = [row for key, row in {row.tobytes(): row for row in shown}.items() if key not in self.known]
        if new:
            self.known.update(row.tobytes() for row in new)
            self.shown = np.concatenate([self.shown, new])
            self.looks = np.concatenate([self.looks, self.contest.lists.looks(np.array(new))])
            self.shares = np.append(self.shares, np.zeros(len(new)))

    def rates(self, shares: FloatArray) -> FloatArray:
        """Looks at an item of each level per list shown, of a mixture of the first lists."""
        weighted = shares[:, None] * self.looks[: len(shares)]
        return np.bincount(self.shown[: len(shares)].ravel(), weighted.ravel(), self.C).astype(np.float64)

    def drift(self) -> None:
        """Begin with the equal mixture of lists that begin with one level each, and move step by step.

        Each step goes towards the list that is best against the softened minimum.
        """
        lists, best, steps = self.contest.lists, 0.0, list[tuple[IntArray, float]]()
        sizes = np.minimum(lists.sizes, lists.length).tolist()
        self.join(np.array([lists.filled([level] * size) for level, size in enumerate(sizes)]))
        self.shares = np.full(len(self.shown), 1 / len(self.shown))
        n, d = self.seen + self.rates(self.shares), self._points(_DRIFT_POINTS)
        for pace in (2 / (_PACE + np.arange(self.C + _PACE))).tolist():
            least = n[:, None] * d
            best = max(best, self._sum_of_least(least).min())
            shown = self._priced((self._softened(least, _SOFT * best) * d).sum(axis=1)[None])[1][0]
            n = (1 - pace) * n + pace * (self.seen + np.bincount(shown, lists.looks(shown), self.C))
            steps.append((shown, pace))
            if self.left < _VALUES / 2:
                break
        self._take(steps)
        self._measure_in(n)

    def _take(self, steps: list[tuple[IntArray, float]]) -> None:
        """The shares after steps of the drift."""
        self.join(np.array([row for row, _ in steps]))
        number = {row.tobytes(): place for place, row in enumerate(self.shown)}
        left, added = 1.0, np.zeros(len(self.shares))
        for row, pace in reversed(steps):
            added[number[row.tobytes()]] += pace * left
            left *= 1 - pace
        self.shares = added + left * self.shares

    def _measure_in(self, n: FloatArray) -> None:
        """Choose the units, and multipliers of the softness that bounds the value best."""
        self.unit, self.scale = n, float(self.contest.evidence(n)[0].min())
        self.seen = self.seen / self.unit
        self.d = self._points(_POINTS) * (self.unit[:, None] / self.scale)
        made = [self._softened(self.d, softness) for softness in _SOFTNESSES]
        bounds, _ = self.bounds(np.array([self.cut(multipliers) for multipliers in made]))
        self.multipliers = self.safest = made[int(bounds.argmin())]

    def _points(self, count: int) -> FloatArray:
        """New points, which lie closer near both ends, and the divergences at them; no point may round to 0 or 1."""
        self.places = (1 - np.cos(np.pi * (np.arange(count) + 0.5) / count)) / 2
        d = self.contest.divergences(self.places)
        finite = np.isfinite(d).all(axis=0)
        self.places = self.places[finite]
        return d[:, finite]

    def _sum_of_least(self, least: FloatArray) -> FloatArray:
        """`A + B` at each point, of the evidence of each level there."""
        return np.asarray(least[self.best].min(axis=0) + least[~self.best].min(axis=0))

    def _softened(self, least: FloatArray, softness: float) -> FloatArray:
        """Multipliers that are the larger the nearer a constraint is to the least one, in units of `softness`."""
        made, soft = np.empty_like(least), np.zeros(least.shape[1])
        for side in (self.best, ~self.best):
            lowest = least[side].min(axis=0)
            part = np.exp((lowest - least[side]) / softness)
            made[side] = part / part.sum(axis=0)
            soft += lowest - softness * np.log(part.sum(axis=0))
        weight = np.exp((soft.min() - soft) / softness)
        return np.asarray(made * (weight / weight.sum()))

    def cut(self, multipliers: FloatArray) -> FloatArray:
        """`r`, the mixture of cuts."""
        return np.asarray((multipliers * self.d).sum(axis=1))

    def bounds(self, r: FloatArray) -> tuple[FloatArray, IntArray]:
        """The upper bounds by mixtures of cuts, shape `(B, C)`, and the lists that attain them."""
        rewards, shown = self._priced(r / self.unit)
        return rewards + r @ self.seen, shown

    def _priced(self, rewards: FloatArray) -> tuple[FloatArray, IntArray]:
        self.left -= len(rewards) * self.contest.lists.effort
        return self.contest.lists.best(rewards)

    def measure(self) -> bool:
        """Certify what the present mixtures are worth; whether the gap is small enough."""
        n = self.seen + self.rates(self.shares) / self.unit
        g, x = self.contest.evidence(n * self.unit)
        self.now = float(g.min()) / self.scale
        if self.now > self.value:
            self.value, self.kept = self.now, self.shares
        self._refine(self._sum_of_least(n[:, None] * self.d).min() / self.now - 1, g, x)
        self._hold()
        return self.gap <= self.tolerance

    def _refine(self, overlooked: float, g: FloatArray, x: FloatArray) -> None:
        """Take in points at the pooled means of the hardest pairs if the present ones overlook too much."""
        gap, new = min(self.gap, 1.0), list[float]()
        hardest: IntArray = np.argsort(g, axis=None)[: _CANDIDATES if overlooked > _COARSE * gap else 0]
        for place in self.contest.place(x.ravel()[hardest]).tolist():
            near = np.abs(np.append(self.places, new) - place).min() <= _NEAR * np.sqrt(gap) * min(place, 1 - place)
            if not near and len(new) < _MORE_POINTS:
                new.append(place)
        if not new:
            return
        added = self.contest.divergences(np.array(new)) * (self.unit[:, None] / self.scale)
        if not np.isfinite(added).all():
            return
        self.places, self.d = np.append(self.places, new), np.append(self.d, added, axis=1)
        self.multipliers, self.safest = (
            np.append(part, np.zeros(added.shape), axis=1) for part in (self.multipliers, self.safest)
        )

    def _hold(self) -> None:
        """Go back towards the best multipliers so far until not much of the bound is lost."""
        away = self.safest - self.multipliers
        r = self.cut(self.multipliers) + _TOWARDS_BEST[:, None] * self.cut(away)
        noise = self.random.standard_normal((max(int(_SHAKEN * self.C), _FEWEST), self.C))
        shaken = np.maximum(r[0] * (1 + _NOISE * min(self.gap, _MOST_NOISE) * noise), 0)
        bounds, shown = self.bounds(np.concatenate([r, shaken]))
        bounds = bounds[: len(r)]
        enough = np.flatnonzero(bounds <= self.upper * (1 + _LOSS * min(self.gap, 1)))
        chosen = int(enough[0]) if len(enough) else int(bounds.argmin())
        self.multipliers = self.multipliers + _TOWARDS_BEST[chosen] * away
        self.r, self.bound = r[chosen], float(bounds[chosen])
        if self.bound < self.upper:
            self.upper, self.safest = self.bound, self.multipliers
        self.join(shown)

    def improve(self) -> None:
        """Take in lists, and make a step of Newton."""
        gap = self.bound / self.now - 1
        self.shares, self.multipliers = self._programme(gap * self.now).step()

    def _programme(self, gap: float) -> "_Newton":
        """Where the step begins: off all boundaries, nothing too small to be heeded."""
        looks, margin = self._matrix(), _MARGIN * gap
        most = self.bound - self.r @ self.seen
        mean = (gap + 2 * margin) / (len(self.shares) + self.multipliers.size)
        missing = np.maximum(mean / (most + margin - looks @ self.r) - self.shares, 0)
        shares = self.shares + missing * min(1, _ADDED * gap / self.now / max(missing.sum(), _TINY))
        shares /= shares.sum()
        least = (self.seen + shares @ looks)[:, None] * self.d
        t = self._sum_of_least(least).min() - margin
        split = least[self.best].min(axis=0) - (self._sum_of_least(least) - t) / 2
        room = np.where(self.best[:, None], least - split, least + split - t)
        multipliers, rewards = self._raised(mean / room, looks, self.bound + _ADDED * gap)
        return _Newton(self.best, looks, self.d, shares, multipliers, max(most, rewards.max()) + margin - rewards, room)

    def _raised(self, wanted: FloatArray, looks: Any, most: float) -> tuple[FloatArray, FloatArray]:
        """Multipliers moved towards at least those wanted, as far as the bound by the lists so far allows."""
        missing = np.maximum(wanted - self.multipliers, 0)
        for part in _RAISED:
            multipliers = _balanced(self.multipliers + part * missing, self.best)
            r = self.cut(multipliers)
            rewards = looks @ r
            if rewards.max() + r @ self.seen <= most:
                break
        return multipliers, rewards

    def _matrix(self) -> Any:
        """Looks at each level in units, one row a list: sparse if that is faster."""
        values, (S, M) = self.looks / self.unit[self.shown], self.shown.shape
        if _DENSE * max(M, _DENSE) < self.C:
            from scipy.sparse import csr_array

            return csr_array((values.ravel(), self.shown.ravel(), np.arange(0, S * M + 1, M)), (S, self.C))
        places = self.shown + np.arange(S)[:, None] * self.C
        return np.bincount(places.ravel(), values.ravel(), S * self.C).reshape(S, self.C)

    def result(self) -> Mixture:
        """The best mixture found."""
        used = np.flatnonzero(self.kept)
        lists = tuple(tuple(row) for row in self.shown[used].tolist())
        return Mixture(lists, self.kept[used], self.rates(self.kept), self.value * self.scale, self.upper * self.scale)


def _balanced(multipliers: FloatArray, best: BoolArray) -> FloatArray:
    """Multipliers that weigh both sides of each point alike, and all points 1 together."""
    weight, others = multipliers[best].sum(axis=0), multipliers[~best].sum(axis=0)
    ratio = np.divide(others, weight, out=np.zeros_like(weight), where=weight > 0)
    return np.asarray(multipliers * np.where(best[:, None], ratio, ratio > 0) / others[ratio > 0].sum())


class _Newton:
    """One step of Newton towards the central path of the linear programme.

    Its unknowns are the shares `x` of the lists `Q`, the numbers `A` of the points, `t`, the multipliers `l` and the
    largest reward of a list, `u`; its slacks are `z = u - Q r` with `r` the sum of `l d` over the points, and
    `y = n d - A` of the best levels, `y = n d + A - t` of the others. The step solves, for a product `m`,

        x dz + z dx = m - x z,   l dy + y dm = m - l y,

    where the `dx` have sum 0, the `dm` weigh both sides of each point alike and have sum 0 on each. All but the change
    of `n = Q x`, `dt` and `du` are eliminated point by point and list by list: with `B = Q' (x / z) Q` and
    `H = sum of (l / y) d^2 - F F' / sum of l / y`, a system with the matrix `I + B H` is left, one row a level.

    Args:
        best: mask of the best levels.
        looks: `Q`, shape `(S, C)`.
        d: divergences, shape `(C, J)`.
        shares, multipliers: `x` and `l`.
        slack, room: `z` and `y`.
    """

    def __init__(
        self,
        best: BoolArray,
        looks: Any,
        d: FloatArray,
        x: FloatArray,
        m: FloatArray,
        z: FloatArray,
        y: FloatArray,
    ) -> None:
        self.best, self.side = best, np.where(best, -1.0, 1.0)[:, None]
        self.looks, self.d, self.x, self.m, self.z, self.y = looks, d, x, m, z, y
        self.q, self.xz = m / y, x / z
        self.weight, self.of_others = self.q.sum(axis=0), self.q[~best].sum(axis=0)
        self.F = self.q * d * self.side
        self.pull, self.stiff = self.F / self.weight, (self.q * d * d).sum(axis=1)

    def step(self) -> tuple[FloatArray, FloatArray]:
        """New shares and new multipliers."""
        product = _CENTRING * (self.x @ self.z + (self.m * self.y).sum()) / (len(self.x) + self.m.size)
        cx, cm = product / self.z - self.x, product / self.y - self.m
        beta = (self.side * (cm + self.m)).sum(axis=0)
        dn, dt, du, dr = self._solve(cx, cm, beta)
        dz, dA = du - self.looks @ dr, (beta - self.F.T @ dn + self.of_others * dt) / self.weight
        dx, dy = cx - self.xz * dz, self.d * dn[:, None] + self.side * dA - np.where(self.best, 0, dt)[:, None]
        dm = cm - self.q * dy
        x = self.x + min(_reach(self.x, dx), _reach(self.y, dy)) * dx
        return x / x.sum(), _balanced(self.m + min(_reach(self.m, dm), _reach(self.z, dz)) * dm, self.best)

    def _solve(self, cx: FloatArray, cm: FloatArray, beta: FloatArray) -> tuple[FloatArray, float, float, FloatArray]:
        """The changes of `n`, `t`, `u` and `r`."""
        B = (self.looks.T * self.xz) @ self.looks
        B = B if isinstance(B, np.ndarray) else B.toarray()
        e = (self.d * cm).sum(axis=1) - self.pull @ beta
        f = np.where(self.best, 0, np.abs(self.F).sum(axis=1)) - self.pull @ self.of_others
        listed = self.xz @ self.looks
        matrix = B * self.stiff - (B @ self.F) @ self.pull.T
        matrix.flat[:: len(B) + 1] += 1
        fixed, by_t, by_u = np.linalg.solve(matrix, np.column_stack([cx @ self.looks + B @ e, B @ f, -listed])).T
        held = self._stiffened(listed)
        of_t = self.of_others.sum() - self.of_others @ (self.of_others / self.weight)
        left = [[of_t - f @ by_t, -f @ by_u], [listed @ f - held @ by_t, -self.xz.sum() - held @ by_u]]
        start = cm[~self.best].sum() - self.of_others @ (beta / self.weight)
        dt, du = np.linalg.solve(left, [f @ fixed - start, held @ fixed - listed @ e - cx.sum()])
        dn = fixed + by_t * dt + by_u * du
        return dn, dt, du, e - self._stiffened(dn) + f * dt

    def _stiffened(self, n: FloatArray) -> FloatArray:
        """`H n`."""
        return np.asarray(self.stiff * n - self.pull @ (self.F.T @ n))


def _reach(values: FloatArray, change: FloatArray) -> float:
    """The longest step, 1 at most, that keeps values positive, shortened."""
    falls = change < 0
    return min(1.0, _SHORT * float(np.min(-values[falls] / change[falls], initial=np.inf)))
