"""Write one page about some result directories."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cascadebai_cli import __version__
from cascadebai_cli.analysis.bounds import bounds_of_results
from cascadebai_cli.analysis.captions import TITLES, alternative
from cascadebai_cli.analysis.claims import claims_of
from cascadebai_cli.analysis.figure_data import figure_data
from cascadebai_cli.analysis.provenance import provenance, settings
from cascadebai_cli.analysis.tables import tables_of
from cascadebai_cli.analysis.varying import names_of
from cascadebai_cli.report.content import PageTable, Picture, Section
from cascadebai_cli.report.page import render_page
from cascadebai_cli.store.directory import Results, capped_trials, load_results, missing_trials
from cascadebai_cli.store.schema import BOUND_FITS, FITS, ORDERS
from cascadebai_cli.store.timings import times_of
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.text.columns import cell_text, heading
from cascadebai_cli.text.table import Column
from cascadebai_cli.workflows.drawings import drawing
from cascadebai_cli.workflows.outputs import table_bytes, warn_of_letters, write_bytes
from cascadebai_cli.workflows.results import is_whole, warn_of_gaps
from cascadebai_cli.workflows.watch import SILENT, Watch

CAPTIONS = {
    FITS: "Fit of the model that the config names to the mean steps, beside the published one",
    BOUND_FITS: "The same model fitted to the upper bound",
    ORDERS: "In how many settings each display order does as well as Algorithm 1",
}
"""Tables of `fit` that the page shows."""
NUMBERS = ("L", "K", "delta", "epsilon")
"""Columns that a table shows if they vary, and names in its caption if not."""
LEFT_OUT = ("study", "rows_sha256", "best_model", "loglog_low", "loglog_high", "published_r2")


@dataclass(frozen=True)
class Reported:
    """The page, and whether no trial of its studies is missing."""

    file: Path
    whole: bool


def report(directories: Sequence[Path], *, out: Path, title: str, watch: Watch = SILENT) -> Reported:
    """One page with claims, figures, their data, settings and run times.

    Args:
        directories: of sweeps.
        out: the page.
        title: its heading.
        watch: takes the remarks.

    Raises:
        ConfigError: if a directory is not that of a sweep.
        CascadeError: if the page cannot be written.
    """
    studies = [load_results(directory) for directory in directories]
    for results in studies:
        warn_of_gaps(results, watch)
    page = render_page(title, __version__, _claims(studies), list(_numbered(studies, watch)))
    write_bytes(out, page.encode())
    return Reported(out, all(map(is_whole, studies)))


def _numbered(studies: Sequence[Results], watch: Watch) -> Iterator[Section]:
    """Sections whose names differ, whatever the studies are called."""
    for i, results in enumerate(studies):
        again = sum(other.name == results.name for other in studies[:i])
        yield _section(results, f"{results.name} {again + 1}" if again else results.name, watch)


def _claims(studies: Sequence[Results]) -> PageTable:
    columns = [Column(name) for name in ("study and instance", "claim", "published", "here", "verdict")]
    rows = [(f"{results.name}, {claim.where}", *claim[1:]) for results in studies for claim in claims_of(results)]
    return PageTable(columns, rows, "What the paper says, what came out here, and how the two compare")


def _section(results: Results, name: str, watch: Watch) -> Section:
    return Section(
        title=results.study.title or results.name,
        name=name,
        remarks=[*missing_trials(results), *capped_trials(results)],
        pictures=list(_pictures(results, watch)),
        tables=list(_tables(results)),
        settings=settings(results),
        provenance=provenance(results),
        times=_times(results),
    )


def _pictures(results: Results, watch: Watch) -> Iterator[Picture]:
    for kind in _kinds(results):
        asked = results.study.plot if kind == results.plot_kind else Plot(kind=kind)  # type: ignore[arg-type]
        drawn = drawing([results], asked)
        warn_of_letters(drawn.pages, results.name, watch)
        for number, svg in enumerate(drawn.files("svg", [results])):
            data = None if number else _data(results, kind)
            yield Picture(TITLES[kind], alternative(results, kind), svg, data)


def _kinds(results: Results) -> list[str]:
    """The study's own figure and, where the theorems say something about it, what they say."""
    bounds = bounds_of_results(results)
    bounded = not bounds.empty and bounds["upper"].notna().any()
    return [results.plot_kind, *(["bounds", "schematic"] if bounded and results.plot_kind == "scaling" else [])]


def _data(results: Results, kind: str) -> PageTable | None:
    table = figure_data(results, kind)
    return None if table.empty else _table("One row a point or bar", table, f"{results.name}_{kind}.csv")


def _tables(results: Results) -> Iterator[PageTable]:
    """The tables that `fit` writes and readers want; the ratios of learners are as many as the points."""
    for table in tables_of(results):
        if table.file in CAPTIONS:
            names = names_of(table.rows, NUMBERS)
            caption = CAPTIONS[table.file] + (f" ({names.above})" if names.above else "")
            left_out = {*LEFT_OUT, *NUMBERS} - set(names.varying)
            yield _table(caption, table.rows, f"{results.name}_{table.file}", left_out)


def _times(results: Results) -> PageTable | None:
    table = times_of(results.directory, results.summary)
    return None if table.empty else _table("Seconds on one core", table)


def _table(caption: str, rows: pd.DataFrame, file: str = "", left_out: Collection[str] = ()) -> PageTable:
    """A table of numbers as one of texts, with all numbers in full as a file."""
    shown = [str(name) for name in rows if name not in left_out]
    columns = [Column(heading(name), not pd.api.types.is_numeric_dtype(rows[name])) for name in shown]
    texts = [[cell_text(name, row[name]) for name in shown] for row in rows.to_dict("records")]
    return PageTable(columns, texts, caption, table_bytes(rows).decode() if file else "", file)
