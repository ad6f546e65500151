"""Figures of the trials themselves: quantiles of their steps, and the share that has stopped."""

from pathlib import Path

import drawn
import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer
from scipy import stats
from sweeps import refusal, sweep, write_config
from synthetic import scaling_config, write_results

from cascadebai_cli.analysis.results import StudyResults, load_results
from cascadebai_cli.analysis.tables import figure_data
from cascadebai_cli.store.summary import quantiles_of
from cascadebai_cli.store.trials import read_trials

TWO = [{"name": name, "algorithm": "cascadebai", "sigma": sigma} for name, sigma in (("half", 0.5), ("one", 1.0))]


def study(folder: Path, cap: int | None = None, **changes: object) -> StudyResults:
    config = scaling_config(1, **{"K": [20, 30], "learners": TWO, "trials": 40, **changes})
    return load_results(write_results(folder, config, lambda cell: 100.0 * cell["K"], spread=0.3, cap=cap))


def steps(results: StudyResults, cell_id: str) -> np.ndarray:
    trials = pd.concat(read_trials(results.directory / "trials.csv"))
    return np.sort(trials.loc[trials["cell_id"] == cell_id, "steps"].to_numpy(float))


@pytest.mark.parametrize("n", [1, 2, 5, 20, 100, 1001])
def test_quantiles_are_values_and_intervals_hold_as_often_as_they_say(n: int) -> None:
    values = np.arange(1.0, n + 1)
    found = quantiles_of(values)
    for name, level in (("q10_steps", 0.1), ("median_steps", 0.5), ("q90_steps", 0.9)):
        assert found[name] == np.quantile(values, level, method="inverted_cdf")
    for name, level in (("median", 0.5), ("q90", 0.9)):
        low, high = found[f"{name}_low"], found[f"{name}_high"]
        if np.isnan(low):
            assert np.isnan(high)
            continue
        # x_(low) <= quantile < x_(high) if low to high - 1 of the values are below it
        held = stats.binom.cdf(high - 1, n, level) - stats.binom.cdf(low - 1, n, level)
        tighter = stats.binom.cdf(high - 2, n, level) - stats.binom.cdf(low, n, level)
        assert held >= 0.95 > tighter
    assert np.isnan(found["median_low"]) == (n < 6)


def test_quantiles_beside_the_mean(tmp_path: Path) -> None:
    results = study(tmp_path)
    (axes,) = drawn.figure(results, kind="quantiles", log="none").axes
    curves = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    assert [curve.get_label() for curve in curves] == ["half", "one"]
    assert axes.get_ylabel() == "median, 10 to 90 % (steps)"
    for learner, curve in zip(("half", "one"), curves, strict=True):
        cells = results.summary[results.summary["learner"] == learner].sort_values("K")
        expected = [
            np.quantile(steps(results, one), [0.1, 0.5, 0.9], method="inverted_cdf") for one in cells["cell_id"]
        ]
        assert list(curve[0].get_ydata()) == [one[1] for one in expected]
        ends = [(part[0][1], part[1][1]) for part in curve[2][0].get_segments()]
        assert np.array(ends) == pytest.approx(np.array(expected)[:, [0, 2]])
    means = [line for line in axes.get_lines() if line.get_marker() == "_" and len(line.get_xdata())]
    assert sorted(y for line in means for y in line.get_ydata()) == sorted(results.summary["mean_steps"])


def test_a_quantile_is_a_lower_limit_only_if_capped_trials_have_it(tmp_path: Path) -> None:
    results = study(tmp_path, cap=2200, learners=TWO[:1])
    share = (results.summary["n_capped"] / results.summary["n"]).tolist()
    assert 0 < share[0] < 0.5 < share[1]
    assert list(drawn.data(results, y="steps").points["is_limit"]) == [True, True]
    assert list(drawn.data(results, y="median").points["is_limit"]) == [False, True]
    assert list(drawn.data(results, y="q90").points["is_limit"]) == [True, True]


def test_the_share_that_has_stopped_rises_by_one_trial_at_a_time_and_ends_at_the_cap(tmp_path: Path) -> None:
    results = study(tmp_path, cap=2200)
    figure = drawn.figure(results, kind="ecdf", where={"K": 20}, log="none")
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("steps", "share of trials stopped")
    for learner, line in zip(("half", "one"), axes.get_lines(), strict=True):
        cell = results.summary[(results.summary["learner"] == learner) & (results.summary["K"] == 20)].iloc[0]
        all_steps = steps(results, cell["cell_id"])
        x, y = (np.asarray(part, dtype=float) for part in line.get_data())
        for at in (x[0] - 1, x[len(x) // 2], x[-1]):
            shown = y[x <= at][-1] if (x <= at).any() else 0
            assert shown == pytest.approx(((all_steps <= at) & (all_steps < 2200)).mean())
        assert (x[-1], y[-1]) == (2200, 1 - cell["n_capped"] / cell["n"])
    said = drawn.data(results, kind="ecdf", where={"K": 20}).alternative
    assert said.startswith("Share of the trials of each learner that have stopped, against steps. ")
    assert " of the trials at steps = 2200." in said


def test_other_numbers_make_panels_of_shares(tmp_path: Path) -> None:
    chart = drawn.data(study(tmp_path), kind="ecdf")
    assert [panel.title[-1] for panel in chart.panels] == ["$K = 20$", "$K = 30$"]
    assert not chart.points["is_wrong"].any()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--panels", "K"),
            "instance varies in a line of ecdf and is neither panels nor lines; add it to --panels or ",
        ),
        (
            ("--panels", "none", "--lines", "learner"),
            "instance and K vary in a line of ecdf and are neither panels nor ",
        ),
    ],
)
def test_a_line_of_shares_is_of_one_cell(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    two = [
        {"name": name, "family": "two_level", "w_star": w_star, "w_prime": 0.1}
        for name, w_star in (("a", 0.5), ("b", 0.6))
    ]
    results = study(tmp_path, instances=two)
    lines = () if "--lines" in words else ("--lines", "learner")
    assert refusal("plot", results.directory, "--kind", "ecdf", *words, *lines).startswith(sentence)


def test_no_trial_that_stopped_makes_no_figure_of_shares(tmp_path: Path) -> None:
    directory = study(tmp_path, cap=10).directory
    said = "y: no cell has a value of stopped: no trial stopped before the cap"
    assert refusal("plot", directory, "--kind", "ecdf").rstrip() == said


def test_the_table_beside_the_figure_has_a_row_a_cell(tmp_path: Path) -> None:
    results = study(tmp_path)
    for kind in ("quantiles", "ecdf"):
        table = figure_data(results, kind)
        assert len(table) == 4
        assert {"median_steps", "q10_steps", "q90_steps"} <= set(table)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--kind", "ecdf", "--x", "K"), "--x 'K' is not what ecdf shows; leave x out, or choose another kind"),
        (("--kind", "ecdf", "--y", "steps"), "--y 'steps' is not what ecdf shows; leave y out, or choose another kind"),
        (("--kind", "bars", "--y", "stopped"), "--y 'stopped' cannot be shown by bars; choose another kind, such as "),
    ],
)
def test_words_that_such_a_figure_does_not_take(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    assert refusal("plot", study(tmp_path).directory, *words).startswith(sentence)


def test_the_hardness_of_an_instance_on_the_axis(tmp_path: Path) -> None:
    weights = [0.9, 0.7, 0.4, 0.3]
    instances = [
        {"name": "list", "family": "explicit", "weights": weights},
        {"name": "n", "family": "csv", "path": "x", "rate": "r"},
    ]
    results = study(tmp_path, instances=instances[:1], L=[4], K=[1, 2], learners=TWO[:1])
    chart = drawn.data(results, x="hardness", panels="none", lines="learner")
    # a gap is the distance to the best item outside, or to the worst item inside
    expected = {1: 2 * 0.2**-2 + 0.5**-2 + 0.6**-2, 2: 0.5**-2 + 2 * 0.3**-2 + 0.4**-2}
    assert chart.points.set_index("K")["x"].to_dict() == pytest.approx(expected)
    unknown = study(tmp_path / "unknown", instances=instances[1:], L=[4], K=[1, 2], learners=TWO[:1])
    with pytest.raises(Exception, match="x: hardness is no number for learner half on instance n; leave these out"):
        drawn.data(unknown, x="hardness")


# --- Differences between learners that meet the same rewards --------------------------------------------------------


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """A paired study in which the second learner is the slower one, and the third is the faster one."""
    folder = tmp_path_factory.mktemp("pairs")
    learners = "\n".join(
        f"  - {{name: {name}, algorithm: cascadebai, sigma: {sigma}}}"
        for name, sigma in (("plain", 0.5), ("slow", 1.0), ("fast", 0.3))
    )
    config = write_config(folder, trials=8, extra=f"paired: true\nlearners:\n{learners}\nplot: {{kind: curves}}\n")
    assert sweep(config, folder / "r").code == 0
    return load_results(folder / "r")


@pytest.mark.parametrize("kind", ["curves", "bars"])
def test_the_difference_is_that_of_the_pairs_with_its_interval(kind: str, pairs: StudyResults) -> None:
    chart = drawn.data(pairs, kind=kind, y="difference")
    assert (chart.lines, chart.y.label) == (["slow", "fast"], "steps saved against plain")
    for row in chart.points.to_dict("records"):
        cells = pairs.summary[(pairs.summary["instance"] == row["instance"]) & (pairs.summary["K"] == row["K"])]
        ids = dict(zip(cells["learner"], cells["cell_id"], strict=True))
        saved = (pairs.steps_of_trials[ids["plain"]] - pairs.steps_of_trials[ids[row["learner"]]]).to_numpy(float)
        half = stats.sem(saved) * stats.t.ppf(0.975, len(saved) - 1)
        assert [row[end] for end in ("y", "low", "high")] == pytest.approx(
            [saved.mean(), saved.mean() - half, saved.mean() + half]
        )
        assert (row["y"] < 0) == (row["learner"] == "slow")


def test_differences_below_zero_are_drawn_whole_beside_a_line_at_zero(pairs: StudyResults) -> None:
    page = drawn.figure(pairs, y="difference", labels={"plain": "ours"})
    for axes in page.axes:
        assert axes.get_yscale() == "linear"
        assert axes.get_ylabel().startswith("steps saved against ours")
        assert 0.0 in [float(line.get_ydata()[0]) for line in axes.get_lines() if len(line.get_xdata()) == 2]
        ends = [y for one in axes.containers for segment in one[2][0].get_segments() for _, y in segment]
        assert axes.get_ylim()[0] < min(ends) < 0 < max(ends) < axes.get_ylim()[1]
    assert "from -" in drawn.data(pairs, y="difference").alternative


def test_a_difference_needs_pairs(pairs: StudyResults, tmp_path: Path) -> None:
    results = study(tmp_path / "r")
    assert refusal("plot", results.directory, "--y", "difference") == (
        f"y: {results.directory} has no differences of learners in the same trials, as it is not paired; add paired: "
        "true, and sweep again\n"
    )
    assert "a difference is that of the trials of one cell; leave average out" in refusal(
        "plot", pairs.directory, "--y", "difference", "--average", "replicate"
    )


def test_the_numbers_of_a_figure_stand_in_the_order_of_the_config(tmp_path: Path) -> None:
    results = study(tmp_path, delta=[0.1, 0.01])
    assert list(dict.fromkeys(figure_data(results, "curves")["delta"])) == [0.1, 0.01]
