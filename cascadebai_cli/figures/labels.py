"""A figure as data and in words: its panels and series, which columns make them, their labels, a description."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd
from matplotlib.mathtext import MathTextParser

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.formula import latex
from cascadebai_cli.store.columns import POINT
from cascadebai_cli.study.instances import AnyInstance, TwoLevel
from cascadebai_cli.study.kinds import AXES, GRID, MEASURES, Measure
from cascadebai_cli.study.plot import NAMES, Plot
from cascadebai_cli.text import count, is_missing, number, percent, value_text


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
            `is_wrong`, whether its recommendations were wrong more often than delta beyond chance.
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
        joined: whether a line may join points along the axis: not if they are of unrelated things.
    """

    column: str
    label: str
    is_whole: bool = False
    groups: tuple[str, ...] = ()
    joined: bool = True

    @property
    def is_of_names(self) -> bool:
        """Whether the column holds names."""
        return self.column in NAMES


_CARRIER = {
    **{"steps": "", "step": "step", "directory": "learner"},
    **dict.fromkeys(("gap", "hardness", "w_star", "w_prime"), "instance"),
}
"""Derived column -> column that it varies with; an option varies with the learner."""


def carrier_of(x: str) -> str:
    """Return the column of names on which a column depends, or which it is; empty for a number of the grid."""
    return x if x in ("instance", "learner") else "" if x in GRID else _CARRIER.get(x, "learner")


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure as data.

    Attributes:
        lines: labels of the series, by number.
        looks: numbers of their looks, by number; a line has the same one in all figures of a study.
        cap: number of steps at which trials were stopped; `None` if there is no common one.
        remark: says which column was chosen for the horizontal axis if the plot left that open; else empty.
        left_out: says which cells are not drawn because they have no value; else empty.
        own: settings of a style of the user.
        instances: instance -> its label.
    """

    plot: Plot
    x: Axis
    y: Axis
    panels: Sequence[Panel]
    lines: Sequence[str]
    looks: Sequence[int]
    cap: int | None = None
    remark: str = ""
    left_out: str = ""
    own: Mapping[str, Any] = field(default_factory=dict)
    instances: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def points(self) -> pd.DataFrame:
        """The points of all panels, in the order in which they are drawn."""
        return pd.concat([panel.points for panel in self.panels], ignore_index=True)

    @property
    def measure(self) -> Measure:
        """What is measured."""
        return MEASURES[self.y.column]

    def is_log(self, axis: str, values: "pd.Series[float]") -> bool:
        """Return whether an axis is logarithmic: as the plot says, else by its values; all must be positive for it."""
        if not (values > 0).all() or (axis == "y" and self.measure.least < 0):
            return False
        if self.plot.log is not None:
            return axis in self.plot.log
        span = values.max() / values.min()
        if axis == "x":
            least = _LOG_X_OF_INSTANCES_FROM if carrier_of(self.x.column) == "instance" else _LOG_X_FROM
            far = self.x.column == "budget" or (self.x.column != "K" and bool(span >= least))
            return far and not self.x.groups
        return bool(span > self.plot.figure.log_from) and self.y.column != "right"

    @property
    def title(self) -> str:
        """What the figure shows."""
        fitted = any(series.fit is not None for panel in self.panels for series in panel.series)
        of = " of each learner" if len(self.lines) > 1 and not fitted else ""
        title = self.plot.figure.title.format(what=self.measure.title, of=of, x=self.x.column)
        title += " with the fitted curve and its 95 % confidence band" if fitted else ""
        average = self.plot.average
        return title + (f", averaged over {average}, with the intervals of these means" if average else "")

    @property
    def alternative(self) -> str:
        """What the figure shows, in a few sentences with its main numbers, for readers who do not see it."""
        sentences = list(_groups(self) if self.plot.figure.grouped else _curves(self))
        more = [f"And {count(len(sentences) - _MOST_NAMED)} more."] if len(sentences) > _MOST_NAMED else []
        return " ".join([f"{self.title}.", *sentences[:_MOST_NAMED], *more])

    @property
    def wrong(self) -> str:
        """One sentence that names the points with a cross; empty if there is none."""
        wrong = self.points[self.points["is_wrong"]].to_dict("records")
        if not wrong:
            return ""
        varying = [name for name in POINT if self.points[name].nunique() > 1]
        named = "; ".join(_wrong(row, varying) for row in wrong[:_MOST_NAMED])
        more = f"; and {count(len(wrong) - _MOST_NAMED)} more" if len(wrong) > _MOST_NAMED else ""
        return f"a cross marks recommendations that were wrong more often than delta beyond chance: {named}{more}"


_LOG_X_FROM = 30.0
"""Ratio of the largest value to the smallest from which the horizontal axis is logarithmic; `K` stays linear, as in
the paper."""
_LOG_X_OF_INSTANCES_FROM = 5.0
"""The same for the gap and the hardness, by a power of which steps grow."""


# --- Labels in the paper's letters, as LaTeX that matplotlib can set ------------------------------------------------

_PRIME = "\N{PRIME}"
"""Prime: this character of STIX is well placed, while a superscript would float high above the letter."""
_SYMBOLS = {
    **{"delta": r"\delta", "epsilon": r"\epsilon", "sigma": r"\sigma", "L": "L", "K": "K"},
    **{"w_star": "w^{*}", "w_prime": f"w{_PRIME}"},
}
_OWN_LABELS = {
    **{"budget": "page views", "gap": "gap $w(K) - w(K+1)$"},
    "hardness": r"hardness $\sum_i \Delta_i^{-2}$",
}

_UNNAMED = re.compile(r"setting \d+")
"""What instances without a name of their own are called, as in the paper; the directory may follow."""


def _weights_parts(entry: AnyInstance | None) -> list[str]:
    r"""Return `$w^* = 1/K$` and `$w' = 1/K^{2}$` for a two-level instance; empty for any other, known or not."""
    if not isinstance(entry, TwoLevel):
        return []
    try:
        return [f"$w^{{*}} = {latex(entry.w_star)}$", f"$w{_PRIME} = {latex(entry.w_prime)}$"]
    except ConfigError:
        return []


def literal(text: str) -> str:
    """Escape `text` for matplotlib, so that a dollar sign is not read as mathematics."""
    return text.replace("$", r"\$")


def _values_label(values: Mapping[str, Any], names: Sequence[str]) -> str:
    r"""Return `$L = 64, K = 16$` for those of `names` that `values` holds."""
    parts = [f"{_SYMBOLS.get(name, name)} = {values[name]:g}" for name in names if name in values]
    return "$" + r",\ ".join(parts) + "$" if parts else ""


@dataclass(frozen=True)
class Labels:
    """Labels of names and columns in a figure.

    Args:
        instances: instances of the studies by name.
        given: name or column -> label that the user wants instead; `$...$` is mathematics.
        of_paper: instances of studies of the paper, which shows weights in place of names.
    """

    instances: Mapping[str, AnyInstance] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    of_paper: Collection[str] = ()

    def __post_init__(self) -> None:
        for word, text in self.given.items():
            _check(word, text)

    def column(self, name: str) -> str:
        """Return the label of a column, for an axis."""
        if name in self.given:
            return self.given[name]
        if name in _OWN_LABELS:
            return _OWN_LABELS[name]
        return f"${_SYMBOLS[name]}$" if name in _SYMBOLS else literal(name.replace("_", " "))

    def measure(self, name: str) -> str:
        """Return the label of a measure, for an axis."""
        return self.given.get(name, MEASURES[name].axis)

    def name(self, column: str, value: Any) -> str:
        """Return the label of a value: a name as it is, any other value with the name of its column."""
        text = str(value)
        if text in self.given:
            return self.given[text]
        if column == "instance":
            return ", ".join(self.weights(text)) or literal(text)
        if column in ("learner", "algorithm", "directory") or not isinstance(value, int | float | None):
            return literal(text)
        if column in AXES and column not in self.given:
            return _values_label({column: value}, [column])
        return f"no {self.column(column)}" if is_missing(value) else f"{self.column(column)} = {value:g}"

    def weights(self, name: str) -> list[str]:
        """Return the weights of an instance in the paper's letters.

        It is empty for an instance with a name of its own, which says more, or if another one has the same weights.
        """
        if name not in self.of_paper and not _UNNAMED.match(name):
            return []
        own = _weights_parts(self.instances.get(name))
        others = [_weights_parts(entry) for other, entry in self.instances.items() if other != name]
        return [] if own in others else own

    def groups(self, column: str, names: Sequence[str]) -> tuple[str, ...]:
        """Return names of the places of an axis; weights of an instance take two lines."""
        return tuple(
            "\n".join(self.weights(name)) if self._has_weights(column, name) else self.name(column, name)
            for name in names
        )

    def _has_weights(self, column: str, name: str) -> bool:
        return column == "instance" and name not in self.given and bool(self.weights(name))

    def line(self, key: Mapping[str, Any], names: Sequence[str]) -> str:
        """Return the label of a line."""
        return ", ".join(self._parts(key, names))

    def title(self, key: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the parts of the title of a panel, given the values that its cells share."""
        of_the_point = [name for name in POINT if name in key]
        others = [name for name in key if name not in POINT]
        return (*self._parts(key, of_the_point), *self._parts(key, others))

    def _parts(self, key: Mapping[str, Any], names: Sequence[str]) -> list[str]:
        """Return the labels of a cell's values: names one by one, numbers of the grid together."""
        numbers = [name for name in names if name in AXES and name not in self.given]
        parts = [self.name(name, key[name]) for name in names if name not in numbers]
        return [*parts, _values_label(key, numbers)] if numbers else parts


def _check(word: str, text: str) -> None:
    if text.count("$") % 2 == 0 and "$" in text:
        try:
            MathTextParser("path").parse(text)
        except ValueError as error:
            problem = str(error).strip().splitlines()[-1]
            raise ConfigError(f"labels: {word}: {text} cannot be set as mathematics ({problem})") from None


# --- The points of a figure in words --------------------------------------------------------------------------------

_MOST_NAMED = 12
"""Largest number of lines, groups or points that a description names."""


def _curves(chart: Chart) -> Iterator[str]:
    x = chart.x.column
    varying = [name for name in POINT[2:] if chart.points[name].nunique() > 1 and name != x]
    for panel in chart.panels:
        for series in panel.series:
            ends = series.points.iloc[[0, -1]].to_dict("records")
            values = " to ".join(f"{_value(row, chart)} at {x} = {value_text(row[x])}" for row in ends)
            yield f"{_name(series, varying)}: from {values}."


def _groups(chart: Chart) -> Iterator[str]:
    for _, points in chart.points.groupby("x", sort=True):
        means = points.groupby("learner", sort=False)["y"].mean()
        low, high = str(means.idxmin()), str(means.idxmax())
        name = value_text(points[chart.x.column].iloc[0])
        yield (
            f"{name}: fewest {chart.measure.unit} with {low}, {number(means[low])} on average; "
            f"most with {high}, {number(means[high])}."
        )


def _name(series: Series, varying: list[str]) -> str:
    words = [str(series.points[name].iloc[0]) for name in ("instance", "learner") if _one(series, name)]
    numbers = [f"{name} = {value_text(series.points[name].iloc[0])}" for name in varying if _one(series, name)]
    return ", ".join([*words, *numbers]) or series.label


def _one(series: Series, name: str) -> bool:
    return bool(series.points[name].nunique() == 1)


def _value(row: Mapping[Any, Any], chart: Chart) -> str:
    measure = chart.measure
    limit = "at least " if row["is_limit"] else "at most " if row["is_ceiling"] else ""
    return f"{limit}{measure.text(row['y'])} {measure.unit}"


def _wrong(row: Mapping[Any, Any], varying: list[str]) -> str:
    stopped = int(row["n"] - row["n_capped"])
    wrong = row["error_rate"] * stopped
    whole = abs(wrong - round(wrong)) < 1e-6  # a mean over instances with different numbers of trials is no count
    often = f"{round(wrong)} of {stopped}" if whole else percent(row["error_rate"], 1)
    numbers = [f"{name} = {value_text(row[name])}" for name in varying if name not in ("instance", "learner")]
    place = ", ".join([str(row[name]) for name in ("instance", "learner") if name in varying] + numbers)
    return f"{place or row['learner']} ({often})"
