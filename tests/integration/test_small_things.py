"""What a user types by habit works or is answered with the word that is meant."""

import re
from pathlib import Path

import pandas as pd
import pytest
from sweeps import call, refusal, write_config

from cascadebai_cli.cli.app import EXAMPLES

LOG = "ad,shown,clicks\na,100,5\nb,100,3\nc,90,1\n"


@pytest.fixture
def swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a sweep in the working directory, beside its config."""
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path, trials=3)
    assert call("sweep", "study.yaml", "-o", "results/study", "--n-jobs", 1, "--quiet").code == 0
    return Path("results/study")


def test_the_other_ending_of_a_config_is_named(swept: Path) -> None:
    assert refusal("sweep", "study.yml") == "study.yml: there is no such file; did you mean study.yaml?\n"
    assert refusal("sweep", "study") == "study: there is no such file; did you mean study.yaml?\n"
    assert refusal("sweep", "other.yml").endswith("name a config such as configs/smoke.yaml\n")


def test_plan_names_the_columns_of_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    assert refusal("plan", "log.csv", "-K", 1) == (
        "log.csv: a log of counts needs --items COLUMN; name the column; the columns are ad, shown, clicks\n"
    )
    Path("log.csv").write_text(LOG.replace(",", ";"))
    assert refusal("plan", "log.csv", "--items", "ad", "--event").endswith("; the columns are ad, shown, clicks\n")


def test_one_and_several_instances_and_learners_have_both_names(swept: Path) -> None:
    run = ("run", "study.yaml", "--trials", 1, "--K", 1, "--n-jobs", 1, "--quiet")
    one, other = (re.sub(r"time.*", "", call(*run, flag, "wide").out) for flag in ("--instances", "--instance"))
    assert one == other != ""
    assert refusal("plot", swept, "--learner", "nobody").startswith("--learners 'nobody' is not known")
    assert call("plot", swept, "--kind", "curves", "--instance", "wide", "--format", "png", "-o", "a.png").code == 0


def test_every_verb_that_writes_takes_o(swept: Path) -> None:
    for verb in EXAMPLES:
        shown = call(verb.__name__, "--help").out
        assert ("-o, " in shown) == bool(re.search(r"--(out|csv) ", shown)), verb.__name__
    assert call("bounds", "study.yaml", "--results", swept, "-o", "b.csv").code == 0
    assert Path("b.csv").is_file()


def test_a_report_makes_no_folder(swept: Path) -> None:
    assert refusal("report", swept, "--out", "new/page.html") == (
        "--out new/page.html: there is no folder new; make it, or name a file in another one\n"
    )
    assert not Path("new").exists()


def test_a_study_without_published_values_has_no_columns_for_them(tmp_path: Path) -> None:
    config = write_config(tmp_path, trials=3)
    config.write_text(
        config.read_text().replace("K: [1, 2]", "K: [1, 2, 3]").replace("w_prime: 0.1", "w_prime: 0.1, fit: {model: K}")
    )
    assert call("sweep", config, "--out", tmp_path / "d", "--n-jobs", 1, "--quiet").code == 0
    assert call("fit", tmp_path / "d").code == 0
    fits = pd.read_csv(tmp_path / "d" / "fits.csv")
    assert len(fits) == 1
    assert not [name for name in fits if name.startswith("published_")]
