"""The work of one worker: its task, the generators of its trials, and the state of its process."""

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from math import nan
from operator import attrgetter
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import numpy as np

from cascadebai_cli.engines.jobs import HasEnough, Job, Paused, Run, in_order, never
from cascadebai_cli.engines.simulate import Engine, Trial, new_job, simulate
from cascadebai_cli.errors import CascadeError
from cascadebai_cli.learners.own import LIVE, plugin_code
from cascadebai_cli.learners.protocol import Learner, LeastObservedFirst
from cascadebai_cli.model.problem import Instance, IntArray
from cascadebai_cli.store.columns import TrialRow
from cascadebai_cli.store.journal import Decision, Moment, Recording
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.version import __version__

# --- The only place where generators of trials are made -------------------------------------------------------------


def trial_seed(root: int, cell_id: str, trial: int) -> np.random.SeedSequence:
    """Return the seed of a trial, made of the root seed, the content of the cell and the trial's number.

    Args:
        root: root seed of the study.
        cell_id: hexadecimal hash of the cell, a multiple of 8 digits; each 8 digits are one word.
        trial: number of the trial, from 0.
    """
    words = (int(cell_id[i : i + 8], 16) for i in range(0, len(cell_id), 8))
    return np.random.SeedSequence(root, spawn_key=(*words, trial))


def trial_generator(root: int, cell_id: str, trial: int) -> np.random.Generator:
    """Return the generator of a trial; arguments as for `trial_seed`."""
    return _generator(trial_seed(root, cell_id, trial))


def _learner_generator(root: int, cell_id: str, trial: int) -> np.random.Generator:
    """Return the generator for a learner that draws: the first child of the trial's seed, so that outcomes stay."""
    return _generator(trial_seed(root, cell_id, trial).spawn(1)[0])


def _generator(seed: np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64DXSM(seed))


# --- Protection from what a user-defined learner may do to its process ----------------------------------------------


@contextmanager
def _as_before() -> Iterator[None]:
    """Restore the working directory at the end of the block, and end a process that was forked in the block.

    Such a process would go on as a second writer of the same sweep, or as a second worker behind the same pipe.
    """
    process, folder = os.getpid(), _folder()
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(1)
        if folder and folder != _folder():
            os.chdir(folder)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


def _said(error: BaseException) -> str:
    """Return an error as one line, whatever its text is."""
    name = type(error).__name__
    try:
        lines = str(error).splitlines()
    except Exception:
        lines = []
    return f"{name}: {lines[0]}" if lines and lines[0] else name


# --- What a worker is given, and what it gives back -----------------------------------------------------------------

_HAND_BACK_SECONDS = 20.0


class Begun(NamedTuple):
    """A trial that was paused; it can go on in any process.

    Attributes:
        learner: the learner after `steps` steps.
        seconds: time that these steps took.
    """

    trial: int
    learner: Learner
    steps: int
    seconds: float


class Block(NamedTuple):
    """Some trials of one cell.

    Attributes:
        cell: the cell, whose `items` (their names) may be left out.
        position: place of the cell in the grid.
        twice: whether the first of these trials is run twice, to check that it can be repeated.
        begun: those of these trials that were paused.
    """

    cell: Cell
    position: int
    trials: tuple[int, ...]
    twice: bool = False
    begun: tuple[Begun, ...] = ()


@dataclass(frozen=True)
class Settings:
    """Settings that are the same for all blocks of a sweep.

    Args:
        fail_fast: whether a block ends at its first trial that raises.
        with_items: whether finished trials carry the items found and the clicks expected.
        wanted: what is recorded of each trial beyond its row.
        timeout: seconds after which a trial fails.
        debug: whether the first error leaves this function as it was raised, for a debugger.
        seconds: time after which trials that run side by side are handed back; those that have not ended are paused.
    """

    seed: int
    fail_fast: bool = False
    with_items: bool = False
    wanted: Recording = field(default_factory=Recording)
    timeout: float | None = None
    debug: bool = False
    seconds: float = _HAND_BACK_SECONDS


class NotRepeatable(CascadeError):
    """A user-defined learner whose rows cannot be made again; the sweep ends."""

    def __init__(self, text: str, algorithm: str) -> None:
        super().__init__(text, algorithm)
        self.algorithm = algorithm

    def __str__(self) -> str:
        return str(self.args[0])


class Failed(NamedTuple):
    """A trial that raised.

    Attributes:
        error: the error in one line.
        trace: its traceback, which begins with the first call of code outside this package if there is any.
        own: whether there is.
    """

    trial: int
    error: str
    trace: str
    own: bool = False


class _TrialTimeout(BaseException):
    """A trial that takes too long; no `except Exception` of a user-defined learner catches it."""


@contextmanager
def _at_most(seconds: float | None) -> Iterator[None]:
    """Raise `_TrialTimeout` in the block after some seconds, in the main thread of the process alone."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise _TrialTimeout(_too_long(seconds))

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _too_long(seconds: float) -> str:
    return f"it takes longer than --trial-timeout {seconds:g}, in seconds"


def _failed(trial: int, error: BaseException) -> Failed:
    """Return what is told of a trial that raised."""
    told = traceback.TracebackException.from_exception(error)
    ours = str(Path(__file__).parents[1])
    frames = list(told.stack)
    first = next((i for i, frame in enumerate(frames) if not frame.filename.startswith(ours)), None)
    if first is not None:
        told.stack = traceback.StackSummary.from_list(frames[first:])
    said = str(error) if isinstance(error, _TrialTimeout) else _said(error)
    return Failed(trial, said, "".join(told.format()), first is not None)


class BlockResult(NamedTuple):
    """The results of the trials of one block."""

    position: int
    finished: list[TrialRow]
    failed: list[Failed]
    paused: tuple[Begun, ...] = ()


# --- What runs in a worker: blocks of trials in, small rows out -----------------------------------------------------

_WATCH_SECONDS = 0.2
"""Seconds between two checks of a worker that its parent still lives."""

_Done = tuple[Run, tuple[int, ...], float]
"""A run, the items found and the seconds it took."""
_Ready = Mapping[tuple[int, int], _Done | Begun]
"""Position of the cell and number of the trial -> the trial, which has ended or was paused."""


def serve(parent: int) -> None:
    """Prepare a process that works for `parent`: it leaves Ctrl-C to the parent, and ends if the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


def _hash_of_package() -> str:
    folder, code = Path(__file__).parents[1], sha256()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_bytes()
        code.update(f"{path.relative_to(folder).as_posix()} {len(text)}\n".encode() + text)
    return code.hexdigest()


_PACKAGE = _hash_of_package()
"""Hash of the sources of this package, as they were when this process imported it."""


@dataclass(frozen=True)
class _Code:
    """The code that a parent runs; rows of two versions must not mix.

    Args:
        own: name of each user-defined learner -> hash of its code.
        live: name of each of these that cannot be imported -> the class.
        version, package: version of this package, and hash of its sources.
    """

    own: Mapping[str, str]
    live: Mapping[str, type]
    version: str = __version__
    package: str = _PACKAGE


def work_on(cells: Sequence[Cell], settings: Settings) -> Callable[[list[Block]], list[BlockResult]]:
    """Return what a worker calls with blocks of these cells: `run_blocks`, if it has the code of this process.

    The function that is returned raises:
        CascadeError: if the worker has other code.
    """
    own = {cell.spec.algorithm: plugin_code(cell.spec.algorithm) for cell in cells if cell.is_own}
    return partial(_run_checked, _Code(own, {name: LIVE[name] for name in own if name in LIVE}), settings)


def _run_checked(code: _Code, settings: Settings, blocks: list[Block]) -> list[BlockResult]:
    if code.package != _PACKAGE:
        raise CascadeError(
            f"a worker holds other sources of cascadebai (version {__version__}) than the sweep "
            f"(version {code.version}); install the same cascadebai on all machines and restart the workers"
        )
    LIVE.update(code.live)
    for name in {block.cell.spec.algorithm for block in blocks if block.cell.is_own}:
        if code.own[name] != plugin_code(name):
            raise CascadeError(
                f"{name}: a worker holds other code than the sweep, of the learner or of what it imports; restart the "
                "workers of a cluster, undo changes made since the sweep began, or sweep with the new code into "
                "another --out"
            )
    return run_blocks(settings, blocks)


def run_blocks(settings: Settings, blocks: list[Block]) -> list[BlockResult]:
    """Run blocks one after the other, each process on one thread."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        ready = _side_by_side(settings, blocks)
        return [_run_block(settings, block, ready) for block in blocks]


def _side_by_side(settings: Settings, blocks: Sequence[Block]) -> _Ready:
    """Run the trials of all blocks that gain by it side by side.

    Return none of them if one raises, so that each is run alone.
    """
    end = time.monotonic() + settings.seconds
    ready: dict[tuple[int, int], _Done | Begun] = {}
    for name in {block.cell.runs_with for block in blocks if block.cell.side_by_side}:
        mine = [block for block in blocks if block.cell.runs_with == name]
        try:
            with _at_most(settings.timeout):
                ready |= _together(settings.seed, mine[0].cell.ran_by, mine, lambda: time.monotonic() >= end)
        except (Exception, _TrialTimeout):
            continue
    return ready


class _Made(NamedTuple):
    """A trial to run: its job, which item of the cell is in each place, and the seconds that it has taken so far."""

    trial: int
    job: Job[Learner]
    permutation: IntArray
    seconds: float


def _made(seed: int, block: Block) -> Iterator[_Made]:
    begun, cell = {one.trial: one for one in block.begun}, block.cell
    for trial in block.trials:
        made, permutation = _prepared(seed, cell, trial)
        _, learner, steps, seconds = begun.get(trial) or Begun(trial, _learner(seed, cell, trial, permutation), 0, 0.0)
        _, job = new_job(learner, made, cell.feedback, cell.engine, cell.most_steps, cell.answers)
        path = (cell.path_id, trial) if cell.answers and not steps else None
        yield _Made(trial, replace(job, steps=steps, path=path), permutation, seconds)


def _together(seed: int, engine: Engine, blocks: Sequence[Block], enough: HasEnough) -> _Ready:
    """Run trials of blocks side by side with one engine, until all have ended or it is enough."""
    start = time.perf_counter()
    made = [(block.position, one) for block in blocks for one in _made(seed, block)]
    ran = dict(engine.together([one.job for _, one in made], enough))
    shares = [ran[i].steps - one.job.steps if engine.by_steps else 1 for i, (_, one) in enumerate(made)]
    pace = (time.perf_counter() - start) / max(1, sum(shares))
    return {
        (position, one.trial): _taken_back(one, ran[i], one.seconds + pace * shares[i])
        for i, (position, one) in enumerate(made)
    }


def _taken_back(made: _Made, run: Run | Paused, seconds: float) -> _Done | Begun:
    if isinstance(run, Paused):
        return Begun(made.trial, made.job.learner, run.steps, seconds)
    return run, _items(run, made.permutation), seconds


def _run_block(settings: Settings, block: Block, ready: _Ready) -> BlockResult:
    """Run the trials of a block; a trial that raises does not stop the others unless `fail_fast`.

    Args:
        ready: trials that were run already, or were paused.

    Raises:
        NotRepeatable: if the trial that is run twice does not end in the same way both times.
    """
    known = {trial: ready.get((block.position, trial)) for trial in block.trials}
    begun = [one for one in known.values() if isinstance(one, Begun)]
    late = [one for one in begun if settings.timeout is not None and one.seconds > settings.timeout]
    gone = [Failed(one.trial, _too_long(settings.timeout or 0), "") for one in late]
    result = BlockResult(block.position, [], gone, tuple(one for one in begun if one not in late))
    problem = block.cell.problem
    for trial, one in known.items():
        if isinstance(one, Begun):
            continue
        try:
            with _as_before(), _at_most(settings.timeout):
                done = one or _timed(settings.seed, block.cell, trial)
                if block.twice and trial == block.trials[0]:
                    _refuse_another(settings.seed, block.cell, trial, done)
            result.finished.append(_row(settings, block.cell, problem, trial, done))
        except (NotRepeatable, KeyboardInterrupt):
            raise
        except BaseException as error:  # a user-defined learner may raise anything, such as SystemExit
            if settings.debug:
                raise
            result.failed.append(_failed(trial, error))
            if settings.fail_fast:
                break
    return result


def _refuse_another(seed: int, cell: Cell, trial: int, done: _Done) -> None:
    again = run_trial(seed, cell, trial)
    if again != done[:2]:
        raise NotRepeatable(
            f"{cell.spec.algorithm}: trial {trial} of {cell.label} ends after {done[0].steps} steps and, run again, "
            f"after {again[0].steps}, or finds other items: it draws random numbers of its own, or keeps something "
            "from one trial to the next; let its constructor take rng, the generator of the trial, and draw from "
            "that alone",
            cell.spec.algorithm,
        )


def _timed(seed: int, cell: Cell, trial: int) -> _Done:
    start = time.perf_counter()
    run, items = run_trial(seed, cell, trial)
    return run, items, time.perf_counter() - start


def _row(settings: Settings, cell: Cell, problem: Instance, trial: int, done: _Done) -> TrialRow:
    run, items, seconds = done
    if run.status == "capped" and run.steps not in (cell.max_steps, cell.budget):
        raise CascadeError(
            f"no end after {run.steps:,} steps, and more cannot be counted; choose a larger gap or epsilon, or a "
            "max_steps"
        )
    status = "answered" if cell.answers else run.status
    return TrialRow(
        cell_id=cell.cell_id,
        trial=trial,
        status=status,
        steps=run.steps,
        observations=run.observations,
        correct=None if status == "capped" else problem.is_correct(items),
        seconds=seconds,
        right=problem.right(items) if cell.answers else None,
        record=_record(settings, cell, problem, trial, done) if settings.wanted.names else (),
        items=items if settings.with_items else (),
        clicks=_clicks(settings, cell, trial, run) if settings.with_items else nan,
    )


def _record(settings: Settings, cell: Cell, problem: Instance, trial: int, done: _Done) -> tuple[tuple[str, str], ...]:
    """Return what is recorded of a trial; a trace runs it again up to each of its steps."""
    wanted, (run, items, _) = settings.wanted, done
    _, permutation = _prepared(settings.seed, cell, trial)
    named = items if run.status == "stopped" or cell.answers else ()
    entries: dict[str, Sequence[tuple[int | str, ...]]] = {
        "answer": [(place, item + 1) for place, item in enumerate(named, start=1)],
        "decisions": _decisions(run, permutation),
    }
    if "trace" in wanted.names:
        caps = [*wanted.steps_before(run.steps), *([run.steps] if run.status == "capped" else [])]
        runs = [*_runs_up_to(settings.seed, cell, trial, caps), *([] if run.status == "capped" else [run])]
        races = isinstance(cell.build(), LeastObservedFirst)
        entries["trace"] = [_moment(cell, problem, one, permutation, races) for one in runs]
    return wanted.texts(entries)


def _decisions(run: Run, permutation: IntArray) -> list[Decision]:
    """Return the decisions of a run in the order of their steps; of one step, those that accept come first."""
    lists = (("accepted", run.accepted, run.accepted_at), ("rejected", run.rejected, run.rejected_at))
    made = [
        Decision(int(permutation[item]) + 1, word, step)
        for word, those, steps in lists
        for item, step in zip(those, steps, strict=True)
    ]
    return sorted(made, key=attrgetter("step"))


def _runs_up_to(seed: int, cell: Cell, trial: int, caps: Sequence[int]) -> list[Run]:
    """Return a trial as it stands after these numbers of steps, with the items that the learner would return then."""
    trials = [(cap, *_prepared(seed, cell, trial)) for cap in caps]
    made = [
        new_job(_learner(seed, cell, trial, permutation), one, cell.feedback, cell.engine, cap, True)
        for cap, one, permutation in trials
    ]
    return in_order(made[0][0].run([job for _, job in made], never)) if made else []


def _moment(cell: Cell, problem: Instance, run: Run, permutation: IntArray, races: bool) -> Moment:
    left = cell.L - len(run.accepted) - len(run.rejected) if races else -1
    right = problem.right(_items(run, permutation))
    return Moment(run.steps, left, run.observations, right, int(right == cell.K))


def _clicks(settings: Settings, cell: Cell, trial: int, run: Run) -> float:
    """Return the expected clicks of a run, given its observations; observations after the end of a page have none."""
    made, _ = _prepared(settings.seed, cell, trial)
    return float(made.weights @ np.array(run.counts)) if run.counts else float("nan")


def run_trial(seed: int, cell: Cell, trial: int) -> tuple[Run, tuple[int, ...]]:
    """Run one trial; its result depends on neither the time nor the machine.

    Returns:
        the run, whose items are numbered in the order in which the learner met them, and the items found as indices
        into `cell.weights`.
    """
    made, permutation = _prepared(seed, cell, trial)
    make = partial(_learner, seed, cell, trial, permutation)
    run = simulate(
        make, made, feedback=cell.feedback, engine=cell.engine, max_steps=cell.most_steps, answers=cell.answers
    )
    return run, _items(run, permutation)


def _learner(seed: int, cell: Cell, trial: int, permutation: IntArray) -> Learner:
    return cell.build(partial(_learner_generator, seed, cell.path_id, trial), permutation.tolist())


def _prepared(seed: int, cell: Cell, trial: int) -> tuple[Trial, IntArray]:
    """Return the trial, and which item of the cell is in each of its places."""
    rng = trial_generator(seed, cell.rewards_id, trial)
    permutation = rng.permutation(cell.L) if cell.order == "random" else np.arange(cell.L)
    return Trial(cell.weights[permutation], rng, cell.rewards, cell.paired), permutation


def _items(run: Run, permutation: IntArray) -> tuple[int, ...]:
    return tuple(permutation[list(run.recommendation)].tolist())
