"""The cells of one or more studies with everything that a figure may speak of, as one table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.bounds import bounds_of_results
from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.model.formula import evaluate
from cascadebai_cli.store.directory import Results
from cascadebai_cli.study.instances import AnyInstance, Explicit, Linear, TwoLevel
from cascadebai_cli.study.learners import option_values
from cascadebai_cli.study.plot import DERIVED, GRID, Plot

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


def _wide(results: Results, number: int) -> pd.DataFrame:
    summary, entries = results.summary, results.learners
    values = {name: option_values(entry) for name, entry in entries.items()}
    options = dict.fromkeys(option for given in values.values() for option in given if option not in (*GRID, *DERIVED))
    return summary.assign(
        **{STUDY: number},
        directory=str(results.directory),
        gap=gaps(summary, results.instances),
        algorithm=summary["learner"].map({name: entry.algorithm for name, entry in entries.items()}),
        **{
            option: summary["learner"].map({name: given.get(option) for name, given in values.items()})
            for option in options
        },
    )


def gaps(cells: pd.DataFrame, instances: Mapping[str, AnyInstance]) -> "pd.Series[float]":
    """`w(K) - w(K+1)` of each cell; NaN for click rates from a file, which a summary does not hold."""
    parts = [_gaps(part, instances.get(str(name))) for name, part in cells.groupby("instance", sort=False)]
    return pd.concat(parts).reindex(cells.index)


def _gaps(cells: pd.DataFrame, entry: AnyInstance | None) -> "pd.Series[float]":
    width = cells["w_star"] - cells["w_prime"]
    if isinstance(entry, TwoLevel):
        return width
    if isinstance(entry, Linear):
        return width / (cells["L"] - 1)
    if isinstance(entry, Explicit):
        return pd.Series([_gap(entry, L, K) for L, K in zip(cells["L"], cells["K"], strict=True)], cells.index)
    return pd.Series(np.nan, cells.index)


def _gap(entry: Explicit, L: int, K: int) -> float:
    try:
        weights = sorted((float(evaluate(w, {"K": K, "L": L})) for w in entry.weights), reverse=True)
        return weights[K - 1] - weights[K]
    except (ConfigError, IndexError):
        return float("nan")


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
