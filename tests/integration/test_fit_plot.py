"""`fit` and `plot` on a result directory, as a user calls them."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from sweeps import call, environment, refusal, write_config
from synthetic import Cell, MeanSteps, planted_steps, scaling_config, write_results


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write_results(tmp_path / "table1", scaling_config(2, K=[20, 30, 40, 50, 60]))


def test_fit_writes_its_tables_and_prints_them(directory: Path) -> None:
    result = call("fit", directory)
    assert result.code == 0
    assert result.err == ""
    fits, models = pd.read_csv(directory / "fits.csv"), pd.read_csv(directory / "models.csv")
    assert list(fits["model"]) == ["K", "K^2"]
    assert len(models) == 8
    digest = hashlib.sha256((directory / "trials.csv").read_bytes()).hexdigest()
    assert set(fits["rows_sha256"]) == set(models["rows_sha256"]) == {digest}
    assert f"{fits['c1'][0]:.2f}" in result.out
    assert "published" in result.out
    assert "smallest AIC" in result.out


def test_fit_twice_is_the_same(directory: Path) -> None:
    call("fit", directory)
    first = (directory / "fits.csv").read_bytes()
    call("fit", directory)
    assert (directory / "fits.csv").read_bytes() == first
    assert not list(directory.glob(".*"))


def test_fit_quiet_prints_nothing(directory: Path) -> None:
    assert call("fit", directory, "--quiet") == (0, "", "")
    assert (directory / "fits.csv").exists()


def test_plot_writes_pdf_and_png_named_after_the_study(directory: Path) -> None:
    result = call("plot", directory)
    assert result.out.splitlines() == [str(directory / "table1.pdf"), str(directory / "table1.png")]
    digest = hashlib.sha256((directory / "trials.csv").read_bytes()).hexdigest()
    for name in ("table1.pdf", "table1.png"):
        assert f"rows_sha256={digest}".encode() in (directory / name).read_bytes()


def test_plot_into_a_file_or_a_directory(directory: Path, tmp_path: Path) -> None:
    assert call("plot", directory, "--out", tmp_path / "new" / "x.svg").out.split() == [str(tmp_path / "new/x.svg")]
    call("plot", directory, "--out", tmp_path / "figures")
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["table1.pdf", "table1.png"]
    assert (tmp_path / "new" / "x.svg").read_bytes().startswith(b"<?xml")


def test_plot_refuses_another_format(directory: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.jpg"
    sentence = f"--out: {target}: format .jpg is not known; use .pdf, .png or .svg, or a directory"
    assert refusal("plot", directory, "--out", target).startswith(sentence)
    assert not (tmp_path / "x.jpg").exists()


def test_plot_refuses_another_kind(tmp_path: Path) -> None:
    directory = write_results(tmp_path / "r", scaling_config(1, K=[20, 30, 40], plot={"kind": "pie"}))
    sentence = "the config is not valid any more: plot.kind: 'pie' is not known; use one of scaling, curves, bars"
    assert sentence in refusal("plot", directory)


@pytest.mark.parametrize("verb", ["fit", "plot"])
def test_missing_directory(verb: str, tmp_path: Path) -> None:
    assert "is not a directory; run `cascadebai sweep CONFIG" in refusal(verb, tmp_path / "nowhere")


@pytest.mark.parametrize("verb", ["fit", "plot"])
def test_an_unfinished_sweep_is_used_but_pointed_out(verb: str, directory: Path) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps({**manifest, "complete": False}))
    result = call(verb, directory)
    assert result.code == 1
    assert result.err == (f"warning: {directory}: the sweep is not complete; run it again to finish\n")
    assert result.out


def test_capped_trials_are_pointed_out(tmp_path: Path) -> None:
    directory = write_results(tmp_path / "r", scaling_config(1, K=[20, 30, 40]), cap=700_000)
    result = call("plot", directory)
    assert result.code == 0
    assert "setting 1, CascadeBAI: 20 of 20 trials at K = 40 reached the cap and count with it" in result.err


def test_lower_limits_are_not_fitted_unless_that_is_allowed(tmp_path: Path) -> None:
    directory = write_results(tmp_path / "r", scaling_config(2, K=[20, 30, 40]), cap=700_000)
    sentence = "no fit, since the means at K = 20, 30, 40 are lower limits; --allow-capped fits them too"
    assert f"{directory}: setting 1, CascadeBAI: {sentence.replace('20, 30, 40', '40')}" in refusal("fit", directory)
    allowed = call("fit", directory, "--allow-capped")
    assert allowed.code == 0
    assert "capped" in allowed.out.splitlines()[1]
    assert list(pd.read_csv(directory / "fits.csv")["n_capped"]) == [20, 60]


def test_fits_of_lower_limits_are_left_out_beside_others(tmp_path: Path) -> None:
    directory = write_results(tmp_path / "r", scaling_config(2, K=[20, 30, 40]), cap=5_000_000)
    result = call("fit", directory)
    assert result.code == 0
    assert list(pd.read_csv(directory / "fits.csv")["instance"]) == ["setting 1"]
    assert "n_capped" not in pd.read_csv(directory / "fits.csv")
    assert "setting 2, CascadeBAI: no fit, since the means at K = 20, 30, 40 are lower limits" in result.err


def test_a_ratio_of_limits_says_which_side_it_bounds(tmp_path: Path) -> None:
    def steps(cell: Cell) -> float:
        return 1e5 if cell["learner"] == "CascadeBAI" else 4e5

    for cap, ratio in ((None, "0.25"), (2 * 10**5, "<= 0.5"), (10**4, "unknown")):
        directory = curves_study(tmp_path / str(cap), steps, cap)
        assert ratio in call("fit", directory).out


def test_fit_with_nothing_to_fit_says_so(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30])
    del config["instances"][0]["fit"]
    directory = write_results(tmp_path / "r", config)
    assert "nothing to fit: no instance has 3 values of K, or of what varies instead" in refusal("fit", directory)
    assert not (directory / "fits.csv").exists()


def curves_study(directory: Path, mean: MeanSteps = planted_steps, cap: int | None = None) -> Path:
    learners = [{"name": "CascadeBAI", "algorithm": "cascadebai"}, {"name": "BatRac(K)", "algorithm": "batrac"}]
    config = scaling_config(2, K=[20, 30], learners=learners, plot={"kind": "curves"})
    for instance in config["instances"]:
        del instance["fit"]
    return write_results(directory, config, mean, cap=cap)


def bars_study(directory: Path) -> Path:
    learners = [{"name": order, "algorithm": "cascadebai", "order": order} for order in ("T", "mean")]
    return write_results(directory, scaling_config(2, K=[16], learners=learners, plot={"kind": "bars"}))


@pytest.mark.parametrize(
    ("study", "file", "printed"),
    [
        (curves_study, "ratios.csv", "CascadeBAI / BatRac(K)"),
        (bars_study, "orders.csv", "mean                 0           2               0"),
    ],
)
def test_other_kinds_have_their_own_table_and_figure(
    study: Callable[[Path], Path], file: str, printed: str, tmp_path: Path
) -> None:
    directory = study(tmp_path / "r")
    manifest = json.loads((directory / "manifest.json").read_text())
    for instance in manifest["config"]["instances"]:
        instance.pop("fit", None)
    (directory / "manifest.json").write_text(json.dumps(manifest))
    result = call("fit", directory)
    assert printed in result.out
    assert set(pd.read_csv(directory / file)["rows_sha256"]) == {manifest["rows_sha256"]}
    assert not (directory / "fits.csv").exists()
    assert call("plot", directory).out.count("table1.p") == 2


def test_a_place_that_cannot_be_written(directory: Path) -> None:
    (directory / "fits.csv").mkdir()
    result = call("fit", directory)
    assert result.code == 2
    assert "fits.csv cannot be written" in result.err
    assert not list(directory.glob(".*"))


LOADED = """
import sys
from cascadebai_cli.cli.app import main

WITHOUT_FITS = "check study.yaml --pilot 0, bounds study.yaml, summary r, plot r, plot r --kind bounds, report r"
for verb in WITHOUT_FITS.split(", "):
    try:
        main(verb.split())
    except SystemExit as end:
        assert end.code == 0, verb
    assert not {"statsmodels", "scipy.stats"} & set(sys.modules), verb
try:
    main(["fit", "r"])
finally:
    assert {"statsmodels", "scipy.stats"} <= set(sys.modules)
"""


def test_only_a_fit_loads_what_fits(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30, 40], trials=2, plot={"kind": "curves"})
    del config["instances"][0]["fit"]
    write_results(tmp_path / "r", config)
    write_config(tmp_path)
    words = [sys.executable, "-c", LOADED]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
