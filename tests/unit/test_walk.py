"""Tables of rewards that are indexed by time: what the walk engine does beyond `test_engines_equal_the_judge`."""

import numpy as np
import pytest
from given import GivenTable

from cascadebai_cli.engines.simulate import run_reference
from cascadebai_cli.engines.walk import RandomTable, TableShape, run_walk
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.model.problem import CASCADING


def both_runs(arguments, table, cap):
    expected = run_reference(CascadeBAI(**arguments), GivenTable(table), CASCADING, cap)
    return expected, run_walk(CascadeBAI(**arguments).rule, GivenTable(table), cap)


def weights_of(L=6, K=2):
    return np.where(np.arange(L) < K, 0.8, 0.3)


@pytest.mark.parametrize("shape", [TableShape(300), TableShape(5000), TableShape(7, reuse=False)])
def test_both_engines_draw_the_same_table(shape):
    w = weights_of()
    tables = [RandomTable(w, np.random.default_rng(5), shape) for _ in range(2)]
    expected = run_reference(CascadeBAI(6, 2, 0.1), tables[0], CASCADING, 20_000)
    assert run_walk(CascadeBAI(6, 2, 0.1).rule, tables[1], 20_000) == expected


def rows_of(table, steps):
    return np.array([[table.at(step)(item) for item in range(6)] for step in range(steps)])


def test_a_reused_table_repeats_its_rows_and_one_drawn_anew_does_not():
    again, anew = (
        rows_of(RandomTable(weights_of(), np.random.default_rng(1), TableShape(1000, reuse)), 9000)
        for reuse in (True, False)
    )
    assert (again[1000:] == again[:-1000]).all()
    assert not (again[999:] == again[:-999]).all()
    assert (anew[1000:] != anew[:-1000]).mean() > 0.2
    assert np.abs(anew.mean(axis=0) - weights_of()).max() < 4 * 0.5 / 9000**0.5


def test_more_than_128_survivors():
    """Places and clicks take two bytes."""
    w = np.linspace(0, 1, 300)
    table = np.random.default_rng(0).random((50, 300)) < w
    arguments = {"L": 300, "K": 7, "delta": 0.1, "sigma": 0.1}
    expected, found = both_runs(arguments, table, 3000)
    assert found == expected
    assert len(found.rejected) > 0
