"""What the scaling figure consists of; how it looks is compared elsewhere."""

import hashlib
from pathlib import Path
from typing import Any

import drawn
import matplotlib as mpl
import pytest
from cases import mostly_slow
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from synthetic import scaling_config, write_results

from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.figures.style import render


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    return load_results(write_results(tmp_path_factory.mktemp("r") / "table1", scaling_config()))


def draw(results: StudyResults, **words: Any) -> Figure:
    return drawn.figure(results, **words)


def lines_of(axes: Axes, color: str) -> list[Line2D]:
    return [
        line for line in axes.get_lines() if to_hex(line.get_color()) == to_hex(color) and len(line.get_xdata()) > 41
    ]


def test_one_panel_a_setting_with_the_titles_of_the_paper(results: StudyResults) -> None:
    figure = draw(results)
    assert [axes.get_title() for axes in figure.axes] == [
        "(a) $w^{*} = 1/K$, $w\N{PRIME} = 1/K^{2}$",
        "(b) $w^{*} = 1 - 1/K^{2}$, $w\N{PRIME} = 1 - 1/K$",
        r"(c) $w^{*} = 1/\sqrt{K}$, $w′ = 1/K$",
        r"(d) $w^{*} = 1 - 1/K$, $w′ = 1 - 1/\sqrt{K}$",
        "(e) $w^{*} = 1 - 1/K$, $w\N{PRIME} = 1/K$",
    ]


def test_two_columns_and_the_last_panel_in_the_middle(results: StudyResults) -> None:
    figure = draw(results)
    figure.draw_without_rendering()
    left, right, *_, last = [axes.get_position() for axes in figure.axes]
    assert left.y0 == pytest.approx(right.y0)
    assert left.x1 < right.x0
    assert last.x0 + last.width / 2 == pytest.approx((left.x0 + right.x1) / 2, abs=0.05)
    assert last.y1 < left.y0


def test_blue_dots_red_curve_and_two_dashed_cyan_lines(results: StudyResults) -> None:
    for axes in draw(results).axes:
        (dots,) = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
        assert to_hex(dots[0].get_color()) == to_hex("blue")
        assert dots[0].get_linestyle() == "None"
        assert len(dots[0].get_xdata()) == 41
        assert [line.get_linestyle() for line in lines_of(axes, "red")] == ["-"]
        assert [line.get_linestyle() for line in lines_of(axes, "cyan")] == ["--", "--"]
        below, above = (line.get_ydata() for line in lines_of(axes, "cyan"))
        assert (below < lines_of(axes, "red")[0].get_ydata()).all()
        assert (above > lines_of(axes, "red")[0].get_ydata()).all()


def test_dots_stand_at_the_means_with_their_intervals(results: StudyResults) -> None:
    first = results.summary[results.summary["instance"] == "setting 1"]
    (dots,) = draw(results).axes[0].containers
    assert list(dots[0].get_ydata()) == list(first["mean_steps"])
    segments = dots[2][0].get_segments()
    assert [s[0][1] for s in segments] == pytest.approx(list(first["ci_low"]))
    assert [s[1][1] for s in segments] == pytest.approx(list(first["ci_high"]))


def test_axes_say_what_they_show(results: StudyResults) -> None:
    axes = draw(results).axes
    assert {a.get_xlabel() for a in axes} == {"$K$"}
    assert [a.get_ylabel() for a in axes] == [
        "time complexity ($10^6$ steps)",
        "time complexity ($10^6$ steps)",
        "time complexity ($10^3$ steps)",
        "time complexity ($10^6$ steps)",
        "time complexity (steps)",
    ]


def test_legend_names_the_three_parts(results: StudyResults) -> None:
    (legend,) = draw(results).legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "mean over the trials, with its 95 % interval",
        "fitted curve",
        "95 % confidence band of the fit",
    ]


def test_several_fits_in_a_panel_have_the_colours_of_their_points(results: StudyResults) -> None:
    figure = draw(results, instances=["setting 1", "setting 4"], panels=[], lines=["instance"])
    (axes,) = figure.axes
    curves = [one[0].get_color() for one in axes.containers if isinstance(one, ErrorbarContainer)]
    assert len(set(curves)) == 2
    for color, instance in zip(curves, ("setting 1", "setting 4"), strict=True):
        fit, *band = lines_of(axes, color)
        assert [line.get_linestyle() for line in (fit, *band)] == ["-", "--", "--"]
        means = results.summary.loc[results.summary["instance"] == instance, "mean_steps"]
        assert fit.get_ydata()[[0, -1]] == pytest.approx(means.iloc[[0, -1]].tolist(), rel=0.1)
    (legend,) = figure.legends
    shown = dict(zip([text.get_text() for text in legend.get_texts()], legend.legend_handles, strict=True))
    assert shown["fitted curve"].get_color() == "black"


def test_tick_labels_are_in_the_unit_of_the_label(results: StudyResults) -> None:
    axes = draw(results).axes[2]
    axes.figure.draw_without_rendering()
    ticks = {tick: label.get_text() for tick, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)}
    assert ticks[60000.0] == "60"
    assert not axes.yaxis.get_offset_text().get_visible()


def test_an_instance_without_a_fit_shows_its_dots(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30, 40], trials=1)
    del config["instances"][0]["fit"]
    figure = draw(load_results(write_results(tmp_path / "r", config)))
    (axes,) = figure.axes
    assert axes.get_title() == "$w^{*} = 1/K$, $w\N{PRIME} = 1/K^{2}$"
    assert len(axes.containers) == 1
    assert not lines_of(axes, "red")
    assert render([figure], "png", title="r", rows_sha256="0")[0]


def test_what_varies_is_in_the_title(tmp_path: Path) -> None:
    learners = [{"name": "ours", "algorithm": "cascadebai"}, {"name": "theirs", "algorithm": "batrac"}]
    config = scaling_config(1, K=[20, 30, 40], learners=learners, epsilon=[0.0, 0.05])
    figure = draw(load_results(write_results(tmp_path / "r", config)), x="K")
    assert len(figure.axes) == 4
    assert figure.axes[1].get_title().endswith(r"ours, $\epsilon = 0.05$")


@pytest.mark.parametrize("format", mostly_slow(["pdf", "png", "svg"], ["png"]))
def test_drawn_twice_is_the_same_file_and_carries_the_hash(results: StudyResults, format: str) -> None:
    files = [render([draw(results)], format, title="table1", rows_sha256="0123abcd")[0] for _ in range(2)]
    assert hashlib.sha256(files[0]).hexdigest() == hashlib.sha256(files[1]).hexdigest()
    assert b"rows_sha256=0123abcd" in files[0]
    assert b"Date" not in files[0]


def test_pdf_embeds_whole_fonts(results: StudyResults) -> None:
    pdf = render([draw(results)], "pdf", title="table1", rows_sha256="0")[0]
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf


def test_the_settings_of_the_user_neither_matter_nor_change(results: StudyResults) -> None:
    plain = render([draw(results)], "png", title="table1", rows_sha256="0")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        assert render([draw(results)], "png", title="table1", rows_sha256="0") == plain
        assert mpl.rcParams["font.size"] == 30


def test_a_model_that_was_chosen_among_several_is_named(tmp_path):
    config = scaling_config(2)
    config["instances"][0]["fit"] = {"model": ["K", "log(K)"]}
    titles = [axes.get_title() for axes in drawn.figure(load_results(write_results(tmp_path, config))).axes]
    assert titles[0].endswith(", fit: K")
    assert "fit" not in titles[1]
