"""The comparison of means keeps its rate of false alarms, and sees small changes that all cells share."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cascadebai_cli.workflows.verify import FALSE_ALARMS, compare_means, moved, same_numbers

CELLS = 15


def summary(steps):
    return pd.DataFrame(
        {
            "cell_id": [f"{i}" for i in range(len(steps))],
            "n": steps.shape[1],
            "mean_steps": steps.mean(axis=1),
            "sd_steps": steps.std(axis=1, ddof=1),
        }
    )


def skewed(rng, n, shift=1.0):
    """Steps as racing gives them: 3 % spread, a longer tail above."""
    return shift * 1e5 * (1 + 0.03 * (rng.gamma(4, size=(CELLS, n)) - 4) / 2)


def compared(rng, shift=1.0):
    groups = {"all": [f"{i}" for i in range(CELLS)]}
    return compare_means(summary(skewed(rng, 20)), summary(skewed(rng, 20, shift)), groups)


def test_z_is_standard_normal_if_nothing_has_moved():
    rng = np.random.default_rng(1)
    rounds = [compared(rng) for _ in range(300)]
    cells = np.array([c.z for comparisons in rounds for c in comparisons[:-1]])
    together = np.array([comparisons[-1].z for comparisons in rounds])
    assert stats.kstest(cells, "norm").pvalue > 1e-4
    assert stats.kstest(together, "norm").pvalue > 1e-4
    assert abs(together.std() - 1) < 0.15


def test_false_alarms_are_as_rare_as_stated():
    """At a hundred times the rate, to see some: no more than binomial chance allows."""
    rng = np.random.default_rng(2)
    level, rounds = 100 * FALSE_ALARMS, 600
    alarms = sum(min(c.p_value for c in compared(rng)) < level / (CELLS + 1) for _ in range(rounds))
    assert stats.binomtest(alarms, rounds, level, alternative="greater").pvalue > 1e-3
    assert alarms > rounds * level / 4  # not so careful that nothing is ever seen


def test_a_shared_change_of_two_per_cent_is_seen_though_no_cell_shows_it():
    rng = np.random.default_rng(3)
    found = moved(compared(rng, 1.02), CELLS + 1)
    assert "all" in [c.what for c in found]
    assert found[-1].change == pytest.approx(0.02, abs=0.008)


def test_means_without_spread_are_compared_exactly():
    same = summary(np.full((2, 5), 1e7))
    other = same.assign(mean_steps=[1e7, 1e7 + 1])
    assert [c.z for c in compare_means(same, same, {})] == [0, 0]
    assert moved(compare_means(same, other, {}), 1)[0].what == "1"


def answered(rng, n, rates):
    """Cells with a budget: steps hang on it, and few trials take fewer."""
    steps = np.where(rng.random((len(rates), n)) < 1e-3, 1e3, 2e3)
    wrong = rng.random((len(rates), n)) < np.array(rates)[:, None]
    return summary(steps).assign(budget=2000, error_rate=wrong.mean(axis=1))


RATES = [0.5, 0.2, 0.05, 0.01, 0.001, 0.0] * 3


def test_answers_are_compared_by_their_errors_and_seldom_raise_an_alarm():
    rng = np.random.default_rng(4)
    groups = {"all": [f"{i}" for i in range(len(RATES))]}
    level, rounds = 100 * FALSE_ALARMS, 300
    old = answered(rng, 2000, RATES)
    found = [compare_means(old, answered(rng, 20, RATES), groups) for _ in range(rounds)]
    alarms = sum(min(c.p_value for c in one) < level / (len(RATES) + 1) for one in found)
    assert stats.binomtest(alarms, rounds, level, alternative="greater").pvalue > 1e-3
    assert {c.measure for one in found for c in one} == {"error rate"}
    together = np.array([one[-1].z for one in found])
    assert abs(together.mean()) < 0.3
    assert 0.5 < together.std() < 1.1


def test_answers_that_are_wrong_more_often_are_seen():
    rng = np.random.default_rng(5)
    groups = {"all": [f"{i}" for i in range(len(RATES))]}
    worse = [0.3 + rate / 2 for rate in RATES]
    found = moved(compare_means(answered(rng, 2000, RATES), answered(rng, 20, worse), groups), len(RATES) + 1)
    assert found[-1].what == "all"
    assert found[-1].z > 0 < found[-1].change


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"c1": [1 + 1e-9, np.nan]}, True),
        ({"c1": [1.001, np.nan]}, False),
        ({"c1": ["one", np.nan]}, False),
        ({"model": ["K", "x"]}, False),
        ({"model": [1, 2]}, False),
    ],
)
def test_same_numbers(changes, same):
    table = pd.DataFrame({"model": ["K", "K^2"], "c1": [1.0, np.nan]})
    assert same_numbers(table, table.assign(**changes)) == same
    assert not same_numbers(table, table.rename(columns={"c1": "c2"}))
