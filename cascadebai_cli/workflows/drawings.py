"""The kinds of figures: what each is made from."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from cascadebai_cli.analysis.bounds import bounds_of_results
from cascadebai_cli.analysis.fits import fitted_curves
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.bars import draw_bars
from cascadebai_cli.figures.bounds import draw_bounds
from cascadebai_cli.figures.curves import draw_curves
from cascadebai_cli.figures.scaling import draw_scaling
from cascadebai_cli.figures.schematic import draw_schematic
from cascadebai_cli.store.directory import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Drawing = Callable[[Results], "Figure"]


def drawing(results: Results, kind: str | None = None) -> Drawing:
    """How to draw a kind of figure, that of the config by default.

    Raises:
        ConfigError: if there is no such kind.
    """
    asked = kind or results.plot_kind
    if asked not in KINDS:
        raise ConfigError(f"--kind: {asked} is not known; use one of {', '.join(KINDS)}")
    return KINDS[asked]


def _scaling(results: Results) -> "Figure":
    return draw_scaling(results.summary, fitted_curves(results), results.instances)


def _curves(results: Results) -> "Figure":
    return draw_curves(results.summary, results.instances)


def _bars(results: Results) -> "Figure":
    return draw_bars(results.summary, results.instances, results.learners, results.study.max_steps)


def _bounds(results: Results) -> "Figure":
    table = bounds_of_results(results)
    if table.empty or table["upper"].isna().all():
        raise ConfigError(
            f"--kind: bounds needs CascadeBAI on a two_level instance, and {results.directory} has none; "
            "`cascadebai bounds CONFIG` prints the bounds of any instance"
        )
    return draw_bounds(table[table["learner"] == results.main_learner], results.instances)


def _schematic(results: Results) -> "Figure":
    return draw_schematic()


KINDS: Mapping[str, Drawing] = MappingProxyType(
    {"scaling": _scaling, "curves": _curves, "bars": _bars, "bounds": _bounds, "schematic": _schematic}
)
"""`plot: kind` of a config or `--kind` -> how to draw it; a new kind is a module in `figures/` and an entry here."""
