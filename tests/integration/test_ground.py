"""The ground under a sweep: its directory goes away, is another one, or holds links, pipes and strangers' files."""

import errno
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from sweeps import call, start, sweep, tables, write_config

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.running import runner, worker
from cascadebai_cli.running.watch import SILENT, Follower
from cascadebai_cli.store.files import only_writer
from cascadebai_cli.study import cells


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


def after_trial(number: int, do, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something happen to the directory in the middle of a sweep."""
    real, calls = worker._prepared, []

    def prepared(*arguments):
        calls.append(1)
        if len(calls) == number:
            do()
        return real(*arguments)

    monkeypatch.setattr(worker, "_prepared", prepared)


# The directory under the path


def removed(out: Path) -> None:
    shutil.rmtree(out)


def moved(out: Path) -> None:
    out.rename(out.with_name("elsewhere"))


def replaced(out: Path) -> None:
    out.rename(out.with_name("elsewhere"))
    shutil.copytree(out.with_name("other"), out)


@pytest.mark.parametrize("happens", [removed, moved, replaced])
def test_a_sweep_stops_with_a_true_sentence_when_its_directory_is_another_one(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happens
) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    assert sweep(config, other, "--seed", 9).code == 0
    after_trial(5, lambda: happens(out), monkeypatch)
    code, _, said = sweep(config, out)
    assert code == 1
    assert "is not the directory any more that this sweep wrote to" in said
    assert "kept" not in said
    if happens is replaced:
        assert tables(out) == tables(other)
        assert (out / "manifest.json").read_bytes() == (other / "manifest.json").read_bytes()
    else:
        assert not out.exists()


def test_the_sweep_that_comes_after_is_not_disturbed(tmp_path: Path) -> None:
    long = write_config(tmp_path, trials=3000)
    out = tmp_path / "out"
    first = start("sweep", long, "--out", out, "--n-jobs", 1)
    end = time.monotonic() + 60
    while not (out / "trials.journal").exists() or not (out / "trials.journal").stat().st_size:
        assert time.monotonic() < end
        time.sleep(0.01)
    shutil.rmtree(out)
    assert sweep(long, out, "--seed", 9, "--trials", 5).code == 0
    before = tables(out)
    _, err = first.communicate(timeout=60)
    assert first.returncode == 1, err
    assert tables(out) == before
    assert sweep(long, out, "--seed", 9, "--trials", 5).code == 0


def test_whoever_holds_a_directory_sees_when_its_lock_is_gone(tmp_path: Path) -> None:
    with only_writer(tmp_path / "out") as held:
        held.check()
        (tmp_path / "out" / ".lock").unlink()
        with pytest.raises(CascadeError, match="not the directory any more"):
            held.check()


# Links, pipes


@pytest.mark.parametrize("name", ["trials.journal", ".lock", "failures.log"])
def test_nothing_is_written_through_a_link(config: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "thesis.tex"
    victim.write_text("a\nlast line without end")
    out = tmp_path / "out"
    assert sweep(config, out, "--trials", 1).code == 0
    (out / name).unlink(missing_ok=True)
    (out / name).symlink_to(victim)
    sweep(config, out)
    assert victim.read_text() == "a\nlast line without end"


@pytest.mark.parametrize("name", ["trials.journal", ".lock", "trials.csv", "summary.csv", "manifest.json"])
def test_a_pipe_in_the_place_of_a_file_is_waited_for_by_nobody(config: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    assert sweep(config, out, "--trials", 1).code == 0
    (out / name).unlink()
    os.mkfifo(out / name)
    for verb in (["fit", out], ["sweep", config, "--out", out, "--backend", "sequential", "--quiet"]):
        assert call(*verb).code in (0, 1, 2)


@pytest.mark.parametrize("name", ["trials.journal", "trials.csv", "summary.csv", "manifest.json"])
@pytest.mark.parametrize("place", ["pipe", "/dev/zero", "/proc/self/mem", "/proc/kmsg"])
def test_a_link_to_what_is_no_file_is_waited_for_by_nobody(config: Path, tmp_path: Path, name: str, place: str) -> None:
    """What stands under `/proc` calls itself regular; nobody opens it."""
    out = tmp_path / "out"
    assert sweep(config, out, "--trials", 1).code == 0
    (out / name).unlink()
    os.mkfifo(tmp_path / "pipe")
    (out / name).symlink_to(tmp_path / place)
    started = time.monotonic()
    for words in (["fit"], ["summary"], ["report", "--out", tmp_path / "page.html"]):
        done = call(*words, out)
        if name != "trials.journal":
            assert done.code == 2
            assert f"{out / name} cannot be read (" in done.err
    assert call("sweep", config, "--out", out, "--backend", "sequential", "--quiet").code in (0, 1, 2)
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("name", ["models.csv", "study.pdf"])
def test_what_verbs_write_into_a_result_directory_takes_the_place_of_a_pipe(tmp_path: Path, name: str) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    config.write_text(config.read_text().replace("K: [1, 2]", "K: [1, 2, 3]"))
    assert sweep(config, out).code == 0
    os.mkfifo(out / name)
    assert call("fit", out).code == call("plot", out).code == 0
    assert (out / name).is_file()


# More steps than can be counted


@pytest.mark.parametrize("more", ["", "max_steps: 1000000000000000000\n"])
@pytest.mark.parametrize("order", ["T", "U"])
def test_more_steps_than_can_be_counted_are_a_failed_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, order: str
) -> None:
    monkeypatch.setattr(cells, "_COUNTABLE", 4000)
    config = write_config(tmp_path, trials=1, extra=more)
    learner = f"learners: [{{name: mine, algorithm: cascadebai, order: {order}}}]\n"
    config.write_text(config.read_text().replace("w_prime: 0.1", "w_prime: 0.8999999999") + learner)
    code, _, err = sweep(config, tmp_path / "out")
    assert code == 1
    assert "failed: CascadeError: no end after 2,000 steps, and more cannot be counted; choose a larger gap" in err
    assert b"capped" not in (tmp_path / "out" / "trials.csv").read_bytes()


def test_a_gap_that_no_count_reaches_is_a_failed_trial(tmp_path: Path) -> None:
    config = tmp_path / "study.yaml"
    config.write_text(
        "seed: 1\ntrials: 1\nL: 4\nK: 2\n"
        "instances: [{name: near, family: two_level, w_star: 1, w_prime: 0.9999999999}]\n"
    )
    code, _, err = call("run", config, "--n-jobs", 1)
    assert code == 1
    assert "no end after 50,000,000,000,000,000 steps" in err


def test_a_cap_that_was_asked_for_is_none(tmp_path: Path) -> None:
    config = write_config(tmp_path, trials=1, extra="max_steps: 10\n")
    assert sweep(config, tmp_path / "out").code == 0
    assert b"capped" in (tmp_path / "out" / "trials.csv").read_bytes()


# What a sweep that was killed left in shared memory


def leftovers(process: int) -> list[str]:
    folders = (Path("/dev/shm"), Path(tempfile.gettempdir()))
    return [path.name for folder in folders for path in folder.glob(f"*[-_]{process}[-_]*")]


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no shared memory that can be looked at")
def test_the_next_sweep_removes_what_a_killed_one_left_and_nothing_else(config: Path, tmp_path: Path) -> None:
    config.write_text(config.read_text().replace("trials: 6", "trials: 400").replace("0.1}", "0.7}"))
    process = start("sweep", config, "--out", tmp_path / "out", "--n-jobs", 2)
    while not leftovers(process.pid):
        time.sleep(0.02)
        assert process.poll() is None
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    left = leftovers(process.pid)
    assert left
    other = Path("/dev/shm") / f"sem.loky-{process.pid}0-test"
    other.touch()
    try:
        assert sweep(config, tmp_path / "elsewhere", "--trials", 1).code == 0
        assert leftovers(process.pid) == left
        assert sweep(config, tmp_path / "out", "--trials", 1).code == 0
        assert leftovers(process.pid) == []
        assert other.exists()
    finally:
        other.unlink()


def test_a_working_directory_that_is_gone_is_named(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()
    done = call("sweep", config, "--out", "x", "--n-jobs", 2)
    assert (done.code, done.err) == (2, "error: the working directory has been removed; change to one that is there\n")


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "disk_usage", lambda place: SimpleNamespace(free=4096))


@pytest.mark.usefixtures("full")
def test_full_shared_memory_is_named_with_the_remedy(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a semaphore joblib takes one process; a later one is an error."""
    sentence = r"^shared memory \(/dev/shm\) is full.* or stay in one process with --n-jobs 1$"
    with pytest.raises(CascadeError, match=sentence), runner._loky(2, Follower(SILENT, [], [])):
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(runner.Backend, "processes", lambda backend: 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    done = call("sweep", config, "--out", tmp_path / "out", "--n-jobs", 2)
    assert done.code == 0
    assert "one process runs all trials; free some, or say --n-jobs 1\n" in done.err
    assert "shared memory" not in call("sweep", config, "--out", tmp_path / "other", "--n-jobs", 1).err


def test_more_cores_to_leave_free_than_there_are_is_said(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")
    told = [call("sweep", config, "--out", tmp_path / str(n), "--n-jobs", n).err for n in (-2, -3)]
    said = "--n-jobs -3 leaves no core of this machine for trials, so that one process runs all of them"
    assert [said in one for one in told] == [False, True]
    assert "leaves no core" not in told[0]


def test_other_errors_of_full_disks_stay_as_they_are() -> None:
    with pytest.raises(OSError, match="No space left"), runner._loky(2, Follower(SILENT, [], [])):
        raise OSError(errno.ENOSPC, "No space left on device")
