"""The stack of rewards is the same however it is read."""

import numpy as np
import pytest
from given import TableStack

from cascadebai_cli.engines.outcomes import _KEPT, RandomStack

WEIGHTS = np.array([0.0, 0.3, 1.0])


def random_stack():
    return RandomStack(WEIGHTS, np.random.default_rng(4))


def table_stack():
    return TableStack(np.random.default_rng(4).random((3, 20_000)) < WEIGHTS[:, None])


@pytest.mark.parametrize("make", [random_stack, table_stack])
def test_pieces_make_the_whole(make):
    whole, stack, rng = make().peek(1, 0, 20_000), make(), np.random.default_rng(1)
    start = 0
    while start < 15_000:
        again, n = max(0, start - int(rng.integers(_KEPT + 1))), int(rng.integers(1, 5000))
        assert (stack.peek(1, start, n) == whole[start : start + n]).all()
        assert (stack.peek(1, again, 100) == whole[again : again + 100]).all()
        start += int(rng.integers(3000))


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.PCG64DXSM])
@pytest.mark.parametrize("start", [0, 1, _KEPT, _KEPT + 1, 3 * _KEPT, 15_001])
def test_it_can_be_read_from_anywhere_on(bits, start):
    """What is skipped is drawn by nobody, and what follows is the same."""

    def stack():
        return RandomStack(WEIGHTS, np.random.Generator(bits(5)))

    whole, later = stack().peek(1, 0, 20_000), stack()
    assert (later.peek(1, start, 700) == whole[start : start + 700]).all()
    back = max(0, start - _KEPT)
    assert (later.peek(1, back, 100) == whole[back : back + 100]).all()
    assert (later.peek(1, start + 2 * _KEPT, 9) == whole[start + 2 * _KEPT :][:9]).all()


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.PCG64DXSM, np.random.Philox])
@pytest.mark.parametrize("children", [0, 3])
def test_each_item_reads_a_child_of_the_generator_of_the_trial(bits, children):
    rng, other = (np.random.Generator(bits(np.random.SeedSequence([2, 7], spawn_key=(1,)))) for _ in range(2))
    w = np.linspace(0.1, 0.9, 40)
    for one in (rng, other):
        one.spawn(children) if children else None
    stack = RandomStack(w, rng)
    expected = [stream.random(1500) < own for stream, own in zip(other.spawn(40), w, strict=True)]
    for start, n in ((0, 2), (0, 64), (60, 10), (500, 1000)):
        for item in range(40):
            assert (stack.peek(item, start, n) == expected[item][start : start + n]).all()


def test_items_do_not_depend_on_each_other():
    one, other = random_stack(), random_stack()
    for item in (0, 2):
        other.peek(item, 0, 777)
    assert (one.peek(1, 0, 500) == other.peek(1, 0, 500)).all()


def test_rates():
    stack = random_stack()
    means = [stack.peek(item, 0, 10_000).mean() for item in range(3)]
    assert means[0] == 0
    assert means[2] == 1
    assert abs(means[1] - 0.3) < 5 * np.sqrt(0.21 / 10_000)


def test_a_table_ends_in_skips():
    assert TableStack([[1, 1, 1]]).peek(0, 1, 4).tolist() == [True, True, False, False]
    assert not TableStack([[1, 1, 1]]).peek(0, 7, 2).any()
