"""The picture of `plan`: how many page views the learners take, on one log axis."""

import math
from itertools import cycle

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from cascadebai_cli.figures.labels import literal
from cascadebai_cli.figures.style import COLUMN_WIDTH, new_figure, styled

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
