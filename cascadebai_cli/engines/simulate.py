"""One entry for all engines: pick the fastest that is exact for a learner and run trials with it."""

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from cascadebai_cli.engines import batches, lockstep, lucb, phases, posterior, skip_ahead
from cascadebai_cli.engines.jobs import Ending, HasEnough, Job, Paused, Run, Runs, block_size, in_order, never
from cascadebai_cli.engines.outcomes import (
    Outcomes,
    PairedOutcomes,
    RandomOutcomes,
    RandomStack,
    ShuffledLooks,
    Stretch,
)
from cascadebai_cli.engines.phases import run_phases, run_planned
from cascadebai_cli.engines.walk import RandomTable, RewardTable, TableShape, run_walk
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.posterior import Posterior
from cascadebai_cli.learners.protocol import Batched, BatchedAnswering, Learner, LeastObservedFirst, RacingLearner
from cascadebai_cli.model.problem import CASCADING, SEMI_BANDIT, Draw, Feedback, FloatArray, IntArray, NextChance

# --- The reference engine: step by step, as close to the pseudocode as Python gets; slow on purpose -----------------


def run_reference(
    learner: Learner,
    outcomes: Outcomes | RewardTable,
    feedback: Feedback,
    max_steps: int | None = None,
    chance: NextChance | None = None,
) -> Run:
    """Make steps until the learner stops, or until `max_steps` steps were made."""
    steps = observations = 0
    inner = learner.learner if isinstance(learner, Batched) else learner
    race = inner.race if isinstance(inner, LeastObservedFirst) else None
    while not learner.finished and (max_steps is None or steps < max_steps):
        shown = feedback.shown(learner.select(), chance)
        seen = feedback.seen(shown, _draw(outcomes, steps), chance)
        learner.observe(shown, seen)
        steps += 1
        observations += len(seen)
        if race is not None:
            race.stamp(steps)
    return _result(inner, steps, observations)


def _draw(outcomes: Outcomes | RewardTable, step: int) -> Draw:
    """Return the outcomes of the next step: a row of the table, or the next outcome of each item."""
    return outcomes.at(step) if isinstance(outcomes, RewardTable) else outcomes.next


def _result(learner: Learner, steps: int, observations: int) -> Run:
    if isinstance(learner, LeastObservedFirst):
        return Run.of_race(learner.race, steps, learner.T)
    status: Ending = "stopped" if learner.finished else "capped"
    counts = tuple(learner.T.tolist()) if isinstance(learner, KLLucb | Posterior) else ()
    return Run(steps, status, observations, tuple(learner.recommendation), counts=counts)


# --- The answer of a learner that has reached its cap ---------------------------------------------------------------
#
# An engine that keeps the learner up to date only needs to ask it. Skip-ahead forgets the clicks, so they are counted
# in the outcomes as these are drawn.


_RunAll = Callable[[Sequence[Job[Any]], HasEnough], Runs]
_AskOne = Callable[[Job[Any], Run], tuple[int, ...]]


def _ask(job: Job[Any], run: Run) -> tuple[int, ...]:
    """Return the answer of a learner that is up to date."""
    answer: tuple[int, ...] = tuple(job.learner.answer)
    return answer


def _ask_after_skipping(job: Job[RacingLearner], run: Run) -> tuple[int, ...]:
    """Return the answer of a learner that the engine has not updated, and whose outcomes were `Counted`."""
    learner = job.learner
    T = np.array(run.counts)
    survivors = np.setdiff1d(np.arange(len(T)), run.accepted + run.rejected)
    learner.T, learner.S = T, job.stack.clicks(T, survivors)
    learner.race.survivors = survivors
    learner.race.accepted, learner.race.rejected = list(run.accepted), list(run.rejected)
    return learner.answer


def _answering(run_all: _RunAll, ask: _AskOne) -> _RunAll:
    """Return an engine that also asks learners for their answer when they reach their cap."""

    def run(jobs: Sequence[Job[Any]], enough: HasEnough) -> Runs:
        for place, done in run_all(jobs, enough):
            if isinstance(done, Run) and done.status == "capped" and jobs[place].answers:
                yield place, replace(done, recommendation=ask(jobs[place], done))
            else:
                yield place, done

    return run


class Counted:
    """Outcomes whose clicks are counted as they are drawn.

    Stretches follow one another, and an item that survives a stretch has observed all of it. So it is enough to keep
    the clicks of each item before the last stretch, and that stretch itself.

    Args:
        outcomes: the source of the outcomes.
        L: number of items.
    """

    def __init__(self, outcomes: Outcomes, L: int) -> None:
        self._outcomes = outcomes
        self._before: IntArray = np.zeros(L, np.int64)
        self._start, self._rounds, self._shift = 0, 0, (L - 1).bit_length()
        self._last = Stretch(np.zeros(0, np.int64), True)

    def next(self, item: int) -> int:
        """Return the next outcome, which is not counted."""
        return self._outcomes.next(item)

    def rarity(self, items: IntArray) -> float:
        """Return the rarity of the wrapped outcomes."""
        return self._outcomes.rarity(items)

    def stretch(self, items: IntArray, start: int, rounds: int, shift: int) -> Stretch:
        """Draw a stretch, and add the clicks of the stretch before it to the sums."""
        self._before += self._in_last(np.full(len(self._before), self._rounds))
        self._start, self._rounds, self._shift = start, rounds, shift
        self._last = self._outcomes.stretch(items, start, rounds, shift)
        return self._last

    def clicks(self, T: IntArray, survivors: IntArray) -> IntArray:
        """Return the clicks among the first `T` outcomes of each survivor, and 0 for all other items, shape `(L,)`."""
        found = np.zeros_like(self._before)
        found[survivors] = (self._before + self._in_last(T - self._start))[survivors]
        return found

    def _in_last(self, rounds: IntArray) -> IntArray:
        """Return the clicks of each item in its first `rounds` rounds of the last stretch; nonsense if not in it."""
        keys, are_clicks = self._last
        item = keys & ((1 << self._shift) - 1)
        rare = np.bincount(item[keys >> self._shift < rounds[item]], minlength=len(rounds))
        return rare if are_clicks else rounds - rare


# --- Jobs that differ in their cap alone share their steps ----------------------------------------------------------


def _along_paths(run_all: _RunAll) -> _RunAll:
    """Return an engine that runs the jobs of a path in turn, each from where the one with the next smaller cap ended.

    The engine must leave a learner where its run ends. A job that is paused after it went on from another one begins
    anew, since its own learner has made no step.
    """

    def run(jobs: Sequence[Job[Any]], enough: HasEnough) -> Runs:
        going = [(jobs[path[0]], path) for path in _paths(jobs)]
        while going:
            ended = run_all([job for job, _ in going], enough)
            longer = []
            for i, done in ended:
                job, (place, *rest) = going[i]
                if isinstance(done, Run) and done.status == "capped" and rest:
                    longer.append((replace(jobs[rest[0]], learner=job.learner, steps=done.steps), rest))
                    rest = []
                own = isinstance(done, Run) or job is jobs[place]
                yield place, done if own else Paused(jobs[place].steps)
                for other in rest:
                    yield other, done if isinstance(done, Run) else Paused(jobs[other].steps)
            going = longer

    return run


def _paths(jobs: Sequence[Job[Any]]) -> list[list[int]]:
    """Return the places of the jobs of each path, in ascending order of their caps."""
    paths: dict[tuple[Hashable, int | None], list[int]] = {}
    for place, job in enumerate(jobs):
        alone = job.path is None or isinstance(job.learner, Batched)  # whose batch a question would cut short
        paths.setdefault((job.path, place if alone else None), []).append(place)
    return [sorted(places, key=lambda place: jobs[place].cap) for places in paths.values()]


# --- One entry for all engines --------------------------------------------------------------------------------------


EngineName = Literal["auto", "reference", "skip-ahead", "lockstep", "planned", "walk", "phases"]


@dataclass(frozen=True)
class Trial:
    """What differs between the trials of a cell.

    Args:
        weights: click probabilities in the order in which the learner meets the items, shape `(L,)`.
        rng: generator of this trial alone.
        table: shape of the table that rewards are read from; `None` for independent rewards.
        paired: whether equal generators give all learners and engines the same stack of rewards.
    """

    weights: FloatArray
    rng: np.random.Generator
    table: TableShape | None = None
    paired: bool = False


@dataclass(frozen=True)
class Engine:
    """A way to run trials.

    Args:
        version: version of its random numbers, raised whenever it draws them differently, so that rows do not mix.
        source: makes the source of the outcomes of a trial.
        item_bytes: about how many bytes a trial takes at most for each of its items.
        run: function that runs jobs; if it can stop in between, it pauses runs once it is enough.
        feedbacks: click models that it is exact for; `None` for an engine that runs any of them by `reveal`.
        looking: kinds of learners of which it also runs lists whose places are looked at by chance (`Feedback.looks`).
        rows: number of trials that run best side by side; 1 if they run one after the other.
        entries: largest number of items that these trials have together.
        verified: steps of the longest trials that `verify` runs again, as longer ones would take too much time.
        pilot: how many trials a pilot runs at first, and the cap of their steps.
        by_steps: whether the time of a trial that runs beside others grows with its steps.
        forgets: whether it forgets clicks, so that they must be `Counted` if a learner is to be asked at its cap.
        shares_paths: whether it leaves a learner where its run ends and can go on from there, so that jobs of one
            path make their steps once.
        made_for: learners for which alone it is exact, behind "it", if it reads outcomes ahead; empty if it does not.
    """

    version: int
    source: Callable[[Trial], Any]
    item_bytes: int
    run: Callable[[Sequence[Job[Any]], HasEnough], Runs]
    feedbacks: tuple[Feedback, ...] | None
    verified: float
    looking: tuple[type, ...] = ()
    rows: int = 1
    entries: int = sys.maxsize
    pilot: tuple[int, int] = (1, 1000)
    by_steps: bool = False
    forgets: bool = False
    shares_paths: bool = False
    made_for: str = ""

    def knows(self, feedback: Feedback, learner: Learner | None = None) -> bool:
        """Return whether it is exact for a click model: the very record, or users of whom a learner sees the same."""
        if self.feedbacks is None or any(feedback.is_like(known) for known in self.feedbacks):
            return True
        return self.reads_looks(feedback, learner)

    def reads_looks(self, feedback: Feedback, learner: Learner | None) -> bool:
        """Return whether it reads which places are looked at from a stack."""
        return isinstance(learner, self.looking) and feedback.looks(1) is not None

    def together(self, jobs: Sequence[Job[Any]], enough: HasEnough) -> Runs:
        """Run jobs; those of one path run one after the other if they can share their steps."""
        return (_along_paths(self.run) if self.shares_paths else self.run)(jobs, enough)

    def block(self, L: int) -> int:
        """Return how many trials of `L` items run best side by side."""
        return block_size(L, self.rows, self.entries)

    def memory(self, L: int, table: TableShape | None, steps: int) -> int:
        """Return about how many bytes a trial of `L` items and at most `steps` steps takes."""
        return L * self.item_bytes + (table.memory(L, steps) if table else 0)


def _stack(trial: Trial) -> RandomStack:
    return RandomStack(trial.weights, trial.rng, paired=trial.paired)


def _outcomes(trial: Trial) -> Outcomes | RewardTable:
    if trial.table is None:
        return (PairedOutcomes if trial.paired else RandomOutcomes)(trial.weights, trial.rng)
    return RandomTable(trial.weights, trial.rng, trial.table)


def _looks_of(trial: Trial, feedback: Feedback, learner: Any) -> Any:
    """Return which places of a list are looked at in each step."""
    rng = _beside_outcomes(trial)
    if feedback.shuffled:
        return ShuffledLooks(np.array(feedback.looks(learner.rule.M)), rng)
    return RandomStack(np.array(feedback.looks(len(trial.weights))), rng)


def _one_by_one(run: Callable[[Job[Any]], Run]) -> Callable[[Sequence[Job[Any]], HasEnough], Runs]:
    return lambda jobs, enough: ((place, run(job)) for place, job in enumerate(jobs))


def _by_reference(job: Job[Any]) -> Run:
    return run_reference(job.learner, job.stack, job.feedback, job.max_steps, job.chance)


def _by_walk(job: Job[Any]) -> Run:
    return run_walk(job.learner.rule, job.stack, job.max_steps, answers=job.answers)


def _skipping_ahead(jobs: Sequence[Job[Any]], enough: HasEnough) -> Runs:
    """Run jobs to their end: skip-ahead cannot stop in between."""
    return skip_ahead.run_skip_ahead(jobs)


def _in_lockstep(jobs: Sequence[Job[Any]], enough: HasEnough) -> Runs:
    """Run each learner with the engine that is made for it."""
    made: dict[type, _RunAll] = {
        KLLucb: lucb.run_lucb,
        Posterior: _answering(posterior.run_posterior, _ask),
        BatchedAnswering: _answering(batches.run_batches, _ask),
    }
    others = _answering(lockstep.run_lockstep, _ask)
    kinds = [type(job.learner) if type(job.learner) in made else object for job in jobs]
    for kind in dict.fromkeys(kinds):
        places = [place for place, other in enumerate(kinds) if other is kind]
        for place, done in made.get(kind, others)([jobs[i] for i in places], enough):
            yield places[place], done


_BY_CLICKS = (CASCADING, SEMI_BANDIT)
"""Click models in which a click ends the step, or nothing does; `ends_at_click` tells engines which of the two."""

ENGINES: Mapping[str, Engine] = MappingProxyType(
    {
        "reference": Engine(1, _outcomes, 250, _answering(_one_by_one(_by_reference), _ask), None, 2e4),
        "walk": Engine(1, _outcomes, 4_000, _one_by_one(_by_walk), (CASCADING,), 2e6),
        "skip-ahead": Engine(
            2,
            _outcomes,
            3_000,
            _answering(_skipping_ahead, _ask_after_skipping),
            _BY_CLICKS,
            inf,
            rows=skip_ahead.ROWS,
            entries=skip_ahead.ENTRIES,
            pilot=(4, 64_000),
            forgets=True,
            made_for="needs a racing learner that shows the least observed survivors",
        ),
        "lockstep": Engine(
            1,
            _stack,
            5_000,
            _in_lockstep,
            _BY_CLICKS,
            1e5,
            (KLLucb, Batched),
            lockstep.ROWS,
            lockstep.ENTRIES,
            pilot=(20, 1000),
            by_steps=True,
            shares_paths=True,
            made_for="is made for CascadeBAI, its display orders, KL-LUCB++ and posterior",
        ),
        "planned": Engine(
            3,
            _stack,
            20_000,
            _one_by_one(run_planned),
            _BY_CLICKS,
            1e3,
            shares_paths=True,
            made_for="is made for track-and-stop",
        ),
        "phases": Engine(
            2,
            _outcomes,
            500,
            _answering(run_phases, _ask),
            _BY_CLICKS,
            1e7,
            rows=phases.ROWS,
            entries=phases.ENTRIES,
            made_for="is made for uniform and sar",
        ),
    }
)
"""Name of each engine, as it is written in a config, -> engine; `auto` is not among them."""


def resolve_engine(
    engine: EngineName, learner: Learner, feedback: Feedback = CASCADING, table: TableShape | None = None
) -> EngineName:
    """Return the engine that will run; `auto` becomes the fastest that is exact for the learner and the feedback.

    Raises:
        ConfigError: if the named engine cannot run the learner or the feedback, or the learner cannot learn from it.
    """
    name = getattr(learner, "name", type(learner).__name__)
    if not feedback.observes_all and getattr(learner, "repeats", False):
        raise ConfigError(
            f"{name} with r > 1 shows an item more than once in a list, which {feedback.name} feedback "
            f"does not define{' for such users' if feedback.users else ''}; use r: 1"
            f"{'' if feedback.users else f' or feedback: {SEMI_BANDIT.name}'}"
        )
    if feedback.shuffled and not getattr(learner, "any_order", False):
        raise ConfigError(
            f"{name} cannot have its lists shuffled, as it does not say that any order is right; leave shuffle out, or "
            "take kl-lucb++, posterior or track-and-stop (a class of your own says any_order = True)"
        )
    if engine != "auto":
        _refuse_unknown_feedback(engine, feedback, learner)
    exact = [each for each in getattr(learner, "engines", ()) if ENGINES[each].knows(feedback, learner)]
    if table is not None:
        return _engine_for_table(engine, learner, name, "skip-ahead" in exact and ENGINES["walk"].knows(feedback))
    if engine == "walk":
        raise ConfigError("engine walk needs rewards from a table, such as rewards: {rows: 100000}; use engine: auto")
    if engine == "auto":
        best: EngineName = exact[0] if exact else "reference"
        return best
    if (made_for := ENGINES[engine].made_for) and engine not in exact:
        raise ConfigError(f"engine {engine} cannot run {name}: it {made_for}; use engine: auto")
    return engine


def _refuse_unknown_feedback(engine: EngineName, feedback: Feedback, learner: Learner) -> None:
    made = ENGINES[engine]
    if not made.knows(feedback, learner):
        known = " and ".join(each.name for each in made.feedbacks or ())
        what = f"the feedback {feedback.name}, only {known}"
        if feedback.users:
            what = f"what this learner gets of {feedback.users.kind} users with feedback {feedback.name}"
        elif feedback.shuffled:
            what = "lists in random order (shuffle)"
        raise ConfigError(f"engine {engine} does not know {what}; use engine: auto")


def _engine_for_table(engine: EngineName, learner: Learner, name: str, walks: bool) -> EngineName:
    """Return the engine for rewards from a table.

    They are tied to steps and cannot be known ahead of them, which most engines need.
    """
    if getattr(learner, "repeats", False):
        raise ConfigError(f"{name} with r > 1 asks an item twice in a step, for which a table has one reward; use r: 1")
    if engine == "auto":
        return "walk" if walks else "reference"
    if ENGINES[engine].made_for:
        raise ConfigError(
            f"engine {engine} cannot read rewards from a table, which ties them to steps; use engine: auto"
        )
    if engine == "walk" and not walks:
        raise ConfigError(
            f"engine walk cannot run {name}: it needs a racing learner that shows the least observed survivors; "
            "use engine: auto"
        )
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
        engine: name of the engine; all have the same law, but not the same random numbers.
        max_steps: cap on the number of steps, none by default.
        answers: whether a learner is asked for its answer at the cap, which becomes the recommendation.
    """
    return simulate_block(
        make_learner, [trial], feedback=feedback, engine=engine, max_steps=max_steps, answers=answers
    )[0]


_BESIDE = 2**32 - 1
"""Number of the child of a trial's seed that decides what users draw in paired trials; its items have smaller ones."""


def simulate_block(
    make_learner: Callable[[], Learner],
    trials: Sequence[Trial],
    *,
    feedback: Feedback = CASCADING,
    engine: EngineName = "auto",
    max_steps: int | None = None,
    answers: bool = False,
) -> list[Run]:
    """Run trials, side by side where the engine can; each run is the same as if it were run alone.

    Args:
        make_learner: builds a fresh learner.
        trials: weights, generators and tables, all with tables of the same kind or all without.
        feedback, engine, max_steps, answers: as for `simulate`.
    """
    jobs = [new_job(make_learner(), trial, feedback, engine, max_steps, answers) for trial in trials]
    return in_order(jobs[0][0].run([job for _, job in jobs], never)) if jobs else []


def _beside_outcomes(trial: Trial) -> np.random.Generator:
    """Return a generator for what is drawn beside outcomes; paired outcomes stay those of trials that draw no more."""
    if not trial.paired:
        return trial.rng.spawn(1)[0]
    seed: Any = trial.rng.bit_generator.seed_seq
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, _BESIDE)))


def new_job(
    learner: Learner,
    trial: Trial,
    feedback: Feedback,
    engine: EngineName,
    max_steps: int | None,
    answers: bool = False,
) -> tuple[Engine, Job[Learner]]:
    """Return the engine of a trial, and the trial as a job for it."""
    made = ENGINES[resolve_engine(engine, learner, feedback, trial.table)]
    chance, looks = None, None
    if feedback.is_drawn and made.feedbacks is None:
        chance = _beside_outcomes(trial).random
    elif feedback.is_drawn and made.reads_looks(feedback, learner):
        looks = _looks_of(trial, feedback, learner)
    source = made.source(trial)
    stack = Counted(source, len(trial.weights)) if answers and made.forgets else source
    return made, Job(learner, stack, feedback, max_steps, answers=answers, chance=chance, looks=looks)
