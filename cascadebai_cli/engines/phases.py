"""Engines of learners that know ahead which lists they will show: uniform and SAR, and track-and-stop."""

from collections.abc import Callable, Sequence

import numpy as np

from cascadebai_cli.engines.jobs import Ending, Job, Run, run_of
from cascadebai_cli.engines.outcomes import Outcomes, RandomOutcomes, Stack
from cascadebai_cli.learners.fixed_budget import Uniform
from cascadebai_cli.learners.track_and_stop import TrackAndStop
from cascadebai_cli.model.problem import BoolArray, FloatArray, IntArray

# --- Learners that decide after a given number of steps: a whole phase is counted at once ---------------------------
#
# Such a learner goes round the survivors; a *round* observes every survivor once, in the order of the items. A step is
# a part of this sweep: it ends at a click, or after a full list without one. So the clicks alone determine the place of
# the sweep at which a phase ends, and that place determines the counts and clicks of the items. An item that is decided
# is left out of the rounds that were drawn ahead; the outcomes of the others stay.


_FEWEST = 64
"""Smallest number of rounds drawn at once; later draws add half of those drawn so far. No run depends on the cap."""
_MOST = 2**22
"""Largest number of outcomes drawn at once."""
_COUNTED = 10**7
"""Steps of a phase from which their numbers are drawn in place of their outcomes (`leap_phases`)."""


def run_phases(job: Job[Uniform]) -> Run:
    """Run one trial; for the same outcomes the result is that of the reference engine.

    A phase of more than `_COUNTED` steps draws how often each outcome occurs, which has the same law (`leap_phases`).
    """
    learner, sweep = job.learner, _Sweep(job)
    while not learner.finished and learner.steps < job.cap:
        sweep.show(learner.next_end(job.cap) - learner.steps)
        learner.decide()
        learner.race.stamp(learner.steps)
    return run_of(learner.race, learner.steps, learner.T)


class _Sweep:
    """The sweep through the survivors, and where it stands.

    Attributes:
        drawn: rounds drawn so far.
        ahead: outcomes of the rounds that are not over, shape `(rounds, L)`.
        column: the item to be observed next.
    """

    def __init__(self, job: Job[Uniform]) -> None:
        self.learner, self.cascading = job.learner, job.feedback.ends_at_click
        self.outcomes: Outcomes = job.stack
        self.L = job.learner.race.L
        self.drawn, self.column = 0, 0
        self.ahead: BoolArray = np.zeros((0, self.L), bool)

    def show(self, steps: int) -> None:
        """Make `steps` steps, in which no item is decided."""
        D = self.learner.race.survivors
        batch = min(self.learner.M, len(D))
        if steps > _COUNTED and isinstance(self.outcomes, RandomOutcomes):
            steps -= self._count(D, batch, steps, self.outcomes)
        while steps > 0:
            if not len(self.ahead):
                self._draw()
            skipped = int(np.searchsorted(D, self.column))
            clicks = self.ahead[:, D].ravel()[skipped:]
            made, seen = cut(clicks if self.cascading else np.zeros_like(clicks), batch, steps)
            self._observe(D, skipped + seen)
            steps -= made
            self.learner.steps += made
            if steps > 0:
                self._draw()

    def _observe(self, D: IntArray, place: int) -> None:
        """Count the outcomes of the survivors up to a place of the sweep, counted from the beginning of this round."""
        rounds, passed = divmod(place, len(D))
        begun = int(np.searchsorted(D, self.column))
        self.learner.T[D] += rounds + (np.arange(len(D)) < passed) - (np.arange(len(D)) < begun)
        for items, sign, row in ((D[:begun], -1, 0), (D[:passed], 1, rounds)):
            if len(items):
                self.learner.S[items] += sign * self.ahead[row, items]
        self.learner.S[D] += self.ahead[:rounds, D].sum(axis=0)
        self.ahead, self.column = self.ahead[rounds:], int(D[passed])

    def _count(self, D: IntArray, batch: int, steps: int, outcomes: RandomOutcomes) -> int:
        """Draw the numbers of most of the steps, and return how many these are; outcomes drawn ahead are not met."""
        sweep = Counts(outcomes.weights[D], batch, int(np.searchsorted(D, self.column)) % len(D), outcomes.rng)
        made = sweep.skip(steps) if self.cascading and batch > 1 else sweep.observe(steps, batch)
        self.learner.T[D] += sweep.T
        self.learner.S[D] += sweep.S
        self.learner.steps += made
        if made:
            self.ahead, self.column = self.ahead[:0], int(D[sweep.start])
        return made

    def _draw(self) -> None:
        """Draw further rounds."""
        rounds, shift = min(max(_FEWEST, self.drawn // 2), max(1, _MOST // self.L)), (self.L - 1).bit_length()
        keys, are_clicks = self.outcomes.stretch(np.arange(self.L), self.drawn, rounds, shift)
        fresh = np.full((rounds, self.L), not are_clicks)
        fresh[keys >> shift, keys & ((1 << shift) - 1)] = are_clicks
        self.ahead, self.drawn = np.concatenate([self.ahead, fresh]), self.drawn + rounds


def cut(clicks: BoolArray, batch: int, steps: int) -> tuple[int, int]:
    """Return how many of `steps` steps end in these observations, and how many observations they have.

    Args:
        clicks: outcomes of the survivors in the order in which they are observed, from the beginning of a step on.
        batch: most observations of a step.
        steps: steps to make, one or more.
    """
    at = np.append(-1, np.flatnonzero(clicks))
    ended = np.append(0, np.cumsum((np.diff(at) - 1) // batch + 1))
    before = int(np.searchsorted(ended, steps, side="right")) - 1
    left = len(clicks) - int(at[before]) - 1
    full = min(steps - int(ended[before]), left // batch)
    return int(ended[before]) + full, int(at[before]) + 1 + full * batch


# --- Phases of very many steps: their numbers are drawn, not their outcomes ----------------------------------------
#
# The item at which a step begins is a Markov chain: by the place of its click, or by having none, a step decides where
# the next one begins. Let every item have a *stack*, the independent outcomes of the steps that begin at it, in order.
#
# *Any order will do.* Take the first `n_i` outcomes of each stack `i`, in whatever order. If they lead from the start
# to one end (each item is reached as often as it is left, but for these two), and if the last outcomes taken, followed
# from item to item, lead to this end from every item that was left, then the chain itself takes exactly these outcomes
# first (the theorem of de Bruijn, van Aardenne-Ehrenfest, Smith and Tutte on trails that use every edge of a graph).
# What is taken depends on the outcomes taken alone, so that the rest of each stack is as fresh as at first.
#
# *So* the numbers of the first `n_i` outcomes, and which was the last, are drawn at once: multinomial numbers, and one
# of these outcomes at random. An item that was left more often than it was reached is short of steps, others have too
# many: those take further outcomes until there is one step in hand, and then until the last outcomes lead to its item.


_MARGIN = 12.0
"""Standard deviations that the first outcomes taken stay below the expected ones, so that never too many are taken."""
_MOST_SURVIVORS = 128
"""Number of survivors from which powers of the chain take longer than its steps."""

_SLOW = 1000.0
"""Spread of the expected numbers from which it takes longer to bring steps to where they are missing."""

Take = Callable[[IntArray], tuple[IntArray, IntArray]]
"""Takes further outcomes of each stack: how many are each, shape `(d, batch + 1)`, and the last, shape `(d,)`."""


class Counts:
    """Numbers of observations and clicks of a sweep through some items.

    Args:
        w: their click probabilities, shape `(d,)`.
        batch: most observations of a step, at most `d`.
        start: item at which the next step begins.
        rng: the only source of randomness.

    Attributes:
        T, S: observations and clicks so far, shape `(d,)`.
    """

    def __init__(self, w: FloatArray, batch: int, start: int, rng: np.random.Generator) -> None:
        d = len(w)
        self.w, self.start, self.rng = w, start, rng
        self.met = (np.arange(d)[:, None] + np.arange(batch)) % d
        ended = np.append(np.arange(1, batch + 1), batch)
        self.after: IntArray = (np.arange(d)[:, None] + ended) % d
        passed = np.cumprod(np.column_stack([np.ones(d), 1 - w[self.met]]), axis=1)
        self.chances: FloatArray = np.column_stack([passed[:, :-1] * w[self.met], passed[:, -1]])
        self.T: IntArray = np.zeros(d, np.int64)
        self.S: IntArray = np.zeros(d, np.int64)

    def observe(self, steps: int, batch: int) -> int:
        """Make steps of `batch` observations each, and return how many."""
        d, seen = len(self.w), steps * batch
        fresh = seen // d + ((np.arange(d) - self.start) % d < seen % d)
        self.T += fresh
        self.S += self.rng.binomial(fresh, self.w)
        self.start = (self.start + seen) % d
        return steps

    def skip(self, steps: int) -> int:
        """Make steps that a click ends, at most `steps`, and return how many: most, or none where that takes longer."""
        made = 0
        while 4 * (least := self._least((steps - made) // 2)).sum() > steps - made:
            found, self.start = leap_phases(self._take, self.after, self.start, least)
            np.add.at(self.S, self.met, found[:, :-1])
            np.add.at(self.T, self.met, found[:, ::-1].cumsum(axis=1)[:, :0:-1])
            made += int(found.sum())
        assert made <= steps, "the chance of this is below 1e-30 (_least)"
        return made

    def _least(self, steps: int) -> IntArray:
        """Return a number of outcomes of each stack that `steps` steps almost certainly take, shape `(d,)`.

        A step moves the expected number by at most its spread over the starts, and with the variance below. So by
        Freedman's inequality a number is lower with a chance of about `exp(-MARGIN^2 / 2)`. A chain that forgets its
        start slowly gets none.
        """
        d = len(self.w)
        if d > _MOST_SURVIVORS:
            return np.zeros(d, np.int64)
        chain = np.zeros((d, d))
        np.add.at(chain, (np.arange(d)[:, None], self.after), self.chances)
        expected = visits(chain, steps)
        spread, variance = np.ptp(expected, axis=0).max() + 1, (chain @ expected**2 - (chain @ expected) ** 2).max()
        if spread > _SLOW:
            return np.zeros(d, np.int64)
        below = _MARGIN * (np.sqrt(steps * max(float(variance), 0.0)) + 4 * spread)
        least: IntArray = np.maximum(expected[self.start] - below, 0).astype(np.int64)
        return least

    def _take(self, number: IntArray) -> tuple[IntArray, IntArray]:
        found = self.rng.multinomial(number, self.chances)
        place = (self.rng.random(len(number)) * number).astype(np.int64)
        return found, (found.cumsum(axis=1) <= place[:, None]).sum(axis=1)


def visits(chain: FloatArray, steps: int) -> FloatArray:
    """Return the expected number of visits to each state in `steps` steps, the first included, for each start."""
    visited, moved = np.zeros_like(chain), np.eye(len(chain))
    for bit in f"{steps:b}":
        visited, moved = visited + moved @ visited, moved @ moved
        if bit == "1":
            visited, moved = visited + moved, moved @ chain
    return visited


def leap_phases(take: Take, after: IntArray, start: int, least: IntArray) -> tuple[IntArray, int]:
    """Take outcomes of stacks until they are those of the first steps of the chain, and return how many and its end.

    Args:
        take: takes outcomes.
        after: where an outcome leads, shape `(d, batch + 1)`.
        start: item at which the chain begins.
        least: outcomes of each stack to take at least.
    """
    taken, last = take(least)
    left, hand = least.copy(), _moved(taken, after) - least
    hand[start] += 1
    while hand.min() < 0 or not _leads(left, last, after, int(hand.argmax())):
        further = np.maximum(hand, 0)
        found, latest = take(further)
        taken, left, last = taken + found, left + further, np.where(further > 0, latest, last)
        hand += _moved(found, after) - further
    return taken, int(hand.argmax())


def _moved(found: IntArray, after: IntArray) -> IntArray:
    """Return how often each item is reached."""
    return np.bincount(after.ravel(), found.ravel(), len(after)).astype(np.int64)


def _leads(left: IntArray, last: IntArray, after: IntArray, end: int) -> bool:
    """Return whether the last outcomes lead to the end from every item that was left."""
    items = np.arange(len(left))
    follow = np.where((left > 0) & (items != end), after[items, np.minimum(last, after.shape[1] - 1)], items)
    for _ in range(len(left).bit_length()):
        follow = follow[follow]
    return bool((follow[left > 0] == end).all())


# --- Learners that plan ahead: all steps of a block of equal lists are made at once ---------------------------------


def run_planned(job: Job[TrackAndStop]) -> Run:
    """Run one trial from where the learner stands; for the same outcomes the result is that of the reference engine."""
    learner, steps = job.learner, job.steps
    while not learner.finished and steps < job.cap:
        end = learner.steps
        for items, repeats in learner.blocks:
            end += repeats
            shown = max(0, min(end, job.cap) - steps)
            _show(learner, job.stack, items, shown, job.feedback.ends_at_click)
            steps += shown
        if steps == end:
            learner.end_stretch()
    status: Ending = "stopped" if learner.finished else "capped"
    return Run(steps, status, int(learner.T.sum()), learner.recommendation)


def _show(learner: TrackAndStop, stack: Stack, items: Sequence[int], steps: int, cascading: bool) -> None:
    """Show one list `steps` times; an item is observed in the steps in which all items before it were skipped."""
    for item in items:
        if steps == 0:
            return
        outcomes = stack.peek(item, int(learner.T[item]), steps)
        clicks = int(np.count_nonzero(outcomes))
        learner.T[item] += steps
        learner.S[item] += clicks
        steps -= clicks if cascading else 0
