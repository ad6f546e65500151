"""The cells of a result directory as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cascadebai_cli.analysis.cells_table import cells_printed, cells_table, chosen, ordered
from cascadebai_cli.analysis.tables import StudyTable
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.directory import load_results
from cascadebai_cli.store.schema import SUMMARY
from cascadebai_cli.study.document import read_value
from cascadebai_cli.workflows.printing import in_format
from cascadebai_cli.workflows.results import is_whole, warn_of_gaps
from cascadebai_cli.workflows.watch import SILENT, Watch

__all__ = ["Summarised", "in_format", "summary"]


@dataclass(frozen=True)
class Summarised:
    """The cells, and whether none of the study's trials is missing."""

    table: StudyTable
    whole: bool


def summary(
    directory: Path, *, where: Sequence[str] = (), sort: Sequence[str] = (), watch: Watch = SILENT
) -> Summarised:
    """The cells of a result directory with means, intervals and errors.

    Args:
        directory: that of a sweep.
        where: `COLUMN=VALUE[,VALUE...]` each; cells that agree with all of them.
        sort: columns, `-` in front of a name for the largest first.
        watch: takes the remarks.

    Raises:
        ConfigError: if the directory is not that of a sweep, or a column or a value is not known.
    """
    results = load_results(directory)
    rows = ordered(chosen(cells_table(results), dict(map(condition, where))), sort)
    warn_of_gaps(results, watch)
    return Summarised(StudyTable(SUMMARY, rows, cells_printed(rows)), is_whole(results))


def condition(text: str) -> tuple[str, list[object]]:
    """Column and values of `COLUMN=VALUE[,VALUE...]`.

    Raises:
        ConfigError: if it is not of that form.
    """
    column, equals, values = text.partition("=")
    if not (column and equals and values):
        raise ConfigError(f"--where {text}: names no column and value; write COLUMN=VALUE, such as delta=0.1")
    return column, [read_value(value) for value in values.split(",")]
