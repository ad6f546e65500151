"""Sweeps end with the same bytes whatever happens on the way."""

import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest
from cases import mostly_slow
from sweeps import call, finished, refusal, start, sweep, tables, write_config

import cascadebai_cli as cb
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.running import worker
from cascadebai_cli.store.journal import Stored
from cascadebai_cli.store.manifest import Earlier
from cascadebai_cli.store.trials import summary_text
from cascadebai_cli.workflows.sweep import Request

LONG = """\
seed: 5
trials: 100
L: 8
K: [2, 3]
delta: 0.1
engine: reference
instances:
  - {name: near, family: two_level, w_star: 0.9, w_prime: 0.1}
"""
"""A few seconds of work in many tasks: the engine of the others would be done once the first rows are there."""


@pytest.fixture
def expected(config, tmp_path):
    assert sweep(config, tmp_path / "expected").code == 0
    return tables(tmp_path / "expected")


def rows_of(directory: Path) -> set[tuple[str, int, int, int]]:
    stored = Stored.read(directory)
    assert stored.damaged == 0
    return {
        (stored.cell_ids[row["cell"]], int(row["trial"]), int(row["steps"]), int(row["observations"]))
        for row in stored.rows
    }


# The same bytes


def test_number_of_processes_does_not_matter(config, tmp_path, expected):
    for jobs in (1, 2, 4):
        assert call("sweep", config, "--out", tmp_path / str(jobs), "--n-jobs", jobs, "--quiet").code == 0
        assert tables(tmp_path / str(jobs)) == expected


OPENS = """
import sys
from collections import Counter
from cascadebai_cli.cli.app import main

opened = Counter()
sys.addaudithook(lambda event, args: event == "open" and opened.update([str(args[0]).rpartition("/")[2]]))
try:
    main(sys.argv[1:])
finally:
    print(*(f"{name}={opened[name]}" for name in ("trials.journal", "manifest.json", "trials.csv")))
"""
"""A command line in a process of its own, as no audit hook is ever taken off again."""


@pytest.mark.parametrize("option", ["--quiet", "--status", "--dry-run", "--collect"])
@pytest.mark.parametrize("trials", ["6", "{relative_error: 0.9, at_least: 3, at_most: 6}"])
def test_the_journal_and_the_manifest_are_read_once_where_nothing_is_left_to_do(tmp_path, option, trials):
    config = write_config(tmp_path, trials)
    assert sweep(config, tmp_path / "out").code == 0
    line = ("sweep", config, "--out", tmp_path / "out", "--backend", "sequential", option)
    done = subprocess.run([sys.executable, "-c", OPENS, *map(str, line)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "trials.journal=1 manifest.json=1 trials.csv=0"


def test_a_manifest_that_another_sweep_wrote_meanwhile_is_read_again(config, tmp_path):
    task = Request(config, tmp_path / "out").sweep()
    earlier = Earlier(task.directory)
    assert sweep(config, task.directory, "--seed", 9).code == 0
    with pytest.raises(ConfigError, match="seed is 9 there and 5 here"):
        task.there(earlier)


def test_the_summary_follows_from_the_table_of_trials(tmp_path):
    asked = "budget: [20, 50]\nlearners: [{name: U, algorithm: uniform}]"
    for name, extra in {"capped": "max_steps: 40", "budget": asked, "plain": ""}.items():
        config, out = write_config(tmp_path, extra=extra), tmp_path / name
        assert sweep(config, out).code == 0
        assert (out / "summary.csv").read_text() == summary_text(out)


def test_a_second_run_changes_nothing_and_runs_nothing(config, tmp_path, expected, monkeypatch):
    journal = (tmp_path / "expected" / "trials.journal").read_bytes()
    monkeypatch.setattr(worker, "run_trial", None)
    assert sweep(config, tmp_path / "expected").code == 0
    assert tables(tmp_path / "expected") == expected
    assert (tmp_path / "expected" / "trials.journal").read_bytes() == journal


def test_with_nothing_to_run_no_scheduler_has_to_answer(config, tmp_path, expected):
    manifest = (tmp_path / "expected" / "manifest.json").read_text()
    options = ["--quiet", "--backend", "dask", "--scheduler", "tcp://127.0.0.1:1"]
    assert call("sweep", config, "--out", tmp_path / "expected", *options).code == 0
    assert tables(tmp_path / "expected") == expected
    assert (tmp_path / "expected" / "manifest.json").read_text() == manifest


def test_what_made_the_rows_stays_in_the_manifest_when_other_code_finds_nothing_to_run(config, tmp_path, expected):
    path = tmp_path / "expected" / "manifest.json"
    manifest = {**json.loads(path.read_text()), "git": {"commit": "0" * 40, "dirty": False}}
    path.write_text(json.dumps(manifest))
    assert sweep(config, tmp_path / "expected").code == 0
    assert json.loads(path.read_text()) == manifest
    assert sweep(config, tmp_path / "expected", "--trials", 7).code == 0
    assert json.loads(path.read_text())["git"] != manifest["git"]


def test_git_is_asked_once(config, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("cascadebai_cli.store.manifest._git", asked.append)
    assert sweep(config, tmp_path / "out").code == 0
    assert len(asked) == 1


def test_more_trials_are_added_as_if_all_had_run_at_once(config, tmp_path):
    assert sweep(config, tmp_path / "once", "--trials", 20).code == 0
    assert sweep(config, tmp_path / "added", "--trials", 10).code == 0
    assert len(rows_of(tmp_path / "added")) == 40
    assert sweep(config, tmp_path / "added", "--trials", 20).code == 0
    assert tables(tmp_path / "added") == tables(tmp_path / "once")


def test_fewer_trials_show_the_first_ones_and_keep_the_others(config, tmp_path, expected):
    assert sweep(config, tmp_path / "more", "--trials", 9).code == 0
    assert sweep(config, tmp_path / "more").code == 0
    assert tables(tmp_path / "more") == expected
    assert len(rows_of(tmp_path / "more")) == 36


def test_more_cells_are_added_as_if_all_had_run_at_once(config, tmp_path):
    out = tmp_path / "added"
    assert sweep(config, out).code == 0
    config.write_text(config.read_text().replace("K: [1, 2]", "K: [3, 1, 2]"))
    assert sweep(config, out).code == 0
    assert sweep(config, tmp_path / "once").code == 0
    assert tables(out) == tables(tmp_path / "once")


def test_manifest_says_when_all_is_there_and_hashes_the_rows(config, tmp_path, expected):
    import hashlib

    manifest = json.loads((tmp_path / "expected" / "manifest.json").read_text())
    assert manifest["complete"] is True
    assert manifest["rows_sha256"] == hashlib.sha256(expected[0]).hexdigest()
    assert manifest["start"] <= manifest["end"]
    assert manifest["config"]["trials"] == 6
    assert sweep(config, tmp_path / "expected", "--collect", "--trials", 7).code == 1
    assert json.loads((tmp_path / "expected" / "manifest.json").read_text())["complete"] is False


# Interruptions


def started_on(config: Path, out: Path) -> tuple["subprocess.Popen[str]", list[psutil.Process]]:
    """A sweep with two workers that has begun to simulate, and its workers."""
    before = read_size(out / "trials.journal")
    process = start("sweep", config, "--out", out, "--n-jobs", 2)
    deadline = time.monotonic() + 60
    while process.poll() is None and read_size(out / "trials.journal") <= before:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process, workers_of(process.pid)


def read_size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def workers_of(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def assert_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=20)
    assert alive == []


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    config = folder / "long.yaml"
    config.write_text(LONG)
    assert sweep(config, folder / "expected").code == 0
    return config, folder / "expected"


KILLS = [(signal.SIGKILL, 1, 0), *((signal.SIGKILL, 5, seed) for seed in range(1, 5)), (signal.SIGINT, 5, 0)]


@pytest.mark.parametrize(("number", "times", "seed"), mostly_slow(KILLS, KILLS[:1]))
def test_interrupted_at_random_moments_it_ends_as_if_nothing_had_happened(long_run, tmp_path, number, times, seed):
    config, expected = long_run
    out, moments = tmp_path / "out", random.Random(f"{number} {seed}")
    for _ in range(times):
        process, workers = started_on(config, out)
        time.sleep(moments.uniform(0, 0.7))
        process.send_signal(number)
        process.communicate(timeout=60)
        assert_gone(workers)
        assert rows_of(out) <= rows_of(expected)
    assert finished("sweep", config, "--out", out).returncode == 0
    assert tables(out) == tables(expected)


def test_ctrl_c_ends_with_130_and_one_line_on_how_to_go_on(long_run, tmp_path):
    config, _ = long_run
    process, workers = started_on(config, tmp_path / "out")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines() == [
        f"interrupted; finished trials are kept in {tmp_path / 'out'}: the same command goes on from there, with "
        "--collect it only makes tables of them"
    ]
    assert out == ""
    assert_gone(workers)


@pytest.mark.parametrize("seconds", mostly_slow([0, 0.1, 0.2, 0.4], [0.1]))
def test_ctrl_c_while_the_workers_start_is_as_quiet(long_run, tmp_path, seconds):
    config, _ = long_run
    process = start("sweep", config, "--out", tmp_path / "out", "--n-jobs", 2)
    while process.poll() is None and not (tmp_path / "out" / "manifest.json").exists():
        time.sleep(0.005)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines() == [
        f"interrupted; finished trials are kept in {tmp_path / 'out'}: the same command goes on from there, with "
        "--collect it only makes tables of them"
    ]


@pytest.mark.slow
def test_a_killed_worker_is_an_error_with_a_remedy_and_loses_nothing(long_run, tmp_path):
    config, expected = long_run
    process, workers = started_on(config, tmp_path / "out")
    for worker_process in workers:
        if "resource_tracker" not in " ".join(worker_process.cmdline()):
            worker_process.kill()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.splitlines()[-1].startswith("error: a worker process was killed, perhaps for want of memory, or ended")
    assert_gone(workers)
    assert finished("sweep", config, "--out", tmp_path / "out").returncode == 0
    assert tables(tmp_path / "out") == tables(expected)


def test_two_sweeps_started_together_on_one_directory_make_one_result(long_run, tmp_path):
    config, expected = long_run
    both = [start("sweep", config, "--out", tmp_path / "out", "--n-jobs", 1) for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in both]
    codes = [process.returncode for process in both]
    assert sorted(codes) in ([0, 0], [0, 1])
    for code, err in zip(codes, errors, strict=True):
        assert code == 0 or err.startswith(f"error: another sweep is writing to {tmp_path / 'out'}; wait until")
    assert tables(tmp_path / "out") == tables(expected)


def test_a_sweep_refuses_a_directory_that_another_one_writes_to(config, tmp_path):
    from cascadebai_cli.store.files import only_writer

    with only_writer(tmp_path / "out"):
        result = sweep(config, tmp_path / "out")
        assert result.code == 1
    assert "another sweep is writing to" in result.err
    assert sweep(config, tmp_path / "out").code == 0


# Lines of the journal that cannot be read


def broken(directory: Path, *numbers: int) -> None:
    """A directory some lines of whose journal are damaged."""
    path = directory / "trials.journal"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(b"?" + line[1:] if i in numbers else line for i, line in enumerate(lines)))


@pytest.mark.parametrize(
    ("more", "fate"), [(("-q",), "runs again"), ((), "runs again"), (("--collect", "-q"), "is missing")], ids=str
)
def test_damage_is_said_however_quiet_a_sweep_is(config, tmp_path, expected, more, fate):
    """It is about what is kept, no progress and no remark."""
    broken(tmp_path / "expected", 3, 7)
    done = call("sweep", config, "--out", tmp_path / "expected", "--backend", "sequential", *more)
    told = f"warning: 2 damaged lines of the journal are left out; a trial that no other line holds {fate}\n"
    assert done.err.startswith(told)
    assert (done.code, "2 trials are missing" in done.err) == ((1, True) if "--collect" in more else (0, False))
    assert (tables(tmp_path / "expected") == expected) == (done.code == 0)


def test_damage_is_said_by_a_quiet_merge(config, tmp_path, expected):
    broken(tmp_path / "expected", 5)
    code, _, err = call("merge", tmp_path / "expected", "--out", tmp_path / "out", "--quiet")
    assert code == 1
    assert err.startswith(
        "warning: 1 damaged line of the journal is left out; a trial that no other line holds is missing\n"
    )


# Tables without the journal that they were made from


def tables_alone(config, out):
    assert sweep(config, out).code == 0
    (out / "trials.journal").unlink()
    return (out / "trials.csv").read_bytes()


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--collect",), ("--trials", 2)])
def test_tables_without_a_journal_are_not_overwritten(config, tmp_path, more):
    before = tables_alone(config, tmp_path / "out")
    result = sweep(config, tmp_path / "out", *more)
    assert result.code == 2
    assert "trials.journal" in result.err
    assert (tmp_path / "out" / "trials.csv").read_bytes() == before


def test_fresh_moves_tables_without_a_journal_aside(config, tmp_path):
    before = tables_alone(config, tmp_path / "out")
    assert sweep(config, tmp_path / "out", "--fresh").code == 0
    assert (tmp_path / "out.old1" / "trials.csv").read_bytes() == before
    assert (tmp_path / "out" / "trials.csv").read_bytes() == before


def test_nothing_to_collect_makes_no_directory(config, tmp_path):
    result = sweep(config, tmp_path / "typo", "--collect")
    assert result.code == 2
    assert f"{tmp_path / 'typo'} holds no trials.journal to collect from" in result.err
    assert not (tmp_path / "typo").exists()


# Places that cannot be written to


def test_a_full_disk_is_an_error_and_what_is_there_goes_on_later(config, tmp_path, expected):
    """The kernel refuses to let a file grow, in the middle of a row."""
    out = tmp_path / "out"
    limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2); "
    program = limit + "from cascadebai_cli.cli.app import main; main()"
    manifest = (tmp_path / "expected" / "manifest.json").stat().st_size
    arguments = ["sweep", str(config), "--out", str(out), "--backend", "sequential", "--trials", "200"]
    process = start(words=[sys.executable, "-c", program, str(manifest + 20_000), *arguments])
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.splitlines()[-1].startswith(f"error: cannot write to {out / 'trials.journal'}: File too large; trials")
    assert 0 < len(rows_of(out)) < 800
    assert sweep(config, out).code == 0
    assert tables(out) == expected


def test_a_directory_that_cannot_be_written_to_is_an_error(config, tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        result = sweep(config, place)
        assert result.code == 2
        assert result.err.startswith(f"error: cannot write to {place}, as a file is there; ")
    result = sweep(config, Path("/proc/nowhere"))
    assert result.code == 1
    assert result.err.startswith("error: cannot write to /proc/nowhere: ")


# Other configs


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ("seed: 5", "seed: 6", "seed"),
        ("seed: 5", "max_steps: 9\nseed: 5", "max_steps"),
        ("seed: 5", "engine: reference\nseed: 5", "engine"),
        ("seed: 5", "feedback: semi-bandit\nseed: 5", "feedback"),
        ("seed: 5", "order: as_given\nseed: 5", "order"),
        ("seed: 5", "learners: [{name: CascadeBAI, algorithm: cascadebai, sigma: 1}]\nseed: 5", "sigma"),
        ("delta: 0.2", "delta: 0.1", "delta 0.2"),
        ("K: [1, 2]", "K: 1", "K 2"),
        ("w_star: 0.7", "w_star: 0.8", "w_star"),
        ("low, high", "other", None),
    ],
)
def test_rows_of_another_config_are_not_mixed_in(config, tmp_path, before, after, key):
    out = tmp_path / "out"
    assert sweep(config, out, "--trials", 1).code == 0
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    config.write_text(config.read_text().replace(before, after))
    result = sweep(config, out, "--trials", 1)
    assert result.code == (0 if key is None else 2)
    if key:
        assert f"holds trials of another config: {key} " in result.err
        assert {path.name: path.read_bytes() for path in out.iterdir()} == files


def test_fresh_moves_the_old_result_aside(config, tmp_path):
    out = tmp_path / "out"
    for seed in (1, 2, 3):
        assert sweep(config, out, "--seed", seed, "--fresh").code == 0
    seeds = [
        json.loads((tmp_path / name / "manifest.json").read_text())["seed"] for name in ("out.old1", "out.old2", "out")
    ]
    assert seeds == [1, 2, 3]
    result = call("sweep", config, "--out", out, "--seed", 4, "--fresh", "--n-jobs", 1)
    assert result.code == 0
    assert f"the earlier result is now in {tmp_path / 'out.old3'}" in result.err


def test_fresh_leaves_a_directory_alone_that_no_sweep_made(config, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    assert sweep(config, tmp_path / "mine", "--fresh").code == 0
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "x"


# What is missing, failures


def test_dry_run_lists_what_is_missing_and_writes_nothing(config, tmp_path):
    out = tmp_path / "out"
    result = call("sweep", config, "--out", out, "--dry-run")
    assert result.code == 0
    assert not out.exists()
    assert result.out.splitlines()[-1] == "24 of 24 trials are missing, in 4 of 4 cells"
    assert sweep(config, out, "--trials", 4).code == 0
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    result = call("sweep", config, "--out", out, "--dry-run")
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[-1] == "8 of 24 trials are missing, in 4 of 4 cells"
    assert re.fullmatch(r"about \d.* on one core, if a trial takes as long as the finished ones did", lines[-2])
    assert lines[0].endswith("  2 of 6 trials missing: wide, CascadeBAI: L = 6, K = 1, delta = 0.2, epsilon = 0")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == files


def test_collect_writes_the_tables_of_what_is_there(config, tmp_path):
    out = tmp_path / "out"
    assert sweep(config, out, "--trials", 4).code == 0
    before = tables(out)
    for name in ("trials.csv", "summary.csv", "timings.csv"):
        (out / name).unlink()
    result = call("sweep", config, "--out", out, "--collect")
    assert result.code == 1
    assert tables(out) == before
    assert "8 trials are missing" in result.err


def fail_at(monkeypatch, trial: int) -> None:
    real = worker._prepared

    def prepared(seed, cell, number):
        if number == trial and cell.K == 2:
            raise ZeroDivisionError("by hand")
        return real(seed, cell, number)

    monkeypatch.setattr(worker, "_prepared", prepared)


def test_a_failed_trial_is_told_with_the_command_that_repeats_it_and_runs_again_later(
    config, tmp_path, monkeypatch, expected
):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        fail_at(patch, 3)
        result = sweep(config, out)
        assert result.code == 1
    err = result.err.splitlines()
    assert err[0].startswith("trial 3 of low, high, CascadeBAI: L = 6, K = 2, delta = 0.2, epsilon = 0 (cell ")
    assert "failed: ZeroDivisionError: by hand; repeat it with: cascadebai run " in err[0]
    assert err[2].startswith("2 trials failed")
    assert "in prepared" in (out / "failures.log").read_text()
    assert len(rows_of(out)) == 22
    assert json.loads((out / "manifest.json").read_text())["complete"] is False
    assert sweep(config, out).code == 0
    assert tables(out) == expected
    assert not (out / "failures.log").exists()


def test_the_command_that_is_told_repeats_exactly_the_trial(config, tmp_path, monkeypatch, expected):
    import shlex

    with monkeypatch.context() as patch:
        fail_at(patch, 3)
        result = sweep(config, tmp_path / "out")
        assert result.code == 1
    words = shlex.split(result.err.splitlines()[0].split("repeat it with: ")[1])
    result = call(*words[1:])
    assert result.code == 0
    cell_id = words[words.index("--cell") + 1]
    rows = [line.split(",") for line in expected[0].decode().splitlines() if line.startswith(cell_id)]
    steps = int(rows[3][-3])
    assert f"mean {steps:,.1f}, 1 trial" in result.out


def test_fail_fast_stops_at_the_first_failure(config, tmp_path, monkeypatch):
    fail_at(monkeypatch, 0)
    result = sweep(config, tmp_path / "out", "--fail-fast")
    assert result.code == 1
    assert len(rows_of(tmp_path / "out")) < 18
    assert "1 trial failed" in result.err


# Packed rows


def test_packed_rows_are_read_everywhere_and_written_on_request(config, tmp_path, monkeypatch):
    """`gzip` of a result is taken as well; whoever has packed rows keeps them packed."""
    monkeypatch.chdir(tmp_path)
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    assert sweep(config, plain).code == 0
    shutil.copytree(plain, packed)
    subprocess.run(["gzip", "trials.csv"], cwd=packed, check=True)
    for verb in ("summary", "fit", "report", "plot"):
        code, out, _ = call(verb, packed)
        assert (code, out.replace("/packed", "/plain")) == (call(verb, plain).code, call(verb, plain).out)
    assert call("verify", "--reference", tmp_path, "--only", "packed", "--only", "plain").code == 0
    pd.testing.assert_frame_equal(cb.load(packed).trials, cb.load(plain).trials)
    (plain / "trials.csv.gz").write_bytes(b"a copy of my own")
    assert sweep(config, packed, "--trials", 8).code == sweep(config, plain, "--trials", 8).code == 0
    assert (plain / "trials.csv.gz").read_bytes() == b"a copy of my own"
    rows = (packed / "trials.csv.gz").read_bytes()
    assert gzip.decompress(rows) == (plain / "trials.csv").read_bytes()
    assert not (packed / "trials.csv").exists()
    done = call("sweep", config, "--out", tmp_path / "anew", "--trials", 8, "--gzip", "--n-jobs", 1)
    assert (tmp_path / "anew" / "trials.csv.gz").read_bytes() == rows
    assert "anew/trials.csv.gz, summary.csv" in done.out
    assert json.loads((tmp_path / "anew" / "manifest.json").read_text())["complete"]
    assert call("merge", packed, plain, "--out", tmp_path / "all").code == 0
    assert tables(tmp_path / "all") == tables(plain)
    assert sweep(config, plain, "--trials", 8, "--gzip").code == 0
    assert sorted(path.name for path in plain.glob("trials.csv*")) == ["trials.csv.gz"]


@pytest.mark.parametrize("content", [b"not packed", b"\x1f\x8b", None])
def test_packed_rows_that_are_damaged_are_refused(config, tmp_path, content):
    assert sweep(config, tmp_path / "out", "--gzip").code == 0
    rows = tmp_path / "out" / "trials.csv.gz"
    rows.write_bytes(rows.read_bytes()[:-9] if content is None else content)
    assert f"{tmp_path / 'out' / 'trials.csv.gz'} cannot be read (" in refusal("fit", tmp_path / "out")
