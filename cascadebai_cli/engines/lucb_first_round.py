"""The first round of KL-LUCB++: until every item was observed, lists begin with those that were not, in order."""

from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines.jobs import Job
from cascadebai_cli.learners.kl_lucb import KLLucb, LucbRule
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


def first_round(job: Job[KLLucb]) -> FirstRound:
    """Show lists until every item was observed, the learner stops, or its cap is reached; from where the learner is."""
    if job.learner.T.min() > 0:
        return FirstRound(job.steps, job.learner.T.copy(), job.learner.S.copy())
    return _step_by_step(job) if may_end_early(job.learner.rule) else _at_once(job)


def may_end_early(rule: LucbRule) -> bool:
    """Whether a run may stop before all items were observed, for a tolerance close to 1.

    An unobserved item reaches from 0 to 1, and no other was observed more than once.
    """
    return bool(rule.epsilon > min(1 - rule.lower(1.0, 1), rule.upper(0.0, 1)))


def _at_once(job: Job[KLLucb]) -> FirstRound:
    """Items are observed in order, those of which the last list has room for a second time; clicks end lists."""
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
        outcomes = job.feedback.reveal(shown, lambda item: int(job.stack.peek(item, int(learner.T[item]), 1)[0]))
        learner.observe(shown, outcomes)
        steps += 1
    return FirstRound(steps, learner.T.copy(), learner.S.copy())
