"""The position-based model: planted examination comes back, and where it cannot be known that is said."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.read import Log
from cascadebai_cli.model.problem import SEMI_BANDIT
from cascadebai_cli.model.users import PositionBased
from cascadebai_cli.planning.options import Wanted
from cascadebai_cli.planning.positions import Corrected, Positions
from cascadebai_cli.planning.question import Question
from cascadebai_cli.planning.rates import RateLaw
from cascadebai_cli.planning.runs import CANDIDATES, cell_of

THETA = np.array([1.0, 0.6, 0.4, 0.15])


def planted(L=30, views=5000, largest=0.5, seed=1):
    """Items at all positions, good ones more at the top."""
    rng = np.random.default_rng(seed)
    w = np.sort(rng.uniform(0.02, largest, L))[::-1]
    item, position = (grid.ravel() for grid in np.meshgrid(np.arange(L), np.arange(4), indexing="ij"))
    share = np.where((item < L // 2) == (position < 2), 0.9, 0.1)
    n = (views * share).astype(float)
    clicks = rng.binomial(n.astype(int), THETA[position] * w[item]).astype(float)
    return w, Positions(item, position, clicks, n)


@pytest.mark.parametrize("largest", [0.06, 0.5, 0.98])
def test_planted_examination_comes_back(largest):
    w, shown = planted(largest=largest)
    theta, found = shown.examination
    assert theta == pytest.approx(THETA, rel=0.08)
    assert found == pytest.approx(w, rel=0.2, abs=0.01)
    raw = shown.by_item(shown.clicks) / shown.by_item(shown.views)
    assert np.abs(found - w).mean() < np.abs(raw - w).mean() / 4


def test_it_is_the_largest_likelihood():
    _, shown = planted(L=6, views=300)
    theta, w = shown.examination

    def height(theta, w):
        p = theta[shown.position] * w[shown.item]
        return (shown.clicks * np.log(p) + (shown.views - shown.clicks) * np.log1p(-p)).sum()

    rng = np.random.default_rng(0)
    for _ in range(200):
        moved = np.minimum(theta * np.exp(rng.normal(0, 0.02, 4)), 1), w * np.exp(rng.normal(0, 0.02, 6))
        assert height(*moved) < height(theta, w) + 1e-6


def test_views_that_were_looked_at():
    shown = Positions(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1.0, 0, 8]), np.array([10.0, 20, 10]))
    assert shown.looked_at([1, 0.5]).tolist() == [20, 8]


def test_positions_that_share_no_clicked_item_are_apart():
    item, position = np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2])
    clicks, views = np.array([1.0, 0, 1, 1]), np.ones(4) * 5
    groups = Positions(item, position, clicks, views).groups
    assert groups[0] == groups[1] != groups[2]


def log_of(cells):
    table = pd.DataFrame(cells, columns=["item", "position", "clicks", "views"])
    sums = table.groupby("item")[["clicks", "views"]].sum().to_numpy(float).T
    return Log("log.csv", tuple("abc"[: sums.shape[1]]), *sums, (), table)


def test_a_log_with_positions_is_corrected_and_says_so():
    found = Corrected.of(log_of([(0, "10", 20, 100), (0, "2", 40, 100), (1, "2", 10, 100), (1, "10", 5, 100)]))
    log, seen = found.log, found.seen
    assert list(seen) == ["2", "10"]
    assert seen == pytest.approx({"2": 1, "10": 0.5}, rel=0.01)
    assert log.views == pytest.approx([150, 150], rel=0.01)
    assert "2 1, 10 0.5" in log.notes[-1]


def test_what_cannot_be_known_is_said():
    with pytest.raises(ConfigError, match=r"no chain of clicked items links position 1 to position 2"):
        Corrected.of(log_of([(0, "1", 5, 9), (1, "2", 3, 9)]))


def test_a_log_without_positions_stays():
    log = Log("log.csv", ("a", "b"), np.ones(2), np.ones(2) * 3, ())
    assert Corrected.of(log).log is log


def made(low, high, seed, L=12, views=1200):
    """A log of items that are shown higher the better they are, and the rates that made it."""
    rng = np.random.default_rng([5, seed])
    w = np.sort(rng.uniform(low, high, L))[::-1]
    item, place = (grid.ravel() for grid in np.meshgrid(np.arange(L), np.arange(4), indexing="ij"))
    n = np.floor(views * np.where(item * 4 // L == place, 0.6, 0.4 / 3))
    clicks = rng.binomial(n.astype(int), np.array([1, 0.7, 0.45, 0.3])[place] * w[item]).astype(float)
    cells = pd.DataFrame({"item": item, "position": (place + 1).astype(str), "clicks": clicks, "views": n})
    sums = cells.groupby("item")[["clicks", "views"]].sum().to_numpy(float).T
    return w, Log("log.csv", tuple(map(str, range(L))), *sums, (), cells)


def covered(w, clicks, views):
    low, high = RateLaw.of(clicks, views, 60).interval()
    return (low <= w) & (w <= high)


@pytest.mark.slow
def test_intervals_know_of_the_error_of_the_correction():
    """Intervals of 90 %: the twin takes the looks for views, as if they had been counted."""
    ours, twin = [], []
    for seed in range(20):
        w, log = made(0.6, 0.95, seed)
        found = Corrected.of(log)
        ours.append(covered(w, *found.counts(60, np.random.default_rng(seed))))
        twin.append(covered(w, found.log.clicks, found.log.views))
    assert 0.8 <= np.mean(ours) <= 0.97
    assert np.mean(twin) < 0.8


def test_looks_say_less_than_as_many_views():
    _, log = made(0.6, 0.95, 1)
    found = Corrected.of(log)
    clicks, looks = found.counts(400, np.random.default_rng(0))
    assert (looks < found.log.views).all()
    assert looks[-3:] == pytest.approx(found.log.views[-3:], rel=0.9)
    assert (clicks <= looks).all()
    spread = clicks.std(axis=0) / clicks.mean(axis=0)
    assert (spread > 0).all()
    assert (spread <= found.examined.errors.max() * 1.2).all()


def test_the_simulated_users_look_as_those_of_the_log():
    _, log = made(0.1, 0.3, 2)
    question = Question.about(log, Path("log.csv"), Wanted(3, truth="mean", epsilon=0.05))
    cell = cell_of(question, CANDIDATES["kl-lucb++"], 0)
    assert isinstance(cell.feedback.users, PositionBased)
    assert cell.feedback.users.looks == pytest.approx(tuple(question.corrected.seen.values())[:3])
    assert (cell.feedback.shuffled, cell.feedback.reveal) == (True, SEMI_BANDIT.reveal)
    assert cell.runs_with == "lockstep"
    racing = cell_of(question, CANDIDATES["cascadebai-kl"], 0)
    assert (racing.feedback.shuffled, racing.feedback.users) == (False, cell.feedback.users)
    assert cell.epsilon == pytest.approx(0.05 * np.mean(question.looks))
    assert question.least is None
