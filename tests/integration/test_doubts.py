"""What a reader of a summary must know: cells that missed their aim, and cells wrong more often than delta."""

import pandas as pd
import pytest
from sweeps import call

from cascadebai_cli.store.trials import summary_text

AIM = """\
seed: 3
trials: {{relative_error: 0.03, at_least: 4, at_most: {most}}}
L: 5
K: 2
instances: [{{name: two, family: two_level, w_star: 0.8, w_prime: 0.1}}]
learners:
  - {{name: CascadeBAI, algorithm: cascadebai}}
  - {{name: KL-LUCB++, algorithm: kl-lucb++}}
"""
BAD = """
class Blind:
    def __init__(self, L, K, delta, epsilon=0.0):
        self.L, self.K, self.finished, self.recommendation = L, K, False, ()

    def select(self):
        return [0]

    def observe(self, shown, outcomes):
        self.finished, self.recommendation = True, tuple(range(self.L - self.K, self.L))
"""
OFTEN_WRONG = """\
seed: 3
trials: 20
order: as_given
instances: [{name: four, family: explicit, weights: [0.9, 0.8, 0.1, 0.05], K: 2}]
learners:
  - {name: CascadeBAI, algorithm: cascadebai}
  - {name: blind, algorithm: "MODULE:Blind"}
plot: {kind: bars, format: svg}
"""


@pytest.fixture
def missed(tmp_path):
    (tmp_path / "aim.yaml").write_text(AIM.format(most=12))
    return tmp_path / "aim.yaml"


@pytest.fixture
def wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = f"blind_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(BAD)
    (tmp_path / "wrong.yaml").write_text(OFTEN_WRONG.replace("MODULE", module))
    return tmp_path / "wrong.yaml"


def sweep(config):
    return call("sweep", config, "--out", config.parent / "out", "--n-jobs", 1)


def test_a_cell_that_missed_its_aim_is_marked_everywhere(missed):
    done, out = sweep(missed), missed.parent / "out"
    said = "warning: 1 of 2 cells missed the aim of trials; a larger at_most may reach it: two, KL-LUCB++ at K = 2"
    assert (done.code, said in done.err) == (0, True)
    summary = pd.read_csv(out / "summary.csv")
    assert list(summary["aim_missed"]) == [0, 1]
    assert (out / "summary.csv").read_text() == summary_text(out)
    half = (summary["ci_high"] - summary["ci_low"]) / 2 / summary["mean_steps"]
    assert list(half > 0.03) == [False, True]
    status = call("sweep", missed, "--out", out, "--status").out
    assert status.splitlines()[-1] == "2 cells, 2 of them done, 1 of these missed the aim"
    assert [line.endswith("missed") for line in status.splitlines()[3:5]] == [False, True]
    shown = call("summary", out)
    assert [line.split()[-1] for line in shown.out.splitlines()[3:]] == ["reached", "missed"]
    assert "1 of 2 cells missed the aim" in shown.err


def test_where_every_aim_is_reached_nothing_is_said(missed):
    missed.write_text(AIM.format(most=2000))
    done, out = sweep(missed), missed.parent / "out"
    assert "aim" not in done.err
    assert list(pd.read_csv(out / "summary.csv")["aim_missed"]) == [0, 0]
    assert "aim" not in call("summary", out).out
    assert call("sweep", missed, "--out", out, "--status").out.splitlines()[-1] == "2 cells, 2 of them done"


def test_a_fixed_number_of_trials_has_no_aim(missed):
    assert call("sweep", missed, "--out", missed.parent / "out", "--trials", 4, "--n-jobs", 1).code == 0
    assert "aim_missed" not in pd.read_csv(missed.parent / "out" / "summary.csv")


def test_an_error_rate_above_delta_is_marked_everywhere(wrong):
    done, out = sweep(wrong), wrong.parent / "out"
    said = "warning: 1 of 2 cells are wrong more often than delta: four, blind at K = 2, delta = 0.1, 100%"
    assert said in done.err
    marked = [line.count("> delta") for line in call("summary", out).out.splitlines()[3:]]
    assert marked == [0, 1]
    header = call("summary", out).out.splitlines()[1]
    assert header.split("  ")[0] == "learner"
    assert "too" not in header
    status = call("sweep", wrong, "--out", out, "--status").out.splitlines()
    assert [line.count("20 > delta") for line in status[3:5]] == [0, 1]
    ran = call("run", wrong, "--learner", "blind", "--n-jobs", 1).out
    assert "more than delta = 0.1" in ran
    assert "more than delta" not in call("run", wrong, "--learner", "CascadeBAI", "--n-jobs", 1).out
    page = call("report", out, "--out", out / "report.html")
    assert said.removeprefix("warning: ") in page.err
    assert "wrong more often than delta" in (out / "report.html").read_text()
    assert "blind" in call("plot", out).err
