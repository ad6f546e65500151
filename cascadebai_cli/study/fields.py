"""Types of the values in a config, and plain sentences about mistakes in them."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from cascadebai_cli.errors import suggest
from cascadebai_cli.model.problem import FEEDBACKS
from cascadebai_cli.options import MOST_TRIALS, SMALLEST_RISK
from cascadebai_cli.text import for_table, listed, shortened

# --- Mistakes in a config: what pydantic found, as plain sentences for a user ---------------------------------------

KeyPath = tuple[str | int, ...]
"""Keys and list positions from the top of a document to a value."""
_FLOAT = "float"
_NUMBER, _CONDITION = "number", "rule"
"""Tags by which pydantic tells a number from a rule in its place."""


def mistake(text: str, *at: str | int) -> PydanticCustomError:
    """Return an error to raise in a validator: a sentence about the value, or about the part of it at `at`."""
    return PydanticCustomError("mistake", "{text}", {"text": text, "at": at})


def within(error: PydanticCustomError, *at: str | int) -> PydanticCustomError:
    """Return a mistake in the part at `at` of a value as a mistake in the value."""
    context = error.context or {}
    return mistake(context["text"], *at, *context["at"])


def mistakes(error: ValidationError, data: Any) -> list[tuple[KeyPath, str]]:
    """Return key path and sentence of each mistake that pydantic found in `data`."""
    return [(_path_of(e, data), sentence(e)) for e in error.errors(include_url=False)]


def sentence(error: ErrorDetails) -> str:
    """Return the sentence about one error: the value and the remedy."""
    value, bounds = error["input"], error.get("ctx", {})
    if error["type"] in _SENTENCES:
        return _SENTENCES[error["type"]](value, bounds)
    return f"{show(value)} is not valid; {error['msg'][:1].lower()}{error['msg'][1:]}"


def _path_of(error: ErrorDetails, data: Any) -> KeyPath:
    """Return the keys from the top of `data` to a mistake, without the tags that pydantic adds to them."""
    path: list[str | int] = []
    for part in error["loc"]:
        if isinstance(data, Mapping) and part not in data and _is_tag(part, data.get("family")):
            continue
        if isinstance(part, str) and not isinstance(data, Mapping):
            continue
        path.append(part)
        data = _inside(data, part)
    return (*path, *_further(error))


def _is_tag(tag: object, family: object) -> bool:
    """Return whether a part of a path is a tag and no key; those of users' families have a colon, as their names do."""
    return tag in (_NUMBER, _CONDITION, _FLOAT, family) or (
        isinstance(tag, str) and ":" in tag and isinstance(family, str) and ":" in family
    )


def show(value: object) -> str:
    """Return a value as it stands in the config, shortened."""
    if value is None:
        return "none"
    text = for_table(f"'{value[:99]}'") if isinstance(value, str) else _as_json(value)
    return shortened(text)


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, default=str)
    except RecursionError:
        return "something nested deeply"


def _inside(data: Any, part: str | int) -> Any:
    try:
        return data[part]
    except (KeyError, IndexError, TypeError):
        return None


def _further(error: ErrorDetails) -> KeyPath:
    if error["type"] == "mistake":
        return tuple(error["ctx"]["at"])
    if error["type"].startswith("union_tag") and isinstance(error["input"], dict):
        return ("family",)
    return ()


def _one_of(value: object, quoted: str) -> str:
    valid = re.findall(r"'([^']*)'", quoted)
    return f"{show(value)} is not known; {suggest(str(value), valid)}"


def _no_family(value: object, _: Mapping[str, Any]) -> str:
    if isinstance(value, dict):
        return "missing; write family: two_level, linear, explicit, csv, formula, random or module:function"
    return _not_a_mapping(value, {})


def _not_a_mapping(value: object, _: Mapping[str, Any]) -> str:
    return f"{show(value)} is not a mapping; write keys and values"


def _not_a_list(value: object, _: Mapping[str, Any]) -> str:
    return f"{show(value)} is not a list; write [...] or lines that start with a dash"


def _plain(number: float) -> str:
    return f"{number:.12g}" if isinstance(number, float) else str(number)


def _decimal(text: object) -> str | None:
    """Return the number that a text such as 0x10, 0b1 or 1_000 means in programs; `None` if it means none."""
    try:
        return str(int(text, 0)) if isinstance(text, str) and len(text) < 40 else None
    except ValueError:
        return None


def _not_whole(value: object, _: Mapping[str, Any]) -> str:
    whole = isinstance(value, float) and value.is_integer()
    remedy = f"{value:.0f}" if whole else _decimal(value) or "one without quotes or decimals"
    return f"{show(value)} is not a whole number; write {remedy}"


_SENTENCES: dict[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "mistake": lambda _, c: str(c["text"]),
    "value_error": lambda _, c: str(c["error"]),
    "missing": lambda _, c: "missing; add this key",
    "model_type": _not_a_mapping,
    "model_attributes_type": _not_a_mapping,
    "int_type": _not_whole,
    "int_from_float": _not_whole,
    "float_type": lambda v, _: f"{show(v)} is not a number; write one such as 0.1",
    "finite_number": lambda v, _: f"{show(v)} is not finite; write a number such as 0.1",
    "bool_type": lambda v, _: f"{show(v)} is not true or false; write one of them",
    "string_type": lambda v, _: f"{show(v)} is not text; put it in quotes",
    "string_too_short": lambda v, _: "the text is empty; write some",
    "tuple_type": _not_a_list,
    "list_type": _not_a_list,
    "dict_type": _not_a_mapping,
    "greater_than": lambda v, c: f"{show(v)} is too small; write a value larger than {c['gt']:g}",
    "greater_than_equal": lambda v, c: f"{show(v)} is too small; write {c['ge']:g} or more",
    "less_than": lambda v, c: f"{show(v)} is too large; write a value less than {c['lt']:g}",
    "less_than_equal": lambda v, c: f"{show(v)} is too large; write {_plain(c['le'])} or less",
    "literal_error": lambda v, c: _one_of(v, c["expected"]),
    "union_tag_invalid": lambda v, c: _one_of(v["family"], c["expected_tags"]),
    "union_tag_not_found": _no_family,
}


def as_written(value: object) -> str:
    """Return a value as one would write it in a config, without keys that have no value."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {as_written(one)}' for key, one in value.items() if one is not None)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_written, value))}]"
    if value is None or isinstance(value, bool):
        return "none" if value is None else str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def as_place(name: str, option: str, value: object) -> str:
    """Return a name in which the value of an option is replaced by `{option}` again."""
    return name.replace(as_written(value), f"{{{option}}}")


# --- Types of the values in a config --------------------------------------------------------------------------------

MOST_ITEMS = 1_000_000
MOST_POINTS = 100_000
"""Largest number of points of one axis of a grid, and of cells of one instance."""
_SLOWEST_GROWTH = 1.01
"""Smallest factor between budgets that grow."""
_LONGEST_NAME = 200
"""Largest name of a study in bytes, as names of files begin with it."""

RecordName = Literal["answer", "decisions", "trace"]
"""What may be recorded of each trial beyond its row."""


def says(meaning: str, *examples: str) -> Any:
    """Return a field with the meaning of a key and examples, which go into the JSON schema and docs/configs.md."""
    return Field(description=meaning, examples=list(examples) or None)


@dataclass(frozen=True)
class Context:
    """What the validation of a config needs beyond the config (pydantic's `context`).

    Args:
        folder: folder to which the paths in the config are relative.
        runs: whether the study is to be run, so that its grid is made and users' learners are imported.
    """

    folder: Path = Path()
    runs: bool = True


def context_of(info: ValidationInfo) -> Context:
    """Return the context of a validation, or the default one."""
    return info.context if isinstance(info.context, Context) else Context()


class Entry(BaseModel):
    """A mapping in a config: frozen, nothing converted, unknown keys refused with the nearest one."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def known_keys(cls, data: dict[str, Any], info: ValidationInfo) -> list[str]:
        """Return the keys that the mapping may have."""
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
    """Return whether a text may be a name in a config."""
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
    if len(name.encode()) > _LONGEST_NAME:
        raise mistake(f"{show(name)} is longer than {_LONGEST_NAME} bytes, but figures are named after it; shorten it")
    return name


def as_list(value: object) -> object:
    """Return a list as it is, and any other value as a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def _range_as_list(value: object) -> object:
    """Return a list as it is, a range as the list of its points, and any other value as a list of one."""
    return points_of(value) if isinstance(value, dict) else as_list(value)


def _growth_as_list(value: object) -> object:
    """Return a list as it is, a growth as the list of its points, and any other value as a list of one."""
    return _growing(value) if isinstance(value, dict) else as_list(value)


def _growing(span: dict[str, Any]) -> list[int]:
    """Return the points of a growth `{from: 500, to: 16000, times: 2}`, rounded to whole numbers, up to `to`."""
    first, last = _ends(span, "times")
    times = span.get("times", 2)
    if type(times) not in (int, float) or not _SLOWEST_GROWTH <= times < float("inf"):
        raise mistake(f"{show(times)} is no growth; write a number from {_SLOWEST_GROWTH}, such as 2", "times")
    values = takewhile(lambda value: value <= last, (round(first * times**i) for i in count()))
    return list(dict.fromkeys(values))


def points_of(span: dict[str, Any]) -> list[int]:
    """Return the points of a range `{from: 20, to: 60, step: 1}`, both ends included.

    Raises:
        PydanticCustomError: if a key is missing or unknown, or a value makes no range.
    """
    (first, last), step = _ends(span, "step"), _whole(span, "step")
    if (last - first) // step >= MOST_POINTS:
        raise mistake(f"{last} makes more than {MOST_POINTS} points; write a larger step or a smaller range", "to")
    return list(range(first, last + 1, step))


def _ends(span: dict[str, Any], further: str) -> tuple[int, int]:
    """Return `from` and `to` of a range or growth, which may have one further key."""
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
    """Refuse an empty list; pydantic's own check would count only valid entries."""
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


def one_of(names: Collection[str]) -> BeforeValidator:
    """Return a validator for `Annotated` that takes only one of these names."""

    def known(value: object) -> object:
        if not isinstance(value, str) or value not in names:
            raise mistake(f"{show(value)} is not known; {suggest(str(value), names)}")
        return value

    return BeforeValidator(known, json_schema_input_type=Literal[tuple(names)])


Text = Annotated[str, Field(min_length=1, json_schema_extra={"pattern": r"^\S(.*\S)?$"}), AfterValidator(_one_line)]
"""One line of text."""

FileName = Annotated[Text, AfterValidator(_file_name)]
"""Text with which names of files can begin."""

FeedbackName = Annotated[str, one_of(FEEDBACKS)]
"""A key of `FEEDBACKS`."""

Formula = Annotated[float | str, BeforeValidator(_formula)]
"""A number, or a formula in K and L."""

List = Field(strict=False)
"""A list of the config, kept as a tuple."""

Filled = Field(strict=False, json_schema_extra={"minItems": 1})
"""The same for a list of at least one entry, in the schema; `not_empty` checks it."""

_Size = Annotated[int, Field(ge=1, le=MOST_ITEMS)]

_WHOLE = {"type": "integer", "minimum": 1}


def _span(title: str, further: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a mapping with `from`, `to` and perhaps a further key."""
    properties = {"from": _WHOLE, "to": _WHOLE, further: values}
    schema = {"title": title, "type": "object", "properties": properties}
    return {**schema, "required": ["from", "to"], "additionalProperties": False}


RANGE = _span("{from, to, step}", "step", {**_WHOLE, "default": 1})
"""JSON schema of a mapping that `points_of` reads."""
_Range = Annotated[dict[str, Any], WithJsonSchema(RANGE)]
_Growth = Annotated[
    dict[str, Any],
    WithJsonSchema(_span("{from, to, times}", "times", {"type": "number", "minimum": _SLOWEST_GROWTH, "default": 2})),
]
"""A mapping that `_growing` reads, with its JSON schema."""

_Item = TypeVar("_Item")
_Several = Annotated[list[_Item], Field(min_length=1, json_schema_extra={"uniqueItems": True})]
"""A list of values in the JSON schema."""
_Listed = Annotated[tuple[_Item, ...], List, AfterValidator(not_empty), AfterValidator(_distinct)]

_AS_SIZES = BeforeValidator(_range_as_list, json_schema_input_type=_Size | _Several[_Size] | _Range)
SizeList = Annotated[_Listed[_Size], _AS_SIZES]
"""Whole numbers: one, a list, or `{from, to, step}`."""

_Budget = Annotated[int, Field(ge=1, le=10**12)]
_AS_BUDGETS = BeforeValidator(_growth_as_list, json_schema_input_type=_Budget | _Several[_Budget] | _Growth)
Budgets = Annotated[_Listed[_Budget], _AS_BUDGETS]
"""Numbers of steps: one, a list, or `{from, to, times}`."""

Records = Annotated[
    tuple[RecordName, ...],
    List,
    AfterValidator(_distinct),
    BeforeValidator(as_list, json_schema_input_type=RecordName | list[RecordName]),
]
"""What is recorded: one name, a list, or nothing."""

_Risk = Annotated[float, Field(ge=SMALLEST_RISK, lt=1)]
_Epsilon = Annotated[float, Field(ge=0, lt=1)]

Risks = Annotated[_Listed[_Risk], BeforeValidator(as_list, json_schema_input_type=_Risk | _Several[_Risk])]
"""Numbers from `SMALLEST_RISK` to below 1: one or a list."""

Epsilons = Annotated[_Listed[_Epsilon], BeforeValidator(as_list, json_schema_input_type=_Epsilon | _Several[_Epsilon])]
"""Numbers from 0 to below 1 (with 1 all items would be good enough): one or a list."""


# --- Values of the grid that vary together: `zip: {K: [2, 4], delta: [0.1, 0.05]}` makes two points, not four -------

_Sizes = Annotated[tuple[_Size, ...], List, _AS_SIZES]


class Zip(Entry):
    """Lists of equal length; the first values make one point, the second ones another, and so on."""

    L: Annotated[_Sizes | None, says("Number of items.", "[64, 128]")] = None
    K: Annotated[_Sizes | None, says("Number of items to find.", "[2, 4]")] = None
    delta: Annotated[
        Annotated[tuple[_Risk, ...], List] | None, says("Largest probabilities of a wrong answer.", "[0.1, 0.05]")
    ] = None
    epsilon: Annotated[Annotated[tuple[_Epsilon, ...], List] | None, says("Tolerances.", "[0, 0.05]")] = None
    budget: Annotated[
        Annotated[tuple[_Budget, ...], List, _AS_BUDGETS] | None,
        says("Steps after which learners have to answer.", "[500, 1000]"),
    ] = None

    @property
    def values(self) -> dict[str, tuple[Any, ...]]:
        """The lists that are given, by name."""
        return {name: values for name, values in self if values is not None}

    @model_validator(mode="after")
    def _pair_up(self) -> "Zip":
        lengths = {name: len(values) for name, values in self.values.items()}
        if len(lengths) < 2:
            raise mistake(f"pairs nothing; give lists of two or more of {listed(list(type(self).model_fields))}")
        if len(set(lengths.values())) > 1 or not all(lengths.values()):
            found = ", ".join(f"{number} of {name}" for name, number in lengths.items())
            raise mistake(f"the lists have different lengths or none ({found}); write as many values of each")
        rows = list(zip(*self.values.values(), strict=True))
        for i, row in enumerate(rows):
            if row in rows[:i]:
                raise mistake(f"{show(row)} is listed twice; leave one out", next(iter(lengths)), i)
        return self


# --- How many trials a cell gets: a number, or a rule that tells when there are enough ------------------------------

FIRST = 20
"""Number of trials after which the aims of a cell are looked at for the first time."""

_Number = Annotated[int, Field(ge=1, le=MOST_TRIALS)]


class Enough(Entry):
    """A rule for the number of trials: they are added to a cell until each aim that is given is reached."""

    relative_error: Annotated[
        Annotated[float, Field(gt=0, lt=1)] | None,
        says("Aim: half the 95 % interval of the mean steps is at most this share of the mean.", "0.01"),
    ] = None
    max_errors: Annotated[_Number | None, says("Aim: this many trials have stopped with a wrong answer.", "10")] = None
    at_least: Annotated[
        int,
        Field(ge=2, le=MOST_TRIALS),
        says("Smallest number of trials of a cell; only then are the aims looked at.", "40"),
    ] = FIRST
    at_most: Annotated[_Number, says("Largest number of trials of a cell.", "1000")]

    @model_validator(mode="after")
    def _check_aims(self) -> "Enough":
        if self.relative_error is None and self.max_errors is None:
            raise mistake("says when to stop at the latest only; add relative_error or max_errors, or write a number")
        if self.at_least > self.at_most:
            said = "at_least" in self.model_fields_set
            text = "exchange the two" if said else f"which is the default; add at_least: {max(2, self.at_most)}"
            raise mistake(
                f"{self.at_most} is less than at_least: {self.at_least}{';' if said else ','} {text}", "at_most"
            )
        return self


Trials = Annotated[
    Annotated[_Number, Tag(_NUMBER)] | Annotated[Enough, Tag(_CONDITION)],
    Discriminator(lambda value: _CONDITION if isinstance(value, dict | Enough) else _NUMBER),
]
"""A number of trials, or the rule for it."""
