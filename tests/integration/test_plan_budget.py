"""`cascadebai plan --budget` and `--sure`: how likely the answer is right after so many page views."""

import json

import pandas as pd
import pytest
from sweeps import call

CLEAR = "ad,clicks,views\n" + "".join(f"ad {i},{c},100\n" for i, c in enumerate([70, 55, 20, 18, 12, 9, 8]))
COLUMNS = ("--items", "ad", "--clicks", "clicks", "--views", "views")


def plan(folder, *more, content=CLEAR, columns=COLUMNS, out="plan"):
    path = folder / "log.csv"
    path.write_text(content, encoding="utf-8")
    return call("plan", path, *columns, "-K", 2, "--n-jobs", 1, "--quiet", "--out", folder / out, *more)


def test_a_budget_is_answered_by_every_learner_and_without_a_test(tmp_path):
    result = plan(tmp_path, "--budget", 300, "--trials", 30, "--per-day", 100)
    assert result.code == 0
    assert "after 300 page views, 3 days:\n" in result.out
    assert "simulated runs: 30 of each learner, with rates out of 400 draws\n" in result.out
    content = json.loads((tmp_path / "plan" / "plan.json").read_text())
    assert content["asked"]["delta"] == 0.001
    assert {one["learner"] for one in content["at_budget"]} == {"kl-lucb++", "cascadebai-kl", "sar", "uniform"}
    for one in content["at_budget"]:
        then = one["then"]
        assert then["page_views"] == 300
        assert one["curve"][-1] == then
        assert then["all_right"]["low"] <= then["all_right"]["value"] <= then["all_right"]["high"]
        assert 2 * then["all_right"]["value"] <= then["right"]["value"] <= 1 + then["all_right"]["value"]
    best = [one["then"]["all_right"]["value"] for one in content["at_budget"]]
    assert best == sorted(best, reverse=True)
    assert content["no_test"]["all_right"] == content["rates"]["own_top_right"]
    table = pd.read_csv(tmp_path / "plan" / "budgets.csv")
    assert list(table.columns[:4]) == ["learner", "page_views", "runs", "all_right"]
    assert (tmp_path / "plan" / "budgets.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_is_the_same_whatever_else_is_asked(tmp_path):
    """One run gives the whole curve: its answer at a budget is that of a plan for this budget alone."""
    words = ("--trials", 12, "--learner", "kl-lucb++", "--learner", "uniform", "--format", "json")
    small, large = (json.loads(plan(tmp_path, "--budget", N, *words, out=f"p{N}").out) for N in (128, 512))
    curve = {one["learner"]: {point["page_views"]: point for point in one["curve"]} for one in large["at_budget"]}
    for one in small["at_budget"]:
        assert one["then"] == curve[one["learner"]][128]


def test_how_many_page_views_to_be_so_sure(tmp_path):
    result = plan(tmp_path, "--sure", 0.9, "--trials", 60, "--learner", "kl-lucb++", "--learner", "uniform")
    assert result.code == 0
    assert "page views until all 2 are right with a chance of 90%:\n" in result.out
    content = json.loads((tmp_path / "plan" / "plan.json").read_text())
    for one in content["at_budget"]:
        needed = {name: value or 0 for name, value in one["needed"]["page_views"].items()}
        assert one["then"] is None
        assert needed["low"] <= needed["value"]
        above = [point for point in one["curve"] if point["page_views"] >= needed["value"]]
        assert all(point["all_right"]["value"] >= 0.9 for point in above)
    assert "no test, the log's own  " in result.out


@pytest.mark.parametrize(("sure", "says"), [(0.1, "no test is needed: "), (0.9, ", and 90% is wanted\n")])
def test_the_chance_that_is_asked_for_says_whether_a_test_is_needed(tmp_path, sure, says):
    """So that the first line and the row `no test` say the same."""
    tied = CLEAR + "ad 7,55,100\n"
    result = plan(tmp_path, "--sure", sure, "--trials", 4, "--learner", "uniform", content=tied)
    assert says in result.out.splitlines(keepends=True)[0]


def test_more_than_what_was_simulated(tmp_path, monkeypatch):
    monkeypatch.setattr("cascadebai_cli.planning.runs.SECONDS", 0.05)
    tied = CLEAR + "ad 7,55,100\n"
    result = plan(tmp_path, "--sure", 0.99, "--budget", 100_000, "--trials", 4, "--learner", "kl-lucb++", content=tied)
    assert result.code == 0
    assert "more than " in result.out
    assert "too slow to simulate so far, unless --trials is smaller: KL-LUCB++ (" in result.out
    one = json.loads((tmp_path / "plan" / "plan.json").read_text())["at_budget"][0]
    assert (one["then"], one["needed"]["page_views"]["value"]) == (None, None)
    assert one["needed"]["more_than"] == one["simulated_up_to"] == one["curve"][-1]["page_views"]


def test_a_budget_below_the_items_and_of_one_page_view(tmp_path):
    result = plan(tmp_path, "--budget", 1, "--trials", 2)
    assert result.code == 0
    assert "SAR needs more page views than there are items" in result.out


def test_a_budget_that_nobody_can_be_asked_at_is_refused(tmp_path):
    result = plan(tmp_path, "--budget", 3, "--learner", "sar")
    assert (result.code, result.err) == (
        2,
        "error: --budget 3: SAR needs more page views than the 7 items; give more\n",
    )
    result = plan(tmp_path, "--budget", 1e15, "--learner", "uniform")
    assert (result.code, "too long to simulate; give fewer" in result.err) == (2, True)
    assert not (tmp_path / "plan").exists()


def test_few_runs_tell_no_chance_near_certainty(tmp_path):
    result = plan(tmp_path, "--sure", 0.9999, "--trials", 10, "--learner", "uniform", "--budget", "1e3")
    assert result.code == 0
    assert "with a chance of 99.99%:" in result.out
    assert "too few to tell such a chance from certainty; look at the interval" in result.out


@pytest.mark.parametrize("more", [("--page-size", 3), ("--page-size", 1), ("--epsilon", 0.3), ("--truth", "mean")])
def test_with_other_options(tmp_path, more):
    result = plan(tmp_path, "--budget", 64, "--trials", 4, *more)
    assert result.code == 0
    if more[0] == "--epsilon":
        assert json.loads((tmp_path / "plan" / "plan.json").read_text())["epsilon"] == 0.3


def test_equal_items_are_both_right_with_the_expected_rates(tmp_path):
    tied = "ad,clicks,views\na,50,100\nb,30,100\nc,30,100\nd,1,100\n"
    result = plan(tmp_path, "--budget", 4096, "--trials", 8, "--truth", "mean", "--learner", "uniform", content=tied)
    assert result.code == 0
    content = json.loads((tmp_path / "plan" / "plan.json").read_text())
    assert content["no_test"] == {"all_right": 1.0, "right": 2.0}
    assert content["at_budget"][0]["then"]["all_right"]["value"] == 1


def test_events_and_wide_logs(tmp_path):
    events = "ad,clicked\n" + "".join(
        f"{ad},{int(i < n)}\n" for ad, n in (("a", 9), ("b", 5), ("c", 1)) for i in range(12)
    )
    words = ("--budget", 50, "--trials", 3)
    columns = ("--items", "ad", "--clicks", "clicked", "--event")
    assert plan(tmp_path, *words, content=events, columns=columns).code == 0
    wide = "a,b,c\n" + "1,0,0\n1,1,0\n0,1,0\n" * 5
    assert plan(tmp_path, *words, content=wide, columns=("--wide",), out="wide").code == 0


def test_of_equal_chances_the_learner_with_more_right_items_comes_first(tmp_path):
    """With so few page views no learner finds all, and the log alone knows most of the best items."""
    rates = [0.05 + 0.002 * item for item in range(40)]
    content = "ad,clicks,views\n" + "".join(f"a{n},{round(2000 * rate)},2000\n" for n, rate in enumerate(rates))
    learners = [word for name in ("uniform", "kl-lucb++", "posterior") for word in ("--learner", name)]
    columns = ("--items", "ad", "--clicks", "clicks", "--views", "views")
    plan(tmp_path, "-K", "8", "--budget", "60", "--trials", "4", *learners, content=content, columns=columns)
    asked = json.loads((tmp_path / "plan" / "plan.json").read_text())["at_budget"]
    keys = [(one["then"]["all_right"]["value"], one["then"]["right"]["value"]) for one in asked]
    assert keys == sorted(keys, reverse=True)
    assert len({all_right for all_right, _ in keys}) == 1 < len({right for _, right in keys})
