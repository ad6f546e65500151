"""A result directory is read back whole, or refused with one sentence."""

import json
from pathlib import Path

import pytest
from synthetic import scaling_config, write_results

from cascadebai_cli.analysis.results import capped_trials, load_results, missing_trials
from cascadebai_cli.errors import ConfigError


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write_results(tmp_path / "table1", scaling_config(2, K=[20, 30, 40, 50]))


def test_reads_cells_config_and_hash(directory: Path) -> None:
    results = load_results(directory)
    assert len(results.summary) == 8
    assert list(results.instances) == ["setting 1", "setting 2"]
    assert results.study == "table1"
    assert results.plot_kind == "scaling"
    assert results.main_learner == "CascadeBAI"
    assert results.rows_sha256 == json.loads((directory / "manifest.json").read_text())["rows_sha256"]
    assert missing_trials(results) == []
    assert capped_trials(results) == []


def test_names_stay_text(tmp_path: Path) -> None:
    config = scaling_config(2, K=[20, 30, 40])
    config["instances"][0]["name"], config["instances"][1]["name"] = "1", "NA"
    config["learners"][0]["name"] = "None"
    results = load_results(write_results(tmp_path / "r", config, lambda cell: 100.0 * cell["K"]))
    assert list(dict.fromkeys(results.summary["instance"])) == ["1", "NA"]
    assert set(results.summary["learner"]) == {"None"}


def test_summary_and_manifest_are_enough(directory: Path) -> None:
    (directory / "trials.csv").unlink()
    assert missing_trials(load_results(directory)) == []


def test_the_main_learner_is_the_first_plain_algorithm_1(tmp_path: Path) -> None:
    learners = [
        {"name": "BatRac(1)", "algorithm": "batrac"},
        {"name": "-U", "algorithm": "cascadebai", "order": "-U"},
        {"name": "all seen", "algorithm": "cascadebai", "feedback": "semi-bandit"},
        {"name": "ours", "algorithm": "cascadebai", "order": "T", "feedback": None},
    ]
    config = scaling_config(1, K=[20, 30, 40], learners=learners)
    assert load_results(write_results(tmp_path / "r", config)).main_learner == "ours"


def test_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere is not a directory; run `cascadebai sweep CONFIG --out .*` first"):
        load_results(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["manifest.json", "summary.csv"])
def test_missing_file(directory: Path, name: str) -> None:
    (directory / name).unlink()
    with pytest.raises(ConfigError, match=rf"{name} is missing; `cascadebai sweep CONFIG --out .*` writes it"):
        load_results(directory)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("manifest.json", "{", "line 1: not JSON; run the sweep again"),
        ("manifest.json", "[]", "key config is missing; this is not the manifest of a sweep"),
        ("manifest.json", "null", "key config is missing; this is not the manifest of a sweep"),
        *(
            ("manifest.json", f'{{"rows_sha256": "", {rest}}}', "config or cells are not those of a study")
            for rest in (
                '"config": 1',
                '"config": {"trials": "x"}',
                '"config": {"plot": 1}',
                '"config": {"instances": [1]}',
                '"config": {"learners": [{}]}',
                '"config": {}, "cells": 5',
            )
        ),
        ("manifest.json", '{"config": {}}', "key rows_sha256 is missing; this is not the manifest of a sweep"),
        ("summary.csv", "", "not a table"),
        ("summary.csv", "a,b\n1,2\n", "column cell_id is missing; run the sweep again"),
        ("summary.csv", "a,b\n1,2,3\n1,2,3,4,5\n", "not a table"),
    ],
)
def test_damaged_file(directory: Path, name: str, content: str, sentence: str) -> None:
    (directory / name).write_text(content)
    with pytest.raises(ConfigError, match=f"{name}: {sentence}"):
        load_results(directory)


def test_numbers_that_are_words(directory: Path) -> None:
    path = directory / "summary.csv"
    path.write_text(path.read_text().replace("CascadeBAI,128,20,", "CascadeBAI,128,twenty,", 1))
    with pytest.raises(ConfigError, match=r"summary\.csv: column K is not all numbers; run the sweep again"):
        load_results(directory)


def test_no_cell_yet(directory: Path) -> None:
    header = (directory / "summary.csv").read_text().splitlines()[0]
    (directory / "summary.csv").write_text(header + "\n")
    with pytest.raises(ConfigError, match=r"summary\.csv: no cell has a trial yet; run the sweep first"):
        load_results(directory)


def test_missing_trials_are_pointed_out(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30, 40], trials=10)
    directory = write_results(tmp_path / "r", config, complete=False)
    assert missing_trials(load_results(directory)) == ["the sweep is not complete; run it again to finish"]
    manifest = json.loads((directory / "manifest.json").read_text())
    manifest["config"]["trials"] = 20
    (directory / "manifest.json").write_text(json.dumps(manifest))
    assert missing_trials(load_results(directory)) == [
        "3 of 3 cells have fewer than 20 trials; run the sweep again to finish"
    ]


def test_missing_cells_are_counted(directory: Path) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    cells = {f"{i:016x}": {} for i in range(10)}
    (directory / "manifest.json").write_text(json.dumps({**manifest, "cells": cells, "complete": False}))
    assert missing_trials(load_results(directory)) == [
        "2 of 10 cells have fewer than 20 trials; run the sweep again to finish"
    ]


def test_without_a_hash_in_the_manifest_the_rows_are_hashed(directory: Path) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps({**manifest, "rows_sha256": None}))
    assert load_results(directory).rows_sha256 == manifest["rows_sha256"]
    (directory / "trials.csv").unlink()
    assert load_results(directory).rows_sha256 == "unknown"


def test_rows_changed_behind_the_summary_are_pointed_out(directory: Path) -> None:
    with (directory / "trials.csv").open("a") as file:
        file.write("one row more\n")
    assert missing_trials(load_results(directory)) == [
        "trials.csv has changed since summary.csv was made; run the sweep again to renew it"
    ]


def test_capped_trials_are_pointed_out(tmp_path: Path) -> None:
    config = scaling_config(1, K=list(range(20, 40)), trials=5)
    directory = write_results(tmp_path / "r", config, lambda cell: 10.0 * cell["K"], cap=300, spread=0.0)
    assert capped_trials(load_results(directory)) == [
        "setting 1, CascadeBAI: 50 of 50 trials at K = 30, 31, 32, 33, 34, 35, ... reached the cap and count with it"
    ]
