"""Where panels, titles and the legend of a page go."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cascadebai_cli.figures.style import COLUMN_WIDTH, TEXT_WIDTH, new_figure, panel_letter
from cascadebai_cli.study.plot import Plot

TITLE_SHARE = 0.86
"""Share of the width of a panel that its title may take."""
SPARE = 0.1
"""Inches of the panels that a legend may take."""
HANDLE_WIDTH = 0.5
"""Inches of a legend beside the text of an entry."""


@dataclass(frozen=True)
class Format:
    """Sizes of the figures of a kind, in inches.

    Attributes:
        columns: panels side by side at the width of the text.
        panel_height: of one panel with its title and labels.
        rest: height of the legend of several panels, and of a single one.
        per_page: panels of a page.
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
class Page:
    """A page to be filled.

    Attributes:
        width, height: in inches.
        rows, columns: of panels.
        panels: number of panels.
        first: number of the first one in the figure.
        rest: what of the height is for the legend below, 0 if it stands among the panels.
        lettered: whether panels have letters.
        may_grow: whether the height was not asked for.
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

    def title(self, figure: Figure, position: int, parts: Sequence[str]) -> str:
        """Title of a panel, in as many lines as it needs."""
        letter = panel_letter(self.first + position) if self.lettered else ""
        return fitted_title(figure, letter, parts, TITLE_SHARE * self.width / self.columns)


def pages_of(panels: int, plot: Plot, form: Format) -> list[Page]:
    """The pages that so many panels take."""
    most = min(plot.per_page or form.per_page, panels)
    columns, width = _columns(most, plot, form)
    full = math.ceil(most / columns)
    starts = range(0, panels, most)
    return [_page(min(most, panels - first), first, columns, width, full, panels, plot, form) for first in starts]


def _page(
    number: int, first: int, columns: int, width: float, full: int, panels: int, plot: Plot, form: Format
) -> Page:
    rows = math.ceil(number / columns)
    has_room = form.legend_inside and rows > 1 and number < rows * columns
    rest = 0.0 if has_room else form.rest[panels == 1]
    panel_height = (plot.height - rest) / full if plot.height else form.panel_height
    return Page(
        width=width,
        height=panel_height * rows + rest,
        rows=rows,
        columns=columns,
        panels=number,
        first=first,
        rest=rest,
        lettered=panels > 1,
        may_grow=plot.height is None,
    )


def _columns(panels: int, plot: Plot, form: Format) -> tuple[int, float]:
    """Panels side by side, and the width of the page."""
    if plot.width is None and plot.columns is None:
        columns = min(panels, form.columns)
        return columns, TEXT_WIDTH * columns / form.columns
    width = inches(plot)
    columns = plot.columns or max(1, round(form.columns * width / TEXT_WIDTH))
    return min(panels, columns), width


def inches(plot: Plot) -> float:
    """Width of the page, that of the text by default."""
    named = {"column": COLUMN_WIDTH, "text": TEXT_WIDTH, None: TEXT_WIDTH}
    return named[plot.width] if plot.width is None or isinstance(plot.width, str) else plot.width


def empty_page(page: Page, form: Format) -> tuple[Figure, list[Axes]]:
    """The figure of a page, and the axes of its panels."""
    figure = new_figure(page.width, page.height)
    if not form.centred or page.columns == 1:
        places: list[Any] = [(page.rows, page.columns, i + 1) for i in range(page.panels)]
        return figure, [figure.add_subplot(*place) for place in places]
    cells = figure.add_gridspec(page.rows, 2 * page.columns)
    return figure, [figure.add_subplot(cells[_place(page, i)]) for i in range(page.panels)]


def _place(page: Page, i: int) -> tuple[int, slice]:
    row, column = divmod(i, page.columns)
    in_row = min(page.columns, page.panels - row * page.columns)
    start = 2 * column + page.columns - in_row
    return row, slice(start, start + 2)


def text_width(figure: Figure, text: str, size: float) -> float:
    """Inches that a text takes."""
    found = figure.text(0, 0, text, fontsize=size)
    width = found.get_window_extent().width / figure.dpi
    found.remove()
    return float(width)


def fitted_title(figure: Figure, letter: str, parts: Sequence[str], width: float) -> str:
    """`(a) one, other`, broken where the width ends: between two parts, or inside of one that is too long."""
    size: float = mpl.rcParams["axes.titlesize"]
    lines = [letter]
    for part in parts:
        glue = " " if lines == [letter] else ", "
        for piece in fitted(figure, part, size, width - text_width(figure, f"{letter} ", size)):
            longer = f"{lines[-1]}{glue}{piece}" if lines[-1] else piece
            if lines == [letter] or text_width(figure, longer, size) <= width:
                lines[-1] = longer
            else:
                lines = [*lines[:-1], lines[-1] + glue.rstrip(), piece]
            glue = " "
    return "\n".join(lines)


def fitted(figure: Figure, text: str, size: float, width: float) -> list[str]:
    """A text in lines of at most some inches; mathematics stays whole."""
    if "$" in text.replace(r"\$", "") or text_width(figure, text, size) <= width:
        return [text]
    letters = len(text) * width / text_width(figure, text, size)
    return textwrap.wrap(text, max(4, int(letters * 0.9)))


def add_legend(
    figure: Figure, page: Page, handles: Sequence[Any], labels: Sequence[str], columns: int, **options: Any
) -> None:
    """A legend below the panels, in as many columns as fit, at most `columns`; the page grows if it needs more room."""
    size: float = mpl.rcParams["legend.fontsize"]
    texts = ["\n".join(fitted(figure, label, size, page.width - HANDLE_WIDTH)) for label in labels]
    for most in range(min(columns, len(texts)), 0, -1):
        # as few columns as make no further row: 8 entries stand as 4 and 4, not as 7 and 1
        number = math.ceil(len(texts) / math.ceil(len(texts) / most))
        legend = figure.legend(handles, texts, loc="outside lower center", ncols=number, **options)
        if legend.get_window_extent().width <= figure.bbox.width or number == 1:
            break
        legend.remove()
    beyond = legend.get_window_extent().height / figure.dpi - page.rest - SPARE
    if page.may_grow and beyond > 0:
        figure.set_figheight(page.height + beyond)
