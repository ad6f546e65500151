"""Tables of the documents that rest on the bounds and on the benchmark."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from cascadebai_cli.store import columns
from cascadebai_cli.store.files import AGAIN
from cascadebai_cli.store.summary import read_summary
from cascadebai_cli.store.trials import read_table
from cascadebai_cli.text import count, number, percent, share
from experiments.artefacts import REFERENCE
from experiments.markdown import NOT_YET, table

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


BLOCKS: Mapping[str, Callable[[], str]] = {
    "bound-ratios": bound_ratios,
    "beyond": beyond,
    "speed": speed,
    "speed-range": speed_range,
    "lockstep-speed": lockstep_speed,
    "growth": growth,
}
