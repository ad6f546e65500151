"""Mean steps as grouped bars on a log axis, as in Figures 1 and 4."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from cascadebai_cli.figures.chart import Chart, Panel, Series
from cascadebai_cli.figures.layout import Format, Page, add_legend, fitted
from cascadebai_cli.figures.lines import spread
from cascadebai_cli.figures.looks import ORDERS
from cascadebai_cli.figures.scales import bottom_of_bars, is_log
from cascadebai_cli.figures.style import new_figure
from cascadebai_cli.text.numbers import count

GROUP_WIDTH = 0.84
"""Share of a group's place that its bars take."""
HATCH = "//////"
PAGE_HEIGHT = 9.4
OTHERS = ("#0072B2", "#E69F00", "#C44E00", "#007E5C", "#CC79A7", "#56B4E9", "#999999")
"""Colours of learners that differ in more than their display order; these are labelled by name."""


@dataclass(frozen=True)
class Sizes:
    """Points for the text, with one panel or with many."""

    title: float
    group: float
    count: float
    line: float


SINGLE = Sizes(title=9, group=8, count=6.5, line=0.7)
GRID = Sizes(title=7.5, group=5.5, count=4, line=0.5)
FORM_SINGLE = Format(columns=1, panel_height=2.2, rest=(1.0, 1.0))
FORM_GRID = Format(columns=2, panel_height=1.05, rest=(1.0, 1.0), per_page=16)


@dataclass(frozen=True)
class BarLook:
    """How the bars of a line are drawn."""

    label: str
    color: str


def form_of(panels: int) -> Format:
    """Sizes of a figure of so many panels."""
    return FORM_SINGLE if panels == 1 else FORM_GRID


def draw_bars(chart: Chart, page: Page, panels: Sequence[Panel]) -> Figure:
    """A page of panels, one bar a line in each group."""
    sizes = GRID if page.lettered else SINGLE
    looks = bar_looks(chart)
    figure, frames = _grid(page)
    for axes, panel in zip(frames, panels, strict=True):
        _draw_panel(axes, panel, looks, sizes)
        axes.set_title(", ".join(panel.title), pad=3, fontsize=sizes.title)
        if chart.cap:
            axes.axhline(chart.cap, color="black", linewidth=0.6, linestyle=":", zorder=1)
    _label_groups(figure, frames, chart, page, sizes)
    _label_y(figure, frames, chart)
    _add_legend(figure, page, chart, looks)
    return figure


def bar_looks(chart: Chart) -> list[BarLook]:
    """Label and colour of each line: those of the paper if the lines are display orders, else names and others."""
    orders = {series.number: _order(series) for panel in chart.panels for series in panel.series}
    known = [orders.get(number) for number in range(len(chart.lines))]
    if len(set(known)) == len(known) and set(known) <= set(ORDERS) and not chart.plot.labels:
        return [BarLook(*ORDERS[str(order)]) for order in known]
    return [BarLook(label, OTHERS[i % len(OTHERS)]) for i, label in enumerate(chart.lines)]


def _order(series: Series) -> str | None:
    found = set(series.points["order"]) if "order" in series.points else set()
    return str(found.pop()) if len(found) == 1 else None


def _grid(page: Page) -> tuple[Figure, list[Axes]]:
    figure = new_figure(page.width, min(PAGE_HEIGHT, page.height))
    frames = list(figure.subplots(page.rows, page.columns, sharex=True, sharey=True, squeeze=False).flat)
    for axes in frames[page.panels :]:
        axes.remove()
    return figure, frames[: page.panels]


def _draw_panel(axes: Axes, panel: Panel, looks: Sequence[BarLook], sizes: Sizes) -> None:
    width = GROUP_WIDTH / len(looks)
    for series in panel.series:
        shift = (series.number - (len(looks) - 1) / 2) * width
        points = series.points.assign(x=series.points["x"] + shift)
        _draw_bars(axes, points, width, looks[series.number], sizes)


def _draw_bars(axes: Axes, points: pd.DataFrame, width: float, look: BarLook, sizes: Sizes) -> None:
    at, heights = points["x"], points["y"]
    drawn = axes.bar(at, heights, width, color=look.color, edgecolor="black", linewidth=0.3, zorder=2)
    axes.errorbar(at, heights, yerr=spread(points), fmt="none", ecolor="black", elinewidth=sizes.line, zorder=4)
    tops = points["high"].fillna(heights)
    for patch, x, n, is_limit, top in zip(drawn, at, points["n_capped"], points["is_limit"], tops, strict=True):
        if is_limit:
            patch.set_hatch(HATCH)
            axes.annotate(
                f"{n:g}", (x, top), (0, 1), textcoords="offset points", ha="center", va="bottom", fontsize=sizes.count
            )


def _label_groups(figure: Figure, frames: Sequence[Axes], chart: Chart, page: Page, sizes: Sizes) -> None:
    names = chart.x.groups
    width = page.width / page.columns / len(names)
    labels = ["\n".join(_broken(figure, name, sizes, width)) for name in names]
    for i, axes in enumerate(frames):
        axes.set_xticks(range(len(labels)), labels, fontsize=sizes.group)
        axes.tick_params(axis="x", length=0, labelbottom=i + page.columns >= len(frames))
        axes.set_xlim(-0.5, len(labels) - 0.5)


def _broken(figure: Figure, name: str, sizes: Sizes, width: float) -> list[str]:
    return [line for part in name.split("\n") for line in fitted(figure, part, sizes.group, 0.85 * width)]


def _label_y(figure: Figure, frames: Sequence[Axes], chart: Chart) -> None:
    values = chart.points["y"]
    if is_log(chart, "y", values):
        for axes in frames:
            axes.set_yscale("log")
            axes.yaxis.set_minor_formatter(NullFormatter())
        frames[0].set_ylim(bottom_of_bars(values.min()), values.max() * 3)
    label = f"{chart.y.label} (steps)" if chart.y.column == "steps" else chart.y.label
    if len(chart.panels) == 1:
        frames[0].set_ylabel(label)
    else:
        figure.supylabel(label, fontsize=9)


def _add_legend(figure: Figure, page: Page, chart: Chart, looks: Sequence[BarLook]) -> None:
    handles: list[Patch | Line2D] = [
        Patch(facecolor=look.color, edgecolor="black", linewidth=0.3, label=look.label) for look in looks
    ]
    if chart.points["is_limit"].any():
        label = "trials reached the cap (number above the bar)"
        handles.append(Patch(facecolor="white", edgecolor="black", linewidth=0.3, hatch=HATCH, label=label))
    if chart.cap:
        label = f"cap, {_steps(chart.cap)} steps"
        handles.append(Line2D([], [], color="black", linewidth=0.6, linestyle=":", label=label))
    add_legend(figure, page, handles, [str(handle.get_label()) for handle in handles], 3, columnspacing=1.5)


def _steps(cap: int) -> str:
    digits, _, exponent = f"{cap:.0e}".partition("e")
    power = f"10^{{{int(exponent)}}}"
    exact = float(f"{cap:.0e}") == cap and int(exponent) > 3
    return f"${power}$" if exact and digits == "1" else rf"${digits} \times {power}$" if exact else count(cap)
