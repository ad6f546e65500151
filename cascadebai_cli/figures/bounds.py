"""Measured steps between the lower and the upper bound, against `K`."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cascadebai_cli.figures.labels import instance_label, values_label
from cascadebai_cli.figures.style import STEPS_LABEL, TEXT_WIDTH, new_figure, panel_letter, styled
from cascadebai_cli.study.instances import AnyInstance

PANEL_KEYS = ("instance", "L", "delta", "epsilon")
COLUMNS = 3
PANEL_HEIGHT = 2.0
LEGEND_LINE = 0.25
MEASURED, UPPER, LOWER, BETWEEN = "blue", "#b22222", "#2e7d32", "0.93"
MEASURED_LABEL = "measured mean"
UPPER_LABEL = r"upper bound (probability $1 - \delta$)"
LOWER_LABEL = "lower bound (any algorithm, mean)"


@styled
def draw_bounds(table: pd.DataFrame, instances: Mapping[str, AnyInstance]) -> Figure:
    """One panel an instance (and `L`, delta, epsilon where they vary), three in a row; logarithmic axis of steps.

    Args:
        table: `PANEL_KEYS`, `K, lower, upper, mean_steps`, one row a cell of one learner; NaN where there is no value.
        instances: entries of the study by name, for the titles.
    """
    panels = list(table.groupby(list(PANEL_KEYS), sort=False))
    varying = [name for name in PANEL_KEYS[1:] if table[name].nunique() > 1]
    figure = new_figure(*_size(len(panels)))
    rows, columns = _grid(len(panels))
    for i, (values, cells) in enumerate(panels):
        axes = figure.add_subplot(rows, columns, i + 1)
        _draw_panel(axes, cells.sort_values("K"))
        letter = f"{panel_letter(i)} " if len(panels) > 1 else ""
        axes.set_title(letter + _title(dict(zip(PANEL_KEYS, values, strict=True)), instances, varying))
        if i % columns == 0:
            axes.set_ylabel(f"{STEPS_LABEL} (steps)")
    _add_legend(figure, len(panels))
    return figure


def _grid(panels: int) -> tuple[int, int]:
    return math.ceil(panels / COLUMNS), min(COLUMNS, panels)


def _has_room(panels: int) -> bool:
    """Whether the last row has an empty place for the legend."""
    return panels > COLUMNS and panels % COLUMNS > 0


def _size(panels: int) -> tuple[float, float]:
    rows, columns = _grid(panels)
    legend = 0.0 if _has_room(panels) else LEGEND_LINE * (COLUMNS + 1 - columns)
    return TEXT_WIDTH * columns / COLUMNS, PANEL_HEIGHT * rows + legend


def _title(key: Mapping[str, Any], instances: Mapping[str, AnyInstance], varying: list[str]) -> str:
    name = str(key["instance"])
    parts = [instance_label(name, instances.get(name)), values_label(key, varying)]
    return ", ".join(part for part in parts if part)


def _draw_panel(axes: Axes, cells: pd.DataFrame) -> None:
    K = cells["K"]
    axes.fill_between(K, cells["lower"], cells["upper"], color=BETWEEN, linewidth=0)
    axes.plot(K, cells["upper"], color=UPPER, label=UPPER_LABEL)
    axes.plot(K, cells["mean_steps"], "o", color=MEASURED, markersize=2.5, markeredgewidth=0, label=MEASURED_LABEL)
    axes.plot(K, cells["lower"], color=LOWER, linestyle="--", label=LOWER_LABEL)
    axes.set_yscale("log")
    axes.set_xlabel("$K$")


def _add_legend(figure: Figure, panels: int) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    rows, columns = _grid(panels)
    if _has_room(panels):
        place = figure.add_subplot(rows, columns, rows * columns)
        place.axis("off")
        place.legend(handles, labels, loc="center")
    else:
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)
