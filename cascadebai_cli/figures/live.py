"""The picture of a live test: the interval of each item, as more and more pages were told."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cascadebai_cli.figures.labels import literal
from cascadebai_cli.figures.style import COLUMN_WIDTH, new_figure, styled

_COLORS = {"in": "#009E73", "open": "#0072B2", "out": "#999999"}
_MOST_NAMED = 12

_Curves = NDArray[np.float64]


@styled
def draw_intervals(
    names: list[str], places: list[str], views: NDArray[np.int64], curves: _Curves, title: str
) -> Figure:
    """Draw a band from the lower to the upper end of each interval, and a line at the rate.

    Args:
        names: names of the items, in descending order of their rates now.
        places: `in`, `out` or `open` now, which gives the color.
        views: page views told, shape `(n,)`.
        curves: rate, lower and upper end, shape `(3, items, n)`.
        title: title above the axis.
    """
    figure = new_figure(2 * COLUMN_WIDTH, 3.2)
    axes = figure.add_subplot()
    for place, (rate, low, high) in zip(places, curves.swapaxes(0, 1), strict=True):
        axes.fill_between(views, low, high, color=_COLORS[place], alpha=0.08, linewidth=0)
        axes.plot(views, rate, color=_COLORS[place], linewidth=1)
    for place in dict.fromkeys(places):
        axes.plot([], [], color=_COLORS[place], label=place)
    heights = _apart(curves[0, :_MOST_NAMED, -1])
    for name, place, height in zip(names, places, heights, strict=False):
        axes.annotate(
            literal(name), (1.01, height), xycoords=axes.get_yaxis_transform(), color=_COLORS[place], fontsize=7
        )
    axes.set_ylim(0, 1)
    axes.set_xlim(0, views[-1])
    axes.set_xlabel("page views told")
    axes.set_ylabel("click rate and its interval")
    axes.set_title(literal(title))
    axes.legend(loc="upper right")
    return figure


def _apart(heights: _Curves) -> _Curves:
    """Return places of names, descending and far enough apart to be read."""
    placed = np.array(heights)
    for i in range(1, len(placed)):
        placed[i] = min(placed[i], placed[i - 1] - 0.045)
    return np.asarray(np.maximum(placed, 0.045 * np.arange(len(placed))[::-1]), np.float64)
