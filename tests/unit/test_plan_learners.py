"""How long simulated runs take, by estimates: which budgets are left out hangs on them."""

import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cascadebai_cli.engines.simulate import Trial, simulate_block
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.logs.read import Log
from cascadebai_cli.planning import runs
from cascadebai_cli.planning.options import Wanted
from cascadebai_cli.planning.plan import Answers
from cascadebai_cli.planning.question import Question
from cascadebai_cli.planning.runs import CANDIDATES, Pace
from cascadebai_cli.running.runner import Backend, collect
from cascadebai_cli.running.watch import SILENT, Watch
from cascadebai_cli.store.summary import mean_interval

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


# --- Rounds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 7, 8, 24, 40])
def test_the_first_runs_are_spread_as_all_are(n):
    turn = runs.turns_of(np.arange(n), n, 8)
    assert sorted(turn) == list(range(n))
    assert abs(np.mean(turn[:8]) - np.mean(turn)) <= n / 16
    assert np.ptp(turn[:8]) >= 0.75 * (n - 1)


def test_as_many_runs_follow_as_are_missing():
    assert runs.missing_runs(8, 0.05, 0.05) == 0
    assert runs.missing_runs(8, 0.1, 0.05) == 25
    assert runs.missing_runs(8, np.inf, 0.05) > 40
    turns, places = {"a": [3, 5, 3, 4], "b": [3, 3]}, [("a", 3), ("a", 4), ("a", 5), ("b", 3)]
    assert runs.next_round(turns, places, {"a": 3, "b": 0}) == [2, 0, 1, 0]
    assert turns == {"a": [4], "b": [3, 3]}
    assert runs.next_round(turns, places, {"a": 9, "b": 9}) == [0, 1, 0, 2]
    assert runs.next_round(turns, places, {"a": 9, "b": 9}) == [0, 0, 0, 0]


def question(L, views, **wanted):
    """A log whose page views over effort scatter less the more items it has."""
    rates = np.concatenate([[0.5, 0.45], np.full(L - 2, 0.1)])
    counts = np.full(L, float(views))
    return Question.about(
        Log("log", tuple(map(str, range(L))), rates * views, counts, ()), Path("log.csv"), Wanted(2, **wanted)
    )


class Slow(Watch):
    """A watch that makes all take longer; what it says must not matter."""

    def progress(self, run):
        self.lines = []
        return nullcontext(lambda: (time.sleep(0.002), self.lines.append(run.line())))


def numbers(question, keys, trials=None, watch=SILENT):
    test = runs.Test.of(question, keys, trials, Backend("sequential"), watch)
    return {one.key: [row.steps for row in one.rows] for one in test.learners}, test


def test_each_learner_ends_once_its_answer_is_known():
    keys = ["kl-lucb++", "cascadebai-kl"]
    _, test = numbers(question(3, 10_000), keys[:1])
    assert test.learners[0].views.n == 40
    many, test = numbers(question(60, 10_000), keys)
    for one in test.learners:
        assert 8 <= one.views.n < 40
        assert one.views.error <= 0.05
    slow = Slow()
    again, _ = numbers(question(60, 10_000), keys, watch=slow)
    assert again == many
    assert any(", known to " in line for line in slow.lines)


def test_fewer_than_two_rounds_run_at_once(monkeypatch):
    monkeypatch.setattr(runs, "_MOST_TRIALS", 15)
    asked = []
    monkeypatch.setattr(runs, "collect", lambda *given: (asked.append(sum(map(len, given[1]))), collect(*given)))
    numbers(question(60, 10_000), ["kl-lucb++"])
    assert asked == [15]


def test_a_number_of_trials_is_fixed():
    found, _ = numbers(question(60, 10_000), ["kl-lucb++"], trials=13)
    assert len(found["kl-lucb++"]) == 13


def test_a_budget_ends_once_its_chances_are_known():
    sure, doubtful = (
        Answers.of(question(12, 1000, budget=budget), ["uniform"], None, Backend("sequential"), SILENT).learners[0]
        for budget in (400, 40)
    )
    assert (sure.then.n, sure.error <= 0.025) == (80, True)
    assert doubtful.then.n > 80
    assert doubtful.error <= 0.026 or doubtful.then.n == 400


# --- Lists that stay ------------------------------------------------------------------------------------------------


def test_lists_that_stay_for_a_share_take_hardly_more_page_views():
    """With lists that stay for all the page views of a list, they take clearly more."""
    w, taken = np.array([0.5, 0.4, 0.2, 0.1]), {}
    for batch in (1, runs._STAYS, 0.9):
        trials = [Trial(w, np.random.default_rng([3, run])) for run in range(400)]
        learner = partial(LearnerSpec("kl-lucb++", {"batch": batch}).build, 4, 2, 0.1, 0.0)
        taken[batch] = mean_interval(np.array([run.steps for run in simulate_block(learner, trials)]))
    assert taken[runs._STAYS].low < 1.08 * taken[1].high
    assert taken[0.9].low > 1.1 * taken[1].high


def test_a_batch_of_page_views_makes_a_test_longer():
    one, hundred, thousand = (
        numbers(question(4, 500, batch=batch), ["kl-lucb++"], 12)[0]["kl-lucb++"] for batch in (1, 100, 1000)
    )
    assert all(steps % 1000 == 0 for steps in thousand)
    assert np.mean(one) < np.mean(hundred) < np.mean(thousand)


def test_lists_that_stay_longer_than_a_test_takes_leave_nothing_open():
    """Two lists hold all items, and all truths are decided after them."""
    views = numbers(question(4, 500, batch=100_000), ["kl-lucb++"])[1].learners[0].views
    assert (views.low, views.median, views.high) == (200_000, 200_000, 200_000)
