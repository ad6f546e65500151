"""Tables of a study: the rows of the CSV files and what is printed."""

from pathlib import Path

import numpy as np
import pytest
from synthetic import SETTINGS, scaling_config, write_results

from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.analysis.tables import study_table
from cascadebai_cli.text import Table, coefficient, difference

COLUMNS = ["study", "instance", "learner", "model", "c1", "c1_se", "c2", "c2_se", "r2", "p_value", "n_points"]
PUBLISHED = ["published_c1", "published_c2", "published_r2", "published_p_value"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    return load_results(write_results(tmp_path_factory.mktemp("r") / "table1", scaling_config()))


def test_one_row_an_instance_with_the_model_of_the_config(results: StudyResults) -> None:
    fits = study_table(results, "fits.csv").rows
    assert list(fits.columns[:15]) == COLUMNS + PUBLISHED
    assert list(fits["instance"]) == [f"setting {i}" for i in range(1, 6)]
    assert list(fits["model"]) == [s["model"] for s in SETTINGS]
    assert list(fits["published_c1"]) == [s["published"] for s in SETTINGS]
    assert fits["c1"].to_numpy() == pytest.approx([s["c1"] for s in SETTINGS], rel=0.02)
    assert set(fits["rows_sha256"]) == {results.rows_sha256}


def test_every_model_with_the_best_flagged(results: StudyResults) -> None:
    models = study_table(results, "models.csv").rows
    assert len(models) == 20
    assert list(models.columns[:13]) == [*COLUMNS, "aic", "best"]
    for _, group in models.groupby("instance"):
        assert group["best"].sum() == 1
        assert group.loc[group["best"] == 1, "aic"].item() == group["aic"].min()
    best = models[models["best"] == 1]
    assert list(best["model"]) == [s["model"] for s in SETTINGS]


def test_the_band_encloses_the_curve(results: StudyResults) -> None:
    for curve in results.curves():
        assert (curve.drawn["low"] < curve.drawn["fitted"]).all()
        assert (curve.drawn["fitted"] < curve.drawn["high"]).all()
        assert curve.drawn["x"].iloc[[0, -1]].tolist() == [20, 60]


def test_instances_without_a_model_have_no_fit(tmp_path: Path) -> None:
    config = scaling_config(2, K=[20, 30, 40])
    del config["instances"][0]["fit"]
    results = load_results(write_results(tmp_path / "r", config))
    assert list(study_table(results, "fits.csv").rows["instance"]) == ["setting 2"]
    assert len(study_table(results, "models.csv").rows) == 8
    assert [curve.name for curve in results.curves() if curve.models] == ["setting 2, CascadeBAI"]


def test_each_tolerance_has_a_fit_of_its_own(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30, 40], epsilon=[0.0, 0.05])
    results = load_results(
        write_results(tmp_path / "r", config, lambda cell: cell["K"] * (100 + 1e4 * cell["epsilon"]))
    )
    fits = study_table(results, "fits.csv").rows
    assert list(fits["epsilon"]) == [0.0, 0.05]
    assert fits["c1"].to_numpy() == pytest.approx([100, 600], rel=0.1)


def test_too_few_values_of_K_name_the_instance(tmp_path: Path) -> None:
    results = load_results(write_results(tmp_path / "r", scaling_config(1, K=[20, 30])))
    assert results.unfitted(allow_capped=True) == [
        "setting 1, CascadeBAI: no fit: it takes 3 values of K, not 2; add some to the config, "
        "or run its sweep to the end"
    ]
    assert study_table(results, "fits.csv").rows.empty
    assert study_table(results, "bound_fits.csv").rows.empty
    assert study_table(results, "models.csv").rows.empty


def test_printed_table_sets_published_below_ours(results: StudyResults) -> None:
    lines = str(study_table(results, "fits.csv").printed).splitlines()
    assert (
        lines[0] == "learner = CascadeBAI, L = 128, delta = 0.1, epsilon = 0, points = 41; mean steps = c1 model + c2"
    )
    header = "instance model source c1 se of c1 c2 se of c2 R² p-value c1 diff."
    assert " ".join(lines[1].split()) == header
    assert len(lines) == 1 + 2 + 2 * 5
    assert "here" in lines[3]
    assert lines[4].split() == ["published", "23802.95", "1.00", "0.9987", "1.00e-58"]
    assert all(line.endswith("%") for line in lines[3::2])
    assert max(map(len, lines)) <= 130


def test_without_published_values_nothing_is_compared(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30, 40])
    config["instances"][0]["fit"]["published"] = None
    text = str(study_table(load_results(write_results(tmp_path / "r", config)), "fits.csv").printed)
    assert len(text.splitlines()) == 1 + 3
    assert "diff" not in text
    assert "published" not in text


def test_printed_difference_is_that_of_c1(results: StudyResults) -> None:
    fits = study_table(results, "fits.csv").rows
    expected = f"{100 * (fits['c1'][0] / 23802.95 - 1):+.1f} %"
    assert str(study_table(results, "fits.csv").printed).splitlines()[3].endswith(expected)


def test_printed_models_name_the_smallest_aic(results: StudyResults) -> None:
    models = study_table(results, "models.csv").rows
    lines = str(study_table(results, "models.csv").printed).splitlines()
    assert len(lines) == 1 + 2 + 5
    assert lines[0].endswith("AIC of each model above the smallest AIC; slope on a log-log scale")
    first = models[models["instance"] == "setting 1"].set_index("model")
    above = first["aic"] - first["aic"]["K"]
    slope = first.loc["K", ["loglog_slope", "loglog_low", "loglog_high"]]
    assert lines[3].split()[-8:] == [
        *["best", f"+{above['K^2']:.1f}", f"+{above['sqrt(K)']:.1f}", f"+{above['log(K)']:.1f}"],
        *[f"{slope['loglog_slope']:.3f}", f"{slope['loglog_low']:.3f}", "to", f"{slope['loglog_high']:.3f}"],
    ]


def test_equal_means_are_printed(tmp_path: Path) -> None:
    results = load_results(write_results(tmp_path / "r", scaling_config(1, K=[20, 30, 40]), lambda _: 1000.0, spread=0))
    fits = study_table(results, "fits.csv").rows
    assert fits[["c1", "c2"]].to_numpy().tolist() == [[0.0, 1000.0]]
    assert fits[["r2", "p_value"]].isna().all(axis=None)
    assert "1000.00" in str(study_table(results, "fits.csv").printed)
    assert "0.000 to 0.000" in str(study_table(results, "models.csv").printed)


def test_alignment() -> None:
    assert str(Table.of(["name", "x"], [["a", "1.5"], ["longer", "10.0"]])).splitlines() == [
        "name       x",
        "------  ----",
        "a        1.5",
        "longer  10.0",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (23802.951, "23802.95"),
        (-50749, "-50749.00"),
        (1.2249, "1.22"),
        (0.00371, "0.0037"),
        (0.0, "0.00"),
        (np.nan, ""),
    ],
)
def test_coefficients(value: float, text: str) -> None:
    assert coefficient(value) == text


def test_difference() -> None:
    assert difference(936.5, 944.82) == "-0.9 %"
    assert difference(2.0, 1.0) == "+100.0 %"
    assert difference(1.0, np.nan) == ""
