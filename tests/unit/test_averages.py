"""Means over instances that are alike but for one option."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import drawn
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sweeps import call, refusal
from synthetic import Cell, scaling_config, write_results

from cascadebai_cli.analysis.cells import averaged, cells_with, with_names_apart
from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.summary import mean_interval
from cascadebai_cli.study.plot import alike

FACTORS = [1.0, 2.0, 6.0]


def draws(name: str, high: float, number: int = 3) -> list[dict[str, Any]]:
    formulas = {"family": "random", "w_star": f"uniform(0.5, {high})", "w_prime": 0.1}
    return [{"name": f"{name} {i}", **formulas, "replicate": i} for i in range(1, number + 1)]


def steps(cell: Cell) -> float:
    last = str(cell["instance"])[-1]
    return 1000.0 * cell["K"] * (FACTORS[int(last) - 1] if last.isdigit() else 1.0)


def study(folder: Path, **changes: Any) -> StudyResults:
    two = {"name": "two", "family": "two_level", "w_star": 0.5, "w_prime": 0.1}
    plot = {"kind": "curves", "average": "replicate"}
    instances = [*draws("easy draw", 0.9), *draws("hard draw", 0.6), two]
    words = {"K": [2, 4], "trials": 3, "instances": instances, "plot": plot, **changes}
    return load_results(write_results(folder, scaling_config(1, **words), steps, spread=0.0))


def names(instances: list[dict[str, Any]], folder: Path, option: str = "replicate") -> dict[str, int]:
    found = alike(study(folder, instances=instances, plot={"kind": "curves"}).study.instances, option)
    return {name: len(entries) for name, entries in found.items()}


def test_instances_that_differ_in_the_option_only_go_together(tmp_path: Path) -> None:
    assert names([*draws("easy draw", 0.9), *draws("hard draw", 0.6, 1)], tmp_path) == {
        "easy draw": 3,
        "hard draw 1": 1,
    }


def test_a_value_that_is_elsewhere_in_the_name_too_is_left_there(tmp_path: Path) -> None:
    assert names(draws("2 weights, draw", 0.9), tmp_path) == {"2 weights, draw": 3}


def test_names_without_the_option_or_taken_by_others_become_a_range(tmp_path: Path) -> None:
    named = [{**entry, "name": name} for entry, name in zip(draws("", 0.9), "abc", strict=True)]
    assert names(named, tmp_path / "a") == {"a to c": 3}
    other = {"name": "draw", "family": "explicit", "weights": [0.5, 0.1]}
    assert names([other, *draws("draw", 0.9)], tmp_path / "b") == {"draw": 1, "draw 1 to draw 3": 3}


def test_each_instance_counts_once_and_the_interval_is_that_of_their_means(tmp_path: Path) -> None:
    results = study(tmp_path)
    rows = averaged(results, "replicate").summary
    assert rows["instance"].tolist() == ["easy draw"] * 2 + ["hard draw"] * 2 + ["two"] * 2
    means = 2000 * np.array(FACTORS)
    half = stats.t.interval(0.95, 2, 0, stats.sem(means) / means.mean())[1]
    ends = 6000 * np.exp([-half, half])
    np.testing.assert_allclose(rows.loc[0, ["mean_steps", "ci_low", "ci_high"]].astype(float), [6000, *ends])
    assert rows.loc[0, ["n", "n_capped", "error_rate"]].tolist() == [9, 0, 0]
    assert rows.loc[0, "error_high"] == pytest.approx(1 - 0.025 ** (1 / 9))
    assert rows.loc[0, "cell_id"] == "+".join(results.summary["cell_id"][[0, 2, 4]])
    assert rows.iloc[4].to_dict() == results.summary.iloc[12].to_dict()


def test_a_mean_with_a_lower_limit_is_one(tmp_path: Path) -> None:
    results = study(tmp_path)
    results.summary.loc[0, ["n_capped", "error_rate"]] = [3, np.nan]
    rows = averaged(results, "replicate").summary
    assert rows.loc[0, ["n", "n_capped", "error_rate"]].tolist() == [9, 3, 0]
    point = drawn.data(results).panels[0].points.iloc[0]
    assert (point["is_limit"], point["y"]) == (True, 6000)


def test_errors_count_once_an_instance_however_many_trials_each_has(tmp_path: Path) -> None:
    """Trials that end with `max_errors` are fewest where errors are most frequent."""
    results = study(tmp_path, K=[2], instances=draws("draw", 0.9))
    results.summary[["n", "n_capped", "error_rate"]] = [[10, 0, 0.5], [1000, 0, 0.01], [400, 100, 0.03]]
    row = averaged(results, "replicate").summary.iloc[0]
    assert row[["n", "n_capped"]].tolist() == [1410, 100]
    assert row["error_rate"] == pytest.approx(0.18)
    ends = stats.beta.ppf([0.025, 0.975], [5.4, 6.4], [30 - 5.4 + 1, 30 - 5.4])
    np.testing.assert_allclose(row[["error_low", "error_high"]].astype(float), ends)
    assert drawn.data(results).wrong == ""
    results.summary["error_rate"] = [0.5, 0.4, 0.33]
    assert drawn.data(results).wrong.endswith("than delta beyond chance: CascadeBAI (41.0%)")


def test_budgets_stay_apart_and_right_items_have_an_interval_of_their_means(tmp_path: Path) -> None:
    results = study(tmp_path, K=[2], instances=draws("draw", 0.9))
    twice = [
        results.summary.assign(budget=budget, mean_right=[0.5, 1.0, 1.5], right_low=0.0, right_high=2.0)
        for budget in (9, 18)
    ]
    rows = averaged(replace(results, summary=pd.concat(twice)), "replicate").summary
    assert rows[["budget", "mean_right"]].to_numpy().tolist() == [[9, 1.0], [18, 1.0]]
    low, high = stats.t.interval(0.95, 2, 1.0, stats.sem([0.5, 1.0, 1.5]))
    np.testing.assert_allclose(rows.loc[0, ["right_low", "right_high"]].astype(float), [low, high])


def test_a_figure_has_a_panel_for_all_draws_together(tmp_path: Path) -> None:
    results = study(tmp_path)
    assert [panel.title for panel in drawn.data(results).panels][:2] == [("easy draw",), ("hard draw",)]
    chosen = drawn.data(results, instances=["hard draw"], labels={"hard draw": "ours"})
    assert [panel.title for panel in chosen.panels] == [("ours",)]
    page = drawn.figure(results, kind="scaling", instances=["two"])
    assert [text.get_text() for text in page.legends[0].get_texts()] == ["mean over replicate, with its 95 % interval"]


def test_summary_and_report_show_the_averages(tmp_path: Path) -> None:
    directory = study(tmp_path).directory
    lines = call("summary", directory, "--average", "replicate", "--where", "instance=hard draw").out.splitlines()
    assert lines[0].endswith(
        "; means over replicate, each value once, with the interval of their means (on a log scale); "
        "an interval of 3 values of replicate tells little"
    )
    assert len(lines) == 5
    assert "6,000" in lines[3]
    assert call("report", directory, "-o", tmp_path / "r.html").code == 0
    page = (tmp_path / "r.html").read_text()
    assert "averaged over replicate" in page
    assert "The numbers in this figure (6 rows)" in page


def test_an_interval_of_two_draws_holds_only_what_steps_can_be_and_is_said_to_tell_little(tmp_path: Path) -> None:
    directory = study(tmp_path, instances=draws("draw", 0.9, 2), K=[2]).directory
    for words in ((), ("--columns", "steps")):
        out = call("summary", directory, "--average", "replicate", *words).out
        assert "(on a log scale); an interval of 2 values of replicate tells little" in out
        assert " to " in out.splitlines()[-1]
    row = averaged(load_results(directory), "replicate").summary.iloc[0]
    assert 0 < row["ci_low"] < row["mean_steps"] < row["ci_high"]


def test_the_interval_on_a_log_scale_is_the_usual_one_where_means_are_alike() -> None:
    values = np.array([1000.0, 1010.0, 1005.0, 1003.0, 998.0])
    usual, ours = mean_interval(values), mean_interval(values, positive=True)
    np.testing.assert_allclose([ours.low, ours.high], [usual.low, usual.high], rtol=1e-4)
    assert mean_interval(np.array([5.0, 5.0]), positive=True)[3:] == (5.0, 5.0)
    assert np.isnan(mean_interval(np.array([5.0]), positive=True).low)


def test_an_option_that_no_instance_has_is_refused(tmp_path: Path) -> None:
    directory = study(tmp_path / "a").directory
    assert refusal("summary", directory, "--average", "replicat") == (
        "--average: 'replicat' is no option of an instance; did you mean replicate?\n"
    )
    none = study(tmp_path / "b", instances=[{"name": "x", "family": "explicit", "weights": [0.5, 0.1]}], plot={})
    assert refusal("plot", none.directory, "--average", "replicate") == (
        "--average 'replicate' is no option of an instance; draws have replicate, and families of your own their keys\n"
    )


def test_averages_stand_side_by_side_with_the_remark_that_few_are_in_them(tmp_path: Path) -> None:
    code, out, _ = call("summary", study(tmp_path).directory, "--average", "replicate", "--pivot", "K")
    assert code == 0
    assert "an interval of 3 values of replicate tells little" in out
    assert re.findall(r"K = \d", out) == ["K = 2", "K = 4"]


def test_a_list_is_the_value_of_no_cell(tmp_path: Path) -> None:
    sentence = refusal("summary", study(tmp_path).directory, "--where", "K=-")
    assert sentence == "K: - is in no cell; use one of 2, 4\n"


def test_a_condition_on_no_column_names_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--where Q: there is no such column; "):
        cells_with(study(tmp_path).summary, ["Q=1"])


@pytest.mark.parametrize(
    ("instances", "learners", "renamed"), [(True, False, "instance"), (False, True, "learner"), (False, False, "")]
)
def test_names_that_mean_other_things_elsewhere_get_the_name_of_their_directory(
    instances: bool, learners: bool, renamed: str, tmp_path: Path
) -> None:
    two = {"name": "two", "family": "two_level", "w_star": 0.5, "w_prime": 0.1}
    one = {"name": "one", "algorithm": "cascadebai"}
    other = {"K": [6], "instances": [{**two, "w_prime": 0.2} if instances else two]}
    other["learners"] = [{**one, "confidence": "kl"} if learners else one]
    plain = {"K": [2], "instances": [two], "learners": [one]}
    made = [scaling_config(1, **plain), scaling_config(1, **other)]
    read = [
        load_results(write_results(tmp_path / str(i), config, lambda _: 9.0, spread=0.0))
        for i, config in enumerate(made)
    ]
    for column, name in {"instance": "two", "learner": "one"}.items():
        found = [set(results.summary[column]) for results in with_names_apart(read)]
        assert found == [{f"{name} ({i})" if column == renamed else name} for i in range(2)]
