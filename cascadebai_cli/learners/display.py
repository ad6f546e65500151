"""The order in which the chosen items are displayed (Section 6.1 of the paper, Figures 1 and 4).

The items shown are always the least observed survivors; a display order changes only their places in the list.
"""

from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.instance import FloatArray

OrderName = Literal["T", "mean", "-mean", "U", "-U", "L", "-L"]

HUGE = 1e300
"""Stands for an infinite radius: larger than any other value, yet finite."""


class DisplayOrder(NamedTuple):
    """Items are shown in ascending order of `sign (mean + width C(T))`, ties least observed first.

    `width` is 0 for the mean, 1 for the upper and -1 for the lower confidence bound; a `sign` of -1 makes the
    order descending, and 0 leaves the least-observed-first order of Algorithm 1.
    """

    sign: int
    width: int

    def values(self, mean: FloatArray, radius: FloatArray) -> FloatArray:
        """What is sorted by. An unobserved item has mean 0, `U = inf` and `L = -inf`, written as `HUGE`."""
        bound: FloatArray = mean + self.width * np.minimum(radius, HUGE) if self.width else mean
        return bound if self.sign == 1 else self.sign * bound


ORDERS = MappingProxyType(
    {
        "T": DisplayOrder(0, 0),
        "mean": DisplayOrder(1, 0),
        "-mean": DisplayOrder(-1, 0),
        "U": DisplayOrder(1, 1),
        "-U": DisplayOrder(-1, 1),
        "L": DisplayOrder(1, -1),
        "-L": DisplayOrder(-1, -1),
    }
)
"""Name of a display order -> the order."""


def display_order(name: str) -> DisplayOrder:
    """The order of that name.

    Raises:
        ConfigError: if there is none.
    """
    if name not in ORDERS:
        raise ConfigError(f"order is {name!r}, but must be one of {', '.join(ORDERS)}")
    return ORDERS[name]
