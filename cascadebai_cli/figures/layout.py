"""The layout of a figure: sizes, axes, and the signs on points."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.ticker import (
    FixedLocator,
    Formatter,
    FuncFormatter,
    LogFormatterSciNotation,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)
from matplotlib.transforms import Affine2D

from cascadebai_cli.figures.labels import Chart, Panel
from cascadebai_cli.figures.style import COLUMN_WIDTH, TEXT_WIDTH, Look, Picture, arranged, label_steps, panel_letter
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.text import count, parameter

# --- Where panels, titles and the legend of a page go ---------------------------------------------------------------

_TITLE_SHARE = 0.86
"""Share of the width of a panel that its title may take."""
_LOWEST = 0.5
"""Share of the height of a panel, with title and labels, that its frame has at least."""
_SPARE = 0.1
"""Inches of the height of the panels that a legend may take."""
_HANDLE_WIDTH = 0.5
"""Inches that an entry of a legend takes beside its text."""


@dataclass(frozen=True)
class _Format:
    """Sizes of the figures of a kind, in inches.

    Attributes:
        columns: number of panels side by side at the width of the text.
        panel_height: height of one panel with its title and labels.
        rest: height of the legend of several panels, and of a single one.
        per_page: number of panels on a page.
        centred: whether a last panel alone in its row stands in the middle.
        legend_inside: whether the legend takes an empty place among the panels.
    """

    columns: int
    panel_height: float
    rest: tuple[float, float] = (0.2, 0.2)
    per_page: int = 6
    centred: bool = False
    legend_inside: bool = False


@dataclass(frozen=True)
class Canvas:
    """A page to be filled.

    Attributes:
        first: number of the first panel in the figure.
        rest: height for the legend below the panels, 0 if it stands among them.
        lettered: whether panels have letters.
        may_grow: whether the height may grow, as the plot does not fix it.
        centred: whether a last panel alone in its row stands in the middle.
    """

    width: float
    height: float
    rows: int
    columns: int
    panels: int
    first: int
    rest: float
    lettered: bool
    may_grow: bool
    centred: bool

    @classmethod
    def all(cls, panels: int, plot: Plot, own: Mapping[str, Any], form: _Format) -> "list[Canvas]":
        """Return the pages for a number of panels, given the settings of a style of the user."""
        plot = _sized(plot, own, panels)
        most = min(plot.per_page or form.per_page, panels)
        columns, width = _columns(most, plot, form)
        full = math.ceil(most / columns)
        starts = range(0, panels, most)
        return [_page(min(most, panels - first), first, columns, width, full, panels, plot, form) for first in starts]

    def title(self, figure: Figure, parts: Sequence[str], position: int | None = None) -> str:
        """Return the title of a panel, in as many lines as it needs; with its position it may begin with a letter."""
        letter = panel_letter(self.first + position) if self.lettered and position is not None else ""
        return _fitted_title(figure, letter, parts, _TITLE_SHARE * self.width / self.columns)

    def empty(self) -> tuple[Figure, list[Axes]]:
        """Return the figure of the page, and the axes of its panels."""
        figure = Picture(self.width, self.height)
        if not self.centred or self.columns == 1:
            places: list[Any] = [(self.rows, self.columns, i + 1) for i in range(self.panels)]
            return figure, [figure.add_subplot(*place) for place in places]
        cells = figure.add_gridspec(self.rows, 2 * self.columns)
        return figure, [figure.add_subplot(cells[_place(self, i)]) for i in range(self.panels)]

    def add_legend(
        self, figure: Figure, handles: Sequence[Any], labels: Sequence[str], columns: int, loc: Any, **options: Any
    ) -> None:
        """Put a legend below the panels, in as many columns as fit, at most `columns`; let the page grow if necessary.

        If a style of the user names a place, `loc`, the legend stands there in the first panel.
        """
        size: float = mpl.rcParams["legend.fontsize"]
        if loc is not None:
            figure.axes[0].legend(handles, labels, loc=loc)
            return
        texts = ["\n".join(_fitted(figure, label, size, self.width - _HANDLE_WIDTH)) for label in labels]
        for most in range(min(columns, len(texts)), 0, -1):
            # take as few columns as possible without a further row: 8 entries stand as 4 and 4, not as 7 and 1
            number = math.ceil(len(texts) / math.ceil(len(texts) / most))
            legend = figure.legend(handles, texts, loc="outside lower center", ncols=number, **options)
            if legend.get_window_extent().width <= figure.bbox.width or number == 1:
                break
            legend.remove()
        beyond = legend.get_window_extent().height / figure.dpi - self.rest - _SPARE
        if self.may_grow and beyond > 0:
            figure.set_figheight(self.height + beyond)

    def make_room(self, figure: Figure) -> None:
        """Let the page grow if long names leave its panels too low, and put a label beside all panels in the middle."""
        arranged(figure)
        least = _LOWEST * figure.dpi * (self.height - self.rest) / self.rows
        lacking = max(_lacking(axes, least) for axes in figure.axes if axes.axison) / figure.dpi
        if self.may_grow and lacking > 0:
            figure.set_figheight(figure.get_figheight() + self.rows * lacking)
            arranged(figure)
        edges = [edge for axes in figure.axes for edge in axes.get_position().intervaly]
        for label in figure.texts:
            label.set_y(sum(edges) / 2 / len(figure.axes))


def _sized(plot: Plot, own: Mapping[str, Any], panels: int) -> Plot:
    """Return the plot with the width of a figure that a style sets, and with its height if there is one panel."""
    if "figure.figsize" not in own:
        return plot
    width, height = own["figure.figsize"]
    return plot.model_copy(
        update={"width": plot.width or width, "height": plot.height or (height if panels == 1 else None)}
    )


def _page(
    number: int, first: int, columns: int, width: float, full: int, panels: int, plot: Plot, form: _Format
) -> Canvas:
    rows = math.ceil(number / columns)
    has_room = form.legend_inside and rows > 1 and number < rows * columns
    rest = 0.0 if has_room else form.rest[panels == 1]
    panel_height = (plot.height - rest) / full if plot.height else form.panel_height
    height = panel_height * rows + rest
    looks = {"lettered": panels > 1, "may_grow": plot.height is None, "centred": form.centred}
    return Canvas(width, height, rows, columns, number, first, rest, **looks)


def _columns(panels: int, plot: Plot, form: _Format) -> tuple[int, float]:
    """Return the number of panels side by side, and the width of the page."""
    if plot.width is None and plot.columns is None:
        columns = min(panels, form.columns)
        return columns, TEXT_WIDTH * columns / form.columns
    named = {"column": COLUMN_WIDTH, "text": TEXT_WIDTH, None: TEXT_WIDTH}
    width = named[plot.width] if plot.width is None or isinstance(plot.width, str) else plot.width
    columns = plot.columns or max(1, round(form.columns * width / TEXT_WIDTH))
    return min(panels, columns), width


def _place(page: Canvas, i: int) -> tuple[int, slice]:
    row, column = divmod(i, page.columns)
    in_row = min(page.columns, page.panels - row * page.columns)
    start = 2 * column + page.columns - in_row
    return row, slice(start, start + 2)


def _text_width(figure: Figure, text: str, size: float) -> float:
    """Return the width of a text in inches."""
    found = figure.text(0, 0, text, fontsize=size)
    width = found.get_window_extent().width / figure.dpi
    found.remove()
    return float(width)


def _fitted_title(figure: Figure, letter: str, parts: Sequence[str], width: float) -> str:
    """Return `(a) one, other`, broken to fit the width: between two parts, or inside a part that is too long."""
    size: float = mpl.rcParams["axes.titlesize"]
    lines = [letter]
    for part in parts:
        glue = " " if lines == [letter] else ", "
        for piece in _fitted(figure, part, size, width - _text_width(figure, f"{letter} ", size)):
            longer = f"{lines[-1]}{glue}{piece}" if lines[-1] else piece
            if lines == [letter] or _text_width(figure, longer, size) <= width:
                lines[-1] = longer
            else:
                lines = [*lines[:-1], lines[-1] + glue.rstrip(), piece]
            glue = " "
    return "\n".join(lines)


def _fitted(figure: Figure, text: str, size: float, width: float, *, whole: bool = False) -> list[str]:
    """Break a text into lines of at most `width` inches, but no mathematics, and no words that are to stay `whole`."""
    if "$" in text.replace(r"\$", "") or _text_width(figure, text, size) <= width:
        return [text]
    letters = len(text) * width / _text_width(figure, text, size)
    most = max(4, int(letters * 0.9))
    return textwrap.wrap(text, most, break_long_words=not whole, break_on_hyphens=not whole)


_MOST_LINES = 3
"""Largest number of lines of a name below an axis; a longer one stands upright."""


def fitted_names(figure: Figure, names: Sequence[str], size: float, width: float) -> tuple[list[str], dict[str, Any]]:
    """Return the labels of places on an axis, and how they are turned so that they neither overlap nor break words."""
    parts = [
        [line for part in name.split("\n") for line in _fitted(figure, part, size, width, whole=True)] for name in names
    ]
    widest = max(_text_width(figure, line, size) for lines in parts for line in lines)
    if widest <= width and max(map(len, parts)) <= _MOST_LINES:
        return ["\n".join(lines) for lines in parts], {}
    upright = [name.replace("\n", ", ") for name in names]
    return upright, {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}


# --- Scales, ticks and labels of axes -------------------------------------------------------------------------------

_LEAST_LABELS = 2
"""Number of powers of ten on a logarithmic axis; if there are fewer, steps between them get labels."""
_FAR, _NEAR = ((3,), (2, 5), (2, 3, 5)), ((2, 3, 4, 6, 8), tuple(range(2, 10)))
"""Leading digits of the steps that get labels beside the powers: those far apart are better."""
_BETWEEN_POWERS = [(digits, 3) for digits in _FAR] + [(digits, 2) for digits in (*_FAR, *_NEAR)]
"""Leading digits, and how many labels they must give to be taken, the best first."""
_LABEL_SHARE = 0.08
"""Smallest distance of two labels, as a share of a logarithmic axis."""
_NAME_SHARE = 0.95
"""Share of the distance between two names of an axis that a name may take."""
_BELOW_ZERO = 0.03
"""Room below 0 on an axis of error rates, as a share of the axis."""
_BESIDE = 0.4
"""Room before the first and after the last name of an axis, as a share of the distance between two names."""
_UNITS = dict.fromkeys(("steps", "median", "q90", "spread"), "steps")
"""Measure -> its unit, if it has one."""


def set_scales(axes: Axes, panel: Panel, chart: Chart, *, named: bool = True) -> None:
    """Scale and label both axes of a panel.

    Args:
        named: whether the vertical axis gets its name; a linear axis always does, as the name holds its unit.
    """
    points = chart.points if "y" in (chart.plot.share or ()) else panel.points
    _set_x(axes, chart, panel.points["x"])
    unit = _UNITS.get(chart.y.column, "")
    if chart.is_log("y", points["y"]):
        axes.set_yscale("log")
        if named:
            axes.set_ylabel(f"{chart.y.label} ({unit})" if unit else chart.y.label)
    else:
        _begin_at_zero(axes, chart)
        label_steps(axes, float(points["y"].max()), chart.y.label, unit)


def _begin_at_zero(axes: Axes, chart: Chart) -> None:
    """Cut the part of a linear axis below 0, but not through points; where values can be negative draw a line at 0."""
    if chart.measure.least < 0:
        axes.axhline(0, color="0.5", linewidth=0.6, zorder=1)
        return
    low, high = axes.get_ylim()
    axes.set_ylim(bottom=max(low, -_BELOW_ZERO * high if chart.y.column == "error_rate" else 0))


def _label_powers(axis: XAxis | YAxis, low: float, high: float) -> None:
    """Label the powers of ten of a logarithmic axis, and a few steps between them where there are few powers."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)

    def shown(digits: Sequence[int]) -> list[float]:
        return [digit * 10.0**power for power in powers for digit in digits if low <= digit * 10.0**power <= high]

    axis.set_minor_formatter(NullFormatter())
    if len(shown([1])) >= _LEAST_LABELS:
        return
    labelled = next((there for one, least in _BETWEEN_POWERS if len(there := shown((1, *one))) >= least), [])
    if labelled:
        text = FuncFormatter(lambda value, _: parameter(value)) if high <= 1 else _SCIENTIFIC
        axis.set_major_formatter(text)
        axis.set_minor_formatter(_only(labelled, text))
        return
    # the axis shows only a part of a power of ten, which is nearly linear
    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: parameter(value)))
    axis.set_minor_locator(NullLocator())


_SCIENTIFIC = LogFormatterSciNotation(minor_thresholds=(math.inf, math.inf))


def _only(labelled: Sequence[float], text: Formatter) -> FuncFormatter:
    return FuncFormatter(lambda value, at: text(value, at) if any(math.isclose(value, one) for one in labelled) else "")


def align(pages: Sequence[Figure], chart: Chart) -> None:
    """Give the panels of all pages the same ends of the axes that they share, and label logarithmic axes."""
    panels = [axes for page in pages for axes in page.axes if axes.axison]
    for name in chart.plot.share or ():
        ends = [end for axes in panels for end in (axes.get_xlim() if name == "x" else axes.get_ylim())]
        for axes in panels:
            axes.set(**{f"{name}lim": (min(ends), max(ends))})
    for axes in panels:
        for axis, ends_of in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            if axis.get_scale() == "log" and not isinstance(axis.get_major_locator(), FixedLocator):
                _label_powers(axis, *ends_of)


def _lacking(axes: Axes, least: float) -> float:
    """Return how many dots a frame is lower than it should be, or than the label beside it."""
    return max(least, axes.yaxis.label.get_window_extent().height) - axes.get_window_extent().height


def _set_x(axes: Axes, chart: Chart, values: "pd.Series[float]") -> None:
    axes.set_xlabel(chart.x.label)
    there = sorted(set(values))
    if chart.x.groups:
        _set_names(axes, chart.x.groups)
        axes.set_xlim(-_BESIDE, len(chart.x.groups) - 1 + _BESIDE)
    elif len(there) == 1:
        axes.set_xticks(there, [parameter(there[0])])
    elif chart.is_log("x", chart.points["x"]):
        axes.set_xscale("log")
        if chart.x.column == "budget":
            _set_budgets(axes, values)
        elif chart.x.is_whole and chart.x.column != "steps":
            axes.set_xticks(there, _spaced(there))
            axes.xaxis.set_minor_locator(NullLocator())
    elif chart.x.is_whole:
        axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))


def _set_names(axes: Axes, names: Sequence[str]) -> None:
    figure: Any = axes.figure
    size: float = mpl.rcParams["xtick.labelsize"]
    width = axes.get_position().width * figure.get_figwidth()
    labels, turned = fitted_names(figure, names, size, _NAME_SHARE * width / len(names))
    axes.set_xticks(range(len(names)), labels, **turned)


def _spaced(values: Sequence[float]) -> list[str]:
    """Return labels of values on a logarithmic axis, empty where they would be too close to the one before."""
    least = _LABEL_SHARE * math.log(values[-1] / values[0])
    labels, last = [], -math.inf
    for value in values:
        has_room = math.log(value) - last >= least
        labels.append(parameter(value) if has_room else "")
        last = math.log(value) if has_room else last
    return labels


def _set_budgets(axes: Axes, values: "pd.Series[float]") -> None:
    """Label every second budget, the last one included."""
    budgets = sorted(set(values))
    axes.set_xticks(budgets, [count(value) if i % 2 == 0 else "" for i, value in enumerate(budgets[::-1])][::-1])
    axes.xaxis.set_minor_locator(NullLocator())


# --- Signs on a point: its value is a limit, or its recommendations were wrong too often ----------------------------

_LEAST_OPEN = 3.2
"""Smallest size of a marker, in points, at which one can see that it is open."""
_CENTRED_ARROW = Path([(0, -1), (0, 1), (-0.6, 0.2), (0, 1), (0.6, 0.2)], [1, 2, 1, 2, 2])
"""Arrow for a legend."""
_UPSIDE_DOWN = Affine2D().scale(1, -1)
_ROOM = 0.12
"""Share of the height of a panel that stays free above and below its points, so that arrows stay inside."""
_INK = "black"


@dataclass(frozen=True, eq=False)
class Signs:
    """The signs on the points of a table, whose columns are those of `Series.points`."""

    points: pd.DataFrame

    ARROW: ClassVar = Path([(0, 0.25), (0, 1), (-0.22, 0.7), (0, 1), (0.22, 0.7)], [1, 2, 1, 2, 2])
    """Arrow that begins a bit above the point and goes up."""
    LENGTH: ClassVar = 7.0
    """Length of the arrow in points, from the marked point to the tip."""
    CROSS: ClassVar = "\N{MULTIPLICATION SIGN}"
    CEILING: ClassVar = "no error: upper end of the 95 % interval"
    LIMIT: ClassVar = "lower limit: trials reached the cap"
    WRONG: ClassVar = r"wrong more often than $\delta$"

    def draw(self, axes: Axes, look: Look, zorder: float) -> None:
        """Draw open markers at limits, their arrows, and a cross on each point that was wrong too often."""
        points = self.points
        limits = points[points["is_limit"] | points["is_ceiling"]]
        if len(limits):
            size = max(look.size, _LEAST_OPEN)
            sign: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "white", "markeredgewidth": 0.7}
            sign |= {"markersize": size, "markeredgecolor": look.color, "zorder": zorder + 0.01}
            axes.plot(limits["x"], limits["y"], look.marker, **sign)
        self.draw_arrows(axes, look.color, zorder)
        down = {"marker": _UPSIDE_DOWN.transform_path(self.ARROW)}
        self._plot(axes, "is_ceiling", zorder, {**_arrow(look.color), **down})
        self._plot(axes, "is_wrong", 6, _cross())

    def draw_arrows(self, axes: Axes, color: str = _INK, zorder: float = 5) -> None:
        """Draw an arrow up from each lower limit."""
        self._plot(axes, "is_limit", zorder, _arrow(color))

    def _plot(self, axes: Axes, which: str, zorder: float, sign: dict[str, Any]) -> None:
        there = self.points[self.points[which]]
        if len(there):
            if which != "is_wrong":
                axes.margins(y=_ROOM)
            axes.plot(there["x"], there["y"], **sign, zorder=zorder, clip_on=False)

    @property
    def handles(self) -> list[Line2D]:
        """Entries of the legend for the signs that the points have."""
        arrow = {**_arrow(_INK), "marker": _CENTRED_ARROW, "markersize": self.LENGTH}
        known = {
            "is_limit": {"label": self.LIMIT, **arrow},
            "is_ceiling": {"label": self.CEILING, **arrow, "marker": _UPSIDE_DOWN.transform_path(_CENTRED_ARROW)},
            "is_wrong": {"label": self.WRONG, **_cross()},
        }
        return [Line2D([], [], **known[which]) for which in known if self.points[which].any()]

    @property
    def error_lengths(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Lengths of the interval below and above each point; 0 for a point without interval and for a limit."""
        points = self.points
        below, above = points["y"] - points["low"], points["high"] - points["y"]
        known = ~(points["is_limit"] | points["is_ceiling"])
        return np.array([part.where(known, 0).fillna(0) for part in (below, above)], dtype=float)


def _arrow(color: str) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": Signs.ARROW,
        "markersize": 2 * Signs.LENGTH,
        "markeredgecolor": color,
        "markerfacecolor": "none",
        "markeredgewidth": 0.8,
    }


def _cross() -> dict[str, Any]:
    return {"linestyle": "none", "marker": "x", "markersize": 6, "markeredgecolor": _INK, "markeredgewidth": 1.0}
