"""The tables of a result directory, made from its journal."""

from collections.abc import Sequence

from cascadebai_cli.store.journal import Stored
from cascadebai_cli.store.lock import Held
from cascadebai_cli.store.manifest import Manifest, now, write_manifest
from cascadebai_cli.store.schema import SUMMARY_CSV, TIMINGS_CSV
from cascadebai_cli.store.summary import write_summary
from cascadebai_cli.store.timings import write_timings
from cascadebai_cli.store.trials import InGrid, write_trials
from cascadebai_cli.store.wanted import Limits, limits_of, trials_of


def write_tables(held: Held, manifest: Manifest, cells: Sequence[InGrid], stored: Stored, shown: Limits | None) -> bool:
    """Write the tables and close the manifest.

    Args:
        held: the directory.
        manifest: of its sweep.
        cells: in the order of the grid.
        stored: the rows.
        shown: trials with these numbers and above stay out of the tables; none do by default.

    Returns:
        whether no trial of the config is missing.

    Raises:
        CascadeError: if a file cannot be written, or the directory is not there any more.
    """
    held.check()
    digest = write_trials(held.directory, cells, stored, shown)
    held.check()
    tables = {
        TIMINGS_CSV: write_timings(held.directory, cells, stored, shown),
        SUMMARY_CSV: write_summary(held.directory),
    }
    held.check()
    limits = limits_of(trials_of(manifest.config), stored, (cell.cell_id for cell in cells))
    complete = not any(len(stored.missing(cell_id, trials)) for cell_id, trials in limits.items())
    end = {"end": manifest.end or now(), "complete": complete, "rows_sha256": digest, "tables": tables}
    write_manifest(held.directory, manifest.model_copy(update=end))
    return complete
