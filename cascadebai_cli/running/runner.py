"""Running blocks on all workers, whose results come back as they are done."""

import os
import re
import shlex
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from errno import ENOSPC
from functools import partial
from pathlib import Path
from pickle import PicklingError
from shutil import disk_usage
from typing import Any, Literal

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.model.problem import IntArray
from cascadebai_cli.running.blocks import BlockQueue, refuse_too_large
from cascadebai_cli.running.cluster import connected, cores, run_tasks
from cascadebai_cli.running.interrupts import interrupts_held, one_interrupt
from cascadebai_cli.running.watch import Follower, Watch, now_and_then
from cascadebai_cli.running.worker import Block, BlockResult, Settings, code_of, run_checked, serve
from cascadebai_cli.study.cells import Cell

# --- Running trials: in this process, on all cores, or on a dask cluster --------------------------------------------


_BackendName = Literal["loky", "dask", "sequential"]

_Work = Callable[[list[Block]], list[BlockResult]]
_TaskRunner = Callable[[_Work, Iterator[list[Block]]], Generator[list[BlockResult], None, None]]


_LISTEN_SECONDS = 1.0
"""Seconds between two checks whether no trial has ended for long."""
_SAFE_PATH = "PYTHONSAFEPATH"
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
        n_jobs: number of processes of `loky`; -1 is one per core, -2 one less.
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
        """Refuse trials that take more memory than this machine has, unless a cluster runs them.

        Raises:
            ConfigError: if they do.
        """
        if self.name != "dask":
            refuse_too_large(cells, numbers, self.processes())

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
        config: file of the study.
        seed: its root seed.
        given: options of the command line that change cells.
        cell, trial: the cell, and the number of the trial.
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
        cells: the cells of the grid.
        numbers: which trials of each cell are run.
        settings: the seed, and whether everything ends at the first block with a trial that raises.
        backend: where the trials run.
        follower: follows the trials.
        sink: keeps the results; without a sink the follower keeps them.

    Raises:
        ConfigError: before anything runs, if the trials need more memory than this machine has.
        CascadeError: if the backend breaks: a worker was killed or has other code, the scheduler cannot be reached.
    """
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
    cells: Sequence[Cell], numbers: Sequence[IntArray], settings: Settings, backend: Backend, follower: Follower
) -> Generator[BlockResult, None, None]:
    work = partial(run_checked, code_of(cells), settings)
    with (
        _task_runner(backend, sum(map(len, numbers)), follower.watch) as (workers, run),
        now_and_then(_LISTEN_SECONDS, follower.listen),
    ):
        queue = BlockQueue(cells, numbers, workers)
        left = True
        while left:
            with closing(run(work, map(follower.hand_out, queue))) as stream:
                for results in stream:
                    for result in results:
                        queue.learn(result)
                    yield from results
            left = queue.deal_again()


@contextmanager
def _task_runner(backend: Backend, trials: int, watch: Watch) -> Iterator[tuple[int, _TaskRunner]]:
    """Yield the number of workers, and a function of the work and the tasks that yields the results."""
    if backend.name == "dask":
        with _dask(backend, watch) as started:
            yield started
        return
    workers = backend.processes()
    if workers == 1 and trials > 1 and backend.wants_several and _shared_memory_is_full():
        watch.warn(f"{_FULL}, so that one process runs all trials; free some, or say --n-jobs 1")
    if workers == 1 or trials == 1:
        yield 1, _in_turn
    else:
        with _loky(workers) as started:
            yield started


def _in_turn(work: _Work, tasks: Iterator[list[Block]]) -> Generator[list[BlockResult], None, None]:
    return (work(blocks) for blocks in tasks)


@contextmanager
def _loky(workers: int) -> Iterator[tuple[int, _TaskRunner]]:
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
                "a worker process was killed, perhaps for want of memory, or ended by a learner of your own; run "
                "the same command again to go on, with a smaller --n-jobs if it happens again"
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
def _dask(backend: Backend, watch: Watch) -> Iterator[tuple[int, _TaskRunner]]:
    address = str(backend.scheduler)
    with connected(address) as client:

        def run(work: _Work, tasks: Iterator[list[Block]]) -> Generator[list[BlockResult], None, None]:
            return run_tasks(client, address, work, tasks, watch.warn)

        yield cores(client), run


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
