"""What the figure of several learners consists of."""

from pathlib import Path

import drawn
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from synthetic import Cell, planted_steps, scaling_config, write_results

from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.figures.style import render

NAMES = ["CascadeBAI", "BatRac(K)", "BatRac(1)"]
FACTORS = dict(zip(NAMES, [1.2, 1.0, 30.0], strict=True))


def steps(cell: Cell) -> float:
    return planted_steps(cell) * (FACTORS[str(cell["learner"])] if cell["instance"] == "setting 1" else 1.0)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    learners = [{"name": name, "algorithm": "batrac"} for name in NAMES]
    config = scaling_config(2, learners=learners, K=list(range(20, 26)), plot={"kind": "curves"})
    return load_results(write_results(tmp_path_factory.mktemp("r") / "figure2", config, steps))


@pytest.fixture
def figure(results: StudyResults) -> Figure:
    return drawn.figure(results)


def test_two_panels_with_a_curve_a_learner(figure: Figure, results: StudyResults) -> None:
    assert [axes.get_title() for axes in figure.axes] == [
        "(a) $w^{*} = 1/K$, $w\N{PRIME} = 1/K^{2}$",
        "(b) $w^{*} = 1 - 1/K^{2}$, $w\N{PRIME} = 1 - 1/K$",
    ]
    for axes, instance in zip(figure.axes, ["setting 1", "setting 2"], strict=True):
        curves = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
        assert [curve.get_label() for curve in curves] == NAMES
        for curve in curves:
            summary = results.summary
            rows = summary[(summary["instance"] == instance) & (summary["learner"] == curve.get_label())]
            assert list(curve[0].get_ydata()) == list(rows["mean_steps"])
            segments = curve[2][0].get_segments()
            assert [s[0][1] for s in segments] == pytest.approx(list(rows["ci_low"]))
            assert [s[1][1] for s in segments] == pytest.approx(list(rows["ci_high"]))


def test_log_axis_only_where_the_curves_are_far_apart(figure: Figure) -> None:
    assert [axes.get_yscale() for axes in figure.axes] == ["log", "linear"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["time complexity (steps)", "time complexity ($10^6$ steps)"]


def test_one_legend_in_the_order_of_the_config(figure: Figure) -> None:
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == NAMES


def test_curves_differ_in_colour_and_marker_and_the_first_lies_on_top(figure: Figure) -> None:
    lines = [container[0] for container in figure.axes[0].containers]
    assert len({line.get_color() for line in lines}) == len({line.get_marker() for line in lines}) == 3
    assert lines[0].get_zorder() == max(line.get_zorder() for line in lines)


def test_one_panel_for_each_tolerance(tmp_path: Path) -> None:
    config = scaling_config(1, epsilon=[0.0, 0.05], K=[20, 30], trials=1)
    results = load_results(write_results(tmp_path / "r", config))
    figure = drawn.figure(results, kind="curves", x="K")
    assert figure.axes[1].get_title().endswith(r"$\epsilon = 0.05$")
    assert render([figure], "png", title="r", rows_sha256="0")[0]
