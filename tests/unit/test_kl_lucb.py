"""KL-LUCB++ decision by decision, and its engine in long runs and beside other rows."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from cases import mostly_slow
from given import BY_CLICK, TableOutcomes, TableStack
from problems import patched
from scipy import stats

from cascadebai_cli.engines import lucb
from cascadebai_cli.engines.jobs import Job, Run, in_order
from cascadebai_cli.engines.lucb import ranked, run_lucb
from cascadebai_cli.engines.outcomes import RandomStack, ShuffledLooks
from cascadebai_cli.engines.simulate import ENGINES, Trial, new_job, run_reference, simulate_block
from cascadebai_cli.learners.bounds import best_means, kl_lower, kl_upper
from cascadebai_cli.learners.kl_lucb import KLLucb, LucbRule
from cascadebai_cli.learners.protocol import Learner
from cascadebai_cli.model.problem import CASCADING, SEMI_BANDIT, Feedback
from cascadebai_cli.model.users import PositionBased


def after(T, S, K, **more):
    """A learner that has seen these counts and clicks."""
    learner = KLLucb(len(T), K, 0.1, **more)
    for item, (t, s) in enumerate(zip(T, S, strict=True)):
        for n in range(t):
            learner.observe([item], [int(n < s)])
    return learner


def test_is_a_learner():
    assert isinstance(KLLucb(4, 2, 0.1), Learner)


def test_bounds_share_the_risk():
    learner = after([10, 10, 10, 10, 10], [9, 8, 3, 2, 1], 2)
    assert learner.upper == pytest.approx(kl_upper(np.array([9, 8, 3, 2, 1]) / 10, 10, 0.1 / 4))
    assert learner.lower == pytest.approx(kl_lower(np.array([9, 8, 3, 2, 1]) / 10, 10, 0.1 / 6))


def test_bounds_are_rounded_outward_to_whole_units():
    """So sums of them are exact, in the engine as in the learner."""
    T, S = np.meshgrid(np.arange(1, 200), np.arange(0, 200), indexing="ij")
    T, S = T[S <= T], S[S <= T]
    rule = LucbRule(5, 2, 0.1)
    upper, lower = rule.upper(S / T, T), rule.lower(S / T, T)
    for bound in (upper, lower):
        assert (bound / LucbRule.UNIT == np.rint(bound / LucbRule.UNIT)).all()
    over, under = upper - kl_upper(S / T, T, 0.1 / 4), kl_lower(S / T, T, 0.1 / 6) - lower
    for excess in (over, under):
        assert excess.min() >= 0
        assert 0.1 * LucbRule.UNIT < excess.max() < LucbRule.UNIT


def test_every_item_once_the_least_observed_first():
    learner = KLLucb(5, 3, 0.1)
    assert learner.select() == [0, 1, 2]
    learner.observe([0, 1, 2], [0, 1])
    assert learner.select() == [2, 3, 4]
    learner.observe([2, 3, 4], [1])
    assert learner.select() == [3, 4, 0]


def test_shows_the_boundary_in_ascending_order_of_counts():
    """J = {0, 1, 2}: 2 is the weakest, 3 the rival; then 1 is nearest, before 4 and 0."""
    learner = after([400, 300, 200, 250, 100, 300], [360, 240, 120, 100, 10, 15], 3)
    assert (learner.boundary.weakest, learner.boundary.rival) == (2, 3)
    assert learner.select() == [2, 3, 1]


def test_one_place_goes_to_the_less_observed_of_the_two():
    assert after([30, 20, 20], [20, 10, 1], 1).select() == [1]
    assert after([20, 30, 20], [14, 15, 1], 1).select() == [0]


def test_stops_when_the_bounds_part():
    T, S = [300, 300, 300], [250, 60, 30]
    assert after(T, S, 1).finished
    assert after(T, S, 1).recommendation == (0,)
    close = after([300, 300, 300], [150, 130, 30], 1)
    gap = close.upper[1] - close.lower[0]
    assert not close.finished
    assert after([300, 300, 300], [150, 130, 30], 1, epsilon=gap * 1.001).finished
    assert not after([300, 300, 300], [150, 130, 30], 1, epsilon=gap * 0.999).finished


def test_recommendation_in_descending_order_of_mean():
    assert after([9, 9, 9, 9], [2, 8, 1, 5], 3).recommendation == (1, 3, 0)


def by_reference(trial):
    arguments, table, cascading, cap = trial
    return run_reference(KLLucb(*arguments), TableOutcomes(table), BY_CLICK[cascading], cap)


def job(trial):
    arguments, table, cascading, cap = trial
    return Job(KLLucb(*arguments), TableStack(table), BY_CLICK[cascading], cap)


def stacks(weights, rows):
    return [RandomStack(np.array(weights), np.random.default_rng([1, row])) for row in range(rows)]


def test_a_row_does_not_depend_on_those_beside_it():
    weights = [0.9, 0.6, 0.5, 0.2, 0.2]
    together = in_order(run_lucb([Job(KLLucb(5, 2, 0.1), stack) for stack in stacks(weights, 6)]))
    alone = [in_order(run_lucb([Job(KLLucb(5, 2, 0.1), stack)]))[0] for stack in stacks(weights, 6)]
    assert together == alone
    assert len({run.steps for run in together}) > 1


@pytest.mark.parametrize(("K", "short"), mostly_slow([(3, 4), (3, 64), (2, 64), (1, 4)], [(3, 4), (2, 64)]))
def test_equals_the_reference_in_a_long_run(K, short):
    w = np.array([0.5, 0.45, 0.40, 0.3, 0.3, 0.2, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1])
    table = np.random.default_rng(8).random((12, 20_000)) < w[:, None]
    trial = ((12, K, 0.1, 0.02), table, True, 20_000)
    with patched(lucb, _SHORT=short):
        run = in_order(run_lucb([job(trial)]))[0]
    assert run == by_reference(trial)
    assert (run.status, run.steps > 500) == ("stopped", True)


# --- Lists whose places are looked at by chance ----------------------------------------------------------------------

LOOKS = (1.0, 0.7, 0.45, 0.3)


def by_place(L, *, whole=False):
    """A page told as a story: who looks at which place is the outcome of further items, from number `L` on."""

    def page(shown, draw):
        looked = [draw(L + place) for place in range(len(shown))]
        read = []
        for item, look in zip(shown, looked, strict=True):
            attracts = draw(item)
            read.append(int(attracts and look))
            if read[-1] and not whole:
                break
        return read

    return Feedback("by-place", "the list up to the first click, or the whole list", page)


def looking_trial(seed, L, K, M, epsilon, cap):
    """Learner's arguments, outcomes of the items, and looks at the places, shape `(L, cap)` and `(places, cap)`."""
    rng = np.random.default_rng([seed, L, K, M])
    w = rng.uniform(0, 1, L) ** 2
    table = rng.random((L, cap)) < w[:, None]
    looks = rng.random((L, cap)) < np.resize(LOOKS, L)[:, None]
    return (L, K, 0.1, epsilon, "bounds", M), table, looks


def looking_job(arguments, table, looks, cap, *, whole=False):
    read = (SEMI_BANDIT if whole else CASCADING).of(PositionBased(LOOKS), shuffled=whole)
    return Job(KLLucb(*arguments), TableStack(table), read, cap, looks=TableStack(looks))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("L", "K", "M"), [(5, 2, 2), (9, 3, 3), (9, 1, 1), (12, 2, 6), (40, 5, 8)])
def test_a_look_that_does_not_happen_is_a_skip_as_in_the_reference(L, K, M, whole):
    """Lists are read up to the first click, or as a whole; shuffling decides who looks, which the tables say here."""
    trials = [looking_trial(seed, L, K, M, 0.02, 3_000) for seed in range(6)]
    page = by_place(L, whole=whole)
    expected = [
        run_reference(KLLucb(*arguments), TableOutcomes(np.concatenate([table, looks])), page, 3_000)
        for arguments, table, looks in trials
    ]
    for read in (64, 512):
        with patched(lucb, _READ=read):
            assert in_order(run_lucb([looking_job(*trial, 3_000, whole=whole) for trial in trials])) == expected
    assert len({run.status for run in expected}) <= 2
    assert max(run.steps for run in expected) > 100


def test_a_learner_that_is_not_told_of_looks_is_noticed():
    """The comparison can fail: without looks the same rewards lead to another run."""
    arguments, table, looks = looking_trial(1, 9, 3, 3, 0.02, 3_000)
    (found,) = in_order(run_lucb([looking_job(arguments, table, np.ones_like(looks), 3_000)]))
    both = TableOutcomes(np.concatenate([table, looks]))
    assert found != run_reference(KLLucb(*arguments), both, by_place(9), 3_000)


def test_lists_that_are_read_as_a_whole_and_up_to_the_first_click_run_beside_each_other():
    arguments, table, looks = looking_trial(1, 9, 3, 3, 0.02, 3_000)
    both = in_order(run_lucb([looking_job(arguments, table, looks, 3_000, whole=whole) for whole in (True, False)]))
    alone = [run_lucb([looking_job(arguments, table, looks, 3_000, whole=whole)]) for whole in (True, False)]
    assert both == [in_order(runs)[0] for runs in alone]
    assert both[0] != both[1]


def runs_of_users(engine, looks, seed, feedback=CASCADING, shuffled=False):
    weights = np.array([0.9, 0.8, 0.7, 0.3, 0.2, 0.2])
    trials = [Trial(weights, np.random.default_rng([seed, trial])) for trial in range(100)]
    read = feedback.of(PositionBased(looks), shuffled)
    runs = simulate_block(lambda: KLLucb(6, 3, 0.1, 0.05), trials, feedback=read, engine=engine, max_steps=600)
    return np.array([(run.steps, run.observations, min(run.counts), max(run.counts)) for run in runs]).T


def test_users_who_look_by_place_have_their_law():
    expected = runs_of_users("reference", (1.0, 0.7, 0.45), 1)
    found, twin = runs_of_users("auto", (1.0, 0.7, 0.45), 2), runs_of_users("auto", (1.0, 0.6, 0.3), 2)
    assert min(map(p_value, expected, found)) > 0.001 / 4
    assert min(map(p_value, expected, twin)) < 0.001 / 4


def p_value(one, other):
    return stats.ks_2samp(one, other, method="asymp").pvalue


@pytest.mark.parametrize("shuffled", [True, False])
def test_users_of_lists_that_are_read_as_a_whole_have_their_law(shuffled):
    """The twin of shuffled lists are lists in the learner's order, and the other way round."""
    looks = (1.0, 0.5, 0.2)
    expected = runs_of_users("reference", looks, 1, SEMI_BANDIT, shuffled)
    found, twin = (runs_of_users("lockstep", looks, 2, SEMI_BANDIT, shuffled == same) for same in (True, False))
    assert min(map(p_value, expected, found)) > 0.001 / 8
    assert min(map(p_value, expected, twin)) < 0.001 / 8


def test_places_of_a_shuffled_list_are_looked_at_alike_and_together_as_on_one_page():
    looks = ShuffledLooks(np.array([1.0, 0.5, 0.0]), np.random.default_rng(3))
    drawn = np.array([looks.peek(place, 0, 4_000) for place in range(3)])
    assert drawn.mean(axis=1) == pytest.approx([0.5] * 3, abs=0.03)
    assert set(drawn.sum(axis=0).tolist()) == {1, 2}
    assert looks.peek(3, 0, 5).all()


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_run_with_looks_goes_on_where_it_was_paused(shuffled):
    weights = np.array([0.6, 0.5, 0.4, 0.2, 0.2])
    read = (SEMI_BANDIT if shuffled else CASCADING).of(PositionBased(LOOKS), shuffled)

    def job(learner, steps=0):
        made, one = new_job(learner, Trial(weights, np.random.default_rng(7)), read, "auto", 5_000)
        assert made is ENGINES["lockstep"]
        return replace(one, steps=steps)

    ((_, whole),) = run_lucb([job(KLLucb(5, 2, 0.1, 0.02))])
    learner, steps, parts = KLLucb(5, 2, 0.1, 0.02), 0, 0
    while True:
        ((_, done),) = run_lucb([job(learner, steps)], lambda: True)
        parts += 1
        if isinstance(done, Run):
            break
        steps = done.steps
    assert parts > (1 if shuffled else 3)
    assert (done.steps, done.recommendation, done.counts) == (whole.steps, whole.recommendation, whole.counts)


@pytest.mark.parametrize("w", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("cascading", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.9995])
def test_first_round_is_that_of_the_learner(w, cascading, epsilon):
    """Step by step: a run that is capped after each of them has the learner's counts and clicks."""
    for seed in range(10):
        table = np.random.default_rng(seed).random((11, 2)) < w
        learner, outcomes, steps = KLLucb(11, 4, 0.1, epsilon), TableOutcomes(table), 0
        while learner.T.min() == 0 and not learner.finished:
            shown = learner.select()
            learner.observe(shown, BY_CLICK[cascading].reveal(shown, outcomes.next))
            steps += 1
            found = job(((11, 4, 0.1, epsilon), table, cascading, steps))
            (run,) = in_order(run_lucb([found]))
            assert (run.steps, run.status == "stopped") == (steps, learner.finished)
            assert run.counts == tuple(learner.T.tolist())
            if run.status == "capped":
                assert found.learner.S.tolist() == learner.S.tolist()


def test_only_a_huge_tolerance_may_end_the_first_round():
    assert not LucbRule(4, 2, 0.1, 0.8).may_end_early
    assert LucbRule(4, 2, 0.1, 0.999).may_end_early


def test_bounds_of_the_wrong_risk_are_noticed():
    """The comparison can fail."""

    class Twin(KLLucb):
        def __init__(self, L, K, delta, epsilon=0.0):
            super().__init__(L, K, delta * 1.1, epsilon)

    table = np.random.default_rng(2).random((4, 5000)) < np.array([[0.6], [0.5], [0.3], [0.1]])
    wrong = in_order(run_lucb([Job(Twin(4, 1, 0.1), TableStack(table))]))[0]
    assert wrong != by_reference(((4, 1, 0.1, 0.0), table, True, None))


@pytest.mark.parametrize("K", [1, 2, 3])
def test_levels_tell_who_may_change_sides(K):
    """Of equal means the first item ranks higher: a mean reaches the level if with it `J` might be another one."""
    for mean in ([0.1, 0.3, 0.3, 0.0], [0.2, 0.2, 0.2, 0.2], [0.0, 0.1, 0.2, 0.9], [0.3, 0.0, 0.3, 0.3]):
        (inside,), (level,) = ranked(np.array([mean]), K)
        assert inside.tolist() == best_means(np.array(mean), K).tolist()
        for item, other in product(range(4), [0.0, 0.1, 0.2, 0.25, 0.3, 1.0]):
            moved = np.array(mean)
            moved[item] = other
            if (best_means(moved, K) != inside).any():
                assert (-other if inside[item] else other) >= level[item]
        assert ((np.where(inside, -1, 1) * mean) < level).all()
