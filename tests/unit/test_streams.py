"""Generators that are made all at once draw what those of `spawn` draw."""

import numpy as np
import pytest
from numpy.random import MT19937, PCG64, PCG64DXSM, Generator, Philox, SeedSequence

from cascadebai_cli.engines.outcomes import spawned
from cascadebai_cli.running.worker import trial_seed

SEEDS = [
    lambda: SeedSequence(0),
    lambda: SeedSequence(5, spawn_key=(0,)),
    lambda: SeedSequence([2020, 2**40, 0]),
    lambda: SeedSequence(np.arange(3)),
    lambda: SeedSequence(2**200 + 9, spawn_key=(1, 2**35)),
    lambda: SeedSequence(3, pool_size=8),
    lambda: SeedSequence(7).spawn(2)[1],
    lambda: trial_seed(20260801, "6c2def39ac51ae1c", 19),
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bits", [PCG64, PCG64DXSM, MT19937, Philox])
@pytest.mark.parametrize("before", [0, 3])
def test_draw_what_children_draw(seed, bits, before):
    rng, other = Generator(bits(seed())), Generator(bits(seed()))
    for one in (rng, other):
        one.spawn(before)
    expected, found = rng.spawn(40), spawned(other, 40)
    assert [one.random(3).tolist() for one in found] == [one.random(3).tolist() for one in expected]
    assert {type(one.bit_generator) for one in found} == {bits}
    np.testing.assert_array_equal(other.random(3), rng.random(3))
