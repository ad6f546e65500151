"""The five rows of Table 2 with three lines each: `python -m experiments.published_figure`.

Draws results/reference/published_rewards/lines.png from the committed rows.
"""

import argparse
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.figures.labels import literal
from cascadebai_cli.figures.style import TEXT_WIDTH, label_steps, new_figure, panel_letter, render, styled
from experiments.artefacts import REFERENCE
from experiments.published_weights import published_lines

NAME = "published_rewards"
_PAIRS_A_ROW = 2
_PAIR_HEIGHT = 2.1
_LEGEND = 0.3
COLOURS: Sequence[str] = ("#0072B2", "#D55E00")
"""Of the sets, in their order."""
_PUBLISHED = "black"


@styled
def draw_side_by_side(
    sets: Mapping[str, pd.DataFrame], lines: Mapping[str, tuple[ArrayLike, ArrayLike]], line: str = "published"
) -> Figure:
    """One panel a line, two in a row.

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
        axes.set_title(f"{panel_letter(i)} {literal(instance)}")
        axes.set_xlabel("$K$")
        label_steps(axes, max(largest))
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _draw_set(axes: Axes, summary: pd.DataFrame, instance: str, label: str, number: int) -> float:
    """The means with their 95 % intervals; the largest mean."""
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


def main() -> None:
    """Draw and keep."""
    argparse.ArgumentParser(description="Draw Table 2 with independent rewards and with a table.").parse_args()
    independent, reuse = (load_results(REFERENCE / name) for name in ("table1", NAME))
    K = np.arange(20, 61)
    figure = draw_side_by_side(
        {"independent rewards": independent.summary, "rewards from a table that is used again": reuse.summary},
        {name: (K, [line(int(k)) for k in K]) for name, line in published_lines().items()},
    )
    path = REFERENCE / NAME / "lines.png"
    path.write_bytes(render(figure, "png", title=NAME, rows_sha256=str(reuse.manifest.rows_sha256)))
    print(path)


if __name__ == "__main__":
    main()
