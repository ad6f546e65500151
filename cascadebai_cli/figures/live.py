"""The picture of a live test: the interval of each item, as more and more pages were told."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cascadebai_cli.figures.labels import literal
from cascadebai_cli.figures.style import COLUMN_WIDTH, new_figure, styled
from cascadebai_cli.text import count

_COLORS = {"in": "#009E73", "open": "#0072B2", "out": "#999999"}
_ALL_NAMED, _MOST_NAMED, _RIVALS = 12, 20, 3
"""Most items that all have a name and a band. Of more items at most so many have, so many of them not the best."""
_APART = 0.045
"""Smallest distance of two names."""

_Curves = NDArray[np.float64]


@styled
def draw_intervals(
    names: Sequence[str],
    places: Sequence[str],
    best: Sequence[str],
    views: NDArray[np.int64],
    curves: _Curves,
    title: str,
    over: int | None = None,
) -> Figure:
    """Draw a band from the lower to the upper end of each interval, and a line at the rate.

    Of many items, only the best and their nearest rivals have a name and a band; the others have a thin line.

    Args:
        names: names of the items, in descending order of their rates now.
        places: `in`, `out` or `open` now, which gives the color.
        best: names of the best items.
        views: page views told, shape `(n,)`.
        curves: rate (NaN without looks), lower and upper end, shape `(3, items, n)`.
        title: title above the axis.
        over: page views told when the test was over; `None` if it is not.
    """
    figure = new_figure(2 * COLUMN_WIDTH, 3.2)
    axes = figure.add_subplot()
    named = _named(names, best)
    for i, (place, (rate, low, high)) in enumerate(zip(places, curves.swapaxes(0, 1), strict=True)):
        if i in named:
            axes.fill_between(views, low, high, color=_COLORS[place], alpha=0.08, linewidth=0)
        axes.plot(views, rate, color=_COLORS[place], linewidth=1 if i in named else 0.4)
    for place in dict.fromkeys(places):
        axes.plot([], [], color=_COLORS[place], label=place)
    if over is not None:
        axes.axvline(over, color="black", linestyle=":", linewidth=0.8, label=f"over after {count(over)}")
    for i, height in zip(named, _apart(np.nan_to_num(curves[0, named, -1])), strict=True):
        axes.annotate(
            literal(names[i]), (1.01, height), xycoords=axes.get_yaxis_transform(), color=_COLORS[places[i]], fontsize=7
        )
    axes.set_ylim(0, 1)
    axes.set_xlim(0, views[-1])
    axes.set_xlabel("page views told")
    axes.set_ylabel("click rate and its interval")
    axes.set_title(literal(title))
    axes.legend(loc="upper right", frameon=True, edgecolor="none")
    return figure


def _named(names: Sequence[str], best: Sequence[str]) -> list[int]:
    """Return the places of the names that are written: all, or those of the best items and their nearest rivals."""
    if len(names) <= _ALL_NAMED:
        return list(range(len(names)))
    rivals = [i for i, name in enumerate(names) if name not in best][:_RIVALS]
    return sorted([*(i for i, name in enumerate(names) if name in best), *rivals])[-_MOST_NAMED:]


def _apart(heights: _Curves) -> _Curves:
    """Return places of names, descending and far enough apart to be read."""
    placed = np.array(heights)
    for i in range(1, len(placed)):
        placed[i] = min(placed[i], placed[i - 1] - _APART)
    return np.asarray(np.maximum(placed, _APART * np.arange(len(placed))[::-1]), np.float64)
