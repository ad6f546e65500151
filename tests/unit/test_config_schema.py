"""The JSON Schema of a config agrees with what validates it: it takes what is valid and refuses what it can."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from sweeps import ROOT, call

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.registry import ALGORITHMS, options_of
from cascadebai_cli.store.manifest import Manifest
from cascadebai_cli.study.cells import LEARNER_OPTIONS
from cascadebai_cli.study.config import load_study
from cascadebai_cli.study.document import load_yaml, read_value
from cascadebai_cli.study.study import Study
from cascadebai_cli.workflows.init import SCHEMAS

EDITOR = "# yaml-language-server: $schema=../docs/config.schema.json\n"
CONFIGS = sorted(path for path in (ROOT / "configs").glob("*.yaml") if path.stem != "figure3")
"""All but the one that is no study: it holds `plot` only."""

TWO = "{name: a, family: two_level, L: 8, K: 2, w_star: 0.5, w_prime: 0.1}"
OTHER = "  - {name: z, family: linear, w_max: 0.4, w_min: 0.2}"
GOOD = f"""\
seed: 1
L: 8
K: 2
instances:
  - {TWO}
{OTHER}
learners:
  - {{name: one, algorithm: cascadebai}}
"""
INSTANCE, LEARNER = f"  - {TWO}", "  - {name: one, algorithm: cascadebai}"


def of_instance(*entries: str) -> tuple[str, str]:
    """The good config with other instances."""
    return INSTANCE, "\n".join(f"  - {entry}" for entry in entries)


def of_learner(*entries: str) -> tuple[str, str]:
    """The good config with other learners."""
    return LEARNER, "\n".join(f"  - {entry}" for entry in entries)


VALID = [
    ("seed: 1", "seed: 0"),
    ("K: 2\n", "K: {from: 2, to: 6, step: 2}\n"),
    ("K: 2\n", "K: [2, 3]\ntitle: A title\nstudy: mine\nmax_steps: none\nrewards: null\n"),
    ("K: 2\n", "K: 2\ndelta: [0.1, 1e-3]\nepsilon: 0.05\norder: as_given\n"),
    ("K: 2\n", "K: 2\ntrials: {max_errors: 3, at_most: 100}\n"),
    ("K: 2\n", "K: 2\nrewards: {rows: 10, reuse: false}\n"),
    ("K: 2\n", "K: 2\nbudget: {from: 500, to: 800, times: 1.5}\n"),
    ("L: 8, K: 2, w_star", "zip: {L: [8, 9], K: [2, 3], delta: [0.1, 0.2]}, w_star"),
    ("K: 2\n", "K: 2\nplot: {log: none, panels: none, lines: learner, width: 5, where: {K: [2]}, format: pdf}\n"),
    ("K: 2\n", "K: 2\nplot: {kind: bars, labels: {one: two}, order: [one], width: column, log: [x]}\n"),
    ("L: 8, K: 2, w_star", "fit: {model: [log(x), x^2], x: delta}, w_star"),
    ("L: 8, K: 2, w_star", "fit: {model: K, published: {c1: 1}}, w_star"),
    of_instance("{name: b, family: explicit, weights: [0.9, 1/K**2, 0.1, 0], K: 1}"),
    of_instance("{name: c, family: formula, weight: 0.9 - 0.8*i/L}"),
    of_instance('{name: "d {replicate}", family: random, replicate: [1, 2], w_star: 1, w_prime: "uniform(0, 0.3)"}'),
    of_instance("{name: e, family: 'sweeps:weights', power: 2}"),
    of_instance('{name: "f {w_star}", family: two_level, w_star: [0.5, 2/3], w_prime: 0.01}'),
    of_learner('{name: "s {sigma}", algorithm: cascadebai, sigma: [0.25, 1]}'),
    of_learner('{name: "{algorithm}", algorithm: [cascadebai, kl-lucb++]}'),
    of_learner('{name: "of {list_length}", algorithm: kl-lucb++, list_length: {from: 1, to: 3}, stopping: glr}'),
    of_learner(
        "{name: b, algorithm: batrac, b: K, r: 2, feedback: semi-bandit, epsilon: 0, K: 3, delta: 0.2}",
        "{name: one, algorithm: cascadebai}",
    ),
    of_learner("{name: t, algorithm: track-and-stop}", "{name: k, algorithm: cascadebai, confidence: kl}"),
    of_learner("{name: own, algorithm: 'experiments.uniform_kl:UniformKL'}"),
]
REFUSED = [
    ("seed: 1\n", ""),
    ("seed: 1", "sede: 1"),
    ("seed: 1", "seed: -1"),
    ("seed: 1", "seed: one"),
    ("K: 2\n", "K: 0\n"),
    ("K: 2\n", "K: []\n"),
    ("K: 2\n", "K: [2, 2]\n"),
    ("K: 2\n", "K: {from: 2}\n"),
    ("K: 2\n", "K: {from: 2, to: 4, by: 2}\n"),
    ("K: 2\n", "K: '2'\n"),
    ("K: 2\n", "K: 2\ndelta: 0\n"),
    ("K: 2\n", "K: 2\ndelta: 1\n"),
    ("K: 2\n", "K: 2\nepsilon: 1\n"),
    ("K: 2\n", "K: 2\ntrials: 0\n"),
    ("K: 2\n", "K: 2\ntrials: {relative_error: 0.01}\n"),
    ("K: 2\n", "K: 2\nbudget: {from: 500, to: 800, times: 1}\n"),
    ("K: 2\n", "K: 2\nmax_steps: 0\n"),
    ("K: 2\n", "K: 2\nmax_steps: true\n"),
    ("K: 2\n", "K: 2\nengine: fast\n"),
    ("K: 2\n", "K: 2\norder: sorted\n"),
    ("K: 2\n", "K: 2\nrewards: {reuse: true}\n"),
    ("K: 2\n", "K: 2\nplot: {kind: pie}\n"),
    ("K: 2\n", "K: 2\nplot: {width: 100}\n"),
    ("K: 2\n", "K: 2\nplot: {format: jpg}\n"),
    ("K: 2\n", "K: 2\nplot: {where: {K: []}}\n"),
    ("K: 2\n", "K: 2\nclaims: mine\n"),
    ("name: a", "name: ''"),
    ("name: a", "name: ' a'"),
    ("name: a", "nam: a"),
    ("family: two_level", "family: three_level"),
    ("family: two_level, ", ""),
    ("w_star: 0.5", "w_star: [0.5]"),
    ("w_star: 0.5", "w_max: 0.5"),
    ("w_star: 0.5, ", ""),
    ("L: 8, K: 2, w_star", "fit: {x: K}, w_star"),
    (f"{INSTANCE}\n{OTHER}", ""),
    of_instance("{name: b, family: explicit, weights: [0.9], K: 1}"),
    of_instance("{name: c, family: csv, clicks: a, views: b}"),
    of_instance("{name: c, family: csv, path: a.csv, rate: b, top: 1}"),
    of_instance("{name: d, family: random, replicate: [1, 2], w_star: 1, w_prime: 0}"),
    of_learner(),
    of_learner("{name: one}"),
    of_learner("{name: one, algorithm: cascade}"),
    of_learner("{name: one, algorithm: cascadebai, sigma: 0}"),
    of_learner("{name: one, algorithm: cascadebai, sigma: [0.25, 1]}"),
    of_learner("{name: one, algorithm: cascadebai, order: up}"),
    of_learner("{name: one, algorithm: cascadebai, b: 1}"),
    of_learner("{name: one, algorithm: batrac, b: L}"),
    of_learner("{name: one, algorithm: kl-lucb++, stopping: soon}"),
    of_learner("{name: one, algorithm: kl-lucb++, list_length: 0}"),
]
ONLY_THE_VALIDATOR_SEES = [
    ("K: 2\n", "K: 2\nplot: {where: {K: [2, 3]}}\n"),
    ("K: 2, ", "K: 8, "),
    ("w_prime: 0.1", "w_prime: 0.5"),
    ("w_prime: 0.1", "w_prime: 1/J"),
    ("seed: 1", "seed: 1.0"),
    ("K: 2\n", "K: {from: 4, to: 2}\n"),
    ("K: 2\n", "K: 2\nplot: {x: speed}\n"),
    ("K: 2\n", "K: 2\ntrials: {at_most: 10}\n"),
    ("K: 2\n", "K: 2\nzip: {K: [2, 3]}\n"),
    of_instance(TWO, TWO),
    of_instance("{name: c, family: csv, path: nowhere.csv, rate: b}"),
    of_learner("{name: b, algorithm: batrac, epsilon: 0.1}"),
    of_learner("{name: u, algorithm: uniform}"),
    of_learner("{name: own, algorithm: 'experiments.uniform_kl:Nothing'}"),
]


@cache
def schema() -> Draft202012Validator:
    """The schema, which is one."""
    Draft202012Validator.check_schema(SCHEMAS["config"]())
    return Draft202012Validator(SCHEMAS["config"]())


def judged(path: Path) -> tuple[bool, bool]:
    """Whether a config is valid, and whether the schema takes it."""
    try:
        load_study(path)
        valid = True
    except ConfigError:
        valid = False
    return valid, schema().is_valid(load_yaml(path).data)


def changed(folder: Path, old: str, new: str) -> Path:
    """The good config with a text in place of another one."""
    assert GOOD.count(old) == 1
    path = folder / "study.yaml"
    path.write_text(GOOD.replace(old, new))
    return path


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_configs_are_taken_and_name_the_schema(path: Path) -> None:
    assert schema().is_valid(load_yaml(path).data)
    assert path.read_text(encoding="utf-8").startswith(EDITOR)


@pytest.mark.parametrize(("old", "new"), VALID)
def test_what_is_valid_is_taken(old: str, new: str, tmp_path: Path) -> None:
    assert judged(changed(tmp_path, old, new)) == (True, True)


@pytest.mark.parametrize(("old", "new"), REFUSED)
def test_what_is_wrong_in_itself_is_refused_by_both(old: str, new: str, tmp_path: Path) -> None:
    assert judged(changed(tmp_path, old, new)) == (False, False)


@pytest.mark.parametrize(("old", "new"), ONLY_THE_VALIDATOR_SEES)
def test_what_is_wrong_between_keys_only_the_validator_sees(old: str, new: str, tmp_path: Path) -> None:
    assert judged(changed(tmp_path, old, new)) == (False, True)


def keys(model: Any) -> Iterator[tuple[str, Any]]:
    """Key and what is said of it, of a model."""
    for name, key in model.model_fields.items():
        yield f"{model.__name__}.{name}", key


def all_models(model: Any = Study) -> list[Any]:
    """The models of a config and of what stands in it."""
    named = {found.__name__: found for found in subclasses(model.__mro__[1])}
    return [named[name] for name in sorted(named)]


def subclasses(model: Any) -> Iterator[Any]:
    for found in model.__subclasses__():
        yield found
        yield from subclasses(found)


def test_every_key_says_what_it_means() -> None:
    said = [key for model in (*all_models(), Manifest) for key in keys(model)]
    assert len(said) > 100
    assert [name for name, key in said if not key.description] == []


def test_every_example_is_taken_by_its_key() -> None:
    """Judged key by key, for keys that no other key hangs on."""
    for name, key in (pair for model in all_models() for pair in keys(model)):
        for text in key.examples or ():
            assert read_value(text) is not None or text == "none", name
    properties = SCHEMAS["config"]()["properties"]
    for name, key in properties.items():
        judge = Draft202012Validator({**SCHEMAS["config"](), "required": [], "properties": {name: key}})
        for example in key.get("examples", ()):
            assert judge.is_valid({name: example}), (name, example)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_option_of_a_learner_is_explained(algorithm: str) -> None:
    for name in options_of(algorithm):
        entry = {"name": "x", "algorithm": algorithm, name: read_value(LEARNER_OPTIONS[name].example)}
        assert schema().is_valid({"seed": 1, "learners": [entry], "instances": [read_value(TWO)]})


def test_no_option_is_explained_that_is_not_there() -> None:
    assert set(LEARNER_OPTIONS) == {name for algorithm in ALGORITHMS for name in options_of(algorithm)}


@pytest.mark.parametrize("path", sorted((ROOT / "results" / "reference").glob("*/manifest.json")), ids=str)
def test_manifests_are_what_their_schema_says(path: Path) -> None:
    judge = Draft202012Validator(json.loads(call("schema", "manifest").out))
    found = json.loads(path.read_text(encoding="utf-8"))
    assert judge.is_valid(found)
    assert not judge.is_valid({**found, "seed": -1})
    assert not judge.is_valid({name: value for name, value in found.items() if name != "cells"})
