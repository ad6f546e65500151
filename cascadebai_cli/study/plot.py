"""What a config says of its figure."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.options import record_options
from cascadebai_cli.study.axes import GRID
from cascadebai_cli.study.document import mistake, show
from cascadebai_cli.study.fields import Entry, List, Text, as_place, not_empty, one_of, says
from cascadebai_cli.study.instances import AnyInstance, Own, Random
from cascadebai_cli.study.kinds import KINDS, MEASURES, FigureKind, Words
from cascadebai_cli.study.learners import LearnerEntry, option_values

# --- Instances that agree in all but one option, such as the number of a draw: what a mean may be over --------------


_Alike = Mapping[str, tuple[AnyInstance, ...]]
"""The name that instances have in common -> those of them."""


def _options_of(entry: AnyInstance) -> dict[str, Any]:
    """Options over which a mean may be taken: the number of a draw, and those of a family of one's own."""
    if isinstance(entry, Random):
        return {"replicate": entry.replicate}
    return dict(entry.model_extra or {}) if isinstance(entry, Own) else {}


def refuse_unknown_option(instances: Sequence[AnyInstance], option: str) -> None:
    """Refuse an option that no instance has.

    Raises:
        ConfigError: with the nearest one that there is.
    """
    known = dict.fromkeys(name for entry in instances for name in _options_of(entry))
    if option not in known:
        remedy = suggest(option, known) if known else "draws have replicate, and families of your own their keys"
        raise ConfigError(f"'{option}' is no option of an instance; {remedy}")


def alike(instances: Sequence[AnyInstance], option: str | None) -> _Alike:
    """Instances that differ in an option only, together; every other one, and without an option each, alone."""
    if option is None:
        return {entry.name: (entry,) for entry in instances}
    families: dict[str, list[AnyInstance]] = {}
    for entry in instances:
        has = option in _options_of(entry)
        key = entry.model_dump_json(exclude={"name", option}) if has else f"alone: {entry.name}"
        families.setdefault(key, []).append(entry)
    taken = {entry.name for entry in instances}
    named: dict[str, tuple[AnyInstance, ...]] = {}
    for entries in families.values():
        named[_name(entries, option, {*named, *taken})] = tuple(entries)
    return named


def _name(entries: Sequence[AnyInstance], option: str, taken: set[str]) -> str:
    """What is left of the names without the option, if that is not `taken`."""
    if len(entries) == 1:
        return entries[0].name
    place = f"{{{option}}}"
    # Where a value stands in a name twice by chance, the name of another value tells which place is that of the option.
    placed = [as_place(entry.name, option, _options_of(entry)[option]) for entry in entries]
    found = min((name for name in placed if place in name), key=lambda name: name.count(place), default="")
    left = re.sub(r"\s+", " ", found.replace(place, " ")).strip(" ,;:-_=#")
    return left if left and left not in taken else f"{entries[0].name} to {entries[-1].name}"


# --- `plot` of a config: what is drawn and how, in the words that `cascadebai plot` takes as flags ------------------


Kind = Annotated[str, one_of(KINDS)]
_Format = Literal["pdf", "png", "svg"]

FILE_FORMATS: tuple[str, ...] = get_args(_Format)
DERIVED = ("algorithm", "gap", "w_star", "w_prime", "directory")
"""Columns that follow from them."""
NAMES = ("instance", "learner", "algorithm", "directory")
"""Columns that hold names."""
_NOTHING = "none"
_WIDEST, _NARROWEST, _MOST_COLUMNS, MOST_ON_A_PAGE = 40, 1, 12, 64

_Value = str | int | float | bool
_SAID = {one.name: says(one.meaning, *one.examples) for one in record_options(Words)}


def _list(value: object) -> Sequence[Any]:
    """One value is a list of one; `none` (in YAML a null) is an empty one."""
    if value is None or value == _NOTHING:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def _width(value: object) -> object:
    if value in ("column", "text") or (type(value) in (int, float) and _NARROWEST <= value <= _WIDEST):  # type: ignore[operator]
        return value
    raise mistake(f"{show(value)} is no width; write column, text, or inches from {_NARROWEST} to {_WIDEST}")


def _values(value: object) -> object:
    if not isinstance(value, dict):
        raise mistake(f"{show(value)} is not a mapping; write for example {{delta: 0.1}}")
    for key, chosen in value.items():
        listed = tuple(_list(chosen))
        if not listed or not all(isinstance(one, str | int | float) for one in listed):
            raise mistake(f"{show(chosen)} is neither a value nor a list of values; write for example 0.1", key)
    return {key: tuple(_list(chosen)) for key, chosen in value.items()}


_Given = Text | list[Text] | None
_Axis = Literal["x", "y"]
_Inches = Annotated[float, Field(ge=_NARROWEST, le=_WIDEST)]
_Several = Annotated[tuple[Text, ...], List, BeforeValidator(_list, json_schema_input_type=_Given)]
"""One word or a list of them."""
_Choice = Annotated[tuple[Text, ...] | None, List, BeforeValidator(_list, json_schema_input_type=_Given)]
"""The same, or `none`; `None` is what nobody has said."""


class Plot(Entry):
    """What is drawn from the cells of a study, and how it looks."""

    kind: Annotated[Kind, _SAID["kind"]] = "scaling"
    x: Annotated[Text | None, _SAID["x"]] = None
    y: Annotated[str, one_of(MEASURES), _SAID["y"]] = "steps"
    panels: Annotated[_Choice, _SAID["panels"]] = None
    lines: Annotated[_Choice, _SAID["lines"]] = None
    instances: Annotated[_Several, _SAID["instances"]] = ()
    learners: Annotated[_Several, _SAID["learners"]] = ()
    where: Annotated[
        dict[str, Annotated[tuple[_Value, ...], List]],
        BeforeValidator(
            _values, json_schema_input_type=dict[str, _Value | Annotated[list[_Value], Field(min_length=1)]]
        ),
        _SAID["where"],
    ] = Field(default_factory=dict)
    average: Annotated[Text | None, _SAID["average"]] = None
    log: Annotated[
        tuple[Literal["x", "y"], ...] | None,
        List,
        BeforeValidator(_list, json_schema_input_type=_Axis | list[_Axis] | Literal["none"] | None),
        _SAID["log"],
    ] = None
    width: Annotated[
        Annotated[
            Literal["column", "text"] | float,
            BeforeValidator(_width, json_schema_input_type=Literal["column", "text"] | _Inches),
        ]
        | None,
        _SAID["width"],
    ] = None
    columns: Annotated[Annotated[int, Field(ge=1, le=_MOST_COLUMNS)] | None, _SAID["columns"]] = None
    height: Annotated[_Inches | None, _SAID["height"]] = None
    per_page: Annotated[Annotated[int, Field(ge=1, le=MOST_ON_A_PAGE)] | None, _SAID["per_page"]] = None
    labels: Annotated[dict[str, Text], _SAID["labels"]] = Field(default_factory=dict)
    order: Annotated[_Several, _SAID["order"]] = ()
    style: Annotated[Text | None, _SAID["style"]] = None
    format: Annotated[
        tuple[_Format, ...],
        List,
        AfterValidator(not_empty),
        BeforeValidator(_list, json_schema_input_type=_Format | Annotated[list[_Format], Field(min_length=1)]),
        _SAID["format"],
    ] = ("pdf", "png")

    @property
    def figure(self) -> FigureKind:
        """What the kind stands for."""
        return KINDS[self.kind]

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @model_validator(mode="before")
    @classmethod
    def _as_the_kind_measures(cls, data: Any) -> Any:
        """What the kind measures, if nothing else is said."""
        found = KINDS.get(str(data.get("kind"))) if isinstance(data, dict) else None
        return {"y": found.y, **data} if found and found.y != cls.model_fields["y"].default else data

    @model_serializer(mode="wrap")
    def _said(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The kind and what was said beyond it."""
        said: dict[str, Any] = dump(self)
        return {name: value for name, value in said.items() if name == "kind" or name in self.model_fields_set}


def _known_columns(learners: Sequence[LearnerEntry]) -> list[str]:
    """Columns that a figure may speak of: those of the grid, what follows from them, and options of learners."""
    options = dict.fromkeys(name for entry in learners for name in option_values(entry))
    return [*GRID, *DERIVED, *(name for name in options if name not in (*GRID, *DERIVED))]


def refuse_unknown_words(plot: Plot, instances: Sequence[AnyInstance], learners: Sequence[LearnerEntry]) -> None:
    """Refuse columns and names that the study does not have.

    Raises:
        PydanticCustomError: for the first one, with the nearest one that is there.
    """
    if plot.average:
        try:
            refuse_unknown_option(instances, plot.average)
        except ConfigError as error:
            raise mistake(str(error), "average") from None
    columns, names = _known_columns(learners), list(alike(instances, plot.average))
    for words, known, key in _words(plot, columns, names, [entry.name for entry in learners]):
        for word in words:
            if word not in known:
                raise mistake(f"{show(word)} is not known; {suggest(word, known)}", *key)


def _words(
    plot: Plot, columns: Sequence[str], instances: Sequence[str], learners: Sequence[str]
) -> Iterator[tuple[Collection[str], Sequence[str], tuple[str, ...]]]:
    """Words of a plot, those that are known, and the key under which they stand."""
    yield [plot.x] if plot.x else (), columns, ("x",)
    yield plot.panels or (), columns, ("panels",)
    yield plot.lines or (), columns, ("lines",)
    yield plot.where, columns, ("where",)
    yield plot.instances, instances, ("instances",)
    yield plot.learners, learners, ("learners",)
    yield plot.order, [*learners, *instances], ("order",)
    yield plot.labels, [*learners, *instances, *columns, *MEASURES], ("labels",)
