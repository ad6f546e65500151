"""What somebody has named is read to its end, if it has one."""

import gzip
from pathlib import Path

import pytest
from sweeps import refusal, write_config

from cascadebai_cli.logs import sheet

ENDLESS = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device that never ends")


def test_a_byte_order_mark_is_left_out_and_too_much_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfabc")
    assert sheet.read_text(path) == "abc"
    monkeypatch.setattr(sheet, "MOST_BYTES", 5)
    with pytest.raises(OSError, match="more than 0 MB"):
        sheet.read_text(path)


@ENDLESS
def test_a_config_that_never_ends():
    assert "/dev/zero: cannot be read (more than 100 MB); name a YAML file" in refusal("run", "/dev/zero")


@ENDLESS
def test_a_data_file_that_never_ends(tmp_path):
    family = "  - {name: file, family: csv, path: /dev/zero, item: a, rate: b}\n"
    text = refusal("sweep", write_config(tmp_path, extra=family), "--out", tmp_path / "out")
    assert "/dev/zero has more than 100 MB; keep the columns needed, or sum its rows" in text


def test_a_packed_file_that_never_ends_is_read_so_far_only(tmp_path):
    source = tmp_path / "bomb.csv.gz"
    with gzip.open(source, "wb", compresslevel=1) as packed:
        for _ in range(101):
            packed.write(b"0,1\n" * 2**18)
    told = f"{source} has more than 100 MB; keep the columns needed, or sum its rows"
    assert told in refusal("init", tmp_path / "x.yaml", "--from", source)
    assert told in refusal("plan", source, "--items", "0", "--clicks", "1", "--views", "2")


@pytest.mark.parametrize("columns", [1_001, 300_000])
def test_the_columns_of_a_table_without_end_are_not_guessed(tmp_path, columns):
    source = tmp_path / "x.csv"
    source.write_text(f"{','.join(map(str, range(columns)))}\n" + f"{','.join(['1'] * columns)}\n" * 2)
    told = f"x.csv:1: {columns:,} columns, 1,000 is the most; keep those needed"
    assert told in refusal("init", tmp_path / "x.yaml", "--from", source)
    if columns > 20_000:
        assert f"x.csv:1: {columns:,} columns, 20,000 is the most" in refusal("plan", source, "--wide", "-K", 2)
