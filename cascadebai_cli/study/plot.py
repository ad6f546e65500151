"""The key `plot` of a config: what a figure shows, and how it looks."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, get_args

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
from cascadebai_cli.study.cells import Cell, LearnerEntry
from cascadebai_cli.study.fields import Entry, List, Text, as_place, mistake, not_empty, one_of, says, show
from cascadebai_cli.study.instances import AnyInstance, Own, Random
from cascadebai_cli.study.kinds import GRID, KINDS, MEASURES, FigureKind, Words

# --- Instances that differ in one option only, such as the number of a draw, so that a mean may be taken ------------

_Alike = Mapping[str, tuple[AnyInstance, ...]]
"""Common name of instances -> the instances."""


def _options_of(entry: AnyInstance) -> dict[str, Any]:
    """Return the options over which a mean may be taken: the number of a draw, and those of a user's family."""
    if isinstance(entry, Random):
        return {"replicate": entry.replicate}
    return dict(entry.model_extra or {}) if isinstance(entry, Own) else {}


def refuse_unknown_option(instances: Sequence[AnyInstance], option: str) -> None:
    """Refuse an option that no instance has.

    Raises:
        ConfigError: if none has it; the message names the nearest option that there is.
    """
    known = dict.fromkeys(name for entry in instances for name in _options_of(entry))
    if option not in known:
        remedy = suggest(option, known) if known else "draws have replicate, and families of your own their keys"
        raise ConfigError(f"'{option}' is no option of an instance; {remedy}")


def alike(instances: Sequence[AnyInstance], option: str | None) -> _Alike:
    """Return instances that differ in `option` only as groups; any other one, or all without an option, alone."""
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
    """Return a name for a group: the names without the option, or the first and last name if that is taken."""
    if len(entries) == 1:
        return entries[0].name
    place = f"{{{option}}}"
    # If a value is twice in a name by chance, the other names tell which place is that of the option.
    placed = [as_place(entry.name, option, _options_of(entry)[option]) for entry in entries]
    found = min((name for name in placed if place in name), key=lambda name: name.count(place), default="")
    left = re.sub(r"\s+", " ", found.replace(place, " ")).strip(" ,;:-_=#")
    return left if left and left not in taken else f"{entries[0].name} to {entries[-1].name}"


# --- `plot` of a config: its keys are the options of `cascadebai plot` ----------------------------------------------

_Format = Literal["pdf", "png", "svg"]

DERIVED = ("algorithm", "gap", "hardness", "w_star", "w_prime", "directory")
"""Columns that follow from those of the grid."""
NAMES = ("instance", "learner", "algorithm", "directory")
"""Columns that hold names."""
_NOTHING = "none"
_WIDEST, _NARROWEST, _MOST_COLUMNS, _MOST_ON_A_PAGE = 40, 1, 12, 64
_MOST_SHOWN = 20
"""Largest number of values that a message lists."""

_Value = str | int | float | bool
_SAID = {one.name: says(one.meaning, *one.examples) for one in record_options(Words)}


def _list(value: object) -> Sequence[Any]:
    """Return a list as it is, `none` (null in YAML) as an empty list, and any other value as a list of one."""
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
_Axes = Annotated[
    tuple[_Axis, ...] | None,
    List,
    BeforeValidator(_list, json_schema_input_type=_Axis | list[_Axis] | Literal["none"] | None),
]
_Inches = Annotated[float, Field(ge=_NARROWEST, le=_WIDEST)]
_Several = Annotated[tuple[Text, ...], List, BeforeValidator(_list, json_schema_input_type=_Given)]
"""One word or a list of them."""
_Choice = Annotated[tuple[Text, ...] | None, List, BeforeValidator(_list, json_schema_input_type=_Given)]
"""The same, or `none`; `None` if nothing was given."""


class Plot(Entry):
    """What is drawn from the cells of a study, and how it looks."""

    FORMATS: ClassVar[tuple[str, ...]] = get_args(_Format)
    MOST_ON_A_PAGE: ClassVar = _MOST_ON_A_PAGE

    kind: Annotated[str, one_of(KINDS), _SAID["kind"]] = "scaling"
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
    log: Annotated[_Axes, _SAID["log"]] = None
    share: Annotated[_Axes, _SAID["share"]] = None
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
    per_page: Annotated[Annotated[int, Field(ge=1, le=_MOST_ON_A_PAGE)] | None, _SAID["per_page"]] = None
    labels: Annotated[dict[str, Text], _SAID["labels"]] = Field(default_factory=dict)
    order: Annotated[_Several, _SAID["order"]] = ()
    style: Annotated[_Several, _SAID["style"]] = ()
    format: Annotated[
        tuple[_Format, ...],
        List,
        AfterValidator(not_empty),
        BeforeValidator(_list, json_schema_input_type=_Format | Annotated[list[_Format], Field(min_length=1)]),
        _SAID["format"],
    ] = ("pdf", "png")

    @property
    def figure(self) -> FigureKind:
        """The record of the kind."""
        return KINDS[self.kind]

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @property
    def named(self) -> set[str]:
        """Columns that make axis, panels or lines, or of which values are chosen."""
        return {*([self.x] if self.x else []), *(self.panels or ()), *(self.lines or ()), *self.where}

    @classmethod
    def without_axes(cls, said: Mapping[str, Any], kind: str) -> dict[str, Any]:
        """Return the keys of a plot without those of `x` and `y` that belong to its own kind and not to `kind`."""
        own, other = KINDS.get(said.get("kind", cls().kind)), KINDS.get(kind)
        if own is None or other is None or own is other:
            return dict(said)
        gone = {"x", "y"} if other.points != "cells" else {"y"} if said.get("y") == own.y else set()
        return {key: value for key, value in said.items() if key not in gone}

    def refuse_unknown_words(
        self, instances: Sequence[AnyInstance], learners: Sequence[LearnerEntry], cells: Sequence[Cell] = ()
    ) -> None:
        """Refuse columns and names that the study does not have, and values to draw that none of its cells has.

        Raises:
            PydanticCustomError: for the first one; the message names the nearest one that the study has.
        """
        if self.average:
            try:
                refuse_unknown_option(instances, self.average)
            except ConfigError as error:
                raise mistake(str(error), "average") from None
        columns, names = _known_columns(learners), list(alike(instances, self.average))
        for words, known, key in _words(self, columns, names, [entry.name for entry in learners]):
            for word in words:
                if word not in known:
                    raise mistake(f"{show(word)} is not known; {suggest(word, known)}", *key)
        if cells:
            _refuse_values_of_no_cell(self, cells)

    @model_validator(mode="after")
    def _of_trials(self) -> "Plot":
        """Refuse other axes for a kind that shows what is in trials, and the measure of such a kind for others."""
        if self.figure.points != "cells" and (self.x or self.y != self.figure.y):
            key, value = ("x", self.x) if self.x else ("y", self.y)
            raise mistake(f"{show(value)} is not what {self.kind} shows; leave {key} out, or choose another kind", key)
        of_trials = {one.y: name for name, one in KINDS.items() if one.points != "cells"}
        if self.figure.points == "cells" and self.y in of_trials:
            remedy = f"choose another kind, such as {of_trials[self.y]}"
            raise mistake(f"{show(self.y)} cannot be shown by {self.kind}; {remedy}", "y")
        if self.y == "difference" and self.average:
            raise mistake("a difference is that of the trials of one cell; leave average out, or choose another y", "y")
        return self

    @model_validator(mode="before")
    @classmethod
    def _as_the_kind_measures(cls, data: Any) -> Any:
        """Take the measure of the kind if none is given."""
        found = KINDS.get(str(data.get("kind"))) if isinstance(data, dict) else None
        return {"y": found.y, **data} if found and found.y != cls.model_fields["y"].default else data

    @model_serializer(mode="wrap")
    def _said(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Dump the kind, and only those other keys that were given."""
        said: dict[str, Any] = dump(self)
        return {name: value for name, value in said.items() if name == "kind" or name in self.model_fields_set}


def _known_columns(learners: Sequence[LearnerEntry]) -> list[str]:
    """Return the columns that a plot may name: those of the grid, what follows from them, and options of learners."""
    options = dict.fromkeys(name for entry in learners for name in entry.options)
    return [*GRID, *DERIVED, *(name for name in options if name not in (*GRID, *DERIVED))]


def _words(
    plot: Plot, columns: Sequence[str], instances: Sequence[str], learners: Sequence[str]
) -> Iterator[tuple[Collection[str], Sequence[str], tuple[str, ...]]]:
    """Yield words of a plot, the words that are known, and the key under which they stand."""
    yield [plot.x] if plot.x else (), columns, ("x",)
    yield plot.panels or (), columns, ("panels",)
    yield plot.lines or (), columns, ("lines",)
    yield plot.where, columns, ("where",)
    yield plot.instances, instances, ("instances",)
    yield plot.learners, learners, ("learners",)
    yield plot.order, [*learners, *instances], ("order",)
    yield plot.labels, [*learners, *instances, *columns, *MEASURES], ("labels",)


def _refuse_values_of_no_cell(plot: Plot, cells: Sequence[Cell]) -> None:
    """Refuse a figure against the budget where there is none, and values to draw that no cell has."""
    if (plot.x or plot.figure.x) == "budget" and not cells[0].answers:
        key, what = ("x", "'budget'") if plot.x else ("kind", f"{show(plot.kind)} is drawn against the budget, which")
        raise mistake(f"{what} is known of studies with a budget only; choose another kind, or an x such as K", key)
    # Instances that a figure averages have names of their own there.
    for name in (name for name in plot.where if name in GRID and not (plot.average and name == "instance")):
        there = list(dict.fromkeys(getattr(cell, name) for cell in cells))
        for value in plot.where[name]:
            if value not in there and str(value) not in map(str, there):
                remedy = suggest(str(value), map(str, there[:_MOST_SHOWN]))
                raise mistake(f"{show(value)} is in no cell; {remedy}", "where", name)
