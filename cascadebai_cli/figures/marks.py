"""Signs on a point: its value is a lower limit, or its recommendations were wrong too often."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

ARROW = Path([(0, 0.25), (0, 1), (-0.22, 0.7), (0, 1), (0.22, 0.7)], [1, 2, 1, 2, 2])
"""From a bit above the point upwards."""
CENTRED_ARROW = Path([(0, -1), (0, 1), (-0.6, 0.2), (0, 1), (0.6, 0.2)], [1, 2, 1, 2, 2])
"""The same for a legend."""
UPSIDE_DOWN = Affine2D().scale(1, -1)
ARROW_POINTS = 7.0
"""Its length, from the point to its tip."""
ROOM = 0.12
"""Share of the height of a panel that is left above and below its points, so that an arrow stays in it."""
CROSS = "\N{MULTIPLICATION SIGN}"
CEILING_LABEL = "no error: upper end of the 95 % interval"
LIMIT_LABEL = "lower limit: trials reached the cap"
WRONG_LABEL = r"wrong more often than $\delta$"
INK = "black"


def draw_arrows(axes: Axes, points: pd.DataFrame, color: str = INK, zorder: float = 5) -> None:
    """An arrow on each lower limit."""
    limits = points[points["is_limit"]]
    if len(limits):
        axes.margins(y=ROOM)
        axes.plot(limits["x"], limits["y"], **_arrow(color), zorder=zorder, clip_on=False)


def draw_down_arrows(axes: Axes, points: pd.DataFrame, color: str = INK, zorder: float = 5) -> None:
    """An arrow down from each upper limit."""
    ceilings = points[points["is_ceiling"]]
    if len(ceilings):
        axes.margins(y=ROOM)
        down = {**_arrow(color), "marker": UPSIDE_DOWN.transform_path(ARROW)}
        axes.plot(ceilings["x"], ceilings["y"], **down, zorder=zorder, clip_on=False)


def draw_crosses(axes: Axes, points: pd.DataFrame, zorder: float = 6) -> None:
    """A cross on each point that was wrong more often than delta."""
    wrong = points[points["is_wrong"]]
    if len(wrong):
        axes.plot(wrong["x"], wrong["y"], **_cross(), zorder=zorder, clip_on=False)


def mark_handles(points: pd.DataFrame) -> list[Line2D]:
    """Entries of the legend for the signs that there are."""
    handles = []
    if points["is_limit"].any():
        arrow = {**_arrow(INK), "marker": CENTRED_ARROW, "markersize": ARROW_POINTS}
        handles.append(Line2D([], [], label=LIMIT_LABEL, **arrow))
    if points["is_ceiling"].any():
        arrow = {**_arrow(INK), "marker": UPSIDE_DOWN.transform_path(CENTRED_ARROW), "markersize": ARROW_POINTS}
        handles.append(Line2D([], [], label=CEILING_LABEL, **arrow))
    if points["is_wrong"].any():
        handles.append(Line2D([], [], label=WRONG_LABEL, **_cross()))
    return handles


def spread(points: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Lengths of the interval below and above each point, 0 where there is none; a limit has none."""
    below, above = points["y"] - points["low"], points["high"] - points["y"]
    known = ~(points["is_limit"] | points["is_ceiling"])
    return np.array([part.where(known, 0).fillna(0) for part in (below, above)], dtype=float)


def _arrow(color: str) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": ARROW,
        "markersize": 2 * ARROW_POINTS,
        "markeredgecolor": color,
        "markerfacecolor": "none",
        "markeredgewidth": 0.8,
    }


def _cross() -> dict[str, Any]:
    return {"linestyle": "none", "marker": "x", "markersize": 6, "markeredgecolor": INK, "markeredgewidth": 1.0}
