"""A figure as data, before it is drawn: panels of series of points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from cascadebai_cli.study.plot import Plot


@dataclass(frozen=True, eq=False)
class Series:
    """Points that belong together.

    Attributes:
        label: what the points are.
        number: number of the line in the figure, from 0, which gives its look.
        points: table in the order of `x`, with the columns of the cells and these: `x, y`, the place of the point;
            `low, high`, its interval (NaN for none);
            `is_limit`, whether trials reached the cap, so that `y` is a lower limit;
            `is_ceiling`, whether none of them erred, so that `y` is the upper end of the interval;
            `is_wrong`, whether its recommendations were wrong more often than delta.
        fit: `x, fitted, low, high` on a fine grid; `None` without a fit.
    """

    label: str
    number: int
    points: pd.DataFrame
    fit: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """Series on the same axes.

    Attributes:
        title: parts of the title.
        key: column -> value that all cells of the panel share.
        series: one or more.
    """

    title: tuple[str, ...]
    key: Mapping[str, Any]
    series: tuple[Series, ...]

    @cached_property
    def points(self) -> pd.DataFrame:
        """The points of all series."""
        return pd.concat([series.points for series in self.series], ignore_index=True)


@dataclass(frozen=True)
class Axis:
    """An axis.

    Attributes:
        column: column of the cells that the axis shows.
        label: its name in the letters of the paper.
        is_whole: whether all values are whole numbers.
        groups: names of the places 0, 1, ... if the axis has no numbers.
    """

    column: str
    label: str
    is_whole: bool = False
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure as data.

    Attributes:
        plot: what was asked for.
        x, y: the axes.
        panels: one or more, in their order.
        lines: labels of the series, by number.
        cap: number of steps at which trials were stopped; `None` if there is no common one.
        remark: says which column was chosen for the horizontal axis if the plot left that open; else empty.
        left_out: says which cells are not drawn because they have no value; else empty.
    """

    plot: Plot
    x: Axis
    y: Axis
    panels: Sequence[Panel]
    lines: Sequence[str]
    cap: int | None = None
    remark: str = ""
    left_out: str = ""

    @cached_property
    def points(self) -> pd.DataFrame:
        """The points of all panels, in the order in which they are drawn."""
        return pd.concat([panel.points for panel in self.panels], ignore_index=True)
