"""Manifests that somebody has edited: every verb answers with one sentence, and exit code 2."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import mostly_slow
from sweeps import call, sweep, write_config


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    config = write_config(folder, trials=2)
    config.write_text(config.read_text().replace("K: [1, 2]", "K: [1, 2, 3]"))
    assert sweep(config, folder / "study").code == 0
    return folder


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "made")
    return tmp_path / "made" / "study"


def edit(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = directory / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def verbs(study: Path) -> dict[str, list[object]]:
    config = study.parent / "study.yaml"
    return {
        "fit": ["fit", study],
        "plot": ["plot", study, "--out", study.parent / "a.svg"],
        "report": ["report", study, "--out", study.parent / "a.html"],
        "bounds": ["bounds", config, "--results", study],
        "merge": ["merge", study, "--out", study.parent / "all"],
        "verify": ["verify", "--reference", study.parent, "--n-jobs", 1, "--trials", 3],
    }


def answers(study: Path) -> dict[str, str]:
    """What each verb says, which must be one line and exit code 2."""
    said = {}
    for name, words in verbs(study).items():
        code, out, err = call(*words)
        assert (name, code, out) == (name, 2, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert len(err) < 500
        said[name] = err
    return said


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


DEEP = [(key, depth) for key in ("config", "cells", "machine", "title") for depth in (300, 100_000)]
DEEP.remove(("machine", 300))  # which is read, as anything may stand there


@pytest.mark.parametrize(("key", "depth"), DEEP)
def test_a_manifest_that_is_nested_deeply(study: Path, key: str, depth: int) -> None:
    path = study / "manifest.json"
    text = path.read_text()
    if key == "title":
        path.write_text(text.replace('"title": null', f'"title": {nested(depth)}', 1))
    else:
        path.write_text(text.replace(f'"{key}": {{', f'"{key}": {{"x": {nested(depth)}, ', 1))
    answers(study)


@pytest.mark.parametrize("key", ["study", "title"])
@pytest.mark.parametrize("value", ["a\x00b", "", "a\nb", "\x1b[31m"])
def test_names_that_no_config_may_have(study: Path, key: str, value: str) -> None:
    edit(study, lambda manifest: manifest["config"].update({key: value}))
    for text in answers(study).values():
        assert f"the config is not valid any more: {key}: " in text


@pytest.mark.parametrize("place", ["title", "study", "path"])
def test_half_a_character_is_refused_wherever_it_stands(study: Path, place: str) -> None:
    edit(study, lambda manifest: manifest["config"].update({place: "\ud800"}))
    for text in answers(study).values():
        assert f"{study / 'manifest.json'}: line 1: not JSON" in text


def test_half_a_character_in_a_config(tmp_path: Path) -> None:
    config = write_config(tmp_path, extra='title: "\\ud800"\n')
    code, _, err = sweep(config, tmp_path / "out")
    assert code == 2
    assert "study.yaml:9: not valid YAML (half a character" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", ["a\x00b", "", None, ["x"]])
@pytest.mark.parametrize("key", ["instance", "learner", "L", "w_star"])
def test_cells_that_no_sweep_writes_are_not_merged(study: Path, key: str, value: object) -> None:
    edit(study, lambda manifest: next(iter(manifest["cells"].values())).update({key: value}))
    code, _, err = call(*verbs(study)["merge"])
    assert code == 2
    assert f"{study / 'manifest.json'}: cells: {key}: " in err
    assert err.count("\n") == 1


FORMULAS = {
    "minus": "-" * 3000 + "1",
    "brackets": "(" * 5000 + "1" + ")" * 5000,
    "terms": "+".join(["K"] * 5000),
    "powers": "**".join(["K"] * 3000),
    "digits": "9" * 4000,
    "short brackets": "(" * 99 + "1" + ")" * 99,
    "short minus": "-" * 199 + "1",
    "short powers": "**".join(["9"] * 60),
    "unknown": "K__x",
    "infinite": "1e999",
    "math": r"$\frac{",
    "nul": "1\x00",
}


@pytest.mark.parametrize("name", mostly_slow(FORMULAS, ["brackets", "short powers", "unknown", "math"]))
def test_a_stored_formula_that_is_none(study: Path, name: str) -> None:
    """Reading verbs show the name of the instance instead; who must know its value says that there is none."""
    edit(study, lambda manifest: manifest["config"]["instances"][0].update(w_star=FORMULAS[name]))
    for verb, words in verbs(study).items():
        code, _, err = call(*words)
        assert code in ((0, 1, 2) if verb == "verify" else (0, 2)), (verb, err)
        assert all(line.startswith(("error: ", "warning: ")) for line in err.splitlines() if code == 2)
        assert len(err) < 1000, name
