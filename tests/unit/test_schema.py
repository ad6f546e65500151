"""Columns are what the files hold, and every one says what that is."""

from pathlib import Path

import pandas as pd
import pytest

import cascadebai_cli
from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.analysis.tables import tables_of
from cascadebai_cli.store import columns
from cascadebai_cli.store.columns import CELL, COLUMNS, OF_QUANTILES, OUTCOME, TABLES, TrialRow
from cascadebai_cli.store.journal import CODES
from cascadebai_cli.store.trials import read_table
from cascadebai_cli.study.cells import Cell

REFERENCE = Path(cascadebai_cli.__file__).parents[1] / "results" / "reference"
OF_BUDGETS = {"trials.csv": {"budget"}, "summary.csv": {"budget"}, "bounds.csv": {"budget"}}
FURTHER = {
    "budget": OF_BUDGETS,
    "budget_tracking": OF_BUDGETS,
    "sharp": {"bounds.csv": {"steps", "sharp"}, "models.csv": {"axis"}},
}
"""Artefact and table -> why it has columns that not all such tables have."""
WRITTEN = sorted(path for path in REFERENCE.glob("*/*.csv") if path.name in TABLES)


def test_the_journal_keeps_the_first_fields_of_a_row_in_their_order() -> None:
    assert TrialRow._fields[: 1 + len(CODES)] == ("cell_id", *CODES)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: "/".join(path.parts[-2:]))
def test_the_columns_of_every_committed_table_and_no_other(path: Path) -> None:
    usual = {"bounds.csv": {"steps"}, "fits.csv": {"published"}}.get(path.name, set())
    there = {"", *FURTHER.get(path.parent.name, {}).get(path.name, usual)}
    assert list(read_table(path, "")) == [column.name for column in TABLES[path.name].columns if column.when in there]


def test_every_table_but_those_of_single_times_and_of_records_is_committed() -> None:
    assert {path.name for path in WRITTEN} == set(TABLES) - {
        "timings.csv",
        "answers.csv",
        "decisions.csv",
        "traces.csv",
    }


@pytest.mark.parametrize(
    "directory", sorted(path.parent for path in REFERENCE.glob("*/manifest.json")), ids=lambda path: path.name
)
def test_every_column_of_a_fresh_table_gets_its_values(directory: Path) -> None:
    """A name that the code and the record spell differently would leave an empty column."""
    for table in tables_of(load_results(directory)):
        committed = pd.read_csv(directory / table.file)
        filled = table.rows.notna().any()
        assert list(filled[filled].index) == [name for name in committed if committed[name].notna().any()]


def test_a_cell_and_a_row_have_what_their_columns_are_called() -> None:
    assert set(OUTCOME) < set(TrialRow._fields)
    assert all(hasattr(Cell, name) or name in Cell.__dataclass_fields__ for name in CELL)


def test_every_file_is_a_table_and_every_column_in_one_with_a_meaning() -> None:
    assert set(TABLES) == {part for name, part in vars(columns).items() if name.endswith("_CSV")}
    in_files = {column.name for table in TABLES.values() for column in table.columns}
    assert set(COLUMNS) == in_files | set(OF_QUANTILES)
    assert not in_files & set(OF_QUANTILES)
    assert all(column.meaning for column in COLUMNS.values())
