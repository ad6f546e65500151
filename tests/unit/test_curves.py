"""Fits over any axis: which cells make a curve, which models are known, what is printed of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic import scaling_config, write_results

from cascadebai_cli.analysis.curves import fit_models, fit_scaling, log_log_slope
from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.analysis.tables import figure_data, study_table
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.study.fields import Zip


def results_of(folder: Path, fit: dict[str, Any] | None, steps: Any, **changes: Any) -> StudyResults:
    config = scaling_config(1, **{"K": [20], **changes})
    config["instances"][0]["fit"] = fit
    return load_results(write_results(folder / "r", config, steps, spread=0.01))


def test_a_fit_over_delta(tmp_path: Path) -> None:
    fit = {"x": "delta", "model": ["log(x)", "x^2", "log(1/delta)"]}
    deltas = [0.2, 0.1, 0.05, 0.01]
    results = results_of(tmp_path, fit, lambda cell: 1000 - 300 * np.log(cell["delta"]), delta=deltas)
    fits = study_table(results, "fits.csv").rows
    assert list(fits["model"]) == ["log(delta)", "delta^2", "log(1/delta)"]
    assert fits["c1"].to_numpy()[[0, 2]] == pytest.approx([-300, 300], rel=0.02)
    assert fits["best_model"].tolist() == ["log(delta)"] * 3
    assert fits["delta"].isna().all()
    assert fits[["x", "K", "L"]].to_numpy().tolist() == [["delta", 20, 128]] * 3
    lines = str(study_table(results, "fits.csv").printed).splitlines()
    assert lines[0].startswith("learner = CascadeBAI, x = delta, L = 128, K = 20, epsilon = 0, points = 4;")
    assert lines[3].split()[:3] == ["setting", "1", "log(delta)"]


def test_the_curve_and_the_data_of_the_figure_follow_the_axis_and_the_best_of_the_models(tmp_path: Path) -> None:
    fit = {"x": "L", "model": ["x^2", "x"]}
    results = results_of(tmp_path, fit, lambda cell: 50 * cell["L"], L=[64, 96, 128, 192])
    curve = results.curves()[0].drawn
    assert curve["x"].iloc[[0, -1]].tolist() == [64, 192]
    assert curve["fitted"].iloc[[0, -1]].to_numpy() == pytest.approx([3200, 9600], rel=0.02)
    assert figure_data(results, "scaling")["fitted"].to_numpy() == pytest.approx([3200, 4800, 6400, 9600], rel=0.02)


def test_without_a_fit_the_axis_is_what_varies(tmp_path: Path) -> None:
    results = results_of(tmp_path, None, lambda cell: 100 / cell["delta"], delta=[0.2, 0.1, 0.05])
    assert [curve.x for curve in results.curves()] == ["delta"]
    lines = str(study_table(results, "models.csv").printed).splitlines()
    assert lines[1].split()[:5] == ["instance", "delta", "delta^2", "sqrt(delta)", "log(delta)"]


def test_an_axis_that_holds_zero_has_no_logarithm(tmp_path: Path) -> None:
    results = results_of(tmp_path, None, lambda cell: 500 - 900 * cell["epsilon"], epsilon=[0, 0.1, 0.2])
    models = study_table(results, "models.csv").rows
    assert list(models["model"]) == ["epsilon", "epsilon^2", "sqrt(epsilon)"]
    assert models["loglog_slope"].isna().all()
    assert str(study_table(results, "models.csv").printed).splitlines()[3].split()[:3] == ["setting", "1", "best"]


def test_what_is_zipped_with_the_axis_makes_no_curve_of_its_own(tmp_path: Path) -> None:
    pairs = {"K": [16, 20, 24], "delta": [0.1, 0.05, 0.02]}
    crossed = results_of(tmp_path, {"model": "K"}, lambda cell: 100 * cell["K"], **pairs)
    rows = list(zip(*pairs.values(), strict=True))
    there = [pair in rows for pair in zip(crossed.summary["K"], crossed.summary["delta"], strict=True)]
    study = crossed.study.model_copy(update={"zip": Zip.model_validate(pairs)})
    results = replace(crossed, study=study, summary=crossed.summary[there])
    (curve,) = results.curves()
    assert curve.values.tolist() == [16, 20, 24]
    assert "delta" not in curve.key
    fits = study_table(results, "fits.csv").rows
    assert fits["c1"][0] == pytest.approx(100, rel=0.05)
    assert fits["delta"].isna().all()
    assert "x" not in fits


def test_learners_that_differ_in_an_option_make_a_curve_over_it(tmp_path: Path) -> None:
    learners = [
        {"name": f"{confidence} {sigma}", "algorithm": "cascadebai", "sigma": sigma, "confidence": confidence}
        for confidence in ("lil", "kl")
        for sigma in (0.25, 0.5, 0.75, 1.0)
    ]

    def steps(cell: dict[str, Any]) -> float:
        return 1e4 * float(cell["learner"].split()[1]) ** 2

    results = results_of(tmp_path, {"x": "sigma", "model": "x^2"}, steps, learners=learners)
    fits = study_table(results, "fits.csv").rows
    assert list(fits["learner"]) == ["lil {sigma}", "kl {sigma}"]
    assert fits["c1"].to_numpy() == pytest.approx([1e4, 1e4], rel=0.02)
    assert list(fits["model"]) == ["sigma^2"] * 2


def test_words_are_no_axis(tmp_path: Path) -> None:
    results = results_of(tmp_path, {"x": "order", "model": "x"}, lambda cell: 100.0)
    with pytest.raises(ConfigError, match=r"^fit: x: order has values that are no numbers"):
        study_table(results, "fits.csv")


@pytest.mark.parametrize(
    ("fit", "sentence"),
    [
        ({"model": ["K", "x^3"], "published": {"c1": 3}}, "known values belong to one model; name exactly one"),
        ({"model": []}, "known values belong to one model; name exactly one"),
        ({"x": "L", "model": "K"}, "K uses K, which is not known"),
        ({"x": "sgima", "model": "x"}, "'sgima' is no number of the grid and no option of a learner"),
    ],
)
def test_a_fit_that_is_none_is_refused(tmp_path: Path, fit: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        results_of(tmp_path, fit, lambda cell: 100.0)


def test_a_model_of_ones_own_is_a_formula() -> None:
    K = np.arange(2.0, 9.0)
    fit = fit_scaling(K, 3 * K * np.log(K) + 7, "K*log(K)")
    assert (fit.c1, fit.c2) == pytest.approx((3, 7))
    assert fit.predict([10.0]) == pytest.approx([30 * np.log(10) + 7])
    with pytest.raises(ConfigError, match="3 is the same at every K"):
        fit_scaling(K, K, "3")
    with pytest.raises(ConfigError, match="has no value at K = 2"):
        fit_scaling(K, K, "sqrt(K - 3)")


def test_the_models_of_an_axis_are_those_of_K_with_its_name() -> None:
    x = np.array([2.0, 3.0, 5.0])
    ours, K = fit_models(x, x**2, "L"), fit_models(x, x**2)
    assert [fit.model for fit in ours] == [fit.model.replace("K", "L") for fit in K]
    assert [fit.c1 for fit in ours] == [fit.c1 for fit in K]
    assert log_log_slope(x, x**2, "L").value == pytest.approx(2)


def test_the_band_ends_at_0_and_may_be_below_1(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30, 40, 50], instances=[{**scaling_config(1)["instances"][0]}])
    results = load_results(write_results(tmp_path / "r", config, lambda cell: 9.0))
    results.summary["mean_steps"], results.summary["se_steps"] = [0.5, 0.6, 0.7, 0.8], 0.0001
    assert 0 < results.curves()[0].drawn["low"].min() < 0.6
    results.summary["se_steps"] = 5.0  # a wide band
    assert replace(results).curves()[0].drawn["low"].min() == 0
