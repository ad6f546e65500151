"""As many trials as it takes: the same number whatever was run when."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from cascadebai_cli.store.journal import ROW
from cascadebai_cli.store.summary import relative_half_width, wanted
from cascadebai_cli.study.fields import Enough


def rows_of(steps: Any, correct: Any = None) -> np.ndarray[Any, Any]:
    rows = np.zeros(len(steps), ROW)
    rows["trial"], rows["steps"] = np.arange(len(steps)), steps
    rows["correct"] = 1 if correct is None else correct
    return rows


@pytest.fixture
def rows() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(5)
    return rows_of(rng.integers(500, 1500, 5000), rng.random(5000) > 0.05)


def test_a_number_is_a_number(rows: np.ndarray[Any, Any]) -> None:
    assert wanted(7, rows) == wanted(7, rows[:0]) == 7


def test_the_half_width_is_that_of_the_t_interval() -> None:
    steps = np.array([90, 100, 120, 70, 95])
    low, high = stats.t.interval(0.95, 4, steps.mean(), stats.sem(steps))
    assert relative_half_width(steps) == pytest.approx((high - low) / 2 / steps.mean())
    assert relative_half_width(np.array([4, 4, 4])) == 0.0
    assert np.isnan(relative_half_width(np.array([4])))


def test_trials_are_added_until_the_interval_is_narrow(rows: np.ndarray[Any, Any]) -> None:
    aims = Enough(relative_error=0.02, at_most=5000)
    number = wanted(aims, rows)
    assert relative_half_width(rows["steps"][:number]) <= 0.02
    needed = next(n for n in range(20, 5000) if relative_half_width(rows["steps"][:n]) <= 0.02)
    assert needed <= number <= 1.5 * needed


def test_the_number_follows_from_the_first_trials_alone(rows: np.ndarray[Any, Any]) -> None:
    aims = Enough(relative_error=0.02, at_most=5000)
    number = wanted(aims, rows)
    assert {wanted(aims, rows[:n]) for n in range(number, 5000, 97)} == {number}
    stages = [wanted(aims, rows[:n]) for n in range(number)]
    assert stages == sorted(stages)
    assert stages[0] == 20
    assert stages[-1] <= number


def test_a_missing_trial_stops_the_judging(rows: np.ndarray[Any, Any]) -> None:
    aims = Enough(relative_error=0.001, at_most=5000)
    assert wanted(aims, np.delete(rows, 3)) == 20


def test_no_more_than_the_most(rows: np.ndarray[Any, Any]) -> None:
    assert wanted(Enough(relative_error=1e-6, at_most=300), rows) == 300
    assert wanted(Enough(relative_error=0.5, at_least=5, at_most=5), rows) == 5


def test_errors_are_counted(rows: np.ndarray[Any, Any]) -> None:
    number = wanted(Enough(max_errors=20, at_most=5000), rows)
    assert 20 <= (rows["correct"][:number] == 0).sum() <= 60
    assert wanted(Enough(max_errors=20, at_most=400), rows_of(np.ones(5000))) == 400
    both = Enough(max_errors=20, relative_error=0.2, at_most=5000)
    assert wanted(both, rows) == number


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"at_most": 100}, "says when to stop at the latest only"),
        ({"relative_error": 0.1}, "at_most"),
        (
            {"relative_error": 0.1, "at_most": 10},
            "10 is less than at_least: 20, which is the default; add at_least: 10",
        ),
        ({"relative_error": 1.5, "at_most": 100}, "less than 1"),
        ({"relativ_error": 0.1, "at_most": 100}, "did you mean relative_error?"),
    ],
)
def test_aims_that_are_none_are_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Enough.model_validate(values)
    assert sentence.replace("did you mean ", "") in str(caught.value) or sentence in str(caught.value)


@pytest.mark.parametrize("error", [1e-200, 1e-308, 5e-324])
def test_an_interval_that_nobody_reaches_takes_all_trials_that_are_allowed(
    rows: np.ndarray[Any, Any], error: float
) -> None:
    assert wanted(Enough(relative_error=error, at_most=25), rows) == 25
    assert wanted(Enough(relative_error=error, at_most=25), rows_of([7] * 25)) == 20
