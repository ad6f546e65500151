"""Small sweeps for tests, in this process or in one of their own."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

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


def call(*arguments: object) -> int:
    """Exit code of a command line run in this process."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0)


def sweep(config: Path, out: Path, *more: object) -> int:
    return call("sweep", config, "--out", out, "--backend", "sequential", "--quiet", *more)


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
