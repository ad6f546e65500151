"""A chart as pages."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from cascadebai_cli.figures.bars import draw_bars, form_of
from cascadebai_cli.figures.chart import Chart
from cascadebai_cli.figures.fonts import no_warnings_of_glyphs
from cascadebai_cli.figures.layout import pages_of
from cascadebai_cli.figures.lines import FORMATS, draw_lines
from cascadebai_cli.figures.style import NOTHING, style_of


def draw(chart: Chart, own: Mapping[str, Any] = NOTHING) -> list[Figure]:
    """The pages of a figure, one or more.

    Args:
        chart: what it shows.
        own: settings of matplotlib that go over the shared style.
    """
    is_bars = chart.plot.kind == "bars"
    form = form_of(len(chart.panels)) if is_bars else FORMATS[chart.plot.kind]
    drawer = draw_bars if is_bars else draw_lines
    pages = pages_of(len(chart.panels), chart.plot, form)
    with style_of(own), no_warnings_of_glyphs():
        return [drawer(chart, page, chart.panels[page.first : page.first + page.panels]) for page in pages]
