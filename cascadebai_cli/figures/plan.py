"""The picture of `plan`, and two pictures that compare samples and means."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import ArrayLike, NDArray

from cascadebai_cli.figures.labels import plain
from cascadebai_cli.figures.style import COLUMN_WIDTH, TEXT_WIDTH, label_steps, new_figure, panel_letter, styled

# --- Page views of the learners on one log axis ---------------------------------------------------------------------


_COLORS = ("#009E73", "#0072B2", "#D55E00")
_ROW_HEIGHT = 0.3


@styled
def draw_page_views(table: pd.DataFrame, bound: float, title: str) -> Figure:
    """Draw a dot at the median and a line from the 5 to the 95 % quantile for each learner.

    Args:
        table: columns `learner, low, median, high, cap`; infinite quantiles are drawn as arrows from the cap.
        bound: lower bound on the mean page views of any learner, NaN if none is known.
        title: title above the axis.
    """
    figure = new_figure(1.4 * COLUMN_WIDTH, 0.9 + _ROW_HEIGHT * (len(table) + 1))
    axes = figure.add_subplot()
    for place, (row, color) in enumerate(zip(table.to_dict("records"), _colors(len(table)), strict=True)):
        ends = [min(row[name], row["cap"]) for name in ("low", "high")]
        axes.plot(ends, [place, place], color=color, linewidth=2)
        if math.isfinite(row["median"]):
            axes.plot(row["median"], place, "o", color=color, markersize=5)
        if not math.isfinite(row["high"]):
            axes.plot(row["cap"], place, ">", color=color, markersize=5)
    if math.isfinite(bound):
        axes.axvline(bound, color="black", linewidth=0.7, linestyle=":")
        axes.annotate("lower bound", (bound, len(table) - 0.45), (3, 0), textcoords="offset points", fontsize=7)
    axes.set_yticks(range(len(table)), [plain(name) for name in table["learner"]])
    axes.set_ylim(len(table) - 0.3, -0.6)
    axes.set_xscale("log")
    axes.set_xlim(*_limits(table, bound))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("page views: median, 5 to 95 %")
    axes.set_title(plain(title))
    return figure


def _colors(count: int) -> Sequence[str]:
    return [_COLORS[i % len(_COLORS)] for i in range(count)]


def _limits(table: pd.DataFrame, bound: float) -> tuple[float, float]:
    """Return limits at whole powers of ten around everything that is drawn."""
    values = [min(row[name], row["cap"]) for row in table.to_dict("records") for name in ("low", "high")]
    values += [bound] if math.isfinite(bound) and bound > 0 else []
    low, high = math.log10(max(min(values), 1) / 1.2), math.log10(max(max(values), 1) * 1.2)
    return 10 ** math.floor(low), 10 ** math.ceil(high)


# --- Quantiles of two samples of steps against each other: on the diagonal if they have the same law ----------------


_COLUMNS = 4
_PANEL_HEIGHT = 1.75
_POINTS = 99
_POINT, _DIAGONAL = "#0072B2", "black"


@styled
def draw_quantiles(samples: Mapping[str, tuple[ArrayLike, ArrayLike]], expected: str, found: str) -> Figure:
    """Draw one panel per pair of samples, four in a row: 99 quantiles, the extremes, and the diagonal.

    Args:
        samples: title -> sample on the horizontal axis, sample on the vertical one.
        expected, found: names of the axes.
    """
    columns = min(_COLUMNS, len(samples))
    rows = math.ceil(len(samples) / columns)
    figure = new_figure(TEXT_WIDTH * columns / _COLUMNS, _PANEL_HEIGHT * rows + 0.3)
    for i, (title, (one, other)) in enumerate(samples.items()):
        axes = figure.add_subplot(rows, columns, i + 1)
        _draw_panel(axes, np.asarray(one, dtype=float), np.asarray(other, dtype=float))
        axes.set_title(plain(title), fontsize=7.5)
    figure.supxlabel(f"steps, {expected}", fontsize=9)
    figure.supylabel(f"steps, {found}", fontsize=9)
    return figure


def _draw_panel(axes: Axes, one: NDArray[np.float64], other: NDArray[np.float64]) -> None:
    share = np.linspace(0, 1, _POINTS + 2)
    x, y = np.quantile(one, share), np.quantile(other, share)
    ends = [min(x[0], y[0]), max(x[-1], y[-1])]
    axes.plot(ends, ends, color=_DIAGONAL, linewidth=0.6, zorder=1)
    axes.plot(x, y, "o", color=_POINT, markersize=2, markeredgewidth=0, zorder=2)
    axes.set_aspect("equal", adjustable="datalim")
    axes.locator_params(nbins=3)
    axes.ticklabel_format(scilimits=(-3, 4))
    axes.tick_params(labelsize=6.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set_fontsize(6.5)


# --- Mean steps against `K` beside a published line, one panel per instance -----------------------------------------


_PAIRS_A_ROW = 2
_PAIR_HEIGHT = 2.1
_LEGEND = 0.3
COLOURS: Sequence[str] = ("#0072B2", "#D55E00")
"""Colours of the sets, in their order."""
_PUBLISHED = "black"


@styled
def draw_side_by_side(
    sets: Mapping[str, pd.DataFrame], lines: Mapping[str, tuple[ArrayLike, ArrayLike]], line: str = "published"
) -> Figure:
    """Draw one panel per published line, two in a row.

    Args:
        sets: label -> columns of `summary.csv`; at most as many as there are `COLOURS`.
        lines: instance -> `K` and the steps of its published line.
        line: label of the published lines.
    """
    rows = math.ceil(len(lines) / _PAIRS_A_ROW)
    figure = new_figure(TEXT_WIDTH, _PAIR_HEIGHT * rows + _LEGEND)
    for i, (instance, (K, steps)) in enumerate(lines.items()):
        axes = figure.add_subplot(rows, _PAIRS_A_ROW, i + 1)
        axes.plot(K, steps, color=_PUBLISHED, linewidth=0.9, zorder=1, label=line)
        largest = [_draw_set(axes, part, instance, label, i) for i, (label, part) in enumerate(sets.items())]
        axes.set_title(f"{panel_letter(i)} {plain(instance)}")
        axes.set_xlabel("$K$")
        label_steps(axes, max(largest))
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _draw_set(axes: Axes, summary: pd.DataFrame, instance: str, label: str, number: int) -> float:
    """Draw the means with their 95 % intervals, and return the largest mean."""
    points = summary[summary["instance"] == instance]
    mean = points["mean_steps"]
    spread = [(mean - points["ci_low"]).fillna(0), (points["ci_high"] - mean).fillna(0)]
    axes.errorbar(
        points["K"],
        mean,
        yerr=spread,
        fmt="os"[number],
        color=COLOURS[number],
        markersize=2.5,
        markeredgewidth=0,
        elinewidth=0.6,
        zorder=2 + number,
        label=label,
    )
    return float(mean.max())
