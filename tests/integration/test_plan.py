"""`cascadebai plan`: from a click log to page views, and one sentence for every bad file."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sweeps import call

from cascadebai_cli.live.live import Live
from cascadebai_cli.logs.read import Log
from cascadebai_cli.planning import runs
from cascadebai_cli.planning.options import Wanted
from cascadebai_cli.planning.question import Question
from cascadebai_cli.running.runner import Backend
from cascadebai_cli.running.watch import SILENT

HEADER = "ad,clicks,views\n"
GOOD = HEADER + "".join(f"ad {i},{c},1000\n" for i, c in enumerate([600, 550, 200, 150, 100, 90, 80]))
COLUMNS = ("--items", "ad", "--clicks", "clicks", "--views", "views")


def plan(folder, content, *more, K=2, columns=COLUMNS):
    path = folder / "log.csv"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    return call("plan", path, *columns, "-K", K, "--n-jobs", 1, "--quiet", "--out", folder / "plan", *more)


def cells_of(out, start):
    """The cells of the line of a table that begins so."""
    line = next(line for line in out.splitlines() if line.startswith(start + "  "))
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_answers_in_page_views(tmp_path):
    learners = ("--learner", "cascadebai", "--learner", "cascadebai-kl", "--learner", "kl-lucb++")
    result = plan(tmp_path, GOOD, "--trials", 6, *learners)
    assert result.code == 0
    out = result.out
    assert "7 items, 1,770 clicks in 7,000 views" in out
    medians = [
        int(cells_of(out, name)[1].replace(",", "")) for name in ("KL-LUCB++", "CascadeBAI, KL bounds", "CascadeBAI")
    ]
    assert medians == sorted(medians)
    assert medians[2] > 5 * medians[0]
    assert out.index("ad 0") < out.index("ad 1")
    assert out.count("6 of 6") == 5
    assert "is right already: 100%" in out
    least = re.search(
        r"^were these the rates, no learner could do with fewer than (\d+) page views on average$", out, re.M
    )
    assert least is not None
    assert medians[0] / 50 < int(least[1]) < medians[0]


def test_no_bound_is_said_with_a_tolerance(tmp_path):
    assert "no learner could" not in plan(tmp_path, GOOD, "--trials", 2, "--epsilon", 0.05).out


def test_what_it_leaves(tmp_path):
    result = plan(tmp_path, GOOD, "--trials", 3, "--format", "json", "--per-day", 100)
    content = json.loads(result.out)
    folder = tmp_path / "plan"
    assert json.loads((folder / "plan.json").read_text()) == content
    assert content["asked"]["K"] == 2
    assert content["learners"][0]["days"]["median"] == content["learners"][0]["page_views"]["median"] / 100
    items = pd.read_csv(folder / "items.csv")
    assert (len(items), items["chance"].sum()) == (7, pytest.approx(2))
    runs = pd.read_csv(folder / "page_views.csv")
    assert runs["learner"].value_counts().to_dict() == {"kl-lucb++": 3, "cascadebai-kl": 3}
    assert (runs["clicks"] > 0).all()
    assert (folder / "page_views.png").read_bytes().startswith(b"\x89PNG")


def test_same_answer_again_and_another_one_is_not_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text(GOOD)
    words = ("plan", "log.csv", *COLUMNS, "--n-jobs", 1, "--trials", 2, "--epsilon", 0.3, "--learner", "kl-lucb++")
    first = call(*words, "-K", 2)
    assert first.err.endswith("written: results/plan_log_K2\n")
    assert call(*words, "-K", 2).out == first.out
    older = json.loads((tmp_path / "results/plan_log_K2/plan.json").read_text())
    assert older["asked"].pop("per_day") is None
    (tmp_path / "results/plan_log_K2/plan.json").write_text(json.dumps(older))
    assert call(*words, "-K", 2).err.endswith("written: results/plan_log_K2\n")
    assert call(*words, "-K", 2, "--seed", 1).err.endswith("written: results/plan_log_K2_2\n")
    assert call(*words, "-K", 3).err.endswith("written: results/plan_log_K3\n")
    other = call(*words, "-K", 3, "--out", "results/plan_log_K2")
    assert (other.code, "holds another plan" in other.err) == (2, True)
    (tmp_path / "results/plan_log_K2/plan.json").unlink()
    os.mkfifo(tmp_path / "results/plan_log_K2/plan.json")
    refused = call(*words, "-K", 2, "--out", "results/plan_log_K2")
    assert (refused.code, "holds another plan" in refused.err) == (2, True)


@pytest.mark.parametrize("M", [1, 3, 9])
def test_a_page_of_another_size(tmp_path, monkeypatch, M):
    monkeypatch.setattr("cascadebai_cli.planning.runs.SECONDS", 0.1)
    log = HEADER + "a,500,1000\nb,300,1000\nc,200,1000\nd,100,1000\n"
    result = plan(tmp_path, log, "--trials", 2, "--page-size", M, "--epsilon", 0.05, "--out", tmp_path / "out")
    assert result.code == 0
    shown = min(M, 4)
    assert ("as there are no 9" in result.out) == (M == 9)
    assert f"K = 2, {shown} on a page" in result.out
    assert f"always showing the best {shown}," in result.out
    assert json.loads((tmp_path / "out" / "plan.json").read_text())["asked"]["page_size"] == M


def test_a_tie_is_planned_for(tmp_path, monkeypatch):
    monkeypatch.setattr("cascadebai_cli.planning.runs.SECONDS", 0.1)
    tied = HEADER + "a,500,1000\nb,300,1000\nc,300,1000\nd,100,1000\n"
    for more in ((), ("--truth", "mean"), ("--truth", "mean", "--epsilon", 0)):
        result = plan(tmp_path, tied, "--trials", 2, "--out", tmp_path / "-".join(["out", *map(str, more)]), *more)
        assert result.code == 0
        assert "w(2) and w(3) are closer than the log can tell" in result.out
        assert ("with --epsilon 0 some runs would not end" in result.out) == ("--epsilon" in more)
    assert "epsilon = 0.03" in plan(tmp_path, tied, "--trials", 2, "--epsilon", 0.03).out


def test_a_learner_that_does_not_end_is_left_out_and_names_no_items(tmp_path, monkeypatch):
    monkeypatch.setattr("cascadebai_cli.planning.runs.SECONDS", 0.004)
    result = plan(tmp_path, GOOD, "--trials", 3)
    assert result.code == 0
    rows = [line for line in result.out.splitlines() if line.startswith(("KL-LUCB++  ", "CascadeBAI, KL bounds  "))]
    assert [row.startswith("CascadeBAI") for row in rows] == [True]
    assert "; KL-LUCB++ is left out, as its runs take too long to simulate" in result.out
    assert "of KL-LUCB++" not in result.out
    result = plan(tmp_path, GOOD, "--trials", 3, "--batch", 1, "--out", tmp_path / "alone")
    assert "no learner ended" in result.out
    assert " of 0" not in result.out
    assert json.loads((tmp_path / "alone" / "plan.json").read_text())["learners"][0]["page_views"]["median"] is None


def test_items_without_views_are_planned_for(tmp_path):
    result = plan(tmp_path, GOOD + "new,0,0\n", "--trials", 2)
    assert result.code == 0
    assert "1 of the items has none" in result.out
    assert cells_of(result.out, "new")[1:3] == ["0", "0"]


BAD = {
    "missing column": ("ad,clicks,seen\na,1,2\nb,1,2\n", "no column 'views'; the columns are ad, clicks, seen"),
    "more clicks than views": (HEADER + "a,1,2\nb,9,5\n", "log.csv:3: clicks 9 exceeds views 5; correct the row"),
    "NaN": (HEADER + "a,nan,5\nb,1,5\n", "log.csv:2: clicks nan is not a finite number; correct or remove the row"),
    "huge number": (HEADER + "a,1,1e999\nb,1,5\n", "log.csv:2: views 1e999 is not a finite number"),
    "no clicks": (HEADER + "a,0,9\nb,0,5\nc,0,5\n", "log.csv has no clicks, so that it says nothing about rates"),
    "too few items": (HEADER + "a,1,5\nb,3,5\n", "-K 2 is not less than the 2 items of the file; choose a smaller K"),
    "too many items": (HEADER + "".join(f"{i},1,2\n" for i in range(20_001)), "20,001 items, 20,000 is the most"),
    "a count beyond all": (
        HEADER + "a,1,5\nb,3e14,1e15\nc,1,5\n",
        "item b has 1e+15 views, 1e+11 is the most; divide all",
    ),
    "no file": (None, "log.csv is not a file; name a CSV file, or - for what comes through a pipe"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_sentence(tmp_path, case):
    content, sentence = BAD[case]
    result = plan(tmp_path, content)
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert not (tmp_path / "plan").exists()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--delta", 1), "--delta 1 is out of range; give 1e-30 or more and less than 1, such as 0.05"),
        (("--delta", 1e-300), "--delta 1e-300 is out of range; give 1e-30 or more"),
        (("--trials", 10**21), f"--trials {10**21} is too large; give 10000000 or less"),
        (("--batch", 10**24), f"--batch {10**24} is too large; give 1e+15 or less"),
        (("--epsilon", -0.1), "--epsilon -0.1 is no tolerance; give 0 or more"),
        (("--learner", "kl-lucb"), "--learner kl-lucb is not known; did you mean kl-lucb++?"),
        (("--per-day", 0), "--per-day 0: no test would end; give the page views of a day"),
        (("--per-day", "inf"), "--per-day inf is no number of page views a day; give one from 1e-06 to 1e+15"),
        (("--per-day", "nan"), "--per-day nan"),
        (("--per-day", 1e-300), "--per-day 1e-300 is no number of page views a day"),
        (("--budget", 0), "--budget 0 is no number of page views; give a whole number from 1 to 1e+15"),
        (("--budget", -3), "--budget -3 is no number of page views"),
        (("--budget", 2.5), "--budget 2.5 is no number of page views"),
        (("--budget", "inf"), "--budget inf is no number of page views"),
        (("--budget", "nan"), "--budget nan is no number of page views"),
        (("--budget", 10**18), "--budget 1e+18 is no number of page views"),
        (("--sure", 0), "--sure 0 is no chance that can be reached; give one between 0 and 1, such as 0.95"),
        (("--sure", 1), "--sure 1 is no chance that can be reached"),
        (("--sure", 95), "--sure 95 is no chance that can be reached; give one between 0 and 1, such as 0.95"),
        (("--sure", "nan"), "--sure nan is no chance that can be reached"),
        (("--learner", "sar"), "--learner sar does not stop by itself; give the page views with --budget"),
        (
            ("--out", "/dev/null/plan"),
            "/dev/null/plan cannot be written (Not a directory); choose another directory",
        ),
        (("--views", "clicks"), "--clicks clicks and --views clicks are one column; name another one"),
        (("--position", "ad"), "--items ad and --position ad are one column; name another one"),
        (("--sep", ""), "--sep '' is not one character; give one such as ';', or tab"),
        (("--event",), "--event has no column --views views; leave it out"),
    ],
)
def test_a_bad_option_is_one_sentence(tmp_path, more, sentence):
    result = plan(tmp_path, GOOD, *more)
    assert result.code == 2
    assert sentence in result.err
    assert result.out == ""


@pytest.mark.parametrize("options", [("--delta", 0.999999), ("--epsilon", 0.99)])
def test_a_test_that_needs_hardly_a_page_is_planned(tmp_path, monkeypatch, options):
    monkeypatch.setattr("cascadebai_cli.planning.runs.SECONDS", 0.1)
    result = plan(tmp_path, GOOD, "--trials", 2, "--out", tmp_path / "out", *options)
    assert result.code == 0
    assert "a test takes some 8 (8 to 8) page views" in result.out


def test_a_separator_that_ends_a_line_is_refused(tmp_path):
    result = plan(tmp_path, GOOD, "--sep", "\n")
    assert result.code == 2
    assert "--sep" in result.err


def test_a_single_position_corrects_nothing(tmp_path):
    log = "ad,slot,clicks,views\na,1,50,100\nb,1,20,100\nc,1,5,100\n"
    result = plan(tmp_path, log, "--trials", 2, "--learner", "kl-lucb++", columns=(*COLUMNS, "--position", "slot"))
    assert result.code == 0
    assert "all rows have the position 1, so that nothing is to be corrected" in result.out


def test_what_is_known_so_far_is_a_guess_that_gets_better(tmp_path):
    """The rough law of the first guess is near what all laws together say."""
    (tmp_path / "log.csv").write_text(GOOD)
    words = ("plan", tmp_path / "log.csv", *COLUMNS, "-K", 2, "--n-jobs", 1, "--trials", 2, "--learner", "kl-lucb++")
    result = call(*words, "--out", tmp_path / "plan")
    first, later = (
        int(re.search(r"takes some ([\d,]+)", text)[1].replace(",", "")) for text in (result.err, result.out)
    )
    assert first == pytest.approx(later, rel=0.5)


def test_names_are_no_formulas_to_a_spreadsheet(tmp_path):
    log = HEADER + "=cmd|' /C calc'!A0,500,1000\n+1,300,1000\n-a,200,1000\n@x,100,1000\nplain,50,1000\n"
    assert plan(tmp_path, log, "--trials", 2, "--epsilon", 0.05, "--out", tmp_path / "out").code == 0
    names = pd.read_csv(tmp_path / "out" / "items.csv")["name"].tolist()
    assert names == ["'=cmd|' /C calc'!A0", "'+1", "'-a", "'@x", "plain"]
    listed = json.loads((tmp_path / "out" / "plan.json").read_text())["items"]
    assert listed[0]["name"].startswith("=cmd")


def test_a_decimal_sign_is_said(tmp_path):
    log = HEADER + "a,500.000,999.000\nb,300.000,999.000\nc,200.000,999.000\nd,100.000,999.000\n"
    refused = plan(tmp_path, log, "--trials", 2)
    assert (refused.code, "500.000 may be 500 or 500000; say --decimal . or --decimal ," in refused.err) == (2, True)
    assert plan(tmp_path, log, "--trials", 2, "--epsilon", 0.05, "--decimal", ".", "--out", tmp_path / "out").code == 0
    assert pd.read_csv(tmp_path / "out" / "items.csv")["views"].tolist() == [999] * 4


# --- A test that begins with the counts of the log ------------------------------------------------------------------


CLOSE = HEADER + "a,28,190\nb,23,165\nc,20,200\nd,15,140\ne,21,180\nf,20,110\n"
QUICK = ("--trials", 6, "--epsilon", 0.03)
SENTENCE = "that is long: --learner posterior plans a test that begins with the counts of the log"


def test_a_test_that_keeps_the_log_is_shorter_and_begins_with_the_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text(CLOSE)
    result = call("plan", "log.csv", *COLUMNS, "-K", 2, *QUICK, "--learner", "posterior", "--learner", "kl-lucb++")
    assert result.code == 0, result.err
    kept, bounds = (
        int(cells_of(result.out, name)[1].replace(",", "")) for name in ("posterior with the log", "KL-LUCB++")
    )
    assert kept < bounds / 3
    assert SENTENCE not in result.out
    command = re.search("the test begins with: cascadebai (.*)", result.err)[1].split()
    started = call(*command)
    assert started.code == 0, started.err
    terms = Live.open(command[2]).terms
    assert terms.stopping == "posterior"
    assert terms.start[0] == (110, 190, 165, 180, 140, 200)
    assert len(terms.prior) > 1


def test_a_test_that_keeps_the_log_is_asked_at_a_budget(tmp_path):
    result = plan(tmp_path, CLOSE, "--budget", 300, "--trials", 40, "--learner", "posterior", "--learner", "uniform")
    assert result.code == 0, result.err
    kept, cold = (float(cells_of(result.out, name)[1].rstrip("%")) for name in ("posterior with the log", "uniform"))
    assert kept > cold


@pytest.mark.parametrize(("more", "said"), [((), True), (("--per-day", 10), True), (("--per-day", 1000), False)])
def test_a_long_test_is_said_to_be_shorter_with_the_log(tmp_path, more, said):
    result = plan(tmp_path, CLOSE, *QUICK, "--learner", "cascadebai-kl", *more)
    assert (SENTENCE in result.out) is said
    assert not said or result.out.index("found in runs") < result.out.index(SENTENCE)


def test_a_log_whose_counts_are_no_start_is_refused(tmp_path):
    slots = "ad,slot,clicks,views\n" + "".join(
        f"{ad},{slot},{clicks // slot},1000\n"
        for ad, clicks in (("a", 300), ("b", 200), ("c", 100))
        for slot in (1, 2, 3)
    )
    result = plan(tmp_path, slots, "--learner", "posterior", "--position", "slot")
    assert (result.code, result.out) == (2, "")
    assert "log.csv: --learner posterior begins with the counts of the log, but its views are no looks" in result.err
    days = HEADER + "".join(f"{ad},{clicks},1000\n" for ad in "abcd" for clicks in (20, 200, 40, 300, 100))
    result = plan(tmp_path, days, "--learner", "posterior")
    assert (result.code, result.out) == (2, "")
    assert "but the rows of its items scatter more than clicks do" in result.err
    assert SENTENCE not in plan(tmp_path, days, "--trials", 2, "--per-day", 1, "--learner", "cascadebai-kl").out


def runs_that_were_right(shift, trials=150):
    """Runs on rates that the log leaves possible, or on those of the item `shift` places on."""
    log = Log(
        "log", tuple("abcdef"), np.array([28.0, 23, 20, 15, 21, 20]), np.array([190.0, 165, 200, 140, 180, 110]), ()
    )
    question = Question.about(log, Path("log.csv"), Wanted(2, delta=0.1, epsilon=0.03))
    question = replace(question, truths=np.roll(question.truths, shift, axis=1))
    found = runs.Test.of(question, ["posterior"], trials, Backend("sequential"), SILENT)
    views = found.learners[0].views
    assert views.capped == 0
    return views.right


def test_a_test_that_keeps_the_log_errs_at_most_delta_on_rates_as_the_log_leaves_them():
    p = [stats.binomtest(runs_that_were_right(shift), 150, 0.9, alternative="less").pvalue for shift in (0, 3)]
    assert p[0] > 1e-3
    assert p[1] < 1e-3
