"""Cuts of the sweep against a loop over observations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cascadebai_cli.engines.skip_rows import cuts_at_clicks, cuts_at_skips, group_sums, step_ends


def loop(bits, offset, batch):
    """Places at which steps end, and observations of the step then in progress."""
    ends = []
    for place, click in enumerate(bits):
        offset += 1
        if click or offset == batch:
            ends.append(place)
            offset = 0
    return ends, offset


@st.composite
def sweeps(draw):
    """Outcomes of some rows, offsets and batches."""
    length = draw(st.integers(0, 40))
    rate = draw(st.sampled_from([0.0, 0.05, 0.3, 0.7, 0.95, 1.0]))
    bits = np.random.default_rng(draw(st.integers(0, 2**32))).random(length) < rate
    batch = draw(st.integers(1, 9))
    return bits, draw(st.integers(0, batch - 1)), batch


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.lists(sweeps(), min_size=1, max_size=5), st.booleans())
def test_cuts(rows, clicks):
    at = [np.flatnonzero(bits == clicks).astype(np.int32) for bits, _, _ in rows]
    length, offset, batch = np.array([(len(bits), *rest) for bits, *rest in rows]).T
    count = cuts_at_clicks if clicks else cuts_at_skips
    steps, rest = count(np.concatenate(at), np.array([len(part) for part in at]), length, offset, batch)
    expected = [loop(*row) for row in rows]
    assert steps.tolist() == [len(ends) for ends, _ in expected]
    assert rest.tolist() == [left for _, left in expected]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(sweeps(), st.data())
def test_step_ends(sweep, data):
    bits, offset, batch = sweep
    observed = np.array(data.draw(st.lists(st.booleans(), min_size=len(bits), max_size=len(bits))), bool)
    ends = step_ends(bits[None], observed[None], np.array([offset]), np.array([batch]))
    expected, _ = loop(bits[observed], offset, batch)
    assert np.flatnonzero(ends).tolist() == np.flatnonzero(observed)[expected].tolist()


@pytest.mark.parametrize("clicks", [True, False])
def test_group_sums(clicks):
    bits = np.random.default_rng(1).random((24, 8)) < 0.4
    at, item = np.nonzero(bits == clicks)
    sums = group_sums((at << 3) | item, 3, 4, 6, clicks)
    assert sums.tolist() == [bits[: 4 * group].sum(axis=0).tolist() for group in range(7)]


@pytest.mark.parametrize(("click", "steps"), [(False, 25), (True, 100)])
@pytest.mark.parametrize("clicks", [True, False])
def test_cuts_of_certain_outcomes(click, steps, clicks):
    """w = 0: a step takes the whole batch; w = 1: every observation ends a step."""
    at = np.arange(100 if click == clicks else 0, dtype=np.int32)
    count = cuts_at_clicks if clicks else cuts_at_skips
    made, rest = count(at, np.array([len(at)]), np.array([100]), np.array([0]), np.array([4]))
    assert (made.tolist(), rest.tolist()) == ([steps], [0])
