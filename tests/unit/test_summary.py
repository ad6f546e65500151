"""Summaries of cells, and exact intervals."""

import math
import re

import pandas as pd
import pytest
from scipy import stats

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.columns import SUMMARY_CSV, TABLES, TRIALS_CSV
from cascadebai_cli.store.summary import binomial_interval, summarise, t_quantile
from cascadebai_cli.store.trials import read_trials


def trials_of(cell_id, steps, correct=None, capped=0):
    n = len(steps)
    table = pd.DataFrame(
        {
            "cell_id": cell_id,
            "study": "s",
            "instance": "a, b",
            "learner": "NA",
            "L": 5,
            "K": 2,
            "w_star": 0.9,
            "w_prime": 0.1,
            "delta": 0.1,
            "epsilon": 0.0,
            "trial": range(n),
            "status": ["stopped"] * (n - capped) + ["capped"] * capped,
            "steps": steps,
            "observations": [2 * count for count in steps],
            "correct": pd.array((correct or [1] * (n - capped)) + [None] * capped, dtype="Int8"),
        }
    )
    return table


def only(table):
    summary = summarise([table])
    assert list(summary.columns) == TABLES[SUMMARY_CSV].names()
    assert len(summary) == 1
    return summary.iloc[0]


def test_mean_and_spread_are_those_of_the_textbook():
    steps = [10, 14, 30, 2, 9]
    row = only(trials_of("c", steps))
    mean, se = stats.tmean(steps), stats.sem(steps)
    low, high = stats.t.interval(0.95, 4, mean, se)
    assert row["n"] == 5
    assert row["mean_steps"] == pytest.approx(mean, rel=1e-14)
    assert row["sd_steps"] == pytest.approx(stats.tstd(steps), rel=1e-14)
    assert row["se_steps"] == pytest.approx(se, rel=1e-14)
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low, rel=1e-12), pytest.approx(high, rel=1e-12))
    assert row["mean_observations"] == pytest.approx(2 * mean, rel=1e-14)


def test_errors_count_among_the_trials_that_stopped_and_capped_steps_count_with_the_cap():
    row = only(trials_of("c", [5, 6, 7, 100, 100], correct=[1, 0, 1], capped=2))
    assert row["n_capped"] == 2
    assert row["mean_steps"] == pytest.approx(43.6)
    assert row["error_rate"] == pytest.approx(1 / 3)
    exact = stats.binomtest(1, 3).proportion_ci(method="exact")
    assert (row["error_low"], row["error_high"]) == (pytest.approx(exact.low), pytest.approx(exact.high))


def test_one_trial_has_a_mean_and_no_spread():
    row = only(trials_of("c", [12]))
    assert row["mean_steps"] == 12
    assert all(math.isnan(row[name]) for name in ("sd_steps", "se_steps", "ci_low", "ci_high"))


def test_where_every_trial_was_capped_the_error_rate_is_unknown():
    row = only(trials_of("c", [9, 9], correct=[], capped=2))
    assert math.isnan(row["error_rate"])
    assert row["n_capped"] == 2


def test_cells_stay_in_the_order_of_the_table():
    table = pd.concat([trials_of("z", [1, 2]), trials_of("a", [3, 4])])
    assert summarise([table])["cell_id"].tolist() == ["z", "a"]


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 5, 100])
def test_a_table_read_back_gives_the_same_summary_and_names_stay_text(tmp_path, chunk):
    cells = [trials_of("0012e45678901234", [1, 5, 9], capped=1), trials_of("1234567890123456", [3, 4])]
    table = pd.concat([*cells, trials_of("x", [2])])
    path = tmp_path / "trials.csv"
    table.to_csv(path, index=False)
    again = summarise(read_trials(path, chunk))
    assert again["cell_id"].tolist() == ["0012e45678901234", "1234567890123456", "x"]
    assert again["learner"].tolist() == ["NA", "NA", "NA"]
    pd.testing.assert_frame_equal(again, summarise([table]), check_dtype=False)


def test_a_table_without_rows_has_no_cells(tmp_path):
    path = tmp_path / "trials.csv"
    trials_of("c", [1]).iloc[:0].to_csv(path, index=False)
    assert list(summarise(read_trials(path)).columns) == TABLES[SUMMARY_CSV].names()
    assert len(summarise(read_trials(path))) == 0


@pytest.mark.parametrize(("wrong", "n"), [(0, 1), (0, 20), (1, 20), (7, 20), (20, 20), (3, 1000)])
def test_binomial_interval_is_the_exact_one(wrong, n):
    exact = stats.binomtest(wrong, n).proportion_ci(0.95, method="exact")
    assert binomial_interval(wrong, n) == (pytest.approx(exact.low, abs=1e-12), pytest.approx(exact.high, abs=1e-12))


def test_without_trials_nothing_is_known():
    assert all(map(math.isnan, binomial_interval(0, 0)))
    assert math.isnan(t_quantile(1))


def test_t_quantile_of_a_table():
    assert t_quantile(10) == pytest.approx(2.262157, abs=1e-6)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", ": column cell_id is missing; run the sweep again"),
        (b"\xff\xfe", " is not UTF-8 text; run the sweep again"),
        (b"cell_id\nx\n", ": column study is missing"),
        (
            "x,s,i,l,5,2,0.9,0.1,0.1,0,0,stopped,many,9,1",
            ":2: steps: 'many' is not a whole number; run the sweep again",
        ),
        ("x,s,i,l,5,2,0.9,0.1,0.1,0,0,stopped,3,many,1", ":2: observations: 'many' is not a whole number"),
        ("x,s,i,l,5,2,0.9,0.1,0.1,0,-1,stopped,3,9,1", ":2: trial: '-1' is not a whole number"),
        (f"x,s,i,l,5,2,0.9,0.1,0.1,0,0,stopped,{10**30},9,1", f":2: steps: '{10**30}' is not a whole number"),
        (f"x,s,i,l,5,2,0.9,0.1,0.1,0,0,stopped,{2**63},9,1", f":2: steps: '{2**63}' is not a whole number"),
        ("x,s,i,l,5,2,0.9,0.1,0.1,0,0,halted,3,9,1", ":2: status: 'halted' is not stopped or capped"),
        ("x,s,i,l,5,2,0.9,0.1,0.1,0,0,stopped,3,9,2", ":2: correct: '2' is not 1, 0 or empty"),
        ("x,s,i,l,5,2,much,0.1,0.1,0,0,stopped,3,9,1", ":2: w_star: 'much' is not a number"),
        ("x,s,i,l,5,2,0.9,0.1", ":2: trial: '' is not a whole number"),
    ],
)
def test_a_damaged_file(tmp_path, content, told):
    row = content if isinstance(content, bytes) else f"{','.join(TABLES[TRIALS_CSV].names())}\n{content}\n".encode()
    (tmp_path / "trials.csv").write_bytes(row)
    with pytest.raises(ConfigError, match=re.escape(f"trials.csv{told}")):
        summarise(read_trials(tmp_path / "trials.csv"))


def test_two_trials_have_an_interval():
    assert t_quantile(2) == pytest.approx(12.7062047, abs=1e-6)
    row = only(trials_of("c", [10, 14]))
    assert (row["sd_steps"], row["ci_high"]) == (pytest.approx(8**0.5), pytest.approx(12 + 12.7062047 * 2))
