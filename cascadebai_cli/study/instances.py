"""Instance entries of a config: one class a family, its keys and how its weights are made."""

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model import families
from cascadebai_cli.model.click_rates import ClickRateFile
from cascadebai_cli.model.families import Items
from cascadebai_cli.model.formula import evaluate
from cascadebai_cli.study.fields import MOST_ITEMS, Entry, Formula, List, Risks, Sizes, Text, Tolerances
from cascadebai_cli.study.messages import mistake, show
from cascadebai_cli.study.zipped import Zip

ScalingModel = Literal["K", "K^2", "sqrt(K)", "log(K)"]
ItemsAt = Callable[[int, int], Items]
"""`items_at(L, K)` gives the items at a point of the grid; `L` is 0 for families that bring their own."""


class Coefficients(Entry):
    """Known values of a fit `c1 f(K) + c2`, to stand beside ours."""

    c1: float | None = None
    c2: float | None = None
    r2: float | None = None
    p_value: float | None = None


class Fit(Entry):
    """Which regressor the mean steps of an instance are fitted on.

    Attributes:
        model: the regressor.
        published: the values printed in the paper.
        prior: values that were obtained before, by another program.
    """

    model: ScalingModel
    published: Coefficients | None = None
    prior: Coefficients | None = None


class InstanceEntry(Entry):
    """Keys of all families; `K`, `L`, `delta`, `epsilon`, `zip` override those of the study."""

    needs_L: ClassVar[bool] = False

    name: Text
    K: Sizes | None = None
    delta: Risks | None = None
    epsilon: Tolerances | None = None
    zip: Zip | None = None
    fit: Fit | None = None

    @abstractmethod
    def family_in(self, folder: Path) -> ItemsAt:
        """What gives the items at each point of the grid; a file is read here, once, from `folder`.

        This, or what it gives, raises:
            PydanticCustomError: if a weight has no value or lies outside `[0, 1]`, or the file is not usable.
        """

    def _weight(self, key: str, L: int, K: int) -> float:
        return _weight(getattr(self, key), L, K, key)


class SizedEntry(InstanceEntry):
    """A family with a number of items to choose."""

    needs_L: ClassVar[bool] = True

    L: Sizes | None = None


class TwoLevel(SizedEntry):
    """`K` items with `w_star`, `L - K` with `w_prime`."""

    family: Literal["two_level"]
    w_star: Formula
    w_prime: Formula

    def family_in(self, folder: Path) -> ItemsAt:
        """What gives the items at each point of the grid."""
        return lambda L, K: families.two_level(L, K, self._weight("w_star", L, K), self._weight("w_prime", L, K))


class Linear(SizedEntry):
    """`L` weights evenly spaced from `w_max` to `w_min`."""

    family: Literal["linear"]
    w_max: Formula
    w_min: Formula

    def family_in(self, folder: Path) -> ItemsAt:
        """What gives the items at each point of the grid."""
        return lambda L, K: families.linear(L, self._weight("w_max", L, K), self._weight("w_min", L, K))


def _enough(weights: tuple[str | float, ...]) -> tuple[str | float, ...]:
    if not 2 <= len(weights) <= MOST_ITEMS:
        raise mistake(f"{len(weights)} weights are listed; write 2 to {MOST_ITEMS}")
    return weights


class Explicit(InstanceEntry):
    """A list of weights."""

    family: Literal["explicit"]
    weights: Annotated[tuple[Formula, ...], List, AfterValidator(_enough)]

    def family_in(self, folder: Path) -> ItemsAt:
        """What gives the items at each point of the grid."""
        L, formulas = len(self.weights), list(enumerate(self.weights))
        return lambda _, K: families.explicit([_weight(w, L, K, "weights", i) for i, w in formulas])


class Csv(InstanceEntry):
    """Click rates of a file; `path` counts from the folder of the config.

    Attributes:
        clicks, views: columns of counts.
        rate: column of rates, instead of counts.
        item: column of names; items are numbered without it.
        top: only the first rows, in the order of the file.
    """

    family: Literal["csv"]
    path: Text
    item: Text | None = None
    clicks: Text | None = None
    views: Text | None = None
    rate: Text | None = None
    top: Annotated[int, Field(ge=2)] | None = None

    @model_validator(mode="after")
    def _counts_or_rates(self) -> "Csv":
        given = [self.clicks is not None, self.views is not None, self.rate is not None]
        if given not in ([True, True, False], [False, False, True]):
            keys = [key for key in ("clicks", "views", "rate") if getattr(self, key) is not None]
            found = "none of clicks, views, rate" if not keys else f"only {keys[0]}" if len(keys) == 1 else None
            raise mistake(
                f"{show(self.name)} has {found or ' and '.join(keys)}; name the columns of clicks and views, "
                "or the one of rate"
            )
        return self

    def family_in(self, folder: Path) -> ItemsAt:
        """What gives the items of the file, the same at every point of the grid."""
        columns = {"clicks": self.clicks, "views": self.views, "rate": self.rate, "item": self.item}
        file = ClickRateFile(folder / self.path, **columns, top=self.top, label=self.path)
        try:
            items = families.from_csv(file)
        except ConfigError as error:
            raise mistake(str(error), "path") from None
        return lambda *_: items


AnyInstance = Annotated[TwoLevel | Linear | Explicit | Csv, Field(discriminator="family")]
"""The class is chosen by `family`."""


def _weight(formula: str | float, L: int, K: int, *at: str | int) -> float:
    try:
        value = evaluate(formula, {"K": K, "L": L})
    except ConfigError as error:
        raise mistake(str(error), *at) from None
    if not 0 <= value <= 1:
        worth = f"{formula} = {value:g} at K = {K}, L = {L}" if isinstance(formula, str) else f"{value:g}"
        raise mistake(f"{worth} is outside [0, 1]; a weight is the probability of a click", *at)
    return value
