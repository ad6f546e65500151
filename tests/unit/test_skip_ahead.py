"""Skip-ahead beyond `test_engines_equal_the_judge`: long runs, the cap, the size of groups."""

import itertools
from dataclasses import fields

import numpy as np
import pytest
from cases import mostly_slow
from given import BY_CLICK, TableOutcomes

from cascadebai_cli.engines import skip_ahead as skip_ahead_engine
from cascadebai_cli.engines.jobs import Job, in_order
from cascadebai_cli.engines.outcomes import RandomOutcomes
from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.engines.skip_ahead import run_skip_ahead
from cascadebai_cli.engines.skip_rows import Sizes
from cascadebai_cli.learners.cascadebai import CascadeBAI, KLCascadeRule
from cascadebai_cli.learners.protocol import RacingLearner
from cascadebai_cli.model.problem import CASCADING, SEMI_BANDIT


def skip_ahead(learner, table, cascading=True, cap=None, sizes=None):
    return in_order(run_skip_ahead([Job(learner, TableOutcomes(table), BY_CLICK[cascading], cap)], sizes))[0]


def both_runs(arguments, table, cascading, cap):
    learner = CascadeBAI(**arguments)
    expected = run_reference(learner, TableOutcomes(table), BY_CLICK[cascading], cap)
    found = skip_ahead(CascadeBAI(**arguments), table, cascading, cap)
    return expected, found


LONG = {
    "all below one half": ([0.30, 0.28, 0.20] + [0.15] * 7, 3, 0.0),
    "small": ([0.05] * 3 + [0.01] * 9, 3, 0.0),
    "all above one half": ([0.99] * 2 + [0.95] * 6, 2, 0.0),
    "mixture": ([0.9, 0.6, 0.55, 0.5, 0.4, 0.3, 0.1, 0.05], 3, 0.0),
    "zero and one": ([1.0, 0.62, 0.5, 0.4, 0.0, 0.0], 2, 0.0),
    "K = 1": ([0.6, 0.5, 0.5, 0.4], 1, 0.0),
    "K = L - 1": ([0.6, 0.6, 0.55, 0.45], 3, 0.0),
    "ties within epsilon": ([0.5] * 4 + [0.3] * 4, 2, 0.1),
    "many epsilon-optimal": ([0.5] * 2 + [0.45] * 8 + [0.1] * 2, 2, 0.15),
}


@pytest.mark.parametrize("case", LONG)
@pytest.mark.parametrize("seed", mostly_slow(range(4), [1]))
def test_equals_reference_in_long_runs(case, seed):
    weights, K, epsilon = LONG[case]
    w = np.random.default_rng(seed).permutation(weights)
    table = np.random.default_rng(seed + 100).random((len(w), 20_000)) < w[:, None]
    option = {"sigma": 0.15} if seed > 0 else {"confidence": "kl"}
    arguments = {"L": len(w), "K": K, "delta": 0.1, "epsilon": epsilon, **option}
    expected, found = both_runs(arguments, table, True, 20_000)
    assert found == expected
    assert expected.counts
    assert expected.steps > 100


def test_several_are_identified_in_one_round_at_ends_of_different_steps():
    """Who is found second is not overlooked; of these 20 runs some would differ."""
    weights, arguments = np.arange(1, 10) / 10, {"L": 9, "K": 3, "delta": 0.6, "epsilon": 0.02, "sigma": 0.01}
    for seed in range(20):
        table = np.random.default_rng(seed).random((9, 400)) < weights[::-1, None]
        expected, found = both_runs(arguments, table, True, 400)
        assert found == expected


def test_bounds_of_the_wrong_count_are_noticed():
    """The comparison can fail, with the sharper bounds too."""

    class Twin(KLCascadeRule):
        def upper(self, mean, T):
            return super().upper(mean, 1.1 * np.asarray(T))

    rng, differences = np.random.default_rng(6), 0
    for _ in range(20):
        table = rng.random((5, 4000)) < np.array([[0.7], [0.6], [0.3], [0.2], [0.1]])
        wrong = run_reference(RacingLearner(Twin(5, 2, 0.1)), TableOutcomes(table), CASCADING, 4000)
        right = skip_ahead(CascadeBAI(5, 2, 0.1, confidence="kl"), table, True, 4000)
        differences += wrong.steps != right.steps
    assert differences > 10


def test_cap_equal_to_the_stopping_time_is_no_cap():
    table = np.random.default_rng(3).random((4, 5000)) < np.array([[0.8], [0.5], [0.3], [0.1]])
    learner = CascadeBAI(4, 2, 0.1, sigma=0.1)
    free = skip_ahead(learner, table)
    at = skip_ahead(learner, table, cap=free.steps)
    before = skip_ahead(learner, table, cap=free.steps - 1)
    assert at == free
    assert (before.status, before.steps) == ("capped", free.steps - 1)


@pytest.mark.parametrize(("views", "cap", "status"), [(1e9, 10**10, "stopped"), (1e11, 10**8, "capped")])
def test_rare_clicks_do_not_let_it_go_step_by_step(views, cap, status, monkeypatch):
    """Means of rare clicks move by less than bounds are rounded in a round, and a stretch leads far behind the cap."""
    rounds, step_through = itertools.count(), skip_ahead_engine._step_through

    def counted(*args):
        assert next(rounds) < 10_000
        step_through(*args)

    monkeypatch.setattr(skip_ahead_engine, "_step_through", counted)
    for trial in range(3):
        rng = np.random.default_rng(trial)
        weights = rng.gamma(np.array([300, 263, 226, 115, 78, 40])) / views
        learner = CascadeBAI(6, 3, 0.05, epsilon=45 / views, confidence="kl")
        (run,) = in_order(run_skip_ahead([Job(learner, RandomOutcomes(weights, rng), CASCADING, cap)]))
        assert run.status == status


WEIGHTS = [0.7] * 3 + [0.5] * 4 + [0.2] * 9


def random_jobs(seeds):
    """Trials of cells with their own K, cap and feedback."""
    for seed in seeds:
        learner = CascadeBAI(16, (3, 7)[seed % 2], 0.1, sigma=0.2)
        outcomes = RandomOutcomes(np.array(WEIGHTS), np.random.default_rng(seed))
        yield Job(learner, outcomes, BY_CLICK[seed % 3 > 0], 400 if seed % 4 == 0 else None)


@pytest.mark.parametrize("rows", mostly_slow([1, 2, 7, 200], [7]))
def test_a_run_does_not_depend_on_the_rows_beside_it(rows):
    alone = [in_order(run_skip_ahead(list(random_jobs([seed]))))[0] for seed in range(24)]
    assert in_order(run_skip_ahead(list(random_jobs(range(24))), rows=rows)) == alone
    backwards = in_order(run_skip_ahead(list(random_jobs(range(23, -1, -1))), rows=rows))
    assert backwards[::-1] == alone


CUT_SHORT = """\
000110000111110100100100010110110100011010010111
111111110111111101111110111110011001011110110111
010100111000110001111111001011100111010101100110
000100001011001011111001011110001001111001101000
010001100010101011001111110110101111010111010001
011100010001100011000010001010001001000101011000
"""


def test_of_a_window_that_is_cut_short_only_its_own_clicks_count():
    """With a few small windows, the last of a focus ends before its `2 ** level` rounds, and the run at its end."""
    table = np.array([[int(bit) for bit in row] for row in CUT_SHORT.split()])
    arguments = {"L": 6, "K": 3, "delta": 0.1, "epsilon": 0.02, "sigma": 0.05}
    expected = run_reference(CascadeBAI(**arguments), TableOutcomes(table), SEMI_BANDIT, 48)
    sizes = Sizes(few=1, groups=2, windows=2, divide=1)
    assert expected.steps == 45
    assert skip_ahead(CascadeBAI(**arguments), table, False, 48, sizes) == expected


LEAST = {part.name: 2 if part.name == "moments" else 1 for part in fields(Sizes)}


@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_sizes_give_the_same_run(seed):
    table = (np.random.default_rng(seed).random((6, 60)) < [[0.9], [0.7], [0.5], [0.5], [0.2], [0.1]]).astype(int)
    arguments = {"L": 6, "K": 3, "delta": 0.1, "sigma": 0.05}
    expected = run_reference(CascadeBAI(**arguments), TableOutcomes(table), SEMI_BANDIT, 60)
    assert skip_ahead(CascadeBAI(**arguments), table, False, 60, Sizes(**LEAST)) == expected


@pytest.mark.parametrize("name", LEAST)
def test_a_size_with_which_a_search_would_never_end_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} = .*: must be at least {LEAST[name]}"):
        Sizes(**{name: LEAST[name] - 1})
