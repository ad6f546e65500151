"""Mean steps as grouped bars on a log axis, as in Figures 1 and 4."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cascadebai_cli.figures.chart import Chart, Panel, Series
from cascadebai_cli.figures.layout import TITLE_SHARE, Format, Page, add_legend, fitted, fitted_title
from cascadebai_cli.figures.looks import LOOKS, ORDER_LOOKS
from cascadebai_cli.figures.marks import ARROW_POINTS, CROSS, LIMIT_LABEL, draw_arrows, mark_handles, spread
from cascadebai_cli.figures.scales import bottom_of_bars, is_log, label_powers
from cascadebai_cli.figures.style import new_figure
from cascadebai_cli.study.plot import NAMES
from cascadebai_cli.text.numbers import count, is_missing

GROUP_WIDTH = 0.84
"""Share of a group's place that its bars take."""
HATCH = "//////"
PAGE_HEIGHT = 9.4
PLAIN, WITH_ARROWS, WITH_CROSSES = 3, 6, 20
"""So many times the tallest bar is the end of the axis, for what stands on bars."""
TWO_DIGITS = 10.0
"""Points that they take in a figure with one panel, with the gap between two groups."""
DARK = 0.5
"""Lightness below which a hatch is white."""


@dataclass(frozen=True)
class Sizes:
    """Points for the text, with one panel or with many."""

    title: float
    group: float
    count: float
    line: float


SINGLE = Sizes(title=9, group=8, count=6.5, line=0.7)
GRID = Sizes(title=7.5, group=5.5, count=5.5, line=0.5)
FORM_SINGLE = Format(columns=1, panel_height=2.2, rest=(1.0, 1.0))
FORM_GRID = Format(columns=2, panel_height=1.05, rest=(1.0, 1.0), per_page=16)


@dataclass(frozen=True)
class BarLook:
    """How the bars of a line are drawn."""

    label: str
    color: str
    hatch: str = ""

    @property
    def edge(self) -> str:
        """Colour of the hatch, which is that of the edge."""
        red, green, blue = to_rgb(self.color)
        is_dark = 0.3 * red + 0.59 * green + 0.11 * blue < DARK
        return "white" if self.hatch and is_dark else "black"


def form_of_bars(chart: Chart) -> Format:
    """Sizes of a figure of one panel, or of several."""
    return FORM_SINGLE if len(chart.panels) == 1 else FORM_GRID


def draw_bars(chart: Chart, page: Page, panels: Sequence[Panel]) -> Figure:
    """A page of panels, one bar a line in each group."""
    sizes = GRID if page.lettered else SINGLE
    looks = bar_looks(chart)
    figure, frames = _grid(page)
    for axes, panel in zip(frames, panels, strict=True):
        _draw_panel(axes, panel, looks, sizes, _rotation(chart, page))
        title = fitted_title(figure, "", panel.title, TITLE_SHARE * page.width / page.columns)
        axes.set_title(title, pad=3, fontsize=sizes.title, y=1.0)
        if _has_cap(chart):
            axes.axhline(chart.cap or 0, color="black", linewidth=0.6, linestyle=":", zorder=1)
    _label_groups(figure, frames, chart, page, sizes)
    _label_y(figure, frames, chart)
    _add_legend(figure, page, chart, looks)
    return figure


def bar_looks(chart: Chart) -> list[BarLook]:
    """Label and colour of each line: those of the paper if the lines are display orders, else names and others."""
    orders = {series.number: _order(series) for panel in chart.panels for series in panel.series}
    known = [orders.get(number) for number in range(len(chart.lines))]
    if len(set(known)) == len(known) and set(known) <= set(ORDER_LOOKS) and not chart.plot.labels:
        return [BarLook(*ORDER_LOOKS[str(order)]) for order in known]
    return [BarLook(label, look.color, look.hatch) for label, look in zip(chart.lines, LOOKS, strict=False)]


def _order(series: Series) -> str | None:
    found = set(series.points["order"]) if "order" in series.points else set()
    return str(found.pop()) if len(found) == 1 else None


def _grid(page: Page) -> tuple[Figure, list[Axes]]:
    figure = new_figure(page.width, min(PAGE_HEIGHT, page.height))
    frames = list(figure.subplots(page.rows, page.columns, sharex=True, sharey=True, squeeze=False).flat)
    for axes in frames[page.panels :]:
        axes.remove()
    return figure, frames[: page.panels]


def _rotation(chart: Chart, page: Page) -> float:
    """How numbers in bars are turned: upright where a bar is wide enough for two digits."""
    bars = len(chart.x.groups) * len(chart.lines)
    return 0 if 72 * page.width / page.columns / bars > TWO_DIGITS else 90


def _has_cap(chart: Chart) -> bool:
    """Whether the cap lies on the axis of the steps."""
    is_there = chart.cap is not None and chart.cap <= chart.points["y"].max() * _room(chart.points)
    return is_there and chart.y.column == "steps"


def _draw_panel(axes: Axes, panel: Panel, looks: Sequence[BarLook], sizes: Sizes, rotation: float) -> None:
    width = GROUP_WIDTH / len(looks)
    for series in panel.series:
        shift = (series.number - (len(looks) - 1) / 2) * width
        points = series.points.assign(x=series.points["x"] + shift)
        _draw_bars(axes, points, width, looks[series.number], sizes)
        _annotate(axes, points, sizes, rotation)


def _draw_bars(axes: Axes, points: pd.DataFrame, width: float, look: BarLook, sizes: Sizes) -> None:
    at, heights = points["x"], points["y"]
    drawn = axes.bar(
        at, heights, width, color=look.color, edgecolor=look.edge, linewidth=0.3, hatch=look.hatch, zorder=2
    )
    axes.errorbar(at, heights, yerr=spread(points), fmt="none", ecolor="black", elinewidth=sizes.line, zorder=4)
    draw_arrows(axes, points)
    for patch, is_limit in zip(drawn, points["is_limit"], strict=True):
        if is_limit and not look.hatch:
            patch.set_hatch(HATCH)


def _annotate(axes: Axes, points: pd.DataFrame, sizes: Sizes, rotation: float) -> None:
    """How many trials reached the cap, in the bar, and a cross over one that was wrong too often."""
    text: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": sizes.count}
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
    for row in points[points["is_limit"]].to_dict("records"):
        place = (row["x"], row["y"])
        axes.annotate(f"{row['n_capped']:g}", place, (0, -1.5), va="top", rotation=rotation, bbox=box, zorder=4, **text)
    for row in points[points["is_wrong"]].to_dict("records"):
        above = row["y"] if row["is_limit"] or is_missing(row["high"]) else row["high"]
        axes.annotate(CROSS, (row["x"], above), (0, ARROW_POINTS if row["is_limit"] else 0), va="bottom", **text)


def _label_groups(figure: Figure, frames: Sequence[Axes], chart: Chart, page: Page, sizes: Sizes) -> None:
    names = chart.x.groups
    width = page.width / page.columns / len(names)
    labels = ["\n".join(_broken(figure, name, sizes, width)) for name in names]
    for i, axes in enumerate(frames):
        size = sizes.group if chart.x.column in NAMES else "medium"
        axes.set_xticks(range(len(labels)), labels, fontsize=size)
        axes.tick_params(axis="x", length=0, labelbottom=i + page.columns >= len(frames))
        axes.set_xlim(-0.5, len(labels) - 0.5)
        if chart.x.column not in NAMES and i + page.columns >= len(frames):
            axes.set_xlabel(chart.x.label)


def _broken(figure: Figure, name: str, sizes: Sizes, width: float) -> list[str]:
    return [line for part in name.split("\n") for line in fitted(figure, part, sizes.group, 0.85 * width)]


def _label_y(figure: Figure, frames: Sequence[Axes], chart: Chart) -> None:
    values = chart.points["y"]
    if is_log(chart, "y", values):
        for axes in frames:
            axes.set_yscale("log")
        frames[0].set_ylim(bottom_of_bars(values.min()), values.max() * _room(chart.points))
        for axes in frames:
            label_powers(axes)
    label = f"{chart.y.label} (steps)" if chart.y.column == "steps" else chart.y.label
    if len(chart.panels) == 1:
        frames[0].set_ylabel(label)
    else:
        figure.supylabel(label, fontsize=9)


def _room(points: pd.DataFrame) -> int:
    return WITH_CROSSES if points["is_wrong"].any() else WITH_ARROWS if points["is_limit"].any() else PLAIN


def _add_legend(figure: Figure, page: Page, chart: Chart, looks: Sequence[BarLook]) -> None:
    handles: list[Patch | Line2D] = [
        Patch(facecolor=look.color, edgecolor=look.edge, linewidth=0.3, label=look.label, hatch=look.hatch)
        for look in looks
    ]
    for mark in mark_handles(chart.points):
        if mark.get_label() == LIMIT_LABEL:
            mark.set_label("lower limit: so many trials reached the cap")
        handles.append(mark)
    if chart.cap and _has_cap(chart):
        label = f"cap, {_steps(chart.cap)} steps"
        handles.append(Line2D([], [], color="black", linewidth=0.6, linestyle=":", label=label))
    add_legend(figure, page, handles, [str(handle.get_label()) for handle in handles], 3, columnspacing=1.5)


def _steps(cap: int) -> str:
    digits, _, exponent = f"{cap:.0e}".partition("e")
    power = f"10^{{{int(exponent)}}}"
    exact = float(f"{cap:.0e}") == cap and int(exponent) > 3
    return f"${power}$" if exact and digits == "1" else rf"${digits} \times {power}$" if exact else count(cap)
