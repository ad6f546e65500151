"""Tables of docs/budget.md: at which budgets errors are seldom enough, and how loose the bounds are."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.ratios import ENDS, LEVELS
from cascadebai_cli.store import columns
from cascadebai_cli.store.files import AGAIN
from cascadebai_cli.store.trials import read_table
from cascadebai_cli.text import count, percent
from experiments.artefacts import REFERENCE
from experiments.markdown import NOT_YET, table

BUDGETS, BOUNDS = (REFERENCE / "budget" / name for name in (columns.BUDGETS_CSV, columns.BOUNDS_CSV))
TRACKING = REFERENCE / "budget_tracking" / columns.BUDGETS_CSV


def levels() -> str:
    """Budgets at which the error rate falls below 10, 5 and 1 %, with intervals."""
    if not BUDGETS.exists():
        return NOT_YET
    found = [read_table(path, AGAIN) for path in (BUDGETS, TRACKING) if path.exists()]
    names = list(found[0]["instance"].unique())
    rows = pd.concat(found).sort_values("instance", key=lambda column: column.map(names.index), kind="stable")
    header = ["instance", "learner", *(f"below {level} %" for level in LEVELS)]
    return table(header, [list(_levels(row)) for row in rows.to_dict("records")], numbers=3)


def _levels(row: Mapping[Any, Any]) -> Iterator[str]:
    yield from (row["instance"], row["learner"])
    for level in LEVELS:
        value, low, high = (_budget(row[f"{end}_{level}"], row) for end in ENDS)
        yield value if low == high else f"{value} ({low} to {high})"


def _budget(budget: float, row: Mapping[Any, Any]) -> str:
    if np.isinf(budget):
        return f"> {count(row['largest'])}"
    return count(budget) if budget else f"< {count(row['smallest'])}"


def first_look() -> str:
    """Error rates at the three budgets of the first look, with intervals."""
    if not BOUNDS.exists():
        return NOT_YET
    cells = read_table(BOUNDS, AGAIN)
    places = [("four of sixteen", 4000), ("five of forty", 4000), ("ramp", 2400)]
    learners = list(dict.fromkeys(cells["learner"]))
    rows = [[f"{name}, {count(budget)}", *_rates(cells, name, budget, learners)] for name, budget in places]
    return table(["instance, page views", *learners], rows, numbers=len(learners))


def _rates(cells: pd.DataFrame, instance: str, budget: int, learners: list[str]) -> Iterator[str]:
    here = cells[(cells["instance"] == instance) & (cells["budget"] == budget)]
    for learner in learners:
        (row,) = here[here["learner"] == learner].to_dict("records")
        interval = f"{percent(row['error_low'], 1)} to {percent(row['error_high'], 1)}"
        yield f"{percent(row['error_rate'], 1)} ({interval})"


def bounds() -> str:
    """Hardness, the budget that is enough by the bound, and the one from which on errors were that seldom."""
    if not (BOUNDS.exists() and BUDGETS.exists()):
        return NOT_YET
    cells = read_table(BOUNDS, AGAIN)
    known = cells[cells["enough"].notna()].drop_duplicates(["instance", "learner"])
    measured = read_table(BUDGETS, AGAIN).set_index(["instance", "learner"])
    header = ["instance", "learner", "H", "H2", "bound below 1 % from", "measured below 1 % from", "ratio"]
    rows = [_bound(row, measured.loc[(row["instance"], row["learner"])].to_dict()) for row in known.to_dict("records")]
    return table(header, rows, numbers=5)


def _bound(row: Mapping[Any, Any], measured: Mapping[Any, Any]) -> list[str]:
    seldom = float(measured["budget_1"])
    times = (
        "" if np.isinf(seldom) or not seldom else count(row["enough"] / seldom, 0 if row["enough"] > 20 * seldom else 1)
    )
    numbers = [count(round(row[name])) for name in ("H", "H2", "enough")]
    return [row["instance"], row["learner"], *numbers, _budget(seldom, measured), times]


BLOCKS: Mapping[str, Callable[[], str]] = {
    "budget-levels": levels,
    "budget-first-look": first_look,
    "budget-bounds": bounds,
}
