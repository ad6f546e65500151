"""Problems for the engines and who solves them: a learner's arguments, a table of rewards, the feedback and a cap.

A learner runs with its own bounds, or, if its arguments have a `scale`, with the radius `scale / T`, which every
program computes to the last bit: then ties are frequent, and broken the same way or not at all.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
import pytest
from algorithm1 import (
    Interval,
    Verdict,
    around_the_mean,
    bat_rac,
    batch_racing_interval,
    by_bounds,
    by_means,
    cascade_bai,
    cascade_interval,
)
from given import BY_CLICK, GivenTable, TableOutcomes, TableStack
from hypothesis import strategies as st
from kl_lucb_judge import kl_interval, kl_lucb, kl_lucb_interval, rounded
from rounding import guarded

from cascadebai_cli.engines import lockstep, lucb, walk
from cascadebai_cli.engines.jobs import Job, Run, in_order
from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.engines.skip_ahead import run_skip_ahead
from cascadebai_cli.engines.skip_rows import Sizes
from cascadebai_cli.engines.walk import run_walk
from cascadebai_cli.learners.cascadebai import BatchRacingRule, BatRac, CascadeBAI, CascadeRule
from cascadebai_cli.learners.kl_lucb import KLLucb, LucbRule
from cascadebai_cli.learners.protocol import ORDERS
from cascadebai_cli.model.problem import Feedback


@dataclass(frozen=True)
class Problem:
    """`table` has shape `(L, N)`, long enough for `cap` steps; rewards `by_time` have any number of rows, `(N, L)`."""

    arguments: dict[str, Any]
    table: np.ndarray
    cascading: bool
    cap: int
    by_time: bool = False

    @property
    def rewards(self) -> list[list[int]]:
        return self.table.astype(int).tolist()

    @property
    def feedback(self) -> Feedback:
        return BY_CLICK[self.cascading]

    @property
    def rules(self) -> dict[str, Any]:
        """What the judges take by name."""
        return {"cascading": self.cascading, "cap": self.cap}


# Learners with an exact radius.


class ExactRadius:
    """`scale / T`, inf for `T = 0`."""

    scale: float

    def radius(self, T):
        count = np.asarray(T, dtype=np.float64)
        return np.where(count > 0, self.scale / np.maximum(count, 1), np.inf)


@dataclass(frozen=True)
class ExactCascadeRule(ExactRadius, CascadeRule):
    scale: float = 1.0


@dataclass(frozen=True)
class ExactBatchRacingRule(ExactRadius, BatchRacingRule):
    scale: float = 1.0


@dataclass(frozen=True)
class ExactLucbRule(ExactRadius, LucbRule):
    """Cut off at 0 and 1, the bounds of an item that was not observed."""

    scale: float = 1.0

    def lower(self, mean, T):
        return np.floor(np.maximum(mean - self.radius(T), 0.0) / LucbRule.UNIT) * LucbRule.UNIT

    def upper(self, mean, T):
        return np.ceil(np.minimum(mean + self.radius(T), 1.0) / LucbRule.UNIT) * LucbRule.UNIT


EXACT = {CascadeRule: ExactCascadeRule, BatchRacingRule: ExactBatchRacingRule, LucbRule: ExactLucbRule}


def learner(kind, problem, rule=None):
    """A fresh learner of this class; `rule` is for one with an exact radius in place of the right one."""
    arguments = dict(problem.arguments)
    scale = arguments.pop("scale", None)
    made = kind(**arguments)
    if scale is not None:
        made.rule = (rule or EXACT[type(made.rule)])(**asdict(made.rule), scale=scale)
    return made


# The judges.


def judge(kind, problem: Problem) -> Run:
    """What the run must be.

    Raises:
        Undecided: if it hangs on rounding.
    """
    verdict = {CascadeBAI: _cascadebai, BatRac: _batrac, KLLucb: _kl_lucb}[kind](problem, **problem.arguments)
    return Run(
        steps=verdict.steps,
        status="stopped" if verdict.stopped else "capped",
        observations=sum(verdict.counts),
        recommendation=verdict.output,
        accepted=verdict.accepted,
        rejected=verdict.rejected,
        accepted_at=verdict.accepted_at,
        rejected_at=verdict.rejected_at,
        counts=verdict.counts,
    )


def _cascadebai(
    problem: Problem, L, K, delta, epsilon=0.0, sigma=0.5, confidence="lil", order="T", list_length=None, scale=None
) -> Verdict:
    if scale is not None:
        interval = around_the_mean(lambda T: scale / T)
    elif confidence == "kl":
        interval = guarded(kl_interval(delta / L, delta / L), exact=(0.0, 1.0))
    else:
        interval = guarded(cascade_interval(L, delta, sigma))
    rule = by_bounds if confidence == "kl" else by_means
    rules = {**problem.rules, "rule": rule, "order": order, "by_time": problem.by_time, "M": list_length}
    return cascade_bai(problem.rewards, K, interval, epsilon, **rules)


def _batrac(problem: Problem, L, K, delta, b, r=1, scale=None) -> Verdict:
    exact = scale is not None
    interval = around_the_mean(lambda T: scale / T) if exact else guarded(batch_racing_interval(L, delta))
    return bat_rac(problem.rewards, K, interval, b, r, **problem.rules)


def _kl_lucb(problem: Problem, L, K, delta, epsilon=0.0, list_length=None, scale=None) -> Verdict:
    interval = guarded(kl_lucb_interval(L, K, delta), exact=(0.0, 1.0)) if scale is None else _clipped(scale)
    return kl_lucb(problem.rewards, K, interval, epsilon, M=list_length, **problem.rules)


def _clipped(scale) -> Interval:
    inner = around_the_mean(lambda T: scale / T)
    return lambda S, T: (rounded(math.floor, max(inner(S, T)[0], 0.0)), rounded(math.ceil, min(inner(S, T)[1], 1.0)))


# The engines.


@contextmanager
def patched(module: ModuleType, **values: Any) -> Iterator[None]:
    """Other sizes in an engine."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(module, name, value)
        yield


def by_reference(made, problem: Problem) -> Run:
    outcomes = GivenTable(problem.table) if problem.by_time else TableOutcomes(problem.table)
    return run_reference(made, outcomes, problem.feedback, problem.cap)


def by_skip_ahead(made, problem: Problem, sizes: Sizes | None = None) -> Run:
    return by_skip_ahead_together([(made, problem)], sizes)[0]


def by_skip_ahead_together(block, sizes: Sizes | None = None, rows: int = 200) -> list[Run]:
    """Runs of the problems, each given with its learner."""
    jobs = [Job(made, TableOutcomes(problem.table), problem.feedback, problem.cap) for made, problem in block]
    return in_order(run_skip_ahead(jobs, sizes, rows))


def by_walk(made, problem: Problem, block=walk._BLOCK, **sizes) -> Run:
    with patched(walk, _BLOCK=block, **sizes):
        return run_walk(made.rule, GivenTable(problem.table), problem.cap)


def by_lockstep(block, leaps: Mapping[str, int] = MappingProxyType({}), **sizes) -> list[Run]:
    """Runs of the problems, each given with its learner; `leaps` and the others are sizes of `lockstep`."""
    with patched(lockstep, **sizes, **leaps):
        return in_order(lockstep.run_lockstep([_job(*pair) for pair in block]))


def by_lucb(block, **sizes) -> list[Run]:
    """The same for KL-LUCB++."""
    with patched(lucb, **{"_KEPT": 2**14, **sizes}):
        return in_order(lucb.run_lucb([_job(*pair) for pair in block]))


def _job(made, problem: Problem):
    return Job(made, TableStack(problem.table), problem.feedback, problem.cap)


# Random problems.

WEIGHTS = st.lists(
    st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1), st.floats(0, 0.1), st.floats(0.9, 1)),
    min_size=2,
    max_size=9,
)
EXACT_RADII = st.sampled_from([0.0, 0.25, 1.0, 3.0, 10.0]).map(lambda scale: {"scale": scale})
SMALL_RADII = st.sampled_from([0.001, 0.02, 0.05, 0.1, 0.2, 0.5]).map(lambda sigma: {"sigma": sigma})
KL_BOUNDS = st.just({"confidence": "kl"})
EPSILONS = st.sampled_from([0.0, 0.0, 0.02, 0.25, 0.5, 2.0])
LENGTHS = st.none() | st.integers(1, 11)
"""Items shown at once: `K`, or fewer, more, or more than there are."""
SEEDS = st.integers(0, 2**32)
DELTAS = st.sampled_from([0.01, 0.1, 0.6])


def of_algorithm1(w):
    """CascadeBAI in its own order, with any bounds."""
    return _problems(w, 1000, st.one_of(SMALL_RADII, KL_BOUNDS, EXACT_RADII), epsilon=EPSILONS, list_length=LENGTHS)


@st.composite
def of_algorithm1_by_time(draw, w):
    """The same, on a table of rewards that may be met many times."""
    problem = draw(of_algorithm1(w))
    rows = draw(st.integers(1, 8) | st.integers(1, 1000))
    table = np.random.default_rng(draw(SEEDS)).random((rows, len(w))) < w
    return replace(problem, table=table, cascading=True, by_time=True)


def of_algorithm1_alike(w):
    """CascadeBAI with equal bounds, so that many of them run side by side, whatever their `K`."""
    return _alike(of_algorithm1(w), {"delta": 0.1, "epsilon": 0.02}, {"sigma": 0.05})


def of_batrac_alike(w):
    """BatRac with equal bounds."""
    return _alike(of_batrac(w), {"delta": 0.1}, {"scale": 3.0})


def _alike(problems, equal, bounds):
    def made(problem):
        rest = {
            name: value for name, value in problem.arguments.items() if name not in ("sigma", "scale", "confidence")
        }
        return replace(problem, arguments={**rest, **equal, **bounds})

    return problems.map(made)


def of_display_orders(w):
    """CascadeBAI in any order."""
    return _problems(
        w, 500, SMALL_RADII | EXACT_RADII, epsilon=EPSILONS, order=st.sampled_from(list(ORDERS)), list_length=LENGTHS
    )


def of_batrac(w):
    """BatRac, with up to two rounds of pulls and more in a step."""
    batches = st.integers(1, 2 * len(w) + 1)
    return _problems(w, 1000, st.just({}) | EXACT_RADII, b=batches, r=st.sampled_from([1, 1, 1, 2, 3]))


def of_kl_lucb(w):
    """KL-LUCB++."""
    return _problems(w, 500, st.just({}) | EXACT_RADII, epsilon=EPSILONS, list_length=LENGTHS)


@st.composite
def _problems(draw, w, most, bounds, **others):
    """Problems on items of these weights, up to `most` steps long; `bounds` are some arguments, `others` one each."""
    size = {"L": len(w), "K": draw(st.integers(1, len(w) - 1)), "delta": draw(DELTAS)}
    arguments = {**size, **draw(bounds), **{name: draw(values) for name, values in others.items()}}
    cap, r = draw(st.just(most) | st.integers(1, most)), arguments.get("r", 1)
    table = np.random.default_rng(draw(SEEDS)).random((len(w), r * cap)) < np.array(w)[:, None]
    return Problem(arguments, table, r == 1 and draw(st.booleans()), cap)
