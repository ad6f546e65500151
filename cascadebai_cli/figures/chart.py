"""What a figure shows, before it is drawn: panels of series of points, as data."""

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
        label: what they are.
        number: of the line in the figure, from 0; gives the look.
        points: in the order of `x`, with the columns of the cells: `x, y`, where the point stands; `low, high`, its
            interval (NaN for none); `is_limit`, whether trials reached the cap, so that `y` is a lower limit;
            `is_ceiling`, whether none of them erred, so that `y` is the upper end of the interval;
            `is_wrong`, whether its recommendations were wrong more often than delta.
        fit: `x, fitted, low, high` on a fine grid, none without a fit.
    """

    label: str
    number: int
    points: pd.DataFrame
    fit: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """Series on the same axes.

    Attributes:
        title: its parts.
        key: column -> value that all its cells share.
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
        column: what it shows.
        label: the same in the letters of the paper.
        is_whole: whether all values are whole numbers.
        groups: names of the places 0, 1, ... of an axis without numbers.
    """

    column: str
    label: str
    is_whole: bool = False
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure as data.

    Attributes:
        plot: the words that it was made from.
        x, y: the axes.
        panels: one or more, in their order.
        lines: labels of the series, by number.
        cap: number of steps at which trials were stopped, none if there is no common one.
        remark: what was chosen where the plot left it open which column is on the horizontal axis; else empty.
        left_out: which cells are not drawn, as nothing is known of them that could be; else empty.
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
