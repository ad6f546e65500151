"""Tables of the documents on bounds, budgets, ratios and speed, from results/reference."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from cascadebai_cli.analysis.fits import ENDS, LEVELS
from cascadebai_cli.store import columns
from cascadebai_cli.store.files import AGAIN
from cascadebai_cli.store.trials import read_summary, read_table
from cascadebai_cli.text import count, number, percent, share
from experiments.artefacts import REFERENCE
from experiments.markdown import NOT_YET, table

# --- docs/paper.md, docs/exactness.md and others: bounds of the paper, ratios beyond it, and the benchmark ----------

BOUNDS, SLOPES = REFERENCE / "table1" / columns.BOUNDS_CSV, REFERENCE / "table1" / columns.BOUND_FITS_CSV
BEYOND = REFERENCE / "beyond" / columns.RATIOS_CSV
BENCHMARK = REFERENCE / "benchmark.json"


def bound_ratios() -> str:
    """Measured mean over the lower bound and upper bound over the measured mean, at both ends of the grid."""
    if not (BOUNDS.exists() and SLOPES.exists()):
        return NOT_YET
    cells = read_table(BOUNDS, AGAIN)
    slopes = {row["instance"]: row for row in read_table(SLOPES, AGAIN).to_dict("records")}
    header = ["instance", "cells within the bounds", "K", "measured / lower", "upper / measured"]
    header += ["c1 of the bound / measured c1", "R² of the model on the bound"]
    rows = [row for name, part in cells.groupby("instance", sort=False) for row in _ratio_rows(part, slopes[name])]
    return table(header, rows, numbers=5)


def _ratio_rows(part: pd.DataFrame, slope: Mapping[Any, Any]) -> Iterator[list[str]]:
    within = (part["lower"] <= part["mean_steps"]) & (part["mean_steps"] <= part["upper"])
    first, last = part.sort_values("K").iloc[[0, -1]].to_dict("records")
    whole = [number(slope["bound_c1"] / slope["c1"]), share(slope["bound_r2"])]
    yield [first["instance"], f"{within.sum()} of {len(part)}", *_ratios(first), *whole]
    yield ["", "", *_ratios(last), "", ""]


def _ratios(cell: Mapping[Any, Any]) -> list[str]:
    return [str(cell["K"]), count(cell["measured_over_lower"]), number(cell["upper_over_measured"])]


def beyond() -> str:
    """Steps of the sharper learners and the factor that they save."""
    if not BEYOND.exists():
        return NOT_YET
    ratios = read_table(BEYOND, AGAIN)
    steps = read_summary(BEYOND.with_name(columns.SUMMARY_CSV)).set_index(["instance", "learner", "K"])["mean_steps"]
    header = ["instance", "K", "learner", "mean steps", "times fewer than CascadeBAI", "95 % interval", "wrong trials"]
    ends = ratios[ratios["K"].isin((ratios["K"].min(), ratios["K"].max()))]
    return table(header, [_saved(row, steps) for row in ends.to_dict("records")], numbers=4)


def _saved(row: Mapping[Any, Any], steps: "pd.Series[float]") -> list[str]:
    mean = steps[row["instance"], row["other"], row["K"]]
    interval = f"{number(row['ratio_low'])} to {number(row['ratio_high'])}"
    place = [row["instance"], str(row["K"]), row["other"]]
    return [*place, count(mean), number(row["ratio"]), interval, percent(row["other_error_rate"])]


def speed() -> str:
    """Skip-ahead beside the reference on the settings of Table 1."""
    measured = _benchmark()
    if measured is None:
        return NOT_YET
    header = ["setting", "K", "mean steps", "steps a second", "trials a second", "times the reference"]
    keys = ("mean_steps", "steps_per_second", "trials_per_second", "ratio_to_reference")
    rows = [[str(row["setting"]), str(row["K"]), *(number(row[key]) for key in keys)] for row in measured["skip_ahead"]]
    return table(header, rows, numbers=4)


def speed_range() -> str:
    """`21 to 34,679`: how many times as fast as the reference skip-ahead is on these settings."""
    measured = _benchmark()
    if measured is None:
        return "many"
    ratios = [row["ratio_to_reference"] for row in measured["skip_ahead"]]
    return f"{number(min(ratios))} to {number(max(ratios))}"


def lockstep_speed() -> str:
    """Lockstep with more and more rows beside the reference."""
    measured = _benchmark()
    if measured is None:
        return NOT_YET
    keys = ("steps_per_second", "ratio_to_reference")
    rows = [[str(row["rows"]), *(number(row[key]) for key in keys)] for row in measured["lockstep"]]
    return table(["rows", "steps a second", "times the reference"], rows, numbers=2)


def growth() -> str:
    """How steps and time of each learner grow when the gap halves, when there are more items, and so on."""
    measured = _benchmark()
    if measured is None:
        return NOT_YET
    rows = pd.DataFrame(measured["growth"])
    both = zip(rows["mean_steps"], 1000 * rows["seconds_per_trial"], strict=True)
    each = [f"{number(steps)} in {number(taken)} ms" for steps, taken in both]
    grown = rows.assign(each=each, instance=rows["series"] + " = " + rows["at"].map("{:,g}".format))
    wide = grown.pivot(index="instance", columns="learner", values="each").fillna("")
    wide = wide.loc[grown["instance"].unique(), grown["learner"].unique()]
    return table(
        ["instance", *wide.columns], [[name, *cells] for name, *cells in wide.itertuples()], numbers=len(wide.columns)
    )


def _benchmark() -> dict[str, Any] | None:
    if not BENCHMARK.exists():
        return None
    measured: dict[str, Any] = json.loads(BENCHMARK.read_text(encoding="utf-8"))
    return measured


# --- docs/sharp.md: the sharp bound, how far each learner is from it, and how often it is wrong ---------------------

SHARP = REFERENCE / "sharp" / columns.BOUNDS_CSV


def sharp_bounds() -> str:
    """`T*` of each instance with its certified gap, beside what the paper's bound has in its place."""
    cells = _cells().drop_duplicates("instance")
    rows = [_sharp_bound(row) for row in cells.to_dict("records")]
    header = ["instance", "L", "K", "T*", "certified gap", "times the paper's bound"]
    return table(header, rows, numbers=5)


def _sharp_bound(row: Mapping[Any, Any]) -> list[str]:
    times = number(row["sharp"] / row["lower"])
    return [row["instance"], str(row["L"]), str(row["K"]), number(row["T_star"]), f"{row['gap']:.1e}", times]


def factors() -> str:
    """Mean steps over the sharp bound, a column for each risk."""
    cells = _cells()
    wide = cells.pivot(index=["instance", "learner"], columns="delta", values="measured_over_sharp")
    places = list(dict.fromkeys(zip(cells["instance"], cells["learner"], strict=True)))
    risks = sorted(wide.columns, reverse=True)
    rows = [[*place, *(number(wide.loc[place, risk]) for risk in risks)] for place in places]
    return table(["instance", "learner", *(f"{risk:g}" for risk in risks)], rows, numbers=len(risks))


def errors() -> str:
    """Trials, wrong answers and the nearest that each learner comes to the bound."""
    summary, nearest = (
        read_summary(SHARP.with_name(columns.SUMMARY_CSV)),
        _cells().groupby("learner")["measured_over_sharp"],
    )
    rows = [_errors(name, part, nearest.min()[name]) for name, part in summary.groupby("learner", sort=False)]
    return table(["learner", "trials", "wrong", "least factor"], rows, numbers=3)


def _errors(name: Any, part: pd.DataFrame, least: float) -> list[str]:
    wrong = (part["error_rate"] * (part["n"] - part["n_capped"])).sum()
    return [name, count(part["n"].sum()), f"{count(round(wrong))} ({percent(wrong / part['n'].sum())})", number(least)]


def _cells() -> pd.DataFrame:
    return read_table(SHARP, AGAIN)


def _if_there(block: Callable[[], str]) -> Callable[[], str]:
    return lambda: block() if SHARP.exists() else NOT_YET


# --- docs/budget.md: at which budgets errors are seldom enough, and how loose the bounds are ------------------------

BUDGETS, BUDGET_BOUNDS = (REFERENCE / "budget" / name for name in (columns.BUDGETS_CSV, columns.BOUNDS_CSV))
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
    if not BUDGET_BOUNDS.exists():
        return NOT_YET
    cells = read_table(BUDGET_BOUNDS, AGAIN)
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


def budget_bounds() -> str:
    """Hardness, the budget that is enough by the bound, and the one from which on errors were that seldom."""
    if not (BUDGET_BOUNDS.exists() and BUDGETS.exists()):
        return NOT_YET
    cells = read_table(BUDGET_BOUNDS, AGAIN)
    known = cells[cells["enough"].notna()].drop_duplicates(["instance", "learner"])
    measured = read_table(BUDGETS, AGAIN).set_index(["instance", "learner"])
    header = ["instance", "learner", "H", "H2", "bound below 1 % from", "measured below 1 % from", "ratio"]
    rows = [
        _budget_bound(row, measured.loc[(row["instance"], row["learner"])].to_dict())
        for row in known.to_dict("records")
    ]
    return table(header, rows, numbers=5)


def _budget_bound(row: Mapping[Any, Any], measured: Mapping[Any, Any]) -> list[str]:
    seldom = float(measured["budget_1"])
    times = (
        "" if np.isinf(seldom) or not seldom else count(row["enough"] / seldom, 0 if row["enough"] > 20 * seldom else 1)
    )
    numbers = [count(round(row[name])) for name in ("H", "H2", "enough")]
    return [row["instance"], row["learner"], *numbers, _budget(seldom, measured), times]


# --- docs/users.md: learners at each departure from the cascade -----------------------------------------------------

USERS = REFERENCE / "users"


def users() -> str:
    """Mean page views and wrong answers of each learner at each departure from the cascade."""
    if not USERS.exists():
        return NOT_YET
    cells = read_summary(USERS / columns.SUMMARY_CSV)
    learners = list(dict.fromkeys(cells["learner"]))
    rows = [
        [str(name), *(_users_cell(part[part["learner"] == learner].iloc[0]) for learner in learners)]
        for name, part in cells.groupby("instance", sort=False)
    ]
    return table(["users", *learners], rows, numbers=len(learners))


def _users_cell(row: "pd.Series[Any]") -> str:
    steps = f"{'> ' if row['n_capped'] else ''}{count(round(row['mean_steps']))}"
    if pd.isna(row["error_rate"]):
        return f"{steps}, no answer"
    return steps if row["error_rate"] == 0 else f"{steps}, {percent(row['error_rate'], 0)} wrong"


BLOCKS: Mapping[str, Callable[[], str]] = {
    "bound-ratios": bound_ratios,
    "beyond": beyond,
    "speed": speed,
    "speed-range": speed_range,
    "lockstep-speed": lockstep_speed,
    "growth": growth,
    "sharp-bounds": _if_there(sharp_bounds),
    "sharp-factors": _if_there(factors),
    "sharp-errors": _if_there(errors),
    "budget-levels": levels,
    "budget-first-look": first_look,
    "budget-bounds": budget_bounds,
    "users-means": users,
}
