"""`check` tells what a config would run, `init` writes one to begin with."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from sweeps import ROOT, call, refusal, sweep

from cascadebai_cli.store.trials import read_table
from cascadebai_cli.study.config import load_study

DATA = ROOT / "configs" / "data" / "new_yorker_caption_contest_508_round2.csv"
OWN_AND_BUDGETS = """\
seed: 1
trials: {relative_error: 0.1, at_least: 4, at_most: 30}
L: 6
K: 2
instances:
  - {name: wide, family: two_level, w_star: 0.9, w_prime: 0.1}
learners:
  - {name: mine, algorithm: "experiments.uniform_kl:UniformKL"}
  - {name: table, algorithm: batrac, feedback: semi-bandit}
"""
BUDGETS = """\
seed: 1
trials: 3
budget: [20, 40, 80, 3000]
L: 6
K: 2
instances:
  - {name: wide, family: two_level, w_star: 0.9, w_prime: 0.1}
learners:
  - {name: uniform, algorithm: uniform}
  - {name: sar, algorithm: sar}
"""


def rows_of(config: Path, *more: object) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(call("check", config, "--format", "json", *more).out)["check"]
    return found


def test_the_grid_is_told_and_nothing_written(config: Path) -> None:
    before = sorted(config.parent.rglob("*"))
    shown = call("check", config, "--pilot", "0.1")
    assert shown.code == 0
    assert "valid: 4 cells, 24 trials; about " in shown.out
    assert "K = 1, 2" in shown.out
    assert sorted(config.parent.rglob("*")) == before
    assert [(row["cells"], row["trials"]) for row in rows_of(config, "--pilot", "0.1")] == [(2, 12), (2, 12)]


def test_the_steps_of_the_pilot_lie_near_the_mean_of_the_sweep(config: Path, tmp_path: Path) -> None:
    sweep(config, tmp_path / "r")
    means = read_table(tmp_path / "r" / "summary.csv", {}, "").groupby("instance")["mean_steps"].mean()
    for row in rows_of(config, "--pilot", "5"):
        assert row["ended"]
        assert row["steps"] == pytest.approx(means[row["instance"]], rel=0.5)
        assert float(str(row["lower"])) < means[row["instance"]] < float(str(row["upper"]))


def test_an_estimate_has_a_range_and_counts_the_trials_that_are_likely(tmp_path: Path) -> None:
    """Before, the time was that of the smallest number of trials, which a cell seldom gets."""
    study = (
        "seed: 1\nL: 6\nK: 2\ntrials: TRIALS\nlearners: [{name: l, algorithm: kl-lucb++}]\n"
        "instances: [{name: wide, family: two_level, w_star: 0.9, w_prime: 0.1}]\n"
    )
    path, found = tmp_path / "study.yaml", []
    for trials in ("20", "{relative_error: 0.001, at_least: 20, at_most: 4000}"):
        path.write_text(study.replace("TRIALS", trials))
        assert re.search(r"; about \S+ \w+ \(.+ to .+\) on one core", call("check", path, "--pilot", "1").out)
        (row,) = rows_of(path, "--pilot", "1")
        assert float(str(row["seconds_low"])) < float(str(row["seconds"])) < float(str(row["seconds_high"]))
        found.append(float(str(row["seconds"])))
    assert found[1] > 20 * found[0]


def test_without_a_pilot_there_are_bounds_only(config: Path) -> None:
    assert "on one core" not in call("check", config, "--pilot", "0").out.splitlines()[-1]
    assert [row["steps"] for row in rows_of(config, "--pilot", "0")] == [None, None]


def test_trials_that_the_pilot_cannot_end_are_a_lower_limit(tmp_path: Path) -> None:
    hard = tmp_path / "hard.yaml"
    hard.write_text(
        "seed: 1\nL: 6\nK: 2\nlearners: [{name: u, algorithm: 'experiments.uniform_kl:UniformKL'}]\n"
        "instances: [{name: close, family: two_level, w_star: 0.5, w_prime: 0.4999}]\n"
    )
    assert "; more than " in call("check", hard, "--pilot", "0.01").out
    (row,) = rows_of(hard, "--pilot", "0.01")
    assert not row["ended"]


def test_trials_that_do_not_end_are_judged_by_those_of_the_same_learner(tmp_path: Path) -> None:
    """Before, one hard instance made the whole estimate a lower limit, some ten times too small."""
    mixed = tmp_path / "mixed.yaml"
    mixed.write_text(
        "seed: 1\nL: 6\nK: 2\nengine: reference\nlearners: [{name: u, algorithm: kl-lucb++}]\ninstances:\n"
        "  - {name: wide, family: two_level, w_star: 0.9, w_prime: 0.1}\n"
        "  - {name: close, family: two_level, w_star: 0.55, w_prime: 0.45}\n"
    )
    shown = call("check", mixed, "--pilot", "0.2")
    assert "; about " in shown.out
    wide, close = rows_of(mixed, "--pilot", "0.2")
    assert 500 < close["steps"] < 20_000
    assert close["steps"] > 5 * wide["steps"]


def test_trials_that_do_not_end_are_judged_by_those_of_other_learners_and_by_the_cap(tmp_path: Path) -> None:
    """Before, one learner whose trials the pilot does not end made the whole estimate a lower limit."""
    path = tmp_path / "slow.yaml"
    study = (
        "seed: 1\nL: 6\nK: 2\nengine: reference\ninstances: [{name: a, family: two_level, w_star: 0.7, w_prime: 0.4}]\n"
        "learners:\n  - {name: slow, algorithm: cascadebai}\n"
    )
    path.write_text(study + "  - {name: quick, algorithm: kl-lucb++}\n")
    slow, quick = rows_of(path, "--pilot", "0.15")
    assert slow["ended"]
    assert quick["ended"]
    assert slow["steps"] > quick["steps"] / 2
    slow, _ = rows_of(path, "--pilot", "0.01", "--set", "max_steps=2500")
    assert 2000 <= slow["steps"] <= 2500, "its own trials made 1,000 steps without an end, whatever others tell"
    path.write_text(study + "max_steps: 100_000\n")
    (slow,) = rows_of(path, "--pilot", "0.01")
    assert slow["ended"]
    assert slow["steps"] == pytest.approx((1000 * 100_000) ** 0.5)
    assert slow["seconds_high"] == pytest.approx(10 * slow["seconds"])
    (slow,) = rows_of(path, "--pilot", "0.01", "--set", "max_steps=null")
    assert not slow["ended"]


def test_learners_of_ones_own_budgets_and_trials_until_it_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN_AND_BUDGETS)
    assert "valid: 2 cells, 8 to 60 trials" in call("check", path, "--pilot", "0.1").out
    path.write_text(BUDGETS)
    uniform, sar = rows_of(path, "--pilot", "1")
    assert uniform["steps"] == pytest.approx((20 + 40 + 80 + 3000) / 4, rel=0.05)
    assert uniform["lower"] is None
    assert sar["engine"] == "phases"


def test_what_is_wrong_is_refused_as_by_a_sweep(config: Path) -> None:
    config.write_text(config.read_text().replace("K: [1, 2]", "K: [1, 6]"))
    assert refusal("check", config) == refusal("sweep", config)
    assert "--pilot" in call("check", config, "--pilot", "-1").err


def test_what_needs_too_much_memory_is_refused_before_a_pilot(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cascadebai_cli.running.runner._machine_memory", lambda: 10)
    assert "of memory, but this machine has 0.0 GB" in refusal("check", config)


def test_a_starter_is_valid_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "written: study.yaml" in call("init").out
    text = Path("study.yaml").read_text()
    keys = [line.split(":")[0].strip(" -") for line in text.splitlines() if ": " in line and " # " not in line]
    assert set(keys) <= {"name", "algorithm", "confidence"}, "keys without a comment"
    assert call("check", "study.yaml", "--pilot", "0").code == 0
    assert sweep(Path("study.yaml"), Path("r"), "--trials", "2").code == 0
    assert call("plot", "r").code == 0


def test_a_starter_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("precious")
    assert "is there already and stays as it is" in refusal("init", path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    "name", ["a\nb", "a\x07b", os.fsdecode(b"\xff"), " a "], ids=["line break", "bell", "not UTF-8", "blanks"]
)
def test_a_name_that_no_config_can_hold_is_refused(name: str, tmp_path: Path) -> None:
    source, path = tmp_path / f"{name}.csv", tmp_path / f"{name}.yaml"
    source.write_text("ad,rate\nx,0.5\ny,0.2\n")
    assert "name a file that is one plain line" in refusal("init", path)
    assert "name a file that is one plain line" in refusal("init", tmp_path / "x.yaml", "--from", source)
    assert list(tmp_path.iterdir()) == [source]


def test_commands_that_are_told_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("my study's; 'one'.yaml")
    told = call("init", path).out.splitlines()[-1].removeprefix("next:")
    assert shlex.split(told) == ["cascadebai", "check", f"{path};", "cascadebai", "sweep", str(path)]
    assert shlex.quote(f"results/{path.stem}") in path.read_text()
    told = call("sweep", path, "--shard", "1/9", "--trials", "1", "--out", "a shard").out.splitlines()[-1]
    assert "cascadebai merge 'a shard' ..." in told
    assert "cascadebai sweep CONFIG --out 'no where'" in refusal("plot", "no where")


def test_a_starter_from_a_file_finds_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    call("init", path, "--from", DATA)
    (entry,) = load_study(path).instances
    assert (entry.item, entry.clicks, entry.views, entry.K) == ("item", "funny", "ratings", (4,))
    assert sweep(path, tmp_path / "r", "--trials", "2").code == 0


@pytest.mark.parametrize(
    ("text", "item", "columns", "K"),
    [
        ("ad,impressions,clicks\na,100,50\nb,100,40\nc,100,2\n", "ad", ("clicks", "impressions", None), 2),
        ("0,1\n3,9\n1,8\n", None, ("0", "1", None), 1),
        ("word,ctr\nx: y,0.5\nz,0.25\n", "word", (None, None, "ctr"), 1),
        ("name of it,Views 2024,#Clicks\na,10,5\nb,12,1\n", "name of it", ("#Clicks", "Views 2024", None), 1),
        (",clicks,views\nred,5,10\nblue,1,12\n", None, ("clicks", "views", None), 1),
        ("ad ,clicks\t, views \nred,5,10\nblue,1,12\n", "ad", ("clicks", "views", None), 1),
        ("ad,ctr \nred,0.5\nblue,0.2\n", "ad", (None, None, "ctr"), 1),
        ("ad;views;clicks\nx;9;1\ny;8;2\n", "ad", ("clicks", "views", None), 1),
        ("ad,ad,rank,rate\nred,a,3,0.5\nblue,b,4,0.2\n", None, (None, None, "rate"), 1),
        ('"the\nad",clicks,views\nred,5,10\nblue,1,12\n', None, ("clicks", "views", None), 1),
    ],
)
def test_columns_of_all_kinds(
    text: str, item: str | None, columns: tuple[str | None, ...], K: int, tmp_path: Path
) -> None:
    source = tmp_path / "a log: '1'.csv"
    source.write_text(text)
    path = tmp_path / "x.yaml"
    assert call("init", path, "--from", source).code == 0
    (entry,) = load_study(path).instances
    assert (entry.item, (entry.clicks, entry.views, entry.rate), entry.K) == (item, columns, (K,))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("plot.where={K: 7}", "--set plot.where: K: 7 is in no cell; use one of 1, 2"),
        ("plot.where={delta: [0.2, 0.3]}", "--set plot.where: delta: 0.3 is in no cell; did you mean 0.2?"),
        ("plot.where={instance: wid}", "'wid' is in no cell; did you mean wide?"),
        ("plot.kind=error", "--set plot.kind: 'error' is drawn against the budget, which is known of studies with a"),
        ("plot.x=budget", "--set plot.x: 'budget' is known of studies with a budget only; choose another kind"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "sweep"])
def test_a_figure_that_would_be_empty_is_refused_before_a_trial_runs(
    setting: str, words: str, verb: str, config: Path
) -> None:
    assert words in refusal(verb, config, "--set", setting)
    same = "plot.where={K: 2, delta: 0.2, instance: wide}"
    assert call("check", config, "--pilot", 0, "--set", same).code == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no such file"),
        ("", "no header row; name the columns on the first line"),
        ("a,b\nx,y\nz,w\n", "no two columns can be clicks and views"),
        ("ad,rate\nx,0.5\ny,0.5\n", "the same rate"),
        ("ad,clicks,views\nx,3,10\ny,20,10\nz,1,9\n", ":3: clicks 20 exceeds views 10; correct the row"),
        ("ad,rank,clicks,views\nx,1,3,10\ny,2,20,10\nz,3,1,9\n", ":3: clicks 20 exceeds views 10; correct the row"),
        ("ad,clicks,views\nx,3,10\ny,0,0\nz,1,9\n", ":3: views 0 "),
        ("ad,clicks,views\nx,3,10\ny,-1,5\nz,1,9\n", ":3: clicks -1 must be 0 or larger"),
    ],
)
def test_a_file_that_does_not_do_is_refused(text: str | None, words: str, tmp_path: Path) -> None:
    source = tmp_path / "log.csv"
    if text is not None:
        source.write_text(text)
    assert words in refusal("init", tmp_path / "x.yaml", "--from", source)
    assert not (tmp_path / "x.yaml").exists()
