"""How many trials a cell gets: a number, or as many as it takes to know it well enough."""

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from cascadebai_cli.study.fields import MOST_TRIALS, Entry, says
from cascadebai_cli.study.messages import NUMBER, RULE, mistake

FIRST = 20
"""Trials after which a cell is judged for the first time."""

_Number = Annotated[int, Field(ge=1, le=MOST_TRIALS)]


class Enough(Entry):
    """Trials are added to a cell until each aim that is given is reached."""

    relative_error: Annotated[
        Annotated[float, Field(gt=0, lt=1)] | None,
        says("Until the 95 % interval of the mean steps is within this share of the mean.", "0.01"),
    ] = None
    max_errors: Annotated[_Number | None, says("Until so many trials stopped with a wrong answer.", "10")] = None
    at_least: Annotated[
        int, Field(ge=2, le=MOST_TRIALS), says("Trials after which a cell is judged for the first time.", "40")
    ] = FIRST
    at_most: Annotated[_Number, says("Trials after which no more are added.", "1000")]

    @model_validator(mode="after")
    def _check_aims(self) -> "Enough":
        if self.relative_error is None and self.max_errors is None:
            raise mistake("says when to stop at the latest only; add relative_error or max_errors, or write a number")
        if self.at_least > self.at_most:
            raise mistake(f"{self.at_most} is less than at_least: {self.at_least}; exchange the two", "at_most")
        return self


def _kind(value: Any) -> str:
    return RULE if isinstance(value, dict | Enough) else NUMBER


Trials = Annotated[Annotated[_Number, Tag(NUMBER)] | Annotated[Enough, Tag(RULE)], Discriminator(_kind)]
"""A number, or when it is enough."""


def most_of(trials: "int | Enough") -> int:
    """The most trials that a cell can get."""
    return trials if isinstance(trials, int) else trials.at_most


def first_of(trials: "int | Enough") -> int:
    """The trials that a cell gets in any case."""
    return trials if isinstance(trials, int) else trials.at_least
