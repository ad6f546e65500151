"""Small sweeps for tests, in this process or in one of their own."""

import csv
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

import cascadebai_cli
from cascadebai_cli.cli.app import main

ROOT = Path(cascadebai_cli.__file__).parents[1]

CONFIG = """\
seed: 5
trials: {trials}
L: 6
K: [1, 2]
delta: 0.2
instances:
  - {{name: wide, family: two_level, w_star: 0.9, w_prime: 0.1}}
  - {{name: "low, high", family: two_level, w_star: 0.7, w_prime: 0.05}}
"""


def write_config(folder: Path, trials: int = 6, extra: str = "") -> Path:
    path = folder / "study.yaml"
    path.write_text(CONFIG.format(trials=trials) + extra)
    return path


class Called(NamedTuple):
    """What a command line left: its exit code, and what it wrote to stdout and stderr."""

    code: int
    out: str
    err: str


def call(*arguments: object) -> Called:
    """A command line of the real program, run in this process."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return Called(int(end.value.code or 0), out.getvalue(), err.getvalue())


def refusal(*arguments: object) -> str:
    """The one sentence on stderr with which a command line of bad usage ends."""
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err.removeprefix("error: ")


def sweep(config: Path, out: Path, *more: object) -> Called:
    return call("sweep", config, "--out", out, "--backend", "sequential", "--quiet", *more)


def rows_in(directory: Path, name: str = "trials.csv") -> list[dict[str, str]]:
    """The rows of a table of a result directory, as texts."""
    with (directory / name).open() as file:
        return list(csv.DictReader(file))


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "cascadebai_cli", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def start(*arguments: object, words: Sequence[str] | None = None) -> "subprocess.Popen[str]":
    """A command line in a process and session of its own."""
    return subprocess.Popen(
        words or command(*arguments),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(*arguments: object, folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """A command line run in a process of its own, to its end."""
    options = {"env": environment(), "capture_output": True, "text": True, "timeout": 120}
    return subprocess.run(command(*arguments), cwd=folder, **options)


def tables(directory: Path) -> tuple[bytes, bytes]:
    """What must be the same to the byte."""
    return (directory / "trials.csv").read_bytes(), (directory / "summary.csv").read_bytes()


def weights(L: int, K: int, power: float = 1.0) -> list[float]:
    """A family of one's own, for configs that name `sweeps:weights`."""
    return [(i + 1) ** -power for i in range(L)]
