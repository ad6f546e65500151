"""Draw the figure of a study."""

from dataclasses import dataclass
from pathlib import Path

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.style import render
from cascadebai_cli.store.directory import load_results
from cascadebai_cli.workflows.drawings import drawing
from cascadebai_cli.workflows.outputs import FORMATS, warn_of_letters, write_bytes
from cascadebai_cli.workflows.results import is_whole, warn_of_gaps
from cascadebai_cli.workflows.watch import SILENT, Watch

DEFAULT_FORMATS = ("pdf", "png")


@dataclass(frozen=True)
class Plotted:
    """The files of a figure, and whether no trial of its study is missing."""

    files: tuple[Path, ...]
    whole: bool


def plot(directory: Path, *, out: Path | None = None, kind: str | None = None, watch: Watch = SILENT) -> Plotted:
    """Draw the figure of a result directory.

    Args:
        directory: that of a sweep.
        out: a file whose ending is one of `FORMATS`, or a directory for a PDF and a PNG; `directory` by default.
        kind: a key of `KINDS`; that of the config by default.
        watch: takes the remarks.

    Raises:
        ConfigError: if the directory is not that of a sweep, or the kind or the format is not known.
        CascadeError: if a file cannot be written.
    """
    results = load_results(directory)
    draw = drawing(results, kind)
    files = _files(out or directory, f"{results.name}_{kind}" if kind else results.name)
    warn_of_gaps(results, watch)
    figure = draw(results)
    warn_of_letters(figure, results.name, watch)
    for path in files:
        content = render(figure, path.suffix[1:], title=results.name, rows_sha256=results.rows_sha256)
        write_bytes(path, content, through=out is not None)
    return Plotted(files, is_whole(results))


def _files(out: Path, name: str) -> tuple[Path, ...]:
    if out.is_dir() or not out.suffix:
        return tuple(out / f"{name}.{format}" for format in DEFAULT_FORMATS)
    if out.suffix[1:] not in FORMATS:
        raise ConfigError(f"--out: {out}: format {out.suffix} is not known; use .pdf, .png or .svg, or a directory")
    return (out,)
