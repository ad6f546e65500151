"""The table and the picture of docs/users.md, from results/reference/users: `python -m experiments.users_page`."""

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cascadebai_cli.figures.style import LOOKS, TEXT_WIDTH, new_figure, panel_letter, styled
from cascadebai_cli.store import columns
from cascadebai_cli.store.summary import read_summary, wrong_too_often
from cascadebai_cli.text import count, percent
from experiments.artefacts import REFERENCE
from experiments.figures import write
from experiments.markdown import NOT_YET, table

USERS = REFERENCE / "users"
PICTURE = USERS / "page_views.png"
KINDS = {
    "leaves": "cascade, may leave after a skip",
    "places": "position-based, several clicks",
    "places, one click": "position-based, one click",
    "several clicks": "dependent click",
}
"""First words of the names of instances -> the title of their panel; the number behind them is the departure."""
_PLAIN = "cascade"


def means() -> str:
    """Mean page views and wrong answers of each learner at each departure from the cascade."""
    if not USERS.exists():
        return NOT_YET
    cells = read_summary(USERS / columns.SUMMARY_CSV)
    learners = list(dict.fromkeys(cells["learner"]))
    rows = [
        [str(name), *(_cell(part[part["learner"] == learner].iloc[0]) for learner in learners)]
        for name, part in cells.groupby("instance", sort=False)
    ]
    return table(["users", *learners], rows, numbers=len(learners))


def _cell(row: "pd.Series[Any]") -> str:
    steps = f"{'> ' if row['n_capped'] else ''}{count(round(row['mean_steps']))}"
    if pd.isna(row["error_rate"]):
        return f"{steps}, no answer"
    return steps if row["error_rate"] == 0 else f"{steps}, {percent(row['error_rate'], 0)} wrong"


BLOCKS: Mapping[str, Callable[[], str]] = {"users-means": means}


@styled
def draw(cells: pd.DataFrame, cap: int) -> Figure:
    """One panel a kind of users: mean page views against the departure, a cross where answers are wrong too often."""
    figure = new_figure(TEXT_WIDTH, 4.6)
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for i, (kind, title) in enumerate(KINDS.items()):
        _draw_kind(axes.flat[i], cells, kind)
        axes.flat[i].set_title(f"{panel_letter(i)} {title}")
        axes.flat[i].axhline(cap, color="0.7", linewidth=0.8, linestyle=":", zorder=0)
    for one in axes[1]:
        one.set_xlabel("departure from the cascade")
    for one in axes[:, 0]:
        one.set_ylabel("page views")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _draw_kind(axes: Axes, cells: pd.DataFrame, kind: str) -> None:
    parts = cells["instance"].str.rpartition(" ")
    mine = cells[(parts[0] == kind) | (cells["instance"] == _PLAIN)].copy()
    mine["departure"] = [0.0 if name == _PLAIN else float(name.rpartition(" ")[2]) for name in mine["instance"]]
    for look, (learner, points) in zip(LOOKS, mine.groupby("learner", sort=False), strict=False):
        x, y = points["departure"], points["mean_steps"]
        axes.plot(x, y, color=look.color, marker=look.marker, markersize=3, linewidth=1, label=str(learner))
        wrong = wrong_too_often(points)
        axes.plot(x[wrong], y[wrong], "x", color="black", markersize=7, zorder=5)
    axes.set_yscale("log")


def main() -> None:
    """Draw and keep."""
    argparse.ArgumentParser(description="Draw the picture of docs/users.md.").parse_args()
    cap = json.loads((USERS / columns.MANIFEST).read_text())["config"]["max_steps"]
    write(draw(read_summary(USERS / columns.SUMMARY_CSV), cap), PICTURE)


if __name__ == "__main__":
    main()
