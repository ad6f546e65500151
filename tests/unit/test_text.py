"""Numbers and tables as text."""

import math
import shutil
import subprocess
from dataclasses import replace

import pytest

from cascadebai_cli import text
from cascadebai_cli.store.columns import cell_text, heading_of
from cascadebai_cli.text import FORMATS, Table, values_of, with_quotes

HEADER = ["name", "x"]
ROWS = [["a|b", "1.5"], ["longer", "10.0"]]


def test_words_are_flush_left_and_numbers_flush_right():
    assert str(Table.of(HEADER, ROWS)).splitlines() == ["name       x", "------  ----", "a|b      1.5", "longer  10.0"]
    assert str(Table.of(HEADER, ROWS, words=2)).splitlines()[2] == "a|b     1.5"


def test_wide_signs_take_two_places_of_a_line_and_accents_none():
    lines = str(Table.of(["item", "clicks"], [["\u7ea2\u8272", "12"], ["cafe\u0301", "7"]])).splitlines()
    assert lines[2:] == ["\u7ea2\u8272      12", "cafe\u0301       7"]


def test_a_bar_in_markdown_is_a_bar():
    lines = ["| name | x |", "| --- | ---: |", "| a\\|b | 1.5 |", "| longer | 10.0 |"]
    assert Table.of(HEADER, ROWS).markdown().splitlines() == lines


def test_names_in_markdown_are_no_tags_images_links_or_code():
    names = ["<script>alert(1)</script>", "![x](http://y/z.png)", "`rm`", "*a*", "_a_ b_c", "&lt;", r"\|", "~~a~~"]
    shown = [
        r"\<script>alert(1)\</script>", r"!\[x](http://y/z.png)", r"\`rm\`", r"\*a\*", r"\_a\_ b_c", r"\&lt;", r"\\\|",
        r"\~\~a\~\~",
    ]  # fmt: skip
    table = replace(Table.of(["name"], [[name] for name in names]), above="<b>")
    assert table.markdown().splitlines() == [r"\<b>", "", "| name |", "| --- |", *(f"| {text} |" for text in shown)]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_prints_every_text(name):
    table = replace(Table.of(HEADER, [["a", "1.5"], ["longer", ""]]), above="L = 8")
    printed = FORMATS[name](table).splitlines()
    lines = [[word for word in line.split() if word not in ("|", "&", r"\\")] for line in printed]
    assert [line for line in lines if line in (HEADER, ["a", "1.5"], ["longer"])] == [HEADER, ["a", "1.5"], ["longer"]]
    assert printed[0].startswith("L = 8")


def test_signs_that_are_special_to_latex_are_set_as_they_are():
    printed = Table.of(["50 % & more", "K^2"], [[r"a_b $x$ #1 {~} \n", "-1.5"], ["[*] a|b <c>", "x-1"]]).latex()
    assert printed.splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"50 \% \& more & K\textsuperscript{2} \\",
        r"\midrule",
        r"a\_b \$x\$ \#1 \{\textasciitilde{}\} \textbackslash{}n & $-$1.5 \\",
        r"{[}{*}] a\textbar{}b \textless{}c\textgreater{} & x-1 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


BOOKTABS = (
    r"\IfFileExists{booktabs.sty}{\usepackage{booktabs}}"
    r"{\let\toprule\hline\let\midrule\hline\let\bottomrule\hline}"
)
"""Small installations of LaTeX lack the package; its rules stand where lines may."""


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles(tmp_path):
    signs = "".join(map(chr, range(32, 127)))
    table = replace(Table.of(["name", "R²"], [[signs, "-1.5"], ["[x] *", ">= 3,000"], ["* ü", ""]]), above=signs)
    page = rf"\documentclass{{article}}{BOOKTABS}\begin{{document}}" + f"\n{table.latex()}\n" + r"\end{document}"
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "page.pdf").exists()


def test_a_row_that_is_too_short_is_a_mistake():
    with pytest.raises(ValueError, match="zip"):
        str(Table.of(HEADER, [["a"]]))


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (text.count(2**63 - 1), "9,223,372,036,854,775,807"),
        (text.count(1234.5678, 1), "1,234.6"),
        (text.exact(1234567.5), "1,234,567.5"),
        (text.number(999.4), "999"),
        (text.number(999.6), "1,000"),
        (text.number(math.nan), "-"),
        (text.digits(0.5), "0.500"),
        (text.digits(1234.5), "1234"),
        (text.share(None), ""),
        (text.percent(0.1234, 1), "12.3%"),
        (text.percent(math.nan), "-"),
        (text.change(-0.0123, 2), "-1.23 %"),
        (text.difference(3, 2), "+50.0 %"),
        (text.difference(3, 0), ""),
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
    assert cell_text(column, {column: value}) == text


def test_a_column_without_a_heading_of_its_own_is_called_by_its_name():
    assert (heading_of("r2"), heading_of("sigma")) == ("R²", "sigma")


def test_a_mean_with_capped_trials_is_a_lower_limit_without_an_interval():
    row = {"mean_steps": 1234.5, "ci_low": 1000.0, "error_rate": 0.25, "n_capped": 1}
    assert [cell_text(name, row) for name in row] == [">= 1,234", "-", "25.0%", "1"]


def test_values_with_commas_stand_in_quotes() -> None:
    assert values_of('K, "CascadeBAI, KL bounds", 0.1') == ["K", "CascadeBAI, KL bounds", "0.1"]
    assert values_of(with_quotes("a, b")) == ["a, b"]
    assert values_of("plain") == ["plain"]
