"""Bounds of cells beside what was measured."""

import json
import sys
from dataclasses import replace

import drawn
import numpy as np
import pandas as pd
import pytest
import yaml
from sweeps import call
from synthetic import scaling_config, write_results

from cascadebai_cli.analysis.bounds import bounds_printed, bounds_row, learner_bounds, outside, with_measured
from cascadebai_cli.analysis.cells import averaged
from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.analysis.tables import study_table
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import CASCADING, SEMI_BANDIT, Instance
from cascadebai_cli.study.config import load_study
from cascadebai_cli.theory.paper import (
    PRINTED_CONSTANT,
    CellBounds,
    TwoLevelBounds,
    lower_bound,
    two_level_instance,
)

TWO = two_level_instance(10, 3, 0.6, 0.2)
RAMP = Instance(np.linspace(0.9, 0.1, 9), 4)
K = [20, 30, 40]


@pytest.fixture
def results(tmp_path):
    return load_results(write_results(tmp_path / "table1", scaling_config(2, K=K), spread=0.0))


@pytest.mark.parametrize(
    ("instance", "expected"),
    [
        (TWO, True),
        (RAMP, False),
        (two_level_instance(5, 2, 0.5, 0.0), False),
        (two_level_instance(5, 2, 0.5, 0.2, 0.1), False),
        (Instance(np.array([0.9, 0.9, 0.8, 0.1]), 2), False),
    ],
)
def test_two_level_means_two_positive_weights_and_no_tolerance(instance, expected):
    assert (CellBounds.of_algorithm_1(instance, 0.1).two_level is not None) is expected
    assert (CellBounds.of_algorithm_1(instance, 0.1).two_level is not None) is expected


def test_sigma_and_the_printed_constant_scale_t_bar():
    half, one = (learner_bounds(TWO, 0.1, "cascadebai", {"sigma": sigma}) for sigma in (0.5, 1.0))
    assert half == learner_bounds(TWO, 0.1, "cascadebai", {}) == CellBounds.of_algorithm_1(TWO, 0.1)
    assert 3.9 < one.upper.terms["observing"] / half.upper.terms["observing"] < 4.5
    assert learner_bounds(TWO, 0.1, "cascadebai", {}, printed=True) == CellBounds.of_algorithm_1(
        TWO, 0.1, PRINTED_CONSTANT
    )


SHORT = {"list_length": 2, "b": 2}


@pytest.mark.parametrize(
    ("algorithm", "options", "feedback"),
    [("batrac", {"b": 3}, SEMI_BANDIT), ("cascadebai", {"order": "U_desc"}, CASCADING), ("own", {}, CASCADING)],
)
def test_other_learners_have_a_lower_bound_only(algorithm, options, feedback):
    bounds = learner_bounds(TWO, 0.1, algorithm, options, feedback)
    assert bounds.lower == lower_bound(TWO, 0.1, semi_bandit=feedback == SEMI_BANDIT)
    assert bounds.upper is None
    assert bounds_row(bounds) == {**dict.fromkeys(bounds_row(bounds)), "lower": bounds.lower}


@pytest.mark.parametrize(
    ("algorithm", "options", "feedback"),
    [
        ("kl-lucb++", {"list_length": 40}, CASCADING),
        ("kl-lucb++", {"list_length": 40}, SEMI_BANDIT),
        ("batrac", {"b": 40}, SEMI_BANDIT),
        ("batrac", {"b": 40, "r": 2}, CASCADING),
    ],
)
def test_longer_lists_have_a_smaller_lower_bound(algorithm, options, feedback):
    """The theorem is for lists of `K`: a list of 40 brings more observations a step."""
    of_K = learner_bounds(TWO, 0.1, algorithm, {}, feedback).lower
    longer, shorter = (
        learner_bounds(TWO, 0.1, algorithm, {**options, **fewer}, feedback).lower for fewer in ({}, SHORT)
    )
    assert 0 < longer < of_K
    assert shorter == of_K


def test_lists_of_K_are_those_of_the_paper_however_that_is_said():
    as_usual, said, shorter = (learner_bounds(TWO, 0.1, "cascadebai", {"list_length": M}) for M in (None, TWO.K, 1))
    assert said == as_usual
    assert as_usual.upper
    assert shorter.upper is None


def test_bounds_of_results_are_those_of_the_cells(results):
    table = results.bounds
    assert list(table["K"]) == K * 2
    forms = TwoLevelBounds(128, np.array(K), 0.5, 0.25, 0.1)
    assert table["upper"][:3].to_numpy() == pytest.approx(forms.upper())
    assert table["lower"][:3].to_numpy() == pytest.approx(forms.lower())
    assert table["measured_over_lower"][1] == pytest.approx(results.summary["mean_steps"][1] / forms.lower()[1])
    assert table["upper_over_measured"][1] == pytest.approx(forms.upper()[1] / results.summary["mean_steps"][1])


def test_weights_that_are_no_instance_are_refused_with_the_file(results):
    equal = replace(results, summary=results.summary.assign(w_star=0.25))
    with pytest.raises(ConfigError, match=r"table1.summary\.csv: setting 1: w\(K\) = w\(K\+1\)"):
        _ = equal.bounds


def test_sigma_of_the_learner_is_used(tmp_path):
    learner = {"name": "wide", "algorithm": "cascadebai", "sigma": 1.0}
    config = scaling_config(1, K=K, learners=[learner])
    table = load_results(write_results(tmp_path / "r", config)).bounds
    assert table["upper"][0] == pytest.approx(TwoLevelBounds(128, 20, 0.5, 0.25, 0.1, 256).upper())


OTHERS = {
    "linear": {"family": "linear", "w_max": 0.5, "w_min": "0.25/K"},
    "formula": {"family": "formula", "weight": "0.9 - i/(2*L)"},
    "explicit": {"family": "explicit", "weights": [0.9, "1/K", 0.2, 0.1, 0.05, 0.01]},
    "random": {"family": "random", "w_star": "uniform(0.6, 0.9)", "w_prime": "0.3 * beta(2, 5)", "replicate": 2},
    "csv": {"family": "csv", "path": "rates.csv", "rate": "rate"},
    "own": {"family": "kept_weights:zipf", "power": 2},
}
LEARNERS = [
    {"name": "CascadeBAI", "algorithm": "cascadebai"},
    {"name": "KL", "algorithm": "kl-lucb++", "list_length": 4},
]


@pytest.fixture
def swept(tmp_path, monkeypatch):
    """A sweep of instances of all families, and its cells."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "rates.csv").write_text("rate\n" + "\n".join(map(str, np.linspace(0.9, 0.1, 5))))
    (tmp_path / "kept_weights.py").write_text(
        "def zipf(L, K, power):\n    return [1 / (i + 1) ** power for i in range(L)]\n"
    )
    instances = [{"name": name, **entry} for name, entry in OTHERS.items()]
    config = {"seed": 3, "trials": 2, "K": [2, 3], "L": 6, "max_steps": 50}
    config |= {"instances": instances, "learners": LEARNERS}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(config))
    assert call("sweep", "study.yaml", "--out", "r", "--n-jobs", 1, "--quiet").code == 0
    cells = load_study("study.yaml").cells
    for name in ("rates.csv", "kept_weights.py"):
        (tmp_path / name).unlink()
    sys.modules.pop("kept_weights", None)
    return tmp_path / "r", cells


def test_every_family_has_the_bounds_that_its_config_has(swept):
    directory, cells = swept
    found = load_results(directory).bounds
    expected = [learner_bounds(cell.problem, cell.delta, cell.spec.algorithm, cell.spec.options) for cell in cells]
    assert found["cell_id"].tolist() == [cell.cell_id for cell in cells]
    assert found["lower"].tolist() == [bounds.lower for bounds in expected]
    assert found["upper"].dropna().tolist() == [bounds.upper.steps for bounds in expected if bounds.upper]
    assert found["upper"].notna().tolist() == [cell.learner == "CascadeBAI" for cell in cells]
    assert "kept_weights" not in sys.modules


def test_an_older_manifest_lacks_the_weights_of_files_and_code_only(swept):
    directory, _ = swept
    path = directory / "manifest.json"
    manifest = json.loads(path.read_text())
    assert len(manifest.pop("weights")) == 2
    path.write_text(json.dumps(manifest))
    results = load_results(directory)
    known = results.bounds.groupby("instance", sort=False)["lower"].count()
    assert known.to_dict() == {**dict.fromkeys(OTHERS, 4), "csv": 0, "own": 0}
    chart = drawn.data(results, kind="curves", x="K", y="steps_per_lower_bound")
    assert len(chart.panels) == 4
    assert chart.left_out.startswith("8 of 24 cells (csv, own) cannot be drawn: a lower bound above 0 is known for ")


def test_weights_that_are_not_those_of_the_rows_give_no_bounds(swept):
    results = load_results(swept[0])
    study = results.study.model_copy(update={"seed": 4})
    bounds = replace(results, study=study).bounds
    assert set(bounds.loc[bounds["lower"].isna(), "instance"]) == {"random"}


def test_the_bounds_of_a_mean_are_the_means_of_the_bounds(tmp_path):
    instances = [{"name": f"draw {i}", **OTHERS["random"], "replicate": i} for i in (1, 2)]
    results = load_results(write_results(tmp_path / "r", scaling_config(1, K=K, instances=instances)))
    known = averaged(results, "replicate").bounds
    for name in ("lower", "upper"):
        ones = results.bounds[name].to_numpy()
        assert known[name].to_numpy() == pytest.approx((ones[:3] + ones[3:]) / 2)


def row(**changes):
    return {"cell_id": "a", "instance": "x", "learner": "y", "L": 10, "K": 3, "delta": 0.1, "epsilon": 0.0} | changes


def measured(mean, capped=0):
    return pd.DataFrame([{"cell_id": "a", "n": 20, "mean_steps": mean, "n_capped": capped}])


def table_of(mean, capped=0):
    return with_measured(
        pd.DataFrame([row() | bounds_row(CellBounds.of_algorithm_1(TWO, 0.1))]), measured(mean, capped)
    )


def test_a_mean_outside_its_bounds_is_named():
    upper, lower = CellBounds.of_algorithm_1(TWO, 0.1).upper.steps, CellBounds.of_algorithm_1(TWO, 0.1).lower
    assert outside(table_of((lower + upper) / 2)) == []
    (sentence,) = outside(table_of(2 * upper))
    assert sentence.startswith("x, y, K = 3: the measured mean ")
    assert len(outside(table_of(lower / 2))) == 1
    assert outside(table_of(lower / 2, capped=3)) == []


def test_text_has_a_line_a_cell_and_only_names_that_differ():
    lines = str(bounds_printed(table_of(500.0, capped=2))).splitlines()
    assert lines[0] == "instance = x, learner = y, L = 10, delta = 0.1, epsilon = 0"
    assert lines[1].split()[:7] == ["K", "lower", "bound", "mean", "steps", "upper", "bound"]
    assert ">= 500" in lines[3]
    assert lines[3].split()[-1] == "two-level"


def test_cells_without_a_bound_or_a_mean_show_a_dash():
    rows = [row(), row(cell_id="b", instance="z", epsilon=0.2)]
    none = bounds_row(learner_bounds(two_level_instance(10, 3, 0.6, 0.2, 0.2), 0.1, "own", {}))
    table = with_measured(
        pd.DataFrame([rows[0] | bounds_row(CellBounds.of_algorithm_1(TWO, 0.1)), rows[1] | none]), None
    )
    assert str(bounds_printed(table)).splitlines()[4].split() == ["z", "3", "0.2", *["-"] * 7]


def test_slopes_stand_beside_the_measured_ones(results):
    slopes = study_table(results, "bound_fits.csv").rows
    assert list(slopes["model"]) == ["K", "K^2"]
    assert slopes["c1"].to_numpy() == pytest.approx([21881.8, 16839.0], rel=1e-4)
    upper = results.bounds["upper"][:3]
    assert slopes["bound_c1"][0] == pytest.approx(np.polyfit(K, upper, 1)[0])
    assert slopes["bound_over_measured"][0] == pytest.approx(slopes["bound_c1"][0] / slopes["c1"][0])
    assert "21881.8" in str(study_table(results, "bound_fits.csv").printed)


def test_no_slopes_where_the_config_fits_nothing(tmp_path):
    config = scaling_config(1, K=K)
    del config["instances"][0]["fit"]
    assert study_table(load_results(write_results(tmp_path / "r", config)), "bound_fits.csv").rows.empty
