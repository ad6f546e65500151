"""Files in the working directory that are called like modules of others."""

import subprocess
import sys

import pytest
from cases import mostly_slow
from sweeps import command, environment, finished, write_config

SHADOWS = ("random", "queue", "numpy", "joblib", "typing", "threadpoolctl")
OWN = """\
import random, queue, numpy


class Mine:
    finished, recommendation = False, ()

    def __init__(self, L, K, delta, epsilon):
        self.recommendation = range(K)

    def select(self):
        return numpy.arange(1)

    def observe(self, shown, outcomes):
        self.finished = True
"""


@pytest.mark.parametrize("jobs", mostly_slow([1, 2], [2]))
def test_they_take_nobody_s_place_and_a_learner_beside_them_works(tmp_path, jobs):
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text("raise SystemError('the wrong one')\n")
    (tmp_path / "shadowed_own.py").write_text(OWN)
    config = write_config(tmp_path)
    words = ["--out", "out", "--plugin", "shadowed_own:Mine", "--n-jobs", jobs]
    done = finished("sweep", config, *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Mine" in (tmp_path / "out" / "trials.csv").read_text()


def test_the_other_name_of_the_program_leaves_them_alone_too(tmp_path):
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text("raise SystemError('the wrong one')\n")
    for name in ("cascadebai", "cascadebai_cli"):
        words = [sys.executable, "-m", name, "--version"]
        done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_helpers_mean_what_they_say():
    assert command("x")[1:3] == ["-m", "cascadebai_cli"]
    assert "PYTHONSAFEPATH" not in environment()
