"""Results appear whole or not at all, and only where a file may be."""

import os
import threading
from pathlib import Path

import pytest

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.files import write_bytes


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
