"""The schema is what the files hold."""

from pathlib import Path

import pandas as pd
import pytest

import cascadebai_cli
from cascadebai_cli.analysis.tables import tables_of
from cascadebai_cli.store import columns as schema
from cascadebai_cli.store.columns import CODES
from cascadebai_cli.store.results import load_results
from cascadebai_cli.store.trials import read_table
from cascadebai_cli.study.cells import Cell

REFERENCE = Path(cascadebai_cli.__file__).parents[1] / "results" / "reference"
COLUMNS = {
    schema.TRIALS_CSV: schema.TRIAL_COLUMNS,
    schema.SUMMARY_CSV: schema.SUMMARY_COLUMNS,
    schema.TIMES_CSV: schema.TIMES_COLUMNS,
    schema.FITS_CSV: schema.FIT_COLUMNS,
    schema.WEIGHTED_FITS_CSV: schema.WEIGHTED_FIT_COLUMNS,
    schema.MODELS_CSV: schema.MODEL_COLUMNS,
    schema.BOUND_FITS_CSV: schema.BOUND_FIT_COLUMNS,
    schema.RATIOS_CSV: schema.RATIO_COLUMNS,
    schema.ORDERS_CSV: schema.ORDER_COLUMNS,
    schema.BOUNDS_CSV: schema.BOUND_COLUMNS,
    schema.BUDGETS_CSV: schema.BUDGET_COLUMNS,
}
OF_BUDGETS = {
    schema.TRIALS_CSV: {**schema.TRIAL_COLUMNS, **schema.BUDGET},
    schema.SUMMARY_CSV: {**schema.SUMMARY_COLUMNS, **schema.BUDGET_STATISTICS},
    schema.BOUNDS_CSV: schema.BUDGET_BOUND_COLUMNS,
}
"""The same of a study with budgets."""
OF_SHARP = {
    schema.BOUNDS_CSV: {**schema.BOUND_COLUMNS, **schema.SHARP_COLUMNS},
    schema.MODELS_CSV: {**schema.MODEL_COLUMNS, "x": str, "K": int},
}
"""The same of `bounds --sharp --csv`, and of fits against something else than `K`."""
OWN = {"budget": OF_BUDGETS, "budget_tracking": OF_BUDGETS, "sharp": OF_SHARP}


def test_the_journal_keeps_the_first_fields_of_a_row_in_their_order() -> None:
    assert schema.TrialRow._fields[: 1 + len(CODES)] == ("cell_id", *CODES)


@pytest.mark.parametrize("name", COLUMNS)
def test_the_columns_of_every_committed_table_and_no_other(name: str) -> None:
    paths = sorted(REFERENCE.glob(f"*/{name}"))
    assert paths
    for path in paths:
        columns = {**COLUMNS, **OWN.get(path.parent.name, {})}[name]
        assert list(read_table(path, columns, "")) == list(columns), path


@pytest.mark.parametrize(
    "directory", sorted(path.parent for path in REFERENCE.glob("*/manifest.json")), ids=lambda path: path.name
)
def test_every_column_of_a_fresh_table_gets_its_values(directory: Path) -> None:
    """A name that the code and the schema spell differently would leave an empty column."""
    for table in tables_of(load_results(directory)):
        committed = pd.read_csv(directory / table.file)
        filled = table.rows.notna().any()
        assert list(filled[filled].index) == [name for name in committed if committed[name].notna().any()]


def test_a_cell_and_a_row_have_what_their_columns_are_called() -> None:
    assert set(schema.OUTCOME) < set(schema.TrialRow._fields)
    assert all(hasattr(Cell, name) or name in Cell.__dataclass_fields__ for name in schema.CELL)
