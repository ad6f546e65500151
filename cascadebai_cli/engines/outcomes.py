"""Sources of outcomes: the n-th observation of item `i` is Bernoulli(`w(i)`), whatever the learner does.

A source offers two views of this stack of rewards: `next`, one outcome at a time, and `stretch`, the
next `n` outcomes of several items at once, kept as the keys of the rarer outcome.
"""

from typing import NamedTuple, Protocol

import numpy as np

from cascadebai_cli.engines.keys import key_type, true_places
from cascadebai_cli.model.instance import BoolArray, FloatArray, IntArray

DENSE_RATE = 0.11
"""Mean rate of the rarer outcome from which drawing every outcome is cheaper than drawing hits."""
LARGEST_RATE = 3.5
"""Hits of a cell from which drawing every outcome of the item is cheaper."""


class Stretch(NamedTuple):
    """Outcomes of some rounds.

    Attributes:
        keys: `round << shift | item` of every rare outcome, ascending.
        clicks: whether the rare outcome is a click (else a skip).
    """

    keys: IntArray
    clicks: bool


class Outcomes(Protocol):
    """Where the outcomes of a trial come from."""

    def next(self, item: int) -> int:
        """Next outcome of `item`: 1 a click, 0 a skip."""
        ...

    def stretch(self, items: IntArray, start: int, rounds: int, shift: int) -> Stretch:
        """Outcomes `start, ..., start + rounds - 1` of each of `items`, all below `2 ** shift`."""
        ...

    def rarity(self, items: IntArray) -> float:
        """Expected number of keys per observation of `items`, for sizing a stretch."""
        ...


class RandomOutcomes:
    """Outcomes drawn from a generator.

    Args:
        weights: click probability of each item, shape `(L,)`.
        rng: the only source of randomness.
    """

    def __init__(self, weights: FloatArray, rng: np.random.Generator) -> None:
        self.weights, self.rng = weights, rng

    def next(self, item: int) -> int:
        """One Bernoulli(w) draw."""
        return int(self.rng.random() < self.weights[item])

    def rarity(self, items: IntArray) -> float:
        """Mean probability of the outcome that is rarer on average."""
        mean = float(self.weights[items].mean())
        return min(mean, 1 - mean)

    def stretch(self, items: IntArray, start: int, rounds: int, shift: int) -> Stretch:
        """Fresh outcomes; what was drawn before and not used is forgotten, which changes no law."""
        w = self.weights[items]
        clicks = bool(w.mean() <= 0.5)
        rate = w if clicks else 1 - w
        if rate.mean() > DENSE_RATE:
            at, place = true_places(self._dense(rate, rounds))
            return Stretch(((at << shift) | items[place]).astype(key_type(rounds, shift)), clicks)
        return Stretch(self._sparse(rate, items, rounds, shift), clicks)

    def _dense(self, rate: FloatArray, rounds: int) -> BoolArray:
        """Whether each outcome is the rare one, shape `(rounds, d)`.

        A 16-bit number decides unless it equals the 16-bit prefix of the rate; a second draw then settles it.
        """
        scaled = rate * 65536
        prefix = np.minimum(np.floor(scaled), 65535)
        drawn = self.rng.integers(0, 65536, size=(rounds, len(rate)), dtype=np.uint16)
        threshold = prefix.astype(np.uint16)
        rare = drawn < threshold
        tied = np.flatnonzero(drawn == threshold)
        rare.ravel()[tied] = self.rng.random(len(tied)) < (scaled - prefix)[tied % len(rate)]
        return rare

    def _sparse(self, rate: FloatArray, items: IntArray, rounds: int, shift: int) -> IntArray:
        """Keys of the rare outcomes.

        Points of a Poisson process fall into a cell of mean `-log(1 - rate)` at least once with probability `rate`,
        independently of the other cells; repeated points count once.
        """
        with np.errstate(divide="ignore"):
            mean = -np.log1p(-rate)
        often = mean > LARGEST_RATE
        points = self.rng.poisson(np.where(often, 0, mean * rounds))
        keys = self.rng.integers(0, rounds, size=points.sum(), dtype=key_type(rounds, shift))
        keys <<= shift
        keys |= np.repeat(items.astype(keys.dtype), points)
        if often.any():
            at, place = true_places(self.rng.random((rounds, int(often.sum()))) < rate[often])
            keys = np.concatenate([keys, ((at << shift) | items[often][place]).astype(keys.dtype)])
        keys.sort()
        fresh = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
        once: IntArray = keys[fresh]
        return once
