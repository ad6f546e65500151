"""`fit` of an instance: what its mean steps are fitted on."""

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.formula import evaluate, parse
from cascadebai_cli.study.fields import Entry, List, Text, as_list, says
from cascadebai_cli.study.messages import mistake

ANY = "x"
"""What a model may call the axis, whichever it is."""


class Coefficients(Entry):
    """Known values of a fit `c1 f(K) + c2`, to stand beside ours."""

    c1: Annotated[float | None, says("Slope.", "23802.95")] = None
    c2: Annotated[float | None, says("Intercept.", "67400.19")] = None
    r2: Annotated[float | None, says("Share of the variance of the means that is explained.", "0.9988")] = None
    p_value: Annotated[float | None, says("Of the slope.", "1.39e-58")] = None


class Fit(Entry):
    """Which regressor the mean steps of an instance are fitted on."""

    x: Annotated[
        Text, says("Axis: a number of the grid, or an option of learners that are alike apart from it.", "delta")
    ] = "K"
    model: Annotated[
        tuple[Text, ...],
        List,
        BeforeValidator(as_list, json_schema_input_type=Text | Annotated[list[Text], Field(min_length=1)]),
        says(
            "Regressor f of c1 f + c2, or several: formulas in the axis, which may be called x.",
            "K^2",
            "[log(x), sqrt(x)]",
        ),
    ]
    published: Annotated[
        Coefficients | None, says("Values printed in the paper, to stand beside ours.", "{c1: 23802.95, c2: 67400.19}")
    ] = None
    prior: Annotated[Coefficients | None, says("Values of another program, likewise.", "{c1: 21881.8}")] = None

    @model_validator(mode="after")
    def _check_models(self) -> "Fit":
        for model in self.model:
            try:
                parse(formula_of(model, self.x), [self.x])
            except ConfigError as error:
                raise mistake(str(error), "model") from None
        if len(self.model) != 1 and (self.published or self.prior or not self.model):
            raise mistake("known values belong to one model; name exactly one", "model")
        return self

    def refuse_valueless(self, values: Iterable[float]) -> None:
        """Refuse a model that has no value somewhere on the axis.

        Raises:
            PydanticCustomError: with the model and the first such value.
        """
        for value in values:
            for model in self.model:
                try:
                    evaluate(formula_of(model, self.x), {self.x: value})
                except ConfigError as error:
                    raise mistake(str(error), "model") from None

    @property
    def models(self) -> tuple[str, ...]:
        """The models with the name of the axis in place of `x`."""
        return tuple(_named(model, self.x) for model in self.model)


def formula_of(model: str, x: str) -> str:
    """A model as a formula in its axis."""
    return _named(model, x).replace("^", "**")


def _named(model: str, x: str) -> str:
    return re.sub(rf"\b{ANY}\b", x, model)
