"""A result directory is read back whole, or refused with one sentence."""

import json
import os
import re
import sys
from collections import Counter
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import mostly_slow
from sweeps import call
from synthetic import scaling_config, write_results

from cascadebai_cli.analysis import bounds, curves, fits
from cascadebai_cli.analysis import results as results_module
from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.trials import times_of


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return write_results(tmp_path / "table1", scaling_config(2, K=[20, 30, 40, 50]))


def test_reads_cells_config_and_hash(directory: Path) -> None:
    results = load_results(directory)
    assert len(results.summary) == 8
    assert list(results.instances) == ["setting 1", "setting 2"]
    assert results.name == results.study.study == "table1"
    assert results.study.plot.kind == "scaling"
    assert results.main_learner == "CascadeBAI"
    assert results.rows_sha256 == json.loads((directory / "manifest.json").read_text())["rows_sha256"]
    assert results.missing == []
    assert results.capped == []


def test_names_stay_text(tmp_path: Path) -> None:
    config = scaling_config(2, K=[20, 30, 40])
    config["instances"][0]["name"], config["instances"][1]["name"] = "1", "NA"
    config["learners"][0]["name"] = "None"
    results = load_results(write_results(tmp_path / "r", config, lambda cell: 100.0 * cell["K"]))
    assert list(dict.fromkeys(results.summary["instance"])) == ["1", "NA"]
    assert set(results.summary["learner"]) == {"None"}


def test_summary_and_manifest_are_enough(directory: Path) -> None:
    (directory / "trials.csv").unlink()
    assert load_results(directory).missing == []


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
        ("manifest.json", "{", "line 1: not JSON; sweep into another directory"),
        ("manifest.json", "[]", "key config is missing, as in no manifest of a sweep; sweep into another directory"),
        ("manifest.json", "null", "key config is missing, as in no manifest of a sweep"),
        ("manifest.json", '{"config": {}}', "key config_hash is missing"),
        ("manifest.json", "[" * 100_000, "line 1: not JSON; sweep into another directory"),
        ("manifest.json", b"\xff\xfe", "line 1: not JSON; sweep into another directory"),
        ("summary.csv", "", "not a table"),
        ("summary.csv", b"\xff\xfe\x80", "not a table"),
        ("summary.csv", "a,b\n1,2\n", "column cell_id is missing; run the sweep again"),
        ("summary.csv", "a,b\n1,2,3\n1,2,3,4,5\n", "not a table"),
    ],
)
def test_damaged_file(directory: Path, name: str, content: str | bytes, sentence: str) -> None:
    (directory / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError, match=f"{name}: {sentence}"):
        load_results(directory)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("config", 1, "config: 1 is not a mapping; run the sweep again with --fresh"),
        ("seed", -1, "seed: -1 is not 0 or more; run the sweep again with --fresh"),
        ("seed", True, "seed: true is not a whole number"),
        ("cells", 5, "cells: 5 is not a mapping"),
        ("cells", {"a": 1}, "cells.a: 1 is not a mapping"),
        ("complete", "yes", "complete: 'yes' is not true or false"),
        ("rows_sha256", 5, "rows_sha256: 5 is not text"),
        *((key, "x" * 99, f"{key}: '{'x' * 56}... is not a mapping") for key in ("versions", "git", "machine")),
    ],
)
def test_value_of_another_kind_in_the_manifest(directory: Path, key: str, value: object, sentence: str) -> None:
    path = directory / "manifest.json"
    manifest = json.loads(path.read_text())
    put(manifest, key, value)
    path.write_text(json.dumps(manifest))
    with pytest.raises(ConfigError, match=re.escape(f"{path}: {sentence}")):
        load_results(directory)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("study", "a/b", "study: 'a/b' has a slash, but figures are named after it; leave the slash out"),
        ("trials", "x", "trials: 'x' is not a whole number"),
        ("max_steps", "x", "max_steps: 'x' is not a whole number"),
        ("delta", ["x"], "delta.0: 'x' is not a number"),
        ("plot", 1, "plot: 1 is not a mapping"),
        ("plot.kind", "pie", "plot.kind: 'pie' is not known; use one of scaling, curves, bars"),
        ("instances", [1], "instances.0: 1 is not a mapping"),
        ("instances.0.K", [], "instances.0.K: the list is empty"),
        ("learners", [{}], "learners.0.name: missing"),
        ("instances.1.fit", "K", "instances.1.fit: 'K' is not a mapping"),
        ("instances.1.fit", {}, "instances.1.fit.model: missing"),
        ("instances.1.fit.model", "L", "instances.1.fit.model: L uses L, which is not known"),
        ("instances.1.fit.published", "x", "instances.1.fit.published: 'x' is not a mapping"),
        ("instances.1.fit.published.c1", "x", "instances.1.fit.published.c1: 'x' is not a number"),
        ("learners.0.sigma", "x", "learners.0.sigma: 'x' is not a number"),
        ("learners.0.sigma", 1e308, "learners.0.sigma: 1e+308 is too large"),
        ("seeed", 1, "seeed: unknown key; did you mean seed?"),
    ],
)
def test_a_config_that_is_not_valid_any_more(directory: Path, key: str, value: object, sentence: str) -> None:
    path = directory / "manifest.json"
    manifest = json.loads(path.read_text())
    put(manifest["config"], key, value)
    path.write_text(json.dumps(manifest))
    with pytest.raises(ConfigError, match=re.escape(f"{path}: the config is not valid any more: {sentence}")):
        load_results(directory)


def put(tree: Any, key: str, value: object) -> None:
    """Set the value under a path of keys and positions."""
    *parents, last = (int(part) if part.isdigit() else part for part in key.split("."))
    reduce(getitem, parents, tree)[last] = value


OWN = """
from pathlib import Path
Path(__file__).with_name("imported").touch()
class Own:
    def __init__(self, L, K, delta, epsilon):
        pass
"""


ALGORITHMS = ["antigravity:X", "stranger:Own", "stranger:nothing", "no such:module", "older"]


@pytest.mark.parametrize("algorithm", mostly_slow(ALGORITHMS, ["stranger:Own", "older"]))
def test_nothing_is_imported_because_a_manifest_names_it(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "stranger.py").write_text(OWN)
    learners = [
        {"name": "stranger", "algorithm": algorithm, "order": {"any": ["thing"]}, "sigma": -1},
        {"name": "CascadeBAI", "algorithm": "cascadebai"},
    ]
    directory = write_results(tmp_path / "r", scaling_config(1, K=[20, 30, 40], learners=learners))
    results = load_results(directory)
    assert results.main_learner == "CascadeBAI"
    assert [entry.algorithm for entry in results.study.learners] == [algorithm, "cascadebai"]
    assert call("fit", directory, "--quiet").code == 0
    assert call("plot", directory).code == 0
    assert call("report", directory, "-o", tmp_path / "page.html").code == 0
    assert not (tmp_path / "imported").exists()
    assert not {"antigravity", "stranger"} & set(sys.modules)


def test_no_data_file_is_opened_because_a_manifest_names_it(directory: Path) -> None:
    path = directory / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["config"]["instances"][0] = {"name": "setting 1", "family": "csv", "path": "/dev/zero", "rate": "rate"}
    path.write_text(json.dumps(manifest))
    results = load_results(directory)
    assert results.study.cells == ()
    assert results.bounds["lower"].isna().tolist() == [True] * 4 + [False] * 4


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("instance", "", "an empty cell is not a name; run the sweep again"),
        ("L", "1e300", "1e+300 is not a whole number from 2 on"),
        ("K", "20.5", "20.5 is not a whole number from 1 on and less than L"),
        ("K", "128", "128 is not a whole number from 1 on and less than L"),
        ("K", "", "an empty cell is not a whole number from 1 on and less than L"),
        ("w_star", "1.5", "1.5 is not a number from 0 to 1"),
        ("w_prime", "0.6", "0.6 is not a number from 0 to w_star"),
        ("delta", "1", "1.0 is not a number between 0 and 1"),
        ("epsilon", "-1", "-1.0 is not a number from 0 on"),
        ("n", "0", "0 is not a whole number from 1 on"),
        ("n_capped", "21", "21 is not a whole number from 0 to n"),
        ("mean_steps", "inf", "inf is not a number from 0 on"),
        ("ci_low", "1e30", "1e+30 is not at most mean_steps"),
        ("ci_high", "-1", "-1.0 is not at least mean_steps"),
        ("mean_observations", "-1", "-1.0 is not a number from 0 on"),
        ("error_rate", "5", "5.0 is not a number from 0 to 1"),
    ],
)
def test_value_that_no_sweep_writes(directory: Path, column: str, value: str, sentence: str) -> None:
    path = edited(directory / "summary.csv", column, value)
    with pytest.raises(ConfigError, match=re.escape(f"{path}: column {column}: {sentence}")):
        load_results(directory)


def edited(path: Path, column: str, value: str) -> Path:
    """The table with another value in its first row."""
    table = pd.read_csv(path, dtype=str)
    table.loc[0, column] = value
    table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("column", ["K", "sd_steps", "mean_observations"])
def test_numbers_that_are_words(directory: Path, column: str) -> None:
    edited(directory / "summary.csv", column, "twenty")
    with pytest.raises(ConfigError, match=rf"summary\.csv: column {column} is not all numbers; run the sweep again"):
        load_results(directory)


def test_counts_with_a_decimal_point_are_counts(directory: Path) -> None:
    edited(directory / "summary.csv", "K", "20.0")
    assert load_results(directory).summary["K"].tolist() == [20, 30, 40, 50] * 2
    assert load_results(directory).summary["K"].dtype == int


@pytest.mark.parametrize("name", ["manifest.json", "summary.csv", "trials.csv"])
def test_a_directory_in_place_of_a_file(directory: Path, name: str) -> None:
    (directory / name).unlink()
    (directory / name).mkdir()
    with pytest.raises(ConfigError, match=rf"{name} cannot be read \(Is a directory\); it must be a file that you may"):
        load_results(directory)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("timings.csv", "cell_id,trial,seconds\n0000000000000000,0,fast\n", "column seconds is not all numbers"),
        ("timings.csv", "cell_id,trial\n0000000000000000,0\n", "column seconds is missing; it needs"),
        ("timings.csv", b"\xff\xfe\x80", "not a table"),
        ("times.csv", "instance,learner,trials,seconds,mean_seconds\na,b,1,2,x\n", "column mean_seconds is not all"),
    ],
)
def test_damaged_times(directory: Path, name: str, content: str | bytes, sentence: str) -> None:
    (directory / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError, match=f"{name}: {sentence}"):
        times_of(directory, load_results(directory).summary)


@pytest.mark.parametrize("name", ["manifest.json", "summary.csv", "trials.csv"])
def test_a_pipe_which_may_never_end_is_not_read(directory: Path, name: str) -> None:
    (directory / name).unlink()
    os.mkfifo(directory / name)
    with pytest.raises(ConfigError, match=rf"{name} cannot be read \(Not a regular file\)"):
        load_results(directory)


def test_no_cell_yet(directory: Path) -> None:
    header = (directory / "summary.csv").read_text().splitlines()[0]
    (directory / "summary.csv").write_text(header + "\n")
    with pytest.raises(ConfigError, match=r"summary\.csv: no cell has a trial yet; run the sweep first"):
        load_results(directory)


def test_missing_trials_are_pointed_out(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30, 40], trials=10)
    directory = write_results(tmp_path / "r", config, complete=False)
    assert load_results(directory).missing == ["the sweep is not complete; run it again to finish"]
    manifest = json.loads((directory / "manifest.json").read_text())
    manifest["config"]["trials"] = 20
    (directory / "manifest.json").write_text(json.dumps(manifest))
    assert load_results(directory).missing == ["3 of 3 cells have fewer than 20 trials; run the sweep again to finish"]


def test_missing_cells_are_counted(directory: Path) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    cells = {f"{i:016x}": {} for i in range(10)}
    (directory / "manifest.json").write_text(json.dumps({**manifest, "cells": cells, "complete": False}))
    assert load_results(directory).missing == ["2 of 10 cells have fewer than 20 trials; run the sweep again to finish"]


def test_without_a_hash_in_the_manifest_the_rows_are_hashed(directory: Path) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps({**manifest, "rows_sha256": None}))
    assert load_results(directory).rows_sha256 == manifest["rows_sha256"]
    (directory / "trials.csv").unlink()
    assert load_results(directory).rows_sha256 == "unknown"


def test_rows_changed_behind_the_summary_are_refused(directory: Path) -> None:
    with (directory / "trials.csv").open("a") as file:
        file.write("one row more\n")
    with pytest.raises(ConfigError, match=r"trials.csv is not the one that the sweep wrote; .* --collect` writes it"):
        load_results(directory)


def test_capped_trials_are_pointed_out(tmp_path: Path) -> None:
    config = scaling_config(1, K=list(range(20, 40)), trials=5)
    directory = write_results(tmp_path / "r", config, lambda cell: 10.0 * cell["K"], cap=300, spread=0.0)
    assert load_results(directory).capped == [
        "setting 1, CascadeBAI: 50 of 50 trials at K = 30, 31, 32, 33, 34, 35, ... reached the cap and count with it"
    ]


@pytest.mark.parametrize("verb", ["fit", "report"])
def test_each_curve_is_made_fitted_and_bounded_once(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Counter[str]()
    fitted = Counter[tuple[str, bytes]]()
    bounded = Counter[tuple[object, ...]]()
    curve, fit, weigh = curves.Curve, curves.fit_scaling, curves.Means.fit
    monkeypatch.setattr(curves, "Curve", lambda key, *rest: (made.update([str(key)]), curve(key, *rest))[1])
    for module in (curves, fits):
        monkeypatch.setattr(
            module,
            "fit_scaling",
            lambda x, y, model, *axis: (fitted.update([(model, np.asarray(y).tobytes())]), fit(x, y, model, *axis))[1],
        )
    monkeypatch.setattr(
        curves.Means,
        "fit",
        lambda self, model, *, weighted=True: (
            fitted.update([(f"{model}, {weighted}", self.mean.tobytes())] * weighted),
            weigh(self, model, weighted=weighted),
        )[1],
    )
    learner_bounds = bounds.learner_bounds
    for module in (bounds, results_module):
        monkeypatch.setattr(
            module,
            "learner_bounds",
            lambda problem, *rest, **more: (
                bounded.update([(problem.K, problem.w_prime)]),
                learner_bounds(problem, *rest, **more),
            )[1],
        )
    config = scaling_config(2, K=[20, 30, 40], claims="paper")
    out = ("-o", tmp_path / "page.html") if verb == "report" else ()
    assert call(verb, write_results(tmp_path / "r", config), *out).code == 0
    assert sorted(made.values()) == [1, 1]
    assert len(fitted) == 2 * (4 + 1 + 4)  # the usual models, the named one to the upper bound, the usual ones weighted
    assert set(fitted.values()) == {1}
    assert bounded.total() == 6


def test_what_follows_from_results_goes_with_their_directory(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30, 40])
    before = load_results(write_results(tmp_path / "r", config))
    slope, upper = before.curves()[0].slope.value, before.bounds["upper_over_measured"]
    after = load_results(write_results(tmp_path / "r", config, lambda cell: 1e4 * cell["K"] ** 2))
    assert after.curves()[0].slope.value == pytest.approx(2, abs=0.05) != pytest.approx(slope, abs=0.5)
    assert (after.bounds["upper_over_measured"] != upper).all()
    assert before.of_cells(before.summary["cell_id"]) is before
    part = before.of_cells(before.summary["cell_id"][:2])
    assert part.bounds["upper"].tolist() == before.bounds["upper"].tolist()[:2]
    assert not part.curves()[0].is_long_enough


def test_a_single_capped_trial_is_pointed_out(tmp_path: Path) -> None:
    config = scaling_config(1, K=list(range(20, 26)), trials=5)
    results = load_results(write_results(tmp_path / "r", config, lambda cell: 10.0 * cell["K"]))
    results.summary["n_capped"] = 1
    assert results.capped == [
        "setting 1, CascadeBAI: 6 of 30 trials at K = 20, 21, 22, 23, 24, 25 reached the cap and count with it"
    ]
