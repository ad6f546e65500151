"""The display order changes the places in the list, never which items are in it."""

import numpy as np
import pytest

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.learners.protocol import _HUGE as HUGE
from cascadebai_cli.learners.protocol import ORDERS, RacingLearner

T = [2, 50, 10, 0, 400, 10, 9000, 0]
S = [1, 40, 2, 0, 300, 2, 1000, 0]


def learner(order, K=6):
    made = CascadeBAI(L=8, K=K, delta=0.1, order=order)
    made.T[:], made.S[:] = T, S
    return made


def shown_by_hand(order):
    """Six least observed of the eight, sorted by pairs (value, place in the least-observed-first order)."""
    least = [3, 7, 0, 2, 5, 1]
    radius = CascadeBAI(8, 6, 0.1).rule.radius(np.array(T))
    mean = [s / t if t else 0.0 for s, t in zip(S, T, strict=True)]
    value = {
        "T": [0.0] * 8,
        "mean": mean,
        "U": [m + c for m, c in zip(mean, radius, strict=True)],
        "L": [m - c for m, c in zip(mean, radius, strict=True)],
    }[order.lstrip("-")]
    sign = -1 if order.startswith("-") else 1
    return [i for _, _, i in sorted((sign * value[i], place, i) for place, i in enumerate(least))]


@pytest.mark.parametrize("order", ORDERS)
def test_order_of_the_list(order):
    assert learner(order).select() == shown_by_hand(order)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("T", [3, 7, 0, 2, 5, 1]),
        ("mean", [3, 7, 2, 5, 0, 1]),
        ("-mean", [1, 0, 2, 5, 3, 7]),
        ("U", [1, 2, 5, 0, 3, 7]),
        ("-U", [3, 7, 0, 2, 5, 1]),
        ("L", [3, 7, 0, 2, 5, 1]),
        ("-L", [1, 2, 5, 0, 3, 7]),
    ],
)
def test_written_out(order, expected):
    """Unobserved items (3 and 7) have mean 0, U = inf and L = -inf; ties keep the least-observed-first order."""
    assert learner(order).select() == expected


@pytest.mark.parametrize("order", ORDERS)
def test_the_items_are_the_least_observed(order):
    for K in range(1, 8):
        made = learner(order, K)
        assert sorted(made.select()) == sorted(RacingLearner.select(made))


def test_orders_differ():
    assert len({tuple(learner(order).select()) for order in ORDERS}) == 4


def test_values_of_unobserved_items():
    unseen, infinite = np.zeros(1), np.full(1, np.inf)
    assert {name: float(order.values(unseen, infinite)[0]) for name, order in ORDERS.items()} == {
        "T": 0,
        "mean": 0,
        "-mean": 0,
        "U": HUGE,
        "-U": -HUGE,
        "L": -HUGE,
        "-L": HUGE,
    }


def test_unknown_order():
    with pytest.raises(ConfigError, match=r"^order is 'median', but must be one of T, mean, -mean, U, -U, L, -L$"):
        CascadeBAI(4, 2, 0.1, order="median")
