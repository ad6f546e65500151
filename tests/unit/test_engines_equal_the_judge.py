"""Same rewards, same run: every engine returns what the independent judge returns.

Engines must agree to the bit, whatever the rewards. The judge computes its bounds in another way, so a table on which
some comparison is closer than rounding (`rounding`) is left out there; such tables are counted, and must be rare.
"""

from collections import Counter
from functools import partial

import pytest
from cases import mostly_slow
from hypothesis import event, given, seed, settings
from hypothesis import strategies as st
from problems import (
    WEIGHTS,
    by_lockstep,
    by_lucb,
    by_reference,
    by_skip_ahead,
    by_skip_ahead_together,
    by_walk,
    judge,
    learner,
    of_algorithm1,
    of_algorithm1_alike,
    of_algorithm1_by_time,
    of_batrac,
    of_batrac_alike,
    of_display_orders,
    of_kl_lucb,
)
from rounding import Undecided

from cascadebai_cli.engines.lookahead import leap
from cascadebai_cli.engines.skip_rows import Sizes
from cascadebai_cli.learners.cascadebai import BatRac, CascadeBAI
from cascadebai_cli.learners.kl_lucb import KLLucb

MANY = pytest.mark.parametrize("part", mostly_slow(range(1, 6), [1]))
"""Parts of the problems: one by default, all of them if slow tests run."""
RARE = 0.01
"""Share of the problems that may hang on rounding."""
SMALL = Sizes(few=1, stored=400, groups=2, ahead=3, windows=2, divide=1, grow=1, moments=2, shorten=1, chunk=30)


class Court:
    """Holds runs to the judge of a learner, and counts the problems that it could not decide."""

    def __init__(self, kind):
        self.kind, self.problems = kind, Counter()

    def holds(self, problem, run):
        try:
            expected = judge(self.kind, problem)
        except Undecided:
            expected = None
        self.problems[expected is None] += 1
        event(run.status)
        assert expected in (None, run)

    def could_decide_nearly_all(self):
        assert self.problems[False] > 15
        assert self.problems[True] <= max(1, RARE * self.problems.total())


def one_by_one(part, kind, problems, examples, *engines):
    court = Court(kind)

    @seed(part)
    @settings(max_examples=examples)
    @given(WEIGHTS.flatmap(problems))
    def every_engine_is_right(problem):
        run = by_reference(learner(kind, problem), problem)
        court.holds(problem, run)
        for engine in engines:
            assert engine(learner(kind, problem), problem) == run

    every_engine_is_right()
    court.could_decide_nearly_all()


@MANY
def test_algorithm1(part):
    one_by_one(part, CascadeBAI, of_algorithm1, 60, by_skip_ahead, partial(by_skip_ahead, sizes=SMALL))


@MANY
def test_batch_racing(part):
    one_by_one(part, BatRac, of_batrac, 40, by_skip_ahead, partial(by_skip_ahead, sizes=SMALL))


@MANY
def test_rewards_by_time(part):
    short = partial(by_walk, block=5, _FEW=1, _DIVIDE=2, _TOGETHER=2)
    long = partial(by_walk, block=40, _FEW=6, _DIVIDE=2, _TOGETHER=2)
    one_by_one(part, CascadeBAI, of_algorithm1_by_time, 60, by_walk, short, long)


def blocks(problems):
    """Problems of several cells that share the weights, up to five of them."""
    return WEIGHTS.flatmap(lambda w: st.lists(problems(w), min_size=1, max_size=5))


def side_by_side(part, kind, problems, examples, *engines):
    court = Court(kind)

    @seed(part)
    @settings(max_examples=examples)
    @given(blocks(problems))
    def every_engine_is_right(block):
        runs = [by_reference(learner(kind, problem), problem) for problem in block]
        for problem, run in zip(block, runs, strict=True):
            court.holds(problem, run)
        for engine in engines:
            assert engine([(learner(kind, problem), problem) for problem in block]) == runs

    every_engine_is_right()
    court.could_decide_nearly_all()


@MANY
def test_algorithm1_side_by_side(part):
    small, pairs = partial(by_skip_ahead_together, sizes=SMALL), partial(by_skip_ahead_together, rows=2)
    side_by_side(part, CascadeBAI, of_algorithm1_alike, 24, by_skip_ahead_together, small, pairs)


@MANY
def test_batch_racing_side_by_side(part):
    small = partial(by_skip_ahead_together, sizes=SMALL)
    side_by_side(part, BatRac, of_batrac_alike, 16, by_skip_ahead_together, small)


@MANY
def test_display_orders(part):
    short = partial(by_lockstep, _depth=lambda rows, L: 1 + 7 * L * rows % 40, ROWS=2)
    leaps = []

    def noted(state, steps):
        leaps.append(leap(state, steps))
        return leaps[-1]

    sizes = {"_WORTHWHILE": 2, "_SHORTEST_LEAP": 16, "_LONGEST_PAUSE": 4}
    eager = partial(by_lockstep, leaps=sizes, leap=noted)
    side_by_side(part, CascadeBAI, of_display_orders, 24, by_lockstep, short, eager)
    assert sum(steps > 0 for steps, _ in leaps) > 10


@MANY
def test_kl_lucb(part):
    short = partial(by_lucb, _KEPT=4, _FILLED=1, _SHORT=4, _STRIDE=2, _FIRST=2, _READ=3)
    small = partial(by_lucb, _KEPT=64, _FILLED=50, _READ=128, _ROWS=2)
    side_by_side(part, KLLucb, of_kl_lucb, 16, by_lucb, short, small)
