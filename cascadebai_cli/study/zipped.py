"""Values of the grid that go in pairs: `zip: {K: [2, 4], delta: [0.1, 0.05]}` is two points, not four."""

from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from cascadebai_cli.study.fields import (
    ALL_AXES,
    Budget,
    Entry,
    Growth,
    List,
    Range,
    Risk,
    Several,
    Size,
    Tolerance,
    growth_as_list,
    range_as_list,
    says,
)
from cascadebai_cli.study.messages import mistake, show

_Sizes = Annotated[
    tuple[Size, ...], List, BeforeValidator(range_as_list, json_schema_input_type=Size | Several[Size] | Range)
]
_Budgets = Annotated[
    tuple[Budget, ...], List, BeforeValidator(growth_as_list, json_schema_input_type=Budget | Several[Budget] | Growth)
]


class Zip(Entry):
    """Lists of equal length; the first values make one point, the second ones another, and so on."""

    L: Annotated[_Sizes | None, says("Number of items.", "[64, 128]")] = None
    K: Annotated[_Sizes | None, says("Number of items to find.", "[2, 4]")] = None
    delta: Annotated[Annotated[tuple[Risk, ...], List] | None, says("Risks.", "[0.1, 0.05]")] = None
    epsilon: Annotated[Annotated[tuple[Tolerance, ...], List] | None, says("Tolerances.", "[0, 0.05]")] = None
    budget: Annotated[_Budgets | None, says("Numbers of steps.", "[500, 1000]")] = None

    @property
    def values(self) -> dict[str, tuple[Any, ...]]:
        """The lists that are given, by name."""
        return {name: getattr(self, name) for name in ALL_AXES if getattr(self, name) is not None}

    @model_validator(mode="after")
    def _pair_up(self) -> "Zip":
        lengths = {name: len(values) for name, values in self.values.items()}
        if len(lengths) < 2:
            raise mistake("pairs nothing; give lists of two or more of L, K, delta, epsilon and budget")
        if len(set(lengths.values())) > 1 or not all(lengths.values()):
            found = ", ".join(f"{number} of {name}" for name, number in lengths.items())
            raise mistake(f"the lists have different lengths or none ({found}); write as many values of each")
        rows = list(zip(*self.values.values(), strict=True))
        for i, row in enumerate(rows):
            if row in rows[:i]:
                raise mistake(f"{show(row)} is listed twice; leave one out", next(iter(lengths)), i)
        return self
