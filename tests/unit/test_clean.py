"""What others have written cannot steer a terminal, nor break a table."""

import pytest

from cascadebai_cli.text import Table, for_table, for_terminal

HOSTILE = "\x1b[2J\x07\x9b31mred\u202eright\ud800\x00"


@pytest.mark.parametrize("clean", [for_terminal, for_table])
def test_nothing_that_a_terminal_obeys_is_left(clean) -> None:
    assert clean(HOSTILE) == r"\x1b[2J\x07\x9b31mred\u202eright\ud800\x00"


def test_a_terminal_keeps_lines_and_a_table_has_none_in_a_cell() -> None:
    assert for_terminal("a\n\tb\r") == "a\n\tb\\r"
    assert for_table("a\n\tb") == r"a\n\tb"


@pytest.mark.parametrize("name", ["Zürich – 東京\u3000駅", "می\u200cخواهم", "👩\u200d🔬", "a\u00a0b", "C:\\new"])
def test_names_of_all_languages_stay(name: str) -> None:
    assert for_terminal(name) == for_table(name) == name


@pytest.mark.parametrize(("show", "lines"), [(str, 4), (Table.markdown, 4)])
def test_a_line_break_in_a_name_does_not_break_a_table(show, lines: int) -> None:
    text = show(Table.of(["item", "n"], [["one\ntwo", "1"], ["three\r", "2"]]))
    assert len(text.splitlines()) == lines
    assert r"one\ntwo" in text
