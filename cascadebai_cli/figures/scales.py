"""Scales, ticks and labels of axes."""

import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatterSciNotation, MaxNLocator, NullFormatter, NullLocator

from cascadebai_cli.figures.chart import Chart, Panel
from cascadebai_cli.figures.kinds import KINDS
from cascadebai_cli.figures.style import label_steps
from cascadebai_cli.text.numbers import count, parameter

LEAST_LABELS = 2
"""Powers of ten on a logarithmic axis; where there are fewer, steps between them get labels."""
LOG_X_FROM = 30.0
"""The largest value over the smallest from which on the horizontal axis is logarithmic; `K` stays linear, as in the
paper."""
LABEL_SHARE = 0.08
"""Of a logarithmic axis, at least, between two labels."""
BESIDE = 0.4
"""Of an axis of names beside the first and the last one, in their distances."""
UNITS = {"steps": "steps"}
"""What is measured -> its unit, if it has one."""


def is_log(chart: Chart, axis: str, values: "pd.Series[float]") -> bool:
    """Whether an axis is logarithmic, as the plot says, else by its values; what is not positive has no logarithm."""
    if not (values > 0).all():
        return False
    if chart.plot.log is not None:
        return axis in chart.plot.log
    span = values.max() / values.min()
    if axis == "x":
        far = chart.x.column == "budget" or (chart.x.column != "K" and bool(span >= LOG_X_FROM))
        return far and not chart.x.groups
    return bool(span > KINDS[chart.plot.kind].log_from) and chart.y.column != "right"


def set_scales(axes: Axes, panel: Panel, chart: Chart, *, named: bool = True) -> None:
    """Scale and label both axes of a panel.

    Args:
        axes: of the panel.
        panel, chart: what they show.
        named: whether the vertical axis gets its name; that of a linear one is always needed for its unit.
    """
    points = panel.points
    _set_x(axes, chart, points["x"])
    unit = UNITS.get(chart.y.column, "")
    if is_log(chart, "y", points["y"]):
        axes.set_yscale("log")
        label_powers(axes)
        if named:
            axes.set_ylabel(f"{chart.y.label} ({unit})" if unit else chart.y.label)
    else:
        axes.set_ylim(bottom=max(axes.get_ylim()[0], 0))
        label_steps(axes, float(points["y"].max()), chart.y.label, unit)


def label_powers(axes: Axes) -> None:
    """Labels for the powers of ten of a vertical logarithmic axis, and for steps between them where there are few."""
    low, high = map(math.log10, axes.get_ylim())
    few = math.floor(high) - math.ceil(low) + 1 < LEAST_LABELS
    axes.yaxis.set_minor_formatter(LogFormatterSciNotation(minor_thresholds=(2, 0.5)) if few else NullFormatter())


def _set_x(axes: Axes, chart: Chart, values: "pd.Series[float]") -> None:
    axes.set_xlabel(chart.x.label)
    there = sorted(set(values))
    if chart.x.groups:
        axes.set_xticks(range(len(chart.x.groups)), list(chart.x.groups))
        axes.set_xlim(-BESIDE, len(chart.x.groups) - 1 + BESIDE)
    elif len(there) == 1:
        axes.set_xticks(there, [parameter(there[0])])
    elif is_log(chart, "x", chart.points["x"]):
        axes.set_xscale("log")
        if chart.x.column == "budget":
            _set_budgets(axes, values)
        elif chart.x.is_whole:
            axes.set_xticks(there, _spaced(there))
            axes.xaxis.set_minor_locator(NullLocator())
    elif chart.x.is_whole:
        axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))


def _spaced(values: Sequence[float]) -> list[str]:
    """Labels of values on a logarithmic axis, empty where they would stand too close behind one another."""
    least = LABEL_SHARE * math.log(values[-1] / values[0])
    labels, last = [], -math.inf
    for value in values:
        has_room = math.log(value) - last >= least
        labels.append(parameter(value) if has_room else "")
        last = math.log(value) if has_room else last
    return labels


def _set_budgets(axes: Axes, values: "pd.Series[float]") -> None:
    """Every second budget, the last one included, has a label."""
    budgets = sorted(set(values))
    axes.set_xticks(budgets, [count(value) if i % 2 == 0 else "" for i, value in enumerate(budgets[::-1])][::-1])
    axes.xaxis.set_minor_locator(NullLocator())


def bottom_of_bars(smallest: float) -> float:
    """A bar on a log axis starts somewhere: at a power of ten that leaves some of the smallest one."""
    return 10.0 ** math.floor(math.log10(smallest / 1.5))
