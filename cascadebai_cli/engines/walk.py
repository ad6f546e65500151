"""The walk engine: exact runs over a table of rewards that is indexed by time.

A racing learner that shows the least observed survivors goes round them. While nobody is identified, the step that
begins at place `p` of the round and reads row `t` of the table observes `n(t, p)` survivors: up to the first click,
at most a list. So `t` and `p` give the place where the next step begins, and a run is a walk from row to row through
places that are worked out beforehand. Counts and clicks along it are recovered in bulk, stretches in which no rule can
fire are proven by the lemma of `proofs`, and single steps are looked at only where an item may be identified.
"""

import sys

import numpy as np

from cascadebai_cli.engines.places import Places
from cascadebai_cli.engines.proofs import first_suspect_round
from cascadebai_cli.engines.reward_table import RewardTable
from cascadebai_cli.engines.run import Run, run_of
from cascadebai_cli.engines.steps import Firing, Steps, counts_of
from cascadebai_cli.learners.racing import Race, RacingRule
from cascadebai_cli.model.instance import IntArray


def run_walk(rule: RacingRule, table: RewardTable, max_steps: int | None = None) -> Run:
    """Run one trial of a racing rule that shows the least observed survivors, under cascading feedback.

    Args:
        rule: the racing rule.
        table: source of the outcomes.
        max_steps: cap on the number of steps, none by default.
    """
    state = _State(rule, table, sys.maxsize if max_steps is None else max_steps)
    while not state.race.finished and state.steps < state.max_steps:
        state.advance()
    return state.result()


class _State:
    """State of one trial at the end of a step.

    Attributes:
        steps: number of steps made.
        seen: observations of the survivors, in rounds: the one at place `i` was observed
            `(seen - i + d - 1) // d` times.
        S: clicks of the survivors, aligned with `race.survivors`.
        counts: observations of each item, final once it is identified or the run is over.
    """

    def __init__(self, rule: RacingRule, table: RewardTable, max_steps: int) -> None:
        self.rule, self.table, self.max_steps = rule, table, max_steps
        self.race = Race(rule.L, rule.K, rule.closes)
        self.S: IntArray = np.zeros(rule.L, np.int64)
        self.counts: IntArray = np.zeros(rule.L, np.int64)
        self.steps = self.seen = 0
        self.quiet_until = first_suspect_round(rule) - 1
        self.places = self._places()

    def _places(self) -> Places:
        D = self.race.survivors
        return Places(self.table, D, self.rule.batch(len(D)))

    def advance(self) -> None:
        """Walk to the end of the block, or to the first step at which an item is identified."""
        path = self.places.walk(self.steps, self.seen % len(self.S), self.max_steps - self.steps)
        ahead = Steps(self.rule, self.race.k, self.seen, self.S, path)
        firing = ahead.first_firing() if ahead.seen(ahead.all) > self.quiet_until * len(self.S) else None
        made = ahead.all if firing is None else firing.step + 1
        self.S, self.seen, self.steps = ahead.clicks(made), int(ahead.seen(made)), self.steps + made
        self.counts[self.race.survivors] = counts_of(self.seen, len(self.S))
        if firing is not None:
            self._identify(firing)

    def _identify(self, firing: Firing) -> None:
        """Remove items; the next one observed stays the first of those that were seen least."""
        D = self.race.survivors
        T = self.counts[D]
        self.race.settle(firing.accept, firing.reject, self.S / np.maximum(T, 1))
        if self.race.finished:
            return
        stay = np.isin(D, self.race.survivors)
        rounds = self.seen // len(D)
        self.S, self.seen = self.S[stay], rounds * int(stay.sum()) + int((T[stay] > rounds).sum())
        self.places = self._places()

    def result(self) -> Run:
        """The run as it stands."""
        return run_of(self.race, self.steps, self.counts)
