"""The learner that stops by the posterior: its chance of error, its promise on average over the prior, its lists."""

import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc, betaincc
from sweeps import environment

import cascadebai_cli as cb
from cascadebai_cli.engines.simulate import Trial, simulate
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.posterior import PRIORS, Posterior, PosteriorRule, chance_of_error
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.problem import Instance
from cascadebai_cli.planning.rates import fitted_prior
from experiments import posterior_stopping

DELTA = 0.2


def made(L, K, delta=DELTA, seed=0, **options):
    return Posterior(L, K, delta, **options, rng=np.random.default_rng(seed))


def one_law(*components):
    """The prior of which this mixture of beta laws is the only law."""
    return ((0.0, components),)


def laws(case):
    """Parameters of some laws, the answer and a tolerance; the counts go from none to thousands."""
    rng = np.random.default_rng(case)
    L = int(rng.integers(2, 12))
    weights, T = rng.beta(*[(1, 1), (0.3, 3), (3, 0.3)][case % 3], L), rng.integers(0, 10 ** rng.integers(0, 4), L)
    S, start = rng.binomial(T, weights), [1.0, 0.5][case % 2]
    a, b = S + start, T - S + start
    inside = np.zeros(L, bool)
    inside[np.argsort(-a / (a + b))[: rng.integers(1, L)]] = True
    return a, b, inside, float(rng.choice([0, 0.05, 0.3, 1]))


def by_sums(a, b, inside, epsilon, cells=20_000):
    """The same chance as a Stieltjes sum over a fine grid, from the two distribution functions alone."""
    x = np.sin(np.linspace(0, np.pi / 2, cells + 1)) ** 2
    above = betaincc(a[inside], b[inside], x[:, None]).prod(axis=1)
    below = betainc(a[~inside], b[~inside], np.minimum(x + epsilon, 1)[:, None]).prod(axis=1)
    return -np.diff(above) @ (1 - (below[1:] + below[:-1]) / 2)


# --- the chance of an error -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", range(12))
def test_chance_of_error_is_exact_to_a_millionth(case):
    assert chance_of_error(*laws(case)) == pytest.approx(by_sums(*laws(case)), abs=1e-6)


@pytest.mark.parametrize("case", [1, 2, 4])
def test_chance_of_error_is_how_often_draws_are_in_another_order(case):
    a, b, inside, epsilon = laws(case)
    drawn = np.random.default_rng(1).beta(a, b, (100_000, len(a)))
    wrong = (drawn[:, inside].min(axis=1) <= drawn[:, ~inside].max(axis=1) - epsilon).sum()
    assert stats.binomtest(int(wrong), 100_000, chance_of_error(a, b, inside, epsilon)).pvalue > 1e-3


def test_chance_of_error_of_two_equal_items_is_a_half():
    inside = np.array([True, False])
    for count in (0, 10, 10**7):
        assert chance_of_error(np.full(2, count + 0.5), np.full(2, count + 0.5), inside) == pytest.approx(0.5)


def test_an_answer_that_counts_as_right_is_good_up_to_epsilon():
    rng = np.random.default_rng(2)
    for weights in rng.random((500, 5)):
        instance = Instance(weights, 2, 0.2)
        if weights[:2].min() > weights[2:].max() - 0.2:
            assert instance.is_correct([0, 1])


def test_chance_of_error_with_mixtures_is_exact_to_a_millionth():
    for case in range(8):
        rng = np.random.default_rng(case)
        rule = PosteriorRule(7, 3, 0.1, (0.0, 0.05)[case % 2], one_law((0.6, 1, 5), (0.3, 60, 40), (0.1, 0.5, 0.5)), 3)
        T = rng.integers(0, 300, 7)
        S = rng.binomial(T, rng.choice([0.1, 0.6], 7))
        chances, a, b = rule.components(T, S)
        inside, x = rule.inside(rule.mean(T, S)), np.sin(np.linspace(0, np.pi / 2, 20_001)) ** 2
        law = (chances * betainc(a, b, x[:, None, None])).sum(axis=1)
        shifted = (chances * betainc(a, b, np.minimum(x + rule.epsilon, 1)[:, None, None])).sum(axis=1)
        above, below = (1 - law[:, inside]).prod(axis=1), shifted[:, ~inside].prod(axis=1)
        expected = -np.diff(above) @ (1 - (below[1:] + below[:-1]) / 2)
        assert rule.chance_of_error(T, S) == pytest.approx(expected, abs=1e-6)


def test_a_mixture_of_one_law_twice_is_this_law():
    T, S = np.array([30, 20, 9, 0]), np.array([12, 3, 0, 0])
    priors = one_law((1, 2, 5)), one_law((0.4, 2, 5), (0.6, 2, 5)), ((3.0, ((1, 2, 5),)), (1.0, ((1, 2, 5),)))
    one, *others = (PosteriorRule(4, 2, 0.1, 0.0, prior, 2) for prior in priors)
    for twice in others:
        assert twice.chance_of_error(T, S) == pytest.approx(one.chance_of_error(T, S), abs=1e-12)
        assert np.allclose(twice.moments(T, S), one.moments(T, S))


TWO = ((np.log(0.3), ((0.5, 2.0, 18.0), (0.5, 9.0, 9.0))), (np.log(0.7), ((1.0, 30.0, 90.0),)))


def seen_under_two_laws(draws=400_000):
    """Counts, and draws from what `TWO` leaves possible after them: those that bring the very same clicks."""
    rng, T, S = np.random.default_rng(3), np.array([12, 10, 8]), np.array([4, 2, 1])
    first, mild = rng.random(draws) < 0.3, rng.random((draws, 3)) < 0.5
    one, other = np.where(mild, 2, 9), np.where(mild, 18, 9)
    w = rng.beta(np.where(first[:, None], one, 30), np.where(first[:, None], other, 90))
    same = (rng.binomial(T, w) == S).all(axis=1)
    return T, S, first[same], w[same]


def test_what_is_believed_under_laws_that_all_items_share_is_what_draws_with_these_counts_have():
    T, S, first, w = seen_under_two_laws()
    rule = PosteriorRule(3, 1, 0.1, 0.0, TWO, 1)
    assert len(w) > 1_000
    wrong = int((w[:, 0] < w[:, 1:].max(axis=1)).sum())
    assert stats.binomtest(wrong, len(w), rule.chance_of_error(T, S)).pvalue > 1e-3
    assert stats.binomtest(int(first.sum()), len(w), rule.laws(T, S)[0][0]).pvalue > 1e-3
    assert rule.mean(T, S) == pytest.approx(w.mean(axis=0), abs=5 * w.std() / len(w) ** 0.5)
    drawn = rule.drawn(T, S, 20_000, np.random.default_rng(1))
    assert np.cov(drawn.T) == pytest.approx(np.cov(w.T), abs=8e-4)


def test_laws_drawn_from_a_log_have_the_same_chance_after_it_and_other_items_change_nothing():
    rng = np.random.default_rng(0)
    looks = rng.integers(10, 60, 30)
    clicks = rng.binomial(looks, rng.beta(2, 30, 30))
    tested = [2, 4, 5, 20]
    rule = PosteriorRule(5, 2, 0.1, 0.0, fitted_prior(looks, clicks, tested), 2)
    T, S = np.append(looks[tested], 0), np.append(clicks[tested], 0)  # and an item that the log lacks
    assert rule.laws(T, S)[0] == pytest.approx(1 / len(rule.prior))
    assert np.ptp(rule.laws(T + 100, S + 90)[0]) > 0.01


def test_a_run_ends_by_the_chance_of_error_of_all_laws_together():
    rng, rule = np.random.default_rng(4), PosteriorRule(3, 1, 0.1, 0.0, TWO, 1)
    states = [(T, rng.binomial(T, rng.random(3))) for T in rng.integers(0, 60, (200, 3))]
    sure = [rule.is_sure(T, S) for T, S in states]
    assert sure == [rule.chance_of_error(T, S) <= 0.1 for T, S in states]
    assert 20 < sum(sure) < 180


@pytest.mark.parametrize("delta", [0.01, 0.1])
def test_the_rough_sum_leaves_out_no_state_that_ends_a_run(delta):
    rng, ended, passed = np.random.default_rng(4), 0, 0
    for _ in range(400):
        rule = PosteriorRule(12, 3, delta, float(rng.choice([0, 0.03])), PRIORS["uniform"], 3)
        w = np.where(np.arange(12) < 3, *(rng.random(2) * rng.choice([0.1, 1])))
        T = rng.integers(20, rng.integers(30, 1500), 12)
        S = rng.binomial(T, w)
        over, may = rule.chance_of_error(T, S) <= delta, bool(rule.may_be_over(T, S))
        ended, passed = ended + over, passed + may
        assert may or not over
    assert 50 < ended <= passed < 1.5 * ended


# --- the promise, on average over the prior -------------------------------------------------------------------------


def wrong_answers(prior, trials, delta=DELTA):
    """Trials on instances drawn from the prior that end with a wrong answer; few are cut, and count as they stand."""
    wrong = 0
    for trial in range(trials):
        rng = np.random.default_rng([5, trial])
        weights = rng.beta(*PRIORS[prior][0][1][0][1:], 4)
        run = simulate(
            partial(made, 4, 2, delta, trial, prior=prior), Trial(weights, rng), max_steps=1_500, answers=True
        )
        wrong += set(run.recommendation) != set(np.argsort(-weights)[:2].tolist())
    return wrong


def too_many(wrong, trials):
    return stats.binomtest(wrong, trials, DELTA, alternative="greater").pvalue


@pytest.mark.parametrize("prior", ["uniform", pytest.param("jeffreys", marks=pytest.mark.slow)])
def test_errs_at_most_delta_on_average_over_the_prior(prior):
    assert too_many(wrong_answers(prior, 300), 300) > 1e-3


def test_a_learner_that_stops_too_soon_is_found():
    assert too_many(wrong_answers("uniform", 300, 3 * DELTA), 300) < 1e-3


def test_the_table_of_stoppings_tells_a_planted_fault_from_the_learner():
    case = next(case for case in posterior_stopping.cases() if case.is_prior)
    p = {
        learner: float(posterior_stopping.row(case, 0.1, learner, 200)[-1])
        for learner in ("posterior", "planted fault")
    }
    assert p["posterior"] > 1e-3
    assert p["planted fault"] < 1e-6


def test_does_not_stick():
    instance = cb.Instance([0.9] * 4 + [0.8] * 16, 4)
    rows = cb.simulate(instance, "posterior", trials=3, max_steps=15_000)
    assert (rows["status"] == "stopped").all()


# --- laws of which one is that of all items ---------------------------------------------------------------------------

ALIKE_OR_NOT = (0.0, ((1.0, 200.0, 200.0),)), (0.0, ((0.5, 20.0, 80.0), (0.5, 80.0, 20.0)))
"""All items are nearly alike, or half of them are much better; both are equally likely."""


def wrong_under_laws(trials, only_likeliest):
    """Wrong answers, and all, on rates from one of two laws; by both, or by that which first looks make likelier."""
    wrong = []
    for trial in range(trials):
        rng = np.random.default_rng([7, trial])
        chances, a, b = np.array(ALIKE_OR_NOT[rng.integers(2)][1]).T
        component, T = rng.choice(len(a), 4, p=chances), np.full(4, 2)
        w = rng.beta(a[component], b[component])
        S = rng.binomial(T, w)
        rule = PosteriorRule(4, 1, DELTA, 0.0, ALIKE_OR_NOT, 1)
        if only_likeliest:
            rule = replace(rule, prior=(ALIKE_OR_NOT[rule.laws(T, S)[0].argmax()],))
        for _ in range(15):
            if rule.may_be_over(T, S) and rule.is_sure(T, S):
                wrong.append(rule.mean(T, S).argmax() != w.argmax())
                break
            T, S = T + 1, S + rng.binomial(1, w)
    return int(sum(wrong)), len(wrong)


def test_errs_at_most_delta_if_the_law_is_unknown_and_more_often_by_the_likeliest_law_alone():
    assert too_many(*wrong_under_laws(1_200, only_likeliest=False)) > 1e-3
    assert too_many(*wrong_under_laws(1_200, only_likeliest=True)) < 1e-3


# --- lists ----------------------------------------------------------------------------------------------------------


def test_lists_hold_different_items_the_least_observed_first():
    learner, rng = made(9, 3, list_length=4), np.random.default_rng(1)
    for _ in range(200):
        shown = learner.select()
        assert len(set(shown)) == 4
        assert sorted(learner.T[shown]) == learner.T[shown].tolist()
        learner.observe(shown, [int(rng.random() < 0.3)])


def test_items_that_tell_two_draws_apart_come_first():
    learner = made(6, 2, list_length=2)
    learner.take_place(np.array([900, 60, 60, 900, 900, 900]), np.array([800, 30, 30, 90, 90, 90]))
    assert [sorted(learner.select()) for _ in range(20)] == [[1, 2]] * 20


def test_where_all_draws_agree_the_nearest_to_the_boundary_are_shown():
    learner = made(6, 2, list_length=2)
    T = np.full(6, 10**6)
    learner.take_place(T, T * np.array([9, 5, 4, 1, 1, 1]) // 10)
    assert sorted(learner.select()) == [1, 2]


# --- in a study -----------------------------------------------------------------------------------------------------


def test_a_trial_is_the_same_again_and_can_be_asked_at_a_budget():
    instance = cb.Instance([0.8, 0.7, 0.2, 0.1], 2)
    rows = [cb.simulate(instance, "posterior", trials=5, prior="jeffreys") for _ in range(2)]
    assert rows[0]["steps"].tolist() == rows[1]["steps"].tolist()
    asked = cb.simulate(instance, "posterior", trials=20, budget=60)
    assert asked["correct"].mean() > 0.7


@pytest.mark.parametrize("L", [1_500, 3_000])
def test_many_items_are_run_as_few_are(L):
    """More than those for which draws are made at once."""
    weights = np.where(np.arange(L) < 2, 0.9, 0.01)
    engines = [
        simulate(partial(made, L, 2, 0.001), Trial(weights, np.random.default_rng(1)), engine=name, max_steps=40)
        for name in ("lockstep", "reference")
    ]
    assert [run.steps for run in engines] == [40, 40]


def test_lists_may_be_shuffled():
    study = {
        "trials": 2,
        "shuffle": True,
        "instances": [{"name": "a", "family": "explicit", "weights": [0.9, 0.2, 0.1]}],
    }
    results = cb.sweep({**study, "K": 1, "seed": 1, "learners": [{"name": "p", "algorithm": "posterior"}]}, n_jobs=1)
    assert (results.trials["status"] == "stopped").all()


def test_another_prior_is_refused():
    with pytest.raises(ConfigError, match="prior is 'unifrom'; did you mean uniform"):
        LearnerSpec("posterior", {"prior": "unifrom"}).build(4, 2, 0.1, 0.0, lambda: np.random.default_rng(0))


# --- counts that are known before the first step --------------------------------------------------------------------


def test_known_counts_are_believed_as_if_they_had_been_seen():
    known = [[40, 12], [30, 3], [0, 0]]
    learner, other = made(3, 1, known=known), made(3, 1)
    other.take_place(np.array([40, 30, 0]), np.array([12, 3, 0]))
    assert learner.T.tolist() == learner.S.tolist() == [0, 0, 0]
    assert (learner.mean == other.mean).all()
    assert learner.rule.chance_of_error(*learner._all) == other.rule.chance_of_error(other.T, other.S)
    learner.observe([2], [1])
    other.observe([2], [1])
    assert (learner.mean == other.mean).all()


def test_known_counts_belong_to_items_in_whichever_order_a_trial_meets_them():
    """Whoever mixes them up names the worst item at once."""
    weights, known = [0.2, 0.5, 0.4, 0.1], [[2000, 400], [2000, 1000], [2000, 800], [2000, 200]]
    rows = cb.simulate(cb.Instance(weights, 1), "posterior", trials=20, known=known)
    assert (rows["steps"] == 0).all()
    assert rows["correct"].all()
    engines = [
        cb.simulate(cb.Instance(weights, 2), "posterior", trials=6, known=known, engine=name, paired=True)
        for name in ("lockstep", "reference")
    ]
    assert engines[0]["correct"].tolist() == engines[1]["correct"].tolist()


def wrong_after_a_log(trials, shift):
    """Trials on rates from the prior, with a log of 30 looks an item that are those of the item `shift` places on."""
    wrong = 0
    for trial in range(trials):
        rng = np.random.default_rng([6, trial])
        weights = rng.beta(1, 1, 4)
        known = [[30, int(rng.binomial(30, w))] for w in weights]
        known = known[shift:] + known[:shift]
        run = simulate(partial(made, 4, 2, seed=trial, known=known), Trial(weights, rng), max_steps=1_500, answers=True)
        wrong += set(run.recommendation) != set(np.argsort(-weights)[:2].tolist())
    return wrong


def test_errs_at_most_delta_after_a_log_of_the_same_rates_and_more_often_after_one_of_others():
    assert too_many(wrong_after_a_log(200, 0), 200) > 1e-3
    assert too_many(wrong_after_a_log(200, 1), 200) < 1e-3


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        ([[3, 1], [3, 1]], "known has 2 pairs, but there are 3 items"),
        ([[3, 1], [3, 4], [3, 1]], r"known: pair 2 is \[3, 4\], but must be \[looks, clicks\]"),
        ([[3, 1], [3, 1], [3]], r"known: pair 3 is \[3\]"),
        ([[3, 1], [3, 1], [3, 0.5]], r"known: pair 3 is \[3, 0.5\]"),
        ([[3, -1], [3, 1], [3, 1]], r"known: pair 1 is \[3, -1\]"),
    ],
)
def test_what_is_no_count_is_refused(known, sentence):
    with pytest.raises(ConfigError, match=sentence):
        made(3, 1, known=known)


@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize(
    ("clicks", "looks", "K", "exact"),
    [
        ([5000, 0, 0], 10_000, 2, 1 / 2),
        ([5, 5, 0, 0, 0, 0], 10, 3, 3 / 4),
        ([500, 500, 0, 0], 1000, 3, 1 / 2),
        ([9, 0, 0, 0, 0, 0], 100, 5, 4 / 5),
        ([10, 10, 10], 10, 1, 2 / 3),
        ([1000] * 6, 1000, 1, 5 / 6),
    ],
)
def test_items_without_a_click_or_with_clicks_alone_are_not_told_apart(clicks, looks, K, exact, components):
    """Their laws put most mass where floats cannot tell them apart; the chance of an error was too small there."""
    S, inside = np.array(clicks), np.arange(len(clicks)) < K
    a, b = np.tile(0.05 + S, (components, 1)), np.tile(0.05 + looks - S, (components, 1))
    found = chance_of_error(a, b, inside, 0.0, np.full(a.shape, 1 / components))
    assert found > exact - 1e-6
    assert found < exact + 0.005 or 0 not in clicks  # near 1 floats tell less, and more counts as wrong


def test_a_worker_without_posteriors_loads_nothing_for_them():
    code = "import sys, cascadebai_cli.running.worker; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert not {"scipy", "numpy.polynomial"} & set(loaded.stdout.split())
