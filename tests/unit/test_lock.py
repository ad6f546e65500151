"""One writer for a directory, with the locks of the file system or without."""

import errno
import os
import platform
from pathlib import Path

import pytest

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.files import only_writer

fcntl = pytest.importorskip("fcntl")


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(handle: int, how: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", flock)


def refused(directory: Path) -> str:
    with pytest.raises(CascadeError) as error, only_writer(directory):
        raise AssertionError("it was free")
    return str(error.value)


def gone() -> int:
    """Number of a process that has ended."""
    child = os.spawnlp(os.P_NOWAIT, "true", "true")
    os.waitpid(child, 0)
    return child


def test_a_second_writer_is_refused_and_let_in_later(tmp_path: Path) -> None:
    with only_writer(tmp_path):
        assert f"another sweep is writing to {tmp_path}" in refused(tmp_path)
    with only_writer(tmp_path) as held:
        held.check()


@pytest.mark.parametrize(
    "text",
    ["elsewhere 1", "", "\xff", f"{platform.node()} {os.getpid()}", f"{platform.node()} -1"],
    ids=["another machine", "empty", "no text", "alive", "no process"],
)
def test_a_predecessor_is_known_only_if_it_was_killed_on_this_machine(tmp_path: Path, text: str) -> None:
    (tmp_path / ".lock").write_text(text)
    with only_writer(tmp_path) as held:
        assert held.predecessor is None
    killed = gone()
    (tmp_path / ".lock").write_text(f"{platform.node()} {killed}")
    with only_writer(tmp_path) as held:
        assert held.predecessor == killed
        assert (tmp_path / ".lock").read_text() == f"{platform.node()} {os.getpid()}"
    assert (tmp_path / ".lock").read_text() == ""


def test_without_locks_a_second_writer_is_refused_by_name_and_let_in_later(tmp_path: Path, no_locks: None) -> None:
    with only_writer(tmp_path):
        assert f"belongs to process {os.getpid()} on {platform.node()}" in refused(tmp_path)
    with only_writer(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_lock_that_was_copied_with_its_directory_locks_nothing(tmp_path: Path, no_locks: None) -> None:
    (tmp_path / ".lock").touch()
    with only_writer(tmp_path):
        pass


def test_what_a_process_that_is_gone_has_left_is_taken_over(tmp_path: Path, no_locks: None) -> None:
    (tmp_path / ".owner").write_text(f"{platform.node()} {gone()}")
    with only_writer(tmp_path):
        assert (tmp_path / ".owner").read_text() == f"{platform.node()} {os.getpid()}"


@pytest.mark.parametrize("owner", ["elsewhere 1", "", "\xff no number", f"{platform.node()} 1"])
def test_the_owner_of_which_nothing_is_known_stays(tmp_path: Path, no_locks: None, owner: str) -> None:
    path = tmp_path / ".owner"
    path.write_text(owner)
    assert f"remove {path} if no sweep is running there" in refused(tmp_path)
    assert path.read_text() == owner


def test_a_predecessor_that_lives_is_not_disturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = list[tuple[int, int]]()
    monkeypatch.setattr(os, "kill", lambda process, number: sent.append((process, number)))
    (tmp_path / ".lock").write_text(f"{platform.node()} {os.getpid()}")
    with only_writer(tmp_path) as held:
        assert held.predecessor is None
    assert sent == [(os.getpid(), 0)]
