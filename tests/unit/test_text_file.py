"""What somebody has named is read to its end, if it has one."""

from pathlib import Path

import pytest
from sweeps import refusal, write_config

from cascadebai_cli.model import click_rates

ENDLESS = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device that never ends")


def test_a_byte_order_mark_is_left_out_and_too_much_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfabc")
    assert click_rates.read_text(path) == "abc"
    monkeypatch.setattr(click_rates, "MOST_BYTES", 5)
    with pytest.raises(OSError, match="more than 0 MB"):
        click_rates.read_text(path)


@ENDLESS
def test_a_config_that_never_ends():
    assert "/dev/zero: cannot be read (more than 100 MB); name a YAML file" in refusal("run", "/dev/zero")


@ENDLESS
def test_a_data_file_that_never_ends(tmp_path):
    family = "  - {name: file, family: csv, path: /dev/zero, item: a, rate: b}\n"
    text = refusal("sweep", write_config(tmp_path, extra=family), "--out", tmp_path / "out")
    assert "/dev/zero cannot be read (more than 100 MB); name a CSV file" in text
