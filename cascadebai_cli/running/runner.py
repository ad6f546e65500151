"""Blocks are run on all workers, and their results come back as they are done."""

import os
import re
import shlex
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pickle import PicklingError
from typing import Any, Literal, Protocol

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.model.problem import IntArray
from cascadebai_cli.running.blocks import BlockQueue, Patience, refuse_too_large
from cascadebai_cli.running.cluster import connected, cores, run_tasks
from cascadebai_cli.running.interrupts import interrupts_held
from cascadebai_cli.running.watch import Watch
from cascadebai_cli.running.worker import Block, BlockResult, Settings, code_of, enter, run_checked
from cascadebai_cli.store.files import open_to_write, writing_to
from cascadebai_cli.study.cells import Cell

# --- Running the missing trials of a sweep: in this process, on all cores, or on a dask cluster ---------------------


BackendName = Literal["loky", "dask", "sequential"]

Work = Callable[[list[Block]], list[BlockResult]]
TaskRunner = Callable[[Work, Iterator[list[Block]]], Generator[list[BlockResult], None, None]]


class Listener(Protocol):
    """Takes sentences, from any thread: what must be known, and what may be."""

    def warn(self, text: str) -> None:
        """What must be known."""

    def remark(self, text: str) -> None:
        """What may be of interest."""


class _Deaf:
    def warn(self, text: str) -> None:
        pass

    remark = warn


DEAF = _Deaf()

SAFE_PATH = "PYTHONSAFEPATH"
ADDRESS = re.compile(r"[a-z]+://(\[[^\]/]+\]|[^\s/:]+):[0-9]{1,5}")
"""Of a scheduler: protocol, host and port."""
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
        if self.scheduler is not None and not ADDRESS.fullmatch(self.scheduler):
            raise ConfigError(
                f"--scheduler {self.scheduler}: give protocol, host and port of the dask scheduler, "
                "such as tcp://127.0.0.1:8786"
            )


def run_missing(
    cells: Sequence[Cell],
    missing: Sequence[IntArray],
    settings: Settings,
    backend: Backend,
    listener: Listener = DEAF,
) -> Generator[BlockResult, None, None]:
    """Run trials and yield the results of blocks as they are done, in any order.

    Args:
        cells: the cells of the grid.
        missing: trials to run of each cell.
        settings: seed and what to do about failures.
        backend: where to run them.
        listener: is told when nothing ends for long.

    Raises:
        ConfigError: at once, if the trials need more memory than this machine has, unless a cluster runs them.
        CascadeError: if the backend breaks: a worker was killed or has other code, the scheduler cannot be reached.
    """
    if backend.name != "dask":
        refuse_too_large(cells, missing, _processes(backend))
    return _run_missing(cells, missing, settings, backend, listener)


def _run_missing(
    cells: Sequence[Cell], missing: Sequence[IntArray], settings: Settings, backend: Backend, listener: Listener
) -> Generator[BlockResult, None, None]:
    work = partial(run_checked, code_of(cells), settings)
    with (
        _task_runner(backend, sum(map(len, missing)), listener) as (workers, run),
        Patience(cells, listener.remark) as patience,
    ):
        queue = BlockQueue(cells, missing, workers)
        left = True
        while left:
            with closing(run(work, patience.hand_out(queue))) as stream:
                for results in stream:
                    for result in results:
                        queue.learn(result)
                        patience.take_back(result)
                    yield from results
            left = queue.deal_again()


@contextmanager
def _task_runner(backend: Backend, trials: int, listener: Listener) -> Iterator[tuple[int, TaskRunner]]:
    """Number of workers, and a function of the work and the tasks that yields the results."""
    if backend.name == "dask":
        with _dask(backend, listener) as started:
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


def _in_turn(work: Work, tasks: Iterator[list[Block]]) -> Generator[list[BlockResult], None, None]:
    return (work(blocks) for blocks in tasks)


@contextmanager
def _loky(workers: int) -> Iterator[tuple[int, TaskRunner]]:
    from joblib import parallel_config
    from joblib.externals.loky.process_executor import BrokenProcessPool

    with (
        warnings.catch_warnings(),
        _safe_path(),
        parallel_config(
            backend="loky", n_jobs=workers, inner_max_num_threads=1, initializer=enter, initargs=(os.getpid(),)
        ),
    ):
        # loky replaces a worker that has grown by some hundred megabytes, which large blocks do; nothing is lost by it
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given to the executor")
        try:
            yield workers, _unordered
        except BrokenProcessPool as error:
            raise CascadeError(
                "a worker process was killed, perhaps for want of memory; run the same command again to go on, "
                "with a smaller --n-jobs if it happens again"
            ) from error
        except PicklingError as error:
            raise CascadeError(
                "a learner uses something that other processes cannot get, such as a lock or an open file; make that "
                "in its constructor, or stay in one process with --n-jobs 1"
            ) from error


@contextmanager
def _dask(backend: Backend, listener: Listener) -> Iterator[tuple[int, TaskRunner]]:
    address = str(backend.scheduler)
    with connected(address) as client:

        def run(work: Work, tasks: Iterator[list[Block]]) -> Generator[list[BlockResult], None, None]:
            return run_tasks(client, address, work, tasks, listener.warn)

        yield cores(client), run


@contextmanager
def _safe_path() -> Iterator[None]:
    """A `random.py` where the command is started must not take the place of Python's own in the workers."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


def _unordered(work: Work, tasks: Iterator[list[Block]]) -> Generator[list[BlockResult], None, None]:
    """Results as they arrive. Closing this generator stops what is still running."""
    from multiprocessing import resource_tracker

    from joblib import Parallel, delayed

    resource_tracker.ensure_running()  # starting it lets interrupts in again, so it must not start below
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


# --- Telling about trials that raised, so that each can be repeated -------------------------------------------------


MOST_SHOWN = 10


@dataclass(frozen=True)
class Repeat:
    """How a trial of a study is run again.

    Args:
        config: file of the study.
        seed: root seed.
        given: on the command line, as far as it changes cells.
    """

    config: Path
    seed: int
    given: Sequence[str] = ()

    def command(self, cell: Cell, trial: int) -> str:
        """The command that runs exactly this trial."""
        words = ["cascadebai", "run", str(self.config), "--cell", cell.cell_id, *self.given]
        return shlex.join([*words, "--trial", str(trial), "--seed", str(self.seed)])


class Failures:
    """Counts failed trials; tells about the first ones and keeps where all came from.

    Args:
        cells: cells of the grid.
        watch: is warned.
        repeat: how a trial is repeated; none if there is no command that does.
        log: file for the tracebacks, none by default.
    """

    def __init__(
        self, cells: Sequence[Cell], watch: Watch, repeat: Repeat | None = None, log: Path | None = None
    ) -> None:
        self.cells, self.watch, self.repeat, self.log = cells, watch, repeat, log
        self.count = 0

    def clear(self) -> None:
        """Forget the failures of an earlier sweep: their trials run again."""
        if self.log is not None:
            self.log.unlink(missing_ok=True)

    def update(self, result: BlockResult) -> None:
        """Take in the failures of a block."""
        cell = self.cells[result.position]
        for failed in result.failed:
            self.count += 1
            text = f"trial {failed.trial} of {cell.label} (cell {cell.cell_id}) failed: {failed.error}"
            text += f"; repeat it with: {self.repeat.command(cell, failed.trial)}" if self.repeat else ""
            if self.count <= MOST_SHOWN:
                self.watch.warn(text)
            self._keep(f"{text}\n{failed.trace}\n")

    def _keep(self, text: str) -> None:
        if self.log is not None:
            with writing_to(self.log), os.fdopen(open_to_write(self.log, os.O_APPEND), "ab") as file:
                file.write(text.encode(errors="backslashreplace"))

    def conclude(self) -> None:
        """Say how many there were, if any."""
        if self.count:
            where = f"; all of them with their tracebacks: {self.log}" if self.log else ""
            self.watch.warn(f"{self.count} trial{'s' * (self.count > 1)} failed{where}")
