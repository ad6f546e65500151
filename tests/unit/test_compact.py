"""Chosen columns of the cells, one name across, and the best learner marked."""

import io
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from sweeps import ROOT, call, refusal

from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.analysis.tables import compact
from cascadebai_cli.text import Table, with_error

FIGURE2, FIGURE4 = ROOT / "results/reference/figure2", ROOT / "results/reference/figure4"
AT_20 = ("--pivot", "learner", "--where", "K=20")


def cells() -> pd.DataFrame:
    found = load_results(FIGURE2).cells
    return found[found["K"].isin([20, 40]) & (found["instance"] == "large weights")]


def body(table: Table) -> list[Sequence[str]]:
    return [list(row) for row in table.rows]


def test_a_number_is_as_exact_as_its_error() -> None:
    texts = [with_error(*pair) for pair in [(30028.4, 829.1), (3.14159, 0.0123), (812.3, 4.46), (7, 0), (5, 12.3)]]
    assert texts == ["30,030 ± 830", "3.142 ± 0.012", "812.3 ± 4.5", "7 ± 0", "5 ± 12"]
    assert with_error(2.5, float("nan")) == "2.5"


def test_learners_stand_side_by_side_and_the_best_is_marked() -> None:
    found = compact(cells(), [], "learner").printed
    assert found.header == ["K", "CascadeBAI", "BatRac(K)", "BatRac(1)"]
    assert body(found) == [
        ["20", "6,826,000 ± 16,000", "341,500 ± 1,200", "6,806,000 ± 14,000"],
        ["40", "27,010,000 ± 67,000", "659,100 ± 1,800", "26,226,000 ± 55,000"],
    ]
    assert found.marked == {(0, 2), (1, 2)}


def test_the_best_is_not_marked_where_intervals_meet_nor_where_it_is_a_limit_or_too_often_wrong() -> None:
    best = cells().reset_index(drop=True)
    row = (best["learner"] == "BatRac(K)") & (best["K"] == 20)
    for changes in ({"ci_high": 7e6}, {"n_capped": 3}, {"error_low": 0.2}):
        changed = best.copy()
        for name, value in changes.items():
            changed.loc[row, name] = value
        marked = set(compact(changed, [], "learner").printed.marked)
        assert (0, 2) not in marked, changes
        assert (1, 2) in marked, changes


def test_a_single_learner_is_not_the_best() -> None:
    alone = cells()[cells()["learner"] == "CascadeBAI"]
    assert not compact(alone, [], None).printed.marked


def test_a_mean_with_capped_trials_is_a_limit_and_so_are_the_quantiles_that_they_have() -> None:
    results = load_results(FIGURE4)
    capped = results.cells.join(results.quantiles.drop(columns="cell_id"))
    capped = capped[(capped["n_capped"] > 0) & (capped["n_capped"] < capped["n"])]
    printed = body(compact(capped, ["steps", "q90", "median"], None).printed)
    assert all(row[-3].startswith(">= ") for row in printed)
    many = (capped["n_capped"] > capped["n"] // 2).to_list()
    assert [row[-1].startswith(">= ") for row in printed] == many


def test_several_columns_have_the_learner_above_them() -> None:
    found = compact(cells(), ["steps", "error_rate"], "learner").printed
    assert found.header[1:3] == ["CascadeBAI: mean steps", "CascadeBAI: wrong"]
    assert found.rows[0][2] == "0.0% (0.0% to 16.8%)"


def test_every_format_shows_the_same_table() -> None:
    text, markdown, latex, csv = (
        call("summary", FIGURE2, *AT_20, "--format", name).out for name in ("text", "markdown", "latex", "csv")
    )
    assert "353,300 ± 2,900*" in text
    assert "| **353,300 ± 2,900** |" in markdown
    assert r"{lS[table-format=7.0(5)]S[table-format=6.0(4)]S[table-format=7.0(5)]}" in latex
    assert r"small weights & 404000(2500) & \bfseries 353300(2900) & 7108000(56000) \\" in latex
    assert latex.startswith(r"% \usepackage{booktabs, siunitx}")
    rows = pd.read_csv(io.StringIO(csv))
    assert rows["BatRac(K) mean_steps"].tolist() == pytest.approx([353299.95, 341492.05])
    assert {"instance", "K", "CascadeBAI ci_low", "BatRac(1) ci_high"} < set(rows)


def test_latex_has_two_lines_of_headings_a_caption_and_a_label() -> None:
    words = ("--columns", "steps,error_rate", "--caption", "Steps of $K$ items.", "--label", "tab:steps")
    latex = call("summary", FIGURE2, *AT_20, *words, "--format", "latex").out
    assert r"\multicolumn{1}{c}{} & \multicolumn{2}{c}{CascadeBAI} & \multicolumn{2}{c}{BatRac(K)}" in latex
    assert "\\caption{Steps of $K$ items. L = 128, K = 20," in latex
    assert "\\label{tab:steps}\n\\small\\setlength{\\tabcolsep}{3pt}\n\\begin{tabular}" in latex
    assert latex.endswith("\\end{table*}\n")
    assert call("summary", FIGURE2, *AT_20, "--caption", "Steps.").out.startswith("Steps.\nL = 128")


def latex_of(*words: str) -> str:
    return call("summary", FIGURE2, *words, "--format", "latex").out


def test_latex_without_columns_has_those_for_which_a_page_has_room() -> None:
    assert r"instance & learner & K & {mean steps} & wrong \\" in latex_of()
    assert r"instance & learner & {mean steps} & wrong \\" in latex_of("--where", "K=20")
    assert r"instance & K & {CascadeBAI} & {BatRac(K)} & {BatRac(1)} \\" in latex_of("--pivot", "learner")


def test_a_table_that_is_too_wide_for_a_column_is_smaller_or_as_wide_as_the_page() -> None:
    def environment(*words: str) -> tuple[str, bool]:
        latex = latex_of("--caption", "Steps", *words)
        return latex.partition(r"\begin{table")[2][:1], r"\small" in latex

    one = ("--where", "K=20", "--where", "learner=CascadeBAI")
    assert environment(*one, "--columns", "steps") == ("}", False)
    assert environment(*one, "--columns", "steps,n") == ("}", True)
    assert environment(*AT_20) == ("*", False)
    assert environment(*AT_20, "--columns", "steps,observations") == ("*", True)


def has_siunitx() -> bool:
    words = ["kpsewhich", "siunitx.sty", "booktabs.sty"]
    found = shutil.which("pdflatex") and subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return len((found or "").splitlines()) == 2


@pytest.mark.skipif(not has_siunitx(), reason="needs pdflatex with siunitx and booktabs")
@pytest.mark.parametrize("words", [(), AT_20, (*AT_20, "--columns", "steps,error_rate"), ("--columns", "steps,n,gap")])
def test_tables_fit_a_page_of_two_columns(words: tuple[str, ...], tmp_path: Path) -> None:
    head = r"\documentclass[twocolumn]{article}\usepackage[margin=1in]{geometry}\usepackage{booktabs,siunitx}"
    table = latex_of("--caption", "Steps", "--where", "K=20,40", *words)
    page = f"{head}\\sisetup{{detect-weight, mode=text}}\n\\begin{{document}}\n{table}\n\\end{{document}}"
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    run = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


def test_error_rates_go_without_their_intervals_where_a_page_has_no_room_for_them() -> None:
    few = latex_of(*AT_20, "--columns", "error_rate")
    assert r"0.0\% (0.0\% to 16.8\%)" in few
    many = latex_of(*AT_20, "--columns", "steps,error_rate")
    assert r"& 0.0\% &" in many
    assert r"16.8\%" not in many
    assert "16.8%" in call("summary", FIGURE2, *AT_20, "--columns", "steps,error_rate").out


def test_a_caption_ends_before_what_all_cells_share() -> None:
    for given, printed in (
        ("Mean steps", "Mean steps. L"),
        ("Mean steps.", "Mean steps. L"),
        ("How many?", "How many? L"),
    ):
        assert rf"\caption{{{printed} = 128" in latex_of(*AT_20, "--caption", given)


def test_numbers_of_trials_that_differ_are_said() -> None:
    found = cells()
    assert ", trials = 20;" in compact(found, (), "learner").printed.above
    found["n"] = range(20, 20 + len(found))
    assert f", trials = 20 to {19 + len(found)};" in compact(found, (), "learner").printed.above


def test_names_that_are_asked_for_still_tell_the_rows_apart() -> None:
    found = cells()
    printed = compact(found, ["learner", "steps"], None).printed
    assert [head.heading for head in printed.columns] == ["learner", "K", "mean steps"]
    assert len(printed.rows) == len(found)
    assert [head.heading for head in compact(found, ["learner"], None).printed.columns] == ["learner", "K"]


def test_only_columns_that_are_asked_for_or_tell_rows_apart_are_printed() -> None:
    found = cells()
    own = found.assign(instance=found["K"].map("at {}".format), confidence=found["learner"].map(len).map(str))
    heads = {
        columns: [head.heading for head in compact(own, columns, None).printed.columns]
        for columns in ((), ("steps",), ("K", "steps"))
    }
    assert heads[()] == ["instance", "learner", "K", "confidence", "mean steps"]
    assert heads[("steps",)] == ["instance", "learner", "mean steps"]
    assert heads[("K", "steps")] == ["instance", "learner", "K", "mean steps"]


def test_fewer_steps_are_no_merit_where_they_are_a_budget() -> None:
    marked = compact(cells(), ["steps", "error_rate"], "learner").printed.marked
    assert marked
    assert not compact(cells().assign(budget=300), ["steps", "error_rate"], "learner").printed.marked
    rates = cells().assign(budget=300, error_low=0.0, error_high=0.1)
    rates.loc[rates["learner"] != "CascadeBAI", ["error_rate", "error_low", "error_high"]] = (0.05, 0.2, 0.3)
    assert compact(rates.assign(delta=0.5), ["error_rate"], "learner").printed.marked


def test_an_error_rate_above_delta_is_marked() -> None:
    found = cells().assign(error_rate=0.5, error_low=0.3, error_high=0.7)
    assert compact(found, ["error_rate"], None).printed.rows[0][-1] == "50.0% (30.0% to 70.0%) > delta"


def test_a_limit_in_a_column_of_siunitx_is_no_number_for_it() -> None:
    latex = call("summary", FIGURE4, "--pivot", "learner", "--format", "latex").out
    assert r"& {\textgreater{}= 1" in latex
    assert "with each mean half" in latex


def test_columns_of_files_can_be_chosen_and_quantiles_sorted_by() -> None:
    out = call("summary", FIGURE2, "--columns", "n,gap,sd_steps", "--sort", "-median", "--format", "csv").out
    assert list(pd.read_csv(io.StringIO(out)))[-3:] == ["n", "gap", "sd_steps"]
    sorted_by = call("summary", FIGURE2, "--sort", "-steps", "--format", "csv").out
    assert pd.read_csv(io.StringIO(sorted_by))["mean_steps"].is_monotonic_decreasing


def test_budgets_stand_side_by_side() -> None:
    out = call("summary", FIGURE2.parent / "budget", "--pivot", "budget", "--where", "instance=ramp").out
    heads = out.splitlines()[1].split("  ")
    assert [head.strip() for head in heads if head][1:] == [f"budget = {600 * 2**i}" for i in range(5)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--columns", "medain"), "--columns medain: there is no such column; did you mean median?"),
        (("--columns", "difference"), "--columns difference: there is no such column; use one of "),
        (("--pivot", "mean_steps"), "--pivot mean_steps: its values cannot stand side by side; use one of instance, "),
        (("--pivot", "learnr"), "--pivot learnr: its values cannot stand side by side; did you mean learner?"),
        (("--where", "K=20", "--where", "K=30"), "--where K=30: K is named twice; write all its values after one ="),
        (("--label", "a}b"), "--label a}b is no name for LaTeX; use letters, digits and : . _ -, as in tab:steps"),
        (
            ("--caption", "x", "--format", "csv"),
            "--caption x: csv has no place for it; leave it out, or use --format latex",
        ),
        (("--label", "x"), "--label x: text has no place for it; leave it out, or use --format latex"),
    ],
)
def test_what_is_no_table_is_refused(words: tuple[str, ...], sentence: str) -> None:
    assert refusal("summary", FIGURE2, *words).startswith(sentence)


def test_a_table_without_marks_is_printed_as_ever(tmp_path: Path) -> None:
    assert str(Table.of(["a", "b"], [["x", "1"]])) == "a  b\n-  -\nx  1"
