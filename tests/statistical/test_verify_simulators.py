"""The long check in small: every case runs, and an engine that is wrong gives an alarm."""

from pathlib import Path

import numpy as np
import pytest

from cascadebai_cli.learners.cascadebai import CascadeRule
from experiments import verify_simulators
from experiments.verify_simulators import Case, cases, compare, p_values, report, sample


def chosen(*labels: str) -> list[Case]:
    return [case for case in cases() if case.instance == "zeros and ones" and case.label in labels]


def test_every_engine_and_order_has_its_cases() -> None:
    found = cases()
    assert len({case.title for case in found}) == len(found) == 60
    assert {case.engine for case in found} == {"skip-ahead", "lockstep"}


def test_runs_of_two_engines_are_independent_and_repeatable() -> None:
    (case,) = chosen("CascadeBAI")
    one, other = compare(case, 1, 6)
    assert not np.array_equal(one, other)
    np.testing.assert_array_equal(other, sample(case, "skip-ahead", 1, 6))
    assert not np.array_equal(other, sample(case, "skip-ahead", 2, 6))


def test_report_counts_alarms_and_keeps_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verify_simulators, "PLACE", tmp_path)
    pair = chosen("CascadeBAI", "order mean")
    rng = np.random.default_rng(1)
    same, shifted = rng.normal(100, 10, (200, 3)), rng.normal(200, 10, (200, 3))
    assert report(pair, [(same, same), (same, shifted)]) == 3
    assert "3 of 6 tests below" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {
        "tests.csv",
        *(f"quantiles_{engine}.{format}" for engine in ("skip-ahead", "lockstep") for format in ("png", "pdf")),
    }


def test_a_wrong_engine_gives_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = chosen("CascadeBAI")
    loop = sample(case, "reference", 1, 150)
    assert min(p_values(loop, sample(case, "skip-ahead", 1, 150))) > 1e-4
    exact = CascadeRule.radius
    monkeypatch.setattr(CascadeRule, "radius", lambda self, T: 1.1 * exact(self, T))
    assert min(p_values(loop, sample(case, "skip-ahead", 1, 150))) < 1e-10
