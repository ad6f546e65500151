"""Figures that hold up: pages, letters, titles, legends, ticks, signs."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import drawn
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from sweeps import call
from synthetic import planted_steps, scaling_config, write_results

from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.layout import Signs
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


def test_a_learner_whose_name_is_that_of_a_sign_stands_in_the_legend_once(tmp_path: Path) -> None:
    learners = [
        {"name": name, "algorithm": "cascadebai", "sigma": sigma} for name, sigma in (("mean", 0.5), ("U", 1.0))
    ]
    (legend,) = drawn.figure(study(tmp_path, learners=learners)).legends
    assert [text.get_text() for text in legend.get_texts()] == ["mean", "U"]


@pytest.mark.parametrize(("learners", "columns"), [(5, 5), (8, 4), (9, 5)])
def test_the_rows_of_a_legend_are_about_as_long(learners: int, columns: int, tmp_path: Path) -> None:
    named = [{"name": f"learner {i}", "algorithm": "cascadebai", "sigma": 0.1 + i} for i in range(learners)]
    (legend,) = drawn.figure(study(tmp_path, learners=named), width="text").legends
    assert legend._ncols == columns


def test_more_lines_than_looks_are_refused(tmp_path: Path) -> None:
    learners = [{"name": f"learner {i}", "algorithm": "cascadebai", "sigma": 0.1 + i} for i in range(13)]
    with pytest.raises(ConfigError, match="13 different lines are more than the 12 that can be told apart; choose"):
        drawn.pages(study(tmp_path, learners=learners))
    assert len(drawn.pages(study(tmp_path / "b", learners=learners), panels="learner")) == 3


@pytest.mark.parametrize("kind", ["curves", "bars"])
def test_lines_are_told_apart_in_a_figure_and_not_only_in_a_panel(kind: str, tmp_path: Path) -> None:
    learners = [{"name": f"learner {i}", "algorithm": "cascadebai", "sigma": 0.1 + i} for i in range(7)]
    results = study(tmp_path, learners=learners, delta=[0.1, 0.2])
    with pytest.raises(ConfigError, match="14 different lines are more than the 12 that can be told apart; choose"):
        drawn.pages(results, kind=kind, x="K", panels="delta", lines=["learner", "delta"])


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
    arrows = [line for line in axes.get_lines() if line.get_marker() is Signs.ARROW]
    assert [list(line.get_xdata()) for line in arrows] == [[30, 40]]
    (curve,) = axes.containers
    assert curve[0].get_markevery() == [0]
    assert [segment[0][1] == segment[1][1] for segment in curve[2][0].get_segments()] == [False, True, True]
    assert Signs.LIMIT in [text.get_text() for text in page.legends[0].get_texts()]


@pytest.mark.parametrize("log", ["none", "y"])
def test_arrows_stay_below_the_title(log: str, tmp_path: Path) -> None:
    page = drawn.figure(study(tmp_path, cap=500_000), log=log)
    page.draw_without_rendering()
    (axes,) = page.axes
    highest = axes.transData.transform((40, 500_000))[1] + Signs.LENGTH * page.dpi / 72
    assert highest < axes.get_window_extent().y1


def test_what_was_wrong_too_often_has_a_cross_and_is_named(tmp_path: Path) -> None:
    results = study(tmp_path)
    results.summary["error_rate"] = [0.0, 0.4, 0.5]
    results.summary["error_low"] = [0.0, 0.1, 0.2]
    page = drawn.figure(results)
    crosses = [line for line in page.axes[0].get_lines() if line.get_marker() == "x"]
    assert [list(line.get_xdata()) for line in crosses] == [[40]]
    assert Signs.WRONG in [text.get_text() for text in page.legends[0].get_texts()]


def test_the_caption_names_the_crosses(tmp_path: Path) -> None:
    directory = write_results(tmp_path, scaling_config(1, K=[20, 30], trials=4))
    text = (directory / "summary.csv").read_text().replace(",0.0,0.0,0.17", ",0.75,0.2,0.9", 1)
    (directory / "summary.csv").write_text(text)
    warning, caption = call("plot", directory, "--format", "svg").err.splitlines()
    assert "1 of 2 cells are wrong more often than delta" in warning
    assert caption == (
        "for the caption: a cross marks recommendations that were wrong more often than delta beyond chance: "
        "K = 20 (3 of 4)"
    )


def test_a_band_does_not_reach_below_zero_steps(tmp_path: Path) -> None:
    results = load_results(
        write_results(tmp_path, scaling_config(1, K=[3, 4, 5], trials=2), lambda cell: max(1.0, planted_steps(cell)))
    )
    chart = drawn.data(results)
    assert chart.panels[0].series[0].fit is not None
    assert (chart.panels[0].series[0].fit["low"] >= 0).all()
    assert drawn.figure(results).axes[0].get_ylim()[0] >= 0


def test_a_marker_near_zero_is_seen_whole(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30], trials=2)
    results = load_results(write_results(tmp_path, config, lambda cell: 1.0 if cell["K"] == 20 else 1000.0))
    (axes,) = drawn.figure(results, kind="curves", log="none").axes
    assert axes.get_ylim()[0] == 0
    assert not axes.containers[0][0].get_clip_on()


def test_a_curve_with_lower_limits_has_no_fit(tmp_path: Path) -> None:
    results = study(tmp_path, 2, cap=700_000, plot={"kind": "scaling"})
    fits = [panel.series[0].fit for panel in drawn.data(results).panels]
    assert fits == [None, None]
    free = replace(results, summary=results.summary.assign(n_capped=0))
    assert all(panel.series[0].fit is not None for panel in drawn.data(free).panels)


# --- A study of one's own -------------------------------------------------------------------------------------------

TWO = [{"name": name, "algorithm": "cascadebai", "sigma": sigma} for name, sigma in (("half", 0.5), ("one", 1.0))]
OWN = [
    {"name": "easy", "family": "two_level", "w_star": 0.8, "w_prime": 0.2},
    {"name": "0.05833 / 33 of a long name", "family": "explicit", "weights": [0.9, 0.1] * 64},
    {"name": "ramp", "family": "linear", "w_max": 0.7, "w_min": 0.1},
]


def own_study(folder: Path, **changes: Any) -> StudyResults:
    words = {"K": [20], "trials": 2, "learners": TWO, "plot": {"kind": "curves"}, **changes}
    return load_results(
        write_results(folder, scaling_config(1, instances=OWN, **words), lambda cell: 300.0 * cell["K"])
    )


def boxes(texts: Any) -> list[Any]:
    return [text.get_window_extent() for text in texts if text.get_text()]


@pytest.mark.parametrize("largest", [1.5, 3.0, 8.0, 12.0, 70.0])
@pytest.mark.parametrize("height", [1.5, 2.4])
def test_labels_within_a_power_of_ten_do_not_touch(largest: float, height: float, tmp_path: Path) -> None:
    factors = {20: 1.0, 30: largest**0.5, 40: largest}
    config = scaling_config(1, K=[20, 30, 40], trials=2)
    results = load_results(write_results(tmp_path, config, lambda cell: 2300.0 * factors[int(str(cell["K"]))]))
    page = drawn.figure(results, kind="curves", log="y", height=height)
    page.draw_without_rendering()
    found = sorted(boxes(page.axes[0].yaxis.get_ticklabels(which="both")), key=lambda box: box.y0)
    assert len(found) >= 2
    assert all(one.y1 < other.y0 for one, other in pairwise(found))


@pytest.mark.parametrize("kind", ["bars", "curves"])
@pytest.mark.parametrize("width", [2.2, 6.75])
def test_names_on_an_axis_are_whole_and_do_not_overlap(kind: str, width: float, tmp_path: Path) -> None:
    page = drawn.figure(own_study(tmp_path), kind=kind, x="instance", width=width)
    page.draw_without_rendering()
    labels = page.axes[0].get_xticklabels()
    words = [word for label in labels for word in label.get_text().split()]
    assert words == " ".join(entry["name"] for entry in OWN).split()
    if not any(label.get_rotation() for label in labels):
        assert all(one.x1 < other.x0 for one, other in pairwise(boxes(labels)))
    assert clipped(page) == []


def test_a_name_of_ones_own_stands_and_not_its_weights(tmp_path: Path) -> None:
    titles = [axes.get_title() for axes in drawn.figure(own_study(tmp_path), x="K").axes]
    assert titles[0] == "(a) easy"


def test_points_of_unrelated_instances_are_not_joined_and_have_their_names(tmp_path: Path) -> None:
    results = own_study(tmp_path)
    for words in ({"x": "instance"}, {"x": "gap"}):
        results.cells["gap"] = results.cells["instance"].map({"easy": 0.6, OWN[1]["name"]: 0.6, "ramp": 0.1})
        page = drawn.figure(results, **words)
        assert {container[0].get_linestyle() for container in page.axes[0].containers} == {"None"}
    assert {text.get_text() for text in page.axes[0].texts} == {entry["name"] for entry in OWN}
    found = boxes(page.axes[0].texts)
    assert not any(one.overlaps(other) for i, one in enumerate(found) for other in found[:i])


def with_gaps(folder: Path, gaps: list[float], **words: Any) -> Figure:
    """Five unrelated instances with long names at given gaps, each with three learners, in the width of a column."""
    instances = [{"name": f"a long name {i}", "family": "explicit", "weights": [0.9, 0.1] * 64} for i in range(5)]
    learners = [*TWO, {"name": "last", "algorithm": "batrac"}]
    config = scaling_config(1, instances=instances, K=[20], trials=2, learners=learners)
    results = load_results(write_results(folder, config, lambda cell: 300.0 * (2 + len(cell["learner"]))))
    results.cells["gap"] = results.cells["instance"].map(
        {one["name"]: gap for one, gap in zip(instances, gaps, strict=True)}
    )
    return drawn.figure(results, kind="curves", x="gap", width="column", **words)


@pytest.mark.parametrize("gaps", [[0.04, 0.06, 0.07, 0.08, 0.35], [0.10, 0.11, 0.12, 0.13, 0.14]])
def test_points_stand_at_their_gaps_and_names_keep_clear_of_them(gaps: list[float], tmp_path: Path) -> None:
    page = with_gaps(tmp_path, gaps)
    (axes,) = page.axes
    for container in axes.containers:
        assert list(container[0].get_xdata()) == gaps
    assert axes.get_xscale() == ("log" if gaps[-1] > 0.3 else "linear")
    page.draw_without_rendering()
    frame = axes.get_window_extent()
    names = [Text.get_window_extent(text) for text in axes.texts]
    points = [axes.transData.transform(xy) for container in axes.containers for xy in container[0].get_xydata()]
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 and box.y1 <= frame.y1 for box in names)
    assert not any(box.contains(*point) for box in names for point in points)
    assert not any(one.overlaps(other) for i, one in enumerate(names) for other in names[:i])


def test_points_that_would_cover_each_other_stay_nearer_to_their_own_gap(tmp_path: Path) -> None:
    gaps = [0.04, 0.044, 0.05, 0.06, 0.35]
    (axes,) = with_gaps(tmp_path, gaps, y="error_rate", log="none").axes
    for container in axes.containers:
        for x, gap in zip(container[0].get_xdata(), gaps, strict=True):
            assert min(gaps, key=lambda other: abs(other - x)) == gap


@pytest.mark.parametrize("kind", ["bounds", "curves", "bars"])
def test_a_page_grows_with_the_names_below_its_panels(kind: str, tmp_path: Path) -> None:
    linear = {"family": "linear", "w_max": 0.7, "w_min": 0.1}
    instances = [{"name": f"{letter} that is rather long 1", **linear} for letter in "abcdef"]
    words = {"kind": kind, "x": "instance", "panels": "none", "lines": "none"}
    results = study(tmp_path, instances=instances, K=[20])
    page = drawn.figure(results, **words, width=2.2)
    assert clipped(page) == []
    frame, short = (one.axes[0].get_window_extent().height for one in (page, drawn.figure(results, **words, width=9)))
    assert frame > 0.45 * short


def test_the_label_of_all_bars_stands_in_their_middle(tmp_path: Path) -> None:
    page = drawn.figure(study(tmp_path, 2, learners=TWO), kind="bars", panels="instance", x="K")
    page.draw_without_rendering()
    (label,) = boxes(page.texts)
    edges = [edge for axes in page.axes for edge in axes.get_window_extent().intervaly]
    assert (label.y0 + label.y1) / 2 == pytest.approx((min(edges) + max(edges)) / 2, abs=2)


def test_error_rates_do_not_cover_each_other(tmp_path: Path) -> None:
    for words in ({"x": "instance"}, {"x": "K", "instances": "ramp"}):
        page = drawn.figure(own_study(tmp_path, K=[20, 30]), y="error_rate", where={"K": [20, 30]}, **words)
        for axes in page.axes:
            first, second = (container[0].get_xdata() for container in axes.containers)
            assert (first < second).all()
            assert axes.get_ylim()[0] < 0


def test_bars_on_a_logarithmic_axis_begin_at_the_least_that_there_can_be(tmp_path: Path) -> None:
    results = own_study(tmp_path)
    assert drawn.figure(results, kind="bars").axes[0].get_ylim()[0] == 1
    assert drawn.figure(results, kind="bars", y="observations").axes[0].get_ylim()[0] == 1


def test_panels_share_axes_if_asked(tmp_path: Path) -> None:
    results = study(tmp_path, 3, learners=TWO)
    apart, shared = drawn.figure(results), drawn.figure(results, share=["y"])
    assert len({axes.get_ylim() for axes in apart.axes}) == 3
    assert len({axes.get_ylim() for axes in shared.axes}) == 1
    assert len({axes.get_yscale() for axes in shared.axes}) == 1
    bars = (
        drawn.figure(results, kind="bars", panels="instance", x="K"),
        drawn.figure(results, kind="bars", panels="instance", x="K", share="none"),
    )
    assert [len({axes.get_ylim() for axes in page.axes}) for page in bars] == [1, 3]
    pages = drawn.pages(results, share=["x", "y"], per_page=1)
    assert len({(page.axes[0].get_xlim(), page.axes[0].get_ylim()) for page in pages}) == 1


def test_no_marker_is_open_but_that_of_a_limit(tmp_path: Path) -> None:
    learners = [{"name": f"learner {i}", "algorithm": "cascadebai", "sigma": 0.1 + i} for i in range(12)]
    (axes,) = drawn.figure(study(tmp_path, learners=learners)).axes
    for container in axes.containers:
        assert container[0].get_markerfacecolor() == container[0].get_color()


def test_a_learner_has_the_same_look_in_all_figures_of_a_study(tmp_path: Path) -> None:
    results = study(tmp_path, learners=[*TWO, {"name": "last", "algorithm": "batrac"}])
    looks = {}
    for words in ({}, {"learners": "last"}, {"learners": ["last", "one"]}, {"order": "last"}):
        (axes,) = drawn.figure(results, **words).axes
        for container in axes.containers:
            line = container[0]
            looks.setdefault(container.get_label(), set()).add((line.get_color(), line.get_marker()))
    assert {name: len(found) for name, found in looks.items()} == {"half": 1, "one": 1, "last": 1}
    bars = drawn.figure(results, kind="bars", learners="last", where={"K": 20}).axes[0].containers
    assert next(iter(looks["last"]))[0].lower() == to_hex(bars[0][0].get_facecolor())


def test_unrelated_instances_with_sizes_of_their_own_share_a_panel(tmp_path: Path) -> None:
    results = own_study(tmp_path, K=[20, 30])
    sizes = {"easy": 20, OWN[1]["name"]: 30, "ramp": 20}
    own = results.summary[results.summary["K"] == results.summary["instance"].map(sizes)]
    chart = drawn.data(results.derived(summary=own), x="instance")
    assert len(chart.panels) == 1
    assert len(chart.points) == 6
