"""Measured steps between the lower and the upper bound, against `K`."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cascadebai_cli.figures.labels import instance_label
from cascadebai_cli.figures.style import STEPS_LABEL, TEXT_WIDTH, new_figure, panel_letter, styled

COLUMNS = 3
PANEL_HEIGHT = 2.0
MEASURED, UPPER, LOWER, BETWEEN = "blue", "#b22222", "#2e7d32", "0.93"
LABELS = {"upper": "upper bound (probability $1 - \\delta$)", "lower": "lower bound (any algorithm, mean)"}


@styled
def draw_bounds(table: pd.DataFrame, instances: Mapping[str, Mapping[str, Any]]) -> Figure:
    """One panel an instance, three in a row, with a logarithmic axis of steps.

    Args:
        table: `instance, K, lower, upper, mean_steps`, one row a cell; NaN where there is no value.
        instances: config entries by name, for the titles.
    """
    panels = list(table.groupby("instance", sort=False))
    columns, rows = min(COLUMNS, len(panels)), math.ceil(len(panels) / COLUMNS)
    figure = new_figure(TEXT_WIDTH * columns / COLUMNS, PANEL_HEIGHT * rows + (0 if _has_room(panels) else 0.25))
    for i, (name, cells) in enumerate(panels):
        axes = figure.add_subplot(rows, columns, i + 1)
        _draw_panel(axes, cells.sort_values("K"))
        letter = f"{panel_letter(i)} " if len(panels) > 1 else ""
        axes.set_title(letter + instance_label(str(name), instances.get(str(name), {})))
        if i % columns == 0:
            axes.set_ylabel(f"{STEPS_LABEL} (steps)")
    _add_legend(figure, in_grid=_has_room(panels))
    return figure


def _has_room(panels: list[Any]) -> bool:
    """Whether the last row of the grid has an empty place for the legend."""
    return len(panels) > COLUMNS and len(panels) % COLUMNS > 0


def _draw_panel(axes: Axes, cells: pd.DataFrame) -> None:
    K = cells["K"]
    axes.fill_between(K, cells["lower"], cells["upper"], color=BETWEEN, linewidth=0)
    axes.plot(K, cells["upper"], color=UPPER, label=LABELS["upper"])
    axes.plot(K, cells["mean_steps"], "o", color=MEASURED, markersize=2.5, markeredgewidth=0, label="measured mean")
    axes.plot(K, cells["lower"], color=LOWER, linestyle="--", label=LABELS["lower"])
    axes.set_yscale("log")
    axes.set_xlabel("$K$")


def _add_legend(figure: Figure, *, in_grid: bool) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if in_grid:
        rows, columns = math.ceil(len(figure.axes) / COLUMNS), COLUMNS
        place = figure.add_subplot(rows, columns, rows * columns)
        place.axis("off")
        place.legend(handles, labels, loc="center")
    else:
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
