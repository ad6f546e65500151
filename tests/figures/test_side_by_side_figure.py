"""Sets of means beside a published line."""

import pandas as pd

from cascadebai_cli.figures.style import render
from experiments.figures import COLOURS, draw_side_by_side


def summary(factor: float) -> pd.DataFrame:
    rows = [(name, K, factor * K) for name in ("setting 1", "setting 2") for K in (20, 40, 60)]
    made = pd.DataFrame(rows, columns=["instance", "K", "mean_steps"])
    return made.assign(ci_low=made["mean_steps"] - 1, ci_high=made["mean_steps"] + 2)


def test_a_panel_a_line_with_all_sets_in_it() -> None:
    lines = {name: ([20, 60], [2000.0, 6000.0]) for name in ("setting 1", "setting 2")}
    figure = draw_side_by_side({"independent": summary(80), "used again": summary(95)}, lines)
    assert [axes.get_title() for axes in figure.axes] == ["(a) setting 1", "(b) setting 2"]
    for axes in figure.axes:
        published, *sets = axes.get_lines()
        assert list(published.get_ydata()) == [2000.0, 6000.0]
        assert [list(points.get_ydata()) for points in sets] == [[1600, 3200, 4800], [1900, 3800, 5700]]
        assert [points.get_color() for points in sets] == list(COLOURS)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["published", "independent", "used again"]
    assert render([figure], "png", title="x", rows_sha256="0")[0]
