"""How long simulated runs take, by estimates: which budgets are left out hangs on them."""

from types import SimpleNamespace

import numpy as np
import pytest

from cascadebai_cli.planning import runs
from cascadebai_cli.planning.numbers import Tolerance
from cascadebai_cli.planning.runs import CANDIDATES, Pace

HARD = np.array([1e12])


def seconds(key, budgets, efforts=HARD, L=10, w_K=0.5):
    return CANDIDATES[key].seconds(budgets, efforts, L, w_K)


def test_a_run_that_goes_on_from_budget_to_budget_costs_its_longest():
    assert seconds("kl-lucb++", [10, 1000]) == seconds("kl-lucb++", [1000])
    assert seconds("sar", [10, 1000]) == pytest.approx(seconds("sar", [10]) + seconds("sar", [1000]))
    assert seconds("uniform", []) == 0


def test_a_learner_that_stops_before_its_budget_costs_no_more():
    easy = np.array([100.0])
    assert seconds("kl-lucb++", [10**9], easy) == seconds("kl-lucb++", [800], easy)
    assert seconds("uniform", [10**9], easy) == seconds("uniform", [10**9])


def test_what_is_skipped_through_takes_no_longer_than_its_end():
    assert seconds("cascadebai-kl", [10**15]) == seconds("cascadebai-kl", [10**9]) < 1


def test_rare_clicks_slow_kl_lucb_down_and_nobody_else():
    assert seconds("kl-lucb++", [10**6], w_K=1e-4) > 7 * seconds("kl-lucb++", [10**6])
    assert seconds("sar", [10**6], w_K=1e-4) == seconds("sar", [10**6])


def test_very_rare_clicks_slow_down_what_is_skipped_through():
    """Bounds then move by less than they are rounded, and some millions of rounds cannot be skipped."""
    assert seconds("cascadebai-kl", [10**6], w_K=1e-4) == pytest.approx(seconds("cascadebai-kl", [10**6]), rel=1e-3)
    assert seconds("cascadebai-kl", [10**10], w_K=2e-9) > 100


def test_page_views_within_some_seconds():
    pace = Pace(1.0, 0.1, 1e-3, 1e-4)
    assert pace.seconds(pace.within(10, 10), 10) == pytest.approx(10, abs=2e-3)
    assert pace.within(0.5, 10) == 1


def test_runs_side_by_side_share_the_time_of_a_turn():
    pace = Pace(0.0, 0.0, 1e-6, turn=4e-5)
    assert pace.seconds(1e6, 10, runs=40) == pytest.approx(2.0)
    assert pace.seconds(1e6, 10) == pytest.approx(41.0)
    assert pace.runs(40 * 2.0, 1e6, 10) == 40
    assert pace.runs(39.0, 1e6, 10) < 1
    assert pace.within(2.0, 10, runs=40) == pytest.approx(10**6, abs=1)


# --- Runs with a larger tolerance than the planned one --------------------------------------------------------------


def ran(tolerance, power):
    """Runs whose page views over effort are a power of the effort."""
    return [(i, SimpleNamespace(steps=7 * effort ** (1 + power))) for i, effort in enumerate(tolerance.efforts)]


@pytest.mark.parametrize(("power", "taken"), [(0.0, 0.0), (0.2, 0.2), (-0.1, 0.0), (0.9, 0.5)])
def test_page_views_over_effort_grow_as_two_tolerances_show(power, taken):
    planned, one, wider = (
        Tolerance(float("nan"), 0.01, np.ones(3), size * np.array([1.0, 2.0, 4.0])) for size in (1e4, 1e3, 4e2)
    )
    size = runs._Size(3, 10**9, one, 1.0, wider=wider)
    question = SimpleNamespace(planned=planned)
    assert runs._grown(question, (ran(one, power), ran(wider, power)), size) == pytest.approx(10**taken)


def test_runs_with_the_planned_tolerance_do_not_grow():
    planned = Tolerance(float("nan"), 0.01, np.ones(1), np.array([1e4]))
    size = runs._Size(3, 10**9, planned, 1.0)
    assert runs._grown(SimpleNamespace(planned=planned), (ran(planned, 0.2), []), size) == 1
