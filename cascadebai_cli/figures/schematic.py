"""The instances behind the lower bound [fig:instance_lb]: which items are optimal in each of them."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from cascadebai_cli.figures.style import COLUMN_WIDTH, new_figure, styled

_OPTIMAL, _OTHER = "#8fce8f", "white"
_ROW_HEIGHT = 0.24
_MARGIN = 0.65


def optimal_sets(L: int, K: int) -> NDArray[np.bool_]:
    """Return a mask whose row `l` marks the optimal items of instance `l = 0..L`, shape `(L+1, L)`.

    Instance 0 has the items in descending order of weight. In instance `l <= K` item `l` is made worse than item `K+1`,
    which replaces it in the optimal set; in instance `l > K` item `l` is made better than item `K` and replaces it.
    """
    optimal = np.zeros((L + 1, L), dtype=np.bool_)
    optimal[:, :K] = True
    made_bad, made_good = np.arange(1, K + 1), np.arange(K + 1, L + 1)
    optimal[made_bad, made_bad - 1] = False
    optimal[made_bad, K] = True
    optimal[made_good, made_good - 1] = True
    optimal[made_good, K - 1] = False
    return optimal


@styled
def draw_schematic(L: int = 8, K: int = 4) -> Figure:
    """Draw the optimal set of each instance shaded in green, the altered item marked with its new weight.

    Args:
        L: number of items.
        K: size of the optimal set, `1 <= K < L`.
    """
    figure = new_figure(COLUMN_WIDTH, _ROW_HEIGHT * (L + 1) + _MARGIN)
    axes = figure.add_subplot()
    axes.pcolormesh(
        np.arange(L + 1) + 0.5,
        np.arange(L + 2) - 0.5,
        optimal_sets(L, K),
        cmap=ListedColormap([_OTHER, _OPTIMAL]),
        vmin=0,
        vmax=1,
        edgecolors="black",
        linewidth=0.4,
    )
    for item in range(1, L + 1):
        axes.text(item, item, r"$w^{(\ell)}(\ell)$", ha="center", va="center", fontsize=6.5)
    _label(axes, L, K)
    return figure


def _label(axes: Axes, L: int, K: int) -> None:
    axes.axhline(0.5, color="black", linewidth=1.2)
    axes.axhline(K + 0.5, color="black", linewidth=1.2)
    axes.axvline(K + 0.5, color="black", linewidth=1.2)
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    names = {1: "1", K: "$K$", K + 1: "$K+1$", L: "$L$"}
    axes.set_xticks(range(1, L + 1), [names.get(i, r"$\cdots$") for i in range(1, L + 1)])
    axes.set_yticks(range(L + 1), [{0: "0", **names}.get(i, r"$\vdots$") for i in range(L + 1)])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("item")
    axes.set_ylabel(r"instance $\ell$")
