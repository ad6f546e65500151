"""The tables of docs/results.md: every column of every file, from `store`."""

from collections.abc import Callable, Mapping
from functools import partial

from cascadebai_cli.store.columns import FILES, MEANINGS, SHARP_COLUMNS, WITH_BUDGET, Columns
from cascadebai_cli.store.manifest import Manifest
from experiments.markdown import table

TYPES = {str: "text", int: "whole number", float: "number", bool: "1 or 0"}


def files() -> str:
    """What one row of each table is."""
    return table(["file", "one row"], [[f"`{name}`", row] for name, (row, _) in FILES.items()])


def columns_of(file: str) -> str:
    """The columns of a table."""
    columns = {**FILES[file][1], **(SHARP_COLUMNS if file == "bounds.csv" else {})}
    further = [name for name in WITH_BUDGET.get(file, ()) if name not in columns]
    rows = [
        [*row, "with a budget" if row[0].strip("`") in further else ""]
        for row in _rows({**columns, **WITH_BUDGET.get(file, {})})
    ]
    header = ["column", "type", "what it holds"]
    return table([*header, "only"], rows) if further else table(header, [row[:3] for row in rows])


def _rows(columns: Columns) -> list[list[str]]:
    return [[f"`{name}`", TYPES[kind], MEANINGS[name]] for name, kind in columns.items()]


def manifest() -> str:
    """The keys of `manifest.json`."""
    rows = [[f"`{name}`", str(key.description)] for name, key in Manifest.model_fields.items()]
    return table(["key", "what it holds"], rows)


BLOCKS: Mapping[str, Callable[[], str]] = {
    "results-files": files,
    "results-manifest": manifest,
    **{f"results-{name.removesuffix('.csv')}": partial(columns_of, name) for name in FILES},
}
