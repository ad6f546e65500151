"""One entry for all engines: pick the fastest that is exact for a learner and run trials with it."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from cascadebai_cli.engines import lockstep, lucb, skip_ahead
from cascadebai_cli.engines.answers import Counted, answering, ask, ask_after_skipping
from cascadebai_cli.engines.jobs import Enough, Job, Runs, block_size, in_order, never
from cascadebai_cli.engines.outcomes import Outcomes, RandomOutcomes
from cascadebai_cli.engines.paths import along_paths
from cascadebai_cli.engines.phases import run_phases
from cascadebai_cli.engines.planned import run_planned
from cascadebai_cli.engines.reference import run_reference
from cascadebai_cli.engines.reward_table import RandomTable, RewardTable, TableShape
from cascadebai_cli.engines.run import Run
from cascadebai_cli.engines.stacks import RandomStack
from cascadebai_cli.engines.walk import run_walk
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.model.feedback import CASCADING, SEMI_BANDIT, Feedback
from cascadebai_cli.model.instance import FloatArray

EngineName = Literal["auto", "reference", "skip-ahead", "lockstep", "planned", "walk", "phases"]


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


@dataclass(frozen=True)
class Engine:
    """A way to run trials.

    Args:
        version: raised whenever it draws its random numbers differently: rows of different versions do not mix.
        source: what it reads the outcomes of a trial from.
        item_bytes: that a trial takes for each of its items, at most and about.
        run: runs jobs; if it can stop in between, it pauses runs once it is enough.
        feedbacks: the click models that it is exact for; none for an engine that runs any of them by `reveal`.
        rows: trials that run best side by side; 1 if they run one after the other.
        entries: items that these trials have together, at most.
        by_steps: whether the time of a trial goes with its steps, when it runs beside others.
        forgets: whether it forgets clicks, which are counted as they are drawn if a learner is to be asked at its cap.
        shares_paths: whether it leaves a learner where its run ends and goes on from there, so that jobs of one path
            make their steps once.
    """

    version: int
    source: Callable[[Trial], Any]
    item_bytes: int
    run: Callable[[Sequence[Job[Any]], Enough], Runs]
    feedbacks: tuple[Feedback, ...] | None
    rows: int = 1
    entries: int = sys.maxsize
    by_steps: bool = False
    forgets: bool = False
    shares_paths: bool = False

    def knows(self, feedback: Feedback) -> bool:
        """Whether it is exact for a click model: the very record, since one that is only alike has another law."""
        return self.feedbacks is None or feedback in self.feedbacks

    def together(self, jobs: Sequence[Job[Any]], enough: Enough) -> Runs:
        """Run jobs, of which those of one path follow one another."""
        return (along_paths(self.run) if self.shares_paths else self.run)(jobs, enough)

    def block(self, L: int) -> int:
        """How many trials of `L` items run best side by side."""
        return block_size(L, self.rows, self.entries)

    def memory(self, L: int, table: TableShape | None, steps: int) -> int:
        """Bytes that a trial of `L` items and at most so many steps takes, about."""
        return L * self.item_bytes + (table.memory(L, steps) if table else 0)


def _stack(trial: Trial) -> RandomStack:
    return RandomStack(trial.weights, trial.rng)


def _outcomes(trial: Trial) -> Outcomes | RewardTable:
    if trial.table is None:
        return RandomOutcomes(trial.weights, trial.rng)
    return RandomTable(trial.weights, trial.rng, trial.table)


def _one_by_one(run: Callable[[Job[Any]], Run]) -> Callable[[Sequence[Job[Any]], Enough], Runs]:
    return lambda jobs, enough: ((place, run(job)) for place, job in enumerate(jobs))


def _by_reference(job: Job[Any]) -> Run:
    return run_reference(job.learner, job.stack, job.feedback, job.max_steps)


def _by_walk(job: Job[Any]) -> Run:
    return run_walk(job.learner.rule, job.stack, job.max_steps)


def _skipping_ahead(jobs: Sequence[Job[Any]], enough: Enough) -> Runs:
    """To their end: it cannot stop in between."""
    return skip_ahead.run_skip_ahead(jobs)


def _in_lockstep(jobs: Sequence[Job[Any]], enough: Enough) -> Runs:
    """Each learner by the engine that is made for it."""
    for made, run in ((True, lucb.run_lucb), (False, answering(lockstep.run_lockstep, ask))):
        places = [place for place, job in enumerate(jobs) if isinstance(job.learner, KLLucb) == made]
        for place, done in run([jobs[i] for i in places], enough):
            yield places[place], done


_BY_CLICKS = (CASCADING, SEMI_BANDIT)
"""A click ends the step, or nothing does: `ends_at_click` tells these engines which."""

ENGINES: Mapping[str, Engine] = MappingProxyType(
    {
        "reference": Engine(1, _outcomes, 250, answering(_one_by_one(_by_reference), ask), None),
        "walk": Engine(1, _outcomes, 4_000, _one_by_one(_by_walk), (CASCADING,)),
        "skip-ahead": Engine(
            2,
            _outcomes,
            3_000,
            answering(_skipping_ahead, ask_after_skipping),
            _BY_CLICKS,
            skip_ahead.ROWS,
            skip_ahead.ENTRIES,
            forgets=True,
        ),
        "lockstep": Engine(
            1,
            _stack,
            5_000,
            _in_lockstep,
            _BY_CLICKS,
            lockstep.ROWS,
            lockstep.ENTRIES,
            by_steps=True,
            shares_paths=True,
        ),
        "planned": Engine(2, _stack, 20_000, _one_by_one(run_planned), _BY_CLICKS, shares_paths=True),
        "phases": Engine(1, _outcomes, 500, answering(_one_by_one(run_phases), ask), _BY_CLICKS),
    }
)
"""Name -> engine; how it is spelled in a config, but for `auto`."""


MADE_FOR: Mapping[str, str] = MappingProxyType(
    {
        "planned": "is made for track-and-stop",
        "phases": "is made for uniform and sar",
        "lockstep": "is made for CascadeBAI, its display orders and KL-LUCB++",
        "skip-ahead": "needs a racing learner that shows the least observed survivors",
    }
)
"""Engine that is exact for some learners only, and knows outcomes ahead of the steps -> which ones, in words."""


def resolve_engine(
    engine: EngineName, learner: Learner, feedback: Feedback = CASCADING, table: TableShape | None = None
) -> EngineName:
    """The engine that will run: `auto` becomes the fastest one that is exact for the learner and the feedback.

    Raises:
        ConfigError: if the named engine cannot run the learner or the feedback, or the learner cannot learn from it.
    """
    name = getattr(learner, "name", type(learner).__name__)
    if not feedback.observes_all and getattr(learner, "repeats", False):
        raise ConfigError(
            f"{name} with r > 1 shows an item more than once in a list, which {feedback.name} feedback "
            f"does not define; use r: 1 or feedback: {SEMI_BANDIT.name}"
        )
    if engine != "auto":
        _refuse_unknown_feedback(engine, feedback)
    exact = [each for each in getattr(learner, "engines", ()) if ENGINES[each].knows(feedback)]
    if table is not None:
        return _engine_for_table(engine, learner, name, "skip-ahead" in exact and ENGINES["walk"].knows(feedback))
    if engine == "walk":
        raise ConfigError("engine walk needs rewards from a table, such as rewards: {rows: 100000}; use engine: auto")
    if engine == "auto":
        best: EngineName = exact[0] if exact else "reference"
        return best
    if engine in MADE_FOR and engine not in exact:
        raise ConfigError(f"engine {engine} cannot run {name}: it {MADE_FOR[engine]}; use engine: auto")
    return engine


def _refuse_unknown_feedback(engine: EngineName, feedback: Feedback) -> None:
    made = ENGINES[engine]
    if not made.knows(feedback):
        names = " and ".join(known.name for known in made.feedbacks or ())
        raise ConfigError(f"engine {engine} does not know the feedback {feedback.name}, only {names}; use engine: auto")


def _engine_for_table(engine: EngineName, learner: Learner, name: str, walks: bool) -> EngineName:
    """Rewards that are indexed by time cannot be known ahead of the steps, which most engines need."""
    if getattr(learner, "repeats", False):
        raise ConfigError(f"{name} with r > 1 asks an item twice in a step, for which a table has one reward; use r: 1")
    if engine in MADE_FOR:
        raise ConfigError(
            f"engine {engine} cannot read rewards from a table, which ties them to steps; use engine: auto"
        )
    if engine == "walk" and not walks:
        raise ConfigError(
            f"engine walk cannot run {name}: it needs a racing learner that shows the least observed survivors; "
            "use engine: auto"
        )
    if engine == "auto":
        return "walk" if walks else "reference"
    return engine


def simulate(
    make_learner: Callable[[], Learner],
    trial: Trial,
    *,
    feedback: Feedback = CASCADING,
    engine: EngineName = "auto",
    max_steps: int | None = None,
    answers: bool = False,
) -> Run:
    """Run one trial.

    Args:
        make_learner: builds a fresh learner.
        trial: weights and generator.
        feedback: what is observed of a list.
        engine: which engine; every choice has the same law, not the same random numbers.
        max_steps: cap on the number of lists shown, none by default.
        answers: whether the recommendation of a capped run is what the learner answers then.
    """
    return simulate_block(
        make_learner, [trial], feedback=feedback, engine=engine, max_steps=max_steps, answers=answers
    )[0]


def simulate_block(
    make_learner: Callable[[], Learner],
    trials: Sequence[Trial],
    *,
    feedback: Feedback = CASCADING,
    engine: EngineName = "auto",
    max_steps: int | None = None,
    answers: bool = False,
) -> list[Run]:
    """Run trials, side by side where the engine can; each run is the same as if it were the only one.

    Args:
        make_learner: builds a fresh learner.
        trials: weights, generators and tables, all with tables of the same kind or all without.
        feedback, engine, max_steps, answers: as for `simulate`.
    """
    jobs = [new_job(make_learner(), trial, feedback, engine, max_steps, answers) for trial in trials]
    return in_order(jobs[0][0].run([job for _, job in jobs], never)) if jobs else []


def new_job(
    learner: Learner,
    trial: Trial,
    feedback: Feedback,
    engine: EngineName,
    max_steps: int | None,
    answers: bool = False,
) -> tuple[Engine, Job[Learner]]:
    """A trial as its engine takes it, and that engine."""
    made = ENGINES[resolve_engine(engine, learner, feedback, trial.table)]
    source = made.source(trial)
    stack = Counted(source, len(trial.weights)) if answers and made.forgets else source
    return made, Job(learner, stack, feedback, max_steps, answers=answers)
