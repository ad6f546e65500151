"""Sweeps on a dask cluster: the same bytes, always on its workers, and one sentence whatever becomes of it."""

import shutil
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from sweeps import ROOT, call, environment, finished, refusal, start, sweep, tables, write_config

from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.running import sweep as open_sweep
from cascadebai_cli.running.runner import _BlockQueue
from cascadebai_cli.running.worker import Settings

pytest.importorskip("distributed")

WHERE = """\
import os
from pathlib import Path


class Mine:
    finished = False

    def __init__(self, L, K, delta, epsilon, stops: bool = True):
        self.recommendation, self.stops = tuple(range(K)), stops

    def select(self):
        return [0]

    def observe(self, shown, outcomes):
        if not self.finished:
            Path("pids", str(os.getpid())).touch()
        self.finished = self.stops
"""

STEPPING = """\
max_steps: 200
learners:
  - {name: ordered, algorithm: cascadebai, order: -mean}
  - {name: KL-LUCB++, algorithm: kl-lucb++}
"""


def free_address() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{listener.getsockname()[1]}"


class Cluster:
    """A scheduler and workers, as started by hand in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.address = folder, free_address()
        self.scheduler = self._start("scheduler", "--port", self.address.rpartition(":")[2])
        self.workers: list[subprocess.Popen[bytes]] = []

    def _start(self, *words: str, path: Path = ROOT) -> "subprocess.Popen[bytes]":
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
        return subprocess.Popen(command, env={**environment(), "PYTHONPATH": str(path)}, **quiet)

    def add_worker(self, path: Path = ROOT) -> None:
        self.workers.append(self._start("worker", self.address, "--nthreads", "1", "--no-nanny", path=path))

    def end(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
        for process in [*self.workers, self.scheduler]:
            process.wait(timeout=30)

    def options(self, out: str) -> list[str]:
        return ["--out", str(self.folder / out), "--backend", "dask", "--scheduler", self.address]


@pytest.fixture
def cluster(tmp_path):
    (tmp_path / "pids").mkdir()
    (tmp_path / "where_own.py").write_text(WHERE)
    made = Cluster(tmp_path)
    yield made
    made.end()


def wait_until(true) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_same_bytes(tmp_path, cluster):
    config = write_config(tmp_path)
    assert sweep(config, tmp_path / "expected").code == 0
    cluster.add_worker()
    cluster.add_worker()
    done = finished("sweep", config, *cluster.options("out"))
    assert done.returncode == 0, done.stderr
    assert tables(tmp_path / "out") == tables(tmp_path / "expected")


@pytest.mark.slow
def test_the_same_bytes_of_trials_that_are_paused_again_and_again(tmp_path, cluster, monkeypatch):
    """They come back at once and go on in whichever worker is free."""
    config = write_config(tmp_path, 2, STEPPING)
    assert call("sweep", config, "--out", tmp_path / "expected", "--n-jobs", 2, "--quiet").code == 0
    cluster.add_worker()
    cluster.add_worker()
    paused, learn = [], _BlockQueue.learn
    monkeypatch.setattr(open_sweep, "Settings", partial(Settings, seconds=0))
    monkeypatch.setattr(_BlockQueue, "learn", lambda queue, done: paused.extend(done.paused) or learn(queue, done))
    assert call("sweep", config, *cluster.options("out"), "--quiet").code == 0
    assert {begun.learner.__class__ for begun in paused} == {CascadeBAI, KLLucb}
    assert len(paused) > 40
    assert tables(tmp_path / "out") == tables(tmp_path / "expected")


@pytest.mark.slow
def test_trials_run_on_the_workers_even_if_there_is_but_one_and_code_that_they_hold_is_looked_at(tmp_path, cluster):
    config = write_config(tmp_path, extra="learners: [{name: Mine, algorithm: where_own:Mine}]\n")
    cluster.add_worker()
    done = finished("sweep", config, *cluster.options("out"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "pids").iterdir()] == [str(cluster.workers[0].pid)]
    (tmp_path / "where_own.py").write_text(WHERE + "# changed\n")
    done = finished("sweep", config, *cluster.options("other"), folder=tmp_path)
    assert done.returncode == 1
    assert "error: where_own:Mine: a worker holds other code than the sweep" in done.stderr
    assert "restart the workers" in done.stderr


def test_a_worker_with_other_sources_of_this_package(tmp_path, cluster):
    shutil.copytree(ROOT / "cascadebai_cli", tmp_path / "old" / "cascadebai_cli")
    with (tmp_path / "old" / "cascadebai_cli" / "learners" / "bounds.py").open("a") as file:
        file.write("# changed\n")
    cluster.add_worker(path=tmp_path / "old")
    done = finished("sweep", write_config(tmp_path), *cluster.options("out"))
    assert done.returncode == 1
    assert "error: a worker holds other sources of cascadebai" in done.stderr
    assert done.stderr.count("\n") <= 2


@pytest.mark.slow
def test_a_cluster_that_goes_away(tmp_path, cluster):
    config = write_config(tmp_path, extra="learners: [{name: Mine, algorithm: where_own:Mine, stops: false}]\n")
    cluster.add_worker()
    command = [sys.executable, "-m", "cascadebai_cli", "sweep", str(config), *cluster.options("out"), "--quiet"]
    log = tmp_path / "log"
    with log.open("w") as file:
        process = subprocess.Popen(command, env=environment(), cwd=tmp_path, stdout=file, stderr=file)
        wait_until(lambda: any((tmp_path / "pids").iterdir()))
        cluster.workers[0].kill()
        wait_until(lambda: "error" in log.read_text() or "the cluster has no worker any more" in log.read_text())
        cluster.scheduler.kill()
        assert process.wait(timeout=90) == 1
    lines = [line for line in log.read_text().splitlines() if " of 24 trials" not in line]
    assert [line.split(";")[0] for line in lines] == [
        "the cluster has no worker any more, so nothing runs",
        lines[1].split(";")[0],
    ]
    assert lines[1].startswith(f"error: the scheduler {cluster.address} is gone")


def test_no_scheduler(tmp_path):
    address = free_address()
    impatient = "from cascadebai_cli.running import cluster; cluster.CONNECT_SECONDS = 1; "
    program = impatient + "from cascadebai_cli.cli.app import main; main()"
    words = ["sweep", str(write_config(tmp_path)), "--out", str(tmp_path / "dask"), "--backend", "dask"]
    process = start(words=[sys.executable, "-c", program, *words, "--scheduler", address])
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"error: no dask scheduler answers at {address}" in err


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:8786",
        "tcp://127.0.0.1",
        "localhost",
        "",
        "tcp://:1",
        "tcp://a b:1",
        "ucx://a:1",
        "http://a:80",
        "inproc://a:1",
        "tcp://a:65536",
        "tcp://a:99999",
    ],
)
def test_an_address_that_is_none(tmp_path, address):
    words = ["--out", tmp_path / "out", "--backend", "dask", "--scheduler", address]
    assert "give protocol, host and port of the dask scheduler" in refusal("sweep", write_config(tmp_path), *words)


def test_certificates(tmp_path):
    words = ["--out", tmp_path / "out", "--backend", "dask", "--scheduler", "tls://127.0.0.1:1"]
    assert "tls:// needs certificates" in refusal("sweep", write_config(tmp_path), *words)
