"""Measured steps over the sharp lower bound, against the risk."""

import math
from collections.abc import Mapping
from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cascadebai_cli.figures.curves import LOOKS, Look
from cascadebai_cli.figures.labels import plain
from cascadebai_cli.figures.style import TEXT_WIDTH, new_figure, panel_letter, styled

COLUMNS = 3
PANEL_HEIGHT = 1.9
LABEL = r"steps over $T^{*}\,\mathrm{kl}(\delta, 1 - \delta)$"


@styled
def draw_sharp(table: pd.DataFrame) -> Figure:
    """One panel an instance and `K`, one curve a learner; 1 is the bound, both axes are logarithmic.

    Args:
        table: `instance, K, learner, delta, measured_over_sharp`, one row a cell; NaN where nothing was measured.
    """
    panels = list(table.groupby(["instance", "K"], sort=False))
    looks = dict(zip(dict.fromkeys(table["learner"]), cycle(LOOKS), strict=False))
    rows, columns = math.ceil(len(panels) / COLUMNS), min(COLUMNS, len(panels))
    figure = new_figure(TEXT_WIDTH * columns / COLUMNS, PANEL_HEIGHT * rows + 0.4)
    for i, ((instance, K), part) in enumerate(panels):
        axes = figure.add_subplot(rows, columns, i + 1)
        axes.set_title(f"{panel_letter(i)} {plain(str(instance))}, $K = {K}$")
        _draw_panel(axes, part, looks)
        if i % columns == 0:
            axes.set_ylabel(LABEL)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _draw_panel(axes: Axes, part: pd.DataFrame, looks: Mapping[str, Look]) -> None:
    for learner, look in looks.items():
        curve = part[part["learner"] == learner].sort_values("delta")
        axes.plot(
            curve["delta"],
            curve["measured_over_sharp"],
            color=look.color,
            marker=look.marker,
            markersize=look.size,
            markerfacecolor=look.color if look.filled else "white",
            linewidth=0.8,
            label=plain(learner),
        )
    axes.axhline(1, color="0.5", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.invert_xaxis()
    axes.set_xlabel(r"$\delta$")
