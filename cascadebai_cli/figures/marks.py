"""Where points stand, what they are called, and the signs on them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Affine2D, Bbox

from cascadebai_cli.figures.labels import Chart, Panel
from cascadebai_cli.figures.layout import is_log
from cascadebai_cli.figures.style import Look, text_size
from cascadebai_cli.model.problem import FloatArray

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


def dodged(points: pd.DataFrame, chart: Chart, number: int) -> pd.DataFrame:
    """Return the points of a line beside those of the other lines, where they would cover each other."""
    covers = chart.y.column == "spread" or (
        chart.y.column == "error_rate" and not is_log(chart, "y", chart.points["y"])
    )
    lines, all_x = len(chart.lines), chart.points["x"]
    if lines == 1 or not (covers or chart.x.groups):
        return points
    scale, back = (np.log, np.exp) if is_log(chart, "x", all_x) else (np.asarray, np.asarray)
    places = np.unique(scale(all_x))
    nearest = np.diff(places).min() if len(places) > 1 else 1.0
    widest = _DODGE_OF_NAMES if chart.x.groups else _DODGE * (places[-1] - places[0])
    step = min(widest, _MOST_DODGED * nearest / lines)
    return points.assign(x=back(scale(points["x"]) + (number - (lines - 1) / 2) * step))


def name_points(figure: Figure, panels: Mapping[Axes, Panel], chart: Chart) -> None:
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
                fontsize=text_size(_NAME_SIZE),
                arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": "0.5", "shrinkA": 0, "shrinkB": _POINT_SIZE},
            )
            taken.append(_put(name, axes.get_window_extent(), taken))


def _round(axes: Axes, x: float, ends: FloatArray) -> Bbox:
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


# --- Signs on a point: its value is a limit, or its recommendations were wrong too often ----------------------------

_LEAST_OPEN = 3.2
"""Smallest size of a marker, in points, at which one can see that it is open."""
ARROW = Path([(0, 0.25), (0, 1), (-0.22, 0.7), (0, 1), (0.22, 0.7)], [1, 2, 1, 2, 2])
"""Arrow that begins a bit above the point and goes up."""
_CENTRED_ARROW = Path([(0, -1), (0, 1), (-0.6, 0.2), (0, 1), (0.6, 0.2)], [1, 2, 1, 2, 2])
"""Arrow for a legend."""
_UPSIDE_DOWN = Affine2D().scale(1, -1)
ARROW_POINTS = 7.0
"""Length of the arrow in points, from the marked point to the tip."""
_ROOM = 0.12
"""Share of the height of a panel that stays free above and below its points, so that arrows stay inside."""
CROSS = "\N{MULTIPLICATION SIGN}"
CEILING_LABEL = "no error: upper end of the 95 % interval"
LIMIT_LABEL = "lower limit: trials reached the cap"
WRONG_LABEL = r"wrong more often than $\delta$"
_INK = "black"


def draw_marks(axes: Axes, points: pd.DataFrame, look: Look, zorder: float) -> None:
    """Draw the markers; those of limits are open and have an arrow."""
    limits = points[points["is_limit"] | points["is_ceiling"]]
    if len(limits):
        size = max(look.size, _LEAST_OPEN)
        sign: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "white", "markeredgewidth": 0.7}
        sign |= {"markersize": size, "markeredgecolor": look.color, "zorder": zorder + 0.01}
        axes.plot(limits["x"], limits["y"], look.marker, **sign)
    draw_arrows(axes, points, look.color, zorder)
    _draw_down_arrows(axes, points, look.color, zorder)
    _draw_crosses(axes, points)


def draw_arrows(axes: Axes, points: pd.DataFrame, color: str = _INK, zorder: float = 5) -> None:
    """Draw an arrow up from each lower limit."""
    limits = points[points["is_limit"]]
    if len(limits):
        axes.margins(y=_ROOM)
        axes.plot(limits["x"], limits["y"], **_arrow(color), zorder=zorder, clip_on=False)


def _draw_down_arrows(axes: Axes, points: pd.DataFrame, color: str = _INK, zorder: float = 5) -> None:
    """Draw an arrow down from each upper limit."""
    ceilings = points[points["is_ceiling"]]
    if len(ceilings):
        axes.margins(y=_ROOM)
        down = {**_arrow(color), "marker": _UPSIDE_DOWN.transform_path(ARROW)}
        axes.plot(ceilings["x"], ceilings["y"], **down, zorder=zorder, clip_on=False)


def _draw_crosses(axes: Axes, points: pd.DataFrame, zorder: float = 6) -> None:
    """Draw a cross on each point that was wrong more often than delta beyond chance."""
    wrong = points[points["is_wrong"]]
    if len(wrong):
        axes.plot(wrong["x"], wrong["y"], **_cross(), zorder=zorder, clip_on=False)


def mark_handles(points: pd.DataFrame) -> list[Line2D]:
    """Return entries of the legend for the signs that the points have."""
    handles = []
    if points["is_limit"].any():
        arrow = {**_arrow(_INK), "marker": _CENTRED_ARROW, "markersize": ARROW_POINTS}
        handles.append(Line2D([], [], label=LIMIT_LABEL, **arrow))
    if points["is_ceiling"].any():
        arrow = {**_arrow(_INK), "marker": _UPSIDE_DOWN.transform_path(_CENTRED_ARROW), "markersize": ARROW_POINTS}
        handles.append(Line2D([], [], label=CEILING_LABEL, **arrow))
    if points["is_wrong"].any():
        handles.append(Line2D([], [], label=WRONG_LABEL, **_cross()))
    return handles


def error_lengths(points: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the lengths of the interval below and above each point; 0 for a point without interval and for a limit."""
    below, above = points["y"] - points["low"], points["high"] - points["y"]
    known = ~(points["is_limit"] | points["is_ceiling"])
    return np.array([part.where(known, 0).fillna(0) for part in (below, above)], dtype=float)


def _arrow(color: str) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": ARROW,
        "markersize": 2 * ARROW_POINTS,
        "markeredgecolor": color,
        "markerfacecolor": "none",
        "markeredgewidth": 0.8,
    }


def _cross() -> dict[str, Any]:
    return {"linestyle": "none", "marker": "x", "markersize": 6, "markeredgecolor": _INK, "markeredgewidth": 1.0}
