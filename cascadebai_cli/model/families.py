"""Families of instances: click probabilities of the items from a few numbers or from a file.

Pure functions apart from `from_csv`, which reads one file. Formulas in `K` and `L` are evaluated by the caller.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.click_rates import ClickRateFile, read_click_rates
from cascadebai_cli.model.instance import FloatArray
from cascadebai_cli.text.numbers import unrounded


@dataclass(frozen=True, eq=False)
class Items:
    """Named items and their click probabilities.

    Attributes:
        names: one name an item, `"1"` to `str(L)` where the family has none.
        weights: click probability of each item, shape `(L,)`.
    """

    names: tuple[str, ...]
    weights: FloatArray


def two_level(L: int, K: int, w_star: float, w_prime: float) -> Items:
    """`K` items with `w_star`, then `L - K` with `w_prime` (Section 5 of the paper)."""
    if w_star < w_prime:
        raise ConfigError(
            f"w_star = {unrounded(w_star)} is smaller than w_prime = {unrounded(w_prime)}; "
            "exchange them or change a formula"
        )
    return _numbered(np.repeat([w_star, w_prime], [K, L - K]))


def linear(L: int, w_max: float, w_min: float) -> Items:
    """`L` weights evenly spaced from `w_max` down to `w_min`, both included."""
    if w_max < w_min:
        raise ConfigError(
            f"w_max = {unrounded(w_max)} is smaller than w_min = {unrounded(w_min)}; exchange them or change a formula"
        )
    return _numbered(np.linspace(w_max, w_min, L))


def explicit(weights: Sequence[float]) -> Items:
    """The weights as they are listed."""
    return _numbered(np.array(weights, dtype=np.float64))


def from_csv(file: ClickRateFile) -> Items:
    """The first `top` rows of a file of clicks and views, or of rates, in the order of the file.

    Raises:
        ConfigError: if the file or one of its values is not usable.
    """
    names, rates = read_click_rates(file)
    return Items(names, np.array(rates, dtype=np.float64))


def _numbered(weights: FloatArray) -> Items:
    return Items(_numbers((len(weights) - 1).bit_length())[: len(weights)], weights)


@cache
def _numbers(bits: int) -> tuple[str, ...]:
    """`"1", "2", ...`, so many that texts are shared by lists of about equal length."""
    return tuple(map(str, range(1, (1 << bits) + 1)))
