"""A study: what a config says, checked, and the grid of cells that it spans."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PrivateAttr, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from cascadebai_cli.engines.reward_table import TableShape
from cascadebai_cli.engines.simulate import EngineName
from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.model.feedback import FeedbackName
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.document import KeyPath
from cascadebai_cli.study.enough import FIRST, Enough, Trials
from cascadebai_cli.study.fields import (
    AXES,
    DEFAULT_RISKS,
    DEFAULT_TOLERANCES,
    MOST_ROWS,
    Budgets,
    Entry,
    FileName,
    List,
    PermutationName,
    Risks,
    Sizes,
    Text,
    Tolerances,
    context_of,
    not_empty,
)
from cascadebai_cli.study.grid import cells_of
from cascadebai_cli.study.instances import AnyInstance
from cascadebai_cli.study.learners import LearnerEntry, option_values
from cascadebai_cli.study.messages import mistake, show, within
from cascadebai_cli.study.plot import Plot, refuse_unknown_words
from cascadebai_cli.study.zipped import Zip
from cascadebai_cli.text.numbers import count

DEFAULT_LEARNER: dict[str, Any] = {"name": "CascadeBAI", "algorithm": "cascadebai"}
"""The only learner of a config that names none."""


class Rewards(Entry):
    """A table of rewards, one row a step; behind its last row it begins anew (`engines.reward_table`).

    Attributes:
        rows: its rows.
        reuse: whether the same table is used again; else another one is drawn each time round.
    """

    rows: Annotated[int, Field(ge=1, le=MOST_ROWS)]
    reuse: bool = True

    def __str__(self) -> str:
        again = "is used again" if self.reuse else "is drawn anew each time round"
        return f"from a table of {count(self.rows)} rows that {again}"

    @property
    def shape(self) -> TableShape:
        """As the engines take it."""
        return TableShape(self.rows, self.reuse)


def _distinct_names(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    names: Sequence[str] = [entry.name for entry in entries]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise mistake(f"{show(name)} is used twice; give each entry its own name", i, "name")
    return entries


class Study(Entry):
    """What a config says; `K`, `L`, `delta`, `epsilon`, `budget` span a grid with the instances and the learners.

    Attributes:
        study: name, the stem of the file by default.
        seed: root seed of all trials.
        trials: number of trials a cell, or when it is enough.
        budget: steps after which learners are asked for the items, in place of running until they stop.
        zip: values of them that go in pairs, in place of lists of their own.
        order: whether each trial meets the items in a permutation of its own.
        max_steps: cap on the steps of a trial.
        rewards: the table that rewards are read from; independent rewards by default.
        claims: whether the report holds the study against what the paper says of it.
    """

    study: FileName
    title: Text | None = None
    seed: Annotated[int, Field(ge=0)]
    trials: Trials = FIRST
    L: Sizes | None = None
    K: Sizes | None = None
    delta: Risks = DEFAULT_RISKS
    epsilon: Tolerances = DEFAULT_TOLERANCES
    budget: Budgets | None = None
    zip: Zip | None = None
    order: PermutationName = "random"
    max_steps: Annotated[int, Field(ge=1, le=10**18)] | None = None
    engine: EngineName = "auto"
    feedback: FeedbackName = "cascading"
    rewards: Rewards | None = None
    instances: Annotated[tuple[AnyInstance, ...], List, AfterValidator(not_empty), AfterValidator(_distinct_names)]
    learners: Annotated[tuple[LearnerEntry, ...], List, AfterValidator(not_empty), AfterValidator(_distinct_names)] = (
        LearnerEntry(**DEFAULT_LEARNER),
    )
    plot: Plot = Plot()
    claims: Literal["paper"] | None = None

    _cells: tuple[Cell, ...] = PrivateAttr(default=())

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, in the order instance, learner, L, K, delta, epsilon, budget; none of a study only read."""
        return self._cells

    @property
    def independent(self) -> bool:
        """Whether no reward is used twice, as theorems and claims suppose."""
        return self.rewards is None or not self.rewards.reuse

    @model_validator(mode="before")
    @classmethod
    def _plot_of_errors(cls, data: Any) -> Any:
        """With a budget the figure shows errors, unless the config says something else."""
        if not isinstance(data, dict) or not _has_budget(data):
            return data
        plot = data.get("plot") or {}
        return {**data, "plot": {"kind": "error", **plot}} if isinstance(plot, dict) else data

    @model_validator(mode="after")
    def _check_axes(self) -> "Study":
        options = dict.fromkeys(name for entry in self.learners for name in option_values(entry))
        for i, entry in enumerate(self.instances):
            if entry.fit and entry.fit.x not in (*AXES, *options):
                text = f"{show(entry.fit.x)} is no number of the grid and no option of a learner"
                raise mistake(f"{text}; {suggest(entry.fit.x, (*AXES, *options))}", "instances", i, "fit", "x")
        return self

    @model_validator(mode="after")
    def _make_cells(self, info: ValidationInfo) -> "Study":
        context = context_of(info)
        if context.runs:
            self._cells = tuple(cells_of(self, context.folder))
            _refuse_half_a_budget(self._cells)
            _refuse_aims_at_steps(self)
            _refuse_twins(self, self._cells)
            _refuse_valueless_fits(self)
            for cell in self._cells:
                _check_learner(self, cell)
            try:
                refuse_unknown_words(self.plot, self.instances, self.learners)
            except PydanticCustomError as error:
                raise within(error, "plot") from None
        return self


def _has_budget(data: dict[str, Any]) -> bool:
    entries = data.get("instances")
    parts = [data, *(entry for entry in entries if isinstance(entry, dict))] if isinstance(entries, list) else [data]
    zips = [part["zip"] for part in parts if isinstance(part.get("zip"), dict)]
    return any(part.get("budget") is not None for part in (*parts, *zips))


def _refuse_half_a_budget(cells: Sequence[Cell]) -> None:
    """Means of steps and chances of an error make no common table."""
    without = [cell for cell in cells if not cell.answers]
    if 0 < len(without) < len(cells):
        text = f"'{without[0].instance}' has no budget, but others have; give all instances one, or none"
        raise mistake(text, "budget")


def _refuse_aims_at_steps(study: Study) -> None:
    """A budget fixes the steps: they never become better known."""
    if study.cells[0].answers and isinstance(study.trials, Enough) and study.trials.relative_error is not None:
        raise mistake("a budget fixes the steps that this is about; use max_errors", "trials", "relative_error")


def _refuse_valueless_fits(study: Study) -> None:
    """A model that has no value at a cell is refused before anything runs."""
    cells: dict[str, list[Cell]] = {}
    for cell in study.cells:
        cells.setdefault(cell.instance, []).append(cell)
    for i, entry in enumerate(study.instances):
        if entry.fit and entry.fit.x in AXES:
            try:
                entry.fit.refuse_valueless(dict.fromkeys(getattr(cell, entry.fit.x) for cell in cells[entry.name]))
            except PydanticCustomError as error:
                raise within(error, "instances", i, "fit") from None


def _refuse_twins(study: Study, cells: Sequence[Cell]) -> None:
    first: dict[str, Cell] = {}
    for cell in cells:
        twin = first.setdefault(cell.cell_id, cell)
        if twin is not cell:
            raise mistake(
                f"{cell.names} at {cell.point} repeats {twin.names}; leave one of them out",
                *_path_of(study, cell, twin),
            )


def _path_of(study: Study, cell: Cell, twin: Cell) -> KeyPath:
    """The learner that repeats another one, or else the instance."""
    if cell.instance == twin.instance:
        return ("learners", [entry.name for entry in study.learners].index(cell.learner))
    return ("instances", [entry.name for entry in study.instances].index(cell.instance))


def _check_learner(study: Study, cell: Cell) -> None:
    """A learner may refuse values that only it knows about, and so may an engine a learner."""
    try:
        _ = cell.runs_with
    except ConfigError as error:
        position = [entry.name for entry in study.learners].index(cell.learner)
        raise mistake(f"'{cell.learner}': {error}", "learners", position) from None
