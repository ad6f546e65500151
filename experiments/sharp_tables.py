"""Tables of docs/sharp.md: the sharp bound, how far each learner is from it, and how often it is wrong."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from cascadebai_cli.store import columns
from cascadebai_cli.store.files import AGAIN
from cascadebai_cli.store.summary import read_summary
from cascadebai_cli.store.trials import read_table
from cascadebai_cli.text import count, number, percent
from experiments.artefacts import REFERENCE
from experiments.markdown import NOT_YET, table

SHARP = REFERENCE / "sharp" / columns.BOUNDS_CSV


def bounds() -> str:
    """`T*` of each instance with its certified gap, beside what the paper's bound has in its place."""
    cells = _cells().drop_duplicates("instance")
    rows = [_bound(row) for row in cells.to_dict("records")]
    header = ["instance", "L", "K", "T*", "certified gap", "times the paper's bound"]
    return table(header, rows, numbers=5)


def _bound(row: Mapping[Any, Any]) -> list[str]:
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


BLOCKS: Mapping[str, Callable[[], str]] = {
    "sharp-bounds": _if_there(bounds),
    "sharp-factors": _if_there(factors),
    "sharp-errors": _if_there(errors),
}
