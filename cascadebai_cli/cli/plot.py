"""`cascadebai plot`: a figure of one or more studies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cascadebai_cli.cli.console import Terminal, end_with, say
from cascadebai_cli.cli.options import Average, ResultDirectories, configs, kinds, path_parser, some_path
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.study.kinds import KINDS
from cascadebai_cli.text.numbers import listed

_WIDTHS = ("column", "text")


def _word(metavar: str, help: str) -> Any:
    return typer.Option(metavar=metavar, help=help)


def plot(
    directories: ResultDirectories,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|DIR",
            parser=some_path,
            help="A .pdf, .png or .svg file, or a directory; the first DIR if not given.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=path_parser("--config"),
            autocompletion=configs,
            help="Draw what `plot` of this YAML file says.",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", autocompletion=kinds, help=f"{listed(tuple(KINDS), 'or')}."),
    ] = None,
    x: Annotated[
        str | None, _word("COLUMN", "K, L, delta, epsilon, gap, or an option of a learner, such as sigma.")
    ] = None,
    y: Annotated[
        str | None, _word("WHAT", "steps, observations, error_rate, right, steps_per_lower_bound or _sharp_bound.")
    ] = None,
    panels: Annotated[str | None, _word("COLUMNS", "What makes panels: names between commas, or none.")] = None,
    lines: Annotated[str | None, _word("COLUMNS", "What makes lines: the same.")] = None,
    instances: Annotated[list[str] | None, _word("NAME", "An instance to be drawn; repeatable.")] = None,
    learners: Annotated[list[str] | None, _word("NAME", "A learner to be drawn; repeatable.")] = None,
    where: Annotated[
        list[str] | None, _word("COLUMN=VALUE", "Cells to be drawn, as in delta=0.1 or K=2,4; repeatable.")
    ] = None,
    average: Average = None,
    log: Annotated[str | None, _word("AXES", "x, y, x,y or none; chosen by the values if not given.")] = None,
    width: Annotated[str | None, _word("WIDTH", "column (3.25 inches), text (6.75), or inches.")] = None,
    columns: Annotated[int | None, _word("N", "Panels side by side.")] = None,
    height: Annotated[float | None, _word("INCHES", "Height of a page.")] = None,
    per_page: Annotated[int | None, _word("N", "Panels of a page.")] = None,
    labels: Annotated[list[str] | None, _word("NAME=TEXT", "What stands in the figure for a name; repeatable.")] = None,
    order: Annotated[list[str] | None, _word("NAME", "An instance or learner that comes first; repeatable.")] = None,
    style: Annotated[str | None, _word("FILE", "Settings of matplotlib, as a .mplstyle file.")] = None,
    format: Annotated[str | None, _word("FORMATS", "pdf, png, svg, with commas between them.")] = None,
) -> None:
    """Draw a figure, ready for a paper: what the config of DIR says, and over it what these options say.

    The options are the keys of `plot` in a config. `--kind bounds` sets the measured steps between the bounds of the
    theorems, `--kind schematic` shows the instances behind the lower bound. What does not fit on a page goes to
    further pages of the PDF and to NAME-2.png, NAME-3.png, ...
    """
    from cascadebai_cli.workflows import plot as work

    given = {
        "kind": kind,
        "x": x,
        "y": y,
        "panels": _listed(panels),
        "lines": _listed(lines),
        "instances": instances,
        "learners": learners,
        "where": {key: [_scalar(one) for one in text.split(",")] for key, text in _pairs("--where", where)},
        "average": average,
        "log": _listed(log),
        "width": width if width is None or width in _WIDTHS else _scalar(width),
        "columns": columns,
        "height": height,
        "per_page": per_page,
        "labels": dict(_pairs("--labels", labels)),
        "order": order,
        "style": style,
        "format": _listed(format),
    }
    said = {key: value for key, value in given.items() if value not in (None, {})}
    done = work.plot(directories, out=out, config=config, words=said, watch=Terminal())
    for path in done.files:
        say(path)
    end_with(done.whole)


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [] if text == "none" else [part.strip() for part in text.split(",")]


def _pairs(option: str, texts: Sequence[str] | None) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in texts or ()]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise ConfigError(f"{option} {name}{equals}{value} is no NAME=VALUE; write for example {option} K=2")
    return [(name, value) for name, _, value in pairs]


def _scalar(text: str) -> str | int | float:
    """A value as YAML would read it: a number if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
