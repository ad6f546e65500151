"""Lists that stay for many steps: what a learner is told, when, and what comes of it."""

from pathlib import Path

import numpy as np
import pytest
from given import BY_CLICK, TableOutcomes
from kl_lucb_judge import kl_lucb, kl_lucb_interval

import cascadebai_cli as cb
from cascadebai_cli.engines.simulate import resolve_engine, run_reference
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.study.config import load_study

CAP = 900


def made(algorithm, L, K, *, budget=None, delta=0.2, **options):
    return LearnerSpec(algorithm, options).build(L, K, delta, 0.0, lambda: np.random.default_rng(3), budget)


def problem(case):
    """Number of items to find, rewards of `(L, CAP)`, the list length, and whether a click ends a step."""
    rng = np.random.default_rng(case)
    L = int(rng.integers(2, 7))
    K, M = int(rng.integers(1, L)), int(rng.integers(1, L + 1))
    return K, rng.random((L, CAP + 1)) < rng.choice([0.05, 0.3, 0.5, 0.9], L)[:, None], M, bool(case % 2)


@pytest.mark.parametrize("batch", [2, 7, 100, 2_000])
def test_kl_lucb_in_batches_is_what_the_judge_says(batch):
    ended = 0
    for case in range(25):
        K, table, M, cascading = problem(case)
        interval = kl_lucb_interval(len(table), K, 0.2)
        rewards = table.astype(int).tolist()
        expected = kl_lucb(rewards, K, interval, M=M, cascading=cascading, cap=CAP, batch=batch)
        learner = made("kl-lucb++", len(table), K, list_length=M, batch=batch)
        run = run_reference(learner, TableOutcomes(table), BY_CLICK[cascading], CAP)
        answer = learner.answer
        assert (run.steps, answer, tuple(learner.learner.T.tolist())) == (
            expected.steps,
            expected.output,
            expected.counts,
        )
        ended += run.steps < CAP
    assert ended > 5 or batch > CAP


class Told:
    """Keeps what a learner is shown and told."""

    def __init__(self, learner):
        self.learner, self.lists, self.told = learner, [], []
        self.select_, self.observe_ = learner.select, learner.observe
        learner.select, learner.observe = self.select, self.observe

    def select(self):
        self.lists.append(list(self.select_()))
        return self.lists[-1]

    def observe(self, shown, outcomes):
        self.told.append((list(shown), list(outcomes)))
        self.observe_(shown, outcomes)


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("cascadebai", {"confidence": "kl"}),
        ("cascadebai", {"order": "U", "sigma": 0.05}),
        ("batrac", {"b": 2}),
        ("kl-lucb++", {}),
        ("posterior", {}),
        ("track-and-stop", {}),
        ("uniform", {}),
        ("sar", {"budget": 600}),
    ],
)
def test_any_learner_is_told_all_in_its_order_until_it_has_stopped(algorithm, options):
    table = np.random.default_rng(1).random((5, 20_000)) < np.array([0.9, 0.8, 0.2, 0.1, 0.1])[:, None]
    learner = made(algorithm, 5, 2, batch=50, **options)
    told = Told(learner.learner)
    run = run_reference(learner, TableOutcomes(table), BY_CLICK[1], 600)
    assert run.steps == 600 or run.status == "stopped"
    assert run.steps % 50 == 0
    assert len(told.lists) == run.steps / 50
    assert all(shown == told.lists[step // 50] for step, (shown, _) in enumerate(told.told))
    assert run.steps - 50 < len(told.told) <= run.steps
    assert set(learner.answer) == {0, 1}


def test_what_was_seen_is_told_before_a_question():
    learner = made("uniform", 3, 1, batch=100)
    run_reference(learner, TableOutcomes(np.ones((3, 90))), BY_CLICK[0], 30)
    assert learner.learner.T.tolist() == [0, 0, 0]
    assert learner.answer == (0,)
    assert learner.learner.S.tolist() == [30, 0, 0]


def test_a_config_names_the_batch_of_a_learner(tmp_path: Path):
    config = tmp_path / "study.yaml"
    config.write_text(
        "seed: 1\ntrials: 6\nK: 1\ninstances:\n  - {name: a, family: explicit, weights: [0.9, 0.5, 0.1]}\n"
        "learners:\n  - {name: 'by {batch}', algorithm: kl-lucb++, batch: [1, 40]}\n"
    )
    one, forty = load_study(config).cells
    assert (one.runs_with, forty.runs_with) == ("lockstep", "reference")
    config.write_text(config.read_text().replace(", batch: [1, 40]", "").replace(" {batch}", " 1"))
    assert [cell.cell_id for cell in load_study(config).cells] == [one.cell_id] != [forty.cell_id]
    assert "batch" not in one.content
    assert forty.content["batch"] == 40
    rows = cb.simulate(cb.Instance([0.9, 0.5, 0.1], 1), "kl-lucb++", trials=6, batch=40)
    assert (rows["steps"] % 40 == 0).all()


def test_algorithm_1_in_batches_has_no_upper_bound():
    assert not LearnerSpec("cascadebai", {"batch": 10}).is_algorithm_1(2)


def test_a_fast_engine_is_refused():
    with pytest.raises(ConfigError, match=r"engine lockstep cannot run kl-lucb\+\+ with batch: it is made for"):
        resolve_engine("lockstep", made("kl-lucb++", 3, 1, batch=5))
