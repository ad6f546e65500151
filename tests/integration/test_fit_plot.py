"""`fit` and `plot` on a result directory, as a user calls them."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from sweeps import call, refusal
from synthetic import scaling_config, write_results


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


@pytest.mark.parametrize("verb", ["fit", "plot"])
def test_capped_trials_are_pointed_out(verb: str, tmp_path: Path) -> None:
    directory = write_results(tmp_path / "r", scaling_config(1, K=[20, 30, 40]), cap=700_000)
    result = call(verb, directory)
    assert result.code == 0
    assert "setting 1, CascadeBAI: 20 of 20 trials at K = 40 reached the cap and count with it" in result.err


def test_fit_with_nothing_to_fit_says_so(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30])
    del config["instances"][0]["fit"]
    directory = write_results(tmp_path / "r", config)
    assert "nothing to fit: no instance has 3 values of K, or of what varies instead" in refusal("fit", directory)
    assert not (directory / "fits.csv").exists()


def curves_study(directory: Path) -> Path:
    learners = [{"name": "CascadeBAI", "algorithm": "cascadebai"}, {"name": "BatRac(K)", "algorithm": "batrac"}]
    return write_results(directory, scaling_config(2, K=[20, 30], learners=learners, plot={"kind": "curves"}))


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
        del instance["fit"]
    (directory / "manifest.json").write_text(json.dumps(manifest))
    result = call("fit", directory)
    assert printed in result.out
    assert set(pd.read_csv(directory / file)["rows_sha256"]) == {manifest["rows_sha256"]}
    assert not (directory / "fits.csv").exists()
    assert call("plot", directory).out.count("table1.p") == 2


def test_a_place_that_cannot_be_written(directory: Path) -> None:
    (directory / "fits.csv").mkdir()
    result = call("fit", directory)
    assert result.code == 1
    assert "fits.csv cannot be written" in result.err
    assert not list(directory.glob(".*"))
