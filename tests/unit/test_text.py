"""Numbers and tables as text."""

import math

import pytest

from cascadebai_cli.text import numbers
from cascadebai_cli.text.columns import cell_text, heading
from cascadebai_cli.text.table import FORMATS, as_markdown, table_of

HEADER = ["name", "x"]
ROWS = [["a|b", "1.5"], ["longer", "10.0"]]


def test_words_are_flush_left_and_numbers_flush_right():
    assert str(table_of(HEADER, ROWS)).splitlines() == ["name       x", "------  ----", "a|b      1.5", "longer  10.0"]
    assert str(table_of(HEADER, ROWS, words=2)).splitlines()[2] == "a|b     1.5"


def test_a_bar_in_markdown_is_a_bar():
    lines = ["| name | x |", "| --- | ---: |", "| a\\|b | 1.5 |", "| longer | 10.0 |"]
    assert as_markdown(table_of(HEADER, ROWS)).splitlines() == lines


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_prints_every_text(name):
    printed = FORMATS[name](table_of(HEADER, [["a", "1.5"], ["longer", ""]])).splitlines()
    assert len(printed) == 2 + 2
    assert [[word for word in line.split() if word != "|"] for line in (printed[0], *printed[2:])] == [
        HEADER,
        ["a", "1.5"],
        ["longer"],
    ]


def test_a_row_that_is_too_short_is_a_mistake():
    with pytest.raises(ValueError, match="zip"):
        str(table_of(HEADER, [["a"]]))


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (numbers.count(2**63 - 1), "9,223,372,036,854,775,807"),
        (numbers.count(1234.5678, 1), "1,234.6"),
        (numbers.exact(1234567.5), "1,234,567.5"),
        (numbers.number(999.4), "999"),
        (numbers.number(999.6), "1,000"),
        (numbers.number(math.nan), "-"),
        (numbers.digits(0.5), "0.500"),
        (numbers.digits(1234.5), "1234"),
        (numbers.share(None), ""),
        (numbers.percent(0.1234, 1), "12.3%"),
        (numbers.percent(math.nan), "-"),
        (numbers.change(-0.0123, 2), "-1.23 %"),
        (numbers.difference(3, 2), "+50.0 %"),
        (numbers.difference(3, 0), ""),
    ],
)
def test_numbers(made, text):
    assert made == text


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("r2", 0.98765, "0.9877"),
        ("delta", 0.05, "0.05"),
        ("mean_steps", 1234.5, "1,234"),
        ("n", 100, "100"),
        ("mean_seconds", 0.25, "0.250"),
        ("upper", math.nan, "-"),
        ("instance", "low", "low"),
    ],
)
def test_a_value_is_printed_as_its_column_wants(column, value, text):
    assert cell_text(column, value) == text


def test_a_column_without_a_heading_of_its_own_is_called_by_its_name():
    assert (heading("r2"), heading("sigma")) == ("R²", "sigma")
