"""Rows of a summary and the words of a plot become panels of series: the data, before anything is drawn."""

import importlib.util
from pathlib import Path
from typing import Any

import drawn
import numpy as np
import pytest
from synthetic import Cell, planted_steps, scaling_config, write_results

from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.figures.draw import DRAWERS
from cascadebai_cli.study.kinds import KINDS, of_each_kind

TWO = [{"name": name, "algorithm": "cascadebai", "sigma": sigma} for name, sigma in (("half", 0.5), ("one", 1.0))]


def study(folder: Path, settings: int = 1, **changes: Any) -> StudyResults:
    config = scaling_config(settings, **{"trials": 2, "K": [20, 30, 40], "plot": {"kind": "curves"}, **changes})
    return load_results(write_results(folder, config))


@pytest.fixture
def eighteen(tmp_path: Path) -> StudyResults:
    """Three instances, two learners, three epsilons, three K."""
    return study(tmp_path / "eighteen", 3, learners=TWO, epsilon=[0.0, 0.05, 0.1])


def test_a_kind_that_nothing_draws_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(DRAWERS) == set(KINDS)
    with pytest.raises(LookupError, match=r"^pie: no kind of figure$"):
        of_each_kind("drawer", {**DRAWERS, "pie": None})
    monkeypatch.setattr("cascadebai_cli.study.kinds.KINDS", {**KINDS, "pie": KINDS["bars"]})
    with pytest.raises(LookupError, match=r"^pie: this kind of figure has no drawer in figures/draw\.py$"):
        loaded_again("cascadebai_cli.figures.draw")


def loaded_again(name: str) -> None:
    """Run a module as if it had not been imported yet; the one that has been stays as it is."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def shape(chart: Any) -> list[tuple[str, list[str]]]:
    return [("; ".join(panel.title), [series.label for series in panel.series]) for panel in chart.panels]


@pytest.mark.parametrize(("axis", "values"), [("K", [20, 30]), ("delta", [0.1, 0.05]), ("epsilon", [0.0, 0.1])])
def test_the_one_thing_that_varies_is_x(axis: str, values: list[float], tmp_path: Path) -> None:
    fixed = {"K": [20], "delta": [0.1], "epsilon": [0.0]}
    chart = drawn.data(study(tmp_path / "r", **{**fixed, axis: values}))
    (panel,) = chart.panels
    assert chart.x.column == axis
    assert list(panel.series[0].points["x"]) == sorted(values)
    assert list(panel.series[0].points["y"]) == list(panel.series[0].points["mean_steps"])


def test_of_several_things_that_vary_the_first_is_x_and_the_others_make_panels(eighteen: StudyResults) -> None:
    chart = drawn.data(eighteen)
    assert (chart.x.column, shape(chart)) == ("K", shape(drawn.data(eighteen, x="K")))
    assert chart.remark == (
        "K (3 values) and epsilon (3 values) vary: K is x, and epsilon makes panels; --x epsilon, or plot: "
        "{x: epsilon} in the config, changes that"
    )
    assert drawn.data(eighteen, x="epsilon").remark == ""
    assert drawn.data(eighteen, where={"epsilon": 0.05}).remark == ""


def test_what_varies_and_is_not_x_makes_lines_where_panels_are_named(tmp_path: Path) -> None:
    results = study(tmp_path / "r", L=[64, 128], delta=[0.1, 0.2])
    chart = drawn.data(results, panels="instance")
    assert len(chart.panels) == 1
    assert chart.lines == [rf"CascadeBAI, $L = {L},\ \delta = {delta}$" for L in (64, 128) for delta in (0.1, 0.2)]
    assert chart.remark.startswith(
        "K (3 values), L (2 values) and delta (2 values) vary: K is x, and L and delta make lines; --x L, or "
    )
    assert drawn.data(results, panels="K").x.column == "L"


def test_what_is_neither_x_nor_lines_makes_panels(eighteen: StudyResults) -> None:
    chart = drawn.data(eighteen, x="K")
    assert len(chart.panels) == 9
    assert {tuple(series.label for series in panel.series) for panel in chart.panels} == {("half", "one")}
    assert chart.panels[1].title == ("$w^{*} = 1/K$, $w′ = 1/K^{2}$", r"$\epsilon = 0.05$")


def test_with_panels_the_rest_makes_lines(eighteen: StudyResults) -> None:
    chart = drawn.data(eighteen, x="K", panels="instance")
    assert len(chart.panels) == 3
    epsilons = [rf"$\epsilon = {value}$" for value in ("0", "0.05", "0.1")]
    assert list(chart.lines) == [f"{name}, {epsilon}" for name in ("half", "one") for epsilon in epsilons]


def test_what_is_fixed_neither_makes_panels_nor_stands_in_titles(eighteen: StudyResults) -> None:
    chart = drawn.data(eighteen, where={"epsilon": 0.05}, instances="setting 3")
    assert shape(chart) == [(r"$w^{*} = 1/\sqrt{K}$, $w′ = 1/K$", ["half", "one"])]


def test_an_option_of_a_learner_on_the_axis(tmp_path: Path) -> None:
    chart = drawn.data(study(tmp_path / "r", 2, learners=TWO, K=[20]), x="sigma", panels="none", lines="instance")
    (panel,) = chart.panels
    assert [list(series.points["x"]) for series in panel.series] == [[0.5, 1.0], [0.5, 1.0]]
    assert chart.x.label == r"$\sigma$"


def test_the_gap_on_the_axis_joins_instances(tmp_path: Path) -> None:
    instances = [
        {"name": f"setting {i}", "family": "two_level", "w_star": 0.5, "w_prime": w}
        for i, w in enumerate((0.4, 0.3, 0.1), 1)
    ]
    results = study(tmp_path / "r", instances=instances, K=[20])
    results.summary["w_prime"] = [0.4, 0.3, 0.1]
    (panel,) = drawn.data(results, x="gap").panels
    np.testing.assert_allclose(panel.series[0].points["x"], [0.1, 0.2, 0.4])


def test_the_gap_of_any_instance_is_in_the_manifest_and_unknown_in_older_ones(tmp_path: Path) -> None:
    instances = [{"name": "setting 1", "family": "csv", "path": "x.csv", "rate": "r"}]
    config = scaling_config(1, trials=2, K=[20, 30, 40], instances=instances, plot={"kind": "curves"})
    cells = {f"{i:016x}": {"gap": gap} for i, gap in enumerate((0.1, 0.3, 0.2))}
    known = write_results(tmp_path / "known", config, cells=cells)
    (panel,) = drawn.data(load_results(known), x="gap").panels
    assert list(panel.series[0].points["x"]) == [0.1, 0.2, 0.3]
    with pytest.raises(ConfigError, match="x: gap is no number for learner CascadeBAI on instance setting 1"):
        drawn.data(study(tmp_path / "r", instances=instances), x="gap")


def test_two_cells_at_one_place_are_refused_with_what_differs(eighteen: StudyResults) -> None:
    with pytest.raises(ConfigError) as error:
        drawn.data(eighteen, x="K", panels="instance", lines="learner")
    assert str(error.value) == (
        "epsilon varies at K = 20 and is neither x, panels nor lines; add it to --panels or --lines, or choose one "
        "value, as with --where epsilon=0.0"
    )


@pytest.mark.parametrize(
    ("measure", "column"),
    [("steps", "mean_steps"), ("observations", "mean_observations"), ("error_rate", "error_rate")],
)
def test_what_is_measured(measure: str, column: str, tmp_path: Path) -> None:
    (panel,) = drawn.data(study(tmp_path / "r"), y=measure).panels
    assert list(panel.points["y"]) == list(panel.points[column])
    assert panel.points["low"].isna().all() == (measure == "observations")


def test_steps_per_lower_bound(tmp_path: Path) -> None:
    (panel,) = drawn.data(study(tmp_path / "r"), y="steps_per_lower_bound").panels
    np.testing.assert_allclose(panel.points["y"] * panel.points["lower"], panel.points["mean_steps"])
    np.testing.assert_allclose(panel.points["low"] * panel.points["lower"], panel.points["ci_low"])


def test_steps_per_sharp_bound_are_over_what_bounds_has_written(tmp_path: Path) -> None:
    results = study(tmp_path / "r")
    path = tmp_path / "r" / "bounds.csv"
    with pytest.raises(ConfigError, match=r"bounds\.csv is missing; `cascadebai bounds CONFIG --sharp "):
        drawn.data(results, y="steps_per_sharp_bound")
    cells = results.summary[["cell_id"]].assign(sharp=[10.0, 20.0, 40.0])
    cells.drop(columns="sharp").to_csv(path, index=False)
    with pytest.raises(ConfigError, match=r"column sharp is missing; `cascadebai bounds CONFIG --sharp "):
        drawn.data(results, y="steps_per_sharp_bound")
    cells[::-1].to_csv(path, index=False)
    (panel,) = drawn.data(results, y="steps_per_sharp_bound").panels
    np.testing.assert_allclose(panel.points["y"] * [10, 20, 40], panel.points["mean_steps"])
    np.testing.assert_allclose(panel.points["high"] * [10, 20, 40], panel.points["ci_high"])
    cells.assign(sharp=np.nan).to_csv(path, index=False)
    with pytest.raises(ConfigError, match="the sharp bound is known for epsilon = 0 only"):
        drawn.data(results, y="steps_per_sharp_bound")


def test_order_and_choice_of_learners(eighteen: StudyResults) -> None:
    assert list(drawn.data(eighteen, x="K", order="one").lines) == ["one", "half"]
    assert list(drawn.data(eighteen, x="K", learners=["one", "half"]).lines) == ["one", "half"]
    assert drawn.data(eighteen, x="K", order="setting 2").panels[0].title[0].startswith("$w^{*} = 1 - 1/K^{2}$")


def test_an_option_that_only_some_learners_have_makes_lines(tmp_path: Path) -> None:
    learners = [*TWO, {"name": "other", "algorithm": "batrac", "b": 1}, {"name": "last", "algorithm": "batrac", "b": 2}]
    chart = drawn.data(study(tmp_path / "r", learners=learners), lines=["b", "learner"], panels="none")
    assert chart.lines == ["no b, half", "no b, one", "b = 1, other", "b = 2, last"]
    assert [series.label for series in chart.panels[0].series] == chart.lines


def test_labels_stand_for_names_and_columns(eighteen: StudyResults) -> None:
    labels = {"half": "ours ($\\sigma = 1/2$)", "setting 1": "small $5", "K": "length", "steps": "cost"}
    chart = drawn.data(eighteen, x="K", where={"epsilon": 0}, labels=labels)
    assert list(chart.lines) == ["ours ($\\sigma = 1/2$)", "one"]
    assert (chart.panels[0].title, chart.x.label, chart.y.label) == (("small $5",), "length", "cost")


def test_a_label_that_is_no_mathematics_is_refused(eighteen: StudyResults) -> None:
    with pytest.raises(ConfigError, match=r"labels: half: \$\\foo\$ cannot be set as mathematics \(.*foo"):
        drawn.data(eighteen, x="K", labels={"half": r"$\foo$"})


def test_two_directories_are_told_apart_where_they_clash(tmp_path: Path) -> None:
    a, b = study(tmp_path / "a"), study(tmp_path / "b")
    assert list(drawn.data(a, b).lines) == ["CascadeBAI (a)", "CascadeBAI (b)"]


def test_two_directories_without_a_clash_go_together(tmp_path: Path) -> None:
    a, b = study(tmp_path / "a", K=[20, 30]), study(tmp_path / "b", K=[40, 50])
    (panel,) = drawn.data(a, b).panels
    assert list(panel.series[0].points["x"]) == [20, 30, 40, 50]


def test_instances_of_the_same_name_and_other_weights_are_told_apart(tmp_path: Path) -> None:
    other = [{"name": "setting 1", "family": "two_level", "w_star": 0.5, "w_prime": 0.1}]
    chart = drawn.data(study(tmp_path / "a"), study(tmp_path / "b", instances=other))
    assert [panel.title[0] for panel in chart.panels] == ["$w^{*} = 1/K$, $w′ = 1/K^{2}$", "$w^{*} = 0.5$, $w′ = 0.1$"]


def test_fits_go_with_their_series(tmp_path: Path) -> None:
    chart = drawn.data(study(tmp_path / "r", 2, plot={"kind": "scaling"}))
    for panel in chart.panels:
        (series,) = panel.series
        assert series.fit is not None
        assert {"x", "fitted", "low", "high"} <= set(series.fit)
        assert series.fit["x"].iloc[0] == 20


def test_the_same_cells_of_two_directories_have_the_fits_of_their_own(tmp_path: Path) -> None:
    def twice(cell: Cell) -> float:
        return 2 * planted_steps(cell)

    config = scaling_config(1, K=[20, 30, 40])
    one = load_results(write_results(tmp_path / "one", config))
    two = load_results(write_results(tmp_path / "two", config, twice))
    (panel,) = drawn.data(one, two, lines="learner").panels
    for series in panel.series:
        assert series.fit is not None
        ends = series.fit["fitted"].iloc[[0, -1]].to_numpy()
        np.testing.assert_allclose(ends, series.points["y"].iloc[[0, -1]], rtol=0.05)


def with_their_own(sizes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Instances of which each has its own L and K."""
    level = {"family": "two_level", "w_star": 0.6, "w_prime": 0.2}
    return [{"name": f"setting {i % 5 + 1} {i}", "L": [L], "K": [K], **level} for i, (L, K) in enumerate(sizes)]


@pytest.mark.parametrize(("kind", "x"), [("curves", "delta"), ("bars", "delta"), ("bars", "learner")])
def test_numbers_that_belong_to_the_instance_make_no_lines(kind: str, x: str, tmp_path: Path) -> None:
    instances = with_their_own([(40, 4), (12, 3), (10, 2), (20, 5), (24, 6), (16, 7)])
    results = study(tmp_path / "r", instances=instances, learners=TWO, delta=[0.1, 0.01])
    chart = drawn.data(results, kind=kind, x=x, panels="instance")
    assert len(chart.panels) == 6
    assert chart.lines == (["half", "one"] if x == "delta" else [r"$\delta = 0.1$", r"$\delta = 0.01$"])


def test_instances_that_make_lines_do_not_take_their_numbers_along(tmp_path: Path) -> None:
    results = study(tmp_path / "r", instances=with_their_own([(40, 4), (12, 3)]), learners=TWO, delta=[0.1, 0.01])
    chart = drawn.data(results, x="delta", panels="none")
    assert chart.lines == ["half, setting 1 0", "half, setting 2 1", "one, setting 1 0", "one, setting 2 1"]
    (first, second) = drawn.data(results, x="delta", panels="K").panels
    assert [series.label for series in first.series] == ["half, setting 1 0", "one, setting 1 0"]
    assert [series.label for series in second.series] == ["half, setting 2 1", "one, setting 2 1"]


def test_no_interval_reaches_below_zero(tmp_path: Path) -> None:
    config = scaling_config(1, K=[20, 30], trials=2, plot={"kind": "curves"})
    results = load_results(write_results(tmp_path / "r", config, spread=0.9))
    assert (results.summary["ci_low"] < 0).any()
    assert (drawn.data(results).points["low"] >= 0).all()
