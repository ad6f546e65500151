"""What is proved of the chance of an error after a budget, beside what was measured."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.varying import names_of
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.store.schema import BUDGET_BOUND_COLUMNS, CELL, PLACE
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.text.numbers import NO_NUMBER, count, is_missing, number, percent
from cascadebai_cli.text.table import Table
from cascadebai_cli.theory.budget import ERRORS, enough, hardness, hardness_of_the_worst

MEASURED = ("n", "error_rate", "error_low", "error_high")
KEPT = 512
"""Instances and learners of which the budget that is enough is kept."""


def budget_bounds(cells: Sequence[Cell], summary: pd.DataFrame | None) -> pd.DataFrame:
    """One row a cell: hardness, the bound at its budget, the budget that is enough for `delta`, and what was measured.

    Args:
        cells: cells with a budget.
        summary: as `summary.csv`, if there is one.
    """
    rows = pd.DataFrame([{name: getattr(cell, name) for name in (*CELL, "budget")} | _bounds(cell) for cell in cells])
    source = pd.DataFrame(columns=["cell_id", *MEASURED]) if summary is None else summary
    table = rows.merge(source[["cell_id", *MEASURED]], on="cell_id", how="left")
    with np.errstate(divide="ignore", invalid="ignore"):
        table["bound_over_measured"] = table["bound"].astype(float) / table["error_rate"].astype(float)
    return table[list(BUDGET_BOUND_COLUMNS)]


def _bounds(cell: Cell) -> dict[str, float]:
    """Hardness is that of finding exactly the best `K`."""
    problem = Instance(cell.weights, cell.K, cell.epsilon)
    known = {"H": hardness(problem), "H2": hardness_of_the_worst(problem)}
    algorithm = cell.spec.algorithm
    if cell.budget is None or algorithm not in ERRORS or not cell.feedback.has_theory:
        return {**known, "bound": np.nan, "enough": np.nan}
    needed = _enough(algorithm, tuple(cell.weights.tolist()), cell.K, cell.epsilon, cell.delta)
    return {**known, "bound": ERRORS[algorithm](problem, cell.budget), "enough": needed}


@lru_cache(KEPT)
def _enough(algorithm: str, weights: tuple[float, ...], K: int, epsilon: float, delta: float) -> float:
    return enough(algorithm, Instance(np.array(weights), K, epsilon), delta)


def too_often_wrong(table: pd.DataFrame) -> list[str]:
    """One sentence for each cell that errs more often than it can by its bound, beyond the noise."""
    over = table[table["error_low"].astype(float) > table["bound"]]
    return [
        f"{row['instance']}, {row['learner']}, budget = {row['budget']}: errors in {percent(row['error_rate'], 1)}, "
        f"above the bound {percent(row['bound'], 1)}"
        for row in over.to_dict("records")
    ]


def budget_bounds_printed(table: pd.DataFrame) -> Table:
    """The table to print."""
    names = names_of(table, PLACE, always=("budget",))
    header = ["H", "H2", "wrong", "95 % interval", "bound", "enough"]
    return names.table(header, [[*names.texts(row), *_line(row)] for row in table.to_dict("records")])


def _line(row: Mapping[Any, Any]) -> list[str]:
    ends = [row["error_low"], row["error_high"]]
    return [
        number(row["H"]),
        number(row["H2"]),
        percent(row["error_rate"], 1),
        NO_NUMBER if is_missing(ends[0]) else " to ".join(percent(end, 1) for end in ends),
        percent(row["bound"], 1),
        NO_NUMBER if is_missing(row["enough"]) else count(row["enough"]),
    ]
