"""`cascadebai fit`: the tables that go with a study's figure."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cascadebai_cli.errors import ConfigError

if TYPE_CHECKING:
    from cascadebai_cli.analysis.results import Results


def fit(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of a sweep.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Write the files, print no table.")] = False,
) -> None:
    """Fit the mean number of steps against K and set the result beside the published one."""
    from cascadebai_cli.analysis.results import load_results
    from cascadebai_cli.cli.results import finish, warn

    results = load_results(directory)
    warn(results)
    text = "\n\n".join(_write_tables(results))
    if text and not quiet:
        typer.echo(text)
    finish(results)


def _write_tables(results: "Results") -> list[str]:
    return _scaling(results)


def _scaling(results: "Results") -> list[str]:
    from cascadebai_cli.analysis.fits import fits_table, models_table
    from cascadebai_cli.analysis.tables import fits_text, models_text
    from cascadebai_cli.cli.files import write_table

    fits, models = fits_table(results), models_table(results)
    if models.empty:
        raise ConfigError(f"{results.directory}: nothing to fit: no instance has 3 values of K; add some to the config")
    write_table(results.directory / "models.csv", models)
    if fits.empty:
        return []
    write_table(results.directory / "fits.csv", fits)
    return [fits_text(fits), models_text(fits)]
