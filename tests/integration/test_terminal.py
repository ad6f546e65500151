"""What stands on a terminal, and what becomes of streams that cannot show or take it."""

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from cases import mostly_slow
from sweeps import call, command, environment, start, sweep, write_config

pty = pytest.importorskip("pty")

FAILING = """\
class Mine:
    finished, recommendation = False, (0,)

    def __init__(self, L, K, delta, epsilon):
        pass

    def select(self):
        return [0]

    def observe(self, shown, outcomes):
        raise RuntimeError("never")
"""
LONG = """\
seed: 5
trials: 9000
L: 8
K: [2, 3]
delta: 0.1
instances:
  - {name: near, family: two_level, w_star: 0.6, w_prime: 0.4}
"""


class Shown(NamedTuple):
    """What a program left on a terminal: its exit code, everything it wrote, and the screen in the end."""

    code: int
    written: str
    lines: list[str]


def on_a_terminal(*words: object, folder: Path, kind: str = "xterm", columns: int = 100, interrupt: str = "") -> Shown:
    """Run a command line in a terminal of its own; Ctrl-C is typed once `interrupt` has been written."""
    import fcntl
    import struct
    import termios

    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        own = {name: value for name, value in environment().items() if name not in ("COLUMNS", "LINES")}
        os.execve(sys.executable, command(*words), {**own, "TERM": kind})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    written, end = "", time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                written += os.read(terminal, 2**16).decode(errors="replace")
            except OSError:
                break
        if interrupt and re.search(interrupt, written):
            os.write(terminal, b"\x03")
            interrupt = ""
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    return Shown(os.waitstatus_to_exitcode(status), written, screen(written, columns))


def screen(written: str, columns: int) -> list[str]:
    """The lines of a terminal that knows the sequences of a bar, and nothing else."""
    lines, row, column = [""], 0, 0
    for found in re.finditer(r"\x1b\[([?0-9;]*)([A-Za-z])|[\s\S]", written):
        sign, number = found[0], int(found[1]) if (found[1] or "").isdigit() else 1
        if found[2] == "A":
            row = max(0, row - number)
        elif found[2] == "K":
            lines[row] = ""
        elif sign == "\r":
            column = 0
        elif sign == "\n" or (not found[2] and column == columns):
            row, column = row + 1, 0 if sign != "\n" else column
            lines += [""] * (row + 1 - len(lines))
        if sign.isprintable() and not found[2]:
            lines[row] = lines[row].ljust(column)[:column] + sign + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines if line.strip()]


def test_failed_trials_stand_above_the_bar(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    (tmp_path / "mine.py").write_text(FAILING)
    shown = on_a_terminal(
        "sweep", config, "--out", "out", "--plugin", "mine:Mine", "--n-jobs", 1, folder=tmp_path, columns=300
    )
    assert shown.code == 1
    failed = [line for line in shown.lines if "failed: RuntimeError: never; repeat it with: " in line]
    assert len(failed) == 10
    assert all(line.startswith("trial ") for line in failed)
    assert sum("48 of 48 trials" in line for line in shown.lines) == 1
    assert shown.lines[-1] == "24 trials are missing; the same command runs them again"


@pytest.mark.parametrize("columns", mostly_slow([100, 40], [40]))
def test_ctrl_c_does_not_leave_the_bar_twice(tmp_path: Path, columns: int) -> None:
    (tmp_path / "study.yaml").write_text(LONG)
    words = ("sweep", "study.yaml", "--out", "out", "--n-jobs", 1)
    shown = on_a_terminal(*words, folder=tmp_path, columns=columns, interrupt="time left [0-9]|[1-9][0-9]* of ")
    assert shown.code == 130
    assert sum("time left" in line or " trials, " in line for line in shown.lines) <= 1
    assert "interrupted; finished trials are kept in out" in "".join(shown.lines).replace("\n", "")


@pytest.mark.slow
def test_a_dumb_terminal_gets_plain_lines(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(LONG)
    words = ("sweep", "study.yaml", "--out", "out", "--n-jobs", 1)
    shown = on_a_terminal(*words, folder=tmp_path, kind="dumb", columns=200, interrupt="[0-9] of 18")
    assert shown.code == 130
    assert "\x1b" not in shown.written
    assert re.match(r"[0-9,]+ of 18,000 trials, 0 of 2 cells, ", shown.lines[0])


def test_the_remedy_for_missing_trials_is_that_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = f"failing_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(FAILING)
    arguments = (write_config(tmp_path), tmp_path / "out", "--plugin", f"{module}:Mine")
    assert sweep(*arguments).err.endswith("24 trials are missing; the same command runs them again\n")
    assert sweep(*arguments, "--collect").err.endswith("24 trials are missing; a sweep without --collect runs them\n")


NAMES = """\
seed: 1
trials: 2
delta: 0.2
instances: [{name: 漢字 ü, family: two_level, w_star: 0.9, w_prime: 0.1, L: 4, K: 1}]
"""


@pytest.mark.parametrize("encoding", mostly_slow(["cp1252", "iso8859-1", "utf-8"], ["cp1252"]))
def test_letters_that_an_encoding_lacks(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "study.yaml").write_text(NAMES, encoding="utf-8")
    env = {**environment(), "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for words in (
        ["sweep", "study.yaml", "--out", "out", "--n-jobs", 1, "--dry-run"],
        ["run", "study.yaml", "--n-jobs", 1],
    ):
        done = subprocess.run(command(*words), cwd=tmp_path, env=env, capture_output=True, timeout=60)
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
        assert ("漢字 ü" if encoding == "utf-8" else r"\u6f22\u5b57") in done.stdout.decode(encoding)


@pytest.mark.parametrize("closed", mostly_slow(["<&-", ">&-", "2>&-", "<&- >&- 2>&-"], ["<&- >&- 2>&-"]))
def test_closed_streams(tmp_path: Path, closed: str) -> None:
    config = write_config(tmp_path)
    line = " ".join(command("sweep", config, "--out", tmp_path / "out", "--n-jobs", 2))
    done = subprocess.run(
        ["sh", "-c", f"{line} {closed}"], env=environment(), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert (tmp_path / "out" / "summary.csv").read_text().count("\n") == 5
    assert sweep(config, tmp_path / "other").code == 0
    for name in ("trials.csv", "summary.csv"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    assert call("sweep", config, "--out", tmp_path / "out", "--dry-run").out.startswith("0 of 24 trials")


@pytest.mark.parametrize("closed", mostly_slow([">&-", "2>&-", ">&- 2>&-"], ["2>&-"]))
@pytest.mark.parametrize(
    "words", mostly_slow(["--help", "--version", "nothing", "sweep", "fit nowhere"], ["--help", "sweep"])
)
def test_nothing_to_say_to(closed: str, words: str) -> None:
    line = " ".join(command(*words.split()))
    done = subprocess.run(
        ["sh", "-c", f"{line} {closed}"], env=environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == (0 if words.startswith("--") else 2)
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_a_device_is_no_directory(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    config.write_text(config.read_text().replace("K: [1, 2]", "K: [1, 2, 3]"))
    assert sweep(config, tmp_path / "out").code == 0
    code, _, err = call("plot", tmp_path / "out", "--out", "/dev/full")
    assert code in (1, 2)
    assert "/dev/full" in err
    assert "File exists" not in err


def test_a_reader_that_has_gone(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    config.write_text(config.read_text().replace("K: [1, 2]", "K: [1, 2, 3]"))
    assert sweep(config, tmp_path / "out").code == 0
    os.mkfifo(tmp_path / "pipe.svg")
    process = start("plot", tmp_path / "out", "--out", tmp_path / "pipe.svg")
    os.close(os.open(tmp_path / "pipe.svg", os.O_RDONLY))
    _, err = process.communicate(timeout=60)
    if process.returncode:  # unless all of it fitted into the pipe
        assert "the program that was to read it has ended" in err
        assert "free some space" not in err
