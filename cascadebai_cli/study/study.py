"""A study: a config as a whole, and the grid of cells that it spans."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PrivateAttr, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from cascadebai_cli.engines.simulate import EngineName
from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.model.problem import CASCADING, FEEDBACKS, SEMI_BANDIT, Feedback, Instance, Items
from cascadebai_cli.study.cells import Cell, LearnerEntry, Rewards
from cascadebai_cli.study.fields import (
    FIRST,
    MOST_POINTS,
    Budgets,
    Enough,
    Entry,
    Epsilons,
    FeedbackName,
    FileName,
    Filled,
    KeyPath,
    Records,
    Risks,
    SizeList,
    Text,
    Trials,
    Zip,
    context_of,
    mistake,
    not_empty,
    says,
    show,
    within,
)
from cascadebai_cli.study.instances import AnyInstance, ItemsAt, UsersEntry
from cascadebai_cli.study.kinds import ALL_AXES, AXES
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.text import count

# --- A study: the keys of a config and its checks -------------------------------------------------------------------

_MOST_ROWS = 20_000_000
"""Largest number of rows of a result directory; a sweep keeps some ten bytes of each in memory, reading some fifty."""
DEFAULT_LEARNER: dict[str, Any] = {"name": "CascadeBAI", "algorithm": "cascadebai"}
"""The learner of a config that names none."""


def _distinct_names(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    names: Sequence[str] = [entry.name for entry in entries]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise mistake(f"{show(name)} is used twice; give each entry its own name", i, "name")
    return entries


class Study(Entry):
    """A config; `K`, `L`, `delta`, `epsilon` and `budget` span a grid with the instances and the learners."""

    study: Annotated[FileName, says("Name of the study; figures are named after it.", "mine")]
    title: Annotated[Text | None, says("Title of the study in the report.", "Mean steps against K")] = None
    seed: Annotated[int, Field(ge=0), says("Root seed of all trials.", "1")]
    trials: Annotated[
        Trials,
        says("Number of trials of each cell, or the rule for it.", "20", "{relative_error: 0.01, at_most: 1000}"),
    ] = FIRST
    L: Annotated[SizeList | None, says("Number of items.", "64", "[64, 128]")] = None
    K: Annotated[SizeList | None, says("Number of items to find, less than L.", "4", "{from: 20, to: 60, step: 2}")] = (
        None
    )
    delta: Annotated[Risks, says("Largest probability of a wrong answer.", "0.05", "[0.1, 1e-3]")] = (0.1,)
    epsilon: Annotated[
        Epsilons, says("Tolerance: an item is good enough if its weight is at least w(K) - epsilon.", "0.05")
    ] = (0.0,)
    budget: Annotated[
        Budgets | None,
        says(
            "Steps after which learners have to name their items; without it they run until they stop.",
            "20000",
            "{from: 500, to: 8000, times: 2}",
        ),
    ] = None
    zip: Annotated[
        Zip | None,
        says(
            "Lists whose values vary together: first with first, second with second, and so on.",
            "{K: [2, 4], delta: [0.1, 0.05]}",
        ),
    ] = None
    order: Annotated[
        Literal["random", "as_given"],
        says("Order of the items in a trial: drawn anew for each trial, or as in the config.", "as_given"),
    ] = "random"
    max_steps: Annotated[
        Annotated[int, Field(ge=1, le=10**18)] | None,
        says("Cap on the steps of a trial; one that reaches it is `capped`.", "10_000_000"),
    ] = None
    engine: Annotated[
        EngineName, says("Engine that runs the trials; `auto` is the fastest one that is exact.", "reference")
    ] = "auto"
    feedback: Annotated[
        FeedbackName,
        says(f"What a step reveals: {', or '.join(each.shows for each in FEEDBACKS.values())}.", SEMI_BANDIT.name),
    ] = CASCADING.name
    users: Annotated[
        UsersEntry | None,
        says(
            "What users do with a page; without it, they do what makes the feedback true.",
            "{kind: position-based, looks: [1, 0.7, 0.45]}",
        ),
    ] = None
    shuffle: Annotated[
        bool, says("Whether each list is shown in a random order, for learners whose proof allows it.", "true")
    ] = False
    rewards: Annotated[
        Rewards | None, says("Table from which rewards are read; without it rewards are independent.", "{rows: 100000}")
    ] = None
    paired: Annotated[
        bool,
        says(
            "Whether all learners meet the same rewards in trials of the same number, to compare them better.", "true"
        ),
    ] = False
    record: Annotated[
        Records,
        says(
            "What to write of each trial beyond its row: the `answer`, the `decisions` with their steps, or a `trace`.",
            "decisions",
            "[answer, decisions, trace]",
        ),
    ] = ()
    trace_at: Annotated[
        Budgets | None,
        says(
            "Steps at which a `trace` looks at a run; 1, 2, 5, 10, 20, 50, ... if left out.",
            "{from: 500, to: 8000, times: 2}",
        ),
    ] = None
    instances: Annotated[
        tuple[AnyInstance, ...],
        Filled,
        AfterValidator(not_empty),
        AfterValidator(_distinct_names),
        says("Sets of click probabilities.", "[{name: ramp, family: linear, w_max: 0.5, w_min: 0.1}]"),
    ]
    learners: Annotated[
        tuple[LearnerEntry, ...],
        Filled,
        AfterValidator(not_empty),
        AfterValidator(_distinct_names),
        says("Algorithms to run, with their options.", "[{name: KL-LUCB++, algorithm: kl-lucb++}]"),
    ] = (LearnerEntry(**DEFAULT_LEARNER),)
    plot: Annotated[Plot, says("What `cascadebai plot` draws.", "{kind: curves}")] = Plot()
    claims: Annotated[
        Literal["paper"] | None, says("Whether the report tests the claims of the paper on the study.", "paper")
    ] = None

    _cells: tuple[Cell, ...] = PrivateAttr(default=())

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, in the order instance, learner, L, K, delta, epsilon, budget; none if the study is only read."""
        return self._cells

    @property
    def first_trials(self) -> int:
        """Number of trials that a cell gets in any case."""
        return self.trials if isinstance(self.trials, int) else self.trials.at_least

    @property
    def most_trials(self) -> int:
        """Largest number of trials that a cell can get."""
        return self.trials if isinstance(self.trials, int) else self.trials.at_most

    def refuse_too_many_rows(self) -> None:
        """Raise `ConfigError` for more rows than fit into memory."""
        trials, cells = self.most_trials, len(self.cells)
        if trials * cells > _MOST_ROWS:
            raise ConfigError(
                f"{count(trials)} trials of {count(cells)} cells are more than {count(_MOST_ROWS)} rows; "
                "run fewer trials or cells"
            )

    @property
    def has_users(self) -> bool:
        """Whether users of some kind are named, or lists are shuffled; the paper's claims are about its own users."""
        shuffled = self.shuffle or any(learner.shuffle for learner in self.learners)
        return shuffled or self.users is not None or any(entry.users for entry in self.instances)

    @property
    def independent(self) -> bool:
        """Whether no reward is used twice, as theorems and claims require."""
        return self.rewards is None or not self.rewards.reuse

    def feedback_of(self, learner: LearnerEntry, instance: AnyInstance | None) -> Feedback:
        """Return what a learner takes of the pages of an instance: its own feedback, or that of the study.

        Raises:
            ConfigError: if it cannot be read off the pages of these users.
        """
        users = (instance.users if instance else None) or self.users
        shuffle = self.shuffle if learner.shuffle is None else learner.shuffle
        return (FEEDBACKS[learner.feedback or self.feedback]).of(users.made if users else None, shuffle)

    @model_validator(mode="before")
    @classmethod
    def _plot_of_errors(cls, data: Any) -> Any:
        """Make the figure of a study with a budget one of errors, unless the config asks for another kind."""
        if not isinstance(data, dict) or not _has_budget(data):
            return data
        plot = data.get("plot") or {}
        return {**data, "plot": {"kind": "error", **plot}} if isinstance(plot, dict) else data

    @model_validator(mode="after")
    def _check_fits(self) -> "Study":
        options = dict.fromkeys(name for entry in self.learners for name in entry.options)
        for i, entry in enumerate(self.instances):
            if entry.fit and entry.fit.x not in (*AXES, *options):
                text = f"{show(entry.fit.x)} is no number of the grid and no option of a learner"
                raise mistake(f"{text}; {suggest(entry.fit.x, (*AXES, *options))}", "instances", i, "fit", "x")
        return self

    @model_validator(mode="after")
    def _make_cells(self, info: ValidationInfo) -> "Study":
        context = context_of(info)
        if context.runs:
            self._cells = tuple(_cells_of(self, context.folder))
            _refuse_half_a_budget(self._cells)
            _refuse_aims_at_steps(self)
            _refuse_no_trace(self)
            _refuse_twins(self, self._cells)
            _refuse_valueless_fits(self)
            for cell in self._cells:
                _check_learner(self, cell)
            try:
                self.plot.refuse_unknown_words(self.instances, self.learners, self._cells)
            except PydanticCustomError as error:
                raise within(error, "plot") from None
        return self


for _made in (Study, Cell):
    if _lost := [name for name in ALL_AXES if name not in _made.__annotations__]:
        raise LookupError(f"{', '.join(_lost)}: a number of the grid without a field of {_made.__name__}")


def _has_budget(data: dict[str, Any]) -> bool:
    entries = data.get("instances")
    parts = [data, *(entry for entry in entries if isinstance(entry, dict))] if isinstance(entries, list) else [data]
    zips = [part["zip"] for part in parts if isinstance(part.get("zip"), dict)]
    return any(part.get("budget") is not None for part in (*parts, *zips))


def _refuse_half_a_budget(cells: Sequence[Cell]) -> None:
    """Refuse a study of which only some cells have a budget, as steps and errors make no common table."""
    without = [cell for cell in cells if not cell.answers]
    if 0 < len(without) < len(cells):
        text = f"'{without[0].instance}' has no budget, but others have; give all instances one, or none"
        raise mistake(text, "budget")


def _refuse_aims_at_steps(study: Study) -> None:
    """Refuse an aim at the precision of the steps in a study with a budget, which fixes the steps."""
    if study.cells[0].answers and isinstance(study.trials, Enough) and study.trials.relative_error is not None:
        raise mistake("a budget fixes the steps that this is about; use max_errors", "trials", "relative_error")


def _refuse_valueless_fits(study: Study) -> None:
    """Refuse a model that has no value at some cell, before anything runs."""
    cells: dict[str, list[Cell]] = {}
    for cell in study.cells:
        cells.setdefault(cell.instance, []).append(cell)
    for i, entry in enumerate(study.instances):
        if entry.fit and entry.fit.x in AXES:
            try:
                entry.fit.refuse_valueless(dict.fromkeys(getattr(cell, entry.fit.x) for cell in cells[entry.name]))
            except PydanticCustomError as error:
                raise within(error, "instances", i, "fit") from None


def _refuse_no_trace(study: Study) -> None:
    """Refuse steps of a trace that nobody asks for, and a trace of a learner that cannot be asked."""
    if "trace" not in study.record:
        if study.trace_at is not None:
            raise mistake("nothing uses it without a trace; write record: [trace], or leave it out", "trace_at")
        return
    for i, learner in enumerate(study.learners):
        cell = next(cell for cell in study.cells if cell.learner == learner.name)
        with _of_learner(study, cell):
            able = cell.can_answer
        if not able:
            text = "a trace asks for the items before the learner has stopped; give the class a property answer"
            raise mistake(f"'{learner.name}': {text}, or leave trace out", "learners", i)


def _refuse_twins(study: Study, cells: Sequence[Cell]) -> None:
    first: dict[str, Cell] = {}
    for cell in cells:
        twin = first.setdefault(cell.cell_id, cell)
        if twin is not cell:
            key, name = ("learners", cell.learner) if cell.instance == twin.instance else ("instances", cell.instance)
            at = [entry.name for entry in getattr(study, key)].index(name)
            raise mistake(f"{cell.names} at {cell.point} repeats {twin.names}; leave one of them out", key, at)


def _check_learner(study: Study, cell: Cell) -> None:
    """Refuse a cell whose learner refuses its values, or whose engine refuses its learner."""
    with _of_learner(study, cell):
        _ = cell.runs_with
        if (length := cell.spec.options.get("list_length") or 0) > cell.L:
            raise ConfigError(f"list_length is {length}, but there are only {cell.L} items; make it smaller")


@contextmanager
def _of_learner(study: Study, cell: Cell) -> Iterator[None]:
    """Add the key path of the learner of a cell to an error in the block."""
    try:
        yield
    except ConfigError as error:
        position = [entry.name for entry in study.learners].index(cell.learner)
        raise mistake(f"'{cell.learner}': {error}", "learners", position) from None


# --- The grid of a study: the cells that its instances, learners and numbers make together --------------------------

_MOST_WEIGHTS = 20_000_000
"""Largest number of weights of all points of one instance, which take 160 MB."""
_MOST_ITEMS_OF_CELLS = 100_000_000
"""Largest number of items in all cells of an instance, as each cell hashes its weights and makes a learner first."""
_Point = Mapping[str, Any]
"""Numbers of the grid by name; `L` is 0 for families that bring their own number of items."""


def _cells_of(study: Study, folder: Path) -> Iterator[Cell]:
    """Yield all cells, in the order instance, learner, L, K, delta, epsilon, budget.

    Raises:
        PydanticCustomError: if a point of the grid is no valid problem, or no cell uses some value; with the key path
            of the first one.
    """
    used: set[KeyPath] = set()
    for i in range(len(study.instances)):
        yield from _Part(study, i, folder, used).cells()
    for path in _said(study):
        if path not in used:
            raise mistake(f"no cell uses it, since {_hidden_by(study, path[-1], used)}", *path)
    for name, what, entries in (("users", "instance", study.instances), ("feedback", "learner", study.learners)):
        said = getattr(study, name) != Study.model_fields[name].default
        if said and all(getattr(entry, name) is not None for entry in entries):
            raise mistake(f"no cell uses it, since each {what} has its own {name}; leave it out", name)


def _said(study: Study) -> Iterator[KeyPath]:
    """Yield the key paths of all axes in a config and its instances, except those that an instance's `zip` replaces."""
    replaced = {name for entry in study.instances if entry.zip for name in entry.zip.values}
    for path, entry in [((), study), *((("instances", i), entry) for i, entry in enumerate(study.instances))]:
        names = [
            name for name in ALL_AXES if getattr(entry, name, None) not in (None, Study.model_fields[name].default)
        ]
        yield from ((*path, name) for name in names if path or name not in replaced)


def _hidden_by(study: Study, name: str | int, used: Collection[KeyPath]) -> str:
    """Return why no cell uses a value of an axis, and the remedy."""
    if name == "L" and not any(entry.needs_L for entry in study.instances):
        return "all instances bring their own number of items; leave it out"
    key, number, *_ = min(path for path in used if len(path) > 2 and path[-1] == name)
    return f"'{getattr(study, str(key))[number].name}' has its own {name}; write it there, or leave one of them out"


@dataclass(frozen=True)
class _Axis:
    """Values that vary together: rows with a value for each name, and where the values of each name stand."""

    rows: Sequence[Mapping[str, Any]]
    at: Mapping[str, KeyPath]


@dataclass(frozen=True)
class _Part:
    """The part of a grid that belongs to one instance, number `i` of the study."""

    study: Study
    i: int
    folder: Path
    used: set[KeyPath] = field(default_factory=set)
    """Key paths of the values that the cells use."""
    made: dict[tuple[int, int], Items] = field(default_factory=dict)
    """Items at each `L` and `K` that have been made so far."""

    @property
    def entry(self) -> AnyInstance:
        return self.study.instances[self.i]

    def cells(self) -> Iterator[Cell]:
        parts = [(learner, self._axes(j)) for j, learner in enumerate(self.study.learners)]
        self._check_number([axes for _, axes in parts])
        with self._located():
            items_at = self.entry.family_in(self.folder, self.study.seed)
        points = [
            (learner, list(_points(axes)), {name: path for axis in axes for name, path in axis.at.items()})
            for learner, axes in parts
        ]
        for _, mine, at in points:
            self.used.update(at.values())
            for L, K in dict.fromkeys((point["L"], point["K"]) for point in mine):
                if (L, K) not in self.made:
                    self.made[L, K] = self._items(items_at, L, K, at["K"])
        items = sum(len(self.made[point["L"], point["K"]].weights) for _, mine, _ in points for point in mine)
        self._at_most(items, _MOST_ITEMS_OF_CELLS, "items in all its cells together")
        for L, K, epsilon in dict.fromkeys((p["L"], p["K"], p["epsilon"]) for _, mine, _ in points for p in mine):
            with self._located():
                Instance(self.made[L, K].weights, K, epsilon)
        for learner, mine, _ in points:
            for point in mine:
                yield self._cell(learner, point)

    def _axes(self, j: int) -> list[_Axis]:
        """Return the axes of the grid of learner number `j`."""
        zipped = self._zipped(j)
        free = [self._axis(name, j) for name in ALL_AXES if not any(name in axis.at for axis in zipped)]
        return sorted([*zipped, *free], key=lambda axis: min(map(ALL_AXES.index, axis.at)))

    def _zipped(self, j: int) -> list[_Axis]:
        """Return the axis of values that `zip` ties together, if any."""
        own = self.entry.zip
        pairs, path = (own, self._at("zip")) if own else (self.study.zip, ("zip",))
        if pairs is None:
            return []
        at = {name: (*path, name) for name in pairs.values}
        if "L" in at and not self.entry.needs_L:
            raise mistake(f"'{self.entry.name}' brings its own number of items; leave L out", *at["L"])
        for name in at:
            self._refuse_beside_zip(name, j)
        rows = zip(*pairs.values.values(), strict=True)
        return [_Axis([dict(zip(at, row, strict=True)) for row in rows], at)]

    def _refuse_beside_zip(self, name: str, j: int) -> None:
        for values, path in self._sources(name, j):
            overridden = self.entry.zip is not None and path == (name,)
            # a default of the study was not given by anybody
            if values not in (None, Study.model_fields[name].default) and not overridden:
                raise mistake(f"is given here and in zip, for '{self.entry.name}'; leave one of them out", *path)

    def _axis(self, name: str, j: int) -> _Axis:
        if name == "L" and not self.entry.needs_L:
            return _Axis([{"L": 0}], {"L": self._at("L")})
        values, path = next(((values, path) for values, path in self._sources(name, j) if values), (None, ()))
        if values is None and name == "budget":
            return _Axis([{"budget": None}], {"budget": ()})
        if values is None:
            where = "in the instance or at the top"
            raise mistake(f"'{self.entry.name}' has no {name}; write {name} {where}", "instances", self.i)
        return _Axis([{name: value} for value in values], {name: path})

    def _sources(self, name: str, j: int) -> Iterator[tuple[Sequence[Any] | None, KeyPath]]:
        """Yield the values of an axis with their key paths: of the learner, of the instance, then of the study."""
        yield getattr(self.study.learners[j], name, None), ("learners", j, name)
        yield getattr(self.entry, name, None), self._at(name)
        yield getattr(self.study, name), (name,)

    def _at(self, name: str) -> KeyPath:
        return ("instances", self.i, name)

    def _check_number(self, parts: Sequence[Sequence[_Axis]]) -> None:
        self._at_most(sum(prod(len(axis.rows) for axis in axes) for axes in parts), MOST_POINTS, "cells")
        sizes = dict.fromkeys((point["L"], point["K"]) for axes in parts for point in _points(axes))
        self._at_most(sum(L for L, _ in sizes), _MOST_WEIGHTS, "weights")

    def _at_most(self, number: int, most: int, what: str) -> None:
        if number > most:
            raise mistake(f"'{self.entry.name}' makes {number} {what}; make {most} or fewer", "instances", self.i)

    def _items(self, items_at: ItemsAt, L: int, K: int, at: KeyPath) -> Items:
        if self.entry.needs_L:
            self._check_K(K, L, at)
        with self._located():
            items = items_at(L, K)
        self._check_K(K, len(items.weights), at)
        return items

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Add the key path of the instance to mistakes in the block."""
        try:
            yield
        except PydanticCustomError as error:
            raise within(error, "instances", self.i) from None
        except ConfigError as error:
            raise mistake(f"'{self.entry.name}': {error}", "instances", self.i) from None

    def _check_K(self, K: int, L: int, at: KeyPath) -> None:
        if K >= L:
            raise mistake(f"{K} is not less than L = {L} of '{self.entry.name}'; choose a smaller K or more items", *at)

    def _cell(self, learner: LearnerEntry, point: _Point) -> Cell:
        study, items = self.study, self.made[point["L"], point["K"]]
        return Cell(
            study=study.study,
            instance=self.entry.name,
            learner=learner.name,
            **{**point, "L": len(items.weights)},
            weights=items.weights,
            weights_code=self.entry.code,
            items=items.names,
            spec=learner.spec,
            feedback=self._feedback(learner),
            order=study.order,
            max_steps=study.max_steps,
            engine=study.engine,
            rewards=study.rewards.shape if study.rewards else None,
            paired=study.paired,
        )

    def _feedback(self, learner: LearnerEntry) -> Feedback:
        try:
            return self.study.feedback_of(learner, self.entry)
        except ConfigError as error:
            own = ("learners", self.study.learners.index(learner)) if learner.feedback else ()
            where = f" on '{self.entry.name}'" if self.entry and self.entry.users else ""
            raise mistake(f"'{learner.name}'{where}: {error}", *own, "feedback") from None


def _points(axes: Sequence[_Axis]) -> Iterator[_Point]:
    for rows in product(*(axis.rows for axis in axes)):
        yield {name: value for row in rows for name, value in row.items()}
