"""Logs of clicks as they are met: each layout is answered rightly or in one sentence."""

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.layout import Layout
from cascadebai_cli.logs.read import read_log
from cascadebai_cli.logs.sheet import sheet_of

HEAD, ROWS = "ad,clicks,views\n", "a,1,5\nb,20,1200\n"
COUNTS = Layout("ad", "clicks", "views")
EVENTS = Layout("ad", "click", event=True)
WIDE = Layout(wide=True)
AB = {"a": (1, 5), "b": (20, 1200)}
EVENT_ROWS = "ad,click\na,1\nb,0\na,0\nb,true\nb,No\n"

READ = {
    "commas": (COUNTS, HEAD + ROWS, AB, ""),
    "byte order mark": (COUNTS, (HEAD + ROWS).encode("utf-8-sig"), AB, ""),
    "UTF-16": (COUNTS, "ad\tclicks\tviews\na\t1\t5\nb\t20\t1200\n".encode("utf-16"), AB, ""),
    "semicolons": (COUNTS, "ad;clicks;views\na;1;5\nb;20;1200\n", AB, ""),
    "tabs": (COUNTS, "ad\tclicks\tviews\na\t1\t5\nb\t20\t1200\n", AB, ""),
    "bars": (COUNTS, "ad|clicks|views\na|1|5\nb|20|1200\n", AB, ""),
    "the separator is named": (
        Layout("ad", "clicks", "views", separator=":"),
        "ad:clicks:views\na:1:5\nb:20:1200\n",
        AB,
        "",
    ),
    "blanks separate": (Layout("ad", "clicks", "views", separator="space"), (HEAD + ROWS).replace(",", " "), AB, ""),
    "first line sep=": (COUNTS, "sep=;\nad;clicks;views\na;1;5\nb;20;1200\n", AB, ""),
    "gzip": (COUNTS, gzip.compress((HEAD + ROWS).encode()), AB, ""),
    "lines of Windows": (COUNTS, b"ad,clicks,views\r\na,1,5\r\nb,20,1200\r\n", AB, ""),
    "lines of old": (COUNTS, b"ad,clicks,views\ra,1,5\rb,20,1200\r", AB, ""),
    "Windows-1252": (
        COUNTS,
        (HEAD + "café,1,5\nb,20,1200\n").encode("cp1252"),
        {"café": (1, 5), "b": (20, 1200)},
        "Windows-1252",
    ),
    "thousands with commas": (COUNTS, HEAD + 'a,1,5\nb,20,"1,200"\n', AB, "1,200 in column views is read as 1200"),
    "thousands of India": (
        COUNTS,
        HEAD + 'a,"1,23,456","12,34,567"\nb,20,"1,200"\n',
        {"a": (123456, 1234567), "b": (20, 1200)},
        "1,23,456 in column clicks is read as 123456",
    ),
    "a sentence below": (COUNTS, HEAD + ROWS + "Report generated on 2026-11-03\n", AB, "line 4 is a remark"),
    "sentences below an empty line": (
        COUNTS,
        HEAD + ROWS + "\nReport generated on 2026-11-03,,\nAll rights reserved,,\n",
        AB,
        "lines 5 and 6 are remarks and are left out",
    ),
    "thousands with points": (
        COUNTS,
        "ad;clicks;views\na;1;5\nb;20;1.200\n",
        AB,
        "1.200 in column views is read as 1200",
    ),
    "thousands with points twice": (
        COUNTS,
        "ad;clicks;views\na;1;5.000\nb;20;1.234.000\n",
        {"a": (1, 5000), "b": (20, 1234000)},
        "is read as 5000",
    ),
    "thousands with commas only": (
        COUNTS,
        "ad;clicks;views\na;1;5,000\nb;20;1,234\n",
        {"a": (1, 5000), "b": (20, 1234)},
        "is read as 5000",
    ),
    "three decimals": (
        COUNTS,
        "ad;clicks;views\na;0.000;5.000\nb;20.000;1200.000\n",
        {"a": (0, 5), "b": (20, 1200)},
        "",
    ),
    "the decimal sign is a point": (
        Layout("ad", "clicks", "views", decimal="."),
        "ad;clicks;views\na;2.000;12.000\nb;20.000;1,150.500\n",
        {"a": (2, 12), "b": (20, 1150.5)},
        "",
    ),
    "the decimal sign is a comma": (
        Layout("ad", "clicks", "views", decimal=","),
        "ad;clicks;views\na;2.000;12.000\nb;20,000;1.150,500\n",
        {"a": (2000, 12000), "b": (20, 1150.5)},
        "",
    ),
    "thousands with spaces": (COUNTS, "ad;clicks;views\na;1;5\nb;20;1\u202f200\n", AB, ""),
    "decimal commas": (COUNTS, "ad;clicks;views\na;1,0;5,0\nb;20,0;1200,00\n", AB, ""),
    "decimal points": (COUNTS, HEAD + "a,1.0,5.0\nb,20.0,1200.0\n", AB, ""),
    "several rows an item": (COUNTS, "ad,day,clicks,views\na,1,1,3\nb,1,20,1200\na,2,0,2\n", AB, "3 rows name 2 items"),
    "titles above the header": (
        COUNTS,
        "Report of ads\nJune\nad,clicks,views\na,1,5\nb,20,1200\n",
        AB,
        "the header is on line 3",
    ),
    "a row of sums": (
        COUNTS,
        HEAD + "a,1,5\nb,20,1200\nc,2,10\nTotal,23,1215\n",
        {**AB, "c": (2, 10)},
        "line 5 (Total) is a total",
    ),
    "empty lines and spaces": (COUNTS, "ad, clicks, views\n\na , 1, 5\n,,\nb, 20, 1200\n\n", AB, ""),
    "quotes and line breaks": (COUNTS, HEAD + '"a, or\nb",1,5\nb,20,1200\n', {"a, or\nb": (1, 5), "b": (20, 1200)}, ""),
    "a separator at the end": (COUNTS, "ad,clicks,views,\na,1,5,\nb,20,1200,\n", AB, ""),
    "no views": (COUNTS, HEAD + "a,0,0\nb,20,1200\n", {"a": (0, 0), "b": (20, 1200)}, ""),
    "names that are numbers": (COUNTS, HEAD + "007,1,5\nNA,20,1200\n", {"007": (1, 5), "NA": (20, 1200)}, ""),
    "one event a row": (EVENTS, EVENT_ROWS, {"a": (1, 2), "b": (1, 3)}, ""),
    "a column an item": (WIDE, "a,b\n1,0\n0,\n0,1\n", {"a": (1, 3), "b": (1, 2)}, ""),
    "a position that nobody named": (COUNTS, "ad,rank,clicks,views\na,1,1,5\nb,2,20,1200\n", AB, "--position rank"),
}

REFUSED = {
    "a last row that is cut short": (COUNTS, HEAD + ROWS + "banner\n", "log.csv:4: clicks is empty; write a number"),
    "JSON": (COUNTS, '[{"ad": "a", "clicks": 1, "views": 5}]', "log.csv is JSON; give a CSV file"),
    "a spreadsheet": (COUNTS, b"PK\x03\x04\x00", "log.csv is a spreadsheet or an archive; save the sheet as CSV"),
    "no text": (COUNTS, b"\x89\x00\xff\x81", "log.csv is not text; save it as CSV in UTF-8"),
    "half a gzip": (COUNTS, gzip.compress(HEAD.encode())[:-9], "log.csv cannot be read ("),
    "empty": (COUNTS, "", "log.csv:1: no header row; name the columns on the first line"),
    "another header": (COUNTS, "ad,clicks,seen\na,1,2\n", "no column 'views'; the columns are ad, clicks, seen"),
    "twice the same column": (COUNTS, "ad,clicks,clicks,views\na,1,2,3\n", "log.csv:1: more than one column 'clicks'"),
    "open quotes": (COUNTS, HEAD + 'c,1,5\n"a,1,5\nb,2,5\n', "log.csv:3: not separated text (a quote is not closed)"),
    "columns without end": (WIDE, ",".join(map(str, range(20_001))), "log.csv:1: 20,001 columns, 20,000 is the most"),
    "too many values": (COUNTS, HEAD + "a,1,5,7\nb,2,5\n", "log.csv:2: 4 values for 3 columns"),
    "too few values": (COUNTS, HEAD + "\na,1\nb,2,5\n", "log.csv:3: views is empty; write a number"),
    "a row below a name of two lines": (COUNTS, HEAD + '"a\nb",1,5\nc,x,5\n', "log.csv:4: clicks 'x' is not a number"),
    "underscores": (COUNTS, HEAD + "a,1,5_000\nb,2,5\n", "log.csv:2: views '5_000' is not a number"),
    "points in doubt": (
        COUNTS,
        HEAD + "a,2,12.000\nb,3,150.000\n",
        "log.csv: column views: 12.000 may be 12 or 12000; say --decimal . or --decimal ,",
    ),
    "points in doubt, with digits": (COUNTS, HEAD + "a,2.125,9\nb,3.250,9\n", "clicks: 2.125 may be 2.125 or 2125"),
    "commas in doubt": (COUNTS, "ad;clicks;views\na;2;12,000\nb;3;150,000\n", "views: 12,000 may be 12 or 12000;"),
    "no name": (COUNTS, HEAD + ",1,5\nb,2,5\n", "log.csv:2: ad is empty; give the item a name"),
    "negative": (COUNTS, HEAD + "a,-1,5\nb,2,5\n", "log.csv:2: clicks -1 must be 0 or larger"),
    "one item": (COUNTS, HEAD + "a,1,5\na,2,5\n", "log.csv has 1 item below the header; at least 2 are needed"),
    "events with counts": (EVENTS, "ad,click\na,3\nb,0\n", "log.csv:2: click '3' is neither 0 nor 1"),
    "a wide log with names": (WIDE, "user,a,b\nanna,1,0\nbo,0,1\n", "Line 2: user 'anna' is neither 0 nor 1"),
    "separator of two signs": (
        Layout("ad", "clicks", "views", separator="::"),
        "a::b\n",
        "--sep '::' is not one character",
    ),
    "no column named": (Layout("ad", "clicks"), "ad,clicks\n", "a log of counts needs --views COLUMN; name the column"),
    "two layouts": (Layout(wide=True, event=True), "a,b\n", "--wide and --event: a log has one of these layouts"),
}


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "log.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("case", READ)
def test_read(tmp_path: Path, case: str) -> None:
    layout, content, items, note = READ[case]
    log = read_log(write(tmp_path, content), layout)
    assert dict(zip(log.names, zip(log.clicks, log.views, strict=True), strict=True)) == items
    assert note in " ".join(log.notes)
    assert bool(note) == bool(log.notes)


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_sentence(tmp_path: Path, case: str) -> None:
    layout, content, sentence = REFUSED[case]
    with pytest.raises(ConfigError) as error:
        read_log(write(tmp_path, content), layout)
    assert sentence in str(error.value).replace(str(tmp_path) + "/", "")
    assert "\n" not in str(error.value)


def test_all_bad_rows_in_one_answer(tmp_path: Path) -> None:
    rows = "".join(f"{i},many{i},5\n" for i in range(7)) + "x,9,5\n,1,5\ny,1\n" + "z,nan,2\n" * 30
    with pytest.raises(ConfigError) as error:
        read_log(write(tmp_path, HEAD + "ok,1,5\n" + rows), COUNTS)
    text = str(error.value)
    assert "40 rows are not usable (the first 10)" in text
    assert [f"Line {line}:" in text for line in range(2, 14)] == [False, *[True] * 10, False]
    assert "Line 10: clicks 9 exceeds views 5" in text
    assert "Line 12: views is empty" in text


def test_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO((HEAD + ROWS).encode())))
    log = read_log(Path("-"), COUNTS)
    assert (log.name, log.names) == ("stdin", ("a", "b"))


def test_positions_are_kept(tmp_path: Path) -> None:
    content = "ad,slot,clicks,views\na,1,1,5\na,2,0,5\na,1,2,5\nb,1,1,9\n"
    log = read_log(write(tmp_path, content), Layout("ad", "clicks", "views", position="slot"))
    assert log.cells is not None
    assert log.cells.to_numpy().tolist() == [[0, "1", 3, 10], [0, "2", 0, 5], [1, "1", 1, 9]]
    assert log.clicks.tolist() == [3, 1]


def test_a_line_above_the_header_may_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "clicks.csv"
    path.write_text("# clicks.csv\nad,clicks,views\na,1,10\nb,2,10\n")
    sheet = sheet_of(path.read_text(), "clicks.csv")
    assert (sheet.header, sheet.notes, len(sheet.rows)) == (("ad", "clicks", "views"), (), 2)
    assert sheet_of("# ,clicks\na,1\n", "x").header == ("#", "clicks")
