"""The sharp bound as columns of a table of cells."""

import math

import pandas as pd
import pytest

from cascadebai_cli.analysis.bounds import no_sharp, with_factor, with_sharp
from cascadebai_cli.model.users import Cascade, DependentClick, NoSkips, PositionBased
from cascadebai_cli.study.config import load_study
from cascadebai_cli.theory import sharp as sharp_module
from cascadebai_cli.theory.sharp import sharp_bound

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
    cells = load_study(path).cells
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


@pytest.mark.parametrize(
    ("users", "feedback", "same_as"),
    [
        ("{kind: no-skips}", "last-click", "NoSkips"),
        ("{kind: cascade, leave: 0.5}", "cascading", "Cascade"),
        ("{kind: dependent-click, go_on: 0.5}", "last-click", "DependentClick"),
        ("{kind: dependent-click, go_on: 0.5}", "cascading", None),  # up to the first click they are a cascade
        ("{kind: position-based, looks: [0.9, 0.2]}", "semi-bandit", "PositionBased"),
    ],
)
def test_the_bound_of_other_users_is_that_of_what_they_look_at(tmp_path, users, feedback, same_as):
    path = tmp_path / "study.yaml"
    sought = f"K: 1, users: {users}"
    learner = f"{{name: two, algorithm: kl-lucb++, list_length: 2, feedback: {feedback}}}"
    path.write_text(STUDY.partition("  - {name: one")[0].replace("SOUGHT", sought) + f"  - {learner}\n")
    cells = load_study(path).cells
    assert no_sharp(cells) == []
    rows = with_sharp(pd.DataFrame({"mean_steps": [1.0] * len(cells)}), cells)
    known = {
        "NoSkips": NoSkips(),
        "Cascade": Cascade(0.5),
        "DependentClick": DependentClick(0.5),
        "PositionBased": PositionBased((0.9, 0.2)),
    }
    expected = sharp_bound(cells[0].problem, M=2, users=known.get(same_as)).characteristic_steps
    assert rows["T_star"].tolist() == pytest.approx([expected] * len(cells))


def test_users_whose_looks_are_not_known_have_no_sharp_bound(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("SOUGHT", "K: 1, users: {kind: position-based, looks: 0.5, most: one}"))
    said = no_sharp(load_study(path).cells)
    assert any("what position-based users look at depends on more than items or places" in line for line in said)


def test_a_tolerance_has_no_sharp_bound(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("SOUGHT", "K: 2, epsilon: 0.1").partition("  - {name: pairs")[0])
    cells = load_study(path).cells
    rows = with_sharp(pd.DataFrame({"mean_steps": [1.0] * len(cells)}), cells)
    assert rows[["T_star", "gap", "sharp", "measured_over_sharp"]].isna().all(axis=None)
    assert with_factor(rows, cells)["factor"].isna().all()
    assert no_sharp(cells) == ["no sharp bound for 2 of 2 cells: it is known for epsilon = 0 only"]


def test_a_batch_that_observes_an_item_twice_has_no_sharp_bound(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("SOUGHT", "K: 1").replace("b: 2,", "b: 2, r: 2,"))
    cells = load_study(path).cells
    known = with_sharp(pd.DataFrame({"mean_steps": [1.0] * len(cells)}), cells)["sharp"].notna()
    assert known.tolist() == [cell.learner == "one" for cell in cells]
    assert no_sharp(cells) == ["no sharp bound for 2 of 4 cells: a step of the learner may observe an item twice"]


def test_a_learner_of_ones_own_may_show_longer_lists_than_its_first(tmp_path, monkeypatch):
    (tmp_path / "growing.py").write_text(GROWING)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("SOUGHT", "K: 2").replace("0.2, 0.2]", "0.5, 0.2]").replace(*PAIRS))
    cells = load_study(path).cells
    rows = with_sharp(pd.DataFrame({"mean_steps": [1.0] * len(cells)}), cells)
    assert rows["T_star"].nunique() == 1


def test_a_bound_that_takes_long_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr(sharp_module, "_SECONDS", 0)
    path, told = tmp_path / "study.yaml", []
    path.write_text(STUDY.replace("SOUGHT", "K: 1").replace("0.8", "0.7"))  # another instance, as bounds are kept
    cells = load_study(path).cells
    with_sharp(pd.DataFrame({"mean_steps": [1.0] * len(cells)}), cells, told.append)
    assert told[0].startswith("two, K = 1 (1 of 2): the sharp bound of")
    assert told[-1].startswith("two, K = 1 (2 of 2): the sharp bound of")


def test_each_learner_has_the_factor_that_its_limit_is_over_the_bound(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("SOUGHT", "K: 1") + "  - {name: lucb, algorithm: kl-lucb++}\n")
    cells = load_study(path).cells
    rows = with_factor(with_sharp(pd.DataFrame({"mean_steps": [1.0] * len(cells)}), cells), cells)
    rows.index = [cell.learner for cell in cells]
    assert not no_sharp(cells)
    assert rows.loc["lucb", "factor"].isna().all()
    # a gap of 0.6 needs 8 / 0.6^2 observations; a list of one item brings one of them, one of two items two
    for learner, steps_of_a_round in (("one", 3), ("pairs", 1.5)):
        assert rows.loc[learner, "factor"].nunique() == 1
        expected = steps_of_a_round * 8 / 0.6**2 / rows.loc[learner, "T_star"]
        assert rows.loc[learner, "factor"].to_numpy() == pytest.approx(expected.to_numpy())


def test_the_limit_is_that_of_random_orders(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.replace("SOUGHT", "K: 1").replace("trials: 2", "trials: 2\norder: as_given"))
    cells = load_study(path).cells
    assert with_factor(pd.DataFrame(index=range(len(cells))), cells)["factor"].isna().all()
