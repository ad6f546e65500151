"""Chances at a budget, and page views for a chance, by hand."""

import math

import pytest

from cascadebai_cli.planning.files import _as_cells
from cascadebai_cli.planning.numbers import Chance, needed
from cascadebai_cli.store.columns import TrialRow


def row(right: int, K: int = 3) -> TrialRow:
    return TrialRow("c", 0, "answered", 10, 10, right == K, right=right)


def at(budget: int, all_right: float, low: float, high: float) -> Chance:
    return Chance(budget, 100, all_right, low, high, 1, 1, 1)


def test_a_chance_by_hand():
    found = Chance.of(10, [row(3), row(3), row(1), row(2)], 3)
    assert (found.budget, found.n, found.all_right, found.right) == (10, 4, 0.5, 2.25)
    assert found.low == pytest.approx(0.0676, abs=1e-4)
    assert found.right_high == 3


def test_page_views_for_a_chance_lie_between_two_budgets():
    curve = [at(100, 0.6, 0.5, 0.7), at(200, 0.9, 0.8, 0.96), at(400, 0.99, 0.95, 1.0)]
    low, value, high = needed(curve, 0.9)
    assert 100 < low < value == pytest.approx(200)
    assert 200 < high < 400
    assert needed(curve, 0.999) == (pytest.approx(400, abs=200), math.inf, math.inf)
    assert needed(curve, 0.3) == (0, 0, 0)


def test_the_cells_of_a_figure_show_errors():
    cells = _as_cells([("a", [at(100, 0.6, 0.5, 0.7)])], K=2)
    assert cells[["learner", "budget", "K", "n_capped"]].to_numpy().tolist() == [["a", 100, 2, 0]]
    assert cells[["error_low", "error_rate", "error_high"]].to_numpy()[0] == pytest.approx([0.3, 0.4, 0.5])
