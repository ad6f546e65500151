"""Figure 2: mean steps of several learners against `K`."""

import math
from collections.abc import Mapping
from itertools import cycle
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from cascadebai_cli.figures.labels import panel_title, plain
from cascadebai_cli.figures.style import STEPS_LABEL, TEXT_WIDTH, label_steps, new_figure, panel_letter, styled
from cascadebai_cli.study.instances import AnyInstance

PANEL_KEYS = ("instance", "L", "delta", "epsilon")
PANEL_HEIGHT = 2.4


class Look(NamedTuple):
    """How a curve is drawn, so that two on top of each other are both seen."""

    color: str
    marker: str
    size: float
    filled: bool = True


LOOKS = (
    Look("#0072B2", "o", 2.4),
    Look("#D55E00", "s", 2.6),
    Look("#009E73", "^", 4.4, filled=False),
    Look("#CC79A7", "D", 4.0, filled=False),
    Look("#000000", "v", 2.6),
)
"""One for each learner; the colours are those of Okabe and Ito, for all kinds of colour vision."""
LOG_FROM = 10.0
"""Panels whose largest mean exceeds this many times the smallest get a log axis."""


@styled
def draw_curves(summary: pd.DataFrame, instances: Mapping[str, AnyInstance]) -> Figure:
    """One panel for each instance (and `L`, delta, epsilon where they vary), one curve a learner.

    Args:
        summary: columns of `summary.csv`.
        instances: entries of the study by name, for the titles.
    """
    panels = list(summary.groupby(list(PANEL_KEYS), sort=False))
    looks = dict(zip(dict.fromkeys(summary["learner"]), cycle(LOOKS), strict=False))
    varying = [name for name in PANEL_KEYS[1:] if summary[name].nunique() > 1]
    figure, cells = _grid(len(panels))
    for i, (axes, (values, part)) in enumerate(zip(cells, panels, strict=True)):
        key = dict(zip(PANEL_KEYS, values, strict=True))
        letter = f"{panel_letter(i)} " if len(panels) > 1 else ""
        axes.set_title(letter + panel_title(key, instances, varying))
        _draw_panel(axes, part, looks)
    handles, labels = cells[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _grid(panels: int) -> tuple[Figure, list[Axes]]:
    columns, rows = min(panels, 2), math.ceil(panels / 2)
    figure = new_figure(TEXT_WIDTH * columns / 2, PANEL_HEIGHT * rows + 0.2)
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(panels)]


def _draw_panel(axes: Axes, part: pd.DataFrame, looks: Mapping[str, Look]) -> None:
    for i, (learner, look) in enumerate(looks.items()):
        curve = part[part["learner"] == learner].sort_values("K")
        # The first learner is what the figure is about: it lies on top.
        _draw_curve(axes, curve, plain(learner), look, zorder=2 + len(looks) - i)
    axes.set_xlabel("$K$")
    means = part["mean_steps"]
    if means.max() > LOG_FROM * means.min():
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel(f"{STEPS_LABEL} (steps)")
    else:
        label_steps(axes, float(means.max()))


def _draw_curve(axes: Axes, curve: pd.DataFrame, label: str, look: Look, zorder: float) -> None:
    below, above = curve["mean_steps"] - curve["ci_low"], curve["ci_high"] - curve["mean_steps"]
    axes.errorbar(
        curve["K"],
        curve["mean_steps"],
        yerr=[below.fillna(0), above.fillna(0)],
        color=look.color,
        marker=look.marker,
        markersize=look.size,
        markerfacecolor=look.color if look.filled else "white",
        markeredgewidth=0 if look.filled else 0.6,
        linewidth=0.8,
        elinewidth=0.7,
        label=label,
        zorder=zorder,
    )
