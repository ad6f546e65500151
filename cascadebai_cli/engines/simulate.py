"""One entry for all engines: pick the fastest that is exact for a learner and run trials with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from cascadebai_cli.engines.jobs import Job, Runs, in_order
from cascadebai_cli.engines.lockstep import run_lockstep
from cascadebai_cli.engines.lucb import run_lucb
from cascadebai_cli.engines.outcomes import RandomOutcomes
from cascadebai_cli.engines.planned import run_planned
from cascadebai_cli.engines.reference import run_reference
from cascadebai_cli.engines.reward_table import RandomTable, TableShape
from cascadebai_cli.engines.run import Run
from cascadebai_cli.engines.skip_ahead import run_skip_ahead
from cascadebai_cli.engines.stacks import RandomStack
from cascadebai_cli.engines.walk import run_walk
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.learners.racing import RacingLearner, RacingRule, RadiusRule
from cascadebai_cli.learners.track_and_stop import TrackAndStop
from cascadebai_cli.model.feedback import FEEDBACKS
from cascadebai_cli.model.instance import FloatArray

EngineName = Literal["auto", "reference", "skip-ahead", "lockstep", "planned", "walk"]

ENGINE_VERSION = 1
"""Raised whenever an engine draws its random numbers differently: rows of different versions do not mix."""


@dataclass(frozen=True)
class Trial:
    """What differs between the trials of a cell.

    Args:
        weights: click probabilities in the order in which the learner meets the items, shape `(L,)`.
        rng: the trial's own generator.
        table: rows of the table that the rewards are read from; none for independent rewards.
    """

    weights: FloatArray
    rng: np.random.Generator
    table: TableShape | None = None


def resolve_engine(
    engine: EngineName, learner: Learner, feedback: str = "cascading", table: TableShape | None = None
) -> EngineName:
    """The engine that will run: `auto` becomes the fastest one that is exact for the learner.

    Raises:
        ConfigError: if the named engine cannot run the learner, or the learner cannot learn from this feedback.
    """
    name = getattr(learner, "name", type(learner).__name__)
    if feedback == "cascading" and getattr(learner, "repeats", False):
        raise ConfigError(
            f"{name} with r > 1 shows an item more than once in a list, which cascading feedback "
            "does not define; use r: 1 or feedback: semi-bandit"
        )
    skips = isinstance(learner, RacingLearner) and shows_least_observed(learner)
    if table is not None:
        return _engine_for_table(engine, learner, name, skips and feedback == "cascading")
    if engine == "walk":
        raise ConfigError("engine walk needs rewards from a table, such as rewards: {rows: 100000}; use engine: auto")
    if engine == "auto":
        return _fastest(learner, skips)
    if engine == "planned" and not isinstance(learner, TrackAndStop):
        raise ConfigError(f"engine planned cannot run {name}: it is made for track-and-stop; use engine: auto")
    if engine == "lockstep" and not runs_in_lockstep(learner):
        raise ConfigError(
            f"engine lockstep cannot run {name}: it is made for CascadeBAI, its display "
            "orders and KL-LUCB++; use engine: auto"
        )
    if engine == "skip-ahead" and not skips:
        raise ConfigError(
            f"engine skip-ahead cannot run {name}: it needs a racing learner that shows the "
            "least observed survivors; use engine: auto"
        )
    return engine


def _fastest(learner: Learner, skips: bool) -> EngineName:
    if skips:
        return "skip-ahead"
    if isinstance(learner, TrackAndStop):
        return "planned"
    return "lockstep" if runs_in_lockstep(learner) else "reference"


def _engine_for_table(engine: EngineName, learner: Learner, name: str, walks: bool) -> EngineName:
    """Rewards that are indexed by time cannot be known ahead of the steps, which most engines need."""
    if getattr(learner, "repeats", False):
        raise ConfigError(f"{name} with r > 1 asks an item twice in a step, for which a table has one reward; use r: 1")
    if engine in ("skip-ahead", "lockstep", "planned"):
        raise ConfigError(
            f"engine {engine} cannot read rewards from a table, which ties them to steps; use engine: auto"
        )
    if engine == "walk" and not walks:
        raise ConfigError(
            f"engine walk cannot run {name}: it needs a racing learner that shows the least observed survivors, "
            "and feedback: cascading; use engine: auto"
        )
    if engine == "auto":
        return "walk" if walks else "reference"
    return engine


def shows_least_observed(learner: RacingLearner) -> bool:
    """Whether lists are in ascending order of `T`, so that items are observed in a cyclic sweep."""
    select = type(learner).select
    return select is RacingLearner.select or (select is CascadeBAI.select and getattr(learner, "order", "T") == "T")


def runs_in_lockstep(learner: Learner) -> bool:
    """Whether the learner is KL-LUCB++, or CascadeBAI with a radius and its own selection and bookkeeping."""
    made = type(learner)
    if made is KLLucb:
        return True
    own = isinstance(learner, CascadeBAI) and isinstance(learner.rule, RadiusRule)
    return own and made.select is CascadeBAI.select and made.observe is RacingLearner.observe


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
    return simulate_block(make_learner, [trial], feedback=feedback, engine=engine, max_steps=max_steps)[0]


def simulate_block(
    make_learner: Callable[[], Learner],
    trials: Sequence[Trial],
    *,
    feedback: str = "cascading",
    engine: EngineName = "auto",
    max_steps: int | None = None,
) -> list[Run]:
    """Run trials, side by side where the engine can; each run is the same as if it were the only one.

    Args:
        make_learner: builds a fresh learner.
        trials: weights, generators and tables, all with tables of the same kind or all without.
        feedback, engine, max_steps: as for `simulate`.
    """
    if trials and resolve_engine(engine, make_learner(), feedback, trials[0].table) == "lockstep":
        return in_order(
            run_side_by_side([lockstep_job(make_learner(), trial, feedback, max_steps) for trial in trials])
        )
    return [_simulate_one(make_learner(), trial, feedback, engine, max_steps) for trial in trials]


SideBySide = Job[CascadeBAI | KLLucb]


def lockstep_job(learner: Learner, trial: Trial, feedback: str, max_steps: int | None) -> SideBySide:
    """The trial for `run_side_by_side`."""
    assert isinstance(learner, CascadeBAI | KLLucb)
    return Job(learner, RandomStack(trial.weights, trial.rng), feedback == "cascading", max_steps)


def run_side_by_side(jobs: Sequence[SideBySide]) -> Runs:
    """Run trials of any cells and learners that run in lockstep; each run is the same whatever the others are."""
    lucb = [place for place, job in enumerate(jobs) if isinstance(job.learner, KLLucb)]
    others = [place for place, job in enumerate(jobs) if isinstance(job.learner, CascadeBAI)]
    for place, run in run_lockstep([cast(Job[CascadeBAI], jobs[i]) for i in others]):
        yield others[place], run
    for place, run in run_lucb([cast(Job[KLLucb], jobs[i]) for i in lucb]):
        yield lucb[place], run


def _simulate_one(learner: Learner, trial: Trial, feedback: str, engine: EngineName, max_steps: int | None) -> Run:
    resolved = resolve_engine(engine, learner, feedback, trial.table)
    if trial.table is not None:
        table = RandomTable(trial.weights, trial.rng, trial.table)
        if resolved == "walk":
            return run_walk(_rule(learner), table, max_steps)
        return run_reference(learner, table, FEEDBACKS[feedback], max_steps)
    if resolved == "planned":
        assert isinstance(learner, TrackAndStop)
        return run_planned(Job(learner, RandomStack(trial.weights, trial.rng), feedback == "cascading", max_steps))
    outcomes = RandomOutcomes(trial.weights, trial.rng)
    if resolved == "skip-ahead":
        return run_skip_ahead(_rule(learner), outcomes, feedback == "cascading", max_steps)
    return run_reference(learner, outcomes, FEEDBACKS[feedback], max_steps)


def _rule(learner: Learner) -> RacingRule:
    assert isinstance(learner, RacingLearner)
    return learner.rule
