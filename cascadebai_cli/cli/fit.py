"""`cascadebai fit`: the tables that go with a study's figure."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from cascadebai_cli.cli.options import ResultDirectory
from cascadebai_cli.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from cascadebai_cli.store.directory import Results


class Table(NamedTuple):
    """A table of the study, its file and, if it is printed, its text."""

    file: str
    rows: "pd.DataFrame"
    text: "Callable[[pd.DataFrame], str] | None" = None


def fit(
    directory: ResultDirectory,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Write the files, print no table.")] = False,
) -> None:
    """Fit the mean number of steps against K, compare learners, and print the published values beside ours.

    Writes DIR/fits.csv (the model that the config names), DIR/models.csv (all models) and, for two-level instances,
    DIR/bound_fits.csv (the same model fitted to the upper bound); for a study whose plot is of the kind `curves`
    DIR/ratios.csv, of the kind `bars` DIR/orders.csv.
    """
    from cascadebai_cli.cli.files import write_table
    from cascadebai_cli.cli.results import finish, warn
    from cascadebai_cli.store.directory import load_results

    results = load_results(directory)
    tables = [table for table in tables_of(results) if not table.rows.empty]
    if not tables:
        raise ConfigError(f"{directory}: nothing to fit: no instance has 3 values of K; add some to the config")
    warn(results)
    for table in tables:
        write_table(directory / table.file, table.rows)
    if not quiet:
        typer.echo("\n\n".join(table.text(table.rows) for table in tables if table.text))
    finish(results)


def tables_of(results: "Results") -> Iterator[Table]:
    """All tables that go with the study, some of them perhaps empty."""
    yield from _scaling(results)
    if results.plot_kind == "curves":
        from cascadebai_cli.analysis.ratios import ratios_table, ratios_text

        yield Table("ratios.csv", ratios_table(results), ratios_text)
    if results.plot_kind == "bars":
        from cascadebai_cli.analysis.orders import orders_table, orders_text

        yield Table("orders.csv", orders_table(results), orders_text)


def _scaling(results: "Results") -> Iterator[Table]:
    from cascadebai_cli.analysis.bound_slopes import slopes_table, slopes_text
    from cascadebai_cli.analysis.fits import fits_table, models_table
    from cascadebai_cli.analysis.tables import fits_text, models_text

    yield Table("fits.csv", fits_table(results), fits_text)
    yield Table("models.csv", models_table(results), models_text)
    yield Table("bound_fits.csv", slopes_table(results), slopes_text)
