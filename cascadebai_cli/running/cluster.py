"""Tasks on a dask cluster. They always run on its workers; workers that join later get their share."""

import logging
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from typing import Any

from cascadebai_cli.errors import CascadeError, ConfigError

_Results = Generator[Any, None, None]

_CONNECT_SECONDS = 10
_LOOK_SECONDS = 5.0
"""Seconds between two checks that the cluster is still there, while no task ends."""
_AHEAD = 2
"""Tasks per core that are sent out, so that no worker waits for its next one."""


@contextmanager
def on_cluster(address: str, tell: Callable[[str], None]) -> Iterator[tuple[int, Callable[..., _Results]]]:
    """Yield the number of cores of a cluster, and a function of the work and the tasks that yields the results.

    The work is a function that the workers import and call with each task. Tasks are taken from their iterator as there
    is room for them; results come in any order. Closing the generator of the results stops what is still running.

    Args:
        tell: receives a sentence if all workers are gone.

    Raises:
        ConfigError: if the address needs certificates that are not set up.
        CascadeError: if no scheduler answers, it has no worker, or it is gone; if workers die of a task, or cannot load
            it.
    """
    with _connected(address) as client:
        yield _cores(client), partial(_run_tasks, client, address, tell)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Yield a client of the cluster, which has at least one worker."""
    try:
        import distributed
    except ImportError:
        raise CascadeError("--backend dask needs dask: pip install 'cascadebai[dask]'") from None
    make: Any = distributed
    if address.startswith("tls:") and not make.Security().get_connection_args("client")["ssl_context"]:
        raise ConfigError(
            f"--scheduler {address}: tls:// needs certificates; name them in dask's configuration under "
            "distributed.comm.tls, or use tcp://"
        )
    _hush()
    try:
        client = make.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise CascadeError(
            f"no dask scheduler answers at {address} ({type(error).__name__}); start one with: dask scheduler"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except TimeoutError as error:
            raise CascadeError(
                f"the scheduler {address} has no worker; start some with: dask worker {address}"
            ) from error
        yield client


def _hush() -> None:
    """Silence the hundreds of lines that dask logs when a cluster goes away; one sentence of ours says the same."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _cores(client: Any) -> int:
    """Return the number of cores of all workers."""
    return sum(client.ncores().values())


def _run_tasks(
    client: Any, address: str, tell: Callable[[str], None], work: Callable[[Any], Any], tasks: Iterator[Any]
) -> _Results:
    running: set[Any] = set()
    try:
        while True:
            running |= _sent(client, work, tasks, _AHEAD * max(1, _cores(client)) - len(running))
            if not running:
                return
            done = _finished(client, address, running, tell)
            running -= done
            for future in done:
                yield _result(future)
    except (CancelledError, OSError, TimeoutError) as error:
        raise CascadeError(
            f"the scheduler {address} is gone ({type(error).__name__}); start it and its workers again, "
            "then the same command goes on with what is missing"
        ) from error
    finally:
        if client.status == "running":
            client.cancel(list(running), force=True)


def _sent(client: Any, work: Callable[[Any], Any], tasks: Iterator[Any], room: int) -> set[Any]:
    sent = set()
    for _ in range(room):
        task = next(tasks, None)
        if task is None:
            break
        sent.add(client.submit(work, task, pure=False))
    return sent


def _finished(client: Any, address: str, running: set[Any], tell: Callable[[str], None]) -> set[Any]:
    """Wait until a task has ended, and return those that have."""
    from distributed import wait

    wait_for: Any = wait
    told = False
    while True:
        try:
            with client.as_current():
                return set(wait_for(running, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            if client.status != "running":
                raise
        if not told and _cores(client) == 0:
            tell(f"the cluster has no worker any more, so nothing runs; start some with: dask worker {address}")
            told = True


def _result(future: Any) -> Any:
    from distributed import KilledWorker

    try:
        return future.result()
    except (CascadeError, CancelledError):
        raise
    except KilledWorker as error:
        raise CascadeError(
            "several workers died of the same trials, perhaps for want of memory; give them more of it, then the same "
            "command goes on with what is missing"
        ) from error
    except Exception as error:
        raise CascadeError(
            f"a worker could not run a task ({type(error).__name__}: {error}); install the same cascadebai on all "
            "machines and restart the workers"
        ) from error
