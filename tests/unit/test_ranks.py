"""Ranks without sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cascadebai_cli.learners import protocol


@settings(max_examples=200)
@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=6, max_size=6), min_size=1, max_size=4),
    st.integers(0, 5),
)
def test_of_rank_is_what_sorting_gives(means, rank):
    mean = np.array(means)
    assert protocol.of_rank(mean, rank).tolist() == protocol.by_mean(mean)[..., rank].tolist()
    assert protocol.of_rank(mean[0], rank) == protocol.by_mean(mean[0])[rank]


@pytest.mark.parametrize("k", [1, 3, 299, 599])
def test_the_boundary_does_not_depend_on_how_it_is_found(monkeypatch, k):
    mean = np.random.default_rng(1).integers(0, 40, (3, 600)) / 40
    found = [values.tolist() for values in protocol.boundary(mean, k)]
    monkeypatch.setattr(protocol, "_MANY", 601)
    assert [values.tolist() for values in protocol.boundary(mean, k)] == found


@pytest.mark.parametrize("many", [1, 512])
def test_each_state_may_have_its_own_k(monkeypatch, many):
    """Means with many ties, of one state for each `k` and moment."""
    monkeypatch.setattr(protocol, "_MANY", many)
    mean = np.random.default_rng(2).integers(0, 4, (7, 5, 8)) / 4
    k = np.repeat(np.arange(1, 8), 5).reshape(7, 5)
    found = [index.tolist() for index in protocol.boundary(mean, k)]
    alone = [
        [protocol.boundary(state, int(each)) for state in states] for states, each in zip(mean, k[:, 0], strict=True)
    ]
    assert found == [[[int(pair[which]) for pair in row] for row in alone] for which in (0, 1)]
    assert protocol.largest(mean, k)[..., 0].tolist() == [
        [sorted(state)[7 - each] for state in states.tolist()] for states, each in zip(mean, k[:, 0], strict=True)
    ]
