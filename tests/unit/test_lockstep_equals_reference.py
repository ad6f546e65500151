"""Lockstep beyond `test_engines_equal_the_judge`: long and stuck runs, 64 bits, rows beside each other, the cap."""

from contextlib import contextmanager

import numpy as np
import pytest
from cases import mostly_slow
from given import BY_CLICK, TableOutcomes, TableStack
from problems import patched

from cascadebai_cli.engines import lockstep, proofs
from cascadebai_cli.engines.jobs import Job, in_order
from cascadebai_cli.engines.lockstep import run_lockstep
from cascadebai_cli.engines.lookahead import leap
from cascadebai_cli.engines.outcomes import RandomStack
from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.learners.protocol import ORDERS
from cascadebai_cli.model.problem import CASCADING


def by_reference(trial):
    arguments, table, cascading, cap = trial
    return run_reference(CascadeBAI(**arguments), TableOutcomes(table), BY_CLICK[cascading], cap)


def job(trial):
    arguments, table, cascading, cap = trial
    return Job(CascadeBAI(**arguments), TableStack(table), BY_CLICK[cascading], cap)


def by_lockstep(block):
    return in_order(run_lockstep([job(trial) for trial in block]))


STUCK = {
    "all survivors shown": {"weights": [0.97, 0.96, 0.93, 0.92, 0.9], "K": 4},
    "one in turn": {"weights": [0.95] * 4 + [0.8] * 4, "K": 4},
    "one in turn, far apart": {"weights": [0.95] * 2 + [0.2] * 6, "K": 2},
    "K = 1": {"weights": [0.6, 0.5, 0.5, 0.4], "K": 1},
}


@pytest.mark.parametrize("case", mostly_slow(STUCK, ["one in turn"]))
@pytest.mark.parametrize("order", ["mean", "-mean", "U", "-L"])
def test_equals_reference_when_stuck(case, order):
    """Long leaps, of runs of which some never see an item."""
    block = [long_trial(order, seed, **{"sigma": 0.3, "cap": 5000, **STUCK[case]}) for seed in range(2)]
    with eager_leaps() as leaps:
        assert by_lockstep(block) == [by_reference(trial) for trial in block]
    assert sum(leaps) > 0


@contextmanager
def eager_leaps():
    """Leaps from the first step on, however short; yields a list of their lengths."""
    lengths = []

    def noted(state, steps):
        result = leap(state, steps)
        lengths.append(result[0])
        return result

    sizes = {"_WORTHWHILE": 2, "_SHORTEST_LEAP": 16, "_LONGEST_PAUSE": 4}
    with patched(lockstep, **sizes), patched(lockstep, leap=noted):
        yield lengths


@pytest.mark.parametrize("order", ORDERS)
def test_equals_reference_when_keys_grow_to_64_bits(order):
    trial = long_trial(order, seed=1)
    with patched(lockstep, _depth=lambda rows, L: 16, _LARGEST_KEY=1500):
        assert by_lockstep([trial, trial]) == [by_reference(trial)] * 2


def long_trial(order, seed, weights=(0.97, 0.95, 0.9, 0.9, 0.8, 0.7, 0.7, 0.3), K=3, cap=4000, **others):
    rng = np.random.default_rng(seed)
    w = rng.permutation(weights)
    table = rng.random((len(w), cap)) < w[:, None]
    return {"L": len(w), "K": K, "delta": 0.1, "sigma": 0.2, "order": order, **others}, table, True, cap


LONG = {
    "high": {},
    "low": {"weights": [0.3, 0.28, 0.2] + [0.15] * 7},
    "two levels, high": {"weights": [0.95] * 4 + [0.75] * 8, "K": 4},
    "two levels, apart": {"weights": [0.9] * 4 + [0.1] * 8, "K": 4, "sigma": 0.5},
    "zero and one": {"weights": [1.0, 1.0, 0.62, 0.5, 0.0, 0.0], "K": 2},
    "all survivors shown": {"weights": [0.9, 0.85, 0.6, 0.5], "K": 3},
    "K = 1": {"weights": [0.6, 0.5, 0.5, 0.4], "K": 1},
    "tolerant": {"weights": [0.5] * 4 + [0.3] * 4, "epsilon": 0.1},
}


@pytest.mark.parametrize("case", mostly_slow(LONG, ["two levels, high"]))
@pytest.mark.parametrize("order", ORDERS)
def test_equals_reference_in_long_runs(case, order):
    block = [long_trial(order, seed, **LONG[case]) for seed in range(2)]
    expected = [by_reference(trial) for trial in block]
    assert max(run.steps for run in expected) > 200
    assert by_lockstep(block) == expected


def random_jobs(orders, seeds):
    w = np.array([0.9] * 3 + [0.5] * 6)
    return [
        Job(CascadeBAI(9, 3, 0.1, sigma=0.2, order=order), RandomStack(w, np.random.default_rng(seed)), CASCADING, 4000)
        for order in orders
        for seed in seeds
    ]


def test_a_run_does_not_depend_on_the_other_rows():
    together = in_order(run_lockstep(random_jobs(ORDERS, range(3))))
    alone = [
        run for order in ORDERS for seed in range(3) for run in in_order(run_lockstep(random_jobs([order], [seed])))
    ]
    assert together == alone
    with patched(lockstep, _depth=lambda rows, L: 7, ROWS=5):
        assert in_order(run_lockstep(random_jobs(ORDERS, range(3)))) == alone
    assert len({run.steps for run in together}) > 5


def test_blocks_of_different_shapes_come_back_in_order():
    block = [long_trial("mean", 1, K=2), long_trial("U", 2, weights=[0.8, 0.5, 0.2], K=1), long_trial("-L", 3, K=2)]
    assert by_lockstep(block) == [by_reference(trial) for trial in block]


def test_cap_equal_to_the_stopping_time_is_no_cap():
    arguments, table, _, cap = long_trial("L", 5, weights=[0.9, 0.8, 0.2, 0.1], K=2)
    free, at, before = (
        by_lockstep([(arguments, table, True, steps)])[0]
        for steps in (cap, by_reference((arguments, table, True, cap)).steps, 50)
    )
    assert free.status == "stopped"
    assert at == free
    assert (before.status, before.steps) == ("capped", 50)


def test_a_missed_decision_is_noticed():
    """The comparison can fail: with a proof that always succeeds decisions come late."""
    block = [long_trial("-mean", seed, weights=[0.9, 0.8, 0.2, 0.1], K=2) for seed in range(10)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proofs, "_SLACK", -1.0)
        late = by_lockstep(block)
    differences = sum(a != b for a, b in zip(late, map(by_reference, block), strict=True))
    assert differences > 5
