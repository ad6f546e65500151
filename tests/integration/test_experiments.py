"""The scripts around the paper: reduced configs, the driver, the reference, the tables of the documents."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import yaml
from cases import mostly_slow
from sweeps import ROOT, call, environment
from synthetic import scaling_config, write_results

from cascadebai_cli.study.config import load_study
from experiments import benchmark, reference, reproduce, write_tables
from experiments.artefacts import ARTEFACTS, BEYOND, Artefact

STUDY = """\
seed: 3
trials: 4
title: A tiny study
L: 6
K: [1, 2, 3]
instances:
  - {name: wide, family: two_level, w_star: 0.9, w_prime: 0.1, fit: {model: K, published: {c1: 1.0}}}
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Artefact:
    """An artefact in a place of its own."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "tiny.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    return Artefact("tiny", "Table 0", "it is tiny", 60, 30, {"trials": 2}, ("bounds", "schematic"))


@pytest.mark.parametrize("artefact", [*ARTEFACTS, *BEYOND], ids=lambda artefact: artefact.name)
def test_every_artefact_has_a_config_and_a_smaller_one(
    artefact: Artefact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    full, fast = load_study(artefact.config), load_study(reproduce.reduced_config(artefact, tmp_path))
    assert fast.study == full.study == artefact.name
    assert fast.seed == full.seed
    assert "reduced: trials" in str(fast.title)
    steps = full.max_steps or 10**8
    size = {study: len(study.cells) * study.trials * (study.max_steps or steps) for study in (full, fast)}
    assert size[fast] * 20 < size[full]
    assert {cell.instance for cell in fast.cells} == {cell.instance for cell in full.cells}
    assert {cell.learner for cell in fast.cells} == {cell.learner for cell in full.cells}


def test_artefacts_come_in_the_order_of_cost() -> None:
    assert [one.seconds for one in ARTEFACTS] == sorted(one.seconds for one in ARTEFACTS)
    assert ARTEFACTS[-1].name == "figure4"


def test_a_reduced_key_must_be_in_the_config(tiny: Artefact) -> None:
    with pytest.raises(KeyError, match=r"tiny\.yaml has no max_steps to reduce"):
        reproduce.reduced_config(replace(tiny, fast={"max_steps": 5}), Path("fast"))


@pytest.mark.slow
def test_the_driver_ends_with_a_report_and_goes_on_where_it_was(
    tiny: Artefact, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reproduce.reproduce([tiny], fast=False, n_jobs=1) == 0
    told = capfd.readouterr().err
    assert "[1 of 1] tiny: Table 0; about 1 min, about 1 min for all that is left" in told
    assert "done: open results/report.html" in told
    directory = Path("results/tiny")
    made = {path.name for path in directory.iterdir()}
    assert {"trials.csv", "fits.csv", "bounds.csv", "tiny.png", "tiny_bounds.pdf", "tiny_schematic.pdf"} <= made
    assert Path("results/report.html").read_text().count("<img ") == 3
    rows = (directory / "trials.csv").read_bytes()
    every = reproduce.commands
    monkeypatch.setattr(reproduce, "commands", lambda *given: islice(every(*given), 1))  # the sweep
    assert reproduce.reproduce([tiny], fast=False, n_jobs=1) == 0
    assert "12 of 12 trials are there already, 0 to run" in capfd.readouterr().err
    assert (directory / "trials.csv").read_bytes() == rows


def test_figure_3_is_drawn_from_the_rows_of_table_1() -> None:
    table1 = next(artefact for artefact in ARTEFACTS if artefact.name == "table1")
    run = list(reproduce.commands(table1, table1.config, Path("results/table1"), 1))
    assert ["plot", "results/table1", "--config", "configs/figure3.yaml"] in run
    assert all((ROOT / command[3]).exists() for command in run if "--config" in command)


def test_the_fast_run_has_its_own_place(tiny: Artefact, monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[list[str]] = []
    monkeypatch.setattr(reproduce, "_run", lambda command: run.append(command) or 0)
    assert reproduce.reproduce([tiny], fast=True, n_jobs=3) == 0
    place = ["--out", "results/fast/tiny", "--n-jobs", "3"]
    assert run[0] == ["sweep", "results/fast/configs/tiny.yaml", *place]
    assert run[-1] == ["report", "results/fast/tiny", "-o", "results/fast/report.html"]
    assert [command[0] for command in run] == ["sweep", "fit", "plot", "plot", "plot", "bounds", "report"]
    config = yaml.safe_load(Path("results/fast/configs/tiny.yaml").read_text())
    assert config == {**yaml.safe_load(STUDY), "trials": 2, "title": "A tiny study, reduced: trials 2"}


def test_missing_trials_show_in_the_exit_code(tiny: Artefact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce, "_run", lambda command: int(command[0] == "sweep"))
    assert reproduce.reproduce([tiny], fast=False, n_jobs=1) == 1


def test_a_refused_command_ends_the_driver(tiny: Artefact) -> None:
    Path("configs/tiny.yaml").write_text(STUDY.replace("0.9", "1.9"))
    with pytest.raises(SystemExit) as end:
        reproduce.reproduce([tiny], fast=False, n_jobs=1)
    assert end.value.code == 2


def test_the_clock_learns_the_pace() -> None:
    clock = reproduce.Clock({"a": 600, "b": 1200, "c": 36_000})
    assert clock.left(["a", "b"]) == "30 min"
    clock.learn("a", 1200)
    assert clock.left(["b"]) == "40 min"
    clock.learn("b", 5)  # it was there already
    assert clock.left(["c"]) == "20.0 h"


@pytest.mark.parametrize("module", mostly_slow(["reproduce", "reference", "write_tables"], ["reference"]))
def test_scripts_explain_themselves(module: str) -> None:
    words = [sys.executable, "-m", f"experiments.{module}", "--help"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, env=environment())
    assert "usage" in found.stdout


# --- the reference and the tables from it ---------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A reference of Table 1 with the first two settings."""
    directory = write_results(
        tmp_path / "results" / "table1",
        scaling_config(2, K=[20, 30, 40]),
        seed=5,
        machine={"node": "secret", "cores": 2},
    )
    (directory / "trials.journal").write_text("x")
    (directory / "table1.png").write_bytes(b"x")
    assert call("fit", directory, "--quiet").code == 0
    assert reference.keep(directory, tmp_path / "kept" / "table1") == []
    return tmp_path / "kept"


def test_a_reference_keeps_what_is_needed_and_no_more(kept: Path) -> None:
    names = {path.name for path in (kept / "table1").iterdir()}
    assert names == {
        *("trials.csv", "summary.csv", "fits.csv", "weighted_fits.csv", "models.csv", "bound_fits.csv"),
        *("times.csv", "manifest.json", "table1.png"),
    }
    assert json.loads((kept / "table1" / "manifest.json").read_text())["machine"] == {"cores": 2}


def test_keeping_again_leaves_nothing_of_before(kept: Path, tmp_path: Path) -> None:
    (kept / "table1" / "old.png").write_bytes(b"x")
    reference.keep(tmp_path / "results" / "table1", kept / "table1")
    assert not (kept / "table1" / "old.png").exists()


@pytest.fixture
def documents(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The page of the artefacts as it would be written from that reference."""
    monkeypatch.setattr(write_tables, "REFERENCE", kept)
    write_tables.results_of.cache_clear()
    text = (ROOT / "experiments" / "README.md").read_text(encoding="utf-8")
    yield write_tables.filled(text)
    write_tables.results_of.cache_clear()


def test_tables_show_claim_config_command_values_and_verdict(documents: str) -> None:
    for part in (
        "[table1.yaml](../configs/table1.yaml) | `python -m experiments.reproduce table1` | 120 | complete |",
        "| table1, setting 1 | slope c1 on K | 23802.95 | 2",
        "| **lower** |",
        "| **holds** |",
        "| setting 2 | c1 K^2 + c2 | here |",
        "| figure4 | the same in 16 panels |  | not run yet | **open** |",
    ):
        assert part in documents, part
    assert write_tables.filled(documents) == documents


def test_places_within_a_line(documents: str, kept: Path) -> None:
    line = "about <!-- begin: lower -->old<!-- end: lower --> less"
    assert re.fullmatch(r"about <!-- begin: lower -->-?\d+ to \d+ %<!-- end: lower --> less", write_tables.filled(line))


def test_an_unknown_place_is_refused() -> None:
    with pytest.raises(KeyError, match="no block is called nothing"):
        write_tables.filled("<!-- begin: nothing --><!-- end: nothing -->", "README.md")


def test_documents_are_what_the_reference_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    write_tables.results_of.cache_clear()
    assert list(write_tables.outdated()) == [], "run: make tables"
    for path in write_tables.DOCUMENTS:
        assert write_tables.MARKED.search(path.read_text(encoding="utf-8")), f"{path} has no marked place"


def test_a_number_changed_by_hand_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    write_tables.results_of.cache_clear()
    copy = tmp_path / "README.md"
    shutil.copy("experiments/README.md", copy)
    monkeypatch.setattr(write_tables, "DOCUMENTS", (copy,))
    assert list(write_tables.outdated()) == []
    copy.write_text(copy.read_text().replace("| table1", "| tabel1", 1))
    assert list(write_tables.outdated()) == [copy]


def test_reference_and_configs_are_of_one_mind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A config that was changed after its reference was run makes other cells."""
    monkeypatch.chdir(ROOT)
    for artefact in (*ARTEFACTS, *BEYOND):
        path = write_tables.REFERENCE / artefact.name / "manifest.json"
        if path.exists():
            cells = {cell.cell_id for cell in load_study(artefact.config).cells}
            assert set(json.loads(path.read_text())["cells"]) == cells, artefact.name


def test_the_benchmark_keeps_the_numbers_of_another_commit_beside_these(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_part(name: str, quick: bool, package: Path | None = None) -> tuple[list[benchmark.Row], float]:
        return [{"setting": 1, "steps_per_second": 2.0 if package is None else 1.0}], 50.0

    monkeypatch.setattr(benchmark, "run_part", run_part)
    result = benchmark.run_benchmark(True, Path("elsewhere"))
    assert result["leap"] == [{"setting": 1, "steps_per_second": 2.0, "before": {"steps_per_second": 1.0}}]
    assert "before" not in benchmark.run_benchmark(True)["leap"][0]  # type: ignore[index]
    assert "steps_per_second 1" in benchmark.report(result)
