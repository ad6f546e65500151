"""One entry for all engines: pick the fastest that is exact for a learner and run trials with it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cascadebai_cli.engines.outcomes import RandomOutcomes
from cascadebai_cli.engines.reference import run_reference
from cascadebai_cli.engines.run import Run
from cascadebai_cli.engines.skip_ahead import run_skip_ahead
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.learners.racing import RacingLearner
from cascadebai_cli.model.feedback import FEEDBACKS
from cascadebai_cli.model.instance import FloatArray

EngineName = Literal["auto", "reference", "skip-ahead"]

ENGINE_VERSION = 1
"""Raised whenever an engine draws its random numbers differently: rows of different versions do not mix."""


@dataclass(frozen=True)
class Trial:
    """What differs between the trials of a cell.

    Args:
        weights: click probabilities in the order in which the learner meets the items, shape `(L,)`.
        rng: the trial's own generator.
    """

    weights: FloatArray
    rng: np.random.Generator


def resolve_engine(engine: EngineName, learner: Learner, feedback: str = "cascading") -> EngineName:
    """The engine that will run: `auto` becomes the fastest one that is exact for the learner.

    Raises:
        ConfigError: if the named engine cannot run the learner, or the learner cannot learn from this feedback.
    """
    if feedback == "cascading" and getattr(learner, "repeats", False):
        raise ConfigError(
            f"{type(learner).__name__} with r > 1 shows an item more than once in a list, which cascading feedback "
            "does not define; use r: 1 or feedback: semi-bandit"
        )
    skips = isinstance(learner, RacingLearner) and shows_least_observed(learner)
    if engine == "auto":
        return "skip-ahead" if skips else "reference"
    if engine == "skip-ahead" and not skips:
        raise ConfigError(
            f"engine skip-ahead cannot run {type(learner).__name__}: it needs a racing learner that shows the "
            "least observed survivors; use engine: auto"
        )
    return engine


def shows_least_observed(learner: RacingLearner) -> bool:
    """Whether lists are in ascending order of `T`, so that items are observed in a cyclic sweep."""
    select = type(learner).select
    return select is RacingLearner.select or (select is CascadeBAI.select and getattr(learner, "order", "T") == "T")


def simulate(
    make_learner: Callable[[], Learner],
    trial: Trial,
    *,
    feedback: str = "cascading",
    engine: EngineName = "auto",
    max_steps: int | None = None,
) -> Run:
    """Run one trial.

    Args:
        make_learner: builds a fresh learner.
        trial: weights and generator.
        feedback: a key of `FEEDBACKS`.
        engine: which engine; every choice has the same law, not the same random numbers.
        max_steps: cap on the number of lists shown, none by default.
    """
    learner = make_learner()
    outcomes = RandomOutcomes(trial.weights, trial.rng)
    if resolve_engine(engine, learner, feedback) == "skip-ahead":
        assert isinstance(learner, RacingLearner)
        return run_skip_ahead(learner.rule, outcomes, feedback == "cascading", max_steps)
    return run_reference(learner, outcomes, FEEDBACKS[feedback], max_steps)
