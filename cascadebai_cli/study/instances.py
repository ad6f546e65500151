"""Instance entries of a config: one class a family, its keys and how its weights are made."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.own_code import is_own
from cascadebai_cli.model import families
from cascadebai_cli.model.click_rates import ClickRateFile
from cascadebai_cli.study.fields import MOST_ITEMS, Formula, Text, says
from cascadebai_cli.study.instance_entry import FAMILY, InstanceEntry, ItemsAt, SizedEntry, weight_of
from cascadebai_cli.study.item_formulas import ByFormula, Random
from cascadebai_cli.study.messages import mistake, show
from cascadebai_cli.study.own_family import OWN, Own


class TwoLevel(SizedEntry):
    """`K` items with `w_star`, `L - K` with `w_prime`."""

    family: Annotated[Literal["two_level"], FAMILY]
    w_star: Annotated[Formula, says("Weight of the best K items: a number, or a formula in K and L.", "1/sqrt(K)")]
    w_prime: Annotated[Formula, says("Weight of the others.", "1/K**2")]

    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """What gives the items at each point of the grid."""
        return lambda L, K: families.two_level(L, K, self._weight("w_star", L, K), self._weight("w_prime", L, K))


class Linear(SizedEntry):
    """`L` weights evenly spaced from `w_max` to `w_min`."""

    family: Annotated[Literal["linear"], FAMILY]
    w_max: Annotated[Formula, says("The largest weight: a number, or a formula in K and L.", "0.5")]
    w_min: Annotated[Formula, says("The smallest weight.", "0.1")]

    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """What gives the items at each point of the grid."""
        return lambda L, K: families.linear(L, self._weight("w_max", L, K), self._weight("w_min", L, K))


def _enough(weights: tuple[str | float, ...]) -> tuple[str | float, ...]:
    if not 2 <= len(weights) <= MOST_ITEMS:
        raise mistake(f"{len(weights)} weights are listed; write 2 to {MOST_ITEMS}")
    return weights


class Explicit(InstanceEntry):
    """A list of weights."""

    family: Annotated[Literal["explicit"], FAMILY]
    weights: Annotated[
        tuple[Formula, ...],
        Field(strict=False, json_schema_extra={"minItems": 2}),
        AfterValidator(_enough),
        says("The weights, numbers or formulas in K and L.", "[0.9, 0.5, 0.4, 0.1]"),
    ]

    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """What gives the items at each point of the grid."""
        L, formulas = len(self.weights), list(enumerate(self.weights))
        return lambda _, K: families.explicit([weight_of(w, {"K": K, "L": L}, "weights", i) for i, w in formulas])


class Csv(InstanceEntry):
    """Click rates of a file, one row an item: `clicks` and `views`, or `rate`."""

    family: Annotated[Literal["csv"], FAMILY]
    path: Annotated[Text, says("The file, from the folder of the config.", "clicks.csv")]
    item: Annotated[Text | None, says("Column of names; without it items are numbered.", "id")] = None
    clicks: Annotated[Text | None, says("Column of the numbers of clicks.", "clicks")] = None
    views: Annotated[Text | None, says("Column of the numbers of views.", "views")] = None
    rate: Annotated[Text | None, says("Column of rates, in place of the two.", "rate")] = None
    top: Annotated[Annotated[int, Field(ge=2)] | None, says("Only so many rows, the first of the file.", "50")] = None

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

    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """What gives the items of the file, the same at every point of the grid."""
        columns = {"clicks": self.clicks, "views": self.views, "rate": self.rate, "item": self.item}
        file = ClickRateFile(folder / self.path, **columns, top=self.top, label=self.path)
        try:
            items = families.from_csv(file)
        except ConfigError as error:
            raise mistake(str(error), "path") from None
        return lambda *_: items


def _family(entry: Any) -> str | None:
    """Tag of the class of an entry, which is validated or not."""
    family = entry.get("family") if isinstance(entry, dict) else getattr(entry, "family", None)
    if isinstance(family, str) and is_own(family):
        return OWN
    return None if family is None else str(family)


AnyInstance = Annotated[
    Annotated[TwoLevel, Tag("two_level")]
    | Annotated[Linear, Tag("linear")]
    | Annotated[Explicit, Tag("explicit")]
    | Annotated[Csv, Tag("csv")]
    | Annotated[ByFormula, Tag("formula")]
    | Annotated[Random, Tag("random")]
    | Annotated[Own, Tag(OWN)],
    Discriminator(_family),
]
"""The class is chosen by `family`."""
