"""Drawing charts: the schematic of instances, lines, bars, and pages of panels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from cascadebai_cli.figures.labels import Chart, Panel, Series, literal
from cascadebai_cli.figures.layout import (
    TITLE_SHARE,
    Canvas,
    _Format,
    add_legend,
    align,
    bottom_of_bars,
    empty_page,
    fitted_names,
    fitted_title,
    is_log,
    make_room,
    pages_of,
    set_scales,
    sized,
)
from cascadebai_cli.figures.marks import (
    ARROW_POINTS,
    CROSS,
    LIMIT_LABEL,
    dodged,
    draw_arrows,
    draw_marks,
    error_lengths,
    mark_handles,
    name_points,
)
from cascadebai_cli.figures.style import (
    COLUMN_WIDTH,
    LOOKS,
    MEASURED,
    NO_OPTIONS,
    ORDER_LOOKS,
    POINTS,
    Look,
    new_figure,
    no_warnings_of_glyphs,
    restyled,
    stroke,
    style_of,
    styled,
    text_size,
)
from cascadebai_cli.study.kinds import MEASURES, of_each_kind
from cascadebai_cli.study.plot import NAMES, Plot
from cascadebai_cli.text import count, is_missing, listed

_OPTIMAL, _OTHER = "#8fce8f", "white"
_ROW_HEIGHT = 0.24
_MARGIN = 0.65


def _optimal_sets(L: int, K: int) -> NDArray[np.bool_]:
    """Return a mask whose row `l` marks the optimal items of instance `l = 0..L`, shape `(L+1, L)`.

    Instance 0 has the items in descending order of weight. In instance `l <= K` item `l` is made worse than item `K+1`,
    which replaces it in the optimal set; in instance `l > K` item `l` is made better than item `K` and replaces it.
    """
    optimal = np.zeros((L + 1, L), dtype=np.bool_)
    optimal[:, :K] = True
    made_bad, made_good = np.arange(1, K + 1), np.arange(K + 1, L + 1)
    optimal[made_bad, made_bad - 1] = False
    optimal[made_bad, K] = True
    optimal[made_good, made_good - 1] = True
    optimal[made_good, K - 1] = False
    return optimal


@styled
def _draw_schematic(L: int = 8, K: int = 4) -> Figure:
    """Draw the optimal set of each instance shaded in green, the altered item marked with its new weight."""
    figure = new_figure(COLUMN_WIDTH, _ROW_HEIGHT * (L + 1) + _MARGIN)
    axes = figure.add_subplot()
    place = np.arange(L + 1) + 0.5, np.arange(L + 2) - 0.5
    look: dict[str, Any] = {"vmin": 0, "vmax": 1, "edgecolors": "black", "linewidth": 0.4}
    axes.pcolormesh(*place, _optimal_sets(L, K), cmap=ListedColormap([_OTHER, _OPTIMAL]), **look)
    for item in range(1, L + 1):
        axes.text(item, item, r"$w^{(\ell)}(\ell)$", ha="center", va="center", fontsize=6.5)
    _label(axes, L, K)
    return figure


def _label(axes: Axes, L: int, K: int) -> None:
    axes.axhline(0.5, color="black", linewidth=1.2)
    axes.axhline(K + 0.5, color="black", linewidth=1.2)
    axes.axvline(K + 0.5, color="black", linewidth=1.2)
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    names = {1: "1", K: "$K$", K + 1: "$K+1$", L: "$L$"}
    axes.set_xticks(range(1, L + 1), [names.get(i, r"$\cdots$") for i in range(1, L + 1)])
    axes.set_yticks(range(L + 1), [{0: "0", **names}.get(i, r"$\vdots$") for i in range(L + 1)])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("item")
    axes.set_ylabel(r"instance $\ell$")


# --- Panels of points and lines: means against a number, their fit, and the bounds around them ----------------------

_FIT, _BAND = "red", "cyan"
_FIT_LABELS = ("fitted curve", "95 % confidence band of the fit")
_FAINT = 0.5
"""Opacity of a band that has the colour of its curve."""
_UPPER, _LOWER, _BETWEEN = "#b22222", "#2e7d32", "0.93"
_END_SIZE = 8
"""Points that the ends of a bar between bounds are wide, where points are not joined."""
_MEAN_LABEL, _MEAN_SIZE = "mean", 6
_UPPER_LABEL = r"upper bound (probability $1 - \delta$)"
_LOWER_LABEL = "lower bound (any algorithm, mean)"


def _draw_lines(chart: Chart, page: Canvas, panels: Sequence[Panel]) -> Figure:
    """Draw a page of panels of points and lines, with what stands beside them."""
    figure, places = empty_page(page)
    for i, (axes, panel) in enumerate(zip(places, panels, strict=True)):
        _draw_lines_of(axes, panel, chart)
        set_scales(axes, panel, chart, named=chart.plot.figure.beside != "bounds" or i % page.columns == 0)
        axes.set_title(page.title(figure, i, panel.title), y=1.0)
    _draw_legend(figure, page, chart)
    return figure


def _draw_lines_of(axes: Axes, panel: Panel, chart: Chart) -> None:
    for series in panel.series:
        if chart.plot.figure.beside == "bounds":
            _draw_between(axes, series, chart)
        elif chart.plot.figure.points == "trials":
            _draw_steps(axes, series, chart)
        else:
            # The first line is the subject of the figure: it lies on top of the others, but below a fit.
            base = 1 if chart.plot.figure.beside == "fit" else 2
            _draw_series(axes, series, chart, base + 1 - series.number / len(chart.lines))
        if series.fit is not None:
            _draw_fit(axes, series, series.fit, chart)


def _look_of(chart: Chart, series: Series) -> Look:
    """Return how a series is drawn; a single series beside a fit or between bounds has a colour of its own."""
    if chart.plot.figure.beside == "fit" and len(chart.lines) == 1:
        return restyled(POINTS, chart.own)
    number = chart.looks[series.number]
    look = restyled(LOOKS[number], chart.own, number)
    return look if chart.plot.figure.beside != "fit" and chart.x.joined else look._replace(dash="none")


def _mean_label(chart: Chart) -> str:
    if MEASURES[chart.y.column].level or chart.plot.figure.points == "trials":
        return chart.y.label
    interval = ", with its 95 % interval" if chart.points["low"].notna().any() else ""
    return f"mean over {literal(chart.plot.average or 'the trials')}{interval}"


def _draw_steps(axes: Axes, series: Series, chart: Chart) -> None:
    points, look = series.points, _look_of(chart, series)
    label = series.label or _mean_label(chart)
    axes.step(
        points["x"], points["y"], where="post", color=look.color, ls=look.dash, linewidth=stroke(1.2), label=label
    )


def _draw_series(axes: Axes, series: Series, chart: Chart, zorder: float) -> None:
    points, look = dodged(series.points, chart, series.number), _look_of(chart, series)
    measured = [int(i) for i in np.flatnonzero(~points["is_limit"])]
    drawn = axes.errorbar(
        points["x"],
        points["y"].where(~points["is_ceiling"]),
        yerr=error_lengths(points),
        color=look.color,
        marker=look.marker,
        linestyle=look.dash,
        markersize=look.size,
        markeredgewidth=0,
        markevery=measured,
        linewidth=look.width,
        elinewidth=look.width * (0.75 if look.dash == "none" else 0.875),
        label=series.label or _mean_label(chart),
        zorder=zorder,
    )
    drawn[0].set_clip_on(False)  # a marker near 0 is seen whole
    draw_marks(axes, points, look, zorder)
    if chart.plot.figure.beside == "mean" and MEASURES[chart.y.column].level:
        means: dict[str, Any] = {"marker": "_", "markersize": _MEAN_SIZE, "linestyle": "none", "markeredgewidth": 1.2}
        axes.plot(points["x"], points["mean_steps"], color=look.color, zorder=zorder, **means)
        axes.plot([], [], color="black", label=_MEAN_LABEL, **means)


def _color(color: str, chart: Chart, number: int) -> str:
    """Return a colour of what stands beside the points, or that of this number in the cycle of a style."""
    return restyled(Look(color), chart.own, number).color


def _draw_fit(axes: Axes, series: Series, curve: pd.DataFrame, chart: Chart) -> None:
    """Draw a fit and its band: in colours of their own, or where a figure has several lines, in that of the points."""
    # A band can be narrower than the line of the curve, so the curve is drawn thinner, and on top.
    looks: list[dict[str, Any]] = [
        {"color": _color(_FIT, chart, 1), "linewidth": stroke(0.7), "zorder": 4},
        {"color": _color(_BAND, chart, 2), "linewidth": stroke(1.3), "linestyle": "--", "zorder": 3},
    ]
    if len(chart.lines) > 1:
        looks = [{**look, "color": _look_of(chart, series).color} for look in looks]
        looks[1]["alpha"] = _FAINT
    for names, look, label in zip((["fitted"], ["low", "high"]), looks, _FIT_LABELS, strict=True):
        for name in names:
            axes.plot(curve["x"], curve[name], **look)
        axes.plot([], [], label=label, **look if len(chart.lines) == 1 else {**look, "color": "black"})


def _draw_between(axes: Axes, series: Series, chart: Chart) -> None:
    points, look = series.points, restyled(MEASURED, chart.own)
    x, low, high = points["x"], points["lower"], points["upper"]
    bounds: list[dict[str, Any]] = [{"linestyle": "-"}, {"linestyle": "--"}]
    if chart.x.joined:
        axes.fill_between(x, low, high, color=_BETWEEN, linewidth=0)
    else:
        width = _END_SIZE if chart.x.groups else _END_SIZE / 2
        axes.vlines(x, low, high, color=_BETWEEN, linewidth=width, zorder=1)
        bounds = 2 * [{"linestyle": "none", "marker": "_", "markersize": width, "markeredgewidth": stroke(1.2)}]
    axes.plot(x, high, color=_color(_UPPER, chart, 1), label=_UPPER_LABEL, **bounds[0])
    solid = points[~points["is_limit"]]
    dots: dict[str, Any] = {"markersize": look.size, "markeredgewidth": 0, "label": _measured_label(chart)}
    axes.plot(solid["x"], solid["y"], look.marker, color=look.color, **dots)
    draw_marks(axes, points, look, zorder=2)
    axes.plot(x, low, color=_color(_LOWER, chart, 2), label=_LOWER_LABEL, **bounds[1])


def _measured_label(chart: Chart) -> str:
    names = [chart.plot.labels.get(name, literal(name)) for name in dict.fromkeys(chart.points["learner"])]
    return f"measured mean of {listed(names)}"


def _draw_legend(figure: Figure, page: Canvas, chart: Chart) -> None:
    pairs = [pair for axes in figure.axes for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    found = {label: handle for handle, label in pairs}
    order = [*chart.lines, _mean_label(chart), _MEAN_LABEL, *_FIT_LABELS]
    order += [_UPPER_LABEL, _measured_label(chart), _LOWER_LABEL]
    labels = [label for label in dict.fromkeys(order) if label in found]
    handles = [found[label] for label in labels]
    marks = mark_handles(chart.points)
    handles, labels = [*handles, *marks], [*labels, *(str(mark.get_label()) for mark in marks)]
    if not page.rest:
        place = figure.add_subplot(page.rows, page.columns, page.rows * page.columns)
        place.axis("off")
        place.legend(handles, labels, loc=chart.own.get("legend.loc", "center"))
        return
    add_legend(figure, page, handles, labels, _legend_columns(chart, page), chart.own.get("legend.loc"))


def _legend_columns(chart: Chart, page: Canvas) -> int:
    if chart.plot.figure.beside == "bounds":
        return page.columns
    return 99 if chart.plot.figure.beside != "fit" else 3 if page.lettered else 1


# --- Mean steps as grouped bars on a log axis, as in Figures 1 and 4 ------------------------------------------------

_GROUP_WIDTH = 0.84
"""Share of the width of a group that its bars take."""
_HATCH = "//////"
_PAGE_HEIGHT = 9.4
_PLAIN, _WITH_ARROWS, _WITH_CROSSES = 0.1, 0.17, 0.25
"""Share of a logarithmic axis above the tallest bar, which leaves room for the signs on bars."""
_TWO_DIGITS = 10.0
"""Points that two digits take in a figure with one panel, with the gap between two groups."""
_DARK = 0.5
"""Lightness of a bar below which its hatch is white."""


@dataclass(frozen=True)
class _Sizes:
    """Sizes of the text in points, with one panel or with many."""

    title: float
    group: float
    count: float
    line: float


_SINGLE = _Sizes(title=9, group=8, count=6.5, line=0.7)
_GRID = _Sizes(title=7.5, group=5.5, count=5.5, line=0.5)


@dataclass(frozen=True)
class _BarLook:
    """How the bars of a line are drawn."""

    label: str
    color: str
    hatch: str = ""

    @property
    def edge(self) -> str:
        """Colour of the edge and of the hatch."""
        red, green, blue = to_rgb(self.color)
        is_dark = 0.3 * red + 0.59 * green + 0.11 * blue < _DARK
        return "white" if self.hatch and is_dark else "black"


def _draw_bars(chart: Chart, page: Canvas, panels: Sequence[Panel]) -> Figure:
    """Draw a page of panels, in which each group has one bar per line."""
    sizes = _GRID if page.lettered else _SINGLE
    looks = _bar_looks(chart)
    figure, frames = _grid(page, _shares_y(chart))
    for axes, panel in zip(frames, panels, strict=True):
        _draw_bars_of(axes, panel, looks, sizes, _rotation(chart, page))
        title = fitted_title(figure, "", panel.title, TITLE_SHARE * page.width / page.columns)
        axes.set_title(title, pad=3, fontsize=text_size(sizes.title), y=1.0)
        if _has_cap(chart):
            axes.axhline(chart.cap or 0, color="black", linewidth=0.6, linestyle=":", zorder=1)
    _label_groups(figure, frames, chart, page, sizes)
    _label_y(figure, dict(zip(frames, panels, strict=True)), chart)
    _add_legend(figure, page, chart, looks)
    return figure


def _bar_looks(chart: Chart) -> list[_BarLook]:
    """Return label and colour of each line: those of the paper for display orders, else names and general colours."""
    orders = {series.number: _order(series) for panel in chart.panels for series in panel.series}
    known = [orders.get(number) for number in range(len(chart.lines))]
    alike = len(set(known)) == len(known) and set(known) <= set(ORDER_LOOKS)
    if alike and not chart.plot.labels and "axes.prop_cycle" not in chart.own:
        return [_BarLook(*ORDER_LOOKS[str(order)]) for order in known]
    looks = [restyled(LOOKS[number], chart.own, number) for number in chart.looks]
    return [_BarLook(label, look.color, look.hatch) for label, look in zip(chart.lines, looks, strict=True)]


def _order(series: Series) -> str | None:
    found = set(series.points["order"]) if "order" in series.points else set()
    return str(found.pop()) if len(found) == 1 else None


def _shares_y(chart: Chart) -> bool:
    return chart.plot.share is None or "y" in chart.plot.share


def _grid(page: Canvas, sharey: bool) -> tuple[Figure, list[Axes]]:
    figure = new_figure(page.width, min(_PAGE_HEIGHT, page.height))
    frames = list(figure.subplots(page.rows, page.columns, sharex=True, sharey=sharey, squeeze=False).flat)
    for axes in frames[page.panels :]:
        axes.remove()
    return figure, frames[: page.panels]


def _rotation(chart: Chart, page: Canvas) -> float:
    """Return the rotation of numbers in bars, which are upright where a bar is wide enough for two digits."""
    bars = len(chart.x.groups) * len(chart.lines)
    return 0 if 72 * page.width / page.columns / bars > _TWO_DIGITS else 90


def _has_cap(chart: Chart) -> bool:
    """Return whether the cap lies on the axis of the steps."""
    return chart.cap is not None and chart.y.column == "steps" and chart.cap <= _top_of_bars(chart, chart.points)


def _draw_bars_of(axes: Axes, panel: Panel, looks: Sequence[_BarLook], sizes: _Sizes, rotation: float) -> None:
    width = _GROUP_WIDTH / len(looks)
    for series in panel.series:
        shift = (series.number - (len(looks) - 1) / 2) * width
        points = series.points.assign(x=series.points["x"] + shift)
        _draw_bars_of_series(axes, points, width, looks[series.number], sizes)
        _annotate(axes, points, sizes, rotation)


def _draw_bars_of_series(axes: Axes, points: pd.DataFrame, width: float, look: _BarLook, sizes: _Sizes) -> None:
    at, heights = points["x"], points["y"]
    drawn = axes.bar(
        at, heights, width, color=look.color, edgecolor=look.edge, linewidth=0.3, hatch=look.hatch, zorder=2
    )
    axes.errorbar(at, heights, yerr=error_lengths(points), fmt="none", ecolor="black", elinewidth=sizes.line, zorder=4)
    draw_arrows(axes, points)
    for patch, is_limit in zip(drawn, points["is_limit"], strict=True):
        if is_limit and not look.hatch:
            patch.set_hatch(_HATCH)


def _annotate(axes: Axes, points: pd.DataFrame, sizes: _Sizes, rotation: float) -> None:
    """Write into each bar how many trials reached the cap, and put a cross over a bar that was wrong too often."""
    text: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": text_size(sizes.count)}
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
    for row in points[points["is_limit"]].to_dict("records"):
        place = (row["x"], row["y"])
        axes.annotate(f"{row['n_capped']:g}", place, (0, -1.5), va="top", rotation=rotation, bbox=box, zorder=4, **text)
    for row in points[points["is_wrong"]].to_dict("records"):
        above = row["y"] if row["is_limit"] or is_missing(row["high"]) else row["high"]
        axes.annotate(CROSS, (row["x"], above), (0, ARROW_POINTS if row["is_limit"] else 0), va="bottom", **text)


def _label_groups(figure: Figure, frames: Sequence[Axes], chart: Chart, page: Canvas, sizes: _Sizes) -> None:
    size = text_size(sizes.group) if chart.x.column in NAMES else mpl.rcParams["font.size"]
    width = 0.85 * page.width / page.columns / len(chart.x.groups)
    labels, turned = fitted_names(figure, chart.x.groups, size, width)
    for i, axes in enumerate(frames):
        axes.set_xticks(range(len(labels)), labels, fontsize=size, **turned)
        axes.tick_params(axis="x", length=0, labelbottom=i + page.columns >= len(frames))
        axes.set_xlim(-0.5, len(labels) - 0.5)
        if chart.x.column not in NAMES and i + page.columns >= len(frames):
            axes.set_xlabel(chart.x.label)


def _label_y(figure: Figure, panels: Mapping[Axes, Panel], chart: Chart) -> None:
    frames = list(panels)
    if is_log(chart, "y", chart.points["y"]):
        for axes, panel in panels.items():
            points = chart.points if _shares_y(chart) else panel.points
            axes.set_yscale("log")
            axes.set_ylim(bottom_of_bars(chart, points), _top_of_bars(chart, points))
    label = f"{chart.y.label} (steps)" if chart.y.column == "steps" else chart.y.label
    if len(chart.panels) == 1:
        frames[0].set_ylabel(label)
    else:
        figure.supylabel(label, fontsize=mpl.rcParams["axes.labelsize"])


def _top_of_bars(chart: Chart, points: pd.DataFrame) -> float:
    """Return the end of a logarithmic axis of bars."""
    bottom = bottom_of_bars(chart, points)
    room = _WITH_CROSSES if points["is_wrong"].any() else _WITH_ARROWS if points["is_limit"].any() else _PLAIN
    return float(bottom * (points["y"].max() / bottom) ** (1 / (1 - room)))


def _add_legend(figure: Figure, page: Canvas, chart: Chart, looks: Sequence[_BarLook]) -> None:
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
    labels = [str(handle.get_label()) for handle in handles]
    add_legend(figure, page, handles, labels, 3, chart.own.get("legend.loc"), columnspacing=1.5)


def _steps(cap: int) -> str:
    digits, _, exponent = f"{cap:.0e}".partition("e")
    power = f"10^{{{int(exponent)}}}"
    exact = float(f"{cap:.0e}") == cap and int(exponent) > 3
    return f"${power}$" if exact and digits == "1" else rf"${digits} \times {power}$" if exact else count(cap)


# --- A chart as pages, by the drawer of its kind of figure ----------------------------------------------------------


class _Drawer(NamedTuple):
    """How a kind of figure is drawn.

    Attributes:
        page: function that draws a page from chart, page and panels; without arguments for a kind that shows no cells.
        form: sizes of a figure; `None` for a kind that shows no cells.
        alone: sizes of a figure with one panel, if these differ.
    """

    page: Callable[..., Figure]
    form: _Format | None = None
    alone: _Format | None = None


DRAWERS = of_each_kind(
    "drawer in figures/draw.py",
    {
        "scaling": _Drawer(_draw_lines, _Format(columns=2, panel_height=2.2, rest=(0.2, 0.6), centred=True)),
        "curves": _Drawer(_draw_lines, _Format(columns=2, panel_height=2.4)),
        "error": _Drawer(_draw_lines, _Format(columns=3, panel_height=2.0, per_page=9)),
        "quantiles": _Drawer(_draw_lines, _Format(columns=2, panel_height=2.4)),
        "ecdf": _Drawer(_draw_lines, _Format(columns=2, panel_height=2.2)),
        "trace": _Drawer(_draw_lines, _Format(columns=2, panel_height=2.2)),
        "bounds": _Drawer(_draw_lines, _Format(columns=3, panel_height=2.0, rest=(0.25, 0.75), legend_inside=True)),
        "bars": _Drawer(
            _draw_bars,
            _Format(columns=2, panel_height=1.05, rest=(1.0, 1.0), per_page=16),
            alone=_Format(columns=1, panel_height=2.2, rest=(1.0, 1.0)),
        ),
        "schematic": _Drawer(_draw_schematic),
    },
)


def draw(plot: Plot, chart: Chart | None, own: Mapping[str, Any] = NO_OPTIONS) -> list[Figure]:
    """Draw a figure on one or more pages.

    Args:
        chart: what the figure shows; `None` if it shows no cells.
    """
    drawer = DRAWERS[plot.kind]
    if chart is None or drawer.form is None:
        return [drawer.page()]
    form = drawer.alone or drawer.form if len(chart.panels) == 1 else drawer.form
    pages = pages_of(len(chart.panels), sized(plot, own, len(chart.panels)), form)
    with style_of(own), no_warnings_of_glyphs():
        parts = [chart.panels[page.first : page.first + page.panels] for page in pages]
        figures = [drawer.page(replace(chart, own=own), page, part) for page, part in zip(pages, parts, strict=True)]
        align(figures, chart)
        for figure, page in zip(figures, pages, strict=True):
            if chart.x.groups:
                make_room(figure, page)
        if not chart.x.joined and not chart.x.groups:
            for figure, part in zip(figures, parts, strict=True):
                name_points(figure, dict(zip(figure.axes, part, strict=False)), chart)
        return figures
