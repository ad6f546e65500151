"""State of the trials of KL-LUCB++ that advance together, one array row per trial."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.jobs import Job, RowState, objects
from cascadebai_cli.engines.outcomes import Stack
from cascadebai_cli.learners.kl_lucb import UNIT, KLLucb, LucbRule
from cascadebai_cli.learners.racing import by_mean
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

# --- Bounds that are computed once, as trials of one rule meet the same states again and again ----------------------


_KNOWN = 2048
"""Bounds of states with fewer observations are kept; states with more are hardly ever met twice."""


class Bounds:
    """The bounds of a rule by `T` and `S`, in the units in which they stand in codes.

    Each side of the boundary has a table, in which the pair `(T, S)` has the place `T (T + 1) / 2 + S`. A bound `b` is
    kept as `-1 - b`, which is negative, so that 0 marks a bound not asked for yet. Only those pages of the tables that
    were written to take memory.
    """

    def __init__(self, rule: LucbRule) -> None:
        self.rule = rule
        self._first = np.arange(_KNOWN) * np.arange(1, _KNOWN + 1) // 2
        self._kept = np.zeros((2, _KNOWN * (_KNOWN + 1) // 2), np.int64)

    def of(self, inside: bool, T: IntArray, S: IntArray) -> IntArray:
        """Return lower bounds inside `J`, `-1` less upper bounds outside, in units; `T` and `S` have two axes."""
        far = T.max(axis=1) >= _KNOWN
        if not np.count_nonzero(far):
            negative = self._looked_up(inside, T, S)
        else:
            negative = np.empty(T.shape, np.int64)
            negative[far] = self._computed(inside, T[far], S[far])
            negative[~far] = self._looked_up(inside, T[~far], S[~far])
        return ~negative if inside else negative

    def _looked_up(self, inside: bool, T: IntArray, S: IntArray) -> IntArray:
        kept, at = self._kept[int(inside)], self._first.take(T) + S
        found: IntArray = kept.take(at)
        new = np.flatnonzero(found == 0)
        if len(new):
            kept[at.take(new)] = new
            once = new[kept.take(at.take(new)) == new]
            kept[at.take(once)] = self._computed(inside, T.take(once), S.take(once))
            found = kept.take(at)
        return found

    def _computed(self, inside: bool, T: IntArray, S: IntArray) -> IntArray:
        mean = S / np.maximum(T, 1)
        bound = self.rule.lower(mean, T) if inside else self.rule.upper(mean, T)
        negative: IntArray = ~(bound / UNIT).astype(np.int64)
        return negative


# --- The first round: until every item was observed, lists begin with the unobserved ones ---------------------------


class FirstRound(NamedTuple):
    """The state after the first round.

    Attributes:
        steps: number of steps made.
        T, S: observations and clicks of each item, shape `(L,)`.
    """

    steps: int
    T: IntArray
    S: IntArray


def first_round(job: Job[KLLucb]) -> FirstRound:
    """Go on until every item was observed, the learner stops, or its cap is reached."""
    if job.learner.T.min() > 0:
        return FirstRound(job.steps, job.learner.T.copy(), job.learner.S.copy())
    return _step_by_step(job) if may_end_early(job.learner.rule) or job.looks else _at_once(job)


def may_end_early(rule: LucbRule) -> bool:
    """Return whether a run may stop before all items were observed, which takes a tolerance close to 1.

    An unobserved item reaches from 0 to 1, and no other was observed more than once.
    """
    return bool(rule.epsilon > min(1 - rule.lower(1.0, 1), rule.upper(0.0, 1)))


def _at_once(job: Job[KLLucb]) -> FirstRound:
    """Observe all items in order; the last list has room for some a second time."""
    L, M = job.learner.rule.L, job.learner.rule.M
    outcomes = np.array([job.stack.peek(item, 0, 2) for item in range(L)]).T.ravel()[: L + M]
    place = np.arange(L + M)
    click = np.where(outcomes & job.feedback.ends_at_click, place, L + M)
    ends = np.minimum(np.minimum.accumulate(click[::-1])[::-1], place + M - 1).tolist()
    seen, steps = int(job.learner.T.sum()), job.steps
    while seen < L and steps < job.cap:
        seen, steps = ends[seen] + 1, steps + 1
    items = place[:seen] % L
    T, S = np.bincount(items, minlength=L), np.bincount(items[outcomes[:seen]], minlength=L)
    return FirstRound(steps, T, S)


def _step_by_step(job: Job[KLLucb]) -> FirstRound:
    learner, steps = job.learner, job.steps
    while learner.T.min() == 0 and not learner.finished and steps < job.cap:
        shown = learner.select()
        looks = looks_ahead(job.looks, len(shown), steps, 1)[:, 0]
        clicks = looks & [bool(job.stack.peek(item, int(learner.T[item]), 1)[0]) for item in shown]
        learner.observe(shown, job.feedback.reveal(range(len(shown)), clicks.astype(int).__getitem__))
        steps += 1
    return FirstRound(steps, learner.T.copy(), learner.S.copy())


def looks_ahead(stack: Stack | None, places: int, start: int, n: int) -> BoolArray:
    """Return which places are looked at in `n` steps after `start` of them, shape `(places, n)`."""
    return np.array([stack.peek(place, start, n) if stack else np.ones(n, bool) for place in range(places)])


# --- Rows of a block, with the state of their items now and after their next outcomes -------------------------------
#
# An item of a row is a *place*, `row * L + item`. Its n-th outcome does not depend on the run, and neither do its mean
# and its bounds after `n` observations: they are computed in bulk, for a *window* of the states ahead. The state after
# `T` observations is at `base + T` of the flat windows.
#
# The *code* of a state holds three numbers in one, `bound << bits | item << 1 | skip`, so that sorting codes sorts by
# bounds, with ties by item, and shows at once the item and whether the step goes on after its next outcome. The bound
# is in units: inside `J` it is the lower bound; outside, where codes are negative, it is `-1` less the upper bound.
#
# `J` stays as it is until the mean of an item that was observed reaches its *level*, between the means inside and
# outside. Means and levels have the opposite sign inside `J`, so that on either side an item may change sides once its
# mean is at least its level.


_MEMORY = 128 * 2**20
"""Bytes for the windows of one block."""
_SHALLOWEST, _DEEPEST = 4, 8
"""A window has at least 2 to the power of the first, at most 2 to the power of the second states."""
_STATE_BYTES = 24
ENTRIES = _MEMORY // (_STATE_BYTES << _SHALLOWEST)
"""Largest number of items of all rows together, which bounds their memory."""
_SHORTEST = 64
"""Smallest number of outcomes read at once, if the window holds as many."""
_SPARE = 8
"""A window is refilled, together with others, once fewer of its outcomes are unread."""
FAR = np.int64(1) << 62
"""Farther from the boundary than any item, and later than any turn."""
_REST = 3
"""A window is also refilled, together with others, once fewer than 1/_REST of its outcomes are unread."""
_NEAR = 1
"""Codes of the other side are read too where the mean is at most this many standard deviations from its level."""
_AT_ONCE = 32768
"""States computed at once, so that their arrays fit into the cache."""
_LONG = 1024
"""Number of items from which only the items that are needed are sorted."""


@dataclass
class LucbRows(RowState):
    """Rows of one rule that advance together.

    Attributes:
        rule, bounds: the rule of all rows, and its bounds.
        bits: shift of bounds in a code.
        depth: logarithm of the number of states of a window.
        job: place of the row in the jobs, -1 once it has ended; shape `(rows,)`, as for the following.
        stack, looks, cascading, cap: source, looks, kind of feedback and cap of its job.
        steps: steps that it had made before the block began.
        looked: steps of the block when the row was last tested for stopping.
        latest: `-1` once the row has ended, else larger than any turn.
        T: observations of each item, shape `(rows, L)`, as up to `level`.
        inside: mask of `J`, the `K` largest means.
        base: place of the item's window, less the observations at its first state.
        code, mean: code and mean of the item now.
        level: mean with which the item may change sides.
        codes, means: codes and means of the states of the window, shape `(rows, L, 2**depth)`.
        others: codes of these states on the other side of the boundary, where `known`.
    """

    rule: LucbRule
    bounds: Bounds
    bits: int
    depth: int
    job: IntArray
    stack: NDArray[Any]
    looks: NDArray[Any]
    cascading: BoolArray
    cap: IntArray
    steps: IntArray
    looked: IntArray
    latest: IntArray
    T: IntArray
    inside: BoolArray
    base: IntArray
    known: BoolArray
    code: IntArray
    mean: FloatArray
    level: FloatArray
    codes: IntArray
    others: IntArray
    means: FloatArray

    def __len__(self) -> int:
        return len(self.job)

    @property
    def last(self) -> int:
        """Index of the last state within a window."""
        return (1 << self.depth) - 1

    def keep(self, rows: IntArray) -> None:
        """Forget all rows but these; the windows move."""
        super().keep(rows)
        self.base -= ((rows - np.arange(len(rows))) * self.rule.L << self.depth)[:, None]

    def counts(self, row: int) -> tuple[IntArray, IntArray]:
        """Return the observations and clicks of all items of a row."""
        T = self.T[row]
        return T, np.rint(np.abs(self.mean[row]) * T).astype(np.int64)

    def rank(self, rows: IntArray) -> None:
        """Find `J` of rows anew."""
        inside, self.level[rows] = ranked(np.abs(self.mean[rows]), self.rule.K)
        row, item = np.nonzero(inside != self.inside[rows])
        self.inside[rows] = inside
        if len(row):
            self._change_sides(rows[row] * self.rule.L + item)

    def _change_sides(self, places: IntArray) -> None:
        """Turn the windows of places to the other side; where its codes are not known, read them."""
        known = self.known.take(places)
        self._read_all(places[~known])
        turned = places[known]
        codes, others, means = (of.reshape(-1, 1 << self.depth) for of in (self.codes, self.others, self.means))
        codes[turned], others[turned] = others[turned], codes[turned]
        means[turned] = -means[turned]
        self.move(turned, self.T.take(turned))

    def move(self, places: IntArray, T: IntArray) -> IntArray:
        """Move places to `T` observations, and return where these states are in the windows."""
        at = self.base.take(places) + T
        self.T.ravel()[places], self.code.ravel()[places] = T, self.codes.take(at)
        self.mean.ravel()[places] = self.means.take(at)
        return at

    def take_back(self, places: IntArray) -> None:
        """Take back the click that places have just had, as nobody looked, and read what may follow anew."""
        mean = self.mean.ravel()
        mean[places] -= np.copysign(1 / self.T.take(places), mean.take(places))
        self._read_all(places)

    # Windows.

    def read_on(self) -> None:
        """Refill the windows that are almost used up, so that none has to be refilled again soon."""
        left = self.last - (self.base + self.T & self.last)
        few = (left < _SPARE) | (_REST * left < np.minimum(self.T, self.last))
        few &= (self.job >= 0)[:, None]
        self._read_all(np.flatnonzero(few))

    def _read_all(self, places: IntArray) -> None:
        """Read windows anew, with more outcomes for items that were observed more often."""
        if len(places) == 0:
            return
        n = int(np.clip(np.median(self.T.take(places)), min(_SHORTEST, self.last), self.last))
        for part in self._parts(places, max(1, _AT_ONCE // n)):
            self._read(part, n)

    def _parts(self, places: IntArray, most: int) -> Iterator[IntArray]:
        """Yield parts of at most `most` places, all inside `J` or all outside."""
        inside = self.inside.ravel()[places]
        for side in (places[inside], places[~inside]):
            yield from (side[first : first + most] for first in range(0, len(side), most))

    def _near(self, places: IntArray) -> BoolArray:
        """Return which means are so near to their levels that their items may soon change sides."""
        level = np.abs(self.level.take(places))
        T, apart = np.maximum(self.T.take(places), 1), np.abs(self.mean.take(places)) - level
        return np.asarray(T * apart**2 <= _NEAR**2 * (level * (1 - level) + 1 / T))

    def _read(self, places: IntArray, n: int) -> None:
        """Read the next `n` outcomes of places, all inside `J` or all outside."""
        rows, items = np.divmod(places, self.rule.L)
        inside, T = bool(self.inside.take(places[0])), self.T.take(places)
        known = zip(self.stack[rows], items.tolist(), T.tolist(), strict=True)
        clicks = np.concatenate([stack.peek(item, count, n) for stack, item, count in known]).reshape(-1, n)
        T_after, S_after = T[:, None] + np.arange(n + 1), np.empty((len(places), n + 1), np.int64)
        S_after[:, 0] = np.rint(np.abs(self.mean.take(places)) * T)
        S_after[:, 1:] = S_after[:, :1] + np.cumsum(clicks, axis=1)
        low = np.repeat(items[:, None] << 1, n + 1, axis=1)
        low[:, :-1] |= ~(clicks & self.cascading[rows, None])
        near = self._near(places)
        codes, others, means = (of.reshape(-1, 1 << self.depth) for of in (self.codes, self.others, self.means))
        codes[places, -n - 1 :] = (self.bounds.of(inside, T_after, S_after) << self.bits) | low
        if np.count_nonzero(near):
            other = self.bounds.of(not inside, T_after[near], S_after[near])
            others[places[near], -n - 1 :] = (other << self.bits) | low[near]
        mean = S_after / np.maximum(T_after, 1)
        means[places, -n - 1 :] = -mean if inside else mean
        self.known.ravel()[places] = near
        self.base.ravel()[places] = ((places + 1) << self.depth) - 1 - n - T
        self.move(places, T)


def new_rows(jobs: Sequence[Job[KLLucb]]) -> LucbRows:
    """Return rows after their first round, with their windows read."""
    rule, rows = jobs[0].learner.rule, len(jobs)
    starts = [first_round(job) for job in jobs]
    items = (rows, rule.L)
    fitting = max(1, _MEMORY // (_STATE_BYTES * rows * rule.L)).bit_length() - 1
    depth = min(_DEEPEST, max(_SHALLOWEST, fitting))
    T = np.array([start.T for start in starts])
    mean = np.array([start.S for start in starts]) / np.maximum(T, 1)
    inside, level = ranked(mean, rule.K)
    made = LucbRows(
        rule=rule,
        bounds=Bounds(rule),
        bits=rule.L.bit_length() + 1,
        depth=depth,
        job=np.arange(rows),
        stack=objects([job.stack for job in jobs]),
        looks=objects([job.looks for job in jobs]),
        cascading=np.array([job.feedback.ends_at_click or job.looks is not None for job in jobs]),
        cap=np.array([job.cap for job in jobs]),
        steps=np.array([start.steps for start in starts]),
        looked=np.zeros(rows, np.int64),
        latest=np.full(rows, FAR),
        T=T,
        inside=inside,
        base=(np.arange(1, T.size + 1) << depth).reshape(items) - 1 - T,
        known=np.zeros(items, bool),
        code=np.zeros(items, np.int64),
        mean=mean,
        level=level,
        codes=np.zeros((*items, 1 << depth), np.int64),
        others=np.zeros((*items, 1 << depth), np.int64),
        means=np.zeros((*items, 1 << depth)),
    )
    made.read_on()
    return made


def ranked(mean: FloatArray, K: int) -> tuple[BoolArray, FloatArray]:
    """Return the mask of the `K` largest means (ties by number) and the level of each item, shape `(rows, L)`.

    The level is halfway between the means at the boundary. Where these are equal, an item with the same mean is inside
    if its number is at most that of the last such item inside, and outside if it is larger.
    """
    best, rows, inside = _best(mean, K + 1), np.arange(len(mean))[:, None], np.zeros(mean.shape, bool)
    first, last = best[:, :K], best[:, K - 1 : K]
    inside[rows, first] = True
    worst, rival = mean[rows, best[:, K - 1 :]].T[:, :, None]
    halfway = (worst + rival) / 2
    # for a later item, the same mean again must not reach the level: the next larger number is the level
    above, below = (np.where(worst == rival, np.nextafter(of, np.inf), of) for of in (halfway, -halfway))
    level = np.where(np.arange(mean.shape[1]) > last, above, halfway)
    level[rows, first] = np.where(first > last, -halfway, below)
    return inside, level


def _best(mean: FloatArray, n: int) -> IntArray:
    """Return the `n` items with the largest means in descending order, ties by number."""
    if mean.shape[1] < _LONG:
        return by_mean(mean)[:, :n]
    least = -np.partition(-mean, n - 1, axis=1)[:, n - 1, None]  # much faster than from above
    some = np.flatnonzero((mean >= least).any(axis=0))
    return np.asarray(some[by_mean(mean[:, some])[:, :n]])
