"""What a figure is made from: the cells of some result directories, and the words of a plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cascadebai_cli.analysis.averages import averaged
from cascadebai_cli.analysis.fits import fitted_curves
from cascadebai_cli.analysis.together import told_apart
from cascadebai_cli.analysis.wide import chosen_cells, chosen_results, wide_table, with_bounds, with_sharp_bounds
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.draw import draw
from cascadebai_cli.figures.kinds import KINDS
from cascadebai_cli.figures.labels import Labels
from cascadebai_cli.figures.own_style import read_style
from cascadebai_cli.figures.panels import chart_of, refuse_too_many, with_fits
from cascadebai_cli.figures.schematic import draw_schematic
from cascadebai_cli.figures.style import render_pages
from cascadebai_cli.figures.words import wrong_in_words
from cascadebai_cli.store.directory import Results
from cascadebai_cli.study.plot import Plot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from cascadebai_cli.figures.chart import Chart


@dataclass(frozen=True)
class Drawing:
    """The pages of a figure.

    Attributes:
        pages: one or more.
        chart: what they show; none of a schematic.
        own: settings of a user that went into them.
    """

    pages: "Sequence[Figure]"
    chart: "Chart | None"
    own: Mapping[str, Any]

    @property
    def caption(self) -> str:
        """Which points have a cross, as a sentence without its full stop; empty if none has."""
        return wrong_in_words(self.chart) if self.chart else ""

    def files(self, format: str, studies: Sequence[Results]) -> list[bytes]:
        """The figure as files, one a page but for a PDF."""
        hashes = ",".join(results.rows_sha256 for results in studies)
        title = ", ".join(dict.fromkeys(results.name for results in studies))
        return render_pages(self.pages, format, title=title, rows_sha256=hashes, own=self.own)


def drawing(studies: Sequence[Results], plot: Plot) -> Drawing:
    """A figure of some studies.

    Raises:
        ConfigError: as for `chart`, or if the file of the style is not usable.
    """
    if plot.kind == "schematic":
        return Drawing([draw_schematic()], None, {})
    own = read_style(Path(plot.style)) if plot.style else {}
    shown = chart(studies, plot)
    return Drawing(draw(shown, own), shown, own)


def chart(studies: Sequence[Results], plot: Plot) -> "Chart":
    """What a figure shows, as data.

    Args:
        studies: one or more.
        plot: what to draw of them.

    Raises:
        ConfigError: if the words of the plot do not make a figure of these studies.
    """
    import pandas as pd

    together = tuple(averaged(results, plot.average) for results in told_apart(studies))
    cells = chosen_cells(wide_table(together), plot)
    refuse_too_many(cells, plot)
    chosen = chosen_results(together, cells)
    if KINDS[plot.kind].beside == "bounds" or plot.y == "steps_per_lower_bound":
        cells = _bounded(cells, together, plot)
    elif plot.y == "steps_per_sharp_bound":
        cells = with_sharp_bounds(cells, together)
    instances = {name: entry for results in chosen for name, entry in results.instances.items()}
    shown = {name: entry for name, entry in instances.items() if name in set(cells["instance"])}
    caps = {results.study.max_steps for results in chosen}
    found = chart_of(cells, plot, Labels(shown, plot.labels), caps.pop() if len(caps) == 1 else None)
    if KINDS[plot.kind].beside != "fit":
        return found
    return with_fits(found, pd.concat([fitted_curves(results) for results in chosen]))


def _bounded(cells: "pd.DataFrame", studies: Sequence[Results], plot: Plot) -> "pd.DataFrame":
    table = with_bounds(cells, studies)
    if KINDS[plot.kind].beside != "bounds":
        return table
    bounded = table[table["upper"].notna() & table["learner"].isin([results.main_learner for results in studies])]
    if bounded.empty:
        raise ConfigError(
            f"--kind: {plot.kind} needs CascadeBAI on a two_level instance, and {studies[0].directory} has none; "
            "`cascadebai bounds CONFIG` prints the bounds of any instance"
        )
    return bounded
