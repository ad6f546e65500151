"""The cells of one or more studies with everything that a figure may speak of, as one table."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.bounds import bounds_of_results
from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.store.directory import Results
from cascadebai_cli.store.manifest import GAP
from cascadebai_cli.store.schema import BOUNDS_CSV
from cascadebai_cli.store.tables import read_table
from cascadebai_cli.study.instances import TwoLevel
from cascadebai_cli.study.learners import option_values
from cascadebai_cli.study.plot import DERIVED, GRID, Plot
from cascadebai_cli.text.clean import for_shell

STUDY = "study_number"
"""Column of the number of the study that a cell is from."""
MOST_NAMED = 20
"""Values that a refusal lists."""


def wide_table(studies: Sequence[Results]) -> pd.DataFrame:
    """One row a cell: the columns of `summary.csv`, those that follow from the grid, the options of learners."""
    return pd.concat([_wide(results, number) for number, results in enumerate(studies)], ignore_index=True)


def chosen_results(studies: Sequence[Results], cells: pd.DataFrame) -> tuple[Results, ...]:
    """The same studies with those cells only that are rows of `cells`; studies without any are left out."""
    parts = []
    for number, results in enumerate(studies):
        wanted = cells.loc[cells[STUDY] == number, "cell_id"]
        summary = results.summary
        parts.append(replace(results, summary=summary[summary["cell_id"].isin(wanted)]))
    return tuple(results for results in parts if len(results.summary))


def with_bounds(cells: pd.DataFrame, studies: Sequence[Results]) -> pd.DataFrame:
    """The cells with their `lower` and `upper` bounds, NaN where none is known."""
    parts = [bounds_of_results(results).assign(**{STUDY: number}) for number, results in enumerate(studies)]
    found = [part[["cell_id", STUDY, "lower", "upper"]] for part in parts if len(part)]
    if not found:
        return cells.assign(lower=np.nan, upper=np.nan)
    return cells.merge(pd.concat(found), on=["cell_id", STUDY], how="left")


def with_sharp_bounds(cells: pd.DataFrame, studies: Sequence[Results]) -> pd.DataFrame:
    """The cells with `sharp`, which `bounds --sharp --csv` has written beside the results.

    Raises:
        ConfigError: if it has not.
    """
    parts = [_sharp_bounds(results).assign(**{STUDY: number}) for number, results in enumerate(studies)]
    return cells.merge(pd.concat(parts), on=["cell_id", STUDY], how="left")


def _sharp_bounds(results: Results) -> pd.DataFrame:
    path = results.directory / BOUNDS_CSV
    command = (
        f"`cascadebai bounds CONFIG --sharp --results {for_shell(results.directory)} --csv {for_shell(path)}` writes it"
    )
    if not path.exists():
        raise ConfigError(f"{path} is missing; {command}")
    return read_table(path, {"cell_id": str, "sharp": float}, command)[["cell_id", "sharp"]]


def _wide(results: Results, number: int) -> pd.DataFrame:
    summary, entries = results.summary, results.learners
    values = {name: option_values(entry) for name, entry in entries.items()}
    options = dict.fromkeys(option for given in values.values() for option in given if option not in (*GRID, *DERIVED))
    return summary.assign(
        **{STUDY: number},
        budget=summary["budget"] if results.has_budget else np.nan,
        directory=str(results.directory),
        gap=_gaps(results),
        algorithm=summary["learner"].map({name: entry.algorithm for name, entry in entries.items()}),
        **{
            option: summary["learner"].map({name: given.get(option) for name, given in values.items()})
            for option in options
        },
    )


def _gaps(results: Results) -> "pd.Series[float]":
    """`w(K) - w(K+1)` of each cell, from the manifest; from older ones NaN but for two-level instances."""
    cells = results.summary
    stored = {cell_id: content.get(GAP) for cell_id, content in results.manifest.cells.items()}
    two_level = {name: isinstance(entry, TwoLevel) for name, entry in results.instances.items()}
    width = (cells["w_star"] - cells["w_prime"]).where(cells["instance"].map(two_level).eq(True))
    return pd.to_numeric(cells["cell_id"].map(stored), errors="coerce").astype(float).fillna(width)


def chosen_cells(cells: pd.DataFrame, plot: Plot) -> pd.DataFrame:
    """The cells that a plot asks for, instances and learners in the order that it names them.

    Raises:
        ConfigError: if a value that it names is in no cell.
    """
    for column, values in (("instance", plot.instances), ("learner", plot.learners), *plot.where.items()):
        if values:
            cells = cells[matching(cells, column, values)]
    for column, names in (("learner", plot.learners), ("instance", plot.instances)):
        first = [*plot.order, *names]
        rank = {name: i for i, name in reversed(list(enumerate(first)))}
        cells = cells.sort_values(column, key=lambda c: c.map(rank).fillna(len(first)), kind="stable")
    return cells.reset_index(drop=True)


def matching(cells: pd.DataFrame, column: str, values: Sequence[object]) -> "pd.Series[bool]":
    """Which cells have one of the values in a column.

    Raises:
        ConfigError: if a value is in no cell.
    """
    texts = cells[column].astype(str)
    found = pd.Series(False, index=cells.index)
    for value in values:
        same = (cells[column] == value) | (texts == str(value))
        if not same.any():
            there = list(dict.fromkeys(texts))
            raise ConfigError(f"{column}: {value} is in no cell; {suggest(str(value), there[:MOST_NAMED])}")
        found |= same
    return found
