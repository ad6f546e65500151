"""Tables of bounds beside what was measured."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.learners.registry import BATCH, LearnerSpec
from cascadebai_cli.model.problem import CASCADING, Feedback, Instance
from cascadebai_cli.model.users import Users
from cascadebai_cli.store.columns import BOUNDS_CSV, CELL, PLACE, POINT, TABLES, Shown, interval, printed
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.text import Table, count, number, percent
from cascadebai_cli.theory.budget import ERRORS, enough, hardness, hardness_of_the_worst
from cascadebai_cli.theory.paper import PRINTED_CONSTANT, CellBounds, exact_constant, lower_bound
from cascadebai_cli.theory.sharp import SharpBound, sharp_bound

# --- Bounds and measured steps of many cells side by side -----------------------------------------------------------

_Row = dict[str, Any]

_MEASURED = ("n", "mean_steps", "n_capped")


def bounds_row(bounds: CellBounds) -> _Row:
    """Return the bounds of a cell as columns; `None` where there is no bound."""
    best = bounds.upper
    return {
        "lower": bounds.lower,
        "upper": best.steps if best else None,
        "source": best.source if best else None,
        "dominating": best.dominating if best else None,
        "upper_general": bounds.general.steps if bounds.general else None,
        "dominating_general": bounds.general.dominating if bounds.general else None,
        "upper_two_level": bounds.two_level.steps if bounds.two_level else None,
    }


def with_measured(bounds: pd.DataFrame, summary: pd.DataFrame | None) -> pd.DataFrame:
    """Add the measured mean of each cell and its ratios to both bounds.

    Args:
        bounds: one row a cell, with `cell_id`, `lower` and `upper`.
        summary: columns `cell_id` and `_MEASURED`, as in `summary.csv`; cells that are not in it get no value.
    """
    source = pd.DataFrame(columns=["cell_id", *_MEASURED]) if summary is None else summary
    table = bounds.merge(source[["cell_id", *_MEASURED]], on="cell_id", how="left")
    numbers = table[["lower", "upper", "mean_steps"]].astype(float)
    table["measured_over_lower"] = numbers["mean_steps"] / numbers["lower"].where(numbers["lower"] != 0)
    table["upper_over_measured"] = numbers["upper"] / numbers["mean_steps"].where(numbers["mean_steps"] != 0)
    return table.astype({"upper": float, "mean_steps": float, "upper_general": float, "upper_two_level": float})


def outside(table: pd.DataFrame) -> list[str]:
    """Return a sentence for each cell whose mean is outside its bounds; a capped mean, a lower limit, may be below."""
    low = (table["mean_steps"] < table["lower"]) & (table["n_capped"] == 0)
    high = table["mean_steps"] > table["upper"]
    return [
        f"{row['instance']}, {row['learner']}, K = {row['K']}: the measured mean {number(row['mean_steps'])} is not "
        f"between the bounds {number(row['lower'])} and {number(row['upper'])}"
        for row in table[low | high].to_dict("records")
    ]


def learner_bounds(
    instance: Instance,
    delta: float,
    algorithm: str,
    options: Mapping[str, Any],
    feedback: Feedback = CASCADING,
    *,
    printed: bool = False,
) -> CellBounds:
    """Return bounds for a learner of a config; only Algorithm 1 on cascading feedback has upper ones.

    Args:
        options: its options; `sigma` sets the constant of `T-bar`.
        feedback: what is observed of a list; if it does not end at the first click, the whole list is assumed.
        printed: take the constant 216 as printed, instead of `256 sigma^2`.
    """
    spec = LearnerSpec(algorithm, options)
    if not spec.is_algorithm_1(instance.K) or not feedback.ends_at_click:
        M = spec.most_shown(instance.K)
        return CellBounds(lower_bound(instance, delta, semi_bandit=not feedback.ends_at_click, M=M))
    constant = PRINTED_CONSTANT if printed else exact_constant(options.get("sigma", 0.5))
    return CellBounds.of_algorithm_1(instance, delta, constant)


def bounds_printed(table: pd.DataFrame) -> Table:
    """Return the table to print, with those names and numbers that tell the cells apart, and `K` or the budget."""
    if "enough" in table:
        columns: list[str | Shown] = ["H", "H2", "error_rate", interval("error_low", "error_high"), "bound", "enough"]
        return printed(table, PLACE, columns, always=("budget",))
    sharp = [name for name in ("sharp", "measured_over_sharp", "factor") if name in table]
    steps = ["lower", "mean_steps", "upper", "measured_over_lower", "upper_over_measured", "dominating", "source"]
    return printed(table, POINT, [*sharp, *steps], always=("K",))


# --- Bounds on the probability of an error after a budget, beside what was measured ---------------------------------

_MEASURED_ERRORS = ("n", "error_rate", "error_low", "error_high")
_KEPT = 512
"""Number of instances and learners whose results are kept, as they take long to compute."""


def budget_bounds(cells: Sequence[Cell], summary: pd.DataFrame | None) -> pd.DataFrame:
    """Return for each cell its hardness, the bound at its budget, the budget that is enough for `delta`, and errors."""
    rows = pd.DataFrame(
        [{name: getattr(cell, name) for name in (*CELL, "budget")} | _budget_bounds(cell) for cell in cells]
    )
    source = pd.DataFrame(columns=["cell_id", *_MEASURED_ERRORS]) if summary is None else summary
    table = rows.merge(source[["cell_id", *_MEASURED_ERRORS]], on="cell_id", how="left")
    with np.errstate(divide="ignore", invalid="ignore"):
        table["bound_over_measured"] = table["bound"].astype(float) / table["error_rate"].astype(float)
    return table[TABLES[BOUNDS_CSV].names(table)]


def _budget_bounds(cell: Cell) -> dict[str, float]:
    """Return the bounds of a cell; its hardness is that of finding exactly the best `K`, whatever epsilon is."""
    problem = Instance(cell.weights, cell.K, cell.epsilon)
    known = {"H": hardness(problem), "H2": hardness_of_the_worst(problem)}
    algorithm = cell.spec.algorithm
    proved = algorithm in ERRORS and BATCH not in cell.spec.options and cell.feedback.has_theory
    if cell.budget is None or not proved:
        return {**known, "bound": np.nan, "enough": np.nan}
    needed = _enough(algorithm, tuple(cell.weights.tolist()), cell.K, cell.epsilon, cell.delta)
    return {**known, "bound": ERRORS[algorithm](problem, cell.budget), "enough": needed}


@lru_cache(_KEPT)
def _enough(algorithm: str, weights: tuple[float, ...], K: int, epsilon: float, delta: float) -> float:
    return enough(algorithm, Instance(np.array(weights), K, epsilon), delta)


def too_often_wrong(table: pd.DataFrame) -> list[str]:
    """Return a sentence for each cell whose error rate is above its bound by more than noise."""
    over = table[table["error_low"].astype(float) > table["bound"]]
    return [
        f"{row['instance']}, {row['learner']}, budget = {row['budget']}: errors in {percent(row['error_rate'], 1)}, "
        f"above the bound {percent(row['bound'], 1)}"
        for row in over.to_dict("records")
    ]


# --- The sharp lower bound beside what was measured -----------------------------------------------------------------

_Tell = Callable[[str], None]
_UNPROVED = "nothing is proved for their feedback"


@dataclass(frozen=True)
class _Problem:
    """What a sharp bound depends on, and who is told how far the search for it is."""

    weights: tuple[float, ...]
    K: int
    observes_all: bool
    M: int
    users: Users | None = None
    tell: _Tell | None = field(default=None, compare=False)


def with_sharp(table: pd.DataFrame, cells: Sequence[Cell], tell: _Tell | None = None) -> pd.DataFrame:
    """Add `T_star`, its certified relative `gap`, the bound `sharp` and the measured mean over it.

    Args:
        table: one row a cell, in the order of `cells`, with `mean_steps`.
        cells: the cells; their bound is `nan` where `no_sharp` says why.
        tell: called with a sentence every few seconds while a bound takes long.
    """
    values = [
        (bound.characteristic_steps, bound.gap, bound.steps(cell.delta)) if bound else (np.nan,) * 3
        for bound, cell in zip(_sharp_bounds(cells, tell), cells, strict=True)
    ]
    added = pd.DataFrame(values, columns=["T_star", "gap", "sharp"], index=table.index, dtype=float)
    added["measured_over_sharp"] = table["mean_steps"].astype(float) / added["sharp"].where(added["sharp"] != 0)
    return pd.concat([table, added], axis=1)


def with_factor(table: pd.DataFrame, cells: Sequence[Cell], tell: _Tell | None = None) -> pd.DataFrame:
    """Add `factor`, the limit of mean steps over the sharp bound for small `delta`; arguments as for `with_sharp`.

    It is `nan` without a sharp bound, for a learner without a known limit, and where items keep the order of the
    config, since the limit of a race is a mean over all orders.
    """
    known: dict[tuple[object, ...], float] = {}
    factors = []
    for cell, bound in zip(cells, _sharp_bounds(cells, tell), strict=True):
        place = (cell.instance, cell.learner, cell.L, cell.K)
        if bound and place not in known:
            known[place] = _limit(cell) / bound.characteristic_steps
        factors.append(known[place] if bound else np.nan)
    return table.assign(factor=factors)


def _limit(cell: Cell) -> float:
    """Return what steps over `ln(1 / delta)` come to, `nan` if it is not known."""
    limit = getattr(cell.build(), "limit", None)
    known = limit and cell.order == "random" and not cell.is_own
    return float(limit(cell.problem, cell.feedback)) if limit and known else np.nan


def no_sharp(cells: Sequence[Cell]) -> list[str]:
    """Return a sentence for each reason why some of the cells have no sharp bound."""
    reasons = Counter(reason for cell in cells if (reason := _why_none(cell)))
    return [f"no sharp bound for {count(n)} of {count(len(cells))} cells: {why}" for why, n in reasons.items()]


def _why_none(cell: Cell) -> str:
    """Return why no sharp bound is known for a cell, `""` if there is one."""
    if cell.answers:
        return "it is about the steps of a learner that stops by itself, and a budget stops these"
    if cell.epsilon > 0:
        return "it is known for epsilon = 0 only"
    users = cell.feedback.users
    if not cell.feedback.has_theory and not (users and users.known_to_look(_shown(cell) or cell.K)):
        return f"what {users.kind} users look at depends on more than items or places" if users else _UNPROVED
    return "" if _shown(cell) else "a step of the learner may observe an item twice"


def _sharp_bounds(cells: Sequence[Cell], tell: _Tell | None) -> list[SharpBound | None]:
    """Return the bound of each cell for lists as long as those of its learner; `None` if there is none."""
    problems = [None if _why_none(cell) else _problem(cell) for cell in cells]
    places = {problem: f"{cell.instance}, K = {cell.K}" for problem, cell in zip(problems, cells, strict=True)}
    distinct = [problem for problem in places if problem]
    found = {
        problem: _found(replace(problem, tell=_telling(f"{places[problem]} ({n} of {len(distinct)})", tell)))
        for n, problem in enumerate(distinct, 1)
    }
    return [found[problem] if problem else None for problem in problems]


def _telling(place: str, tell: _Tell | None) -> _Tell | None:
    return tell and (lambda sentence: tell(f"{place}: {sentence}"))


def _problem(cell: Cell) -> _Problem:
    users = None if cell.feedback.has_theory else cell.feedback.users
    weights = tuple(cell.problem.weights.tolist())
    return _Problem(weights, cell.K, cell.feedback.observes_all, _shown(cell) or cell.K, users)


def _shown(cell: Cell) -> int | None:
    """Return how many items a step shows, for a user's learner at most; `None` if a step may observe an item twice."""
    if cell.is_own:
        return replace(cell.spec, options=cell.options).most_shown(cell.K)
    learner = cell.build()
    return None if getattr(learner, "repeats", False) else len(learner.select())


@lru_cache(_KEPT)
def _found(problem: _Problem) -> SharpBound:
    instance = Instance(np.array(problem.weights), problem.K)
    semi_bandit, M, users = problem.observes_all, problem.M, problem.users
    return sharp_bound(instance, semi_bandit=semi_bandit, M=M, users=users, tell=problem.tell)
