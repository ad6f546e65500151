"""Draw a figure of one or more result directories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.fonts import warn_of_letters
from cascadebai_cli.store.directory import Results, load_results
from cascadebai_cli.study.plot import FORMATS, MOST_ON_A_PAGE
from cascadebai_cli.workflows.drawings import drawing
from cascadebai_cli.workflows.outputs import write_bytes
from cascadebai_cli.workflows.pages import page_files, remove_later_pages
from cascadebai_cli.workflows.results import is_whole, warn_of_gaps
from cascadebai_cli.workflows.watch import SILENT, Watch
from cascadebai_cli.workflows.words import plot_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plotted:
    """The files of a figure, and whether no trial of its studies is missing."""

    files: tuple[Path, ...]
    whole: bool


def plot(
    directories: Sequence[Path],
    *,
    out: Path | None = None,
    config: Path | None = None,
    words: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
) -> Plotted:
    """Draw a figure.

    Args:
        directories: of sweeps; all are drawn into the same panels.
        out: a file whose ending is one of `FORMATS`, or a directory for a file a format; the first directory by
            default.
        config: a YAML file whose `plot` says what to draw; by default that of the first directory does.
        words: keys of `study.plot.Plot` that take the place of its own.
        watch: takes the remarks.

    Raises:
        ConfigError: if a directory is not that of a sweep, or the words do not make a figure of it.
        CascadeError: if a file cannot be written.
    """
    given = dict(words or {})
    studies = [load_results(directory) for directory in _distinct(directories)]
    asked = plot_words(studies, config, given)
    files = _files(out or directories[0], _name(studies, config, given), asked.format, given)
    for results in studies:
        warn_of_gaps(results, watch)
    drawn = drawing(studies, asked)
    warn_of_letters(drawn.pages, ", ".join(results.name for results in studies), watch.warn)
    if drawn.caption:
        watch.warn(f"for the caption: {drawn.caption}")
    written: list[Path] = []
    for file in files:
        pages = dict(zip(page_files(file), drawn.files(file.suffix[1:], studies), strict=False))
        for path, content in pages.items():
            write_bytes(path, content, through=out is not None)
        if gone := remove_later_pages(file, len(pages)):
            watch.remark(f"pages of an earlier figure are removed: {', '.join(map(str, gone))}")
        written += pages
    return Plotted(tuple(written), all(map(is_whole, studies)))


def figure(studies: Sequence[Results], words: Mapping[str, Any], watch: Watch = SILENT) -> "Figure":
    """A figure on one page, as an object of matplotlib.

    Args:
        studies: all are drawn into the same panels.
        words: keys of `study.plot.Plot` that take the place of those of the first study.
        watch: takes the remarks.

    Raises:
        ConfigError: if the words do not make a figure of the studies, or it needs several pages.
    """
    asked = plot_words(studies, None, {"per_page": MOST_ON_A_PAGE, **words})
    drawn = drawing(studies, asked)
    if len(drawn.pages) > 1:
        raise ConfigError(f"per_page: the figure has {len(drawn.pages)} pages; choose fewer panels with where")
    for results in studies:
        warn_of_gaps(results, watch)
    warn_of_letters(drawn.pages, ", ".join(results.name for results in studies), watch.warn)
    if drawn.caption:
        watch.warn(f"for the caption: {drawn.caption}")
    return drawn.pages[0]


def _distinct(directories: Sequence[Path]) -> Sequence[Path]:
    for i, directory in enumerate(directories):
        if directory in directories[:i]:
            raise ConfigError(f"{directory} is given twice; leave one out")
    return directories


def _name(studies: Sequence[Results], config: Path | None, words: Mapping[str, Any]) -> str:
    """What the files are called: after the config, or after the studies and the kind that was asked for."""
    if config:
        return config.stem
    names = list(dict.fromkeys(results.name for results in studies))
    return "_".join([*names, *([words["kind"]] if "kind" in words else [])])


def _files(out: Path, name: str, formats: Sequence[str], words: Mapping[str, Any]) -> tuple[Path, ...]:
    if out.is_dir() or not out.suffix:
        return tuple(out / f"{name}.{format}" for format in dict.fromkeys(formats))
    if out.suffix[1:] not in FORMATS:
        raise ConfigError(f"--out: {out}: format {out.suffix} is not known; use .pdf, .png or .svg, or a directory")
    if "format" in words and out.suffix[1:] not in words["format"]:
        raise ConfigError(f"--format: {out} ends in {out.suffix}; leave --format out, or give a directory")
    return (out,)
