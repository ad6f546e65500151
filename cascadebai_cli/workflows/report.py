"""The verb `report`, which writes one page about some result directories."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from cascadebai_cli.analysis.cells import averaged, cells_printed, cells_with
from cascadebai_cli.analysis.claims import claims_of_config
from cascadebai_cli.analysis.provenance import provenance, settings, weights_in_words
from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.analysis.tables import figure_data, tables_of
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.labels import alternative, title_of
from cascadebai_cli.figures.style import warn_of_letters
from cascadebai_cli.report.page import PagePicture, PageTable, Section, render_page
from cascadebai_cli.running.watch import SILENT, Watch
from cascadebai_cli.store.columns import (
    BOUND_FITS_CSV,
    BUDGETS_CSV,
    FITS_CSV,
    ORDERS_CSV,
    RATIOS_CSV,
    SUMMARY_CSV,
    WEIGHTED_FITS_CSV,
    names_of,
    printed,
)
from cascadebai_cli.store.files import table_bytes, write_bytes
from cascadebai_cli.store.manifest import refuse_to_replace
from cascadebai_cli.store.trials import times_of
from cascadebai_cli.study.axes import AXES
from cascadebai_cli.study.plot import Kind, Plot
from cascadebai_cli.text import Head, Table, count
from cascadebai_cli.version import __version__
from cascadebai_cli.workflows.plot import Drawing, drawing
from cascadebai_cli.workflows.sweep import once
from cascadebai_cli.workflows.tables import conditions, warn_of_gaps

if TYPE_CHECKING:
    from cascadebai_cli.figures.labels import Chart

_CAPTIONS = {
    FITS_CSV: "Fit of the model that the config names to the mean steps",
    WEIGHTED_FITS_CSV: "The same, weighted by the errors of the trials; a lack of fit near 1 is chance, the exponent "
    "is the b of c1 x^b + c2",
    BOUND_FITS_CSV: "The same model fitted to the upper bound",
    BUDGETS_CSV: "Budgets from which on the error rate is below 10, 5 and 1 %; inf: beyond the largest budget of the "
    "study, 0: below the smallest",
    ORDERS_CSV: "In how many settings each learner does better, as well or worse than the one that it is compared "
    "with; settings that the cap leaves open are not counted",
}
"""Tables of `fit` that the page shows, with their captions."""
_LEFT_OUT = ("study", "rows_sha256", "best_model", "loglog_low", "loglog_high", "published_r2")

_MEANS = "Mean steps and error rates, each with its 95 % interval"
_RATIOS = "Mean steps of each learner divided by those of another"
_MOST_MEANS = 200
"""Most rows of the tables of means, of ratios and of weights."""
_MOST_CELLS = 5_000
_CLAIMED = (
    "What the paper claims (Zhong, Cheung and Tan, Best Arm Identification for Cascading Bandits in the Fixed "
    "Confidence Setting, ICML 2020), what came out here, and how the two compare. A sentence holds, nearly holds "
    "or fails. A number agrees if its interval lies within the tolerance of the published one, else it is lower "
    "or higher. Open means that the study has no data for it, and not decided that more trials could still decide "
    "it either way."
)
_LOWER = (
    " Some slopes are lower than published, for no reason that the text of the paper gives: perhaps its authors read "
    "one table of rewards again and again. That is a guess; docs/paper.md says what speaks for it."
)
_OF_THE_PAPER = "Best arm identification for cascading bandits: the paper and this run"


@dataclass(frozen=True)
class Reported:
    """The page, and whether no trial of its studies is missing."""

    file: Path
    whole: bool


def report(
    directories: Sequence[Path],
    *,
    out: Path,
    title: str | None = None,
    where: Sequence[str] = (),
    watch: Watch = SILENT,
) -> Reported:
    """Write one page with claims, figures, their data, settings and run times.

    Args:
        title: its heading; by default made of the titles of the studies.
        where: conditions `COLUMN=VALUE[,VALUE...]`; the page is about the cells that meet all of them.

    Raises:
        ConfigError: if a directory is not that of a sweep, or has too many cells for a page, or the folder of
            `out` is not there.
        CascadeError: if the page cannot be written.
    """
    refuse_to_replace(out)
    if not out.parent.is_dir():
        raise ConfigError(f"--out {out}: there is no folder {out.parent}; make it, or name a file in another one")
    studies = [_chosen(load_results(directory), where) for directory in once(directories, watch)]
    for results in studies:
        warn_of_gaps(results, watch)
    page = render_page(title or _title(studies), __version__, _claims(studies), list(_numbered(studies, watch)))
    write_bytes(out, page.encode())
    return Reported(out, not any(results.missing for results in studies))


def _chosen(results: StudyResults, where: Sequence[str]) -> StudyResults:
    if where:
        cells = set(cells_with(results.cells, conditions(where))["cell_id"])
        about = {cell_id: content for cell_id, content in results.manifest.cells.items() if cell_id in cells}
        results = results.of_cells(cells).derived(manifest=results.manifest.model_copy(update={"cells": about}))
    if len(results.summary) > _MOST_CELLS:
        raise ConfigError(
            f"{results.directory} has {count(len(results.summary))} cells, more than the {count(_MOST_CELLS)} that a "
            "page holds; choose with --where, such as --where K=2"
        )
    return results


def _title(studies: Sequence[StudyResults]) -> str:
    if all(results.study.claims == "paper" for results in studies):
        return _OF_THE_PAPER
    return "; ".join(dict.fromkeys(results.study.title or results.name for results in studies))


def _numbered(studies: Sequence[StudyResults], watch: Watch) -> Iterator[Section]:
    """Yield a section for each study, with different names even if studies have the same."""
    for i, results in enumerate(studies):
        again = sum(other.name == results.name for other in studies[:i])
        yield _section(results, f"{results.name} {again + 1}" if again else results.name, watch)


def _claims(studies: Sequence[StudyResults]) -> PageTable:
    columns = [Head(name) for name in ("study and instance", "claim", "published", "here", "verdict")]
    rows = [
        (f"{results.name}, {claim.where}", *claim[1:]) for results in studies for claim in claims_of_config(results)
    ]
    return PageTable(columns, rows, _CLAIMED + _LOWER * any(row[-1] == "lower" for row in rows))


def _section(results: StudyResults, name: str, watch: Watch) -> Section:
    pictures, refusals, left_out = _pictures(results, watch)
    return Section(
        title=results.study.title or results.name,
        name=name,
        remarks=[*_reuse(results), *results.missing, *results.capped, *results.doubts, *refusals, *left_out],
        pictures=pictures,
        tables=[
            *([_data(results, results.study.plot.kind)] if refusals else []),
            *([] if results.study.claims else _of_ones_own(results)),
            *_tables(results),
        ],
        settings=settings(results),
        provenance=provenance(results),
        times=_times(results),
    )


def _reuse(results: StudyResults) -> list[str]:
    users = "Users are named, or lists are shuffled: the paper's claims, which are about its own users, do not apply."
    if results.study.independent:
        return [users] if results.study.claims and results.study.has_users else []
    return [f"Rewards are {results.study.rewards}: claims and bounds, which are about independent ones, do not apply."]


def _pictures(results: StudyResults, watch: Watch) -> tuple[list[PagePicture], list[str], list[str]]:
    """Return the figures that `plot` draws, page by page, why others cannot be drawn, and which cells are left out."""
    pictures: list[PagePicture] = []
    refusals: list[str] = []
    left_out: list[str] = []
    for kind in _kinds(results):
        asked = results.study.plot if kind == results.study.plot.kind else Plot(kind=kind)
        try:
            drawn = drawing([results], asked)
        except ConfigError as error:
            refusals.append(f"no figure: {error}")
            continue
        warn_of_letters(drawn.pages, results.name, watch.warn)
        pictures += _pages(drawn, results, asked)
        left_out += [drawn.chart.left_out] if drawn.chart and drawn.chart.left_out else []
    return pictures, list(dict.fromkeys(refusals)), left_out


def _pages(drawn: Drawing, results: StudyResults, asked: Plot) -> Iterator[PagePicture]:
    title = ". ".join(filter(None, [title_of(asked, drawn.chart), drawn.caption[:1].upper() + drawn.caption[1:]]))
    files = drawn.files("svg", [results])
    for number, svg in enumerate(files, 1):
        page = f" (page {number} of {len(files)})" if len(files) > 1 else ""
        data = _data(_drawn(results, drawn.chart), asked.kind) if drawn.chart and number == 1 else None
        yield PagePicture(title + page, alternative(asked, drawn.chart), svg, data)


def _drawn(results: StudyResults, chart: "Chart") -> StudyResults:
    """Return the results with only the cells of a figure."""
    return averaged(results, chart.plot.average).of_cells(chart.points["cell_id"])


def _kinds(results: StudyResults) -> list[Kind]:
    """Return the kind of the study's own figure and, if there are upper bounds, those that show the bounds."""
    growth = results.study.plot.figure.about == "growth"
    further = ["bounds", "schematic"] if growth and results.bounds["upper"].notna().any() else []
    return [results.study.plot.kind, *further]


def _data(results: StudyResults, kind: str) -> PageTable:
    return _table("One row a point or bar", figure_data(results, kind), f"{results.name}_{kind}.csv")


def _tables(results: StudyResults) -> Iterator[PageTable]:
    """Yield the tables of `fit` that readers want; that of the ratios is left out, as it is as long as the data."""
    for table in tables_of(results, files=_CAPTIONS):
        varying, above = names_of(table.rows, AXES)
        known = _published(table.rows)
        caption = _CAPTIONS[table.file] + (", beside the published one" if any(known.values()) else "")
        caption += f" ({above})" if above else ""
        left_out = {*_LEFT_OUT, *AXES, *(name for name in known if not known[name])} - set(varying)
        yield _table(caption, table.rows, f"{results.name}_{table.file}", left_out)


def _of_ones_own(results: StudyResults) -> Iterator[PageTable]:
    """Yield what a reader of a study of one's own looks for first: means and errors, ratios, and the weights."""
    if len(results.summary) <= _MOST_MEANS:
        yield _as_printed(_MEANS, cells_printed(results.cells), results.summary, f"{results.name}_{SUMMARY_CSV}")
        for table in tables_of(results, files=[RATIOS_CSV]):
            yield _as_printed(_RATIOS, table.printed, table.rows, f"{results.name}_{RATIOS_CSV}")
    if weights := list(islice(weights_in_words(results), _MOST_MEANS)):
        heads = [Head("instance", True), Head("L"), Head("K"), Head("weights", True)]
        yield PageTable(heads, weights, "Weights, the largest first")


def _as_printed(caption: str, table: Table, rows: pd.DataFrame, file: str) -> PageTable:
    caption = f"{caption} ({table.above})" if table.above else caption
    return PageTable(table.columns, table.rows, caption, table_bytes(rows).decode(), file)


def _published(rows: pd.DataFrame) -> dict[str, bool]:
    """Return for each column of published values whether it has any."""
    return {str(name): bool(rows[name].notna().any()) for name in rows if str(name).startswith("published_")}


def _times(results: StudyResults) -> PageTable | None:
    table = times_of(results.directory, results.summary)
    return None if table.empty else _table("Seconds on one core", table)


def _table(caption: str, rows: pd.DataFrame, file: str = "", left_out: Collection[str] = ()) -> PageTable:
    """Return a table of texts for readers, with all numbers in full as a file."""
    table = printed(rows, (), [str(name) for name in rows if name not in left_out])
    return PageTable(table.columns, table.rows, caption, table_bytes(rows).decode() if file else "", file)
