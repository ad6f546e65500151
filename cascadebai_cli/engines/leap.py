"""Leaps over the long stretches in which a run is stuck: the same few items are seen, the list hardly changes.

In such a stretch at most one place of the list changes hands. The other items shown, the *laggards*, were observed
less often than any item outside the list, so they stay; the last place goes round the items of the *front*, least
observed first. As long as the display order of these places stays the same, nothing needs to be looked up: the first
place is observed at every step, the next one whenever the first was skipped, and so on. The steps at which each
place is observed follow from the outcomes of the place before, all steps at once. The leap ends before the first
step before which the order of two neighbours has changed, or at which an item would leave the window in which it is
proven that no rule can fire.
"""

from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines.lookahead import radius_rule
from cascadebai_cli.engines.stacks import Stack
from cascadebai_cli.engines.windows import Window, proven_quiet
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

SHRINK = 8
"""A leap that is not proven is tried again with so many times fewer steps."""
LIMITLESS = np.iinfo(np.int64).max


class State(NamedTuple):
    """A row before a step: survivors, observations and clicks of each item, shape `(L,)`, and its learner."""

    learner: CascadeBAI
    stack: Stack
    T: IntArray
    S: IntArray


class Outlook(NamedTuple):
    """What the next observations of a place of the list will be.

    Attributes:
        clicks: whether each of them ends the step.
        values: what the place is sorted by before each of them and after the last.
    """

    clicks: BoolArray
    values: FloatArray


def leap(state: State, steps: int) -> tuple[int, IntArray]:
    """How many of the next `steps` steps can be taken at once, and how often each item is observed in them.

    Returns:
        0 steps if the run is not stuck, or nothing is proven.
    """
    places = places_of(state)
    while places and steps > 0:
        steps, observed = _descend(state, places, steps)
        if _quiet(state, observed):
            return steps, observed
        steps //= SHRINK
    return 0, np.zeros(len(state.T), np.int64)


def places_of(state: State) -> list[IntArray]:
    """The items that hold each place of the list in turn, in display order: one, but for the place of the front.

    None if more than one place changes hands, or the front is not observed in a cycle.
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
    """Whether the front is observed in a cycle, and no laggard is about to join it."""
    least = T[front[0]]
    behind, ahead = front[T[front] == least], front[T[front] > least]
    cyclic = T[front[-1]] <= least + 1 and (len(ahead) == 0 or ahead[-1] < behind[0])
    return bool(cyclic and (len(laggards) == 0 or T[laggards[-1]] < least))


def _quiet(state: State, observed: IntArray) -> bool:
    """Whether no rule can fire as long as no item is observed more often than that."""
    learner, T = state.learner, state.T
    alive = np.zeros(len(T), bool)
    alive[learner.race.survivors] = True
    T_end, S_end = T + observed, state.S + clicks_of(state, observed)
    rows = (alive[None], T[None], state.S[None], T_end[None], S_end[None])
    window = Window(*rows, radius_rule(state.learner).radius(T_end)[None])
    return bool(proven_quiet(window, np.array([learner.race.k]), np.array([learner.rule.epsilon]))[0])


def clicks_of(state: State, observed: IntArray) -> IntArray:
    """Clicks among the next `observed` outcomes of each item."""
    clicks = np.zeros(len(observed), np.int64)
    for item in np.flatnonzero(observed).tolist():
        clicks[item] = state.stack.peek(item, int(state.T[item]), int(observed[item])).sum()
    return clicks


def _outlook(state: State, items: IntArray, n: int) -> Outlook:
    """The next `n` observations of a place that `items` hold in turn."""
    rounds = -(-n // len(items))
    clicks = np.empty((rounds, len(items)), bool)
    for column, item in enumerate(items.tolist()):
        clicks[:, column] = state.stack.peek(item, int(state.T[item]), rounds)
    return Outlook(clicks.ravel()[:n], _values(state, items, clicks).ravel()[: n + 1])


def _values(state: State, items: IntArray, clicks: BoolArray) -> FloatArray:
    """What `items` are sorted by after each of their next outcomes, shape `(rounds + 1, items)`."""
    T = state.T[items] + np.arange(len(clicks) + 1)[:, None]
    S = np.empty(T.shape)
    S[0], S[1:] = state.S[items], state.S[items] + np.cumsum(clicks, axis=0)
    display = state.learner.display
    radius = radius_rule(state.learner).radius(T) if display.width else np.zeros(1)
    return display.values(S / np.maximum(T, 1), radius)


def _descend(state: State, places: list[IntArray], steps: int) -> tuple[int, IntArray]:
    """Follow the list down: at which steps is each place observed, and how many steps keep the list as it is."""
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


def _limit(state: State, items: IntArray, places: list[IntArray]) -> int:
    """Observations until a laggard is no longer observed less often than the front."""
    front = max(places, key=len)
    if len(items) > 1 or len(front) == 1:
        return LIMITLESS
    return int(state.T[front[0]] - state.T[items[0]]) - 1


def _order_changes(here: Outlook, below: Outlook, n: int) -> IntArray:
    """The first of `n` observations of a place after which it no longer comes before the one below, if there is one."""
    passes = np.cumsum(~here.clicks[:n])
    return np.flatnonzero(here.values[1 : n + 1] >= below.values[passes])[:1]


def _observations(places: list[IntArray], seen: list[IntArray], steps: int, L: int) -> IntArray:
    """How often each item is observed in the first `steps` steps, if its place is observed at the steps `seen`."""
    observed = np.zeros(L, np.int64)
    for items, at in zip(places, seen, strict=False):
        rounds, rest = divmod(int(np.searchsorted(at, steps)), len(items))
        observed[items] = rounds
        observed[items[:rest]] += 1
    return observed
