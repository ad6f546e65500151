"""What a figure of errors against page views consists of."""

from dataclasses import replace
from pathlib import Path

import drawn
import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer
from sweeps import call, refusal

from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.analysis.tables import cells_printed
from cascadebai_cli.figures.layout import Signs
from cascadebai_cli.study.plot import Plot

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def results() -> StudyResults:
    return load_results(DATA / "error")


def rows(results: StudyResults, instance: str, learner: str) -> pd.DataFrame:
    cells = results.summary
    return cells[(cells["instance"] == instance) & (cells["learner"] == learner)].sort_values("budget")


def test_a_panel_an_instance_and_a_line_a_learner_with_exact_intervals(results: StudyResults) -> None:
    figure = drawn.figure(results)
    learners = ["uniform", "SAR", "KL-LUCB++"]
    for axes, instance in zip(figure.axes, ["two levels", "ramp"], strict=True):
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("page views", "error rate")
        curves = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
        assert [curve.get_label() for curve in curves] == learners
        for curve in curves:
            cells = rows(results, instance, str(curve.get_label()))
            some = cells["error_rate"].to_numpy() > 0
            assert list(curve[0].get_xdata()) == list(cells["budget"])
            assert list(curve[0].get_ydata()[some]) == list(cells["error_rate"][some])
            assert np.isnan(curve[0].get_ydata()[~some].astype(float)).all()
            ends = [(part[0][1], part[1][1]) for part in curve[2][0].get_segments() if len(part)]
            expected = cells[["error_low", "error_high"]][some].to_numpy()
            assert np.array(ends)[: len(expected)] == pytest.approx(expected)


def test_cells_without_an_error_are_upper_limits_at_the_end_of_their_interval(results: StudyResults) -> None:
    points = drawn.data(results).points
    zero = points[points["error_rate"] == 0]
    assert len(zero)
    assert zero["is_ceiling"].all()
    assert not points["is_ceiling"][points["error_rate"] > 0].any()
    assert list(zero["y"]) == list(zero["error_high"])
    (legend,) = drawn.figure(results).legends
    assert Signs.CEILING in [text.get_text() for text in legend.get_texts()]


def test_nothing_is_marked_as_wrong_more_often_than_delta(results: StudyResults) -> None:
    points = drawn.data(results).points
    assert (points["error_rate"] > points["delta"]).any()
    assert not points["is_wrong"].any()


def test_right_items_stand_on_a_linear_axis(results: StudyResults) -> None:
    figure = drawn.figure(results, y="right")
    assert [(axes.get_xscale(), axes.get_yscale()) for axes in figure.axes] == [("log", "linear")] * 2
    points = drawn.data(results, y="right").points
    assert list(points["y"]) == list(points["mean_right"])
    assert not points["is_ceiling"].any()


def test_words_for_readers_who_do_not_see_it(results: StudyResults) -> None:
    chart = drawn.data(results)
    assert chart.title == "Share of wrong recommendations of each learner against budget"
    assert "at most " in chart.alternative
    right = drawn.data(results, y="right")
    assert "right items at budget = 100" in right.alternative


def test_a_study_without_a_budget_has_no_such_figure() -> None:
    assert "y: right is known of studies with a budget" in refusal("plot", DATA / "curves", "--y", "right")
    assert "x: budget is known of studies with a budget" in refusal("plot", DATA / "curves", "--kind", "error")


def test_an_interval_of_right_items_ends_where_such_numbers_end(results: StudyResults) -> None:
    summary = results.summary.assign(right_low=-0.1, right_high=results.summary["K"] + 0.1)
    wide = replace(results, summary=summary)
    points = drawn.data(wide, y="right").points
    assert (points["low"] == 0).all()
    assert (points["high"] == points["K"]).all()
    printed = cells_printed(wide.cells).rows
    assert {line[-1] for line in printed} == {f"0.00 to {K}.00" for K in results.summary["K"]}


def test_an_interval_of_steps_ends_at_0_and_few_trials_are_said_to_be_few(results: StudyResults) -> None:
    few = cells_printed(results.cells.assign(n=2, n_capped=0, mean_steps=25.0, ci_low=-115.2, ci_high=165.2))
    assert {line[few.header.index("95 % interval")] for line in few.rows} == {"0 to 165"}
    assert few.above.endswith("an interval of fewer than 4 trials tells little")
    assert "fewer than" not in cells_printed(results.cells.assign(n=4)).above


def test_what_the_kind_shows_may_be_said_otherwise() -> None:
    assert Plot(kind="error").y == "error_rate"
    assert Plot(kind="error", y="right").y == "right"
    assert Plot().y == "steps"


def test_the_report_has_the_numbers_of_the_figure(results: StudyResults, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert call("report", DATA / "error", "--out", page).code == 0
    text = page.read_text()
    assert "Share of wrong recommendations of each learner against budget" in text
    assert "Budgets from which on the error rate is below" in text
