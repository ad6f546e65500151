"""Draw the pictures of the documents: `python -m experiments.figures`."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.figures.labels import literal
from cascadebai_cli.figures.style import LOOKS, TEXT_WIDTH, Picture, label_steps, panel_letter, render, style_of
from cascadebai_cli.store.columns import MANIFEST, SUMMARY_CSV
from cascadebai_cli.store.summary import wrong_too_often
from cascadebai_cli.store.trials import read_summary
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.workflows.plot import drawing
from experiments.artefacts import REFERENCE
from experiments.published_tables import REWARDS
from experiments.published_weights import published_lines
from experiments.reference_tables import USERS

# --- docs/figures.md, docs/sharp.md, docs/budget.md -----------------------------------------------------------------
#
# Each picture stands behind a block of YAML whose first line names the directories it is drawn from.

FOLDER = Path("docs")
PAGES = ("figures.md", "sharp.md", "budget.md")
BLOCK = re.compile(
    r"```yaml\n# (?P<directories>[^\n]*)\n(?P<config>.*?)```\n\n!\[[^\]]*\]\((?P<file>[^)]*)\)", re.DOTALL
)
DPI = 110
"""Small files that are sharp on a screen."""


@dataclass(frozen=True)
class Example:
    """A picture of a page: what it is drawn from, and where it lies beside the page."""

    directories: tuple[Path, ...]
    plot: Plot
    file: Path

    def figure(self, root: Path) -> Figure:
        """The picture, drawn anew."""
        studies = [load_results(root / directory) for directory in self.directories]
        (page,) = drawing(studies, self.plot).pages
        return page


def examples(root: Path = Path()) -> Iterator[Example]:
    """The pictures of the pages below `root`."""
    for page in PAGES:
        for block in BLOCK.finditer((root / FOLDER / page).read_text(encoding="utf-8")):
            plot = Plot.model_validate(yaml.safe_load(block["config"])["plot"])
            yield Example(tuple(map(Path, block["directories"].split())), plot, Path(block["file"]))


def write(figure: Figure, path: Path) -> None:
    """Draw a picture into a file."""
    style_of()(figure.savefig)(path, dpi=DPI, pil_kwargs={"optimize": True})


# --- docs/users.md: mean page views of learners whose users depart from the cascade ---------------------------------

USERS_PICTURE = USERS / "page_views.png"
KINDS = {
    "leaves": "cascade, may leave after a skip",
    "places": "position-based, several clicks",
    "places, one click": "position-based, one click",
    "several clicks": "dependent click",
}
"""First words of the names of instances -> the title of their panel; the number behind them is the departure."""
_PLAIN = "cascade"


@style_of()
def draw_users(cells: pd.DataFrame, cap: int) -> Figure:
    """One panel a kind of users: mean page views against the departure, a cross where answers are wrong too often."""
    figure = Picture(TEXT_WIDTH, 4.6)
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


# --- published_numbers.md: the rows of Table 2, each with its published line and the means of two sets --------------

_PAIRS_A_ROW = 2
_PAIR_HEIGHT = 2.1
_LEGEND = 0.3
COLOURS: Sequence[str] = ("#0072B2", "#D55E00")
"""Of the sets, in their order."""
_PUBLISHED = "black"


@style_of()
def draw_side_by_side(
    sets: Mapping[str, pd.DataFrame], lines: Mapping[str, tuple[ArrayLike, ArrayLike]], line: str = "published"
) -> Figure:
    """One panel a line, two in a row.

    Args:
        sets: label -> columns of `summary.csv`; at most as many as there are `COLOURS`.
        lines: instance -> `K` and the steps of its published line.
        line: label of the published lines.
    """
    rows = math.ceil(len(lines) / _PAIRS_A_ROW)
    figure = Picture(TEXT_WIDTH, _PAIR_HEIGHT * rows + _LEGEND)
    for i, (instance, (K, steps)) in enumerate(lines.items()):
        axes = figure.add_subplot(rows, _PAIRS_A_ROW, i + 1)
        axes.plot(K, steps, color=_PUBLISHED, linewidth=0.9, zorder=1, label=line)
        largest = [_draw_set(axes, part, instance, label, i) for i, (label, part) in enumerate(sets.items())]
        axes.set_title(f"{panel_letter(i)} {literal(instance)}")
        axes.set_xlabel("$K$")
        label_steps(axes, max(largest))
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _draw_set(axes: Axes, summary: pd.DataFrame, instance: str, label: str, number: int) -> float:
    """The means with their 95 % intervals; the largest mean."""
    points = summary[summary["instance"] == instance]
    mean = points["mean_steps"]
    spread = [(mean - points["ci_low"]).fillna(0), (points["ci_high"] - mean).fillna(0)]
    axes.errorbar(
        points["K"],
        mean,
        yerr=spread,
        fmt="os"[number],
        color=COLOURS[number],
        markersize=2.5,
        markeredgewidth=0,
        elinewidth=0.6,
        zorder=2 + number,
        label=label,
    )
    return float(mean.max())


# --- All of them ----------------------------------------------------------------------------------------------------


def _users() -> None:
    cap = json.loads((USERS / MANIFEST).read_text())["config"]["max_steps"]
    write(draw_users(read_summary(USERS / SUMMARY_CSV), cap), USERS_PICTURE)


def _published() -> None:
    independent, reuse = (load_results(REFERENCE / name) for name in ("table1", REWARDS))
    K = np.arange(20, 61)
    figure = draw_side_by_side(
        {"independent rewards": independent.summary, "rewards from a table that is used again": reuse.summary},
        {name: (K, [line(int(k)) for k in K]) for name, line in published_lines().items()},
    )
    path = REFERENCE / REWARDS / "lines.png"
    path.write_bytes(render([figure], "png", title=REWARDS, rows_sha256=str(reuse.manifest.rows_sha256))[0])


def main() -> None:
    """Draw all of them."""
    for example in examples():
        write(example.figure(Path()), FOLDER / example.file)
    _users()
    _published()


if __name__ == "__main__":
    main()
