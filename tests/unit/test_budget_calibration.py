"""The table that says whether the chances of `plan --budget` are true."""

from pathlib import Path

import pandas as pd

from experiments.budget_calibration import SETTINGS, Stated, as_table, reliability

ROOT = Path(__file__).parents[2]


def stated(chance: float, right: int, n: int, learner: str = "SAR") -> list[Stated]:
    return [Stated("508", case, learner, 100, chance, int(case < right)) for case in range(n)]


def test_chances_by_their_size_and_the_largest_deviation() -> None:
    rows = as_table([*stated(0.5, 52, 100), *stated(0.9, 80, 100), *stated(0.1, 9, 9, "uniform")])
    text = reliability(rows)
    assert "| 508 | SAR | 100 | 200 | 70.0% | 66.0% | 59% to 73% |" in text
    assert "| 508 | SAR | 40% to 60% | 100 | 50.0% | 52.0% | 42% to 62% |" in text
    assert "| 508 | SAR | 80% to 95% | 100 | 90.0% | 80.0% | 71% to 87% |" in text
    assert text.endswith(
        "Cases: 100 of 508. Largest deviation of a row with 100 chances or more: -4.0 points (SAR on 508, 100) by page "
        "views, -10.0 points (SAR on 508, 80% to 95%) by chance."
    )


def test_few_chances_decide_nothing() -> None:
    assert reliability(as_table(stated(0.1, 9, 9))).endswith("or more: - by page views, - by chance.")


def test_what_is_asked_about_is_there() -> None:
    for setting in SETTINGS.values():
        assert len(pd.read_csv(ROOT / "configs" / "data" / setting.file)) > setting.K
