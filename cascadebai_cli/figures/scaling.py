"""Figures 3 and 5: mean steps against `K`, the fitted curve and its confidence band."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cascadebai_cli.figures.labels import panel_title
from cascadebai_cli.figures.style import TEXT_WIDTH, label_steps, new_figure, panel_letter, styled
from cascadebai_cli.study.instances import AnyInstance

PANEL_KEYS = ("instance", "learner", "L", "delta", "epsilon")
PANEL_HEIGHT = 2.2
LEGEND_LINE = 0.2
POINTS, FIT, BAND = "blue", "red", "cyan"
LABELS = ("mean over the trials, with its 95 % interval", "fitted curve", "95 % confidence band of the fit")


@styled
def draw_scaling(summary: pd.DataFrame, curves: pd.DataFrame, instances: Mapping[str, AnyInstance]) -> Figure:
    """One panel for each instance (and learner, `L`, delta, epsilon where they vary), two in a row.

    Args:
        summary: columns of `summary.csv`.
        curves: `PANEL_KEYS`, `K, fitted, low, high` on a fine grid; instances without a fit are left out.
        instances: entries of the study by name, for the titles.
    """
    panels = list(summary.groupby(list(PANEL_KEYS), sort=False))
    varying = [name for name in PANEL_KEYS[1:] if summary[name].nunique() > 1]
    figure = new_figure(*_size(len(panels)))
    for i, (axes, (values, points)) in enumerate(zip(_grid(figure, len(panels)), panels, strict=True)):
        key = dict(zip(PANEL_KEYS, values, strict=True))
        letter = f"{panel_letter(i)} " if len(panels) > 1 else ""
        _draw_panel(axes, points, _matching(curves, key))
        axes.set_title(letter + panel_title(key, instances, varying))
    _add_legend(figure)
    return figure


def _add_legend(figure: Figure) -> None:
    pairs = [pair for axes in figure.axes for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    found = {label: handle for handle, label in pairs}
    labels = [label for label in LABELS if label in found]
    handles = [found[label] for label in labels]
    figure.legend(handles, labels, loc="outside lower center", ncols=3 if len(figure.axes) > 1 else 1)


def _size(panels: int) -> tuple[float, float]:
    if panels == 1:
        return TEXT_WIDTH / 2, PANEL_HEIGHT + 3 * LEGEND_LINE
    return TEXT_WIDTH, PANEL_HEIGHT * math.ceil(panels / 2) + LEGEND_LINE


def _grid(figure: Figure, panels: int) -> Iterator[Axes]:
    # As in the paper: two columns, and a last single panel in the middle.
    if panels == 1:
        yield figure.add_subplot()
        return
    cells = figure.add_gridspec(math.ceil(panels / 2), 4)
    for i in range(panels):
        row, column = divmod(i, 2)
        alone = i == panels - 1 and column == 0
        yield figure.add_subplot(cells[row, 1:3] if alone else cells[row, 2 * column : 2 * column + 2])


def _matching(curves: pd.DataFrame, key: Mapping[str, Any]) -> pd.DataFrame:
    mask = pd.Series(True, index=curves.index)
    for name, value in key.items():
        mask &= curves[name] == value
    return curves[mask]


def _draw_panel(axes: Axes, points: pd.DataFrame, curve: pd.DataFrame) -> None:
    _draw_points(axes, points)
    if not curve.empty:
        # A band narrower than the curve's own line would hide it: so the curve is the thinner one, and on top.
        for side in ("low", "high"):
            label = LABELS[2] if side == "low" else None
            axes.plot(curve["K"], curve[side], color=BAND, linewidth=1.3, linestyle="--", zorder=3, label=label)
        axes.plot(curve["K"], curve["fitted"], color=FIT, linewidth=0.7, zorder=4, label=LABELS[1])
    axes.set_xlabel("$K$")
    label_steps(axes, float(points["mean_steps"].max()))


def _draw_points(axes: Axes, points: pd.DataFrame) -> None:
    below, above = points["mean_steps"] - points["ci_low"], points["ci_high"] - points["mean_steps"]
    axes.errorbar(
        points["K"],
        points["mean_steps"],
        yerr=[below.fillna(0), above.fillna(0)],
        fmt="o",
        color=POINTS,
        markersize=3,
        markeredgewidth=0,
        elinewidth=0.6,
        zorder=2,
        label=LABELS[0],
    )
