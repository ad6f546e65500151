"""Results appear whole or not at all, and only where a file may be."""

import errno
import hashlib
import os
import threading
from pathlib import Path

import pytest

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.files import sha256_of, write_atomically, write_bytes


def test_a_file_is_replaced_and_its_folder_made(tmp_path):
    path = tmp_path / "new" / "table.csv"
    for content in (b"old", b"new"):
        write_bytes(path, content)
        assert path.read_bytes() == content
    assert [child.name for child in path.parent.iterdir()] == ["table.csv"]


def test_a_pipe_or_device_is_written_to_and_not_replaced(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"table")
    reader.join(10)
    assert read == [b"table"]
    assert pipe.is_fifo()


def test_a_directory_is_refused(tmp_path):
    for path in (tmp_path, Path()):
        with pytest.raises(CascadeError, match=r"cannot be written \(Is a directory\)"):
            write_bytes(path, b"")


def test_a_name_that_no_file_can_have_is_one_sentence(tmp_path):
    with pytest.raises(CascadeError, match=r"cannot be written \(File name too long\)"):
        write_bytes(tmp_path / ("x" * 300), b"")


def test_a_folder_that_is_a_file_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CascadeError, match="cannot be written"):
        write_bytes(tmp_path / "file" / "table.csv", b"")


@pytest.mark.parametrize("packed", [False, True])
def test_the_hash_of_a_table_is_that_of_its_text(packed, tmp_path):
    path, expected = tmp_path / "trials.csv", hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    assert sha256_of(path) is None
    assert write_atomically(path, ["a,b\n", "1,2\n"], packed=packed) == expected == sha256_of(path)


@pytest.mark.parametrize(("number", "remedy"), [(errno.ENOSPC, "free some space"), (errno.EIO, "choose another place")])
def test_space_is_asked_for_only_where_it_lacks(number, remedy, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(CascadeError) as error:
        write_bytes(tmp_path / "table.csv", b"")
    assert remedy in str(error.value)
    assert ("free some space" in str(error.value)) is (number == errno.ENOSPC)
