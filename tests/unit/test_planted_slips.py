"""The comparison with the judge can fail: slips planted in a learner are seen on some table, with every engine.

All learners here have a radius of `scale / T`, so that no table hangs on rounding, and equal bounds are equal.
"""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from problems import (
    ExactBatchRacingRule,
    ExactCascadeRule,
    ExactLucbRule,
    Problem,
    by_lockstep,
    by_lucb,
    by_reference,
    by_skip_ahead_together,
    judge,
    learner,
)

from cascadebai_cli.learners.cascadebai import BatRac, CascadeBAI
from cascadebai_cli.learners.kl_lucb import Boundary, KLLucb
from cascadebai_cli.learners.protocol import boundary, pick

TABLES = 200
PARTS = ((0, 1), (1, 8), (8, 40), (40, TABLES))
"""Tables that run side by side; a slip seen on one of the first needs no others, with which an engine may crawl."""
STEPS = 200


@cache
def judged(kind):
    """Problems with ties and wide gaps, tolerances of 0 and more and every `K`, each with what the judge says."""
    rng, pairs = np.random.default_rng(2020), []
    for _ in range(TABLES):
        w = rng.choice([0.0, 0.25, 0.5, 0.9, 1.0], rng.integers(2, 7))
        arguments = {"L": len(w), "K": int(rng.integers(1, len(w))), "delta": 0.1}
        arguments["scale"] = float(rng.choice([0.0, 0.25, 1.0, 3.0]))
        tolerance, batch = float(rng.choice([0.0, 0.25, 0.5, 1.0])), int(rng.integers(1, 5))
        arguments |= {"b": batch} if kind is BatRac else {"epsilon": tolerance}
        table = rng.random((len(w), STEPS)) < w[:, None]
        problem = Problem(arguments, table, bool(rng.integers(2)), STEPS)
        pairs.append((problem, judge(kind, problem)))
    return pairs


def goes_wrong(kind, engine, made=None, rule=None):
    """Whether a learner, `kind` or one `made` like it, does on some table not what the judge of `kind` says."""
    parts = (judged(kind)[start:stop] for start, stop in PARTS)
    return any(_goes_wrong(engine, made or kind, rule, part) for part in parts)


def _goes_wrong(engine, kind, rule, part):
    runs = engine([(learner(kind, problem, rule), problem) for problem, _ in part])
    return runs != [right for _, right in part]


def one_by_one(pairs):
    """The reference engine on all problems."""
    return [by_reference(*pair) for pair in pairs]


ENGINES = {
    CascadeBAI: {"reference": one_by_one, "skip-ahead": by_skip_ahead_together, "lockstep": by_lockstep},
    BatRac: {"reference": one_by_one, "skip-ahead": by_skip_ahead_together},
    KLLucb: {"reference": one_by_one, "lockstep": by_lucb},
}
EVERY_ENGINE = [
    pytest.param(kind, engine, id=f"{kind.__name__}, {name}")
    for kind in ENGINES
    for name, engine in ENGINES[kind].items()
]


@dataclass(frozen=True)
class WrittenOut(ExactCascadeRule):
    """Lines 14 to 17 again, each detail in a place of its own."""

    rejects_within: ClassVar[float] = 1
    rejects_first: ClassVar[bool] = True
    exceeds, falls_short = staticmethod(np.greater), staticmethod(np.less)
    boundary = staticmethod(boundary)

    def identify(self, mean, lower, upper, k):
        j_prime, j_star = self.boundary(mean, k)
        accept = self.exceeds(lower, pick(upper, j_star) - self.epsilon)
        reject = self.falls_short(upper, pick(lower, j_prime) - self.rejects_within * self.epsilon)
        return (accept & ~reject, reject) if self.rejects_first else (accept, reject & ~accept)


class TwiceEpsilon(WrittenOut):
    rejects_within = 2


class KAndNextExchanged(WrittenOut):
    boundary = staticmethod(lambda mean, k: boundary(mean, k)[::-1])


class AcceptanceFirst(WrittenOut):
    rejects_first = False


class WeakAcceptance(WrittenOut):
    exceeds = staticmethod(np.greater_equal)


class WeakRejection(WrittenOut):
    falls_short = staticmethod(np.less_equal)


class LastOfEqualMeans(WrittenOut):
    @staticmethod
    def boundary(mean, k):
        return tuple(mean.shape[-1] - 1 - index for index in boundary(mean[..., ::-1], k))


class NextCount:
    """The radius of one observation more."""

    def radius(self, T):
        return super().radius(np.asarray(T) + 1)


class CountBefore:
    """The radius before the last observation."""

    def radius(self, T):
        return super().radius(np.asarray(T) - 1)


class CascadeNextCount(NextCount, ExactCascadeRule):
    pass


class CascadeCountBefore(CountBefore, ExactCascadeRule):
    pass


def of_rank(values, k):
    """The k-th largest value of each state."""
    return pick(np.sort(values), np.broadcast_to(values.shape[-1] - k, values.shape[:-1]))


class BatchRacingKAndNextExchanged(ExactBatchRacingRule):
    def identify(self, mean, lower, upper, k):
        return lower > of_rank(upper, k), upper < of_rank(lower, k + 1)


class WeakBatchRacing(ExactBatchRacingRule):
    def identify(self, mean, lower, upper, k):
        accept = lower >= of_rank(upper, k + 1)
        return accept, (upper <= of_rank(lower, k)) & ~accept


class BatchRacingNextCount(NextCount, ExactBatchRacingRule):
    pass


class LucbNextCount(NextCount, ExactLucbRule):
    pass


RULES = {
    CascadeBAI: [
        TwiceEpsilon,
        KAndNextExchanged,
        CascadeNextCount,
        CascadeCountBefore,
        AcceptanceFirst,
        WeakAcceptance,
        WeakRejection,
        LastOfEqualMeans,
    ],
    BatRac: [BatchRacingKAndNextExchanged, BatchRacingNextCount, WeakBatchRacing],
    KLLucb: [LucbNextCount],
}


@pytest.mark.parametrize(("kind", "engine"), EVERY_ENGINE)
def test_without_a_slip_every_run_is_right(kind, engine):
    assert not goes_wrong(kind, engine)


@pytest.mark.parametrize("engine", ENGINES[CascadeBAI].values(), ids=ENGINES[CascadeBAI])
def test_written_out_without_a_slip_every_run_is_right(engine):
    assert not goes_wrong(CascadeBAI, engine, rule=WrittenOut)


@pytest.mark.parametrize(
    ("kind", "engine", "rule"),
    [
        pytest.param(kind, engine, rule, id=f"{rule.__name__}, {name}")
        for kind, rules in RULES.items()
        for rule in rules
        for name, engine in ENGINES[kind].items()
    ],
)
def test_a_slip_in_a_rule_is_caught(kind, engine, rule):
    assert goes_wrong(kind, engine, rule=rule)


class OrderOfDReversed(CascadeBAI):
    """Of equally often observed items the last is shown first."""

    def select(self):
        D = self.race.survivors[::-1]
        return D[np.argsort(self.T[D], kind="stable")][: self.rule.batch(len(D))].tolist()


class LucbTwiceEpsilon(KLLucb):
    @property
    def finished(self):
        return bool(self.lower[self.boundary.weakest] > self.upper[self.boundary.rival] - 2 * self.rule.epsilon)


class WeakLucb(KLLucb):
    @property
    def finished(self):
        return bool(self.lower[self.boundary.weakest] >= self.upper[self.boundary.rival] - self.rule.epsilon)


class LucbLastOfEquals(KLLucb):
    """Of equal bounds at the boundary the last counts."""

    def _boundary(self):
        inside, weakest, rival = super()._boundary()
        low, high = np.where(inside, self.lower, np.inf), np.where(inside, -np.inf, self.upper)
        last = [int(np.flatnonzero(bounds == bounds[item])[-1]) for bounds, item in ((low, weakest), (high, rival))]
        return Boundary(inside, *last)


@pytest.mark.parametrize("made", [OrderOfDReversed, LucbTwiceEpsilon, WeakLucb, LucbLastOfEquals])
def test_a_slip_in_a_learner_is_caught(made):
    assert goes_wrong(made.__mro__[1], one_by_one, made=made)
