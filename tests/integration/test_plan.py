"""`cascadebai plan`: from a click log to page views, and one sentence for every bad file."""

import pytest
from sweeps import call

HEADER = "ad,clicks,views\n"
GOOD = HEADER + "".join(f"ad {i},{c},1000\n" for i, c in enumerate([600, 550, 200, 150, 100, 90, 80]))


def plan(folder, content, *more, K=2):
    path = folder / "log.csv"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_text(content, encoding="utf-8")
    columns = ("--items", "ad", "--clicks", "clicks", "--views", "views")
    return call("plan", path, *columns, "-K", K, "--n-jobs", 1, "--quiet", "--out", folder / "plot.png", *more)


def test_answers_in_page_views(tmp_path):
    result = plan(tmp_path, GOOD, "--trials", 12)
    assert result.code == 0
    out = result.out
    assert "7 items, 1,770 clicks in 7,000 views" in out
    rows = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    medians = [int(rows[name][-6].replace(",", "")) for name in ("KL-LUCB++", "CascadeBAI, KL bounds", "CascadeBAI")]
    assert medians == sorted(medians)
    assert medians[2] > 5 * medians[0]
    bound = int(out.split("lower bound for any learner: ")[1].split()[0].replace(",", ""))
    assert 0 < bound < medians[0]
    found = out.split("items found by KL-LUCB++:")[1]
    assert found.index("ad 0") < found.index("ad 1")
    assert found.count("12 of 12") == 2
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_same_answer_again(tmp_path):
    texts = []
    for _ in range(2):
        result = plan(tmp_path, GOOD, "--trials", 3)
        assert result.code == 0
        texts.append(result.out)
    assert texts[0] == texts[1]


def test_a_byte_order_mark_is_no_problem(tmp_path):
    result = plan(tmp_path, GOOD.encode("utf-8-sig"), "--trials", 2)
    assert result.code == 0
    assert "7 items" in result.out


def test_a_tie_proposes_an_epsilon_that_works(tmp_path):
    tied = HEADER + "a,500,1000\nb,300,1000\nc,300,1000\nd,100,1000\n"
    result = plan(tmp_path, tied)
    assert result.code == 2
    error = result.err
    assert "2 items are tied at w(2) = 0.3, so nothing can tell which are the best 2" in error
    assert "--epsilon 0.03" in error
    result = plan(tmp_path, tied, "--epsilon", 0.03, "--trials", 2)
    assert result.code == 0
    out = result.out
    assert "3 items are good enough" in out
    assert "not known for epsilon > 0" in out


def test_a_near_tie_says_what_it_would_take(tmp_path):
    near = HEADER + "a,500000,1000000\nb,300001,1000000\nc,300000,1000000\nd,100000,1000000\n"
    result = plan(tmp_path, near)
    assert result.code == 2
    error = result.err
    assert "nearly tied: every learner needs more than" in error
    assert "--epsilon 0.03" in error


HUGE = HEADER + "a,5,10\n" + "b" * 200_000 + ",3,10\n"

BAD = {
    "missing column": ("ad,clicks,seen\na,1,2\nb,1,2\n", "no column 'views'; the columns are ad, clicks, seen"),
    "more clicks than views": (HEADER + "a,1,2\nb,9,5\n", "log.csv:3: clicks 9 exceeds views 5; correct the row"),
    "empty": ("", "log.csv:1: no header row; name the columns on the first line"),
    "NaN": (HEADER + "a,nan,5\nb,1,5\n", "log.csv:2: clicks nan is not a finite number; correct or remove the row"),
    "text": (HEADER + "a,many,5\nb,1,5\n", "log.csv:2: clicks 'many' is not a number; write one such as 12"),
    "duplicate": (HEADER + "a,1,5\nb,2,5\na,3,5\n", "log.csv:4: item 'a' is already on line 2; give each item one row"),
    "one row": (HEADER + "a,1,5\n", "log.csv has 1 row below the header; at least 2 items are needed"),
    "byte order mark of UTF-16": (GOOD.encode("utf-16"), "log.csv is not UTF-8 text; save it as CSV in UTF-8"),
    "semicolons": (GOOD.replace(",", ";"), "the columns are separated by semicolons; save the file with commas"),
    "huge number": (HEADER + "a,1,1e999\nb,1,5\n", "log.csv:2: views 1e999 is not a finite number"),
    "huge field": (HUGE, "log.csv:3: not comma-separated text (field larger than field limit"),
    "no views": (HEADER + "a,0,0\nb,1,5\n", "log.csv:2: views 0 must be larger than 0; correct or remove the row"),
    "ragged": (HEADER + "a,1\nb,1,5\n", "log.csv:2: 2 values for 3 columns; give one value a column"),
    "too few items": (HEADER + "a,1,5\nb,3,5\n", "-K 2 is not less than the 2 items of the file; choose a smaller K"),
    "no file": (None, "log.csv is not a file; name a CSV file with one row an item"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_sentence(tmp_path, case):
    content, sentence = BAD[case]
    result = plan(tmp_path, content)
    assert result.code == 2
    assert result.out == ""
    assert sentence in result.err
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert not (tmp_path / "plot.png").exists()


def test_too_many_items(tmp_path):
    rows = "".join(f"{i},1,2\n" for i in range(20_001))
    result = plan(tmp_path, HEADER + rows)
    assert result.code == 2
    assert "20,001 items, 20,000 is the most; keep those that might be among the best" in result.err


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--delta", 1), "--delta 1 is no probability; give one between 1e-30 and 1"),
        (("--delta", 1e-320), "is no probability; give one between 1e-30 and 1"),
        (("--trials", 10**21), f"--trials {10**21} is too large; give 10000000 or less"),
        (("--epsilon", -0.1), "--epsilon -0.1 is no tolerance; give 0 or more"),
        (("--out", "plot.gif"), "format '.gif' is not known; use .pdf, .png or .svg"),
    ],
)
def test_a_bad_option_is_one_sentence(tmp_path, more, sentence):
    result = plan(tmp_path, GOOD, *more)
    assert result.code == 2
    assert sentence in result.err
