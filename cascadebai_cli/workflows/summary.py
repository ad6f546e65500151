"""The cells of a result directory as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cascadebai_cli.analysis.averages import averaged
from cascadebai_cli.analysis.cells_table import cells_printed, cells_table, chosen, ordered
from cascadebai_cli.analysis.tables import StudyTable
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.directory import Results, load_results
from cascadebai_cli.store.schema import SUMMARY_CSV
from cascadebai_cli.study.alike import refuse_unknown_option
from cascadebai_cli.study.document import read_value
from cascadebai_cli.text.table import noted
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
    directory: Path,
    *,
    where: Sequence[str] = (),
    sort: Sequence[str] = (),
    average: str | None = None,
    watch: Watch = SILENT,
) -> Summarised:
    """The cells of a result directory with means, intervals and errors.

    Args:
        directory: that of a sweep.
        where: `COLUMN=VALUE[,VALUE...]` each; cells that agree with all of them.
        sort: columns, `-` in front of a name for the largest first.
        average: option of instances; a mean over those that differ in it only stands for them.
        watch: takes the remarks.

    Raises:
        ConfigError: if the directory is not that of a sweep, or a column, a value or an option is not known.
    """
    results = load_results(directory)
    if average:
        _check_option(results, average)
    rows = ordered(chosen(cells_table(averaged(results, average)), dict(map(condition, where))), sort)
    warn_of_gaps(results, watch)
    printed = cells_printed(rows)
    if average:
        printed = noted(printed, f"means over {average}, each value once, with the interval of their means")
    return Summarised(StudyTable(SUMMARY_CSV, rows, printed), is_whole(results))


def _check_option(results: Results, option: str) -> None:
    try:
        refuse_unknown_option(results.study.instances, option)
    except ConfigError as error:
        raise ConfigError(f"--average: {error}") from None


def condition(text: str) -> tuple[str, list[object]]:
    """Column and values of `COLUMN=VALUE[,VALUE...]`.

    Raises:
        ConfigError: if it is not of that form.
    """
    column, equals, values = text.partition("=")
    if not (column and equals and values):
        raise ConfigError(f"--where {text}: names no column and value; write COLUMN=VALUE, such as delta=0.1")
    return column, [read_value(value) for value in values.split(",")]
