"""Drawing charts: points and lines with names beside them, bars, and pages of panels."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

from cascadebai_cli.figures.labels import Chart, Panel, Series, literal
from cascadebai_cli.figures.layout import Canvas, Signs, _Format, align, fitted_names, set_scales
from cascadebai_cli.figures.pictures import draw_schematic
from cascadebai_cli.figures.style import LOOKS, ORDER_LOOKS, STYLE, Look, Picture, style_of
from cascadebai_cli.study.kinds import of_each_kind
from cascadebai_cli.text import count, is_missing, listed

# --- Panels of points and lines: means against a number, their fit, and the bounds around them ----------------------

_POINTS, _MEASURED = Look("blue", dash="none"), Look("blue", size=2.5, dash="none")
"""Looks of means beside a fit and between bounds."""
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


def _text_size(size: float) -> float:
    """Return the size of a text, which is given for the font size of the shared style."""
    return float(size * mpl.rcParams["font.size"] / STYLE["font.size"])


def _stroke(width: float) -> float:
    """Return the width of a line, which is given for the line width of the shared style."""
    return float(width * mpl.rcParams["lines.linewidth"] / STYLE["lines.linewidth"])


def _draw_lines(chart: Chart, page: Canvas, panels: Sequence[Panel]) -> Figure:
    """Draw a page of panels of points and lines, with what stands beside them."""
    figure, places = page.empty()
    for i, (axes, panel) in enumerate(zip(places, panels, strict=True)):
        _draw_lines_of(axes, panel, chart)
        set_scales(axes, panel, chart, named=chart.plot.figure.beside != "bounds" or i % page.columns == 0)
        axes.set_title(page.title(figure, panel.title, i), y=1.0)
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
        return _POINTS.restyled(chart.own)
    number = chart.looks[series.number]
    look = LOOKS[number].restyled(chart.own, number)
    return look if chart.plot.figure.beside != "fit" and chart.x.joined else look._replace(dash="none")


def _mean_label(chart: Chart) -> str:
    if chart.measure.level or chart.plot.figure.points == "trials":
        return chart.y.label
    interval = ", with its 95 % interval" if chart.points["low"].notna().any() else ""
    return f"mean over {literal(chart.plot.average or 'the trials')}{interval}"


def _draw_steps(axes: Axes, series: Series, chart: Chart) -> None:
    points, look = series.points, _look_of(chart, series)
    label = series.label or _mean_label(chart)
    axes.step(points["x"], points["y"], where="post", color=look.color, ls=look.dash, lw=_stroke(1.2), label=label)


def _draw_series(axes: Axes, series: Series, chart: Chart, zorder: float) -> None:
    points, look = _dodged(series.points, chart, series.number), _look_of(chart, series)
    measured = [int(i) for i in np.flatnonzero(~points["is_limit"])]
    drawn = axes.errorbar(
        points["x"],
        points["y"].where(~points["is_ceiling"]),
        yerr=Signs(points).error_lengths,
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
    Signs(points).draw(axes, look, zorder)
    if chart.plot.figure.beside == "mean" and chart.measure.level:
        means: dict[str, Any] = {"marker": "_", "markersize": _MEAN_SIZE, "linestyle": "none", "markeredgewidth": 1.2}
        axes.plot(points["x"], points["mean_steps"], color=look.color, zorder=zorder, **means)
        axes.plot([], [], color="black", label=_MEAN_LABEL, **means)


def _color(color: str, chart: Chart, number: int) -> str:
    """Return a colour of what stands beside the points, or that of this number in the cycle of a style."""
    return Look(color).restyled(chart.own, number).color


def _draw_fit(axes: Axes, series: Series, curve: pd.DataFrame, chart: Chart) -> None:
    """Draw a fit and its band: in colours of their own, or where a figure has several lines, in that of the points."""
    # A band can be narrower than the line of the curve, so the curve is drawn thinner, and on top.
    looks: list[dict[str, Any]] = [
        {"color": _color(_FIT, chart, 1), "linewidth": _stroke(0.7), "zorder": 4},
        {"color": _color(_BAND, chart, 2), "linewidth": _stroke(1.3), "linestyle": "--", "zorder": 3},
    ]
    if len(chart.lines) > 1:
        looks = [{**look, "color": _look_of(chart, series).color} for look in looks]
        looks[1]["alpha"] = _FAINT
    for names, look, label in zip((["fitted"], ["low", "high"]), looks, _FIT_LABELS, strict=True):
        for name in names:
            axes.plot(curve["x"], curve[name], **look)
        axes.plot([], [], label=label, **look if len(chart.lines) == 1 else {**look, "color": "black"})


def _draw_between(axes: Axes, series: Series, chart: Chart) -> None:
    points, look = series.points, _MEASURED.restyled(chart.own)
    x, low, high = points["x"], points["lower"], points["upper"]
    bounds: list[dict[str, Any]] = [{"linestyle": "-"}, {"linestyle": "--"}]
    if chart.x.joined:
        axes.fill_between(x, low, high, color=_BETWEEN, linewidth=0)
    else:
        width = _END_SIZE if chart.x.groups else _END_SIZE / 2
        axes.vlines(x, low, high, color=_BETWEEN, linewidth=width, zorder=1)
        bounds = 2 * [{"linestyle": "none", "marker": "_", "markersize": width, "markeredgewidth": _stroke(1.2)}]
    axes.plot(x, high, color=_color(_UPPER, chart, 1), label=_UPPER_LABEL, **bounds[0])
    solid = points[~points["is_limit"]]
    dots: dict[str, Any] = {"markersize": look.size, "markeredgewidth": 0, "label": _measured_label(chart)}
    axes.plot(solid["x"], solid["y"], look.marker, color=look.color, **dots)
    Signs(points).draw(axes, look, zorder=2)
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
    marks = Signs(chart.points).handles
    handles, labels = [*handles, *marks], [*labels, *(str(mark.get_label()) for mark in marks)]
    if not page.rest:
        place = figure.add_subplot(page.rows, page.columns, page.rows * page.columns)
        place.axis("off")
        place.legend(handles, labels, loc=chart.own.get("legend.loc", "center"))
        return
    page.add_legend(figure, handles, labels, _legend_columns(chart, page), chart.own.get("legend.loc"))


def _legend_columns(chart: Chart, page: Canvas) -> int:
    if chart.plot.figure.beside == "bounds":
        return page.columns
    return 99 if chart.plot.figure.beside != "fit" else 3 if page.lettered else 1


# --- Where lines meet, and what points are called -------------------------------------------------------------------

_DODGE, _DODGE_OF_NAMES = 0.012, 0.12
"""Distance of lines at a place: as a share of the axis, and of the distance between two names."""
_MOST_DODGED = 0.6
"""Largest share of the distance between two names that the points at one name take."""
_ROUND_A_POINT = (
    (0, 1, "center", "bottom"),
    (1, 0, "left", "center"),
    (-1, 0, "right", "center"),
    (0, -1, "center", "top"),
    (0.7, 0.7, "left", "bottom"),
    (-0.7, 0.7, "right", "bottom"),
    (0.7, -0.7, "left", "top"),
    (-0.7, -0.7, "right", "top"),
)
"""Places of a name beside a point: direction, and alignments, the best first."""
_NEAR_A_POINT, *_FAR_FROM_IT = 5, 11, 18, 26
"""Points between a point and its name; a name that is not near it has a line to it."""
_POINT_SIZE = 3.0
"""Points around a point in which no name stands."""
_NAME_SIZE = 6.5


def _dodged(points: pd.DataFrame, chart: Chart, number: int) -> pd.DataFrame:
    """Return the points of a line beside those of the other lines, where they would cover each other."""
    covers = chart.y.column == "spread" or (chart.y.column == "error_rate" and not chart.is_log("y", chart.points["y"]))
    lines, all_x = len(chart.lines), chart.points["x"]
    if lines == 1 or not (covers or chart.x.groups):
        return points
    scale, back = (np.log, np.exp) if chart.is_log("x", all_x) else (np.asarray, np.asarray)
    places = np.unique(scale(all_x))
    nearest = np.diff(places).min() if len(places) > 1 else 1.0
    widest = _DODGE_OF_NAMES if chart.x.groups else _DODGE * (places[-1] - places[0])
    step = min(widest, _MOST_DODGED * nearest / lines)
    return points.assign(x=back(scale(points["x"]) + (number - (lines - 1) / 2) * step))


def _name_points(figure: Figure, panels: Mapping[Axes, Panel], chart: Chart) -> None:
    """Write the name of each instance beside its highest point, where there is neither another name nor a point."""
    figure.draw_without_rendering()
    below, above = ("lower", "upper") if chart.plot.figure.beside == "bounds" else ("low", "high")
    for axes, panel in panels.items():
        ends = panel.points[[below, "y", above]].to_numpy(dtype=float)
        taken = [_round(axes, x, of_point) for x, of_point in zip(panel.points["x"], ends, strict=True)]
        for instance, own in panel.points.groupby("instance", sort=False):
            row = own.sort_values("y").iloc[-1]
            name = axes.annotate(
                chart.instances[str(instance)],
                (row["x"], row["upper"] if above == "upper" else row["y"]),
                (0, 0),
                textcoords="offset points",
                fontsize=_text_size(_NAME_SIZE),
                arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": "0.5", "shrinkA": 0, "shrinkB": _POINT_SIZE},
            )
            taken.append(_put(name, axes.get_window_extent(), taken))


def _round(axes: Axes, x: float, ends: "np.ndarray[Any, Any]") -> Bbox:
    """Return what a point and its interval take of the page."""
    bottom = axes.get_ylim()[0]
    low, high = (max(end, bottom) for end in (np.nanmin(ends), np.nanmax(ends)))
    figure: Any = axes.figure
    return Bbox(axes.transData.transform([(x, low), (x, high)])).padded(_POINT_SIZE * figure.dpi / 72)


def _put(name: Annotation, frame: Bbox, taken: Sequence[Bbox]) -> Bbox:
    """Put a name where it meets the fewest others, as near to its point as it can be, and return what it takes."""

    def met(place: tuple[float, tuple[float, float, str, str]]) -> int:
        box = _moved(name, *place)
        inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
        return sum(box.overlaps(other) for other in taken) + len(taken) * (not inside)

    places = [(far, place) for far in (_NEAR_A_POINT, *_FAR_FROM_IT) for place in _ROUND_A_POINT]
    best = min(places, key=met)
    if name.arrow_patch:
        name.arrow_patch.set_visible(best[0] != _NEAR_A_POINT)
    return _moved(name, *best)


def _moved(name: Annotation, far: float, place: tuple[float, float, str, str]) -> Bbox:
    x, y, ha, va = place
    name.set(position=(far * x, far * y), ha=ha, va=va)
    name.get_window_extent()  # moves the text, of which the extent without its line is taken
    return Text.get_window_extent(name)


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
    sizes, looks = _GRID if page.lettered else _SINGLE, _bar_looks(chart)
    figure, frames = _grid(page, _shares_y(chart))
    for axes, panel in zip(frames, panels, strict=True):
        _draw_bars_of(axes, panel, looks, sizes, _rotation(chart, page))
        axes.set_title(page.title(figure, panel.title), pad=3, fontsize=_text_size(sizes.title), y=1.0)
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
    looks = [LOOKS[number].restyled(chart.own, number) for number in chart.looks]
    return [_BarLook(label, look.color, look.hatch) for label, look in zip(chart.lines, looks, strict=True)]


def _order(series: Series) -> str | None:
    found = set(series.points["order"]) if "order" in series.points else set()
    return str(found.pop()) if len(found) == 1 else None


def _shares_y(chart: Chart) -> bool:
    return chart.plot.share is None or "y" in chart.plot.share


def _grid(page: Canvas, sharey: bool) -> tuple[Figure, list[Axes]]:
    figure = Picture(page.width, min(_PAGE_HEIGHT, page.height))
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
    axes.errorbar(
        at, heights, yerr=Signs(points).error_lengths, fmt="none", ecolor="black", elinewidth=sizes.line, zorder=4
    )
    Signs(points).draw_arrows(axes)
    for patch, is_limit in zip(drawn, points["is_limit"], strict=True):
        if is_limit and not look.hatch:
            patch.set_hatch(_HATCH)


def _annotate(axes: Axes, points: pd.DataFrame, sizes: _Sizes, rotation: float) -> None:
    """Write into each bar how many trials reached the cap, and put a cross over a bar that was wrong too often."""
    text: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": _text_size(sizes.count)}
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
    for row in points[points["is_limit"]].to_dict("records"):
        place = (row["x"], row["y"])
        axes.annotate(f"{row['n_capped']:g}", place, (0, -1.5), va="top", rotation=rotation, bbox=box, zorder=4, **text)
    for row in points[points["is_wrong"]].to_dict("records"):
        above = row["y"] if row["is_limit"] or is_missing(row["high"]) else row["high"]
        axes.annotate(Signs.CROSS, (row["x"], above), (0, Signs.LENGTH if row["is_limit"] else 0), va="bottom", **text)


def _label_groups(figure: Figure, frames: Sequence[Axes], chart: Chart, page: Canvas, sizes: _Sizes) -> None:
    size = _text_size(sizes.group) if chart.x.is_of_names else mpl.rcParams["font.size"]
    width = 0.85 * page.width / page.columns / len(chart.x.groups)
    labels, turned = fitted_names(figure, chart.x.groups, size, width)
    for i, axes in enumerate(frames):
        axes.set_xticks(range(len(labels)), labels, fontsize=size, **turned)
        axes.tick_params(axis="x", length=0, labelbottom=i + page.columns >= len(frames))
        axes.set_xlim(-0.5, len(labels) - 0.5)
        if not chart.x.is_of_names and i + page.columns >= len(frames):
            axes.set_xlabel(chart.x.label)


def _label_y(figure: Figure, panels: Mapping[Axes, Panel], chart: Chart) -> None:
    if chart.is_log("y", chart.points["y"]):
        for axes, panel in panels.items():
            points = chart.points if _shares_y(chart) else panel.points
            axes.set_yscale("log")
            axes.set_ylim(_bottom_of_bars(chart, points), _top_of_bars(chart, points))
    label = f"{chart.y.label} (steps)" if chart.y.column == "steps" else chart.y.label
    if len(chart.panels) == 1:
        next(iter(panels)).set_ylabel(label)
    else:
        figure.supylabel(label, fontsize=mpl.rcParams["axes.labelsize"])


def _bottom_of_bars(chart: Chart, points: pd.DataFrame) -> float:
    """Return where bars on a log axis start: at the least that the measure can be, if it has such a value above 0.

    Otherwise it is a power of ten below the smallest value, so that its bar can be seen.
    """
    below = 10.0 ** math.floor(math.log10(points["y"].min() / 1.5))
    return min(chart.measure.least or below, below)


def _top_of_bars(chart: Chart, points: pd.DataFrame) -> float:
    """Return the end of a logarithmic axis of bars."""
    bottom = _bottom_of_bars(chart, points)
    room = _WITH_CROSSES if points["is_wrong"].any() else _WITH_ARROWS if points["is_limit"].any() else _PLAIN
    return float(bottom * (points["y"].max() / bottom) ** (1 / (1 - room)))


def _add_legend(figure: Figure, page: Canvas, chart: Chart, looks: Sequence[_BarLook]) -> None:
    handles: list[Patch | Line2D] = [
        Patch(facecolor=look.color, edgecolor=look.edge, linewidth=0.3, label=look.label, hatch=look.hatch)
        for look in looks
    ]
    for mark in Signs(chart.points).handles:
        if mark.get_label() == Signs.LIMIT:
            mark.set_label("lower limit: so many trials reached the cap")
        handles.append(mark)
    if chart.cap and _has_cap(chart):
        label = f"cap, {_steps(chart.cap)} steps"
        handles.append(Line2D([], [], color="black", linewidth=0.6, linestyle=":", label=label))
    labels = [str(handle.get_label()) for handle in handles]
    page.add_legend(figure, handles, labels, 3, chart.own.get("legend.loc"), columnspacing=1.5)


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
        "schematic": _Drawer(draw_schematic),
    },
)


def draw(kind: str, chart: Chart | None, own: Mapping[str, Any]) -> list[Figure]:
    """Draw a figure on one or more pages.

    Args:
        kind: kind of the figure.
        chart: what the figure shows; `None` if it shows no cells.
        own: settings of a style of the user.
    """
    drawer = DRAWERS[kind]
    if chart is None or drawer.form is None:
        return [drawer.page()]
    form = drawer.alone or drawer.form if len(chart.panels) == 1 else drawer.form
    pages = Canvas.all(len(chart.panels), chart.plot, own, form)
    with style_of(own):
        parts = [chart.panels[page.first : page.first + page.panels] for page in pages]
        figures = [drawer.page(replace(chart, own=own), page, part) for page, part in zip(pages, parts, strict=True)]
        align(figures, chart)
        for figure, page, part in zip(figures, pages, parts, strict=True):
            if chart.x.groups:
                page.make_room(figure)
            elif not chart.x.joined:
                _name_points(figure, dict(zip(figure.axes, part, strict=False)), chart)
        return figures
