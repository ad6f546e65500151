"""The first round of KL-LUCB++: until every item was observed, lists begin with those that were not, in order."""

from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines.stacks import Stack
from cascadebai_cli.learners.kl_lucb import LucbRule
from cascadebai_cli.model.instance import IntArray


class FirstRound(NamedTuple):
    """What became of it.

    Attributes:
        steps: lists shown.
        T, S: observations and clicks of each item, shape `(L,)`.
    """

    steps: int
    T: IntArray
    S: IntArray


def may_end_early(rule: LucbRule) -> bool:
    """Whether a run may stop before all items were observed, for a tolerance close to 1.

    An unobserved item reaches from 0 to 1, and no other was observed more than once.
    """
    return bool(rule.epsilon > min(1 - rule.lower(1.0, 1), rule.upper(0.0, 1)))


def first_round(rule: LucbRule, stack: Stack, cascading: bool, max_steps: int) -> FirstRound:
    """Show lists until every item was observed, or `max_steps` lists were shown; no run stops in between.

    Items are observed in order, those of which the last list has room for a second time. A list ends behind a click.
    """
    L, M = rule.L, rule.list_length
    outcomes = np.array([stack.peek(item, 0, 2) for item in range(L)]).T.ravel()[: L + M]
    place = np.arange(L + M)
    click = np.where(outcomes & cascading, place, L + M)
    ends = np.minimum(np.minimum.accumulate(click[::-1])[::-1], place + M - 1).tolist()
    seen = steps = 0
    while seen < L and steps < max_steps:
        seen, steps = ends[seen] + 1, steps + 1
    items = place[:seen] % L
    T, S = np.bincount(items, minlength=L), np.bincount(items[outcomes[:seen]], minlength=L)
    return FirstRound(steps, T, S)
