"""Running the missing trials of a sweep: in this process, on all cores, or on a dask cluster."""

import os
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.model.instance import IntArray
from cascadebai_cli.running.blocks import BlockQueue
from cascadebai_cli.running.interrupts import interrupts_held
from cascadebai_cli.running.worker import BlockResult, Settings, enter, run_blocks
from cascadebai_cli.study.cells import Cell

BackendName = Literal["loky", "dask", "sequential"]

CONNECT_SECONDS = 10
MOST_JOBS = 1000
"""Processes of one machine; joblib fails, or the machine does, long before the numbers that a slip can make."""


@dataclass(frozen=True)
class Backend:
    """Where trials run.

    Args:
        name: `loky` (processes of this machine), `dask` (a cluster) or `sequential` (this process).
        n_jobs: number of processes of `loky`; -1 is one a core, -2 one less.
        scheduler: address of the dask scheduler.

    Raises:
        ConfigError: if the values do not fit together.
    """

    name: BackendName = "loky"
    n_jobs: int = -1
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.n_jobs == 0:
            raise ConfigError("--n-jobs 0: nobody would work; give a number from 1, or -1 for all cores")
        if self.n_jobs > MOST_JOBS:
            raise ConfigError(f"--n-jobs {self.n_jobs}: more than {MOST_JOBS} processes; give a smaller number")
        if (self.name == "dask") != (self.scheduler is not None):
            raise ConfigError(
                "--backend dask and --scheduler ADDRESS go together; "
                "for example --backend dask --scheduler tcp://127.0.0.1:8786"
            )


def run_missing(
    cells: Sequence[Cell], missing: Sequence[IntArray], settings: Settings, backend: Backend
) -> Generator[BlockResult, None, None]:
    """Run trials and yield the results of blocks as they are done, in any order.

    Args:
        cells: the cells of the grid.
        missing: trials to run of each cell.
        settings: seed and what to do about failures.
        backend: where to run them.

    Raises:
        CascadeError: if the backend breaks: a worker was killed, the scheduler cannot be reached.
    """
    with _task_runner(backend, sum(map(len, missing))) as (workers, run):
        queue = BlockQueue(cells, missing, workers)
        with closing(run(settings, queue)) as stream:
            for results in stream:
                for result in results:
                    queue.learn(result)
                yield from results


@contextmanager
def _task_runner(backend: Backend, trials: int) -> Iterator[tuple[int, Any]]:
    """Number of workers, and a function of the settings and a queue that yields the results of its tasks."""
    if backend.name == "dask":
        with _dask(backend) as started:
            yield started
        return
    workers = _processes(backend)
    if workers == 1 or trials == 1:
        yield 1, _in_turn
    else:
        with _loky(workers) as started:
            yield started


def _processes(backend: Backend) -> int:
    from joblib import effective_n_jobs

    return 1 if backend.name == "sequential" else int(effective_n_jobs(backend.n_jobs))


def _in_turn(settings: Settings, queue: BlockQueue) -> Iterator[list[BlockResult]]:
    return (run_blocks(settings, blocks) for blocks in queue)


@contextmanager
def _loky(workers: int) -> Iterator[tuple[int, Any]]:
    from joblib import parallel_config
    from joblib.externals.loky.process_executor import BrokenProcessPool

    # loky replaces a worker that has grown by some hundred megabytes, which large blocks do; nothing is lost by it
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given to the executor")
    with parallel_config(
        backend="loky", n_jobs=workers, inner_max_num_threads=1, initializer=enter, initargs=(os.getpid(),)
    ):
        try:
            yield workers, _unordered
        except BrokenProcessPool as error:
            raise CascadeError(
                "a worker process was killed, perhaps for want of memory; run the same command again to go on, "
                "with a smaller --n-jobs if it happens again"
            ) from error


@contextmanager
def _dask(backend: Backend) -> Iterator[tuple[int, Any]]:
    from joblib import parallel_config

    with _client(backend) as client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise CascadeError(
                f"the scheduler {backend.scheduler} has no worker; start some with: dask worker {backend.scheduler}"
            ) from error
        with parallel_config(backend="dask", client=client):
            yield sum(client.ncores().values()), _unordered


@contextmanager
def _client(backend: Backend) -> Iterator[Any]:
    try:
        import distributed
    except ImportError:
        raise CascadeError("--backend dask needs dask: pip install 'cascadebai[dask]'") from None
    make_client: Any = distributed.Client
    try:
        client = make_client(backend.scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise CascadeError(
            f"no dask scheduler answers at {backend.scheduler} ({type(error).__name__}); start one with: dask scheduler"
        ) from error
    with client:
        yield client


def _unordered(settings: Settings, queue: BlockQueue) -> Iterator[list[BlockResult]]:
    """Results as they arrive. Closing this generator stops what is still running."""
    from multiprocessing import resource_tracker

    from joblib import Parallel, delayed

    resource_tracker.ensure_running()  # starting it lets interrupts in again, so it must not start below
    with ExitStack() as stack:
        with interrupts_held():
            results = Parallel(return_as="generator_unordered", batch_size=1)(
                delayed(run_blocks)(settings, blocks) for blocks in queue
            )
            stack.callback(_close, results)
        for result in results:  # noqa: UP028  # `yield from` would close `results` before we can quieten it
            yield result


def _close(results: Generator[Any, None, None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results.close()
