"""The journal: every complete row is read again, no other."""

import errno
import os
from contextlib import closing
from zlib import crc32

import numpy as np
import pytest

from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.store.columns import TrialRow
from cascadebai_cli.store.files import write_atomically
from cascadebai_cli.store.journal import JOURNAL, Journal, Stored, decode, encode, write_journal
from cascadebai_cli.version import __version__

ROWS = [
    TrialRow("00112233445566aa", 0, "stopped", 12345678901, 99, True, 0.25),
    TrialRow("00112233445566aa", 1, "capped", 10, 20, None, 1.5),
    TrialRow("ffeeddccbbaa0011", 0, "stopped", 7, 8, False, 0.001),
]


def write(directory, rows):
    with closing(Journal(directory, Stored.read(directory))) as journal:
        journal.append(rows)
    return journal.stored


def keys(stored):
    return [(stored.cell_ids[row["cell"]], int(row["trial"])) for row in stored.rows]


def test_lines_read_back_as_written():
    assert [decode(encode(row)) for row in ROWS] == ROWS


def test_rows_of_a_journal_are_kept_with_all_their_values(tmp_path):
    write(tmp_path, ROWS)
    stored = Stored.read(tmp_path)
    assert stored.rows["steps"].tolist() == [12345678901, 10, 7]
    assert stored.rows["observations"].tolist() == [99, 20, 8]
    assert stored.rows["status"].tolist() == [0, 1, 0]
    assert stored.rows["correct"].tolist() == [1, -1, 0]
    assert stored.rows["seconds"].tolist() == [0.25, 1.5, 0.001]


def test_a_directory_without_journal_holds_nothing(tmp_path):
    stored = Stored.read(tmp_path)
    assert len(stored.rows) == stored.size == stored.damaged == 0
    assert stored.missing("any", 3).tolist() == [0, 1, 2]


def test_cut_at_any_byte_every_complete_row_and_no_other_is_read_and_more_can_follow(tmp_path):
    """A process can be killed, or the power fail, after any byte."""
    lines = [encode(row) for row in ROWS]
    whole = b"".join(lines)
    ends = np.cumsum([len(line) for line in lines])
    for cut in range(len(whole) + 1):
        (tmp_path / JOURNAL).write_bytes(whole[:cut])
        stored = Stored.read(tmp_path)
        complete = int((ends <= cut).sum())
        assert keys(stored) == [(row.cell_id, row.trial) for row in ROWS[:complete]], cut
        write(tmp_path, ROWS[complete:])
        assert (tmp_path / JOURNAL).read_bytes() == whole, cut


@pytest.mark.parametrize("damage", [b"\x00", b",", b"\n", b"9", b"\xff"])
def test_a_damaged_line_is_left_out_and_counted(tmp_path, damage):
    lines = [encode(row) for row in ROWS]
    for place in range(len(lines[1]) - 1):
        if lines[1][place : place + 1] == damage:
            continue
        broken = lines[1][:place] + damage + lines[1][place + 1 :]
        (tmp_path / JOURNAL).write_bytes(lines[0] + broken + lines[2])
        stored = Stored.read(tmp_path)
        assert keys(stored) == [("00112233445566aa", 0), ("ffeeddccbbaa0011", 0)]
        assert stored.damaged >= 1


@pytest.mark.parametrize(
    "text",
    [
        "00112233445566aa,-1,stopped,5,6,1,0.1",
        f"00112233445566aa,{10**30},stopped,5,6,1,0.1",
        f"00112233445566aa,1,stopped,{2**63},6,1,0.1",
        "00112233445566aa,1,stopped,5,-6,1,0.1",
        "00112233445566aa,1,halted,5,6,1,0.1",
        "00112233445566aa,1,stopped,5,6,2,0.1",
    ],
)
def test_what_no_sweep_writes_is_damage_whatever_its_checksum(tmp_path, text):
    line = f"{text},{crc32(text.encode()):08x}\n".encode()
    (tmp_path / JOURNAL).write_bytes(encode(ROWS[0]) + line)
    stored = Stored.read(tmp_path)
    assert keys(stored) == [("00112233445566aa", 0)]
    assert stored.damaged == 1


OF_TODAY = [
    (b"00112233445566aa,0,stopped,12345678901,99,1,0.250000,171540b2\n", ROWS[0]),
    (b"00112233445566aa,1,capped,10,20,,1.500000,8f7efc03\n", ROWS[1]),
    (b"ffeeddccbbaa0011,2,answered,7,8,0,0.001000,3,c6c25f88\n", ROWS[2]._replace(trial=2, status="answered", right=3)),
]
"""Lines as every version wrote them so far, and their rows."""


def line_of(text: str) -> bytes:
    return f"{text},{crc32(text.encode()):08x}\n".encode()


@pytest.mark.parametrize(("line", "row"), OF_TODAY)
def test_the_lines_of_journals_that_are_kept_are_pinned(line, row):
    assert decode(line) == row
    assert encode(row) == line


@pytest.mark.parametrize("ending", [b"", b"00112233445566aa,5,stopped,5,6,"])
def test_columns_of_a_newer_version_are_named_and_nothing_is_cut_off(tmp_path, ending):
    """Two lines of two versions, among lines without these columns."""
    newer = (
        line_of("00112233445566aa,3,stopped,5,6,1,0.1,,pages=7"),
        line_of("00112233445566aa,4,new,5,6,1,0.1,,dwell=1"),
    )
    content = encode(ROWS[0]) + newer[0] + b"damage\n" + newer[1] + ending
    (tmp_path / JOURNAL).write_bytes(content)
    with pytest.raises(ConfigError) as error:
        Stored.read(tmp_path)
    assert str(error.value) == (
        f"{tmp_path / JOURNAL}: cascadebai {__version__} does not know column pages and column dwell, which it "
        "could not keep; use the newer version that wrote this file, or another directory"
    )
    assert (tmp_path / JOURNAL).read_bytes() == content


@pytest.mark.parametrize("further", ["7", "=7", "9=7", "a b=7", ""])
def test_further_values_without_a_name_are_damage(tmp_path, further):
    (tmp_path / JOURNAL).write_bytes(encode(ROWS[0]) + line_of(f"00112233445566aa,3,stopped,5,6,1,0.1,,{further}"))
    stored = Stored.read(tmp_path)
    assert (keys(stored), stored.damaged) == ([("00112233445566aa", 0)], 1)


def test_a_trial_written_twice_counts_once(tmp_path):
    write(tmp_path, [ROWS[2], ROWS[0], ROWS[2], ROWS[1], ROWS[0]])
    stored = Stored.read(tmp_path)
    assert sorted(keys(stored)) == [(row.cell_id, row.trial) for row in ROWS]


@pytest.mark.parametrize("torn", [b"", b"00112233445566aa,5,stopped,5,6,", b"damage\n"])
def test_what_was_added_is_known_as_if_the_journal_were_read_again(tmp_path, torn):
    (tmp_path / JOURNAL).write_bytes(encode(ROWS[1]) + torn)
    for rows in ([ROWS[2], ROWS[0]], [], [ROWS[2], ROWS[2]._replace(trial=4)]):
        known, again = write(tmp_path, rows), Stored.read(tmp_path)
        assert (known.cell_ids, known.damaged, known.size) == (again.cell_ids, again.damaged, again.size)
        assert known.rows.tolist() == again.rows.tolist()


def test_rows_of_a_cell_are_left_out_of_a_journal_that_is_written_anew(tmp_path):
    stored = write(tmp_path, [*ROWS, ROWS[2]._replace(trial=3)])
    write_journal(tmp_path, stored.without({ROWS[0].cell_id, "a cell without rows"}))
    assert keys(Stored.read(tmp_path)) == [(ROWS[2].cell_id, 0), (ROWS[2].cell_id, 3)]
    assert write_journal(tmp_path, stored.without({ROWS[2].cell_id})) == Stored.read(tmp_path).size
    assert keys(Stored.read(tmp_path)) == keys(stored)[:2]


def test_missing_trials_are_those_below_the_number_asked_for(tmp_path):
    cell = ROWS[0].cell_id
    write(tmp_path, [ROWS[0]._replace(trial=trial) for trial in (4, 0, 2, 9)])
    assert Stored.read(tmp_path).missing(cell, 6).tolist() == [1, 3, 5]
    assert Stored.read(tmp_path).missing("ffeeddccbbaa0011", 2).tolist() == [0, 1]


def test_a_full_disk_in_the_middle_of_a_row_is_an_error_and_leaves_no_half_row(tmp_path, monkeypatch):
    write(tmp_path, ROWS[:1])
    before = (tmp_path / JOURNAL).read_bytes()
    journal = Journal(tmp_path, Stored.read(tmp_path))
    real, calls = os.write, []

    def full(handle, data):
        calls.append(len(data))
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data[:10])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(CascadeError, match=r"cannot write to .*trials\.journal: No space left on device"):
        journal.append(ROWS[1:])
    journal.close()
    assert keys(journal.stored) == keys(Stored.read(tmp_path))
    assert len(calls) == 2
    assert (tmp_path / JOURNAL).read_bytes() == before


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path):
    path = tmp_path / "trials.csv"
    write_atomically(path, ["old\n"])

    def lines():
        yield "new\n"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(CascadeError, match="No space left"):
        write_atomically(path, lines())
    assert path.read_text() == "old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["trials.csv"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files can be counted here only on Linux")
def test_a_closed_journal_keeps_no_file_open(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        write(tmp_path, ROWS[:1])
    assert len(os.listdir("/proc/self/fd")) == before
