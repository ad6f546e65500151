"""The verb `plot`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from cascadebai_cli.analysis.cells import Cells, averaged, with_names_apart
from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.draw import draw
from cascadebai_cli.figures.labels import Labels, literal
from cascadebai_cli.figures.panels import chart_of, refuse_too_many, with_fits
from cascadebai_cli.figures.style import page_mark, read_style, render, warn_of_letters
from cascadebai_cli.running.watch import SILENT, Watch
from cascadebai_cli.store.columns import MANIFEST
from cascadebai_cli.store.files import write_bytes
from cascadebai_cli.study.document import Document, Override, load_yaml
from cascadebai_cli.study.fields import mistakes, show
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.text import listed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from cascadebai_cli.figures.labels import Chart


# --- Files of the pages of a figure: `figure.png`, `figure-2.png` ... -----------------------------------------------

_METADATA = 65_536
"""Number of bytes at the beginning of a file that hold its metadata."""


def _page_files(file: Path) -> Iterator[Path]:
    """Yield the files of the pages of a figure, endlessly."""
    yield file
    for number in count(2):
        yield _page_file(file, number)


def _remove_later_pages(file: Path, pages: int) -> list[Path]:
    """Remove further pages of an earlier figure of the same name that had more pages, and no other file.

    Returns:
        the files that were removed.
    """
    gone: list[Path] = []
    for number in count(pages + 1):
        later = _page_file(file, number)
        if not _is_page(later, number):
            return gone
        later.unlink()
        gone.append(later)
    return gone


def _page_file(file: Path, number: int) -> Path:
    return file.with_stem(f"{file.stem}-{number}")


def _is_page(path: Path, number: int) -> bool:
    """Return whether the metadata of a file say that it is this page of a figure of this program."""
    if not path.is_file() or path.is_symlink():
        return False
    with path.open("rb") as file:
        found = file.read(_METADATA)
    start = found.find(b"rows_sha256=")
    return start >= 0 and page_mark(number).encode() in found[start:]


# --- The words of a plot: from a config or a result directory; those of the command line replace them ---------------


def _plot_words(studies: Sequence[StudyResults], config: Path | None, given: Mapping[str, Any]) -> Plot:
    """Return what is to be drawn.

    Args:
        studies: the first one says what to draw of all, unless there is a config.
        config: a YAML file with `plot`.
        given: words of the command line; those of `where` and `labels` are added to the ones of the config, and
            another kind of figure leaves the axes of the config's own kind.

    Raises:
        ConfigError: if a word is not known; the message tells where it stands, and the nearest known word.
    """
    document = _document(studies[0], config)
    if isinstance(document.data["plot"], dict) and "kind" in given:
        said = Plot.without_axes(document.data["plot"], given["kind"])
        document = replace(document, data={**document.data, "plot": said})
    document = reduce(Document.with_override, _overrides(given), document)
    try:
        plot = Plot.model_validate(document.data["plot"])
    except ValidationError as error:
        at, text = mistakes(error, document.data["plot"])[0]
        raise ConfigError(document.message(("plot", *at), text)) from None
    together = with_names_apart(studies)
    instances = {entry.name: entry for results in together for entry in results.study.instances}
    learners = {entry.name: entry for results in together for entry in results.study.learners}
    try:
        plot.refuse_unknown_words(list(instances.values()), list(learners.values()))
    except PydanticCustomError as error:
        context = error.context or {}
        at, text = ("plot", *context["at"]), context["text"]
        typed = [path for path in document.options if path[:-1] == at and show(path[-1]) in text]
        raise ConfigError(document.message(typed[0] if typed else at, text)) from None
    return plot


def _document(results: StudyResults, config: Path | None) -> Document:
    if config is None:
        plot = results.study.plot.model_dump(mode="json")
        return Document(str(results.directory / MANIFEST), {"plot": plot}, {})
    document = load_yaml(config)
    if "plot" not in document.data:
        raise ConfigError(f"{config}: plot: missing; add lines such as plot: {{kind: curves}}")
    plot = document.data["plot"]
    return replace(document, data={"plot": {} if plot is None else plot})


def _overrides(given: Mapping[str, Any]) -> list[Override]:
    pairs = [
        (key, inner, value)
        for key, values in given.items()
        for inner, value in (values.items() if isinstance(values, dict) else [(None, values)])
    ]
    return [
        Override(f"--{key.replace('_', '-')}", ("plot", key, *([inner] if inner is not None else [])), value)
        for key, inner, value in pairs
    ]


# --- The pages of a figure, from the cells of some result directories and the words of a plot -----------------------


@dataclass(frozen=True)
class Drawing:
    """The pages of a figure.

    Attributes:
        plot: what was asked for.
        chart: what they show; none if they show no cells.
        own: settings of the user's style.
    """

    plot: Plot
    pages: "Sequence[Figure]"
    chart: "Chart | None"
    own: Mapping[str, Any]

    @property
    def caption(self) -> str:
        """What the crosses on points mean, as a sentence without its full stop; empty if no point has one."""
        return self.chart.wrong if self.chart else ""

    @property
    def title(self) -> str:
        """What the figure shows, and its caption."""
        title = self.chart.title if self.chart else self.plot.figure.title
        return ". ".join(filter(None, [title, self.caption[:1].upper() + self.caption[1:]]))

    @property
    def alternative(self) -> str:
        """What the figure shows, in a few sentences, for readers who do not see it."""
        return self.chart.alternative if self.chart else f"{self.plot.figure.title}. {self.plot.figure.words}"

    def warn_of_letters(self, name: str, watch: Watch) -> None:
        """Warn of letters that the fonts do not have; `name` is that of the figure."""
        warn_of_letters(self.pages, name, watch.warn)

    def files(self, format: str, studies: Sequence[StudyResults]) -> list[bytes]:
        """Return the contents of the files of the figure: one for each page, or one PDF for all."""
        hashes = ",".join(results.rows_sha256 for results in studies)
        title = ", ".join(dict.fromkeys(results.name for results in studies))
        return render(self.pages, format, title=title, rows_sha256=hashes, own=self.own)


def drawing(studies: Sequence[StudyResults], plot: Plot) -> Drawing:
    """Return the figure of some studies.

    Raises:
        ConfigError: as for `chart`, or if the file of the style is not usable.
    """
    if not plot.figure.data:
        return Drawing(plot, draw(plot.kind, None, {}), None, {})
    own = read_style(plot.style)
    shown = chart(studies, plot)
    return Drawing(plot, draw(plot.kind, shown, own), shown, own)


def chart(studies: Sequence[StudyResults], plot: Plot) -> "Chart":
    """Return what a figure shows, as data.

    Raises:
        ConfigError: if the words of the plot do not make a figure of these studies.
    """
    together = tuple(averaged(results, plot.average) for results in with_names_apart(studies))
    among = Cells.of(together, plot.named)
    found = among.chosen(plot)
    refuse_too_many(found.table, plot)
    asked, chosen, cells = found.table["learner"], found.results, found.measured(plot)
    instances = {name: entry for results in chosen for name, entry in results.instances.items()}
    drawn = {name: entry for name, entry in instances.items() if name in set(cells["instance"])}
    caps = {results.study.max_steps for results in chosen}
    of_paper = {name for results in chosen if results.study.claims for name in results.instances}
    labels = Labels(drawn, {**plot.labels, **_main_said(together, plot)}, of_paper)
    made = chart_of(cells, plot, labels, caps.pop() if len(caps) == 1 else None, among.table)
    gone = [name for name in dict.fromkeys(asked) if name not in {*cells["learner"]}]
    if gone and plot.figure.beside == "bounds":
        shown = listed([*dict.fromkeys(cells["learner"])])
        remark = f"{plot.kind} shows {shown}, of which the upper bound is proved, and leaves out {listed(gone)}"
        made = replace(made, remark="; ".join(filter(None, [made.remark, remark])))
    if plot.figure.beside != "fit":
        return made
    return with_fits(made, dict(_fits(chosen, made.x.column)))


def _main_said(studies: Sequence[StudyResults], plot: Plot) -> Mapping[str, str]:
    """Return the label of differences, which names the one learner to which they are, if they are drawn without one."""
    if plot.y != "difference" or plot.y in plot.labels:
        return {}
    main = {plot.labels.get(results.main_learner, literal(results.main_learner)) for results in studies}
    return {"difference": f"steps saved against {main.pop()}"} if len(main) == 1 else {}


def _fits(studies: Sequence[StudyResults], x: str) -> Iterator[tuple[frozenset[tuple[str, str]], "pd.DataFrame"]]:
    """Yield for each fitted curve over an axis directory and id of its cells, and the fit on a fine grid."""
    for results in studies:
        for curve in results.curves():
            if curve.models and curve.x == x:
                chosen = {"model": curve.best_named.model} if len(curve.models) > 1 else {}
                cells = frozenset((str(results.directory), cell_id) for cell_id in curve.points["cell_id"])
                yield cells, curve.drawn.assign(**chosen)


# --- Drawing a figure of one or more result directories -------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """The files of a figure or the page of a report, and whether no trial of its studies is missing."""

    files: tuple[Path, ...]
    whole: bool


def plot(
    directories: Sequence[Path],
    *,
    out: Path | None = None,
    config: Path | None = None,
    words: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
) -> Written:
    """Draw a figure.

    Args:
        directories: directories of sweeps; all are drawn into the same panels.
        out: a file whose ending is one of `Plot.FORMATS`, or a directory for one file of each format; the first of
            `directories` by default.
        config: a YAML file whose `plot` says what to draw; by default the `plot` of the first directory does.
        words: keys of `study.plot.Plot` that replace those of `plot`.

    Raises:
        ConfigError: if a directory is not that of a sweep, or the words do not make a figure of it.
        CascadeError: if a file cannot be written.
    """
    given = dict(words or {})
    studies = [load_results(directory) for directory in _distinct(directories)]
    asked = _plot_words(studies, config, given)
    files = _files(out or directories[0], _name(studies, config, given), asked.format, given)
    drawn = drawing(studies, asked)
    _tell(drawn, studies, watch)
    written: list[Path] = []
    for file in files:
        pages = dict(zip(_page_files(file), drawn.files(file.suffix[1:], studies), strict=False))
        for path, content in pages.items():
            write_bytes(path, content, through=out is not None)
        if gone := _remove_later_pages(file, len(pages)):
            watch.remark(f"pages of an earlier figure are removed: {', '.join(map(str, gone))}")
        written += pages
    return Written(tuple(written), not any(results.missing for results in studies))


def figure(studies: Sequence[StudyResults], words: Mapping[str, Any], watch: Watch = SILENT) -> "Figure":
    """Return a figure on one page, as an object of matplotlib.

    Args:
        words: keys of `study.plot.Plot` that replace those of the first study.

    Raises:
        ConfigError: if the words do not make a figure of the studies, or it needs several pages.
    """
    asked = _plot_words(studies, None, {"per_page": Plot.MOST_ON_A_PAGE, **words})
    drawn = drawing(studies, asked)
    if len(drawn.pages) > 1:
        raise ConfigError(f"per_page: the figure has {len(drawn.pages)} pages; choose fewer panels with where")
    _tell(drawn, studies, watch)
    return drawn.pages[0]


def _tell(drawn: Drawing, studies: Sequence[StudyResults], watch: Watch) -> None:
    """Tell the user what to know about a figure: gaps of its cells, missing letters, a sentence for the caption."""
    for results in studies if drawn.chart else ():
        results.tell_gaps(watch.warn, list(drawn.chart.points["cell_id"]) if drawn.chart else None)
    if drawn.chart and drawn.chart.remark:
        watch.remark(drawn.chart.remark)
    if drawn.chart and drawn.chart.left_out:
        watch.warn(f"warning: {drawn.chart.left_out}")
    drawn.warn_of_letters(", ".join(results.name for results in studies), watch)
    if drawn.caption:
        watch.warn(f"for the caption: {drawn.caption}")


def _distinct(directories: Sequence[Path]) -> Sequence[Path]:
    for i, directory in enumerate(directories):
        if directory in directories[:i]:
            raise ConfigError(f"{directory} is given twice; leave one out")
    return directories


def _name(studies: Sequence[StudyResults], config: Path | None, words: Mapping[str, Any]) -> str:
    """Return the name of the files, from the config, or from the studies and the kind that was asked for."""
    if config:
        return config.stem
    names = list(dict.fromkeys(results.name for results in studies))
    return "_".join([*names, *([words["kind"]] if "kind" in words else [])])


def _files(out: Path, name: str, formats: Sequence[str], words: Mapping[str, Any]) -> tuple[Path, ...]:
    if out.is_dir() or not out.suffix:
        return tuple(out / f"{name}.{format}" for format in dict.fromkeys(formats))
    if out.suffix[1:] not in Plot.FORMATS:
        raise ConfigError(f"--out: {out}: format {out.suffix} is not known; use .pdf, .png or .svg, or a directory")
    if "format" in words and out.suffix[1:] not in words["format"]:
        raise ConfigError(f"--format: {out} ends in {out.suffix}; leave --format out, or give a directory")
    return (out,)
