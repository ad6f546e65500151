"""`cascadebai report`: one page about some result directories."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cascadebai_cli import __version__
from cascadebai_cli.cli.options import path_of, some_path

if TYPE_CHECKING:
    import pandas as pd

    from cascadebai_cli.report.content import Picture, Section, Table
    from cascadebai_cli.store.directory import Results

CAPTIONS = {
    "fits.csv": "Fit of the model that the config names to the mean steps, beside the published one",
    "bound_fits.csv": "The same model fitted to the upper bound",
    "orders.csv": "In how many settings each display order does as well as Algorithm 1",
}
"""Tables of `fit` that the page shows."""
LEFT_OUT = ("study", "L", "delta", "epsilon", "rows_sha256", "best_model", "loglog_low", "loglog_high", "published_r2")
TITLE = "Best arm identification for cascading bandits: the paper and this run"


def report(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", parser=path_of("DIR"), help="Directories of sweeps.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", parser=some_path, help="The page.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option(help="Heading of the page.")] = TITLE,
) -> None:
    """Write one page with claims, figures, their data, settings and run times; it needs no network and no script."""
    from cascadebai_cli.cli.files import write_bytes
    from cascadebai_cli.cli.results import finish, warn
    from cascadebai_cli.report.page import render_page
    from cascadebai_cli.store.directory import load_results

    studies = [load_results(directory) for directory in directories]
    for results in studies:
        warn(results)
    page = render_page(title, __version__, _claims(studies), list(_numbered(studies)))
    write_bytes(out, page.encode())
    typer.echo(out)
    for results in studies:
        finish(results)


def _numbered(studies: Sequence["Results"]) -> Iterator["Section"]:
    """Sections whose names differ, whatever the studies are called."""
    for i, results in enumerate(studies):
        again = sum(other.study == results.study for other in studies[:i])
        yield _section(results, f"{results.study} {again + 1}" if again else results.study)


def _claims(studies: Sequence["Results"]) -> "Table":
    from cascadebai_cli.analysis.claims import claims_of
    from cascadebai_cli.report.content import Table

    header = ("study and instance", "claim", "published", "here", "verdict")
    rows = [(f"{results.study}, {claim.where}", *claim[1:]) for results in studies for claim in claims_of(results)]
    return Table("What the paper says, what came out here, and how the two compare", header, rows)


def _section(results: "Results", name: str) -> "Section":
    from cascadebai_cli.analysis.provenance import provenance, settings
    from cascadebai_cli.report.content import Section
    from cascadebai_cli.store.directory import capped_trials, missing_trials

    return Section(
        title=str(results.config.get("title") or results.study),
        name=name,
        remarks=[*missing_trials(results), *capped_trials(results)],
        pictures=list(_pictures(results)),
        tables=list(_tables(results)),
        settings=settings(results),
        provenance=provenance(results),
        times=_times(results),
    )


def _pictures(results: "Results") -> Iterator["Picture"]:
    from cascadebai_cli.analysis.captions import TITLES, alternative
    from cascadebai_cli.cli.plot import drawing
    from cascadebai_cli.figures.style import render
    from cascadebai_cli.report.content import Picture

    for kind in _kinds(results):
        svg = render(drawing(results, kind)(results), "svg", title=results.study, rows_sha256=results.rows_sha256)
        yield Picture(TITLES[kind], alternative(results, kind), svg, _data(results, kind))


def _kinds(results: "Results") -> list[str]:
    """The study's own figure and, where the theorems say something about it, what they say."""
    from cascadebai_cli.analysis.bounds import bounds_of_results

    bounds = bounds_of_results(results)
    bounded = not bounds.empty and bounds["upper"].notna().any()
    return [results.plot_kind, *(["bounds", "schematic"] if bounded and results.plot_kind == "scaling" else [])]


def _data(results: "Results", kind: str) -> "Table | None":
    from cascadebai_cli.analysis.figure_data import figure_data

    table = figure_data(results, kind)
    return None if table.empty else _table("One row a point or bar", table, f"{results.study}_{kind}.csv")


def _tables(results: "Results") -> Iterator["Table"]:
    """The tables that `fit` writes and readers want; the ratios of learners are as many as the points."""
    from cascadebai_cli.cli.fit import tables_of

    for table in tables_of(results):
        if table.file in CAPTIONS and not table.rows.empty:
            yield _table(CAPTIONS[table.file], table.rows, f"{results.study}_{table.file}", LEFT_OUT)


def _times(results: "Results") -> "Table | None":
    from cascadebai_cli.analysis.times import times_of

    table = times_of(results)
    return None if table.empty else _table("Seconds on one core", table)


def _table(caption: str, rows: "pd.DataFrame", file: str = "", left_out: Sequence[str] = ()) -> "Table":
    """A table of numbers as one of texts, with all numbers in full as a file."""
    from cascadebai_cli.analysis.texts import cell_text, heading, is_text
    from cascadebai_cli.report.content import Table

    columns = [str(name) for name in rows if name not in left_out]
    texts = [[cell_text(name, row[name]) for name in columns] for row in rows.to_dict("records")]
    words = frozenset(heading(name) for name in columns if is_text(rows[name]))
    csv = rows.to_csv(index=False, float_format="%.10g", lineterminator="\n") if file else ""
    return Table(caption, list(map(heading, columns)), texts, words, csv, file)
