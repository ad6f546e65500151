"""Lists that stay for many steps: what a learner is told, when, and what comes of it."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from given import BY_CLICK, TableOutcomes, TableStack
from kl_lucb_judge import kl_lucb, kl_lucb_interval
from scipy.stats import ks_2samp

import cascadebai_cli as cb
from cascadebai_cli.engines.batches import run_batches
from cascadebai_cli.engines.jobs import Job, Run, in_order, never
from cascadebai_cli.engines.outcomes import ShuffledLooks
from cascadebai_cli.engines.simulate import ENGINES, Trial, resolve_engine, run_reference, simulate_block
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.protocol import in_batches
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.problem import CASCADING, SEMI_BANDIT
from cascadebai_cli.model.users import PositionBased
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
    """A cap within a batch is one for the judge's counts, who knows no such thing as what was seen and not told."""
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


@pytest.mark.parametrize("batch", [2, 7, 100, 2_000, 0.1, 0.5])
@pytest.mark.parametrize("answers", [False, True])
def test_the_fast_engine_runs_batches_as_the_reference_engine_does(batch, answers):
    """Rows side by side, some of which reach their cap within a batch, on the same rewards."""
    for kind in range(2):
        jobs, expected = [], []
        for case in range(kind, 40, 2):
            K, table, M, cascading = problem(case)
            cap, learners = (
                CAP - 31 * (case % 3),
                [made("kl-lucb++", len(table), K, list_length=M, batch=batch) for _ in range(2)],
            )
            run = run_reference(learners[0], TableOutcomes(table), BY_CLICK[cascading], cap)
            if answers and run.status == "capped":
                run = replace(run, recommendation=learners[0].answer)
            expected.append(run)
            jobs.append(Job(learners[1], TableStack(table), BY_CLICK[cascading], cap, answers=answers))
        assert in_order(ENGINES["lockstep"].together(jobs, never)) == expected
        assert {run.status for run in expected} == {"stopped", "capped"} or batch > CAP


def test_a_paused_run_goes_on_where_it_was():
    K, table, M, cascading = problem(4)
    whole, parts = (made("kl-lucb++", len(table), K, list_length=M, batch=2) for _ in range(2))
    (expected,) = in_order(run_batches([Job(whole, TableStack(table), BY_CLICK[cascading], CAP)]))
    steps, asked = 0, 0
    while True:
        turns = iter([False, False, False, True])
        job = Job(parts, TableStack(table), BY_CLICK[cascading], CAP, steps=steps)
        ((_, done),) = run_batches([job], lambda turns=turns: next(turns))
        asked += 1
        if isinstance(done, Run):
            break
        steps = done.steps
        assert steps == 6 * asked
    assert done == expected
    assert asked > 2


def steps_of(engine, batch, feedback, w, K=2, n=400, **options):
    trials = [Trial(np.array(w), np.random.default_rng([17, batch, run])) for run in range(n)]
    learner = partial(made, "kl-lucb++", len(w), K, batch=batch, **options)
    runs = simulate_block(learner, trials, feedback=feedback, engine=engine, max_steps=20_000)
    return np.array([(run.steps, run.observations) for run in runs])


USERS = PositionBased(looks=(1.0, 0.5, 0.25))
PAGES = {
    "cascade": CASCADING,
    "whole page": SEMI_BANDIT,
    "places": CASCADING.of(USERS),
    "shuffled": SEMI_BANDIT.of(USERS, shuffled=True),
}


@pytest.mark.parametrize("feedback", [CASCADING, SEMI_BANDIT])
@pytest.mark.parametrize("batch", [3, 40, 3_000])
def test_paired_trials_have_the_same_outcomes_in_batches_whichever_engine_runs_them(feedback, batch):
    weights, K = np.array([0.6, 0.5, 0.2, 0.1, 0.05]), 2

    def steps(engine):
        trials = [Trial(weights, np.random.Generator(np.random.PCG64DXSM([7, n])), paired=True) for n in range(4)]
        make = partial(made, "kl-lucb++", len(weights), K, batch=batch)
        return [
            (run.steps, run.counts, run.recommendation)
            for run in simulate_block(make, trials, feedback=feedback, engine=engine, max_steps=20_000)
        ]

    assert steps("lockstep") == steps("reference")


@pytest.mark.parametrize("page", PAGES)
def test_sums_have_the_law_of_single_outcomes(page):
    """The shuffled places of a step are shared by its items, so that their looks are not independent."""
    w, M = [0.9, 0.7, 0.3, 0.2], {"list_length": 3}
    fast, slow = (
        steps_of(engine, 5, PAGES[page], w, n=n, **M) for engine, n in (("lockstep", 2_000), ("reference", 200))
    )
    for mine, theirs in zip(fast.T, slow.T, strict=True):
        assert ks_2samp(mine, theirs).pvalue > 1e-3
    wrong = steps_of("lockstep", 5, PAGES["cascade" if page == "whole page" else "whole page"], w, n=2_000, **M)
    assert min(ks_2samp(mine, theirs).pvalue for mine, theirs in zip(wrong.T, slow.T, strict=True)) < 1e-6


def test_looks_of_shuffled_places_are_shared():
    """With looks 1 and 0 exactly one of two items is looked at in each step; the variance is that of one coin."""
    looks = ShuffledLooks(np.array([1.0, 0.0]), np.random.default_rng(1))
    drawn = np.array([looks.sums(100) for _ in range(400)])
    assert (drawn.sum(axis=1) == 100).all()
    assert drawn[:, 0].mean() == pytest.approx(50, abs=1)
    assert drawn[:, 0].var() == pytest.approx(25, rel=0.25)
    three = ShuffledLooks(np.array([1.0, 0.5, 0.2]), np.random.default_rng(2))
    drawn = np.array([three.sums(60) for _ in range(2000)])
    assert drawn.mean(axis=0) == pytest.approx(np.full(3, 60 * 1.7 / 3), abs=0.4)
    assert drawn.sum(axis=1).var() == pytest.approx(60 * (0.25 + 0.16), rel=0.15)


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
        ("kl-lucb++", {"stopping": "glr"}),
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
    assert (one.runs_with, forty.runs_with) == ("lockstep", "lockstep")
    config.write_text(config.read_text().replace(", batch: [1, 40]", "").replace(" {batch}", " 1"))
    assert [cell.cell_id for cell in load_study(config).cells] == [one.cell_id] != [forty.cell_id]
    assert "batch" not in one.content
    assert forty.content["batch"] == 40
    rows = cb.simulate(cb.Instance([0.9, 0.5, 0.1], 1), "kl-lucb++", trials=6, batch=40)
    assert (rows["steps"] % 40 == 0).all()


def test_a_batch_that_no_counter_holds_is_refused():
    with pytest.raises(ConfigError, match=r"batch: .* is too large; write 1000000000000000 or less"):
        cb.simulate(cb.Instance([0.9, 0.5, 0.1], 1), "kl-lucb++", trials=2, batch=10**24)


def test_algorithm_1_in_batches_has_no_upper_bound():
    assert not LearnerSpec("cascadebai", {"batch": 10}).is_algorithm_1(2)


@pytest.mark.parametrize(("algorithm", "options"), [("kl-lucb++", {"stopping": "glr"}), ("posterior", {})])
def test_a_fast_engine_is_refused(algorithm, options):
    with pytest.raises(
        ConfigError, match=rf"engine lockstep cannot run {re.escape(algorithm)} with batch: it is made for"
    ):
        resolve_engine("lockstep", made(algorithm, 3, 1, batch=5, **options))


def test_a_derived_class_is_told_step_by_step():
    class Own(KLLucb):
        pass

    assert not in_batches(Own(3, 1, 0.1), "own", 5).engines
    assert in_batches(KLLucb(3, 1, 0.1), "ours", 5).engines
