"""The sharp bound against all lists, the closed form of one arm a step, and its own certificate."""

import csv
import re
from dataclasses import replace
from functools import partial
from itertools import pairwise, permutations, product
from pathlib import Path

import numpy as np
import pytest
from cases import mostly_slow
from scipy.optimize import brentq, linprog
from scipy.special import rel_entr

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import Instance
from cascadebai_cli.model.users import Cascade, DependentClick, NoSkips, PositionBased
from cascadebai_cli.theory import lists as lists_module
from cascadebai_cli.theory import maximin as maximin_module
from cascadebai_cli.theory import sharp
from cascadebai_cli.theory.lists import Lists
from cascadebai_cli.theory.maximin import Contest, maximin
from cascadebai_cli.theory.sharp import sharp_bound

SETTINGS = {
    1: lambda K: (1 / K, 1 / K**2),
    2: lambda K: (1 - 1 / K**2, 1 - 1 / K),
    3: lambda K: (1 / K**0.5, 1 / K),
    4: lambda K: (1 - 1 / K, 1 - 1 / K**0.5),
    5: lambda K: (1 - 1 / K, 1 / K),
}


def kl(p, q):
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def looks(shown, w, semi_bandit=False):
    """Probability of a look at each item, one after the other."""
    q, reached = [0.0] * len(w), 1.0
    for item in shown:
        q[item] = reached
        reached *= 1 if semi_bandit else 1 - w[item]
    return q


def by_all_lists(w, K, M, looks, points=120):
    """`T*` by one linear programme over all lists, each pair compared at many `x`: at most a little too small."""
    q = np.array([looks(s, w) for s in permutations(range(len(w)), M)])
    order = np.argsort(-w)
    grid = (1 - np.cos(np.pi * (np.arange(points) + 0.5) / points)) / 2
    rows = []
    for a, b in product(order[:K], order[K:]):
        x = w[b] + grid * (w[a] - w[b])
        rows.append(np.outer(kl(w[a], x), q[:, a]) + np.outer(kl(w[b], x), q[:, b]))
    G = np.concatenate(rows) / np.concatenate(rows).max()
    found = linprog(
        np.append(np.zeros(len(q)), -1),
        A_ub=np.column_stack([-G, np.ones(len(G))]),
        b_ub=np.zeros(len(G)),
        A_eq=[[1] * len(q) + [0]],
        b_eq=[1],
    )
    return 1 / (found.x[-1] * np.concatenate(rows).max())


def small_instance(seed):
    rng = np.random.default_rng(seed)
    L = int(rng.integers(2, 7))
    K, M = int(rng.integers(1, L)), int(rng.integers(1, min(L, 3) + 1))
    ends = [rng.random(L), rng.random(L) ** 4, 1 - rng.random(L) ** 4, rng.choice([0, 0.2, 0.5, 0.9, 1], L)]
    w = np.sort(ends[seed % 4])[::-1]
    if w[K - 1] - w[K] < 0.02:
        w = np.append(np.minimum(w[:K] + 0.03, 1), np.maximum(w[K:] - 0.03, 0))
    return rng.permutation(w), K, M


SHARES = [(semi_bandit, start) for semi_bandit in (False, True) for start in (0, 40, 80, 120)]


@pytest.mark.parametrize(("semi_bandit", "start"), mostly_slow(SHARES, SHARES[:1]))
def test_equals_brute_force(semi_bandit, start):
    """Random instances for each feedback, weights 0, 1 and equal ones included."""
    for seed in range(start, start + 40):
        w, K, M = small_instance(seed + 160 * semi_bandit)
        bound = sharp_bound(Instance(w, K), semi_bandit=semi_bandit, M=M)
        assert bound.gap <= 1e-3
        exact = by_all_lists(w, K, M, partial(looks, semi_bandit=semi_bandit))
        assert bound.characteristic_steps == pytest.approx(exact, rel=2e-3), (seed, w, K, M)


def looks_of(users, shown, w):
    """Probability of a look at each item: what each user does, added up over all that may happen on a page."""
    q = [0.0] * len(w)

    def page(place, p):  # the user is in front of this place with probability p, and nothing is known of what comes
        if place == len(shown) or p == 0:
            return
        item = shown[place]
        match users:
            case PositionBased():
                look = users.looks[min(place, len(users.looks) - 1)]
                q[item] += p * look
                page(place + 1, p)
            case DependentClick():
                q[item] += p
                page(place + 1, p * w[item] * users.go_on)
                page(place + 1, p * (1 - w[item]))
            case Cascade():
                q[item] += p
                page(place + 1, p * (1 - w[item]) * (1 - users.leave))
            case NoSkips():
                q[item] += p
                page(place + 1, p)

    page(0, 1.0)
    return q


OTHER_USERS = [
    Cascade(leave=0.3),
    Cascade(leave=1.0),
    DependentClick(go_on=0.6),
    DependentClick(go_on=(1.0, 1.0)),
    PositionBased(looks=(1.0, 0.6, 0.3)),
    PositionBased(looks=(0.2, 0.9, 0.5)),
    PositionBased(looks=(0.5, 0.0, 0.0)),
    NoSkips(),
]


@pytest.mark.parametrize("users", OTHER_USERS, ids=lambda users: str(users.content))
def test_other_users_against_brute_force(users):
    """Random instances as for the cascade, against a programme over all ordered lists, whose looks are added up."""
    for seed in range(300, 312):
        w, K, M = small_instance(seed)
        bound = sharp_bound(Instance(w, K), M=M, users=users)
        assert bound.gap <= 1e-3
        one = replace(users, go_on=1.0) if users == DependentClick(go_on=(1.0, 1.0)) else users
        exact = by_all_lists(w, K, M, partial(looks_of, one))
        assert bound.characteristic_steps == pytest.approx(exact, rel=2e-3), (seed, w, K, M)


@pytest.mark.parametrize("users", OTHER_USERS[:6], ids=lambda users: str(users.content))
def test_the_looks_of_other_users_are_those_of_the_law(users):
    """The looks that a list brings are the means of many pages as the reference engine draws them."""
    rng, w = np.random.default_rng(8), np.array([0.7, 0.2, 0.5, 0.4])
    shown, found = (2, 0, 3), np.zeros(4)
    for _ in range(4000):
        users.clicks(
            shown, lambda item: found.__setitem__(item, found[item] + 1) or int(rng.random() < w[item]), rng.random
        )
    one = replace(users, go_on=1.0) if users == DependentClick(go_on=(1.0, 1.0)) else users
    assert np.allclose(found / 4000, looks_of(one, shown, w), atol=0.04)


def test_equal_items_share_the_places_that_are_looked_at():
    """Two levels with several items each, and groups of many levels, give the bound of the same items one by one."""
    users = PositionBased(looks=(1.0, 0.5, 0.25))
    w = np.array([0.6, 0.6, 0.3, 0.3, 0.3])
    pooled = sharp_bound(Instance(w, 2), M=3, users=users, tolerance=1e-4).characteristic_steps
    apart = sharp_bound(Instance(w + 1e-9 * np.arange(5), 2), M=3, users=users, tolerance=1e-4).characteristic_steps
    assert pooled == pytest.approx(apart, rel=3e-4)


def best_arm_identification(w):
    """Garivier and Kaufmann (2016), Theorem 5: one arm a step, the best one first in `w`."""

    def evidence(a, x):
        middle = (w[0] + x * w[a]) / (1 + x)
        return kl(w[0], middle) + x * kl(w[a], middle), middle

    def counts(y):
        """`x_a(y)`: looks at `a`, in units of those at the best arm, that bring the evidence `y`."""
        return [brentq(lambda x, a=a: evidence(a, x)[0] - y, 0, 1e9) for a in range(1, len(w))]

    def balance(y):
        middles = [evidence(a, x)[1] for a, x in enumerate(counts(y), start=1)]
        return sum(kl(w[0], m) / kl(w[a], m) for a, m in enumerate(middles, start=1)) - 1

    most = kl(w[0], max(w[1:]))
    y = brentq(balance, most / 1000, most * (1 - 1e-3))
    return (1 + sum(counts(y))) / y


@pytest.mark.parametrize(
    "w", [[0.9, 0.5], [0.5, 0.45, 0.43, 0.4], [0.3, 0.21, 0.2, 0.19, 0.18], [0.02, 0.01, 0.005], [0.99, 0.9, 0.1]]
)
def test_equals_the_closed_form_of_one_arm_a_step(w):
    assert sharp_bound(Instance(np.array(w), 1)).characteristic_steps == pytest.approx(
        best_arm_identification(w), rel=1e-3
    )


def test_published_values_of_best_arm_identification():
    """The optimal proportions that Garivier and Kaufmann (2016), Section 6, print for their two Bernoulli instances."""
    first = sharp_bound(Instance(np.array([0.5, 0.45, 0.43, 0.4]), 1), tolerance=1e-5)
    assert first.rates == pytest.approx([0.417, 0.390, 0.136, 0.057], abs=2e-3)
    second = sharp_bound(Instance(np.array([0.3, 0.21, 0.2, 0.19, 0.18]), 1), tolerance=1e-5)
    assert second.rates == pytest.approx([0.336, 0.251, 0.177, 0.132, 0.104], abs=2e-3)


def test_by_hand():
    """Two items alike but for a swap of clicks and skips: half the looks each, `x = 1/2`."""
    assert sharp_bound(Instance(np.array([0.8, 0.2]), 1)).characteristic_steps == pytest.approx(
        1 / kl(0.8, 0.5), rel=1e-3
    )
    assert sharp_bound(Instance(np.array([1.0, 0.0]), 1)).characteristic_steps == pytest.approx(1 / np.log(2), rel=1e-3)


@pytest.mark.parametrize("semi_bandit", [False, True])
def test_the_mixture_is_worth_what_it_claims(semi_bandit):
    """Value and rates computed anew from lists and shares, one list after the other."""
    w = np.array([0.1, 0.62, 0.55, 0.3, 0.3, 0.3, 0.9])
    bound = sharp_bound(Instance(w, 3), semi_bandit=semi_bandit)
    assert bound.shares.sum() == pytest.approx(1)
    rates = dict.fromkeys(bound.levels, 0.0)
    for shown, share in zip(bound.lists, bound.shares, strict=True):
        assert len(shown) == 3
        assert all(shown.count(level) <= (w == bound.levels[level]).sum() for level in shown)
        q, reached = {}, share
        for level in shown:
            weight = bound.levels[level]
            q[weight] = q.get(weight, 0) + reached
            reached *= 1 if semi_bandit else 1 - weight
        for weight, looked in q.items():
            rates[weight] += looked / (w == weight).sum()
    n = np.array([rates[weight] for weight in w])
    assert bound.rates == pytest.approx(n)
    best, others = np.argsort(-w)[:3], np.argsort(-w)[3:]
    evidence = []
    for a, b in product(best, others):
        x = (n[a] * w[a] + n[b] * w[b]) / (n[a] + n[b])
        evidence.append(n[a] * kl(w[a], x) + n[b] * kl(w[b], x))
    assert bound.mixture.value == pytest.approx(min(evidence))
    assert bound.mixture.value <= 1 / bound.characteristic_steps <= bound.mixture.value * 1.001


def test_equal_weights_pooled_change_nothing():
    w = np.repeat([0.5, 0.3, 0.2], [3, 2, 4])
    alone = Contest(w, w >= 0.5, Lists(w, np.ones(9, np.int64), 3))
    pooled = sharp_bound(Instance(w, 3))
    assert 1 / pooled.characteristic_steps == pytest.approx(maximin(alone).value, rel=2e-3)


def click_rates(name):
    with (Path(__file__).parents[2] / "configs" / "data" / name).open() as file:
        return np.array([int(row["funny"]) / int(row["ratings"]) for row in csv.DictReader(file)])


def instances():
    yield from ((f"setting {s}", np.repeat(weights(20), [20, 108]), 20) for s, weights in SETTINGS.items())
    yield "graded, high", np.linspace(0.9, 0.1, 20), 5
    yield "graded, low", np.linspace(0.3, 0.01, 20), 5
    yield "graded, half", np.linspace(0.5, 0.1, 20), 10
    yield "8,192 items, three levels", np.repeat([0.5, 0.3, 0.2], [20, 1000, 7172]), 20
    yield "caption finalists", click_rates("new_yorker_caption_contest_508_round2.csv"), 4
    yield "128 weights", np.linspace(0.9, 0.1, 128), 20


INSTANCES = {name: (w, K) for name, w, K in instances()}


@pytest.mark.parametrize("name", mostly_slow(INSTANCES, set(INSTANCES) - {"128 weights"}))
def test_the_gap_is_certified(name):
    w, K = INSTANCES[name]
    cascading, semi_bandit = (sharp_bound(Instance(w, K), semi_bandit=feedback) for feedback in (False, True))
    assert cascading.gap <= 1e-3
    assert semi_bandit.gap <= 1e-3
    assert semi_bandit.characteristic_steps <= cascading.characteristic_steps * 1.001


def test_equals_the_reference_within_both_gaps():
    """The committed bounds of an earlier method, linear programmes over cuts and lists."""
    with (Path(__file__).parents[2] / "results" / "reference" / "sharp" / "bounds.csv").open() as file:
        old = {row["instance"]: (float(row["T_star"]), float(row["gap"])) for row in csv.DictReader(file)}
    for name, (T_star, gap) in old.items():
        bound = sharp_bound(Instance(*INSTANCES[name]))
        assert bound.characteristic_steps <= T_star * (1 + gap) * (1 + 1e-8)
        assert T_star <= bound.characteristic_steps * (1 + bound.gap) * (1 + 1e-8)


@pytest.mark.parametrize("K", [5, 50])
def test_a_thousand_different_weights(K):
    """Groups of items that take turns bring each item the looks that the bound claims."""
    w = np.random.default_rng(1).permutation(np.linspace(0.9, 0.1, 1000))
    bound = sharp_bound(Instance(w, K))
    assert bound.gap <= 1e-3
    order = np.argsort(-w)
    a, b, n = order[:K, None], order[None, K:], bound.rates
    x = (n[a] * w[a] + n[b] * w[b]) / (n[a] + n[b])
    least = (n[a] * kl(w[a], x) + n[b] * kl(w[b], x)).min()
    assert least * bound.characteristic_steps == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("semi_bandit", [False, True])
def test_groups_change_nothing(semi_bandit, monkeypatch):
    """Weights that crowd at the boundary, some of them equal, one by one and in groups."""
    w = np.concatenate([0.5 + np.geomspace(1e-6, 0.5, 60), 0.49 - np.geomspace(1e-6, 0.4, 60), [0.2] * 10])
    one_by_one = sharp_bound(Instance(w, 60), semi_bandit=semi_bandit)
    monkeypatch.setattr(sharp, "_LARGEST", 50)
    monkeypatch.setattr(sharp, "_GROUPS", (40, 100))
    grouped = sharp_bound(Instance(w, 60), semi_bandit=semi_bandit)
    assert 40 < len(grouped.levels) <= 100 < len(one_by_one.levels) == 121
    assert grouped.gap <= 2e-3
    assert grouped.characteristic_steps <= one_by_one.characteristic_steps * (1 + one_by_one.gap)
    assert one_by_one.characteristic_steps <= grouped.characteristic_steps * (1 + grouped.gap)
    assert grouped.rates.shape == w.shape


@pytest.mark.parametrize("values", [1, 1e4, 3e4])
def test_a_search_that_is_given_up_has_its_interval(values, monkeypatch):
    w, K = INSTANCES["graded, high"]
    known = sharp_bound(Instance(w, K), tolerance=1e-5)
    monkeypatch.setattr(maximin_module, "_VALUES", values)
    bound = sharp_bound(Instance(w, K), tolerance=1e-5)
    assert bound.gap > 1e-3
    assert bound.characteristic_steps < known.characteristic_steps < bound.characteristic_steps * (1 + bound.gap)


def test_a_long_search_tells_how_far_it_is(monkeypatch):
    monkeypatch.setattr(sharp, "_SECONDS", 0)
    told = []
    bound = sharp_bound(Instance(*INSTANCES["graded, high"]), tell=told.append)
    ends = [re.fullmatch(r"the sharp bound of 20 .*: T\* is between (.*) and (.*) so far", line) for line in told]
    assert all(float(low[1]) <= bound.characteristic_steps * 1.001 <= float(low[2]) * 1.002 for low in ends)


NEAR_ONE = [
    ([1.5, 1.7, 1.69, 1.4, 2.1, 2.4, 6e8, 2.3], 1, 1),
    ([4e8, 28, 0, 17.5, 1.96, 1.57, 6.3], 4, 4),
    ([0.297, 0.226, 0, 7e8, 0.032, 0.219, 0.238], 3, 4),
    ([0, 1e-3], 1, 1),
    ([0, 0, 3, 5], 2, 1),
]


@pytest.mark.parametrize(("below", "K", "M"), NEAR_ONE)
def test_weights_within_a_billionth_of_one(below, K, M):
    """The gap is certified there as well; weights are so many billionths below 1."""
    assert sharp_bound(Instance(1 - 1e-9 * np.array(below), K), M=M).gap <= 1e-3


def test_longer_lists_and_wider_gaps_need_fewer_steps():
    steps = [sharp_bound(Instance(np.array([0.5, 0.4, 0.3, 0.2]), 2), M=M).characteristic_steps for M in (1, 2, 3, 4)]
    assert steps[2] < steps[1] < steps[0]
    assert steps[3] == pytest.approx(steps[2], rel=1e-3)
    gaps = [sharp_bound(Instance(np.array([0.5, b, 0.1]), 1)).characteristic_steps for b in (0.45, 0.4, 0.3)]
    assert all(wider < narrow for narrow, wider in pairwise(gaps))


def test_steps_at_a_risk():
    bound = sharp_bound(Instance(np.array([0.8, 0.2]), 1))
    assert bound.steps(1e-3) == pytest.approx(bound.characteristic_steps * kl(1e-3, 1 - 1e-3))
    assert bound.steps(0.5) == 0


@pytest.mark.parametrize(
    ("instance", "options", "words"),
    [
        (Instance(np.array([0.5, 0.4]), 1, 0.2), {}, "epsilon is 0.2"),
        (Instance(np.array([0.5, 0.4]), 1), {"M": 0}, "M is 0"),
        (
            Instance(np.array([0.5, 0.4]), 1),
            {"users": DependentClick((0.5, 0.1))},
            "what dependent-click users look at",
        ),
        (Instance(np.array([0.5, 0.4]), 1), {"users": PositionBased(0.5, "one")}, "what position-based users look at"),
    ],
)
def test_refusals(instance, options, words):
    with pytest.raises(ConfigError, match=words):
        sharp_bound(instance, **options)


def best(lists, reward):
    values, shown = lists.best(reward[None])
    return values[0], tuple(shown[0].tolist())


@pytest.mark.parametrize("seed", range(60))
def test_the_best_list_among_all(seed):
    """Rewards and weights of which some are 0, weights of which some are 1."""
    rng = np.random.default_rng(seed)
    L = int(rng.integers(1, 7))
    w, reward = (np.where(rng.random(L) < 0.3, rng.choice([0.0, 1.0], L), rng.random(L)) for _ in range(2))
    M = int(rng.integers(1, L + 1))
    value, shown = best(Lists(w, np.ones(L, np.int64), M), reward)
    assert len(set(shown)) == M
    assert reward @ looks(shown, w) == pytest.approx(value)
    assert value == pytest.approx(max(reward @ looks(s, w) for s in permutations(range(L), M)))


@pytest.mark.parametrize("seed", range(20))
def test_the_best_list_of_levels(seed):
    """Levels with several items against the same items one by one."""
    rng = np.random.default_rng(seed)
    sizes, w, reward = rng.integers(1, 4, 3), rng.random(3), rng.random(3)
    M = int(rng.integers(1, sizes.sum() + 1))
    value, shown = best(Lists(w, sizes, M), reward)
    single, _ = best(Lists(np.repeat(w, sizes), np.ones(sizes.sum(), np.int64), M), np.repeat(reward / sizes, sizes))
    assert value == pytest.approx(single)
    assert (np.bincount(shown, minlength=3) <= sizes).all()
    assert reward @ Lists(w, sizes, M).rates(shown) == pytest.approx(value)


def test_many_rewards_at_once_have_the_lists_of_each(monkeypatch):
    rng = np.random.default_rng(3)
    lists, rewards = Lists(rng.random(6), rng.integers(1, 4, 6), 5), rng.random((9, 6)) * (rng.random((9, 6)) < 0.7)
    each = [best(lists, reward) for reward in rewards]
    for at_once in (1, 100, 10**6):
        monkeypatch.setattr(lists_module, "_AT_ONCE", at_once)
        values, shown = lists.best(rewards)
        assert [(value, tuple(row)) for value, row in zip(values.tolist(), shown.tolist(), strict=True)] == each
