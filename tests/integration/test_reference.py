"""Taking up a reference: a sweep goes on from the rows that still hold."""

from dataclasses import replace
from pathlib import Path

import pytest

from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.columns import TRIALS_CSV
from cascadebai_cli.store.journal import Stored
from cascadebai_cli.store.manifest import Manifest
from cascadebai_cli.store.trials import read_rows
from experiments import reference
from experiments.artefacts import REFERENCE

BEYOND = REFERENCE / "beyond"


def test_rows_of_engines_that_have_not_changed_are_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = Manifest.read(BEYOND)
    newer = {"skip-ahead": replace(ENGINES["skip-ahead"], version=99)}
    older = {"lockstep": replace(ENGINES["lockstep"], version=manifest.engine_version["lockstep"])}
    monkeypatch.setattr(reference, "ENGINES", {**ENGINES, **newer, **older})
    target = tmp_path / "beyond"
    number = reference.take_up(BEYOND, target)
    kept = {cell_id for cell_id, content in manifest.cells.items() if content["engine"] == "lockstep"}
    stored = Stored.read(target)
    assert set(stored.cell_ids) == kept == set(Manifest.read(target).cells)
    before = {(row.cell_id, row.trial): row.outcome for row in read_rows(BEYOND / TRIALS_CSV) if row.cell_id in kept}
    assert {(row.cell_id, row.trial): row.outcome for row in stored} == before
    assert number == len(before) > 0
    with pytest.raises(ConfigError, match="is there already"):
        reference.take_up(BEYOND, target)


def test_rows_of_a_learner_that_decides_otherwise_are_not(tmp_path: Path) -> None:
    manifest = Manifest.read(BEYOND)
    reference.take_up(BEYOND, tmp_path / "beyond")
    left = {content["learner"] for content in Manifest.read(tmp_path / "beyond").cells.values()}
    assert {content["learner"] for content in manifest.cells.values()} - left == {"CascadeBAI, KL bounds"}
