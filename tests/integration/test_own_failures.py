"""What is told of a learner of one's own that fails, and what a rule of one's own gets."""

import pdb

import pandas as pd
import pytest
from sweeps import call, finished, refusal, write_config

from cascadebai_cli.running.worker import run_trial
from cascadebai_cli.study.config import study_of

BROKEN = """
class Mine:
    finished, recommendation = False, ()

    def __init__(self, L, K, delta, epsilon):
        self.K = K

    def select(self):
        return [0]

    def observe(self, shown, outcomes):
        divide(1, 0)


def divide(a, b):
    return a / b
"""
ENDLESS = """
import time


class Mine:
    finished, recommendation = False, ()

    def __init__(self, L, K, delta, epsilon):
        pass

    def select(self):
        try:
            time.sleep(0.01)
        except Exception:
            pass
        return [0]

    def observe(self, shown, outcomes):
        pass
"""
LONG_LISTS = """
class Mine:
    def __init__(self, L, K, delta, epsilon, list_length: int = 3):
        self.K, self.M, self.finished, self.recommendation = K, list_length, False, ()

    def select(self):
        return list(range(self.M))

    def observe(self, shown, outcomes):
        self.finished, self.recommendation = True, tuple(range(self.K))
"""
RULE = """
from dataclasses import dataclass

import numpy as np

import cascadebai as cb


@dataclass(frozen=True)
class Hoeffding(cb.CascadeRule):
    def radius(self, T):
        T = np.asarray(T, float)
        inside = np.log(4 * self.L * np.maximum(T, 1) ** 2 / self.delta) / (2 * np.maximum(T, 1))
        return np.where(T > 0, np.sqrt(inside), np.inf)


class Mine(cb.CascadeBAI):
    def __init__(self, L, K, delta, epsilon=0.0):
        super().__init__(L, K, delta, epsilon)
        self.rule = Hoeffding(L, K, delta, epsilon)
"""


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """Writes a module with the class `Mine` and gives the name of the class."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = f"own_{tmp_path.name}"

    def write(source):
        (tmp_path / f"{module}.py").write_text(source)
        return f"{module}:Mine"

    return write


def run(tmp_path, name, *more):
    config = write_config(tmp_path, trials=3)
    return call("run", config, "--plugin", name, "--learner", "Mine", "--K", 1, "--n-jobs", 1, *more)


def test_run_prints_the_traceback_once_from_the_users_frames_on(tmp_path, learner):
    done = run(tmp_path, learner(BROKEN))
    assert done.code == 1
    assert done.err.count("Traceback") == 1
    trace = done.err.partition("Traceback (most recent call last):\n")[2]
    assert "in observe\n    divide(1, 0)" in trace.splitlines()[0] + "\n" + trace.splitlines()[1]
    assert "ZeroDivisionError: division by zero" in trace
    assert "cascadebai_cli" not in trace.partition("ZeroDivisionError")[0]


def test_a_broken_protocol_needs_no_traceback(tmp_path, learner):
    done = run(tmp_path, learner(BROKEN.replace("return [0]", "return []")))
    assert "select returned []" in done.err
    assert "Traceback" not in done.err


def test_the_log_of_a_sweep_begins_with_the_users_frames(tmp_path, learner):
    config = write_config(tmp_path, trials=1)
    call("sweep", config, "--plugin", learner(BROKEN), "--n-jobs", 1, "--out", tmp_path / "out")
    log = (tmp_path / "out" / "failures.log").read_text()
    assert "cascadebai_cli" not in log.partition("Traceback")[2].partition("ZeroDivisionError")[0]


def test_debug_opens_the_debugger_where_it_failed(tmp_path, learner, monkeypatch):
    opened = []
    monkeypatch.setattr(pdb, "post_mortem", opened.append)
    done = run(tmp_path, learner(BROKEN), "--debug")
    assert done.code == 1
    (trace,) = opened
    while trace.tb_next:
        trace = trace.tb_next
    assert (trace.tb_frame.f_code.co_name, trace.tb_frame.f_locals) == ("divide", {"a": 1, "b": 0})


def test_debug_leaves_wrong_usage_and_good_trials_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(pdb, "post_mortem", lambda trace: pytest.fail("nothing failed"))
    config = write_config(tmp_path, trials=2)
    assert "no cell has K 9" in refusal("run", config, "--K", 9, "--debug")
    assert call("run", config, "--K", 1, "--debug").code == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_trial_that_takes_too_long_fails_by_name(tmp_path, learner, jobs):
    name = learner(ENDLESS)
    (tmp_path / "study.yaml").write_text(
        "seed: 1\ntrials: 2\nL: 4\nK: 1\ninstances: [{name: two, family: two_level, w_star: 0.9, w_prime: 0.1}]\n"
        f"learners: [{{name: CascadeBAI, algorithm: cascadebai}}, {{name: endless, algorithm: '{name}'}}]\n"
    )
    done = finished(
        "sweep", "study.yaml", "--out", tmp_path / "out", "--trial-timeout", 0.5, "--n-jobs", jobs, folder=tmp_path
    )
    assert done.returncode == 1
    assert "trial 1 of two, endless: L = 4, K = 1, delta = 0.1, epsilon = 0" in done.stderr
    assert done.stderr.count("failed: it takes longer than --trial-timeout 0.5, in seconds") == 2
    assert set(pd.read_csv(tmp_path / "out" / "trials.csv")["learner"]) == {"CascadeBAI"}


def test_a_timeout_that_nothing_reaches_changes_no_row(tmp_path):
    config = write_config(tmp_path)
    assert call("sweep", config, "--out", tmp_path / "a", "--n-jobs", 1, "--trial-timeout", 60).code == 0
    assert call("sweep", config, "--out", tmp_path / "b", "--n-jobs", 1).code == 0
    assert (tmp_path / "a" / "trials.csv").read_bytes() == (tmp_path / "b" / "trials.csv").read_bytes()


def test_a_timeout_needs_processes_of_this_machine(tmp_path):
    words = ["--backend", "dask", "--scheduler", "tcp://127.0.0.1:1", "--trial-timeout", 5]
    found = refusal("sweep", write_config(tmp_path), "--out", tmp_path / "out", *words)
    assert "--trial-timeout needs processes of this machine; leave it or --backend dask out" in found


def test_the_default_list_length_of_a_constructor_counts(tmp_path, learner):
    done = run(tmp_path, learner(LONG_LISTS))
    assert (done.code, "failed" in done.err) == (0, False)


def test_a_list_that_is_longer_than_that_is_refused(tmp_path, learner):
    done = run(tmp_path, learner(LONG_LISTS.replace("range(self.M)", "range(self.M + 1)")))
    assert "a list has 1 to 3 different items" in done.err


def test_a_rule_of_ones_own_skips_ahead_and_equals_the_reference(tmp_path, learner):
    name = learner(RULE)
    config = {
        "seed": 1,
        "trials": 3,
        "L": 6,
        "K": [1, 3],
        "paired": True,
        "instances": [{"name": "two", "family": "two_level", "w_star": 0.8, "w_prime": 0.2}],
        "learners": [{"name": "mine", "algorithm": name}, {"name": "paper", "algorithm": "cascadebai"}],
    }
    fast, slow = study_of(config), study_of({**config, "engine": "reference"})
    assert {cell.runs_with for cell in fast.cells} == {"skip-ahead"}
    for one, other in zip(fast.cells, slow.cells, strict=True):
        assert [run_trial(1, one, trial) for trial in range(3)] == [run_trial(1, other, trial) for trial in range(3)]
    steps = {cell.learner: run_trial(1, cell, 0)[0].steps for cell in fast.cells if cell.K == 1}
    assert steps["mine"] != steps["paper"]
