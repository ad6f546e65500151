"""Panels of points and lines: means against a number, their fit, and the bounds around them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cascadebai_cli.figures.chart import Chart, Panel, Series
from cascadebai_cli.figures.labels import plain
from cascadebai_cli.figures.layout import Format, Page, add_legend, empty_page
from cascadebai_cli.figures.looks import LOOKS, MEASURED, POINTS, Look
from cascadebai_cli.figures.marks import draw_arrows, draw_crosses, draw_down_arrows, mark_handles, spread
from cascadebai_cli.figures.scales import set_scales
from cascadebai_cli.study.plot import Kind

FORMATS: Mapping[Kind, Format] = {
    "scaling": Format(columns=2, panel_height=2.2, rest=(0.2, 0.6), centred=True),
    "curves": Format(columns=2, panel_height=2.4),
    "error": Format(columns=3, panel_height=2.0, per_page=9),
    "bounds": Format(columns=3, panel_height=2.0, rest=(0.25, 0.75), legend_inside=True),
}
FIT, BAND = "red", "cyan"
FIT_LABELS = ("fitted curve", "95 % confidence band of the fit")
UPPER, LOWER, BETWEEN = "#b22222", "#2e7d32", "0.93"
MEASURED_LABEL = "measured mean"
LEAST_OPEN = 3.2
"""Points that a marker needs for one to see that it is open."""
UPPER_LABEL = r"upper bound (probability $1 - \delta$)"
LOWER_LABEL = "lower bound (any algorithm, mean)"


def form_of_lines(chart: Chart) -> Format:
    """Sizes of a figure of its kind."""
    return FORMATS[chart.plot.kind]


def draw_lines(chart: Chart, page: Page, panels: Sequence[Panel]) -> Figure:
    """A page of panels of the kind `scaling`, `curves`, `error` or `bounds`."""
    figure, places = empty_page(page, form_of_lines(chart))
    for i, (axes, panel) in enumerate(zip(places, panels, strict=True)):
        _draw_panel(axes, panel, chart)
        set_scales(axes, panel, chart, named=chart.plot.kind != "bounds" or i % page.columns == 0)
        axes.set_title(page.title(figure, i, panel.title), y=1.0)
    _draw_legend(figure, page, chart)
    return figure


def _draw_panel(axes: Axes, panel: Panel, chart: Chart) -> None:
    for series in panel.series:
        if chart.plot.kind == "bounds":
            _draw_between(axes, series)
        else:
            # The first line is what the figure is about: it lies on top, but below a fit.
            base = 1 if chart.plot.kind == "scaling" else 2
            _draw_series(axes, series, chart, base + 1 - series.number / len(chart.lines))
        if series.fit is not None:
            _draw_fit(axes, series.fit)


def look_of(chart: Chart, series: Series) -> Look:
    """How a series is drawn; the only one beside a fit, or between bounds, has its own colour."""
    if chart.plot.kind == "scaling" and len(chart.lines) == 1:
        return POINTS
    look = LOOKS[series.number % len(LOOKS)]
    return look._replace(dash="none") if chart.plot.kind == "scaling" else look


def _mean_label(chart: Chart) -> str:
    interval = ", with its 95 % interval" if chart.points["low"].notna().any() else ""
    return f"mean over {plain(chart.plot.average or 'the trials')}{interval}"


def _draw_series(axes: Axes, series: Series, chart: Chart, zorder: float) -> None:
    points, look = series.points, look_of(chart, series)
    measured = [int(i) for i in np.flatnonzero(~points["is_limit"])]
    axes.errorbar(
        points["x"],
        points["y"].where(~points["is_ceiling"]),
        yerr=spread(points),
        color=look.color,
        marker=look.marker,
        linestyle=look.dash,
        markersize=look.size,
        markerfacecolor=look.color if look.filled else "white",
        markeredgewidth=0 if look.filled else 0.6,
        markevery=measured,
        linewidth=0.8,
        elinewidth=0.6 if look.dash == "none" else 0.7,
        label=series.label or _mean_label(chart),
        zorder=zorder,
    )
    _draw_marks(axes, points, look, zorder)


def _draw_marks(axes: Axes, points: pd.DataFrame, look: Look, zorder: float) -> None:
    """Limits have an open marker and an arrow."""
    limits = points[points["is_limit"] | points["is_ceiling"]]
    if len(limits):
        axes.plot(
            limits["x"],
            limits["y"],
            look.marker,
            linestyle="none",
            markersize=max(look.size, LEAST_OPEN),
            markerfacecolor="white",
            markeredgecolor=look.color,
            markeredgewidth=0.7,
            zorder=zorder + 0.01,
        )
    draw_arrows(axes, points, look.color, zorder)
    draw_down_arrows(axes, points, look.color, zorder)
    draw_crosses(axes, points)


def _draw_fit(axes: Axes, curve: pd.DataFrame) -> None:
    # A band narrower than the curve's own line would hide it: so the curve is the thinner one, and on top.
    for side in ("low", "high"):
        label = FIT_LABELS[1] if side == "low" else None
        axes.plot(curve["x"], curve[side], color=BAND, linewidth=1.3, linestyle="--", zorder=3, label=label)
    axes.plot(curve["x"], curve["fitted"], color=FIT, linewidth=0.7, zorder=4, label=FIT_LABELS[0])


def _draw_between(axes: Axes, series: Series) -> None:
    points, look = series.points, MEASURED
    x = points["x"]
    axes.fill_between(x, points["lower"], points["upper"], color=BETWEEN, linewidth=0)
    axes.plot(x, points["upper"], color=UPPER, label=UPPER_LABEL)
    solid = points[~points["is_limit"]]
    axes.plot(
        solid["x"],
        solid["y"],
        look.marker,
        color=look.color,
        markersize=look.size,
        markeredgewidth=0,
        label=MEASURED_LABEL,
    )
    _draw_marks(axes, points, look, zorder=2)
    axes.plot(x, points["lower"], color=LOWER, linestyle="--", label=LOWER_LABEL)


def _draw_legend(figure: Figure, page: Page, chart: Chart) -> None:
    pairs = [pair for axes in figure.axes for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    found = {label: handle for handle, label in pairs}
    order = [*chart.lines, _mean_label(chart), *FIT_LABELS, UPPER_LABEL, MEASURED_LABEL, LOWER_LABEL]
    labels = [label for label in order if label in found]
    handles = [found[label] for label in labels]
    marks = mark_handles(chart.points)
    handles, labels = [*handles, *marks], [*labels, *(str(mark.get_label()) for mark in marks)]
    if not page.rest:
        place = figure.add_subplot(page.rows, page.columns, page.rows * page.columns)
        place.axis("off")
        place.legend(handles, labels, loc="center")
        return
    add_legend(figure, page, handles, labels, _legend_columns(chart, page))


def _legend_columns(chart: Chart, page: Page) -> int:
    if chart.plot.kind == "bounds":
        return page.columns
    return 99 if chart.plot.kind in ("curves", "error") else 3 if page.lettered else 1
