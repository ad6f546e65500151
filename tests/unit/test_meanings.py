"""Every column of every table says what it holds, and nothing is explained that is not there."""

from types import MappingProxyType

from cascadebai_cli.store import columns
from cascadebai_cli.store.columns import FILES, MEANINGS, WITH_BUDGET


def all_columns() -> set[str]:
    groups = [part for name, part in vars(columns).items() if name.isupper() and isinstance(part, MappingProxyType)]
    of_types = [part for part in groups if all(isinstance(kind, type) for kind in part.values())]
    return {name for part in of_types for name in part}


def test_every_column_has_a_meaning() -> None:
    assert set(MEANINGS) == all_columns()


def test_every_table_is_described() -> None:
    tables = {part for name, part in vars(columns).items() if name.endswith("_CSV")} - {columns.TIMES_CSV}
    assert set(FILES) == tables
    assert set(WITH_BUDGET) <= set(FILES)
