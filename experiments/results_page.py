"""The tables of docs/results.md: every column of every file, from `store`."""

from collections.abc import Callable, Mapping
from functools import partial

from cascadebai_cli.store.columns import TABLES, TIMES_CSV
from cascadebai_cli.store.manifest import Manifest
from experiments.markdown import table

TYPES = {str: "text", int: "whole number", float: "number", bool: "1 or 0"}
WHEN = {
    "budget": "with a budget",
    "steps": "without a budget",
    "sharp": "with `--sharp`",
    "factor": "with `--factor`",
    "published": "if the config has published values",
    "axis": "if the axis is not `K`",
    "capped": "with `--allow-capped`",
    "aim": "if `trials` is a rule",
    "paired": "with `paired: true`",
}
"""Word for when a table has a column -> the same for readers."""
FILES = [name for name in TABLES if name != TIMES_CSV]
"""Tables of a sweep; `times.csv` is in references only."""


def files() -> str:
    """What one row of each table is."""
    return table(["file", "one row"], [[f"`{name}`", TABLES[name].row] for name in FILES])


def columns_of(file: str) -> str:
    """The columns of a table."""
    columns = TABLES[file].columns
    header, rows = ["column", "type", "what it holds"], [[f"`{c.name}`", TYPES[c.type], c.meaning] for c in columns]
    if not any(column.when for column in columns):
        return table(header, rows)
    only = [WHEN.get(column.when, "") for column in columns]
    return table([*header, "only"], [[*row, when] for row, when in zip(rows, only, strict=True)])


def manifest() -> str:
    """The keys of `manifest.json`."""
    rows = [[f"`{name}`", str(key.description)] for name, key in Manifest.model_fields.items()]
    return table(["key", "what it holds"], rows)


BLOCKS: Mapping[str, Callable[[], str]] = {
    "results-files": files,
    "results-manifest": manifest,
    **{f"results-{name.removesuffix('.csv')}": partial(columns_of, name) for name in FILES},
}
