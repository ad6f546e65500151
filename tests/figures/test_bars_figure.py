"""What the figures of the display orders consist of."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from drawn import figure
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from synthetic import Cell, scaling_config, write_results

from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.figures.layout import Signs
from cascadebai_cli.figures.style import ORDER_LOOKS, render

CAP = 10**7
STUCK = {("setting 4", "mean"), ("setting 4", "U"), ("setting 5", "U")}


def steps(cell: Cell) -> float:
    key = (str(cell["instance"]), str(cell["learner"]))
    return 2e7 if key in STUCK else 1e3 * 4 ** int(key[0][-1])


def study(directory: Path, **changes: Any) -> StudyResults:
    learners = [{"name": order, "algorithm": "cascadebai", "order": order} for order in ORDER_LOOKS]
    config = {
        "L": [64],
        "K": [16],
        "learners": learners,
        "trials": 5,
        "max_steps": CAP,
        "plot": {"kind": "bars"},
        **changes,
    }
    return load_results(write_results(directory, scaling_config(5, **config), steps, cap=CAP))


def draw(results: StudyResults) -> Figure:
    return figure(results)


def groups(axes: Axes) -> list[BarContainer]:
    return [container for container in axes.containers if isinstance(container, BarContainer)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    return study(tmp_path_factory.mktemp("r") / "figure1")


def test_seven_bars_a_setting_on_a_log_axis(results: StudyResults) -> None:
    (axes,) = draw(results).axes
    assert axes.get_yscale() == "log"
    assert axes.get_title() == r"$L = 64,\ K = 16,\ \delta = 0.1,\ \epsilon = 0$"
    assert len(groups(axes)) == 7
    for order, bars in zip(ORDER_LOOKS, groups(axes), strict=True):
        rows = results.summary[results.summary["learner"] == order]
        assert [bar.get_height() for bar in bars] == list(rows["mean_steps"])
        assert {to_hex(bar.get_facecolor()).upper() for bar in bars} == {ORDER_LOOKS[order][1]}


def test_bars_of_a_setting_stand_side_by_side(results: StudyResults) -> None:
    (axes,) = draw(results).axes
    spans = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bars in groups(axes) for bar in bars)
    assert all(left[1] <= right[0] + 1e-9 for left, right in pairwise(spans))
    assert [round(sum(spans[7 * i][:1] + spans[7 * i + 6][1:]) / 2, 6) for i in range(5)] == [0, 1, 2, 3, 4]
    assert [label.get_text() for label in axes.get_xticklabels()][2] == "$w^{*} = 1/\\sqrt{K}$\n$w\N{PRIME} = 1/K$"


def test_capped_bars_are_hatched_and_numbered(results: StudyResults) -> None:
    (axes,) = draw(results).axes
    hatched = {
        (f"setting {i + 1}", order)
        for order, bars in zip(ORDER_LOOKS, groups(axes), strict=True)
        for i, bar in enumerate(bars)
        if bar.get_hatch()
    }
    assert hatched == STUCK
    assert [text.get_text() for text in axes.texts] == ["5", "5", "5"]
    arrows = [line for line in axes.get_lines() if line.get_marker() is Signs.ARROW]
    assert sum(len(line.get_xdata()) for line in arrows) == 3


def test_legend_names_the_orders_and_the_cap(results: StudyResults) -> None:
    (legend,) = draw(results).legends
    assert [text.get_text() for text in legend.get_texts()] == [
        *(label for label, _ in ORDER_LOOKS.values()),
        "lower limit: so many trials reached the cap",
        "cap, $10^{7}$ steps",
    ]


def test_without_capped_trials_nothing_is_hatched(results: StudyResults) -> None:
    study = results.study.model_copy(update={"max_steps": None})
    drawn = draw(replace(results, summary=results.summary.assign(n_capped=0), study=study))
    assert not any(bar.get_hatch() for bars in groups(drawn.axes[0]) for bar in bars)
    assert len(drawn.legends[0].get_texts()) == 7


def test_every_bar_is_visible(results: StudyResults) -> None:
    (axes,) = draw(results).axes
    bottom, top = axes.get_ylim()
    heights = [bar.get_height() for bars in groups(axes) for bar in bars]
    assert bottom < min(heights) / 1.5
    assert top > max(heights)


@pytest.mark.slow
def test_sixteen_panels_in_the_order_of_the_paper(tmp_path: Path) -> None:
    grid = {"L": [64, 128], "K": [16, 8], "delta": [0.1, 0.05], "epsilon": [0.0, 0.05]}
    drawn = draw(study(tmp_path / "figure4", **grid))
    titles = [axes.get_title() for axes in drawn.axes]
    assert len(titles) == 16
    assert titles[:3] == [
        r"$L = 64,\ K = 16,\ \delta = 0.1,\ \epsilon = 0$",
        r"$L = 64,\ K = 16,\ \delta = 0.1,\ \epsilon = 0.05$",
        r"$L = 64,\ K = 8,\ \delta = 0.1,\ \epsilon = 0$",
    ]
    assert titles[-1] == r"$L = 128,\ K = 8,\ \delta = 0.05,\ \epsilon = 0.05$"
    assert len({axes.get_ylim() for axes in drawn.axes}) == 1
    assert render([drawn], "png", title="figure4", rows_sha256="0")[0]


def test_an_unfinished_sweep_can_be_drawn(tmp_path: Path) -> None:
    results = study(tmp_path / "r", K=[16, 8, 4])
    part = results.summary[~((results.summary["K"] == 4) & (results.summary["instance"] != "setting 1"))]
    drawn = draw(replace(results, summary=part))
    assert len(drawn.axes) == 3
    assert [len(bars) for bars in groups(drawn.axes[2])] == [1] * 7


def test_learners_without_an_order_keep_their_names(tmp_path: Path) -> None:
    learners = [{"name": "kl", "algorithm": "kl"}, {"name": "$", "algorithm": "cascadebai"}]
    drawn = draw(study(tmp_path / "r", learners=learners))
    labels = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert labels[:2] == ["kl", r"\$"]
