"""`cascadebai plot`: the figure of a study."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cascadebai_cli.cli.options import ResultDirectory, some_path
from cascadebai_cli.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cascadebai_cli.store.directory import Results

FORMATS = ("pdf", "png", "svg")
DEFAULT_FORMATS = ("pdf", "png")


def plot(
    directory: ResultDirectory,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|DIR",
            parser=some_path,
            help="A .pdf, .png or .svg file, or a directory; DIR if not given.",
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="scaling, curves, bars, bounds or schematic; else as in CONFIG.")
    ] = None,
) -> None:
    """Draw the study's figure, ready for a paper, as PDF and PNG.

    `--kind bounds` sets the measured steps between the bounds of the theorems, `--kind schematic` shows the instances
    behind the lower bound; both are named after the study and the kind.
    """
    from cascadebai_cli.cli.files import write_bytes
    from cascadebai_cli.cli.results import finish, warn
    from cascadebai_cli.figures.style import render
    from cascadebai_cli.store.directory import load_results

    results = load_results(directory)
    draw = drawing(results, kind)
    targets = _targets(out or directory, f"{results.study}_{kind}" if kind else results.study)
    warn(results)
    figure = draw(results)
    for path in targets:
        content = render(figure, path.suffix[1:], title=results.study, rows_sha256=results.rows_sha256)
        write_bytes(path, content)
        typer.echo(path)
    finish(results)


def _targets(out: Path, name: str) -> list[Path]:
    if out.is_dir() or not out.suffix:
        return [out / f"{name}.{format}" for format in DEFAULT_FORMATS]
    if out.suffix[1:] not in FORMATS:
        raise ConfigError(f"--out: {out}: format {out.suffix} is not known; use .pdf, .png or .svg, or a directory")
    return [out]


def drawing(results: "Results", kind: str | None = None) -> "Callable[[Results], Figure]":
    """How to draw a kind of figure, that of the config by default.

    Raises:
        ConfigError: if there is no such kind.
    """
    asked = kind or results.plot_kind
    if asked not in KINDS:
        place = "plot: kind" if asked == results.plot_kind else "--kind"
        raise ConfigError(f"{place}: {asked} is not known; use one of {', '.join(KINDS)}")
    return KINDS[asked]


def _scaling(results: "Results") -> "Figure":
    from cascadebai_cli.analysis.fits import fitted_curves
    from cascadebai_cli.figures.scaling import draw_scaling

    return draw_scaling(results.summary, fitted_curves(results), results.instances)


def _curves(results: "Results") -> "Figure":
    from cascadebai_cli.figures.curves import draw_curves

    return draw_curves(results.summary, results.instances)


def _bars(results: "Results") -> "Figure":
    from cascadebai_cli.figures.bars import draw_bars

    return draw_bars(results.summary, results.instances, results.learners, results.config.get("max_steps"))


def _bounds(results: "Results") -> "Figure":
    from cascadebai_cli.analysis.bounds import bounds_of_results
    from cascadebai_cli.figures.bounds import draw_bounds

    table = bounds_of_results(results)
    if table.empty or table["upper"].isna().all():
        raise ConfigError(
            f"--kind: bounds needs CascadeBAI on a two_level instance, and {results.directory} has none; "
            "`cascadebai bounds CONFIG` prints the bounds of any instance"
        )
    return draw_bounds(table[table["learner"] == results.main_learner], results.instances)


def _schematic(results: "Results") -> "Figure":
    from cascadebai_cli.figures.schematic import draw_schematic

    return draw_schematic()


KINDS: "Mapping[str, Callable[[Results], Figure]]" = {
    "scaling": _scaling,
    "curves": _curves,
    "bars": _bars,
    "bounds": _bounds,
    "schematic": _schematic,
}
"""`plot: kind` of a config or `--kind` -> how to draw it; a new kind is a module in `figures/` and an entry here."""
