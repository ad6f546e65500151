"""Which engine runs rewards that are read from a table."""

import numpy as np
import pytest
from given import BY_CLICK

from cascadebai_cli.engines.simulate import Trial, resolve_engine, simulate
from cascadebai_cli.engines.walk import TableShape
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.cascadebai import BatRac, CascadeBAI
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.model.problem import CASCADING, SEMI_BANDIT

TABLE = TableShape(50)
WEIGHTS = np.array([0.9, 0.8, 0.2, 0.1])


@pytest.mark.parametrize(
    ("learner", "feedback", "engine"),
    [
        (CascadeBAI(4, 2, 0.1), CASCADING, "walk"),
        (CascadeBAI(4, 2, 0.1, confidence="kl"), CASCADING, "walk"),
        (BatRac(4, 2, 0.1), CASCADING, "walk"),
        (CascadeBAI(4, 2, 0.1), SEMI_BANDIT, "reference"),
        (CascadeBAI(4, 2, 0.1, order="U"), CASCADING, "reference"),
        (KLLucb(4, 2, 0.1), CASCADING, "reference"),
    ],
)
def test_auto_never_skips_ahead(learner, feedback, engine):
    assert resolve_engine("auto", learner, feedback, TABLE) == engine


@pytest.mark.parametrize(
    ("engine", "learner", "words"),
    [
        ("skip-ahead", CascadeBAI(4, 2, 0.1), "skip-ahead cannot read rewards from a table"),
        ("lockstep", CascadeBAI(4, 2, 0.1, order="U"), "lockstep cannot read rewards from a table"),
        ("walk", CascadeBAI(4, 2, 0.1, order="U"), "walk cannot run CascadeBAI"),
        ("reference", BatRac(4, 2, 0.1, r=2), "asks an item twice"),
    ],
)
def test_what_cannot_run_is_refused(engine, learner, words):
    with pytest.raises(ConfigError, match=words):
        resolve_engine(engine, learner, BY_CLICK[not isinstance(learner, BatRac)], TABLE)


def test_walk_needs_a_table():
    with pytest.raises(ConfigError, match="walk needs rewards from a table"):
        resolve_engine("walk", CascadeBAI(4, 2, 0.1))


@pytest.mark.parametrize("make", [CascadeBAI, BatRac])
def test_both_engines_give_the_same_run(make):
    runs = [
        simulate(lambda: make(4, 2, 0.1), Trial(WEIGHTS, np.random.default_rng(3), TABLE), engine=engine)
        for engine in ("auto", "reference")
    ]
    assert runs[0] == runs[1]
    assert runs[0].steps > 3 * TABLE.rows


def test_a_learner_beside_the_order_of_algorithm_1_reads_the_same_table():
    """The rows come again: the outcome of a step is that of one a whole table earlier."""
    seen = []

    class Watching(CascadeBAI):
        def observe(self, shown, outcomes):
            seen.append(dict(zip(shown, outcomes, strict=False)))
            super().observe(shown, outcomes)

    trial = Trial(WEIGHTS, np.random.default_rng(3), TableShape(6))
    simulate(lambda: Watching(4, 2, 0.1, order="U"), trial, feedback=SEMI_BANDIT, max_steps=200)
    both = [(a[item], b[item]) for a, b in zip(seen, seen[6:], strict=False) for item in a.keys() & b.keys()]
    assert len(both) > 100
    assert all(before == after for before, after in both)
