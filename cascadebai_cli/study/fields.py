"""Types of the values in a config."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, product, takewhile
from math import prod
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
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.model.formula import evaluate, parse
from cascadebai_cli.model.problem import FEEDBACKS
from cascadebai_cli.options import MOST_TRIALS, SMALLEST_RISK
from cascadebai_cli.study.document import CONDITION, NUMBER, Document, KeyPath, mistake, show

# --- Types of the values in a config --------------------------------------------------------------------------------


MOST_ITEMS = 1_000_000
MOST_POINTS = 100_000
"""Points of one axis of a grid, and cells of one instance."""
MOST_WEIGHTS = 20_000_000
"""Weights of all points of one instance, 160 MB."""
_SLOWEST_GROWTH = 1.01
"""Of budgets that grow."""
MOST_ITEMS_OF_CELLS = 100_000_000
"""Items of the cells of one instance: each of these hashes its weights, and makes its learner once, before a trial."""
MOST_ROWS = 10_000_000
"""Rows of a table of rewards: 160 MB for 128 items."""
_LONGEST_NAME = 200
"""Bytes of a file name that are left for the name of a study."""

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
    if len(name.encode()) > _LONGEST_NAME:
        raise mistake(f"{show(name)} is longer than {_LONGEST_NAME} bytes, but figures are named after it; shorten it")
    return name


def _as_list(value: object) -> object:
    """One value is a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def range_as_list(value: object) -> object:
    """One value is a list of one, and a range the list of its points."""
    return points(value) if isinstance(value, dict) else _as_list(value)


def growth_as_list(value: object) -> object:
    """One value is a list of one, and a growth the list of its points."""
    return _growing(value) if isinstance(value, dict) else _as_list(value)


def _growing(span: dict[str, Any]) -> list[int]:
    """`{from: 500, to: 16000, times: 2}`, rounded to whole numbers, up to `to`.

    Raises:
        PydanticCustomError: as for `points`.
    """
    first, last = _ends(span, "times")
    times = span.get("times", 2)
    if type(times) not in (int, float) or not _SLOWEST_GROWTH <= times < float("inf"):
        raise mistake(f"{show(times)} is no growth; write a number from {_SLOWEST_GROWTH}, such as 2", "times")
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


def one_of(names: Collection[str]) -> BeforeValidator:
    """For `Annotated`: a word that is one of these names."""

    def known(value: object) -> object:
        if not isinstance(value, str) or value not in names:
            raise mistake(f"{show(value)} is not known; {suggest(str(value), names)}")
        return value

    return BeforeValidator(known, json_schema_input_type=Literal[tuple(names)])


Text = Annotated[str, Field(min_length=1, json_schema_extra={"pattern": r"^\S(.*\S)?$"}), AfterValidator(_one_line)]
"""One line of text."""

FileName = Annotated[Text, AfterValidator(_file_name)]
"""Text that names of files can begin with."""

FeedbackName = Annotated[str, one_of(FEEDBACKS)]
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
    WithJsonSchema(_span("{from, to, times}", "times", {"type": "number", "minimum": _SLOWEST_GROWTH, "default": 2})),
]
"""The same of `_growing`."""

_Item = TypeVar("_Item")
Several = Annotated[list[_Item], Field(min_length=1, json_schema_extra={"uniqueItems": True})]
"""How a list of values looks to an editor."""
_Listed = Annotated[tuple[_Item, ...], List, AfterValidator(not_empty), AfterValidator(_distinct)]

SizeList = Annotated[_Listed[Size], BeforeValidator(range_as_list, json_schema_input_type=Size | Several[Size] | Range)]
"""Whole numbers: one, a list, or `{from, to, step}`."""

Budget = Annotated[int, Field(ge=1, le=10**12)]
Budgets = Annotated[
    _Listed[Budget], BeforeValidator(growth_as_list, json_schema_input_type=Budget | Several[Budget] | Growth)
]
"""Numbers of steps: one, a list, or `{from, to, times}`."""

Risk = Annotated[float, Field(ge=SMALLEST_RISK, lt=1)]
Epsilon = Annotated[float, Field(ge=0, lt=1)]

Risks = Annotated[_Listed[Risk], BeforeValidator(_as_list, json_schema_input_type=Risk | Several[Risk])]
"""Numbers from `SMALLEST_RISK` on and below 1: one or a list."""

Epsilons = Annotated[_Listed[Epsilon], BeforeValidator(_as_list, json_schema_input_type=Epsilon | Several[Epsilon])]
"""Numbers from 0 on and below 1, from where on all items are good enough: one or a list."""


# --- How many trials a cell gets: a number, or as many as it takes to know it well enough ---------------------------


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
    return CONDITION if isinstance(value, dict | Enough) else NUMBER


Trials = Annotated[Annotated[_Number, Tag(NUMBER)] | Annotated[Enough, Tag(CONDITION)], Discriminator(_kind)]
"""A number, or when it is enough."""


def most_of(trials: "int | Enough") -> int:
    """The most trials that a cell can get."""
    return trials if isinstance(trials, int) else trials.at_most


def first_of(trials: "int | Enough") -> int:
    """The trials that a cell gets in any case."""
    return trials if isinstance(trials, int) else trials.at_least


# --- `fit` of an instance: what its mean steps are fitted on --------------------------------------------------------


_ANY = "x"
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
        BeforeValidator(_as_list, json_schema_input_type=Text | Annotated[list[Text], Field(min_length=1)]),
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
    return re.sub(rf"\b{_ANY}\b", x, model)


# --- Entries of a config that stand for several: `{option}` in a name makes one entry a value of that option --------
#
# `{name: "sigma {sigma}", algorithm: cascadebai, sigma: [0.25, 0.5]}` are two learners, and an instance with
# `replicate: {from: 1, to: 20}` and `{replicate}` in its name is twenty.


_LISTS = ("instances", "learners")
"""Keys whose entries have names."""
_PLACE = re.compile(r"\{(\w+)\}")

_Mark = TypeVar("_Mark")


def spread_out(document: Document) -> Document:
    """The document with every entry that stands for several written out; messages still name the lines of the file.

    Raises:
        ConfigError: if an option in a name has no value, or an entry makes too many.
    """
    for key in _LISTS:
        document = _spread(document, key)
    return document


def as_place(name: str, option: str, value: object) -> str:
    """A name with the place of an option again where its value was filled in."""
    return name.replace(_word(value), f"{{{option}}}")


def _spread(document: Document, key: str) -> Document:
    entries = document.data.get(key)
    if not isinstance(entries, list):
        return document
    copies = [list(_copies(document, (key, i), entry)) for i, entry in enumerate(entries)]
    origins = [i for i, made in enumerate(copies) for _ in made]
    return replace(
        document,
        data={**document.data, key: [entry for made in copies for entry in made]},
        lines=_moved(document.lines, key, origins),
        options=_moved(document.options, key, origins),
    )


def _copies(document: Document, at: KeyPath, entry: object) -> Iterator[object]:
    """The entries that one entry stands for; anything that is no entry stays for others to judge."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        yield entry
        return
    places = [place for place in dict.fromkeys(_PLACE.findall(entry["name"])) if place in entry and place != "name"]
    choices = [_values(document, (*at, place), entry[place]) for place in places]
    if prod(map(len, choices)) > MOST_POINTS:
        raise ConfigError(document.message((*at, "name"), f"makes more than {MOST_POINTS} entries; list fewer values"))
    for chosen in product(*choices):
        values = dict(zip(places, chosen, strict=True))
        yield {**entry, **values, "name": _filled(entry["name"], values)}


def _values(document: Document, at: KeyPath, value: Any) -> Sequence[Any]:
    try:
        listed: Sequence[Any] = points(value) if isinstance(value, dict) else value
    except PydanticCustomError as error:
        context = error.context or {}
        raise ConfigError(document.message((*at, *context["at"]), context["text"])) from None
    if not isinstance(listed, list):
        return [listed]
    if not listed:
        raise ConfigError(document.message(at, "the list is empty; give at least one entry"))
    return listed


def _filled(name: str, values: Mapping[str, Any]) -> str:
    return _PLACE.sub(lambda found: _word(values[found[1]]) if found[1] in values else found[0], name)


def _word(value: object) -> str:
    """A value as somebody would write it in a config."""
    if value is None or isinstance(value, bool):
        return "none" if value is None else str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _moved(marks: Mapping[KeyPath, _Mark], key: str, origins: Sequence[int]) -> dict[KeyPath, _Mark]:
    """Marks of the entries in the places where the copies of these are."""
    places: dict[str | int, list[int]] = {}
    for new, old in enumerate(origins):
        places.setdefault(old, []).append(new)
    return {
        moved: mark
        for path, mark in marks.items()
        for moved in ([path] if path[0] != key or len(path) == 1 else [(key, i, *path[2:]) for i in places[path[1]]])
    }
