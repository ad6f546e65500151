"""Rows of outcomes read ahead: windows, and leaps over steps in which nothing can happen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.engines.jobs import Job, RowState, objects
from cascadebai_cli.engines.outcomes import Stack
from cascadebai_cli.engines.proofs import levels_of_boundary, mean_bounds
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.learners.protocol import DisplayOrder, RadiusRule
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

# --- Outcomes read ahead --------------------------------------------------------------------------------------------
#
# An item of a row is a *place* `row * L + item`. For each place the next `depth` outcomes are known. As the n-th
# outcome of an item does not depend on the run, neither do its mean, its confidence bounds and its next outcome after
# `n` observations: they are computed in bulk, and a step only moves a pointer.


@dataclass
class Lookahead(RowState):
    """Outcomes read ahead for the places of a block of rows.

    Each item has two *banks* of `depth` outcomes: it reads one, while the other one is free or already filled with
    what follows. Free banks are filled for many items of a row at once.

    Attributes:
        L: number of items.
        depth: outcomes in a bank.
        stack: source of each row, shape `(rows,)`.
        rule: rule of each row, for its radius.
        display: sign and width of the display order of each row, shape `(rows, 2)`.
        cascading: whether a click ends a step of the row.
        at: pointer of each item into `values`, `ends` and `sums`, of shape `(rows, 2, depth + 1, L)`: items that were
            observed equally often lie side by side, which the cache rewards. An observation moves a pointer by `L`.
        stop: where the window of each item ends, a value of `at`.
        bank: bank that each item reads, shape `(rows, L)`.
        T0, S0: observations and clicks of each item at the beginning of its banks, shape `(rows, 2, L)`.
        filled: whether the bank holds outcomes that the item has not read yet, shape `(rows, 2, L)`.
        values: value that the item is sorted by, after each number of observations.
        ends: whether the next outcome is a click that ends the step, likewise.
        sums: clicks since the beginning of the bank, likewise.
        NEVER: value of an item whose next outcome does not end the step, larger than any that items are sorted by.
    """

    NEVER: ClassVar = 2e300

    L: int
    depth: int
    stack: NDArray[Any]
    rule: NDArray[Any]
    display: IntArray
    cascading: BoolArray
    at: IntArray
    stop: IntArray
    bank: IntArray
    T0: IntArray
    S0: IntArray
    filled: BoolArray
    values: FloatArray
    ends: BoolArray
    sums: NDArray[np.uint16]

    @classmethod
    def of(cls, jobs: Sequence[Job[CascadeBAI]], depth: int) -> "Lookahead":
        """Return the outcomes read ahead that start where the learners stand of which none has been read yet."""
        rows, L = len(jobs), jobs[0].learner.rule.L
        same: dict[RadiusRule, RadiusRule] = {}
        outcomes = (rows, 2, depth + 1, L)
        ahead = cls(
            L=L,
            depth=depth,
            stack=objects([job.stack for job in jobs]),
            rule=objects([same.setdefault(rule, rule) for rule in (_radius_rule(job.learner) for job in jobs)]),
            display=np.array([job.learner.display for job in jobs]),
            cascading=np.array([job.feedback.ends_at_click for job in jobs]),
            at=np.zeros((rows, L), np.int64),
            stop=np.zeros((rows, L), np.int64),
            bank=np.ones((rows, L), np.int64),
            T0=np.zeros((rows, 2, L), np.int64),
            S0=np.zeros((rows, 2, L), np.int64),
            filled=np.zeros((rows, 2, L), bool),
            values=np.zeros(outcomes),
            ends=np.zeros(outcomes, bool),
            sums=np.zeros(outcomes, np.uint16),
        )
        for row, job in enumerate(jobs):
            ahead.move(row, job.learner.T, job.learner.S, np.arange(L))
        return ahead

    def _starts(self, rows: IntArray) -> IntArray:
        """Return the pointers of the items of `rows` to the beginning of the banks they read, shape `(rows, L)`."""
        banks = 2 * rows[:, None] + self.bank[rows]
        starts: IntArray = banks * ((self.depth + 1) * self.L) + np.arange(self.L)
        return starts

    def keep(self, rows: IntArray) -> None:
        """Forget all rows but these."""
        super().keep(rows)
        moved = (rows - np.arange(len(rows)))[:, None] * (2 * (self.depth + 1) * self.L)
        self.at -= moved
        self.stop -= moved

    def slots(self, rows: IntArray) -> IntArray:
        """Return how many outcomes of its bank each item has read, shape `(rows, L)`."""
        slots: IntArray = (self.at[rows] - self._starts(rows)) // self.L
        return slots

    def counts(self, rows: IntArray, slots: IntArray) -> tuple[IntArray, IntArray]:
        """Return counts and clicks of the items of `rows` after `slots` outcomes of their banks, shape `(rows, L)`."""
        row, bank, item = rows[:, None], self.bank[rows], np.arange(self.L)
        return self.T0[row, bank, item] + slots, self.S0[row, bank, item] + self.sums[row, bank, slots, item]

    def radius(self, rows: IntArray, T: IntArray) -> FloatArray:
        """Return the radius of each item of `rows` after `T` observations, shape `(rows, L)`."""
        rules = self.rule[rows].tolist()
        distinct = list({id(rule): rule for rule in rules}.values())
        if len(distinct) == 1:
            known: FloatArray = distinct[0].radius(T)
            return known
        radius = np.empty(T.shape)
        for rule in distinct:
            mine = np.array([other is rule for other in rules])
            radius[mine] = rule.radius(T[mine])
        return radius

    def turn(self, rows: IntArray, alive: BoolArray) -> None:
        """Let the items of `rows` that have read their bank go on with the other one, filled first where it is free.

        Args:
            rows: the rows.
            alive: items that may be observed again, shape `(rows, L)`; the banks of others may be overwritten.
        """
        spent = alive & (self.slots(rows) == self.depth)
        other = 1 - self.bank[rows]
        spent_rows, items = np.nonzero(spent)
        banks = other[spent_rows, items]
        empty = ~self.filled[rows[spent_rows], banks, items]
        for i, bank in sorted(set(zip(spent_rows[empty].tolist(), banks[empty].tolist(), strict=True))):
            row = int(rows[i])
            free = alive[i] & (other[i] == bank) & ~self.filled[row, bank]
            self._fill(row, bank, np.flatnonzero(free), whole=bool((free | ~alive[i]).all()))
        self.bank[rows[spent_rows], items] = banks
        self.filled[rows[spent_rows], 1 - banks, items] = False
        self.at[rows[spent_rows], items] = self._starts(rows)[spent_rows, items]

    def _fill(self, row: int, bank: int, items: IntArray, whole: bool) -> None:
        """Read the outcomes that follow the bank that the items read now.

        Args:
            row, bank, items: where the outcomes are put.
            whole: whether the other items of the bank may be overwritten too, which is faster.
        """
        self.filled[row, bank, items] = True
        columns = np.arange(self.L) if whole else items
        T0 = self.T0[row, 1 - bank, columns] + self.depth
        S0 = self.S0[row, 1 - bank, columns] + self.sums[row, 1 - bank, -1, columns]
        self.T0[row, bank, columns], self.S0[row, bank, columns] = T0, S0
        clicks = self._read(row, items, T0[np.searchsorted(columns, items)], columns)
        sums = np.cumsum(clicks, axis=0, dtype=np.uint16)
        into = slice(None) if whole else columns
        self.sums[row, bank][:, into] = sums
        self.ends[row, bank][:-1, into] = clicks[1:] if self.cascading[row] else False
        order = DisplayOrder(*self.display[row].tolist())
        if order.sign:
            T = T0 + np.arange(self.depth + 1)[:, None]
            mean = S0.astype(np.float64) + sums
            mean /= np.maximum(T0.astype(np.float64) + np.arange(self.depth + 1.0)[:, None], 1)
            radius = self.rule[row].radius(T) if order.width else np.zeros(1)
            self.values[row, bank][:, into] = order.values(mean, radius)

    def _read(self, row: int, items: IntArray, T0: IntArray, columns: IntArray) -> BoolArray:
        """Return outcomes of `items` after `T0` observations, in their places in `columns`; the first row is empty."""
        clicks = np.zeros((len(columns), self.depth + 1), bool)
        places = np.searchsorted(columns, items)
        for place, item, start in zip(places.tolist(), items.tolist(), T0.tolist(), strict=True):
            clicks[place, 1:] = self.stack[row].peek(item, start, self.depth)
        return np.ascontiguousarray(clicks.T)

    def move(self, row: int, T: IntArray, S: IntArray, items: IntArray) -> None:
        """Take `items` of a row to `T` observations and `S` clicks, shape `(L,)`, as if they had read their bank."""
        bank = self.bank[row, items]
        self.T0[row, bank, items] = T[items] - self.depth
        self.S0[row, bank, items] = S[items]
        self.sums[row, bank, -1, items] = 0
        self.filled[row, :, items] = False
        self.at[row, items] = self._starts(np.array([row]))[0, items] + self.depth * self.L


def _radius_rule(learner: CascadeBAI) -> RadiusRule:
    """Return the learner's rule, whose bounds are the mean plus and minus a radius."""
    assert isinstance(learner.rule, RadiusRule)
    return learner.rule


# --- Proofs that no rule of Algorithm 1 can fire in a window (`proofs`) ---------------------------------------------


_Counts = tuple[IntArray, IntArray]
"""Observations and clicks, each of shape `(rows, L)`."""


def proven_quiet(
    alive: BoolArray, now: _Counts, end: _Counts, radius: FloatArray, k: IntArray, epsilon: FloatArray
) -> BoolArray:
    """Return in which rows no item can be accepted or rejected at any moment of a window, its ends included.

    Args:
        alive: the survivors, shape `(rows, L)`; entries of other items are ignored.
        now, end: observations and clicks at the beginning and at the end of the window.
        radius: smallest radius in the window, the one at its end, shape `(rows, L)`.
        k, epsilon: items still to be accepted in each row, and its tolerance.
    """
    means = mean_bounds(*now, *end, k, alive)
    accept, reject = levels_of_boundary(means, lambda mean: mean + radius, lambda mean: mean - radius)
    best = np.where(alive, means.high - radius, -np.inf).max(axis=1)
    worst = np.where(alive, means.low + radius, np.inf).min(axis=1)
    return np.asarray((best <= accept[:, 0] - epsilon) & (worst >= reject[:, 0] - epsilon))


# --- Leaps over stretches in which a run is stuck -------------------------------------------------------------------
#
# A run is stuck while the same few items are seen and the list hardly changes: at most one place of the list is held
# by several items in turn. The other items shown, the *laggards*, were observed
# less often than any item outside the list, so they stay; the last place goes round the items of the *front*, least
# observed first. As long as the display order of these places stays the same, nothing needs to be looked up: the first
# place is observed at every step, the next one whenever the first was skipped, and so on. The steps at which each
# place is observed follow from the outcomes of the place before, all steps at once. The leap ends before the first
# step before which the order of two neighbours has changed, or at which an item would leave the window in which it is
# proven that no rule can fire.


_SHRINK = 8
"""A leap that cannot be proven is tried again with its steps divided by this."""
_LIMITLESS = np.iinfo(np.int64).max


class LookState(NamedTuple):
    """A row before a step: survivors, observations and clicks of each item, shape `(L,)`, and its learner."""

    learner: CascadeBAI
    stack: Stack
    T: IntArray
    S: IntArray

    def clicks_ahead(self, observed: IntArray) -> IntArray:
        """Return the clicks among the next `observed` outcomes of each item."""
        clicks = np.zeros(len(observed), np.int64)
        for item in np.flatnonzero(observed).tolist():
            clicks[item] = self.stack.peek(item, int(self.T[item]), int(observed[item])).sum()
        return clicks


class _Outlook(NamedTuple):
    """The next observations of a place of the list.

    Attributes:
        clicks: whether each of them ends the step.
        values: value that the place is sorted by, before each of them and after the last.
    """

    clicks: BoolArray
    values: FloatArray


def leap(state: LookState, steps: int) -> tuple[int, IntArray]:
    """Return how many of the next `steps` steps can be taken at once, and how often each item is observed in them.

    Returns:
        0 steps if the run is not stuck, or if nothing can be proven.
    """
    places = _places_of(state)
    while places and steps > 0:
        steps, observed = _descend(state, places, steps)
        if _quiet(state, observed):
            return steps, observed
        steps //= _SHRINK
    return 0, np.zeros(len(state.T), np.int64)


def _places_of(state: LookState) -> list[IntArray]:
    """Return, for each place of the list in display order, the items that hold it in turn: one, except for the front.

    The list is empty if more than one place is held by several items, or if the front is not observed in a cycle.
    """
    D = state.learner.race.survivors
    M = state.learner.rule.batch(len(D))
    ordered = D[np.argsort(state.T[D], kind="stable")]
    laggards, front = (ordered, ordered[:0]) if len(D) <= M else (ordered[: M - 1], ordered[M - 1 :])
    if len(front) and not _takes_turns(state.T, laggards, front):
        return []
    values = _values(state, ordered[:M], np.zeros((0, M), bool))[0]
    turns = [np.array([item]) for item in laggards.tolist()] + ([front] if len(front) else [])
    return [turns[rank] for rank in np.argsort(values, kind="stable")]


def _takes_turns(T: IntArray, laggards: IntArray, front: IntArray) -> bool:
    """Return whether the front is observed in a cycle, and no laggard is about to join it."""
    least = T[front[0]]
    behind, ahead = front[T[front] == least], front[T[front] > least]
    cyclic = T[front[-1]] <= least + 1 and (len(ahead) == 0 or ahead[-1] < behind[0])
    return bool(cyclic and (len(laggards) == 0 or T[laggards[-1]] < least))


def _quiet(state: LookState, observed: IntArray) -> bool:
    """Return whether no rule can fire as long as each item is observed at most `observed` further times."""
    learner, T = state.learner, state.T
    alive = np.zeros(len(T), bool)
    alive[learner.race.survivors] = True
    end = T + observed, state.S + state.clicks_ahead(observed)
    now, end = (T[None], state.S[None]), (end[0][None], end[1][None])
    radius = _radius_rule(learner).radius(T + observed)[None]
    return bool(
        proven_quiet(alive[None], now, end, radius, np.array([learner.race.k]), np.array([learner.rule.epsilon]))[0]
    )


def _outlook(state: LookState, items: IntArray, n: int) -> _Outlook:
    """Return the next `n` observations of a place that `items` hold in turn."""
    rounds = -(-n // len(items))
    clicks = np.empty((rounds, len(items)), bool)
    for column, item in enumerate(items.tolist()):
        clicks[:, column] = state.stack.peek(item, int(state.T[item]), rounds)
    return _Outlook(clicks.ravel()[:n], _values(state, items, clicks).ravel()[: n + 1])


def _values(state: LookState, items: IntArray, clicks: BoolArray) -> FloatArray:
    """Return what `items` are sorted by after each of their next outcomes, shape `(rounds + 1, items)`."""
    T = state.T[items] + np.arange(len(clicks) + 1)[:, None]
    S = np.empty(T.shape)
    S[0], S[1:] = state.S[items], state.S[items] + np.cumsum(clicks, axis=0)
    display = state.learner.display
    radius = _radius_rule(state.learner).radius(T) if display.width else np.zeros(1)
    return display.values(S / np.maximum(T, 1), radius)


def _descend(state: LookState, places: list[IntArray], steps: int) -> tuple[int, IntArray]:
    """Follow the list down; return how many steps keep it as it is, and how often each item is observed in them."""
    at: IntArray = np.arange(steps)
    seen, here = [at], _outlook(state, places[0], steps)
    for i, items in enumerate(places):
        allowed = min(len(at), _limit(state, items, places))
        if allowed < len(at):
            steps = int(at[allowed])
        passed = at[:allowed][~here.clicks[:allowed]]
        if i + 1 == len(places):
            break
        below = _outlook(state, places[i + 1], len(passed))
        steps = min([steps, *(at[_order_changes(here, below, allowed)] + 1)])
        at, here = passed[passed < steps], below
        seen.append(at)
        if len(at) == 0:
            break
    return int(steps), _observations(places, seen, steps, len(state.T))


def _limit(state: LookState, items: IntArray, places: list[IntArray]) -> int:
    """Return how many observations a laggard can get and still be observed less often than the front."""
    front = max(places, key=len)
    if len(items) > 1 or len(front) == 1:
        return _LIMITLESS
    return int(state.T[front[0]] - state.T[items[0]]) - 1


def _order_changes(here: _Outlook, below: _Outlook, n: int) -> IntArray:
    """Return the first of `n` observations after which a place no longer comes before the one below; empty if none."""
    passes = np.cumsum(~here.clicks[:n])
    return np.flatnonzero(here.values[1 : n + 1] >= below.values[passes])[:1]


def _observations(places: list[IntArray], seen: list[IntArray], steps: int, L: int) -> IntArray:
    """Return how often each item is observed in the first `steps` steps, if its place is observed at steps `seen`."""
    observed = np.zeros(L, np.int64)
    for items, at in zip(places, seen, strict=False):
        rounds, rest = divmod(int(np.searchsorted(at, steps)), len(items))
        observed[items] = rounds
        observed[items[:rest]] += 1
    return observed
