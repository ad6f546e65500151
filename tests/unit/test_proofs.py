"""The lemma of the engines that skip, against every moment of small windows played through."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cascadebai_cli.engines.proofs import levels, levels_of_boundary, mean_bounds
from cascadebai_cli.learners.cascadebai import CascadeRule, KLCascadeRule


@st.composite
def windows(draw):
    """Counts and clicks of some items when a window begins, their outcomes in it, `k`, a rule, and who survives."""
    d = draw(st.integers(2, 6))
    T = np.array(draw(st.lists(st.integers(0, 40), min_size=d, max_size=d)))
    S = np.array([draw(st.integers(0, int(t))) for t in T])
    news = [draw(st.lists(st.booleans(), max_size=6)) for _ in range(d)]
    alive = np.array([True, True, *draw(st.lists(st.booleans(), min_size=d - 2, max_size=d - 2))])
    epsilon = draw(st.sampled_from([0.0, 0.05, 0.3]))
    rule = draw(
        st.sampled_from([KLCascadeRule(d, 1, 0.5, epsilon), *(CascadeRule(d, 1, 0.5, epsilon, s) for s in (0.03, 0.1))])
    )
    return T, S, news, alive, draw(st.integers(1, int(alive.sum()) - 1)), rule, draw(st.integers(0, 2**32))


def moments(T, S, news, seed):
    """Counts and clicks of all items after each observation of the window, in a random order."""
    T, S, left = T.copy(), S.copy(), [list(new) for new in news]
    yield T, S
    rng = np.random.default_rng(seed)
    while any(left):
        item = rng.choice([i for i, new in enumerate(left) if new])
        T[item] += 1
        S[item] += left[item].pop(0)
        yield T, S


def by_the_largest_count(rule, means, T_end, alive):
    """Who may be accepted, and who rejected."""
    most = T_end[alive].max(keepdims=True)[None]
    accept, reject = levels(rule, means, most)
    return rule.above(means.high, most, accept)[0], rule.below(means.low, most, reject)[0]


def by_the_boundary(rule, means, T_end, alive):
    bounds = (lambda mean: rule.upper(mean, T_end), lambda mean: rule.lower(mean, T_end))
    accept, reject = (level - rule.epsilon for level in levels_of_boundary(means, *bounds))
    return rule.above(means.high, T_end, accept)[0], rule.below(means.low, T_end, reject)[0]


@pytest.mark.parametrize("proof", [by_the_largest_count, by_the_boundary])
@settings(max_examples=400)
@given(windows())
def test_nobody_is_identified_who_was_no_suspect(proof, window):
    T, S, news, alive, k, rule, seed = window
    assume(proof is by_the_largest_count or isinstance(rule, CascadeRule))  # a rule that ranks bounds has no boundary
    T_end, S_end = T + [len(new) for new in news], S + [sum(new) for new in news]
    means = mean_bounds(T[None], S[None], T_end[None], S_end[None], k, alive[None])
    may_accept, may_reject = proof(rule, means, T_end, alive)
    for t, s in moments(T, S, news, seed):
        mean = s / np.maximum(t, 1)
        assert (means.low[0] <= mean)[alive].all()
        assert (mean <= means.high[0])[alive].all()
        ranked = np.flatnonzero(alive)[np.argsort(-mean[alive], kind="stable")]
        assert means.boundary[0, ranked[k - 1 : k + 1]].all()
        lower, upper = rule.lower(mean, t), rule.upper(mean, t)
        accepted, rejected = rule.identify(mean[alive], lower[alive], upper[alive], k)
        assert (may_accept[alive] | ~(lower > upper[ranked[k]] - rule.epsilon)[alive]).all()
        assert (may_accept[alive] | ~accepted).all()
        assert (may_reject[alive] | ~rejected).all()


@settings(max_examples=300)
@given(st.data())
def test_levels_after_removals(data):
    """An accepted item above `last_good` or a rejected one below `next_best` moves no level to the unsafe side."""
    d = data.draw(st.integers(3, 7))
    S = np.array([data.draw(st.lists(st.integers(0, 5), min_size=d, max_size=d))])
    S_end = S + np.array([data.draw(st.lists(st.integers(0, 2), min_size=d, max_size=d))])
    k = data.draw(st.integers(2, d - 1))
    T, T_end = np.array([[5]]), np.array([[7]])
    means = mean_bounds(T, S, T_end, S_end, k)
    item, rest = data.draw(st.integers(0, d - 1)), d - 1
    others = np.arange(d) != item
    fewer = [array[:, others] for array in (S, S_end)]
    if means.high[0, item] > means.last_good[0]:
        after = mean_bounds(T, fewer[0], T_end, fewer[1], k - 1)
    elif means.low[0, item] < means.next_best[0] and k < rest:
        after = mean_bounds(T, fewer[0], T_end, fewer[1], k)
    else:
        return
    assert after.next_best >= means.next_best
    assert after.last_good <= means.last_good
    assert not (after.boundary & ~means.boundary[:, others]).any()
