"""`bounds` as a user calls it, and what `fit` and `plot` say about bounds."""

import json
from pathlib import Path

import pandas as pd
import pytest
from sweeps import call, refusal, sweep
from synthetic import MANIFEST, scaling_config, write_results

from cascadebai_cli.study.config import load_study
from cascadebai_cli.theory.paper import TwoLevelBounds

CONFIG = """
seed: 1
trials: 20
L: 16
K: [2, 3]
instances:
  - {name: two, family: two_level, w_star: 0.6, w_prime: 1/K**2}
  - {name: ramp, family: linear, w_max: 0.9, w_min: 0.1}
  - {name: many, family: explicit, weights: [0.9, 0.8, 0.7, 0.6, 0.1], K: 2, epsilon: 0.4}
learners:
  - {name: CascadeBAI, algorithm: cascadebai}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(CONFIG)
    return path


def write_summary(config: Path, directory: Path, steps: float) -> None:
    cells = load_study(config).cells[:1]
    directory.mkdir(parents=True)
    names = ("cell_id", "study", "instance", "learner", "L", "K", "delta", "epsilon")
    rows = [
        {name: getattr(cell, name) for name in names}
        | {"w_star": 0.6, "w_prime": 0.25, "n": 20, "mean_steps": steps, "sd_steps": 1.0, "se_steps": 0.2}
        | {"ci_low": steps, "ci_high": steps, "mean_observations": steps, "n_capped": 0}
        | {"error_rate": 0.0, "error_low": 0.0, "error_high": 0.2}
        for cell in cells
    ]
    pd.DataFrame(rows).to_csv(directory / "summary.csv", index=False)
    study = load_study(config).model_dump(mode="json")
    (directory / "manifest.json").write_text(json.dumps({**MANIFEST, "config": study, "rows_sha256": "0"}))


def test_a_line_a_cell_with_the_statement_that_applies(config: Path, tmp_path: Path) -> None:
    result = call("bounds", config, "--csv", tmp_path / "b.csv")
    assert result.code == 0
    assert len(result.out.splitlines()) == 1 + 2 + 5
    assert "no measured steps: results/small has no summary.csv" in result.err
    table = pd.read_csv(tmp_path / "b.csv")
    assert list(table["source"]) == ["two-level", "two-level", "theorem", "theorem", "many optimal"]
    assert table["lower"].isna().tolist() == [False] * 4 + [True]
    assert (table["lower"][:4] < table["upper"][:4]).all()
    assert table["upper"][1] == pytest.approx(float(TwoLevelBounds(16, 3, 0.6, 1 / 9, 0.1).upper()))
    assert table["mean_steps"].isna().all()


def test_printed_constant_is_larger_than_that_of_clicks(config: Path, tmp_path: Path) -> None:
    call("bounds", config, "--csv", tmp_path / "ours.csv")
    call("bounds", config, "--csv", tmp_path / "printed.csv", "--printed")
    ours, printed = pd.read_csv(tmp_path / "ours.csv"), pd.read_csv(tmp_path / "printed.csv")
    assert ((printed["upper"] / ours["upper"]).between(2, 4)).all()
    assert printed["lower"].equals(ours["lower"])


@pytest.mark.parametrize("given", [False, True])
def test_measured_steps_are_found_by_the_content_of_the_cell(config: Path, tmp_path: Path, given: bool) -> None:
    directory = tmp_path / ("elsewhere" if given else "results/small")
    write_summary(config, directory, 5000.0)
    result = call("bounds", config, "--csv", tmp_path / "b.csv", *(["--results", directory] if given else []))
    assert result.err == ""
    table = pd.read_csv(tmp_path / "b.csv")
    assert table["mean_steps"][0] == 5000
    assert table["measured_over_lower"][0] == pytest.approx(5000 / table["lower"][0])
    assert table["mean_steps"][1:].isna().all()


def test_the_directory_of_a_sweep_stands_for_its_config(config: Path, tmp_path: Path) -> None:
    assert sweep(config, tmp_path / "r", "--trials", 2).code == 0
    assert call("bounds", tmp_path / "r") == call("bounds", config, "--results", tmp_path / "r")
    (tmp_path / "bounds_own.py").write_text("def weights(L, K):\n    return [1 / (i + 1) for i in range(L)]\n")
    (tmp_path / "weights.csv").write_text("weight\n0.9\n0.5\n0.2\n0.1\n")
    own, file = "L: 4, family: 'bounds_own:weights'", "family: csv, path: weights.csv, rate: weight"
    for name, keys in (("a", own), ("b", file)):
        config.write_text(f"seed: 1\ntrials: 2\nK: 2\ninstances: [{{name: {name}, {keys}}}]\n")
        assert sweep(config, tmp_path / name).code == 0
        if name == "b":
            (tmp_path / "weights.csv").unlink()
        said = refusal("bounds", tmp_path / name)
        assert said == f"{tmp_path / name}: its config names files or code; name its YAML file instead\n"
    (tmp_path / "empty").mkdir()
    assert "manifest.json is missing" in refusal("bounds", tmp_path / "empty")


def test_a_mean_above_the_upper_bound_is_reported(config: Path) -> None:
    write_summary(config, Path("results/small"), 1e12)
    assert "warning: two, CascadeBAI, K = 2: the measured mean" in call("bounds", config).err


def test_a_directory_that_was_asked_for_must_be_there(config: Path, tmp_path: Path) -> None:
    assert "nowhere is not a directory" in refusal("bounds", config, "--results", tmp_path / "nowhere")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write_results(tmp_path / "table1", scaling_config(2, K=[20, 30, 40]))


def test_fit_sets_the_slope_of_the_bound_beside_the_measured_one(directory: Path) -> None:
    result = call("fit", directory)
    fits, slopes = pd.read_csv(directory / "fits.csv"), pd.read_csv(directory / "bound_fits.csv")
    assert slopes["c1"].to_numpy() == pytest.approx(fits["c1"].to_numpy())
    assert "c1 of the upper bound" in result.out


@pytest.mark.parametrize("kind", ["bounds", "schematic"])
def test_plot_of_a_kind_leaves_the_figure_of_the_study_alone(directory: Path, kind: str) -> None:
    call("plot", directory)
    before = (directory / "table1.png").read_bytes()
    result = call("plot", directory, "--kind", kind)
    assert result.out.split() == [str(directory / f"table1_{kind}.{format}") for format in ("pdf", "png")]
    assert (directory / "table1.png").read_bytes() == before
    assert (directory / f"table1_{kind}.pdf").read_bytes().startswith(b"%PDF")


def test_plot_refuses_a_kind_that_is_not_known(directory: Path) -> None:
    sentence = "--kind 'pie' is not known; use one of scaling, curves, bars, bounds, err"
    assert refusal("plot", directory, "--kind", "pie").startswith(sentence)


def test_plot_of_bounds_needs_bounds(tmp_path: Path) -> None:
    learners = [{"name": "BatRac", "algorithm": "batrac", "b": 1, "feedback": "semi-bandit"}]
    directory = write_results(tmp_path / "r", scaling_config(1, K=[20, 30, 40], learners=learners))
    sentence = f"bounds needs cells with an upper bound, which is proved of CascadeBAI alone, and {directory} has none"
    assert sentence in refusal("plot", directory, "--kind", "bounds")
