"""Pictures that show no cells of a study: instances of a lower bound, page views of a plan, rates of a live test."""

import math
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

from cascadebai_cli.figures.labels import literal
from cascadebai_cli.figures.style import COLUMN_WIDTH, Picture, style_of
from cascadebai_cli.text import count

# --- The instances behind the lower bound: which items are optimal in each of them ---------------------------------

_OPTIMAL, _OTHER = "#8fce8f", "white"
_ITEM_HEIGHT, _MARGIN = 0.24, 0.65


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


@style_of()
def draw_schematic(L: int = 8, K: int = 4) -> Figure:
    """Draw the optimal set of each instance shaded in green, the altered item marked with its new weight."""
    figure = Picture(COLUMN_WIDTH, _ITEM_HEIGHT * (L + 1) + _MARGIN)
    axes = figure.add_subplot()
    place = np.arange(L + 1) + 0.5, np.arange(L + 2) - 0.5
    look: dict[str, Any] = {"vmin": 0, "vmax": 1, "edgecolors": "black", "linewidth": 0.4}
    axes.pcolormesh(*place, _optimal_sets(L, K), cmap=ListedColormap([_OTHER, _OPTIMAL]), **look)
    for item in range(1, L + 1):
        axes.text(item, item, r"$w^{(\ell)}(\ell)$", ha="center", va="center", fontsize=6.5)
    _label_items(axes, L, K)
    return figure


def _label_items(axes: Axes, L: int, K: int) -> None:
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


# --- A plan: how many page views the learners take, on one log axis -------------------------------------------------

_COLORS = ("#009E73", "#0072B2", "#D55E00")
_ROW_HEIGHT = 0.3


@style_of()
def draw_page_views(table: pd.DataFrame, bound: float, title: str) -> Figure:
    """Draw a dot at the median and a line from the 5 to the 95 % quantile for each learner.

    Args:
        table: columns `learner, low, median, high, cap`; infinite quantiles are drawn as arrows from the cap.
        bound: lower bound on the mean page views of any learner, NaN if none is known.
        title: title above the axis.
    """
    figure = Picture(1.4 * COLUMN_WIDTH, 0.9 + _ROW_HEIGHT * (len(table) + 1))
    axes = figure.add_subplot()
    for place, (row, color) in enumerate(zip(table.to_dict("records"), cycle(_COLORS), strict=False)):
        ends = [min(row[name], row["cap"]) for name in ("low", "high")]
        axes.plot(ends, [place, place], color=color, linewidth=2)
        if math.isfinite(row["median"]):
            axes.plot(row["median"], place, "o", color=color, markersize=5)
        if not math.isfinite(row["high"]):
            axes.plot(row["cap"], place, ">", color=color, markersize=5)
    if math.isfinite(bound):
        axes.axvline(bound, color="black", linewidth=0.7, linestyle=":")
        axes.annotate("lower bound", (bound, len(table) - 0.45), (3, 0), textcoords="offset points", fontsize=7)
    axes.set_yticks(range(len(table)), [literal(name) for name in table["learner"]])
    axes.set_ylim(len(table) - 0.3, -0.6)
    axes.set_xscale("log")
    axes.set_xlim(*_limits(table, bound))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("page views: median, 5 to 95 %")
    axes.set_title(literal(title))
    return figure


def _limits(table: pd.DataFrame, bound: float) -> tuple[float, float]:
    """Return limits at whole powers of ten around everything that is drawn."""
    values = [min(row[name], row["cap"]) for row in table.to_dict("records") for name in ("low", "high")]
    values += [bound] if math.isfinite(bound) and bound > 0 else []
    low, high = math.log10(max(min(values), 1) / 1.2), math.log10(max(max(values), 1) * 1.2)
    return 10 ** math.floor(low), 10 ** math.ceil(high)


# --- A live test: the interval of each item, as more and more pages were told ---------------------------------------

_PLACES = {"in": "#009E73", "open": "#0072B2", "out": "#999999"}
_ALL_NAMED, _MOST_NAMED, _RIVALS = 12, 20, 3
"""Most items that all have a name and a band. Of more items at most so many have, so many of them not the best."""
_APART = 0.045
"""Smallest distance of two names."""

_Curves = NDArray[np.float64]


@style_of()
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
    figure = Picture(2 * COLUMN_WIDTH, 3.2)
    axes = figure.add_subplot()
    named = _named(names, best)
    for i, (place, (rate, low, high)) in enumerate(zip(places, curves.swapaxes(0, 1), strict=True)):
        if i in named:
            axes.fill_between(views, low, high, color=_PLACES[place], alpha=0.08, linewidth=0)
        axes.plot(views, rate, color=_PLACES[place], linewidth=1 if i in named else 0.4)
    for place in dict.fromkeys(places):
        axes.plot([], [], color=_PLACES[place], label=place)
    if over is not None:
        axes.axvline(over, color="black", linestyle=":", linewidth=0.8, label=f"over after {count(over)}")
    for i, height in zip(named, _apart(np.nan_to_num(curves[0, named, -1])), strict=True):
        axes.annotate(
            literal(names[i]),
            (1.01, height),
            xycoords=axes.get_yaxis_transform(),
            color=_PLACES[places[i]],
            fontsize=7,
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
