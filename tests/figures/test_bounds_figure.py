"""What the figures of the bounds consist of."""

import numpy as np
import pandas as pd
import pytest

from cascadebai_cli.figures.bounds import draw_bounds
from cascadebai_cli.figures.schematic import draw_schematic, optimal_sets
from cascadebai_cli.figures.style import render
from cascadebai_cli.study.instances import TwoLevel


def table_of(instances):
    K = np.arange(20, 25)
    parts = [
        {"instance": name, "L": 128, "delta": 0.1, "epsilon": 0.0, "K": k}
        | {"lower": 10.0 * k, "mean_steps": 100.0 * k, "upper": 1000.0 * k}
        for name in instances
        for k in reversed(K)
    ]
    return pd.DataFrame(parts)


def test_measured_steps_lie_between_two_lines_on_a_log_axis():
    (axes,) = draw_bounds(table_of(["x"]), {}).axes
    assert axes.get_yscale() == "log"
    upper, dots, lower = axes.get_lines()
    assert upper.get_xdata().tolist() == [20, 21, 22, 23, 24]
    assert (upper.get_ydata() > dots.get_ydata()).all()
    assert (dots.get_ydata() > lower.get_ydata()).all()


@pytest.mark.parametrize(("panels", "places"), [(1, 1), (2, 2), (3, 3), (5, 6), (6, 6)])
def test_the_legend_takes_an_empty_place_or_stands_below(panels, places):
    figure = draw_bounds(table_of([f"setting {i}" for i in range(panels)]), {})
    assert len(figure.axes) == places
    assert len(figure.legends) == (panels == places)
    figure.draw_without_rendering()


def test_panels_have_letters_and_the_weights_of_the_config():
    entry = TwoLevel(name="setting 1", family="two_level", w_star="1/K", w_prime="1/K**2")
    figure = draw_bounds(table_of(["setting 1", "mine"]), {"setting 1": entry})
    assert [axes.get_title() for axes in figure.axes] == ["(a) $w^{*} = 1/K$, $w′ = 1/K^{2}$", "(b) mine"]


def test_varying_sizes_make_panels_of_their_own():
    table = pd.concat([table_of(["x"]), table_of(["x"]).assign(epsilon=0.05)])
    titles = [axes.get_title() for axes in draw_bounds(table, {}).axes]
    assert titles == [r"(a) x, $\epsilon = 0$", r"(b) x, $\epsilon = 0.05$"]


def test_optimal_sets_are_those_of_the_altered_instances():
    L, K = 6, 3
    weights = np.linspace(0.7, 0.2, L)
    for instance, optimal in enumerate(optimal_sets(L, K)):
        w = weights.copy()
        if 1 <= instance <= K:
            w[instance - 1] = weights[K] - 0.01
        elif instance > K:
            w[instance - 1] = weights[K - 1] + 0.01
        assert np.flatnonzero(optimal).tolist() == sorted(np.argsort(-w)[:K].tolist())


@pytest.mark.parametrize(("L", "K"), [(8, 4), (2, 1), (5, 4)])
def test_schematic_names_its_rows_and_columns(L, K):
    figure = draw_schematic(L, K)
    (axes,) = figure.axes
    assert len(axes.get_yticks()) == L + 1
    assert axes.get_yticklabels()[0].get_text() == "0"
    assert axes.get_xticklabels()[-1].get_text() == "$L$"
    assert len(axes.texts) == L
    assert render(figure, "png", title="x", rows_sha256="0") == render(figure, "png", title="x", rows_sha256="0")
