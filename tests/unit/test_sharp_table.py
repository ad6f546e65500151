"""The sharp bound as columns of a table of cells."""

import math

import pandas as pd
import pytest

from cascadebai_cli.analysis.bounds import with_sharp
from cascadebai_cli.study.config import read_study
from cascadebai_cli.theory import sharp as sharp_module

STUDY = """
study: sharp
seed: 1
trials: 2
delta: [0.1, 1e-6]
instances:
  - {name: two, family: explicit, weights: [0.8, 0.2, 0.2], SOUGHT}
learners:
  - {name: one, algorithm: cascadebai}
  - {name: pairs, algorithm: batrac, b: 2, feedback: semi-bandit}
"""
PAIRS = ("{name: pairs, algorithm: batrac, b: 2, feedback: semi-bandit}", "{name: own, algorithm: growing:Growing}")
GROWING = """
from cascadebai_cli.learners.cascadebai import CascadeBAI

class Growing(CascadeBAI):
    def select(self):
        shown = super().select()
        return shown if self.T.any() else shown[:1]
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("SOUGHT", "K: 1"))
    cells = read_study(path).cells
    return with_sharp(pd.DataFrame({"cell_id": [c.cell_id for c in cells], "mean_steps": 100.0}), cells), cells


def test_each_cell_has_the_bound_of_its_feedback_and_risk(table):
    rows, cells = table
    assert (rows["gap"] <= 1e-3).all()
    assert rows["T_star"].nunique() == 2
    for cell, T_star, sharp, ratio in zip(
        cells, rows["T_star"], rows["sharp"], rows["measured_over_sharp"], strict=True
    ):
        d = cell.delta
        assert sharp == pytest.approx(T_star * ((1 - d) * math.log((1 - d) / d) + d * math.log(d / (1 - d))))
        assert ratio == pytest.approx(100 / sharp)


def test_a_tolerance_has_no_sharp_bound(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("SOUGHT", "K: 2, epsilon: 0.1").partition("  - {name: pairs")[0])
    cells = read_study(path).cells
    rows = with_sharp(pd.DataFrame({"mean_steps": [1.0] * len(cells)}), cells)
    assert rows[["T_star", "gap", "sharp", "measured_over_sharp"]].isna().all(axis=None)


def test_a_batch_that_observes_an_item_twice_has_no_sharp_bound(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("SOUGHT", "K: 1").replace("b: 2,", "b: 2, r: 2,"))
    cells = read_study(path).cells
    known = with_sharp(pd.DataFrame({"mean_steps": [1.0] * len(cells)}), cells)["sharp"].notna()
    assert known.tolist() == [cell.learner == "one" for cell in cells]


def test_a_learner_of_ones_own_may_show_longer_lists_than_its_first(tmp_path, monkeypatch):
    (tmp_path / "growing.py").write_text(GROWING)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("SOUGHT", "K: 2").replace("0.2, 0.2]", "0.5, 0.2]").replace(*PAIRS))
    cells = read_study(path).cells
    rows = with_sharp(pd.DataFrame({"mean_steps": [1.0] * len(cells)}), cells)
    assert rows["T_star"].nunique() == 1


def test_a_bound_that_takes_long_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr(sharp_module, "_SECONDS", 0)
    path, told = tmp_path / "study.yaml", []
    path.write_text(STUDY.replace("SOUGHT", "K: 1"))
    cells = read_study(path).cells
    with_sharp(pd.DataFrame({"mean_steps": [1.0] * len(cells)}), cells, told.append)
    assert told[0].startswith("the sharp bound of")
