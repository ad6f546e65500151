"""Running blocks on all workers, whose results come back as they are done."""

import os
import re
import shlex
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from errno import ENOSPC
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from pickle import PicklingError
from shutil import disk_usage
from typing import Any, Literal, NamedTuple

import numpy as np

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.model.problem import IntArray
from cascadebai_cli.running.cluster import on_cluster
from cascadebai_cli.running.interrupts import interrupts_held, one_interrupt
from cascadebai_cli.running.watch import Follower, now_and_then
from cascadebai_cli.running.worker import (
    Begun,
    Block,
    BlockResult,
    Settings,
    serve,
    work_on,
)
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.kinds import AXES

# --- Refusing trials for which this machine has too little memory ---------------------------------------------------

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where a container says how much of the machine it may have."""
_GB = 10**9


def _machine_memory() -> int | None:
    """Return the bytes of memory that this machine or its container has; `None` if it does not say."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    return min([there, *(int(text) for text in map(_read, _LIMITS) if text.isdigit())])


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _gb(value: int) -> str:
    return f"{value / _GB:.1f} GB"


# --- Cutting a sweep into tasks: about a second of work each, or as many trials as run well side by side ------------

_Place = tuple[int, int]
"""Position of a cell, and number of a trial."""

_TASK_SECONDS = 1.0
_LARGEST_TASK = 20_000
"""Largest number of trials of a task, whose rows the worker holds back until the end."""
_FEWEST_ROWS, _FEW_HANDS = 64, 4
"""Trials side by side cost little more than one of them, so a round is dealt to few workers or in hands of so many."""


class _BlockQueue:
    """An iterator of tasks: lists of blocks of trials.

    Trials that run one after the other come first, those of the hardest cells before others. Their tasks are sized by
    the time that the latest trials of the same instance and learner took; the first task of an instance and learner is
    a single trial. Towards the end tasks get smaller, so that all workers end together. Then come, in the same order,
    trials that run faster side by side; those that come back paused are dealt out again once all tasks are done.
    """

    def __init__(self, cells: Sequence[Cell], missing: Sequence[IntArray], workers: int) -> None:
        self.workers = workers
        self._groups = [(cell.instance, cell.learner) for cell in cells]
        self._cells, self._missing = cells, missing
        to_run = [index for index, trials in enumerate(missing) if len(trials)]
        to_run.sort(key=lambda index: -cells[index].guessed_steps)
        together = [index for index in to_run if cells[index].side_by_side]
        known = set(together)
        self._open = [index for index in to_run if index not in known][::-1]
        self.left = sum(len(missing[index]) for index in self._open)
        self._next = 0
        self._pace: dict[tuple[str, str], float] = {}
        self._begun: dict[_Place, Begun] = {}
        self._side_by_side = _dealt(cells, missing, together, workers, {})

    def learn(self, result: BlockResult) -> None:
        """Take in how long the trials of a block took, and which were paused."""
        self._begun |= {(result.position, begun.trial): begun for begun in result.paused}
        if result.finished:
            seconds = sum(row.seconds for row in result.finished)
            self._pace[self._groups[result.position]] = seconds / len(result.finished)

    def deal_again(self) -> bool:
        """Deal out the paused trials, and return whether there are any."""
        begun, self._begun = self._begun, {}
        trials = {
            index: np.array([trial for _, trial in some]) for index, some in groupby(sorted(begun), itemgetter(0))
        }
        self._side_by_side = _dealt(self._cells, trials, list(trials), self.workers, begun)
        return bool(begun)

    def __iter__(self) -> Iterator[list[Block]]:
        return self

    def __next__(self) -> list[Block]:
        blocks: list[Block] = []
        room = min(_LARGEST_TASK, -(-self.left // (2 * self.workers)))
        seconds = _TASK_SECONDS
        while room > 0 and (size := self._size(seconds, first=not blocks)) > 0:
            blocks.append(self._take(min(size, room)))
            room -= len(blocks[-1].trials)
            seconds -= len(blocks[-1].trials) * self._pace.get(self._groups[blocks[-1].position], seconds)
        return blocks or next(self._side_by_side)

    def _size(self, seconds: float, first: bool) -> int:
        """Return how many trials of the next open cell fit into `seconds`; at least one if the task is still empty."""
        if not self._open:
            return 0
        pace = self._pace.get(self._groups[self._open[-1]])
        fitting = 0 if pace is None else min(_LARGEST_TASK, int(seconds / max(pace, 1e-9)))
        return max(fitting, 1) if first else max(fitting, 0)

    def _take(self, size: int) -> Block:
        index = self._open[-1]
        trials = self._missing[index][self._next : self._next + size]
        self._next += len(trials)
        self.left -= len(trials)
        if self._next >= len(self._missing[index]):
            self._open.pop()
            self._next = 0
        twice = self._cells[index].is_own and trials[0] == self._missing[index][0]
        return _block(self._cells, index, trials)._replace(twice=bool(twice))


def _block(cells: Sequence[Cell], index: int, trials: Sequence[int] | IntArray) -> Block:
    return Block(replace(cells[index], items=()), index, tuple(map(int, trials)))


def _dealt(
    cells: Sequence[Cell],
    missing: Sequence[IntArray] | Mapping[int, IntArray],
    together: Sequence[int],
    workers: int,
    begun: Mapping[_Place, Begun],
) -> Iterator[list[Block]]:
    """Yield tasks of as many trials as their engine runs best side by side, dealt out evenly to the workers.

    A task takes as long as its longest trial, so every worker gets its share of each cell, unless there are so many
    workers that the shares would be small.
    """
    groups: dict[_Kind, list[int]] = {}
    for index in together:
        groups.setdefault(_kind(cells[index]), []).append(index)
    for kind, group in groups.items():
        paths = _paths(cells, missing, group)
        most = cells[group[0]].ran_by.block(kind.L)
        rounds = -(-len(paths) // (most * workers))
        size = -(-len(paths) // rounds)
        rank = {index: i for i, index in enumerate(group)}
        hands = min(workers, max(_FEW_HANDS, -(-size // min(_FEWEST_ROWS, most))))
        for start in range(0, len(paths), size):
            for worker in range(hands):
                if hand := paths[start + worker : start + size : hands]:
                    places = sorted(chain(*hand), key=lambda place: rank[place[0]])
                    yield [_block_of(cells, list(mine), begun) for _, mine in groupby(places, key=lambda pair: pair[0])]


def _paths(
    cells: Sequence[Cell], missing: Sequence[IntArray] | Mapping[int, IntArray], group: Sequence[int]
) -> list[list[_Place]]:
    """Return the trials of a group of cells; those asked at several budgets of the same run are together."""
    paths: dict[tuple[str, int], list[_Place]] = {}
    for index in group:
        for trial in missing[index].tolist():
            paths.setdefault((cells[index].path_id, trial), []).append((index, trial))
    return list(paths.values())


def _block_of(cells: Sequence[Cell], places: Sequence[_Place], begun: Mapping[_Place, Begun]) -> Block:
    """Return the block of some trials of one cell."""
    block = _block(cells, places[0][0], [trial for _, trial in places])
    return block._replace(begun=tuple(begun[place] for place in places if place in begun))


class _Kind(NamedTuple):
    """Cells of equal kind run side by side."""

    engine: str
    L: int
    others: tuple[float | str, ...]


def _kind(cell: Cell) -> _Kind:
    """Return the kind of a cell.

    Skip-ahead runs cells with the same bounds side by side, whatever their `K`; lockstep those with the same `K`,
    whatever their bounds.
    """
    bounds = [getattr(cell, name) for name in AXES if name not in ("L", "K")]
    skips = cell.runs_with == "skip-ahead"
    return _Kind(cell.runs_with, cell.L, (cell.learner, *bounds) if skips else (cell.K,))


# --- Running trials: in this process, on all cores, or on a dask cluster --------------------------------------------

_BackendName = Literal["loky", "dask", "sequential"]

_Work = Callable[[list[Block]], list[BlockResult]]
_TaskRunner = Callable[[_Work, Iterator[list[Block]]], Generator[list[BlockResult], None, None]]

_LISTEN_SECONDS = 1.0
"""Seconds between two checks whether no trial has ended for long."""
_SAFE_PATH = "PYTHONSAFEPATH"
_MOST_CORES = "LOKY_MAX_CPU_COUNT"
_SHARED_MEMORY, _LEAST_SHARED = "/dev/shm", 2**17
"""Where processes keep their semaphores, and the bytes that they need there."""
_FULL = f"shared memory ({_SHARED_MEMORY}) is full, which several processes need"
_ADDRESS = re.compile(r"(tcp|tls|wss?)://(\[[^\]/]+\]|[^\s/:]+):(\d{1,5})")
"""Address of a scheduler: protocol, host and port. With another protocol dask's client would wait for half a minute."""
_MOST_JOBS = 1000
"""Largest number of processes of one machine; more, as a mistyped number can ask for, would break joblib."""


@dataclass(frozen=True)
class Backend:
    """Where trials run.

    Args:
        name: `loky` (processes of this machine), `dask` (a cluster) or `sequential` (this process).
        n_jobs: number of processes of `loky`; -1 is one per core, -2 one less, and so on, but at least one.
        scheduler: address of the dask scheduler.

    Raises:
        ConfigError: if the values do not fit together.
    """

    name: _BackendName = "loky"
    n_jobs: int = -1
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.n_jobs == 0:
            raise ConfigError("--n-jobs must not be 0; give 1 or more, or -1 for all cores")
        if (given := os.environ.get(_MOST_CORES)) is not None and not given.strip().isdecimal():
            raise ConfigError(f"the environment variable {_MOST_CORES} is {given!r}; write a whole number")
        if self.n_jobs < -_MOST_JOBS:
            raise ConfigError(
                f"--n-jobs {self.n_jobs}: -1 is one process per core, -2 one less; give a number nearer 0"
            )
        if self.n_jobs > _MOST_JOBS:
            raise ConfigError(f"--n-jobs {self.n_jobs}: more than {_MOST_JOBS} processes; give a smaller number")
        if (self.name == "dask") != (self.scheduler is not None):
            raise ConfigError(
                "--backend dask and --scheduler ADDRESS go together; "
                "for example --backend dask --scheduler tcp://127.0.0.1:8786"
            )
        found = _ADDRESS.fullmatch(self.scheduler or "")
        if self.scheduler is not None and not (found and 0 < int(found[3]) < 2**16):
            raise ConfigError(
                f"--scheduler {self.scheduler}: give protocol, host and port of the dask scheduler, "
                "such as tcp://127.0.0.1:8786; the protocol is tcp, tls, ws or wss"
            )

    def refuse_too_large(self, cells: Sequence[Cell], numbers: Sequence[IntArray]) -> None:
        """Raise `ConfigError` for trials that take more memory than this machine has, unless a cluster runs them."""
        if self.name == "dask" or (there := _machine_memory()) is None:
            return
        workers = self.processes()
        trials = [min(len(some), workers) for some in numbers]
        each = [
            cell.ran_by.memory(cell.L, cell.rewards, cell.most_steps) if number else 0
            for cell, number in zip(cells, trials, strict=True)
        ]
        at_once = -np.sort(-np.repeat(np.array(each, np.int64), trials))[:workers]
        if int(at_once.sum()) <= there:
            return
        together = f", {len(at_once)} at once {_gb(int(at_once.sum()))}" if len(at_once) > 1 else ""
        fewer = ", or a smaller --n-jobs" if len(at_once) > 1 else ""
        raise ConfigError(
            f"{cells[int(np.argmax(each))].label}: a trial takes about {_gb(max(each))} of memory{together}, but this "
            f"machine has {_gb(there)}; choose fewer items{fewer}"
        )

    @property
    def wants_several(self) -> bool:
        """Whether several processes of this machine are asked for."""
        return self.name == "loky" and self.n_jobs != 1 and (os.cpu_count() or 1) > 1

    def processes(self) -> int:
        """Return how many processes of this machine run trials."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*joblib will operate in serial mode")  # said in our own words
            from joblib import effective_n_jobs

        return 1 if self.name == "sequential" else int(effective_n_jobs(self.n_jobs))


def repeat_command(config: Path, seed: int, given: Sequence[str], cell: Cell, trial: int) -> str:
    """Return the command that runs exactly this trial.

    Args:
        given: options of the command line that change cells.
    """
    words = ["cascadebai", "run", str(config), "--cell", cell.cell_id, *given]
    return shlex.join([*words, "--trial", str(trial), "--seed", str(seed)])


def collect(
    cells: Sequence[Cell],
    numbers: Sequence[IntArray],
    settings: Settings,
    backend: Backend,
    follower: Follower,
    sink: Callable[[BlockResult], None] | None = None,
) -> None:
    """Run trials; the results of each finished block go to the sink and then to the follower, in any order.

    Args:
        numbers: which trials of each cell are run.
        settings: the seed, and whether everything ends at the first block with a trial that raises.
        sink: keeps the results; without a sink the follower keeps them.

    Raises:
        ConfigError: before anything runs, if the trials need more memory than this machine has.
        CascadeError: if the backend breaks: a worker was killed or has other code, the scheduler cannot be reached.
    """
    if settings.timeout is not None and backend.name == "dask":
        raise ConfigError("--trial-timeout needs processes of this machine; leave it or --backend dask out")
    backend.refuse_too_large(cells, numbers)
    sink = sink or follower.keep
    with one_interrupt(), closing(_results(cells, numbers, settings, backend, follower)) as results:
        for result in results:
            sink(result)
            follower.update(result)
            if settings.fail_fast and result.failed:
                break
    for rows in follower.rows:
        rows.sort()


def _results(
    cells: Sequence[Cell],
    numbers: Sequence[IntArray],
    settings: Settings,
    backend: Backend,
    follower: Follower,
) -> Generator[BlockResult, None, None]:
    work = work_on(cells, settings)
    with (
        _task_runner(backend, sum(map(len, numbers)), follower) as (workers, run),
        now_and_then(_LISTEN_SECONDS, follower.listen),
    ):
        queue = _BlockQueue(cells, numbers, workers)
        left = True
        while left:
            with closing(run(work, map(follower.hand_out, queue))) as stream:
                for results in stream:
                    for result in results:
                        queue.learn(result)
                    yield from results
            left = queue.deal_again()


@contextmanager
def _task_runner(backend: Backend, trials: int, follower: Follower) -> Iterator[tuple[int, _TaskRunner]]:
    """Yield the number of workers, and a function of the work and the tasks that yields the results."""
    if backend.name == "dask":
        with on_cluster(str(backend.scheduler), follower.watch.warn) as started:
            yield started
        return
    workers = backend.processes()
    if workers == 1 and trials > 1 and backend.wants_several and _shared_memory_is_full():
        follower.watch.warn(f"{_FULL}, so that one process runs all trials; free some, or say --n-jobs 1")
    elif workers == 1 < trials and backend.wants_several and -backend.n_jobs > replace(backend, n_jobs=-1).processes():
        said = f"--n-jobs {backend.n_jobs} leaves no core of this machine for trials"
        follower.watch.warn(f"{said}, so that one process runs all of them; -1 is one per core")
    if workers == 1 or trials == 1:
        yield 1, _in_turn
    else:
        with _loky(workers, follower) as started:
            yield started


def _in_turn(work: _Work, tasks: Iterator[list[Block]]) -> Generator[list[BlockResult], None, None]:
    return (work(blocks) for blocks in tasks)


@contextmanager
def _loky(workers: int, follower: Follower) -> Iterator[tuple[int, _TaskRunner]]:
    from joblib import parallel_config
    from joblib.externals.loky.process_executor import BrokenProcessPool

    with (
        warnings.catch_warnings(),
        _safe_path(),
        parallel_config(
            backend="loky", n_jobs=workers, inner_max_num_threads=1, initializer=serve, initargs=(os.getpid(),)
        ),
    ):
        # loky replaces a worker that has grown by some hundred megabytes, as large blocks make it; nothing is lost
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given to the executor")
        try:
            yield workers, _unordered
        except BrokenProcessPool as error:
            raise CascadeError(
                "a worker process was killed, perhaps for want of memory, or ended by a learner of your own; in work: "
                f"{follower.in_work()}; run the same command again to go on, with a smaller --n-jobs if it recurs"
            ) from error
        except PicklingError as error:
            raise CascadeError(
                "a learner uses something that other processes cannot get, such as a lock or an open file; make that "
                "in its constructor, or stay in one process with --n-jobs 1"
            ) from error
        except OSError as error:
            if error.errno != ENOSPC or not _shared_memory_is_full():
                raise
            raise CascadeError(f"{_FULL}; free some, or stay in one process with --n-jobs 1") from error


def _shared_memory_is_full() -> bool:
    try:
        return disk_usage(_SHARED_MEMORY).free < _LEAST_SHARED
    except OSError:
        return False


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep files of the working directory, such as a `random.py`, from replacing Python's modules in the workers."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def _unordered(work: _Work, tasks: Iterator[list[Block]]) -> Generator[list[BlockResult], None, None]:
    """Yield results as they arrive; closing this generator stops what is still running."""
    from multiprocessing import resource_tracker

    from joblib import Parallel, delayed

    resource_tracker.ensure_running()  # its start lets interrupts in again, so that it must not happen below
    with ExitStack() as stack:
        with interrupts_held():
            results = Parallel(return_as="generator_unordered", batch_size=1)(delayed(work)(blocks) for blocks in tasks)
            stack.callback(_close, results)
        for result in results:  # noqa: UP028  # `yield from` would close `results` before we can quieten it
            yield result


def _close(results: Generator[Any, None, None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results.close()
