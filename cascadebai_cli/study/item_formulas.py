"""Families with a formula in the item's index `i`, from 1 to L, and those that draw their weights."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from cascadebai_cli.model import families
from cascadebai_cli.model.families import Items
from cascadebai_cli.study.fields import Formula, says
from cascadebai_cli.study.instance_entry import FAMILY, ItemsAt, SizedEntry, weight_of


class ByFormula(SizedEntry):
    """Item `i` has the weight that a formula in `i`, `K` and `L` gives."""

    family: Annotated[Literal["formula"], FAMILY]
    weight: Annotated[Formula, says("Weight of item i, from 1 to L: a formula in i, K and L.", "0.9 - 0.8*i/L")]

    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """What gives the items at each point of the grid."""
        return lambda L, K: families.explicit(
            [weight_of(self.weight, {"K": K, "L": L, "i": i}, "weight") for i in range(1, L + 1)]
        )


class Random(SizedEntry):
    """Weights that are drawn: `K` items by the formula `w_star`, then `L - K` by `w_prime`, each on its own.

    The draws follow from the study's seed and `replicate` alone: the n-th item of either kind gets the same numbers
    at every `K`, `L` and formula, so that differences between points of a grid are not those of other draws.
    """

    family: Annotated[Literal["random"], FAMILY]
    w_star: Annotated[
        Formula,
        says(
            "Weights of K items: a formula in i, K and L with uniform(low, high) or beta(a, b).", '"uniform(0.4, 0.6)"'
        ),
    ]
    w_prime: Annotated[Formula, says("Weights of the others, likewise.", "0.3 * beta(2, 5)")]
    replicate: Annotated[int, Field(ge=1), says("Number of the draw.", "2")] = 1

    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """What gives the items at each point of the grid."""

        def items_at(L: int, K: int) -> Items:
            good = self._drawn("w_star", seed, L, K, range(1, K + 1))
            return families.explicit([*good, *self._drawn("w_prime", seed, L, K, range(K + 1, L + 1))])

        return items_at

    def _drawn(self, key: Literal["w_star", "w_prime"], seed: int, L: int, K: int, items: range) -> Iterator[float]:
        rng = _generator(seed, self.replicate, key)
        for i in items:
            yield weight_of(getattr(self, key), {"K": K, "L": L, "i": i}, key, rng=rng)


def _generator(seed: int, replicate: int, key: str) -> np.random.Generator:
    """Of the weights of one kind; trials have three words behind the root seed (`running.seeds`), these have two."""
    sequence = np.random.SeedSequence(seed, spawn_key=(replicate, ("w_star", "w_prime").index(key)))
    return np.random.Generator(np.random.PCG64DXSM(sequence))
