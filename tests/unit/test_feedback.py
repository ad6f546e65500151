"""A click model that is added to the registry is simulated by its own law, and by no engine that does not know it."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from given import LEAVES_EARLY
from sweeps import call, refusal, sweep

import cascadebai_cli as cb
from cascadebai_cli.engines.simulate import ENGINES, Trial, resolve_engine, simulate
from cascadebai_cli.engines.walk import TableShape
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.cascadebai import BatRac, CascadeBAI
from cascadebai_cli.learners.fixed_budget import Uniform
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.track_and_stop import TrackAndStop
from cascadebai_cli.model.problem import CASCADING, FEEDBACKS, Instance
from cascadebai_cli.running import worker
from cascadebai_cli.store.trials import read_trials
from cascadebai_cli.study.config import load_study
from cascadebai_cli.theory.paper import lower_bound

WEIGHTS = np.array([0.9, 0.8, 0.7, 0.2, 0.1, 0.1])
MADE = {
    "skip-ahead": lambda **options: CascadeBAI(6, 3, 0.1, **options),
    "lockstep": lambda **options: KLLucb(6, 3, 0.1, **options),
    "planned": lambda **options: TrackAndStop(6, 3, 0.1, **options),
    "phases": lambda **options: Uniform(6, 3, **options),
}
"""Engine -> a learner that it is the fastest for."""
CONFIG = """\
seed: 5
trials: 3
K: 3
delta: 0.3
feedback: leaves-early
instances:
  - {name: two, family: explicit, weights: [0.9, 0.9, 0.9, 0.1, 0.1]}
learners:
  - {name: ours, algorithm: cascadebai}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of a click model that somebody has added to the registry."""
    monkeypatch.setitem(FEEDBACKS, LEAVES_EARLY.name, LEAVES_EARLY)
    (tmp_path / "study.yaml").write_text(CONFIG)
    return tmp_path / "study.yaml"


@pytest.fixture
def steps(config: Path) -> list[int]:
    """Steps of its trials, with the shorter lists that come to the same."""
    (cell,) = load_study(config).cells
    trials = [worker._prepared(5, cell, number)[0] for number in range(3)]
    return [simulate(lambda: CascadeBAI(5, 3, 0.3, list_length=2), trial, engine="reference").steps for trial in trials]


# Its own law


@pytest.mark.parametrize("kind", MADE)
def test_the_fastest_engine_that_is_exact_for_it_is_the_reference_engine(kind: str) -> None:
    assert resolve_engine("auto", MADE[kind]()) == kind
    assert resolve_engine("auto", MADE[kind](), LEAVES_EARLY) == "reference"


@pytest.mark.parametrize("kind", ["skip-ahead", "phases"])
def test_leaving_at_the_second_place_makes_the_run_of_lists_of_two(kind: str) -> None:
    """The least observed come first, whatever the length of the list."""
    long, short = (
        simulate(made, Trial(WEIGHTS, np.random.default_rng(8)), feedback=feedback, engine=engine, max_steps=3000)
        for made, feedback, engine in (
            (MADE[kind], LEAVES_EARLY, "auto"),
            (lambda: MADE[kind](list_length=2), CASCADING, "reference"),
        )
    )
    assert long == short
    assert long.steps < long.observations < 2 * long.steps


def test_a_sweep_simulates_it(config: Path, tmp_path: Path, steps: list[int]) -> None:
    assert sweep(config, tmp_path / "out").code == 0
    assert [step for part in read_trials(tmp_path / "out" / "trials.csv") for step in part["steps"]] == steps
    (cell,) = json.loads((tmp_path / "out" / "manifest.json").read_text())["cells"].values()
    assert (cell["feedback"], cell["engine"]) == ("leaves-early", "reference")


def test_run_simulates_it(config: Path, steps: list[int]) -> None:
    done = call("run", config, "--n-jobs", 1, "--trial", 0, "--quiet")
    assert done.code == 0
    assert f"{steps[0]:,}" in done.out


@pytest.mark.usefixtures("config")
def test_python_simulates_it(steps: list[int]) -> None:
    instance = cb.Instance([0.9, 0.9, 0.9, 0.1, 0.1], K=3)
    found = cb.simulate(instance, trials=3, seed=5, delta=0.3, feedback="leaves-early")
    assert found["steps"].tolist() == steps


# Refused by name


@pytest.mark.parametrize("engine", [name for name, made in ENGINES.items() if made.feedbacks is not None])
def test_an_engine_that_does_not_know_it_is_refused_by_name(engine: str, config: Path) -> None:
    known = "cascading" if engine == "walk" else "cascading and semi-bandit"
    config.write_text(f"{CONFIG}engine: {engine}\n")
    told = f"engine {engine} does not know the feedback leaves-early, only {known}; use engine: auto"
    assert refusal("run", config) == f"{config}:9: learners: 'ours': {told}\n"
    config.write_text(f"{CONFIG}engine: {engine}\nrewards: {{rows: 100}}\n")
    assert refusal("run", config) == f"{config}:9: learners: 'ours': {told}\n"


def test_only_the_reference_engine_takes_any_feedback() -> None:
    assert [name for name, made in ENGINES.items() if made.feedbacks is None] == ["reference"]


def test_a_table_of_rewards_is_not_walked() -> None:
    assert resolve_engine("auto", CascadeBAI(4, 2, 0.1), LEAVES_EARLY, TableShape(50)) == "reference"


def test_another_law_under_a_known_name_is_not_taken_for_it() -> None:
    alike = replace(CASCADING, reveal=LEAVES_EARLY.reveal)
    assert resolve_engine("auto", CascadeBAI(4, 2, 0.1), alike) == "reference"
    with pytest.raises(ConfigError, match="engine skip-ahead does not know the feedback cascading"):
        resolve_engine("skip-ahead", CascadeBAI(4, 2, 0.1), alike)


def test_pulls_that_repeat_an_item_are_refused() -> None:
    with pytest.raises(ConfigError, match="more than once in a list, which leaves-early feedback does not define"):
        resolve_engine("auto", BatRac(4, 2, 0.1, r=2), LEAVES_EARLY)


def test_a_name_that_is_not_in_the_registry_is_refused_with_those_that_are(config: Path) -> None:
    config.write_text(CONFIG.replace("leaves-early", "zzz"))
    told = "feedback: 'zzz' is not known; use one of cascading, semi-bandit, last-click, thinned, leaves-early"
    assert refusal("run", config) == f"{config}:5: {told}\n"
    config.write_text(CONFIG.replace("leaves-early", "5"))
    assert "5: feedback: 5 is not known; use one of " in refusal("run", config)


# What the record says


def test_every_record_reveals_what_it_declares() -> None:
    """Engines and bounds go by it."""
    for feedback in FEEDBACKS.values():
        for outcomes in product((0, 1), repeat=4):
            seen = feedback.reveal(range(4), outcomes.__getitem__)
            assert seen == list(outcomes[: len(seen)])
            if feedback.ends_at_click:
                assert len(seen) == (outcomes.index(1) + 1 if 1 in outcomes else 4)
            if feedback.observes_all:
                assert len(seen) == 4


def test_an_engine_names_only_records_that_say_what_is_observed() -> None:
    assert all(known.has_theory for made in ENGINES.values() for known in made.feedbacks or ())


@pytest.mark.usefixtures("config")
def test_bounds_that_are_proved_for_another_feedback_are_left_out() -> None:
    two = Instance(WEIGHTS, 3)
    found = cb.bounds(two, sharp=True, feedback="leaves-early")
    assert found["lower"] == lower_bound(two, 0.1, semi_bandit=True)
    assert found[["upper", "T_star", "sharp"]].isna().all()
    assert cb.bounds(two, sharp=True)[["upper", "T_star", "sharp"]].notna().all()
    asked = [cb.bounds(two, learner="uniform", budget=500, feedback=name) for name in ("cascading", "leaves-early")]
    assert asked[0][["bound", "enough"]].notna().all()
    assert asked[1][["bound", "enough"]].isna().all()
    assert asked[0]["H"] == asked[1]["H"]
