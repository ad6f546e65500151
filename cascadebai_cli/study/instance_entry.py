"""What all instance entries of a config have in common."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.families import Items
from cascadebai_cli.model.formula import evaluate
from cascadebai_cli.study.fields import Budgets, Entry, Risks, Sizes, Text, Tolerances, says
from cascadebai_cli.study.fit import Fit
from cascadebai_cli.study.messages import mistake
from cascadebai_cli.study.zipped import Zip
from cascadebai_cli.text.numbers import unrounded

ItemsAt = Callable[[int, int], Items]
"""`items_at(L, K)` gives the items at a point of the grid; `L` is 0 for families that bring their own."""


FAMILY = says("How the weights are made.")


class InstanceEntry(Entry):
    """Keys of all families; `K`, `L`, `delta`, `epsilon`, `budget`, `zip` override those of the study."""

    needs_L: ClassVar[bool] = False

    name: Annotated[Text, says("Name in tables and figures.", "setting 1")]
    K: Annotated[Sizes | None, says("In place of the K of the study.", "4")] = None
    delta: Annotated[Risks | None, says("In place of the delta of the study.", "0.05")] = None
    epsilon: Annotated[Tolerances | None, says("In place of the epsilon of the study.", "0.05")] = None
    budget: Annotated[Budgets | None, says("In place of the budget of the study.", "20000")] = None
    zip: Annotated[Zip | None, says("In place of the zip of the study.", "{K: [2, 4], delta: [0.1, 0.05]}")] = None
    fit: Annotated[Fit | None, says("What `cascadebai fit` fits the mean steps on.", "{model: K^2}")] = None

    @property
    def code(self) -> str | None:
        """Hash of the code of one's own that makes the weights."""
        return None

    @abstractmethod
    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """What gives the items at each point of the grid.

        Args:
            folder: from which a path counts; a file is read here, once.
            seed: root seed of the study, for a family that draws.

        This, or what it gives, raises:
            PydanticCustomError: if a weight has no value or lies outside `[0, 1]`, or the file is not usable.
        """

    def _weight(self, key: str, L: int, K: int) -> float:
        return weight_of(getattr(self, key), {"K": K, "L": L}, key)


class SizedEntry(InstanceEntry):
    """A family with a number of items to choose."""

    needs_L: ClassVar[bool] = True

    L: Annotated[Sizes | None, says("In place of the L of the study.", "128")] = None


def weight_of(
    formula: str | float,
    names: Mapping[str, int],
    *at: str | int,
    rng: np.random.Generator | None = None,
) -> float:
    """The weight that a formula gives for values of its names, `K` and `L` first.

    Raises:
        PydanticCustomError: about what lies `at`, if it has no value or lies outside `[0, 1]`.
    """
    try:
        value = evaluate(formula, names, rng)
    except ConfigError as error:
        raise mistake(str(error), *at) from None
    if not 0 <= value <= 1:
        place = ", ".join(f"{name} = {number}" for name, number in names.items())
        worth = f"{formula} = {unrounded(value)} at {place}" if isinstance(formula, str) else unrounded(value)
        raise mistake(f"{worth} is outside [0, 1]; a weight is the probability of a click", *at)
    return value
