"""Cuts of the sweep against a loop over observations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cascadebai_cli.engines.stretch import Stretch, step_ends


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
    rounds, items = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    rate = draw(st.sampled_from([0.0, 0.05, 0.3, 0.7, 0.95, 1.0]))
    bits = np.random.default_rng(draw(st.integers(0, 2**32))).random((rounds, items)) < rate
    batch = draw(st.integers(1, items))
    return bits, draw(st.integers(0, batch - 1)), batch


def stretch_of(bits, clicks):
    return Stretch(*bits.shape, np.flatnonzero(bits == clicks), clicks)


@settings(max_examples=400)
@given(sweeps(), st.booleans(), st.data())
def test_cuts(sweep, clicks, data):
    bits, offset, batch = sweep
    rounds, items = bits.shape
    start = data.draw(st.integers(0, rounds))
    stop = data.draw(st.integers(start, rounds))
    columns = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=items, max_size=items)))
    if len(columns) < batch:
        columns = np.arange(items)
    ends, rest = loop(bits[start:stop, columns].ravel(), offset, batch)
    assert stretch_of(bits, clicks).cuts(start, stop, columns, offset, batch) == (len(ends), rest)


@settings(max_examples=200)
@given(sweeps())
def test_step_ends(sweep):
    bits, offset, batch = sweep
    assert step_ends(bits.ravel(), offset, batch).tolist() == loop(bits.ravel(), offset, batch)[0]


@pytest.mark.parametrize("clicks", [True, False])
def test_sums_and_outcomes(clicks):
    bits = np.random.default_rng(1).random((24, 5)) < 0.4
    stretch = stretch_of(bits, clicks)
    borders = stretch.sums(4, 4, 5)
    assert borders.tolist() == [bits[4 : 4 + 5 * row].sum(axis=0).tolist() for row in range(5)]
    assert stretch.outcomes(7).tolist() == bits[7].tolist()


@pytest.mark.parametrize(("click", "steps"), [(False, 25), (True, 100)])
@pytest.mark.parametrize("clicks", [True, False])
def test_cuts_of_certain_outcomes(click, steps, clicks):
    """w = 0: a step takes the whole batch; w = 1: every observation ends a step."""
    bits = np.full((20, 5), click)
    assert stretch_of(bits, clicks).cuts(0, 20, np.arange(5), 0, 4) == (steps, 0)
