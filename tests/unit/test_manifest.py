"""Which rows may join others."""

import json
import re

import pytest
from sweeps import CONFIG

from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.manifest import Earlier, Manifest
from cascadebai_cli.study.config import load_study


def manifest_of(folder, text):
    path = folder / "study.yaml"
    path.write_text(text)
    study = load_study(path)
    return Manifest.new(study.model_dump(mode="json"), study.seed, study.cells)


def mixed(folder, before, after):
    old, new = manifest_of(folder, before), manifest_of(folder, after)
    new.refuse_mixing(folder, old, list(old.cells))
    return old, new


BASE = CONFIG.format(trials=6)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("trials: 6", "trials: 60"),
        ("trials: 6", "trials: 2"),
        ("K: [1, 2]", "K: [1, 2, 3]"),
        ("delta: 0.2", "delta: [0.1, 0.2]"),
        ("name: wide", "name: other"),
        ("seed: 5", "title: Another title\nseed: 5"),
        ("w_star: 0.9", "w_star: 9/10"),
        ("seed: 5", "seed: 5\nengine: skip-ahead"),
        ("seed: 5", "seed: 5\nlearners: [{name: CascadeBAI, algorithm: cascadebai, sigma: 0.5}]"),
    ],
)
def test_rows_stay_good_when_nothing_changes_that_they_depend_on(tmp_path, before, after):
    assert before in BASE
    mixed(tmp_path, BASE, BASE.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after", "difference"),
    [
        ("seed: 5", "seed: 6", "seed is 5 there and 6 here"),
        ("K: [1, 2]", "K: [1, 3]", "K 2 is there and not here"),
        ("delta: 0.2", "delta: 0.1", "delta 0.2 is there and not here"),
        ("seed: 5", "seed: 5\nmax_steps: 100", "max_steps is none there and 100 here"),
        ("seed: 5", "seed: 5\nfeedback: semi-bandit", "feedback is cascading there and semi-bandit here"),
        ("seed: 5", "seed: 5\norder: as_given", "order is random there and as_given here"),
        ("seed: 5", "seed: 5\nengine: reference", "engine is skip-ahead there and reference here"),
        ("w_star: 0.9", "w_star: 0.8", "w_star is 0.9 there and 0.8 here"),
        (
            "seed: 5",
            "seed: 5\nlearners: [{name: CascadeBAI, algorithm: cascadebai, sigma: 1}]",
            "sigma is 0.5 there and 1.0 here",
        ),
        (
            "seed: 5",
            "seed: 5\nlearners: [{name: CascadeBAI, algorithm: cascadebai, order: U}]",
            "order of the learner is T there and U here",
        ),
    ],
)
def test_rows_of_another_config_are_refused_with_what_differs(tmp_path, before, after, difference):
    with pytest.raises(ConfigError, match=re.escape(difference)) as error:
        mixed(tmp_path, BASE, BASE.replace(before, after))
    assert "--fresh" in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_nothing_else_is_named_than_what_differs(tmp_path):
    with pytest.raises(ConfigError) as error:
        mixed(tmp_path, BASE, BASE.replace("seed: 5", "seed: 5\nmax_steps: 7"))
    text = f"{tmp_path} holds trials of another config: max_steps is none there and 7 here; "
    assert str(error.value) == text + "use --fresh to move it aside and start over, or another --out"


def test_a_manifest_from_before_gaps_were_kept_differs_in_nothing_for_that(tmp_path):
    new = manifest_of(tmp_path, BASE.replace("seed: 5", "seed: 5\nmax_steps: 7"))
    old = manifest_of(tmp_path, BASE)
    assert all(content.pop("gap") > 0 for content in old.cells.values())
    with pytest.raises(ConfigError) as error:
        new.refuse_mixing(tmp_path, old, list(old.cells))
    assert "config: max_steps is none there and 7 here; use" in str(error.value)


def test_an_option_that_is_called_as_a_key_of_the_cell_is_none_to_older_manifests(tmp_path):
    old, new, order = (
        manifest_of(tmp_path, BASE + f"learners: [{{name: CascadeBAI, algorithm: cascadebai, {options}}}]\n")
        for options in ("order: L", "order: U, sigma: 1", "order: U")
    )
    assert {content.pop("order of the learner") for content in old.cells.values()} == {"L"}
    with pytest.raises(ConfigError) as error:
        new.refuse_mixing(tmp_path, old, list(old.cells))
    assert "config: sigma is 0.5 there and 1.0 here; use" in str(error.value)
    with pytest.raises(ConfigError, match="config: CascadeBAI has other options than there; use"):
        order.refuse_mixing(tmp_path, old, list(old.cells))


def test_changed_content_of_a_data_file_is_refused(tmp_path):
    text = "seed: 1\nK: 1\ninstances: [{name: mine, family: csv, path: rates.csv, item: item, rate: rate}]\n"
    (tmp_path / "rates.csv").write_text("item,rate\na,0.9\nb,0.5\nc,0.1\n")
    old = manifest_of(tmp_path, text)
    (tmp_path / "rates.csv").write_text("item,rate\na,0.9\nb,0.4\nc,0.1\n")
    with pytest.raises(ConfigError, match=r"the content of the data file rates\.csv has changed;"):
        manifest_of(tmp_path, text).refuse_mixing(tmp_path, old, list(old.cells))


def test_another_place_of_the_same_data_is_not_a_difference(tmp_path):
    text = "seed: 1\nK: 1\ninstances: [{name: mine, family: csv, path: rates.csv, item: item, rate: rate}]\n"
    (tmp_path / "rates.csv").write_text("item,rate\na,0.9\nb,0.5\nc,0.1\n")
    (tmp_path / "moved.csv").write_text("item,rate\na,0.9\nb,0.5\nc,0.1\n")
    old, new = mixed(tmp_path, text, text.replace("rates.csv", "moved.csv"))
    assert old.cells.keys() == new.cells.keys()


def test_rows_of_another_engine_version_are_refused(tmp_path):
    new = manifest_of(tmp_path, BASE)
    (here,) = new.engine_version.values()
    old = new.model_copy(update={"engine_version": {"skip-ahead": 0}})
    with pytest.raises(ConfigError, match=f"engine skip-ahead has version 0 there and {here} here"):
        new.refuse_mixing(tmp_path, old, list(old.cells))


def test_rows_of_an_engine_outlive_a_new_version_of_another(tmp_path):
    new = manifest_of(tmp_path, BASE)
    old = new.model_copy(update={"engine_version": {**new.engine_version, "lockstep": 0}})
    new.refuse_mixing(tmp_path, old, list(old.cells))


def test_rows_of_another_rule_are_refused(tmp_path):
    """Manifests say the version of a rule once it is no longer 1."""
    new = manifest_of(tmp_path, BASE + "learners: [{name: C, algorithm: cascadebai, confidence: kl}]\n")
    older = {cell: {k: v for k, v in what.items() if k != "rule_version"} for cell, what in new.cells.items()}
    old = new.model_copy(update={"cells": older})
    with pytest.raises(ConfigError, match="trials of another config: rule_version is 1 there and 2 here;"):
        new.refuse_mixing(tmp_path, old, list(old.cells))
    assert all("rule_version" not in cell for cell in manifest_of(tmp_path, BASE).cells.values())


def test_one_number_was_the_version_of_all_engines(tmp_path):
    new = manifest_of(tmp_path, BASE).model_dump()
    assert set(Manifest.model_validate({**new, "engine_version": 1}).engine_version) == set(ENGINES)


def test_pulls_that_repeat_an_item_go_into_a_sweep_of_semi_bandit_feedback(tmp_path):
    learner = "learners: [{name: B, algorithm: batrac, b: 4, r: 2, feedback: semi-bandit}]\n"
    assert {cell["r"] for cell in manifest_of(tmp_path, BASE + learner).cells.values()} == {2}


def test_a_directory_without_rows_takes_any_config(tmp_path):
    old, new = manifest_of(tmp_path, BASE), manifest_of(tmp_path, BASE.replace("seed: 5", "seed: 6"))
    new.refuse_mixing(tmp_path, old, [])
    with pytest.raises(ConfigError, match="seed is 5 there and 6 here"):
        new.refuse_mixing(tmp_path, old, list(old.cells))


def test_rows_without_a_manifest_are_refused(tmp_path):
    new = manifest_of(tmp_path, BASE)
    with pytest.raises(ConfigError, match=r"holds trials but no manifest\.json"):
        new.refuse_mixing(tmp_path, None, list(new.cells))


def test_a_manifest_is_read_as_written_and_says_where_rows_come_from(tmp_path):
    manifest = manifest_of(tmp_path, BASE)
    manifest.write(tmp_path)
    assert Manifest.read(tmp_path) == manifest
    assert list(json.loads((tmp_path / "manifest.json").read_text())) == [
        *("config", "config_hash", "seed", "engine_version", "versions", "git", "machine"),
        *("start", "end", "complete", "rows_sha256", "tables", "cells", "parts"),
    ]
    assert manifest.config["trials"] == 6
    assert manifest.versions["numpy"]


@pytest.mark.parametrize("content", [b"{", b"5", b"[]", b"null", b"\xff\xfe", b'{"cells": 5}', b'{"cells": {"a": 1}}'])
def test_no_manifest_is_none_and_a_broken_one_an_error(tmp_path, content):
    assert Earlier(tmp_path).manifest is None
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(ConfigError, match=r"manifest\.json: .*; sweep into another directory"):
        Manifest.read(tmp_path)
    with pytest.raises(
        ConfigError, match=r"manifest\.json is damaged, or is not the manifest of a sweep; nothing in .* is touched"
    ):
        Earlier(tmp_path)


def test_a_manifest_that_was_read_earlier_is_known_to_have_changed(tmp_path):
    before = Earlier(tmp_path)
    assert before.is_current
    manifest_of(tmp_path, BASE).write(tmp_path)
    assert not before.is_current
    after = Earlier(tmp_path)
    assert after.manifest == Manifest.read(tmp_path)
    assert after.is_current
    manifest_of(tmp_path, BASE.replace("seed: 5", "seed: 6")).write(tmp_path)
    assert not after.is_current
