import csv
import gzip

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.read import read_rates
from cascadebai_cli.model import problem


def test_two_level():
    items = problem.two_level(5, 2, 0.5, 0.25)
    assert items.weights.tolist() == [0.5, 0.5, 0.25, 0.25, 0.25]
    assert items.names == ("1", "2", "3", "4", "5")


def test_linear():
    items = problem.linear(5, 0.5, 0.1)
    np.testing.assert_allclose(items.weights, [0.5, 0.4, 0.3, 0.2, 0.1], rtol=1e-15)
    assert items.names == ("1", "2", "3", "4", "5")


def test_explicit():
    items = problem.explicit([0.1, 0.9, 0.5])
    assert items.weights.tolist() == [0.1, 0.9, 0.5]
    assert items.names == ("1", "2", "3")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: problem.two_level(4, 2, 0.1, 0.2),
            "w_star = 0.1 is smaller than w_prime = 0.2; exchange them or change a formula",
        ),
        (
            lambda: problem.linear(4, 0.1, 0.2),
            "w_max = 0.1 is smaller than w_min = 0.2; exchange them or change a formula",
        ),
    ],
)
def test_levels_in_the_wrong_order(make, message):
    with pytest.raises(ConfigError) as error:
        make()
    assert str(error.value) == message


COUNTS = "item,funny,ratings\na,1,4\nb,3,4\nc,2,4\n"
BY_COUNTS = {"clicks": "funny", "views": "ratings", "item": "item"}


@pytest.fixture
def read(tmp_path):
    def read(content, **columns):
        path = tmp_path / "x.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        top = columns.pop("top", None)
        return problem.Items(*read_rates(path, columns, top, "x.csv"))

    return read


def test_csv_of_counts(read):
    items = read(COUNTS, **BY_COUNTS)
    assert items.names == ("a", "b", "c")
    assert items.weights.tolist() == [0.25, 0.75, 0.5]


def test_csv_of_rates_without_names(read):
    items = read("rate\n0.5\n1e-3\n0\n1\n", rate="rate")
    assert items.names == ("1", "2", "3", "4")
    assert items.weights.tolist() == [0.5, 0.001, 0, 1]


def test_top_takes_the_first_rows_not_the_largest(read):
    assert read(COUNTS, **BY_COUNTS, top=2).names == ("a", "b")


def test_rows_behind_top_are_not_looked_at(read):
    assert read(COUNTS + "c,7,oops\n", **BY_COUNTS, top=3).names == ("a", "b", "c")


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + COUNTS.encode(),
        COUNTS.replace("\n", "\r\n"),
        COUNTS + "\n\n",
        COUNTS.replace(",", ", "),
        'item,funny,ratings\n"a",1,4\n"b",3,4\n"c",2,4',
    ],
    ids=["byte order mark", "CRLF", "blank lines", "spaces", "quotes"],
)
def test_ways_of_writing_the_same_file(read, content):
    items = read(content, **BY_COUNTS)
    assert items.names == ("a", "b", "c")
    assert items.weights.tolist() == [0.25, 0.75, 0.5]


def test_names_may_contain_line_breaks_in_quotes(read):
    assert read('item,r\n"a\nb",0.5\nc,0.1\n', rate="r", item="item").names == ("a\nb", "c")


BY_RATE = {"rate": "r"}


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        ("", BY_RATE, "x.csv:1: no header row; name the columns on the first line"),
        ("r\n", BY_RATE, "x.csv has no items below the header; at least 2 are needed"),
        ("r\n0.5\n", BY_RATE, "x.csv has 1 item below the header; at least 2 are needed"),
        ("r\n.5\n.4\n", {"rate": "r", "top": 3}, "x.csv has 2 rows, fewer than top: 3; lower top or leave it out"),
        ("a,b\n1,2\n", BY_RATE, "x.csv:1: no column 'r'; the columns are a, b"),
        ("r,r\n1,2\n", BY_RATE, "x.csv:1: more than one column 'r'; the columns are r, r"),
        ("a,r\n1,0,5\n", BY_RATE, "x.csv:2: 3 values for 2 columns; give one value a column"),
        ("r\n0.5\nhigh\n", BY_RATE, "x.csv:3: r 'high' is not a number; write one such as 12 or 0.5"),
        ("r\n1_0\n", BY_RATE, "x.csv:2: r '1_0' is not a number; write one such as 12 or 0.5"),
        ("r,a\n,1\n", BY_RATE, "x.csv:2: r is empty; write a number, or remove the row if it is no item"),
        ("r\nNaN\n", BY_RATE, "x.csv:2: r NaN is not a finite number; correct or remove the row"),
        ("r\ninf\n", BY_RATE, "x.csv:2: r inf is not a finite number; correct or remove the row"),
        ("r\n1.5\n", BY_RATE, "x.csv:2: r 1.5 must lie between 0 and 1; correct or remove the row"),
        (
            COUNTS + "d,5,4\n",
            BY_COUNTS,
            "x.csv:5: funny 5 exceeds ratings 4; correct the row or name the right columns",
        ),
        (COUNTS + "d,0,0\n", BY_COUNTS, "x.csv:5: ratings 0 must be larger than 0; correct or remove the row"),
        (COUNTS + "d,-1,4\n", BY_COUNTS, "x.csv:5: funny -1 must be 0 or larger; correct or remove the row"),
        (COUNTS + "b,1,4\n", BY_COUNTS, "x.csv:5: item 'b' is already on line 3; give each item one row"),
        (COUNTS + ",1,4\n", BY_COUNTS, "x.csv:5: item is empty; give the item a name"),
        (
            b"r\n\xff\xfe\n",
            BY_RATE,
            "x.csv is not UTF-8 text, and not in a language of Western Europe, so that its names are in doubt; "
            "save it as CSV in UTF-8",
        ),
        ('r\n"0.5\n', BY_RATE, "x.csv:2: not separated text (a quote is not closed); check the quotes of this row"),
    ],
)
def test_what_is_wrong_with_a_csv_is_one_sentence(read, content, columns, message):
    with pytest.raises(ConfigError) as error:
        read(content, **columns)
    assert str(error.value) == message


def test_a_missing_file_and_a_folder(tmp_path):
    for name, message in [
        ("none.csv", "none.csv does not exist; a path in a config counts from its folder"),
        (".", ". cannot be read (Is a directory); name a CSV file"),
    ]:
        with pytest.raises(ConfigError) as error:
            read_rates(tmp_path / name, BY_RATE, None, name)
        assert str(error.value) == message


@pytest.mark.parametrize(
    "content",
    [COUNTS.replace(",", ";"), COUNTS.replace(",", "\t"), "Captions\n\n" + COUNTS, gzip.compress(COUNTS.encode())],
    ids=["semicolons", "tabs", "titles", "gzip"],
)
def test_a_file_is_read_as_plan_reads_it(read, content):
    items = read(content, **BY_COUNTS)
    assert (items.names, items.weights.tolist()) == (("a", "b", "c"), [0.25, 0.75, 0.5])


def test_points_are_decimal_signs_although_plan_may_take_them_for_thousands(read):
    items = read("clicks;views\n1.250;2.500\n1.125;1.500\n", clicks="clicks", views="views")
    assert items.weights.tolist() == [0.5, 0.75]


PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
"""Separators, quotes and line breaks among them."""
RATES = st.floats(0, 1) | st.integers(1, 10**15).map(lambda number: 1 / number)


@settings(max_examples=200, deadline=None)
@given(rows=st.lists(st.tuples(PLAIN, PLAIN, RATES), min_size=2, max_size=6), end=st.sampled_from(["\n", "\r\n"]))
@example(rows=[('"a"', "a,b", 0.1), ("\n", "c;d", 1 / 3)], end="\r\n")
def test_what_a_writer_of_csv_writes_is_read_to_the_last_bit(tmp_path_factory, rows, end):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    names = [f"{number} {name}".strip() for number, (name, *_) in enumerate(rows)]
    with path.open("w", newline="", encoding="utf-8") as file:
        quoting = csv.QUOTE_ALL if end == "\n" else csv.QUOTE_MINIMAL  # which leaves a lone \r as it is
        writer = csv.writer(file, lineterminator=end, quoting=quoting)
        writer.writerow(["name", "remark", "rate"])
        writer.writerows([name, remark, repr(rate)] for name, (_, remark, rate) in zip(names, rows, strict=True))
    read, rates = read_rates(path, {"item": "name", "rate": "rate"}, None, "x.csv")
    assert (list(read), rates.tolist()) == (names, [rate for *_, rate in rows])
