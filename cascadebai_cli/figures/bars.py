"""Figures 1 and 4: mean steps of the display orders as grouped bars on a log axis."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from types import MappingProxyType

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from cascadebai_cli.figures.labels import plain, values_label, weights_parts
from cascadebai_cli.figures.style import STEPS_LABEL, TEXT_WIDTH, new_figure, styled
from cascadebai_cli.study.instances import AnyInstance
from cascadebai_cli.study.learners import LearnerEntry
from cascadebai_cli.text.numbers import count

PANEL_KEYS = ("L", "K", "delta", "epsilon")
GROUP_WIDTH = 0.84
"""Share of a group's place that its bars take."""
HATCH = "//////"
PAGE_HEIGHT = 9.4

ORDERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "T": (r"ascending $T_t(i)$ (Algorithm 1)", "#0072B2"),
        "mean": (r"ascending $\hat{\mu}_t(i)$", "#E69F00"),
        "-mean": (r"descending $\hat{\mu}_t(i)$", "#F6DA9C"),
        "U": (r"ascending $U_t(i)$", "#C44E00"),
        "-U": (r"descending $U_t(i)$", "#F0B48C"),
        "L": (r"ascending $L_t(i)$", "#007E5C"),
        "-L": (r"descending $L_t(i)$", "#8CD0BB"),
    }
)
"""Display order -> label and colour: a hue for what is sorted by, the lighter shade for descending."""
OTHERS = ("#0072B2", "#E69F00", "#C44E00", "#007E5C", "#CC79A7", "#56B4E9", "#999999")
"""Colours of learners that differ in more than their display order; these are labelled by name."""


@dataclass(frozen=True)
class Layout:
    """Sizes of a figure with one panel or with many: inches, and points for the text."""

    columns: int
    panel_height: float
    rest: float
    title: float
    group: float
    count: float
    line: float


SINGLE = Layout(columns=1, panel_height=2.2, rest=1.0, title=9, group=8, count=6.5, line=0.7)
GRID = Layout(columns=2, panel_height=1.05, rest=1.0, title=7.5, group=5.5, count=4, line=0.5)


@dataclass(frozen=True)
class Look:
    """How the bars of a learner are drawn."""

    label: str
    color: str


@styled
def draw_bars(
    summary: pd.DataFrame,
    instances: Mapping[str, AnyInstance],
    learners: Mapping[str, LearnerEntry],
    cap: int | None = None,
) -> Figure:
    """One panel for each `L, K, delta, epsilon`, one group of bars an instance, one bar a learner.

    Args:
        summary: columns of `summary.csv`.
        instances: entries of the study by name, for the labels of the groups.
        learners: entries of the study by name; their `order` gives label and colour.
        cap: number of steps at which trials were stopped, drawn as a line.
    """
    panels = _panels(summary)
    looks = _looks(list(dict.fromkeys(summary["learner"])), learners)
    groups = list(dict.fromkeys(summary["instance"]))
    layout = SINGLE if len(panels) == 1 else GRID
    figure, frames = _grid(len(panels), layout)
    for axes, part in zip(frames, panels, strict=True):
        _draw_panel(axes, part, groups, looks, layout)
        if cap:
            axes.axhline(cap, color="black", linewidth=0.6, linestyle=":", zorder=1)
    _label_groups(frames, [_group_label(name, instances.get(name)) for name in groups], layout)
    _label_steps(figure, frames, summary)
    _add_legend(figure, looks, bool((summary["n_capped"] > 0).any()), cap)
    return figure


def _panels(summary: pd.DataFrame) -> list[pd.DataFrame]:
    """Parts of the summary in the order of the paper; two values of epsilon stand side by side."""
    names = ["delta", "L", "K", "epsilon"]
    place = {name: {value: i for i, value in enumerate(dict.fromkeys(summary[name]))} for name in names}
    parts = [part for _, part in summary.groupby(names, sort=False)]
    return sorted(parts, key=lambda part: [place[name][part[name].iloc[0]] for name in names])


def _looks(names: Sequence[str], learners: Mapping[str, LearnerEntry]) -> dict[str, Look]:
    orders = {name: str(learners[name].spec.options.get("order")) for name in names if name in learners}
    if sorted(orders.values()) == sorted(set(orders.values()) & set(ORDERS)):
        return {name: Look(*ORDERS[order]) for name, order in orders.items()}
    return {name: Look(plain(name), color) for name, color in zip(names, cycle(OTHERS), strict=False)}


def _grid(panels: int, layout: Layout) -> tuple[Figure, list[Axes]]:
    rows = math.ceil(panels / layout.columns)
    figure = new_figure(TEXT_WIDTH, min(PAGE_HEIGHT, layout.panel_height * rows + layout.rest))
    frames = list(figure.subplots(rows, layout.columns, sharex=True, sharey=True, squeeze=False).flat)
    for axes in frames[panels:]:
        axes.remove()
    return figure, frames[:panels]


def _draw_panel(
    axes: Axes, part: pd.DataFrame, groups: Sequence[str], looks: Mapping[str, Look], layout: Layout
) -> None:
    axes.set_yscale("log")
    axes.set_title(
        values_label({name: part[name].iloc[0] for name in PANEL_KEYS}, PANEL_KEYS), pad=3, fontsize=layout.title
    )
    width = GROUP_WIDTH / len(looks)
    for i, (learner, look) in enumerate(looks.items()):
        bars = part[part["learner"] == learner]
        shift = (i - (len(looks) - 1) / 2) * width
        _draw_bars(axes, bars, [groups.index(name) + shift for name in bars["instance"]], width, look, layout)


def _draw_bars(axes: Axes, bars: pd.DataFrame, at: Sequence[float], width: float, look: Look, layout: Layout) -> None:
    means = bars["mean_steps"]
    spread = [(means - bars["ci_low"]).fillna(0), (bars["ci_high"] - means).fillna(0)]
    drawn = axes.bar(at, means, width, color=look.color, edgecolor="black", linewidth=0.3, zorder=2)
    axes.errorbar(at, means, yerr=spread, fmt="none", ecolor="black", elinewidth=layout.line, zorder=4)
    for patch, x, n, top in zip(drawn, at, bars["n_capped"], bars["ci_high"].fillna(means), strict=True):
        if n > 0:
            patch.set_hatch(HATCH)
            axes.annotate(
                f"{n:g}", (x, top), (0, 1), textcoords="offset points", ha="center", va="bottom", fontsize=layout.count
            )


def _group_label(name: str, entry: AnyInstance | None) -> str:
    return "\n".join(weights_parts(entry)) or plain(name)


def _label_groups(frames: Sequence[Axes], labels: Sequence[str], layout: Layout) -> None:
    for i, axes in enumerate(frames):
        axes.set_xticks(range(len(labels)), labels, fontsize=layout.group)
        axes.tick_params(axis="x", length=0, labelbottom=i + layout.columns >= len(frames))
        axes.set_xlim(-0.5, len(labels) - 0.5)


def _label_steps(figure: Figure, frames: Sequence[Axes], summary: pd.DataFrame) -> None:
    # A bar on a log axis starts somewhere: at a power of ten that leaves some of the smallest one.
    bottom = 10.0 ** math.floor(math.log10(summary["mean_steps"].min() / 1.5))
    frames[0].set_ylim(bottom, summary["mean_steps"].max() * 3)
    for axes in frames:
        axes.yaxis.set_minor_formatter(NullFormatter())
    if len(frames) == 1:
        frames[0].set_ylabel(f"{STEPS_LABEL} (steps)")
    else:
        figure.supylabel(f"{STEPS_LABEL} (steps)", fontsize=9)


def _add_legend(figure: Figure, looks: Mapping[str, Look], capped: bool, cap: int | None) -> None:
    handles: list[Patch | Line2D] = [
        Patch(facecolor=look.color, edgecolor="black", linewidth=0.3, label=look.label) for look in looks.values()
    ]
    if capped:
        label = "trials reached the cap (number above the bar)"
        handles.append(Patch(facecolor="white", edgecolor="black", linewidth=0.3, hatch=HATCH, label=label))
    if cap:
        handles.append(Line2D([], [], color="black", linewidth=0.6, linestyle=":", label=f"cap, {_steps(cap)} steps"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, columnspacing=1.5)


def _steps(cap: int) -> str:
    digits, _, exponent = f"{cap:.0e}".partition("e")
    power = f"10^{{{int(exponent)}}}"
    exact = float(f"{cap:.0e}") == cap and int(exponent) > 3
    return f"${power}$" if exact and digits == "1" else rf"${digits} \times {power}$" if exact else count(cap)
