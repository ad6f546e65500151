"""Fit a study: its tables, written into its directory."""

from dataclasses import dataclass
from pathlib import Path

from cascadebai_cli.analysis.fits import fits_table, unfitted
from cascadebai_cli.analysis.tables import StudyTable, tables_of
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.directory import load_results
from cascadebai_cli.workflows.outputs import write_table
from cascadebai_cli.workflows.printing import in_format
from cascadebai_cli.workflows.results import is_whole, warn_of_gaps
from cascadebai_cli.workflows.watch import SILENT, Watch

__all__ = ["Fitted", "fit", "fits_table", "in_format"]


@dataclass(frozen=True)
class Fitted:
    """The tables of a study, at least one, and whether none of its trials is missing."""

    tables: tuple[StudyTable, ...]
    whole: bool


def fit(directory: Path, *, allow_capped: bool = False, watch: Watch = SILENT) -> Fitted:
    """Fit the mean number of steps against K or another axis, and compare learners, as a config says.

    Args:
        directory: of a sweep.
        allow_capped: fit means with trials that reached the cap as well, and mark the fit; they are lower limits.
        watch: takes the remarks.

    Raises:
        ConfigError: if the directory is not that of a sweep, or there is nothing to fit.
        CascadeError: if a table cannot be written.
    """
    results = load_results(directory)
    tables = tuple(tables_of(results, allow_capped=allow_capped))
    refused = unfitted(results, allow_capped=allow_capped)
    if not tables and refused:
        raise ConfigError(f"{directory}: {refused[0]}")
    if not tables:
        raise ConfigError(
            f"{directory}: nothing to fit: no instance has 3 values of K, or of what varies instead; add some to the "
            "config"
        )
    warn_of_gaps(results, watch)
    for sentence in refused:
        watch.warn(f"warning: {directory}: {sentence}")
    for table in tables:
        write_table(directory / table.file, table.rows, through=False)
    return Fitted(tables, is_whole(results))
