"""A chart as pages: each kind of figure has its way of drawing one."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from cascadebai_cli.figures.bars import draw_bars, form_of_bars
from cascadebai_cli.figures.chart import Chart, Panel
from cascadebai_cli.figures.fonts import no_warnings_of_glyphs
from cascadebai_cli.figures.layout import Format, Page, pages_of
from cascadebai_cli.figures.lines import draw_lines, form_of_lines
from cascadebai_cli.figures.style import NOTHING, style_of
from cascadebai_cli.study.plot import Kind


class Drawer(NamedTuple):
    """How a kind of figure is drawn.

    Attributes:
        form: sizes of a figure.
        page: the panels of a page -> the page.
    """

    form: Callable[[Chart], Format]
    page: Callable[[Chart, Page, Sequence[Panel]], Figure]


_LINES = Drawer(form_of_lines, draw_lines)
DRAWERS: Mapping[Kind, Drawer] = MappingProxyType(
    {"scaling": _LINES, "curves": _LINES, "error": _LINES, "bounds": _LINES, "bars": Drawer(form_of_bars, draw_bars)}
)
"""Those of the kinds of `kinds.KINDS`."""


def draw(chart: Chart, own: Mapping[str, Any] = NOTHING) -> list[Figure]:
    """The pages of a figure, one or more.

    Args:
        chart: what it shows.
        own: settings of matplotlib that go over the shared style.
    """
    drawer = DRAWERS[chart.plot.kind]
    pages = pages_of(len(chart.panels), chart.plot, drawer.form(chart))
    with style_of(own), no_warnings_of_glyphs():
        return [drawer.page(chart, page, chart.panels[page.first : page.first + page.panels]) for page in pages]
