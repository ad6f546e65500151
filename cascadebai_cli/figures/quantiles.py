"""Two samples of steps against each other, quantile by quantile: on the diagonal where they have the same law."""

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from cascadebai_cli.figures.labels import plain
from cascadebai_cli.figures.style import TEXT_WIDTH, new_figure, styled

COLUMNS = 4
PANEL_HEIGHT = 1.75
POINTS = 99
POINT, DIAGONAL = "#0072B2", "black"


@styled
def draw_quantiles(samples: Mapping[str, tuple[ArrayLike, ArrayLike]], expected: str, found: str) -> Figure:
    """One panel a pair of samples, four in a row; 99 quantiles, the extremes, and the diagonal.

    Args:
        samples: title -> sample on the horizontal axis, sample on the vertical one.
        expected, found: names of the axes.
    """
    columns = min(COLUMNS, len(samples))
    rows = math.ceil(len(samples) / columns)
    figure = new_figure(TEXT_WIDTH * columns / COLUMNS, PANEL_HEIGHT * rows + 0.3)
    for i, (title, (one, other)) in enumerate(samples.items()):
        axes = figure.add_subplot(rows, columns, i + 1)
        _draw_panel(axes, np.asarray(one, dtype=float), np.asarray(other, dtype=float))
        axes.set_title(plain(title), fontsize=7.5)
    figure.supxlabel(f"steps, {expected}", fontsize=9)
    figure.supylabel(f"steps, {found}", fontsize=9)
    return figure


def _draw_panel(axes: Axes, one: NDArray[np.float64], other: NDArray[np.float64]) -> None:
    share = np.linspace(0, 1, POINTS + 2)
    x, y = np.quantile(one, share), np.quantile(other, share)
    ends = [min(x[0], y[0]), max(x[-1], y[-1])]
    axes.plot(ends, ends, color=DIAGONAL, linewidth=0.6, zorder=1)
    axes.plot(x, y, "o", color=POINT, markersize=2, markeredgewidth=0, zorder=2)
    axes.set_aspect("equal", adjustable="datalim")
    axes.locator_params(nbins=3)
    axes.ticklabel_format(scilimits=(-3, 4))
    axes.tick_params(labelsize=6.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set_fontsize(6.5)
