"""At which budget errors are seldom enough."""

import math

import numpy as np
import pytest
from sweeps import call, rows_in, sweep

from cascadebai_cli.analysis.fits import falls_below
from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.analysis.tables import study_table
from cascadebai_cli.study.config import load_study

BUDGETS = np.array([100.0, 200.0, 400.0, 800.0])


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([0.4, 0.2, 0.05, 0.01], 300),
        ([0.4, 0.2, 0.1, 0.001], 400),
        ([0.4, 0.05, 0.2, 0.05], 600),
        ([0.4, 0.3, 0.2, 0.15], math.inf),
        ([0.05, 0.03, 0.2, 0.2], math.inf),
        ([0.05, 0.03, 0.01, 0.0], 0),
        ([0.4, 0.2, 0.0, 0.0], 200 + 200 * math.log(2) / math.log(0.2 / 0.005)),
    ],
)
def test_the_budget_from_which_on_rates_are_below_the_level(rates, expected):
    assert falls_below(BUDGETS, np.array(rates), 0.1, 0.005) == pytest.approx(expected)


def test_a_rate_that_falls_exponentially_crosses_where_it_does():
    rates = np.exp(-BUDGETS / 50)
    assert falls_below(BUDGETS, rates, 0.01, 1e-9) == pytest.approx(50 * math.log(100))


CONFIG = """\
seed: 5
trials: 60
instances:
  - {name: two, family: two_level, L: 8, K: 2, w_star: 0.8, w_prime: 0.3, budget: {from: 10, to: 640, times: 2}}
learners:
  - {name: uniform, algorithm: uniform}
  - {name: sar, algorithm: sar}
"""


@pytest.fixture
def directory(tmp_path):
    config = tmp_path / "study.yaml"
    config.write_text(CONFIG)
    assert sweep(config, tmp_path / "out").code == 0
    return tmp_path / "out"


def test_fit_writes_and_prints_the_budgets_of_each_learner_and_no_fit_of_steps(directory):
    said = call("fit", directory)
    assert said.code == 0
    assert "below 10 %" in said.out
    rows = rows_in(directory, "budgets.csv")
    assert [row["learner"] for row in rows] == ["uniform", "sar"]
    for row in rows:
        assert (row["smallest"], row["largest"]) == ("10", "640")
        for level in (10, 5, 1):
            low, at, high = (float(row[f"{end}_{level}"]) for end in ("low", "budget", "high"))
            assert low <= at <= high
        assert float(row["budget_10"]) <= float(row["budget_5"]) <= float(row["budget_1"]) < 640
    assert not (directory / "models.csv").exists()


def test_the_figure_of_a_study_with_budgets_shows_errors_unless_it_says_otherwise(tmp_path):
    config = tmp_path / "study.yaml"
    for plot, kind in {"": "error", "plot: {width: column}\n": "error", "plot: {kind: curves}\n": "curves"}.items():
        config.write_text(CONFIG + plot)
        assert load_study(config).plot.kind == kind
    config.write_text(CONFIG.replace(", budget: {from: 10, to: 640, times: 2}", "") + "max_steps: 9\n")
    config.write_text(config.read_text().replace("  - {name: sar, algorithm: sar}\n", ""))
    assert load_study(config).plot.kind == "scaling"


def test_no_error_counts_as_half_an_error_among_the_trials_with_the_fewest(directory):
    results = load_results(directory)
    summary = results.summary[results.summary["learner"] == "sar"].copy()
    summary["n"], summary["error_rate"] = 50, 0.0
    summary.iloc[0, summary.columns.get_loc("error_rate")] = 0.4
    summary.iloc[-1, summary.columns.get_loc("n")] = 60
    table = study_table(results.derived(study=results.study, summary=summary), "budgets.csv").rows
    first, second = sorted(summary["budget"])[:2]
    share = math.log(0.4 / 0.05) / math.log(0.4 / 0.01)
    assert table["budget_5"].tolist() == [pytest.approx(first + (second - first) * share)]
