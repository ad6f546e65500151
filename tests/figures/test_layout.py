"""Figures that hold up: pages, letters, titles, legends, ticks, signs."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import drawn
import pytest
from matplotlib.figure import Figure
from sweeps import call
from synthetic import planted_steps, scaling_config, write_results

from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.layout import ARROW, ARROW_POINTS, LIMIT_LABEL, WRONG_LABEL
from cascadebai_cli.figures.style import panel_letter

LONG = "An instance with a name as long as a sentence, which no title of a panel can hold in one line of its own 1"
HOSTILE = [r"100 % of $K$ \& #1_{x}^2~", r"\textbf{bold} $", "a_b__c $x", r"<b>&amp;</b> \frac{1}{"]


def study(folder: Path, settings: int = 1, cap: int | None = None, **changes: Any) -> StudyResults:
    config = scaling_config(settings, **{"trials": 2, "K": [20, 30, 40], "plot": {"kind": "curves"}, **changes})
    return load_results(write_results(folder, config, cap=cap))


def explicit(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "family": "explicit", "weights": [0.9, 0.1] * 64} for name in names]


def clipped(figure: Figure) -> list[str]:
    """Texts that reach beyond the page."""
    figure.draw_without_rendering()
    page = figure.bbox.padded(2)
    texts = [axes.title for axes in figure.axes] + [axes.yaxis.label for axes in figure.axes]
    texts += [text for legend in figure.legends for text in legend.get_texts()]
    boxes = {text.get_text(): text.get_window_extent() for text in texts if text.get_text()}
    return [text for text, box in boxes.items() if not (page.contains(*box.min) and page.contains(*box.max))]


@pytest.mark.parametrize(
    ("position", "letter"), [(0, "(a)"), (25, "(z)"), (26, "(aa)"), (51, "(az)"), (52, "(ba)"), (702, "(aaa)")]
)
def test_letters_go_on_behind_z(position: int, letter: str) -> None:
    assert panel_letter(position) == letter


def test_pages_of_six_panels_with_letters_that_go_on(tmp_path: Path) -> None:
    pages = drawn.pages(study(tmp_path, instances=explicit(*(f"{i} 1" for i in range(28)))))
    assert [len(page.axes) for page in pages] == [6, 6, 6, 6, 4]
    assert pages[4].axes[3].get_title() == "(ab) 27 1"
    assert pages[0].get_figheight() < 9
    assert [len(page.axes) for page in drawn.pages(study(tmp_path / "b", 5), per_page=2)] == [2, 2, 1]


@pytest.mark.parametrize("width", ["column", "text"])
@pytest.mark.parametrize("kind", ["curves", "scaling", "bars"])
def test_nothing_is_clipped(kind: str, width: str, tmp_path: Path) -> None:
    learners = [{"name": name, "algorithm": "cascadebai", "sigma": 0.5 + i} for i, name in enumerate([*HOSTILE, LONG])]
    results = study(tmp_path, instances=explicit(LONG, f"{HOSTILE[0]} 1"), learners=learners, K=[20, 30])
    for page in drawn.pages(results, kind=kind, width=width, x="instance" if kind == "bars" else "K"):
        assert page.get_figwidth() == {"column": 3.25, "text": 6.75}[width]
        assert clipped(page) == []


def test_names_stand_as_they_are(tmp_path: Path) -> None:
    learners = [{"name": name, "algorithm": "cascadebai", "sigma": 0.5 + i} for i, name in enumerate(HOSTILE)]
    page = drawn.figure(study(tmp_path, learners=learners))
    page.draw_without_rendering()
    assert [text.get_text().replace(r"\$", "$") for text in page.legends[0].get_texts()] == HOSTILE


def test_a_legend_takes_as_many_columns_as_fit_and_the_page_grows(tmp_path: Path) -> None:
    learners = [{"name": f"learner {i}", "algorithm": "cascadebai", "sigma": 0.1 + i} for i in range(12)]
    results = study(tmp_path, learners=learners)
    wide, narrow = drawn.figure(results, width="text"), drawn.figure(results, width="column")
    assert clipped(wide) == clipped(narrow) == []
    assert narrow.get_figheight() > wide.get_figheight()
    assert drawn.figure(results, width="column", height=3).get_figheight() == 3


@pytest.mark.parametrize(("learners", "columns"), [(5, 5), (8, 4), (9, 5)])
def test_the_rows_of_a_legend_are_about_as_long(learners: int, columns: int, tmp_path: Path) -> None:
    named = [{"name": f"learner {i}", "algorithm": "cascadebai", "sigma": 0.1 + i} for i in range(learners)]
    (legend,) = drawn.figure(study(tmp_path, learners=named), width="text").legends
    assert legend._ncols == columns


def test_more_lines_than_looks_are_refused(tmp_path: Path) -> None:
    learners = [{"name": f"learner {i}", "algorithm": "cascadebai", "sigma": 0.1 + i} for i in range(13)]
    with pytest.raises(ConfigError, match="13 lines in one panel are more than the 12 that can be told apart; choose"):
        drawn.pages(study(tmp_path, learners=learners))
    assert len(drawn.pages(study(tmp_path / "b", learners=learners), panels="learner")) == 3


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """A study of 2000 instances."""
    config = scaling_config(1, K=[20], trials=1, instances=explicit(*(f"{i} 1" for i in range(2000))))
    return load_results(write_results(tmp_path_factory.mktemp("many"), config))


@pytest.mark.parametrize("kind", ["scaling", "curves", "bars", "bounds"])
def test_more_panels_than_anybody_looks_at_are_refused_at_once(kind: str, many: StudyResults) -> None:
    words = {"panels": "instance", "x": "K"}
    with pytest.raises(ConfigError, match=r"2,000 panels are more than 240.*choose with --where"):
        drawn.pages(many, kind=kind, **words)


def test_whole_numbers_have_whole_ticks(tmp_path: Path) -> None:
    (axes,) = drawn.figure(study(tmp_path, K=[2, 3, 4])).axes
    assert all(tick == round(tick) for tick in axes.get_xticks())


@pytest.mark.parametrize(("x", "shown"), [("K", "20"), ("L", "128"), ("delta", "1e-30")])
def test_a_single_value_has_one_tick(x: str, shown: str, tmp_path: Path) -> None:
    (axes,) = drawn.figure(study(tmp_path, K=[20], delta=[1e-30]), x=x).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == [shown]


def test_whole_numbers_on_a_logarithmic_axis_have_labels_that_do_not_touch(tmp_path: Path) -> None:
    page = drawn.figure(study(tmp_path, K=[1], L=list(range(2, 81))), x="L")
    page.draw_without_rendering()
    boxes = [label.get_window_extent() for label in page.axes[0].get_xticklabels() if label.get_text()]
    assert page.axes[0].get_xscale() == "log"
    assert len(boxes) > 5
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_bars_within_one_power_of_ten_have_labels(tmp_path: Path) -> None:
    results = load_results(write_results(tmp_path, scaling_config(1, K=[20], trials=2), lambda _: 300.0))
    (axes,) = drawn.figure(results, kind="bars").axes
    axes.figure.draw_without_rendering()
    assert len([label for label in axes.yaxis.get_ticklabels(which="both") if label.get_text()]) >= 2


def test_names_on_an_axis_stand_apart_from_its_ends(tmp_path: Path) -> None:
    learners = [{"name": name, "algorithm": "cascadebai", "sigma": 0.5 + i} for i, name in enumerate("abc")]
    (axes,) = drawn.figure(study(tmp_path, learners=learners, K=[20]), x="learner").axes
    assert axes.get_xlim() == (-0.4, 2.4)


def test_a_mean_without_interval_is_not_said_to_have_one(tmp_path: Path) -> None:
    words = {"kind": "scaling", "panels": "instance"}
    page = drawn.figure(study(tmp_path), y="observations", **words)
    assert [text.get_text() for text in page.legends[0].get_texts()] == ["mean over the trials"]


def test_a_logarithmic_axis_has_at_least_two_labels(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30], trials=2)
    results = load_results(write_results(tmp_path, config, lambda cell: 100.0 * cell["K"]))
    (axes,) = drawn.figure(results, kind="curves", log="y").axes
    axes.figure.draw_without_rendering()
    shown = [label.get_text() for label in axes.yaxis.get_ticklabels(which="both") if label.get_text()]
    assert axes.get_yscale() == "log"
    assert len(shown) >= 2


def test_lower_limits_have_open_markers_with_arrows_and_no_interval(tmp_path: Path) -> None:
    page = drawn.figure(study(tmp_path, cap=500_000))
    (axes,) = page.axes
    arrows = [line for line in axes.get_lines() if line.get_marker() is ARROW]
    assert [list(line.get_xdata()) for line in arrows] == [[30, 40]]
    (curve,) = axes.containers
    assert curve[0].get_markevery() == [0]
    assert [segment[0][1] == segment[1][1] for segment in curve[2][0].get_segments()] == [False, True, True]
    assert LIMIT_LABEL in [text.get_text() for text in page.legends[0].get_texts()]


@pytest.mark.parametrize("log", ["none", "y"])
def test_arrows_stay_below_the_title(log: str, tmp_path: Path) -> None:
    page = drawn.figure(study(tmp_path, cap=500_000), log=log)
    page.draw_without_rendering()
    (axes,) = page.axes
    highest = axes.transData.transform((40, 500_000))[1] + ARROW_POINTS * page.dpi / 72
    assert highest < axes.get_window_extent().y1


def test_what_was_wrong_too_often_has_a_cross_and_is_named(tmp_path: Path) -> None:
    results = study(tmp_path)
    results.summary["error_rate"] = [0.0, 0.1, 0.5]
    page = drawn.figure(results)
    crosses = [line for line in page.axes[0].get_lines() if line.get_marker() == "x"]
    assert [list(line.get_xdata()) for line in crosses] == [[40]]
    assert WRONG_LABEL in [text.get_text() for text in page.legends[0].get_texts()]


def test_the_caption_names_the_crosses(tmp_path: Path) -> None:
    directory = write_results(tmp_path, scaling_config(1, K=[20, 30], trials=4))
    text = (directory / "summary.csv").read_text().replace(",0.0,0.0,0.17", ",0.75,0.2,0.9", 1)
    (directory / "summary.csv").write_text(text)
    assert call("plot", directory, "--format", "svg").err == (
        "for the caption: a cross marks recommendations that were wrong more often than delta: K = 20 (3 of 4)\n"
    )


def test_a_band_does_not_reach_below_zero_steps(tmp_path: Path) -> None:
    results = load_results(
        write_results(tmp_path, scaling_config(1, K=[3, 4, 5], trials=2), lambda cell: max(1.0, planted_steps(cell)))
    )
    chart = drawn.data(results)
    assert chart.panels[0].series[0].fit is not None
    assert (chart.panels[0].series[0].fit["low"] >= 0).all()
    assert drawn.figure(results).axes[0].get_ylim()[0] >= 0


def test_a_curve_with_lower_limits_has_no_fit(tmp_path: Path) -> None:
    results = study(tmp_path, 2, cap=700_000, plot={"kind": "scaling"})
    fits = [panel.series[0].fit for panel in drawn.data(results).panels]
    assert fits == [None, None]
    free = replace(results, summary=results.summary.assign(n_capped=0))
    assert all(panel.series[0].fit is not None for panel in drawn.data(free).panels)
