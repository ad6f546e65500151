"""Making a chart from rows of `summary.csv` and the words of a plot; nothing is drawn here."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.labels import Axis, Chart, Labels, Panel, Series, carrier_of
from cascadebai_cli.store.summary import is_limit_of_quantile, wrong_too_often
from cascadebai_cli.study.instances import AnyInstance
from cascadebai_cli.study.kinds import AXES, GRID, K_FIRST, MEASURES
from cascadebai_cli.study.plot import NAMES, Plot
from cascadebai_cli.text import count, is_missing, listed, parameter

_MOST_PANELS, _MOST_NAMED = 240, 12
"""Largest number of panels, and of instances without a value that a sentence names."""
MOST_LINES = 12
"""Largest number of lines in one panel, as many as can be told apart."""

_TELLING_APART = (*GRID, "directory")
_KNOWN = "that the config gives or the manifest holds; older manifests hold no weights from files or code"
"""End of a sentence that says for which weights bounds are known."""

# --- Which columns of the cells become the horizontal axis, the panels and the lines of a figure --------------------

_PANELS_OF_GROUPS = tuple(sorted(AXES, key=lambda name: name != "delta"))
"""Order of the columns that make panels of bars; it puts two values of epsilon side by side, as in the paper."""


@dataclass(frozen=True)
class _Deal:
    """Columns by their role: one is `x`, and cells that agree in `panels` or `lines` belong together.

    `remark` says which column was chosen if several might have been `x` and the plot names none; else it is empty.
    """

    x: str
    panels: tuple[str, ...]
    lines: tuple[str, ...]
    remark: str = ""


def _deal(cells: pd.DataFrame, plot: Plot) -> _Deal:
    """Return the columns that the plot names; where it names none, those that fit its kind.

    If the plot names no `panels`, every column that varies and is neither `x` nor one of `lines` makes panels; if it
    names `panels` but no `lines`, such a column makes lines, unless it is a number that follows from the others. If
    several columns could be `x`, the first of `K_FIRST` is.
    """
    found = [plot.x] if plot.x else _candidates(cells, plot)
    dealt = _by_role(cells, plot, found[0])
    return replace(dealt, remark=_remark(cells, dealt, found[1:])) if found[1:] else dealt


def _by_role(cells: pd.DataFrame, plot: Plot, x: str) -> _Deal:
    carried = {x if x in GRID else carrier_of(x), *_followers(cells, x)}
    if carrier_of(x) == "instance":  # each instance may have numbers of its own
        carried |= {name for name in _varying(cells, K_FIRST) if _follows(cells, name, ["instance"])}
    default_lines = tuple(name for name in plot.figure.lines if name not in carried)
    if plot.panels is None:
        lines = default_lines if plot.lines is None else plot.lines
        lines = tuple(name for name in lines if name != x)
        return _Deal(x, _panels(cells, plot, {x, *carried, *lines}), lines)
    panels = tuple(name for name in plot.panels if name != x)
    if plot.lines is None:
        lines = tuple(name for name in default_lines if name not in (x, *panels))
        for name in _varying(cells, GRID):
            follows = name in K_FIRST and _follows(cells, name, (*panels, *lines))
            if name not in (x, *carried, *panels, *lines) and not follows:
                lines = (*lines, name)
        return _Deal(x, panels, lines)
    return _Deal(x, panels, tuple(name for name in plot.lines if name != x))


def _varying(cells: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the columns with more than one value."""
    return [name for name in names if cells[name].nunique(dropna=False) > 1]


def _follows(cells: pd.DataFrame, name: str, others: Sequence[str]) -> bool:
    """Return whether a column has one value where the others agree, such as `K` if each instance has its own."""
    return bool(others) and cells.groupby(list(others), sort=False, dropna=False)[name].nunique(dropna=False).max() == 1


def _followers(cells: pd.DataFrame, x: str) -> set[str]:
    """Return numbers of the grid that vary with `x` only, in pairs as a `zip` makes them."""
    if x not in cells or x == "steps":
        return set()
    names = [name for name in K_FIRST if name != x]
    curves = cells.groupby(["instance", "learner"], sort=False)[names].nunique().max()
    points = cells.groupby(["instance", "learner", x], sort=False)[names].nunique().max()
    return {name for name in names if curves[name] > 1 and points[name] == 1}


def _remark(cells: pd.DataFrame, dealt: _Deal, others: Sequence[str]) -> str:
    said = listed([f"{name} ({cells[name].nunique()} values)" for name in (dealt.x, *others)])
    made = "panels" if set(others) <= {*dealt.panels} else "lines"
    makes = "makes" if len(others) == 1 else "make"
    return (
        f"{said} vary: {dealt.x} is x, and {listed(others)} {makes} {made}; --x {others[0]}, or "
        f"plot: {{x: {others[0]}}} in the config, changes that"
    )


def _candidates(cells: pd.DataFrame, plot: Plot) -> list[str]:
    """Return the columns that may be `x`, of which the first is chosen; `K` where nothing varies."""
    if usual := plot.figure.x:
        return [usual]
    said = {*(plot.panels or ()), *(plot.lines or ())}
    within = cells.groupby(["instance", "learner"], sort=False)[list(K_FIRST)].nunique().max()
    found = [name for name in K_FIRST if name not in said and within[name] > 1]
    return [name for name in found if name not in _followers(cells, found[0])] or ["K"]


def _panels(cells: pd.DataFrame, plot: Plot, taken: Collection[str]) -> tuple[str, ...]:
    if plot.figure.grouped:
        further = [name for name in _varying(cells, ("instance", "learner")) if name not in taken]
        return (*further, *(name for name in _PANELS_OF_GROUPS if name not in taken))
    wanted = ["instance", *_varying(cells, GRID[1:])]
    return tuple(name for name in wanted if name not in taken)


# --- From cells to a chart ------------------------------------------------------------------------------------------


def chart_of(
    cells: pd.DataFrame, plot: Plot, labels: Labels, cap: int | None = None, among: pd.DataFrame | None = None
) -> Chart:
    """Return the chart of some cells.

    Args:
        cells: the cells that are drawn, as from `analysis.cells.Cells`, with the bound that `y` needs.
        cap: number of steps at which trials were stopped.
        among: all cells of the studies, in whose order lines get their looks; by default those that are drawn.

    Raises:
        ConfigError: if the words do not make a figure of these cells.
    """
    dealt = _deal(cells, plot)
    measured = _with_y(cells, plot)
    axis, points = _with_x(measured[measured["y"].notna()], dealt.x, labels)
    if plot.figure.grouped and not axis.groups:
        axis, points = _grouped(axis, points)
    lines = _lines(points, dealt.lines)
    panels = [_panel(part, values, dealt, lines, labels, axis.joined) for values, part in _parts(points, dealt.panels)]
    names = [labels.line(key, dealt.lines) for key in lines]
    y = Axis(plot.y, labels.measure(plot.y))
    looks = _looks(lines, points if among is None else among, dealt.lines)
    called = {name: labels.name("instance", name) for name in dict.fromkeys(points["instance"])}
    said = (dealt.remark, _left_out(measured, plot))
    return Chart(plot, axis, y, panels, names, looks, cap, *said, instances=called)


def _looks(lines: Sequence[Mapping[str, Any]], among: pd.DataFrame, names: Sequence[str]) -> Sequence[int]:
    """Return the numbers of the looks of lines: their places among all of the studies, if these are different looks."""
    places = {tuple(line.values()): place for place, line in enumerate(_lines(among, names))}
    found = [places[tuple(line.values())] for line in lines]
    return found if max(found) < MOST_LINES else range(len(lines))


def with_fits(chart: Chart, fits: Mapping[frozenset[tuple[str, str]], pd.DataFrame]) -> Chart:
    """Return the chart with fitted curves for those series whose points are the cells of one fit.

    Args:
        fits: directory and id of the cells of a curve over the same axis -> `x, fitted, low, high`, and `model` where
            it was chosen among several, which the title then names.
    """
    if chart.y.column != "steps":
        return chart
    return replace(chart, panels=[_fitted(panel, fits) for panel in chart.panels])


def _fitted(panel: Panel, fits: Mapping[frozenset[tuple[str, str]], pd.DataFrame]) -> Panel:
    cells = (frozenset(zip(one.points["directory"], one.points["cell_id"], strict=True)) for one in panel.series)
    series = tuple(replace(one, fit=fits.get(own)) for one, own in zip(panel.series, cells, strict=True))
    chosen = [one.fit for one in series if one.fit is not None and "model" in one.fit]
    models = dict.fromkeys(str(fit["model"].iloc[0]) for fit in chosen)
    title = (*panel.title, f"fit: {', '.join(models)}") if models else panel.title
    return replace(panel, title=title, series=series)


def refuse_too_many(cells: pd.DataFrame, plot: Plot) -> None:
    """Raise `ConfigError` for more panels or lines than can be looked at, before they cost time."""
    dealt = _deal(cells, plot)
    panels = len(cells.drop_duplicates(list(dealt.panels))) if dealt.panels else 1
    if panels > _MOST_PANELS:
        raise ConfigError(
            f"{count(panels)} panels are more than {_MOST_PANELS}, the most allowed; choose with --where, "
            "--instances or --learners, or put more into a panel with --panels and --lines"
        )
    most = len(cells.drop_duplicates(list(dealt.lines))) if dealt.lines else 1
    if most > MOST_LINES:
        raise ConfigError(
            f"{count(most)} different lines are more than the {MOST_LINES} that can be told apart; choose with "
            "--where, --instances or --learners, or make panels of them with --panels"
        )


def _with_y(cells: pd.DataFrame, plot: Plot) -> pd.DataFrame:
    """Return the cells with the value that is drawn; `y` is NaN for a cell that cannot be drawn."""
    measure, over = plot.y, MEASURES[plot.y].over
    value, low, high = MEASURES[measure].columns
    if value not in cells:
        where = "kind trace" if measure == "present" else "studies with a budget"
        raise ConfigError(f"y: {measure} is known of {where}, and this is none")
    if over and cells["budget"].notna().all():
        raise ConfigError(f"y: {measure} compares steps with a bound, and in this study they are a budget")
    scale = 1 / cells[over] if over else 1.0
    nothing = pd.Series(np.nan, cells.index)
    points = cells.assign(
        y=cells[value] * scale,
        low=(cells[low] * scale).clip(lower=min(0, MEASURES[measure].least)) if low else nothing,
        high=(cells[high] * scale).clip(upper=cells["K"] if measure == "right" else np.inf) if high else nothing,
        is_limit=_is_limit(cells, measure),
        is_wrong=wrong_too_often(cells) & (plot.figure.points == "cells"),
    )
    points = points.assign(is_ceiling=points["budget"].notna() & (measure == "error_rate") & (points["y"] == 0))
    points["y"] = points["y"].where(~points["is_ceiling"], points["high"]).astype(float)
    known = np.isfinite(points["y"]) & (points["budget"].isna() | (not over))
    if plot.figure.beside == "bounds":
        known &= points["upper"].notna()
    if measure == "stopped" and (cells["n_capped"] == cells["n"]).all():
        known &= False
    if not known.any():
        raise ConfigError(f"y: no cell has a value of {measure}{_why(plot)}")
    return points.assign(y=points["y"].where(known))


def _is_limit(cells: pd.DataFrame, measure: str) -> "pd.Series[bool]":
    """Return whether values are lower limits: means with capped trials, and quantiles that a capped trial has."""
    if level := MEASURES[measure].level:
        return is_limit_of_quantile(cells, level)
    return (cells["n_capped"] > 0) & (measure not in ("error_rate", "stopped", "present"))


def _left_out(measured: pd.DataFrame, plot: Plot) -> str:
    """Say which cells are not drawn, and why, without a full stop; return an empty text if all are drawn."""
    gone = measured[measured["y"].isna()]
    if gone.empty:
        return ""
    names = list(dict.fromkeys(gone["instance"]))
    more = [f"{count(len(names) - _MOST_NAMED)} more"] if len(names) > _MOST_NAMED else []
    cells = f"{count(len(gone))} of {count(len(measured))} cells ({', '.join([*names[:_MOST_NAMED], *more])})"
    return f"{cells} cannot be drawn{_why(plot)}"


def _why(plot: Plot) -> str:
    if plot.figure.beside == "bounds":
        return f": an upper bound is known for weights {_KNOWN}"
    if plot.y == "steps_per_lower_bound":
        return f": a lower bound above 0 is known for epsilon = 0 and weights between 0 and 1 {_KNOWN}"
    return {
        "error_rate": ": no trial stopped before the cap",
        "stopped": ": no trial stopped before the cap",
        "difference": ": it takes two pairs of trials, and none that reached the cap",
        "steps_per_sharp_bound": ": the sharp bound is known for epsilon = 0 only",
    }.get(plot.y, "")


def _with_x(points: pd.DataFrame, column: str, labels: Labels) -> tuple[Axis, pd.DataFrame]:
    values = points[column]
    if column in NAMES:
        names = list(dict.fromkeys(values))
        places = values.map({name: float(i) for i, name in enumerate(names)})
        groups = labels.groups(column, names)
        return Axis(column, labels.column(column), groups=groups, joined=False), points.assign(x=places)
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    if column == "budget" and numbers.isna().all():
        raise ConfigError("x: budget is known of studies with a budget, and this is none; choose another kind or x")
    if numbers.isna().all() and values.notna().any():
        raise ConfigError(
            f"x: {column} holds words such as {values.dropna().iloc[0]}, and no numbers; add {column} to --lines or "
            "--panels, or choose another x"
        )
    if not np.isfinite(numbers).all():
        row = points[~np.isfinite(numbers)].iloc[0]
        raise ConfigError(
            f"x: {column} is no number for learner {row['learner']} on instance {row['instance']}; leave these out "
            "with --learners or --instances, or choose another x"
        )
    whole = bool((numbers % 1 == 0).all())
    joined = carrier_of(column) != "instance" or _related([*labels.instances.values()])
    return Axis(column, labels.column(column), is_whole=whole, joined=joined), points.assign(x=numbers)


def _related(entries: Sequence[AnyInstance]) -> bool:
    """Return whether instances are of one family and differ in one of its keys at most."""
    said = [{"": type(entry), **entry.model_dump(exclude={"name", "fit"})} for entry in entries]
    return sum(any(one.get(key) != said[0].get(key) for one in said) for key in {*chain(*said)}) <= 1


def _grouped(axis: Axis, points: pd.DataFrame) -> tuple[Axis, pd.DataFrame]:
    """Turn numbers into places of an axis of bars."""
    values = sorted(set(points["x"]))
    places = points["x"].map({value: float(i) for i, value in enumerate(values)})
    return replace(axis, is_whole=False, groups=tuple(map(parameter, values))), points.assign(x=places)


def _lines(points: pd.DataFrame, names: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the values of each line of the figure, in the order of the looks."""
    return [dict(zip(names, values, strict=True)) for values, _ in _parts(points, names)] if names else [{}]


def _parts(points: pd.DataFrame, names: Sequence[str]) -> list[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Group rows that agree in some columns, in order of first appearance; a missing value is `None`."""
    if not names:
        return [((), points)]
    codes = [pd.Series(pd.factorize(points[name], use_na_sentinel=False)[0], points.index) for name in names]
    grouped = points.groupby(list(names), sort=False, dropna=False)
    parts = [(tuple(None if is_missing(value) else value for value in values), part) for values, part in grouped]
    return sorted(parts, key=lambda part: [code[part[1].index[0]] for code in codes])


def _panel(
    part: pd.DataFrame,
    values: Sequence[Any],
    dealt: _Deal,
    lines: Sequence[Mapping[str, Any]],
    labels: Labels,
    joined: bool,
) -> Panel:
    key = dict(zip(dealt.panels, values, strict=True))
    numbers = {tuple(line.values()): number for number, line in enumerate(lines)}
    series = []
    for own, rows in _parts(part, dealt.lines):
        _refuse_twins(rows, dealt, joined)
        found = rows.sort_values("x", kind="stable").reset_index(drop=True)
        label = labels.line(dict(zip(dealt.lines, own, strict=True)), dealt.lines)
        series.append(Series(label, numbers[tuple(own)], found))
    return Panel(labels.title(key), key, tuple(sorted(series, key=lambda one: one.number)))


def _refuse_twins(rows: pd.DataFrame, dealt: _Deal, joined: bool) -> None:
    """Refuse two cells of a line at the same place, as a column then varies that is neither x, panels nor lines.

    With shares of trials, a line is of one cell, since its points are the trials.
    Points of unrelated instances may be at the same place, as they have names.
    """
    if dealt.x == "steps":
        _refuse_varying(_varying(rows, _TELLING_APART), rows, "in a line of ecdf", "panels nor lines")
        return
    same = ["x"] if joined or dealt.x in NAMES else ["x", "instance"]
    twins = rows[rows.duplicated(same, keep=False)]
    if twins.empty:
        return
    pair = twins[twins["x"] == twins["x"].iloc[0]]
    names = [name for name in _varying(pair, _TELLING_APART) if name != dealt.x]
    _refuse_varying(names or [""], pair, f"at {dealt.x} = {pair[dealt.x].iloc[0]}", "x, panels nor lines")


def _refuse_varying(names: Sequence[str], cells: pd.DataFrame, place: str, among: str) -> None:
    if not names:
        return
    choice = shlex.quote(f"{names[0]}={cells[names[0]].iloc[0]}" if names[0] else "K=2")
    verbs = ("vary", "are", "them") if len(names) > 1 else ("varies", "is", "it")
    raise ConfigError(
        f"{' and '.join(names)} {verbs[0]} {place} and {verbs[1]} neither {among}; add {verbs[2]} to --panels or "
        f"--lines, or choose one value, as with --where {choice}"
    )
