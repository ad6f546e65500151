"""Types of the values in a config."""

from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from cascadebai_cli.errors import suggest
from cascadebai_cli.model.feedback import FEEDBACKS
from cascadebai_cli.study.messages import mistake, show

MOST_ITEMS = 1_000_000
MOST_POINTS = 100_000
"""Points of one axis of a grid, and cells of one instance."""
MOST_WEIGHTS = 20_000_000
"""Weights of all points of one instance, 160 MB."""
SLOWEST_GROWTH = 1.01
"""Of budgets that grow."""
MOST_ITEMS_OF_CELLS = 100_000_000
"""Items of the cells of one instance: each of these hashes its weights, and makes its learner once, before a trial."""
MOST_ROWS = 10_000_000
"""Rows of a table of rewards: 160 MB for 128 items."""
MOST_TRIALS = 10_000_000
"""Trials of a cell: the numbers of those that are missing are held in memory, for all cells."""
LONGEST_NAME = 200
"""Bytes of a file name that are left for the name of a study."""
AXES = ("L", "K", "delta", "epsilon")
"""Numbers that span every grid, the last one varying fastest."""
ALL_AXES = (*AXES, "budget")
"""All that may, in the same order."""
DEFAULT_RISKS, DEFAULT_TOLERANCES = (0.1,), (0.0,)

PermutationName = Literal["random", "as_given"]


def says(meaning: str, *examples: str) -> Any:
    """What a key means, with values as they stand in a config: JSON Schema and docs/configs.md take it from here."""
    return Field(description=meaning, examples=list(examples) or None)


@dataclass(frozen=True)
class Context:
    """What a config does not say itself; the `context` of its validation.

    Args:
        folder: from which the paths in it count.
        runs: whether it is to be run: its grid is made, and learners of one's own are imported.
    """

    folder: Path = Path()
    runs: bool = True


def context_of(info: ValidationInfo) -> Context:
    """The context of a validation, or the usual one."""
    return info.context if isinstance(info.context, Context) else Context()


class Entry(BaseModel):
    """A mapping in a config: frozen, nothing converted, unknown keys refused with the nearest one."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def known_keys(cls, data: dict[str, Any], info: ValidationInfo) -> list[str]:
        """Keys that the mapping may have."""
        return list(cls.model_fields)

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, data: Any, info: ValidationInfo) -> Any:
        if isinstance(data, dict):
            known = cls.known_keys(data, info)
            for key in data:
                if key not in known:
                    raise mistake(f"unknown key; {suggest(key, known)}", key)
            for key, said in cls.model_fields.items():
                if said.is_required() and key not in data and said.examples:
                    raise mistake(f"missing; write for example {key}: {said.examples[0]}", key)
        return data


def is_one_line(name: str) -> bool:
    """Whether a config takes it as a name."""
    return name == name.strip() and name.isprintable()


def _one_line(name: str) -> str:
    if not is_one_line(name):
        raise mistake(f"{show(name)} has blanks around it or a line break; write it as one plain line")
    return name


def _file_name(name: str) -> str:
    if name in (".", ".."):
        raise mistake(f"{show(name)} is a directory, but figures are named after it; choose a name with letters")
    if "/" in name or "\\" in name:
        raise mistake(f"{show(name)} has a slash, but figures are named after it; leave the slash out")
    if len(name.encode()) > LONGEST_NAME:
        raise mistake(f"{show(name)} is longer than {LONGEST_NAME} bytes, but figures are named after it; shorten it")
    return name


def as_list(value: object) -> object:
    """One value is a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def range_as_list(value: object) -> object:
    """One value is a list of one, and a range the list of its points."""
    return points(value) if isinstance(value, dict) else as_list(value)


def growth_as_list(value: object) -> object:
    """One value is a list of one, and a growth the list of its points."""
    return growing(value) if isinstance(value, dict) else as_list(value)


def growing(span: dict[str, Any]) -> list[int]:
    """`{from: 500, to: 16000, times: 2}`, rounded to whole numbers, up to `to`.

    Raises:
        PydanticCustomError: as for `points`.
    """
    first, last = _ends(span, "times")
    times = span.get("times", 2)
    if type(times) not in (int, float) or not SLOWEST_GROWTH <= times < float("inf"):
        raise mistake(f"{show(times)} is no growth; write a number from {SLOWEST_GROWTH}, such as 2", "times")
    values = takewhile(lambda value: value <= last, (round(first * times**i) for i in count()))
    return list(dict.fromkeys(values))


def points(span: dict[str, Any]) -> list[int]:
    """`{from: 20, to: 60, step: 1}`, both ends included.

    Raises:
        PydanticCustomError: if a key is missing or unknown, or a value makes no range.
    """
    (first, last), step = _ends(span, "step"), _whole(span, "step")
    if (last - first) // step >= MOST_POINTS:
        raise mistake(f"{last} makes more than {MOST_POINTS} points; write a larger step or a smaller range", "to")
    return list(range(first, last + 1, step))


def _ends(span: dict[str, Any], further: str) -> tuple[int, int]:
    """`from` and `to` of a span with one further key."""
    for key in span:
        if key not in ("from", "to", further):
            raise mistake(f"unknown key; {suggest(key, ('from', 'to', further))}", key)
    for key in ("from", "to"):
        if key not in span:
            raise mistake("missing; write for example {from: 20, to: 60}", key)
    first, last = _whole(span, "from"), _whole(span, "to")
    if last < first:
        raise mistake(f"{last} is less than from: {first}; exchange the two", "to")
    return first, last


def _whole(span: dict[str, Any], key: str) -> int:
    value = span.get(key, 1)
    if type(value) is not int:
        raise mistake(f"{show(value)} is not a whole number; write one without quotes or decimals", key)
    if value < 1:
        raise mistake(f"{value} is too small; write 1 or more", key)
    return value


def not_empty(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """For lists: at least one entry. As a validator of its own, since pydantic counts only valid entries."""
    if not values:
        raise mistake("the list is empty; give at least one entry")
    return values


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    seen: set[Any] = set()
    for i, value in enumerate(values):
        if value in seen:
            raise mistake(f"{show(value)} is listed twice; leave one out", i)
        seen.add(value)
    return values


def _formula(value: object) -> object:
    if isinstance(value, str) or type(value) in (int, float):
        return value
    raise mistake(f"{show(value)} is neither a number nor a formula; write for example 0.5 or 1/K")


def _known_feedback(value: object) -> object:
    if not isinstance(value, str) or value not in FEEDBACKS:
        raise mistake(f"{show(value)} is not known; {suggest(str(value), FEEDBACKS)}")
    return value


Text = Annotated[str, Field(min_length=1, json_schema_extra={"pattern": r"^\S(.*\S)?$"}), AfterValidator(_one_line)]
"""One line of text."""

FileName = Annotated[Text, AfterValidator(_file_name)]
"""Text that names of files can begin with."""

FeedbackName = Annotated[
    str, BeforeValidator(_known_feedback), WithJsonSchema({"enum": list(FEEDBACKS), "type": "string"})
]
"""A key of `FEEDBACKS`."""

Formula = Annotated[float | str, BeforeValidator(_formula)]
"""A number, or a formula in K and L."""

List = Field(strict=False)
"""A list of the config, kept as a tuple."""

Filled = Field(strict=False, json_schema_extra={"minItems": 1})
"""The same, of one entry or more; `not_empty` sees to it."""

Size = Annotated[int, Field(ge=1, le=MOST_ITEMS)]


_WHOLE = {"type": "integer", "minimum": 1}


def _span(title: str, further: str, values: dict[str, Any]) -> dict[str, Any]:
    """JSON Schema of a mapping with `from`, `to` and perhaps a further key."""
    properties = {"from": _WHOLE, "to": _WHOLE, further: values}
    return {
        "title": title,
        "type": "object",
        "properties": properties,
        "required": ["from", "to"],
        "additionalProperties": False,
    }


RANGE = _span("{from, to, step}", "step", {**_WHOLE, "default": 1})
"""How a mapping that `points` reads looks to an editor."""
Range = Annotated[dict[str, Any], WithJsonSchema(RANGE)]
Growth = Annotated[
    dict[str, Any],
    WithJsonSchema(_span("{from, to, times}", "times", {"type": "number", "minimum": SLOWEST_GROWTH, "default": 2})),
]
"""The same of `growing`."""

Item = TypeVar("Item")
Several = Annotated[list[Item], Field(min_length=1, json_schema_extra={"uniqueItems": True})]
"""How a list of values looks to an editor."""

Sizes = Annotated[
    tuple[Size, ...],
    List,
    AfterValidator(not_empty),
    AfterValidator(_distinct),
    BeforeValidator(range_as_list, json_schema_input_type=Size | Several[Size] | Range),
]
"""Whole numbers: one, a list, or `{from, to, step}`."""

Budget = Annotated[int, Field(ge=1, le=10**12)]
Budgets = Annotated[
    tuple[Budget, ...],
    List,
    AfterValidator(not_empty),
    AfterValidator(_distinct),
    BeforeValidator(growth_as_list, json_schema_input_type=Budget | Several[Budget] | Growth),
]
"""Numbers of steps: one, a list, or `{from, to, times}`."""

SMALLEST_RISK = 1e-30
"""Of smaller risks the KL bounds come too close to 1 for floating-point numbers; nobody needs them."""

Risk = Annotated[float, Field(ge=SMALLEST_RISK, lt=1)]
Tolerance = Annotated[float, Field(ge=0, lt=1)]

Risks = Annotated[
    tuple[Risk, ...],
    List,
    AfterValidator(not_empty),
    AfterValidator(_distinct),
    BeforeValidator(as_list, json_schema_input_type=Risk | Several[Risk]),
]
"""Numbers from `SMALLEST_RISK` on and below 1: one or a list."""

Tolerances = Annotated[
    tuple[Tolerance, ...],
    List,
    AfterValidator(not_empty),
    AfterValidator(_distinct),
    BeforeValidator(as_list, json_schema_input_type=Tolerance | Several[Tolerance]),
]
"""Numbers from 0 on and below 1, from where on all items are good enough: one or a list."""
