"""`cascadebai plot`: the figure of a study."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cascadebai_cli.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cascadebai_cli.analysis.results import Results

FORMATS = ("pdf", "png", "svg")
DEFAULT_FORMATS = ("pdf", "png")


def plot(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of a sweep.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE|DIR", help="A .pdf, .png or .svg file, or a directory; DIR if not given."),
    ] = None,
) -> None:
    """Draw the study's figure, ready for a paper, as PDF and PNG."""
    from cascadebai_cli.analysis.results import load_results
    from cascadebai_cli.cli.files import write_bytes
    from cascadebai_cli.cli.results import finish, warn
    from cascadebai_cli.figures.style import render

    results = load_results(directory)
    targets = _targets(out or directory, results.study)
    draw = _drawing(results)
    warn(results)
    figure = draw(results)
    for path in targets:
        content = render(figure, path.suffix[1:], title=results.study, rows_sha256=results.rows_sha256)
        write_bytes(path, content)
        typer.echo(path)
    finish(results)


def _targets(out: Path, study: str) -> list[Path]:
    if out.is_dir() or not out.suffix:
        return [out / f"{study}.{format}" for format in DEFAULT_FORMATS]
    if out.suffix[1:] not in FORMATS:
        raise ConfigError(f"--out: {out}: format {out.suffix} is not known; use .pdf, .png or .svg, or a directory")
    return [out]


def _drawing(results: "Results") -> "Callable[[Results], Figure]":
    if results.plot_kind not in KINDS:
        raise ConfigError(f"plot: kind: {results.plot_kind} is not known; use one of {', '.join(KINDS)}")
    return KINDS[results.plot_kind]


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


KINDS: "Mapping[str, Callable[[Results], Figure]]" = {"scaling": _scaling, "curves": _curves, "bars": _bars}
"""`plot: kind` of a config -> how to draw it; a new kind is a module in `figures/` and an entry here."""
