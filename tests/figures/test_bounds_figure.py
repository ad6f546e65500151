"""What the figures of the bounds consist of."""

import drawn
import numpy as np
import pytest
from synthetic import scaling_config, write_results

from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.figures.pictures import _optimal_sets, draw_schematic
from cascadebai_cli.figures.style import render


def study(folder, settings=1, instances=None, **changes):
    config = scaling_config(settings, K=[20, 22, 21, 24, 23], trials=2, plot={"kind": "bounds"}, **changes)
    config["instances"] = instances or config["instances"]
    return load_results(write_results(folder, config))


def two_level(name, w_star="1/K", w_prime="1/K**2"):
    return {"name": name, "family": "two_level", "w_star": w_star, "w_prime": w_prime}


def test_measured_steps_lie_between_two_lines_on_a_log_axis(tmp_path):
    (axes,) = drawn.figure(study(tmp_path)).axes
    assert axes.get_yscale() == "log"
    upper, dots, lower = axes.get_lines()
    assert upper.get_xdata().tolist() == [20, 21, 22, 23, 24]
    assert (upper.get_ydata() > dots.get_ydata()).all()
    assert (dots.get_ydata() > lower.get_ydata()).all()


def test_bounds_of_unrelated_instances_are_not_joined(tmp_path):
    instances = [two_level("a 1"), {"name": "b 1", "family": "linear", "w_max": 0.7, "w_min": 0.1}]
    (axes,) = drawn.figure(study(tmp_path, instances=instances), x="instance", where={"K": 20}, panels="none").axes
    assert {line.get_linestyle() for line in axes.get_lines()} == {"None"}
    (bars,) = axes.collections
    assert [len(segment) for segment in bars.get_segments()] == [2, 2]


def test_the_learner_is_named_and_those_that_are_left_out_are_too(tmp_path):
    learners = [
        {"name": "ours", "algorithm": "cascadebai"},
        *({"name": name, "algorithm": "kl-lucb++"} for name in "ab"),
    ]
    results = study(tmp_path, learners=learners)
    assert drawn.data(results).remark.endswith(
        "bounds shows ours, of which the upper bound is proved, and leaves out a and b"
    )
    (legend,) = drawn.figure(results).legends
    assert "measured mean of ours" in [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize(("panels", "places"), [(1, 1), (2, 2), (3, 3), (5, 6), (6, 6)])
def test_the_legend_takes_an_empty_place_or_stands_below(tmp_path, panels, places):
    instances = [two_level(f"setting {i % 5 + 1} {chr(97 + i)} 1") for i in range(panels)]
    figure = drawn.figure(study(tmp_path, instances=instances))
    assert len(figure.axes) == places
    assert len(figure.legends) == (panels == places)
    figure.draw_without_rendering()


def test_panels_have_letters_and_the_weights_of_the_config(tmp_path):
    figure = drawn.figure(study(tmp_path, instances=[two_level("setting 1"), two_level("setting 2 1", 0.5, 0.25)]))
    assert [axes.get_title() for axes in figure.axes] == [
        "(a) $w^{*} = 1/K$, $w′ = 1/K^{2}$",
        "(b) $w^{*} = 0.5$, $w′ = 0.25$",
    ]


def test_instances_with_the_same_formulas_keep_their_names(tmp_path):
    figure = drawn.figure(study(tmp_path, instances=[two_level("setting 1"), two_level("setting 2 1")]))
    assert [axes.get_title() for axes in figure.axes] == ["(a) setting 1", "(b) setting 2 1"]


def test_varying_sizes_make_panels_of_their_own(tmp_path):
    titles = [axes.get_title() for axes in drawn.figure(study(tmp_path, epsilon=[0.0, 0.05]), x="K").axes]
    weights = "$w^{*} = 1/K$, $w′ = 1/K^{2}$"
    assert titles == [rf"(a) {weights}, $\epsilon = 0$", rf"(b) {weights}, $\epsilon = 0.05$"]


def test_optimal_sets_are_those_of_the_altered_instances():
    L, K = 6, 3
    weights = np.linspace(0.7, 0.2, L)
    for instance, optimal in enumerate(_optimal_sets(L, K)):
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
    assert render([figure], "png", title="x", rows_sha256="0") == render([figure], "png", title="x", rows_sha256="0")
