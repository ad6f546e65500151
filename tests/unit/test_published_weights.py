"""Solving for weights: a planted exponent comes back, and the config asks for what it says."""

import math

import pandas as pd
import pytest
import yaml
from sweeps import ROOT

from cascadebai_cli.model.formula import evaluate
from experiments import published_tables, published_weights
from experiments.published_weights import FAR, Means, measure, pairs_of, published_lines, solve

CONFIG = yaml.safe_load((ROOT / published_weights.CONFIG).read_text(encoding="utf-8"))
PROBLEM = {"L": 8, "K": 2, "delta": 0.2, "trials": 4, "seed": 1}
UNKNOWN = {"row": "r", "name": "n", "w_star": "1 - K**-x", "w_prime": "1/K**2", "printed": 2, "low": 0.5, "high": 4}


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_published_lines_are_those_of_table_2() -> None:
    lines = published_lines()
    assert lines["setting 1"](20) == pytest.approx(23802.95 * 20 + 67400.19)
    assert lines["setting 5"](60) == pytest.approx(1.22 * 3600 + 3414.56)
    assert len(lines) == 5


def test_a_planted_exponent_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(problem: object, w_star: float, w_prime: float, stream: str) -> Means:
        return Means(1e4 / (w_star - w_prime) ** 2, 200, 4)

    monkeypatch.setattr(published_weights, "measure", steps)
    target = 1e4 / (1 - 20**-1.37 - 1 / 400) ** 2
    found = solve(UNKNOWN, {**PROBLEM, "K": 20}, target)
    assert found["exponent"] == pytest.approx(1.37, abs=2e-4)
    assert found["printed_over_published"] == pytest.approx((1e4 / (1 - 2 / 400) ** 2) / target)
    slope = 2 * math.log(20) * 20**-1.37 / (1 - 20**-1.37 - 1 / 400)
    assert found["error"] == pytest.approx(200 / 2 / target / slope, rel=0.1)


def test_no_exponent_within_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_weights, "measure", lambda *_: Means(1e4, 200, 4))
    found = solve(UNKNOWN, PROBLEM, 5e4)
    assert math.isnan(found["exponent"])
    assert math.isnan(found["error"])
    assert found["printed_over_published"] == pytest.approx(0.2)


def test_measure_is_repeatable_and_stops_at_the_cap() -> None:
    one = measure(PROBLEM, 0.9, 0.1, "a")
    assert one == measure(PROBLEM, 0.9, 0.1, "a")
    assert one != measure(PROBLEM, 0.9, 0.1, "b")
    assert measure(PROBLEM, 0.9, 0.1, "a", cap=5) == Means(5, 0, 4)
    assert measure(PROBLEM, 0.9, 0.1, "a", place="best first") != measure(PROBLEM, 0.9, 0.1, "a", place="best last")


def test_unknowns_start_from_the_printed_weights() -> None:
    """At the printed exponent both weights are those of Table 2."""
    study = yaml.safe_load((ROOT / "configs" / "table1.yaml").read_text(encoding="utf-8"))
    printed = {entry["name"]: entry for entry in study["instances"]}
    for unknown in CONFIG["unknowns"]:
        assert unknown["low"] < unknown["printed"] < unknown["high"]
        for name in ("w_star", "w_prime"):
            ours = evaluate(unknown[name], {"K": 30, "x": unknown["printed"]})
            assert ours == pytest.approx(evaluate(printed[unknown["row"]][name], {"K": 30})), unknown


def test_every_pair_once_the_larger_first() -> None:
    found = list(pairs_of(CONFIG, 16))
    assert len(found) == len({pair[:2] for pair in found}) == 9 * 8 // 2
    assert all(w_star > w_prime for *_, w_star, w_prime in found)
    assert FAR > 1


def test_tables_say_none_where_there_is_none() -> None:
    solved = pd.DataFrame(
        {"row": "setting 1", "name": "w* = K^-x", "K": [20, 30, 40, 50], "printed": 1, "printed_over_published": 0.8}
        | {"exponent": [1.0, 1.1, float("nan"), 1.2], "error": 0.01}
    )
    text = published_tables.exponents(solved)
    assert "| 1.000 | 1.100 | none | 1.200 | none | 0.0100 |" in text
    assert "w\\* = K^-x" in text
    assert "| setting 1 | 0.800 | 0.800 | 0.800 | 0.800 |" in published_tables.deviations(solved)
