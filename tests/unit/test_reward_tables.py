"""Blocks on rewards that are used again, from small tables by hand."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from experiments import published_tables
from experiments.published_tables import CAPPED, changes, lesson, quoted, sizes


def test_the_error_of_a_line_anywhere_follows_from_that_of_its_slope() -> None:
    rng = np.random.default_rng(1)
    x = np.arange(20.0, 61.0)
    fit = sm.OLS(3 * x + rng.normal(0, 5, 41), sm.add_constant(x)).fit()
    assert published_tables._error_at(0.0, x, fit.bse[1]) == pytest.approx(fit.bse[0])
    middle = fit.get_prediction([[1, x.mean()]]).se_mean[0]
    assert published_tables._error_at(x.mean(), x, fit.bse[1]) == pytest.approx(middle)


def test_a_fit_equal_to_the_published_one_is_no_error_apart() -> None:
    published = {"published_c1": 23343.29, "published_c2": 8823.27, "published_r2": 0.9995}
    fit = {"model": "K", "c1": 23343.29, "c1_se": 100.0, "c2": 8823.27, **published}
    grid = np.arange(20.0, 61.0)
    assert list(published_tables._apart(fit, grid)) == ["+0.0 %", "+0.0", "+0", "+0.0", "+0.0 %", "+0.0"]
    higher = {**fit, "c2": 8823.27 + 5000}
    c1, _, c2, errors, level, more_errors = published_tables._apart(higher, grid)
    assert (c1, c2, level) == ("+0.0 %", "+5,000", "+0.5 %")
    assert float(more_errors) > float(errors) > 0


def cell(change: str, K: int, **other: object) -> dict[str, object]:
    base = {
        "change": change,
        "row": "setting 1",
        "K": K,
        "trials": 2,
        "mean_steps": 1000.0 * K + 100,
        "sd_steps": 50.0 * K,
    }
    return {**base, "capped": 0, "wrong": 0, "over_published": 0.9, "error": 0.01, **other}


def test_changes_show_the_line_and_what_never_ended() -> None:
    rows = [cell("a", K) for K in (20, 40, 60)] + [cell("c/K**2", 20, capped=2, over_published=4.0)]
    lines = changes(pd.DataFrame(rows)).splitlines()
    assert lines[2] == "| a | setting 1 | 0.900 ± 0.010 | 0.900 ± 0.010 | 0.900 ± 0.010 | 1,000 | 100 | 5.0 % |"
    assert lines[3] == f"| `c/K**2` | setting 1 | {CAPPED} |  |  |  |  |  |"


def test_sizes_one_column_a_size() -> None:
    found = pd.DataFrame(
        [{"row": "setting 1", "K": 20, "rows": rows, "over_published": over} for rows, over in ((10, 0.5), (2000, 1))]
    )
    assert sizes(found).splitlines()[2] == "| setting 1 | 20 | 0.500 | 1.000 |"


def test_quoted_shows_the_nearest_first() -> None:
    base = {"w_star": "1/K", "w_prime": "1/2", "mean_steps": 1000.0, "sd_steps": 10.0, "capped": 0, "trials": 4}
    found = pd.DataFrame([{**base, "rows": rows, "over_quoted": over} for rows, over in ((1, 0.5), (2, 1.1))])
    assert "| 2 |" in quoted(found).splitlines()[2]


def test_lesson_counts_the_times_round() -> None:
    one = {"rows": 100, "row": "setting 1", "trials": 4, "capped": 0, "wrong": 1, "independent_mean": 1000.0}
    found = pd.DataFrame([{**one, "over_independent": 1.5, "error": 0.1, "sd_over_independent": 2.0}])
    assert lesson(found).splitlines()[2] == "| setting 1 | 100 | 15.0 | 1.500 ± 0.100 | 2.0 | 1 of 4 |"
