"""Which columns of the cells become the horizontal axis, the panels and the lines of a figure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pandas as pd

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.kinds import KINDS
from cascadebai_cli.study.plot import GRID, Plot

NUMBERS = ("K", "L", "delta", "epsilon")
"""Columns of the grid that an axis may show without being asked for."""
PANELS_OF_GROUPS = ("delta", "L", "K", "epsilon")
"""In this order two values of epsilon stand side by side, as in the paper."""
CARRIER = {"gap": "instance", "w_star": "instance", "w_prime": "instance", "directory": "learner"}
"""What a derived column varies with; an option varies with the learner."""


@dataclass(frozen=True)
class Deal:
    """Columns by what they do: one is `x`, and cells that agree in `panels` or `lines` belong together."""

    x: str
    panels: tuple[str, ...]
    lines: tuple[str, ...]


def deal(cells: pd.DataFrame, plot: Plot) -> Deal:
    """The columns that the plot names, and where it names none, those that fit its kind.

    Without `panels` everything that varies and is neither `x` nor `lines` makes panels; with `panels` but without
    `lines` it makes lines.

    Raises:
        ConfigError: if more than one column could be `x`.
    """
    x = plot.x or _x(cells, plot)
    carried = {_carried(x), *followers(cells, x)}
    default_lines = tuple(name for name in KINDS[plot.kind].lines if name not in carried)
    if plot.panels is None:
        lines = default_lines if plot.lines is None else plot.lines
        lines = tuple(name for name in lines if name != x)
        return Deal(x, _panels(cells, plot, {x, *carried, *lines}), lines)
    panels = tuple(name for name in plot.panels if name != x)
    if plot.lines is None:
        rest = [name for name in varying(cells, GRID) if name not in (x, *carried, *panels, *default_lines)]
        lines = (*(name for name in default_lines if name not in (x, *panels)), *rest)
        return Deal(x, panels, lines)
    return Deal(x, panels, tuple(name for name in plot.lines if name != x))


def varying(cells: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Columns with more than one value."""
    return [name for name in names if cells[name].nunique(dropna=False) > 1]


def followers(cells: pd.DataFrame, x: str) -> set[str]:
    """Numbers of the grid that vary with `x` only, in pairs as a `zip` makes them."""
    names = [name for name in NUMBERS if name != x]
    curves = cells.groupby(["instance", "learner"], sort=False)[names].nunique().max()
    points = cells.groupby(["instance", "learner", x], sort=False)[names].nunique().max()
    return {name for name in names if curves[name] > 1 and points[name] == 1}


def _x(cells: pd.DataFrame, plot: Plot) -> str:
    if usual := KINDS[plot.kind].x:
        return usual
    said = {*(plot.panels or ()), *(plot.lines or ())}
    within = cells.groupby(["instance", "learner"], sort=False)[list(NUMBERS)].nunique().max()
    found = [name for name in NUMBERS if name not in said and within[name] > 1]
    found = [name for name in found if name not in followers(cells, found[0])]
    if len(found) > 1:
        first = found[0]
        raise ConfigError(
            f"{' and '.join(f'{name} ({within[name]} values)' for name in found)} vary; say which of them is x, for "
            f"example plot: {{x: {first}}} in the config or --x {first}"
        )
    return found[0] if found else "K"


def _carried(x: str) -> str:
    """The column that varies with `x` and so makes no panels or lines of its own; `x` itself for one of the grid."""
    return x if x in GRID else CARRIER.get(x, "learner")


def _panels(cells: pd.DataFrame, plot: Plot, taken: Collection[str]) -> tuple[str, ...]:
    if KINDS[plot.kind].grouped:
        further = [name for name in varying(cells, ("instance", "learner")) if name not in taken]
        return (*further, *(name for name in PANELS_OF_GROUPS if name not in taken))
    wanted = ["instance", *varying(cells, GRID[1:])]
    return tuple(name for name in wanted if name not in taken)
