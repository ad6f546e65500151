"""The search on the published numbers: its stepping program is Algorithm 1 where nothing is changed, and its changes
are what they say."""

import numpy as np
import pytest
import yaml
from given import GivenTable
from sweeps import ROOT

from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.engines.walk import TableShape
from cascadebai_cli.learners.cascadebai import CascadeBAI, CascadeRule
from cascadebai_cli.model.problem import CASCADING
from experiments import published_rewards
from experiments.published_rewards import CHANGES, by_product, change, measured, trials, weights_of
from experiments.reward_steps import Variant, run

CONFIG = yaml.safe_load((ROOT / published_rewards.CONFIG).read_text(encoding="utf-8"))
W = np.array([0.9, 0.3, 0.85, 0.4, 0.2])
RULE = CascadeRule(5, 2, 0.1, 0.0, 0.1)


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def table_of(seed: int, rows: int) -> np.ndarray:
    """The table that a trial of the stepping program draws."""
    return np.random.default_rng(seed).random((rows, 5)) < W


@pytest.mark.parametrize("seed", range(20))
def test_looking_at_every_step_it_is_the_reference(seed: int) -> None:
    expected = run_reference(CascadeBAI(5, 2, 0.1, sigma=0.1), GivenTable(table_of(seed, 30)), CASCADING, 3000)
    found = run(Variant(look=1), RULE, W, np.random.default_rng(seed), 30, 3000)
    assert found.steps == expected.steps


def test_looking_less_often_it_stops_nearly_when_it_would() -> None:
    rule = CascadeRule(5, 2, 0.1)
    often, seldom = (
        [run(variant, rule, W, np.random.default_rng(seed), 5000, 9000).steps for seed in range(20)]
        for variant in (Variant(look=1), Variant())
    )
    late = np.array(seldom) - np.array(often)
    assert np.abs(late).max() > 0
    assert abs(late.mean()) < 0.05 * np.mean(often)


@pytest.mark.parametrize(
    "variant",
    [
        Variant(equals="kept"),
        Variant(equals="random"),
        Variant(equals="mean"),
        Variant(fill="accepted"),
        Variant(fill="rejected"),
        Variant(look=50),
        Variant(one=True, look=1),
    ],
    ids=str,
)
def test_every_variant_changes_some_run_and_finds_the_best(variant: Variant) -> None:
    changed = [run(variant, RULE, W, np.random.default_rng(seed), 5000, 9000) for seed in range(20)]
    plain = [run(Variant(look=1), RULE, W, np.random.default_rng(seed), 5000, 9000) for seed in range(20)]
    assert [one.steps for one in changed] != [one.steps for one in plain]
    assert sum(one.correct for one in changed) >= 18


def test_counts_that_start_at_1_wait_for_a_wider_radius() -> None:
    """The walk and the plain rule agree that it is another, slower run."""
    w = np.array([0.9, 0.8, 0.3, 0.2])
    runs = [
        by_product(w, 2, np.random.default_rng(3), TableShape(400), 1e6, one_more=one_more).steps
        for one_more in (False, True)
    ]
    assert runs[0] != runs[1]
    assert runs[1] == pytest.approx(runs[0], rel=0.1)


def test_weights_with_another_constant() -> None:
    assert sorted(set(weights_of("setting 1", 20, 128, 3.0))) == pytest.approx([3 / 400, 1 / 20])
    assert sorted(set(weights_of("setting 2", 20, 128, 3.0))) == pytest.approx([1 - 1 / 20, 1 - 3 / 400])


def test_every_change_is_asked_for_and_known() -> None:
    assert [entry["name"] for entry in CONFIG["changes"]] == list(CHANGES)


def test_a_cell_is_repeatable_and_capped_trials_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_rewards, "FAR", 0.01)
    found = measured(CONFIG, change(), "setting 1", 20, 2, 1000)
    assert (found["capped"], found["trials"], found["over_published"]) == (2, 2, pytest.approx(0.01, rel=1e-3))
    w = weights_of("setting 1", 20, 128, 1.0)
    one, other = (trials(CONFIG, change(), w, 20, 1000, "x", 2, 3e4) for _ in range(2))
    assert one == other
