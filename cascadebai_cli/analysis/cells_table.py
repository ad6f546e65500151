"""The cells of a study as one table: chosen, sorted, with the options of their learners, and as a reader wants them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from cascadebai_cli.analysis.varying import names_of
from cascadebai_cli.analysis.wide import STUDY, matching, wide_table
from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.schema import BUDGET_STATISTICS, PLACE, SUMMARY_COLUMNS
from cascadebai_cli.study.plot import DERIVED
from cascadebai_cli.text.columns import value_text
from cascadebai_cli.text.numbers import NO_NUMBER, is_missing, number, percent
from cascadebai_cli.text.table import Table

ERROR_ENDS = ("error_low", "error_high")


def cells_table(results: Results) -> pd.DataFrame:
    """`summary.csv` with gaps, algorithms and the options of the learners, in the order of the grid."""
    without = [] if results.has_budget else ["budget"]
    return wide_table([results]).drop(columns=[STUDY, "directory", *without])


def chosen(cells: pd.DataFrame, conditions: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    """The cells that have one of the given values in each of the given columns.

    Raises:
        ConfigError: if there is no such column, or no cell with a value.
    """
    for column, values in conditions.items():
        _check_column(cells, column, "--where")
        cells = cells[matching(cells, column, values)]
    return cells


def ordered(cells: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The cells sorted by columns, the first one first; `-` in front of a name turns it round.

    Raises:
        ConfigError: if there is no such column.
    """
    for column in columns:
        _check_column(cells, column.removeprefix("-"), "--sort")
    for column in reversed(columns):
        name = column.removeprefix("-")
        cells = cells.sort_values(name, ascending=name == column, kind="stable")
    return cells


def _check_column(cells: pd.DataFrame, column: str, option: str) -> None:
    if column not in cells:
        raise ConfigError(f"{option} {column}: there is no such column; {suggest(column, map(str, cells))}")


def cells_printed(cells: pd.DataFrame) -> Table:
    """Means, errors and their intervals; of names, numbers and options those that tell the cells apart.

    An option is printed if it varies and does not stand in the name of each learner. The mean of a cell with capped
    trials is a lower limit and has no interval.

    Args:
        cells: as from `cells_table`.
    """
    further = [str(name) for name in cells if name not in (*SUMMARY_COLUMNS, *BUDGET_STATISTICS, *DERIVED)]
    options = [name for name in further if not _in_names(cells, name)]
    # learners that do not have an option do not make it vary
    varying = [name for name in options if cells[name].nunique() > 1]
    shown = cells.rename(columns={"n": "trials"})
    names = names_of(shown, [*PLACE, *varying, "trials"])
    capped = ["capped"] if (cells["n_capped"] > 0).any() else []
    right = ["right", "95 % interval"] if "mean_right" in cells else []
    rows = [
        [*names.texts(row), *_line(row, bool(capped)), *(_right(row) if right else [])]
        for row in shown.to_dict("records")
    ]
    return names.table(["mean steps", "95 % interval", *capped, "wrong", "95 % interval", *right], rows)


def _right(row: Mapping[Any, Any]) -> list[str]:
    """Mean number of right items of those found; its t interval as far as there are such numbers, 0 to `K`."""
    if is_missing(row["right_low"]):
        return [f"{row['mean_right']:.2f}", NO_NUMBER]
    return [f"{row['mean_right']:.2f}", f"{max(row['right_low'], 0):.2f} to {min(row['right_high'], row['K']):.2f}"]


def _in_names(cells: pd.DataFrame, option: str) -> bool:
    return all(
        is_missing(value) or value_text(value).lower() in str(name).lower()
        for name, value in zip(cells["learner"], cells[option], strict=True)
    )


def _line(row: Mapping[Any, Any], with_capped: bool) -> list[str]:
    known = not (row["n_capped"] or is_missing(row["ci_low"]))
    return [
        (">= " if row["n_capped"] else "") + number(row["mean_steps"]),
        f"{number(row['ci_low'])} to {number(row['ci_high'])}" if known else NO_NUMBER,
        *([str(row["n_capped"])] if with_capped else []),
        percent(row["error_rate"], 1),
        NO_NUMBER if is_missing(row["error_low"]) else " to ".join(percent(row[end], 1) for end in ERROR_ENDS),
    ]
