"""A study: what a config says, checked, and the grid of cells that it spans."""

from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PrivateAttr, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from cascadebai_cli.engines.reward_table import TableShape
from cascadebai_cli.engines.simulate import EngineName
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.families import Items
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.document import KeyPath
from cascadebai_cli.study.fields import (
    MOST_POINTS,
    MOST_ROWS,
    MOST_TRIALS,
    MOST_WEIGHTS,
    Entry,
    FeedbackName,
    FileName,
    List,
    OrderName,
    Risks,
    Sizes,
    Text,
    Tolerances,
    context_of,
    not_empty,
)
from cascadebai_cli.study.instances import AnyInstance
from cascadebai_cli.study.learners import LearnerEntry
from cascadebai_cli.study.messages import mistake, show, within

DEFAULT_LEARNER: dict[str, Any] = {"name": "CascadeBAI", "algorithm": "cascadebai"}
"""The only learner of a config that names none."""


class Plot(Entry):
    """How the results are drawn."""

    kind: Literal["scaling", "curves", "bars"] = "scaling"


class Rewards(Entry):
    """A table of rewards, one row a step; behind its last row it begins anew (`engines.reward_table`).

    Attributes:
        rows: its rows.
        reuse: whether the same table is used again; else another one is drawn each time round.
    """

    rows: Annotated[int, Field(ge=1, le=MOST_ROWS)]
    reuse: bool = True

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
    """What a config says; `K`, `L`, `delta`, `epsilon` span a grid with the instances and the learners.

    Attributes:
        study: name, the stem of the file by default.
        seed: root seed of all trials.
        trials: number of trials a cell.
        order: whether each trial meets the items in a permutation of its own.
        max_steps: cap on the steps of a trial.
        rewards: the table that rewards are read from; independent rewards by default.
    """

    study: FileName
    title: Text | None = None
    seed: Annotated[int, Field(ge=0)]
    trials: Annotated[int, Field(ge=1, le=MOST_TRIALS)] = 20
    L: Sizes | None = None
    K: Sizes | None = None
    delta: Risks = (0.1,)
    epsilon: Tolerances = (0.0,)
    order: OrderName = "random"
    max_steps: Annotated[int, Field(ge=1, le=10**18)] | None = None
    engine: EngineName = "auto"
    feedback: FeedbackName = "cascading"
    rewards: Rewards | None = None
    instances: Annotated[tuple[AnyInstance, ...], List, AfterValidator(not_empty), AfterValidator(_distinct_names)]
    learners: Annotated[tuple[LearnerEntry, ...], List, AfterValidator(not_empty), AfterValidator(_distinct_names)] = (
        LearnerEntry(**DEFAULT_LEARNER),
    )
    plot: Plot = Plot()

    _cells: tuple[Cell, ...] = PrivateAttr(default=())

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, in the order instance, learner, L, K, delta, epsilon; none of a study that is not to be run."""
        return self._cells

    @model_validator(mode="after")
    def _make_cells(self, info: ValidationInfo) -> "Study":
        context = context_of(info)
        if context.runs:
            parts = [_Part(self, i, context.folder) for i in range(len(self.instances))]
            self._cells = tuple(cell for part in parts for cell in part.cells())
            _refuse_twins(self, self._cells)
            for cell in self._cells:
                _check_learner(self, cell)
        return self


@dataclass(frozen=True)
class _Part:
    """The part of a grid that belongs to one instance, number `i` of the study."""

    study: Study
    i: int
    folder: Path

    @property
    def entry(self) -> AnyInstance:
        return self.study.instances[self.i]

    @property
    def risks(self) -> Sequence[float]:
        return self.entry.delta or self.study.delta

    @property
    def tolerances(self) -> Sequence[float]:
        return self.entry.epsilon or self.study.epsilon

    def sizes(self, key: Literal["K", "L"]) -> Sequence[int]:
        if key == "L" and not self.entry.needs_L:
            return (0,)
        sizes: Sequence[int] | None = getattr(self.entry, key, None) or getattr(self.study, key)
        if sizes is None:
            raise self.mistake(f"'{self.entry.name}' has no {key}; write {key} in the instance or at the top")
        return sizes

    def mistake(self, text: str, *at: str | int) -> PydanticCustomError:
        return mistake(text, "instances", self.i, *at)

    def cells(self) -> Iterator[Cell]:
        self._check_number()
        points = list(self._points())
        for (K, items), epsilon in product(points, self.tolerances):
            self._check_problem(items, K, epsilon)
        for learner, (K, items), delta, epsilon in product(self.study.learners, points, self.risks, self.tolerances):
            yield _cell(self.study, self.entry.name, learner, K, items, delta, epsilon)

    def _check_number(self) -> None:
        L, K = self.sizes("L"), self.sizes("K")
        axes: list[Sized] = [L, K, self.study.learners, self.risks, self.tolerances]
        for number, most, what in (
            (prod(map(len, axes)), MOST_POINTS, "cells"),
            (sum(L) * len(K), MOST_WEIGHTS, "weights"),
        ):
            if number > most:
                raise self.mistake(f"'{self.entry.name}' makes {number} {what}; make {most} or fewer")

    def _points(self) -> Iterator[tuple[int, Items]]:
        """`K` and the items at each combination of `L` and `K`."""
        with self._located():
            items_at = self.entry.family_in(self.folder)
        for L, K in product(self.sizes("L"), self.sizes("K")):
            if self.entry.needs_L:
                self._check_K(K, L)
            with self._located():
                items = items_at(L, K)
            self._check_K(K, len(items.weights))
            yield K, items

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Mistakes of the instance get the key path of the instance."""
        try:
            yield
        except PydanticCustomError as error:
            raise within(error, "instances", self.i) from None
        except ConfigError as error:
            raise self.mistake(f"'{self.entry.name}': {error}") from None

    def _check_K(self, K: int, L: int) -> None:
        if K >= L:
            at: KeyPath = ("instances", self.i, "K") if self.entry.K else ("K",)
            text = f"{K} is not less than L = {L} of '{self.entry.name}'; choose a smaller K or more items"
            raise mistake(text, *at)

    def _check_problem(self, items: Items, K: int, epsilon: float) -> None:
        with self._located():
            Instance(items.weights, K, epsilon)


def _cell(
    study: Study, instance: str, learner: LearnerEntry, K: int, items: Items, delta: float, epsilon: float
) -> Cell:
    return Cell(
        study=study.study,
        instance=instance,
        learner=learner.name,
        L=len(items.weights),
        K=K,
        delta=delta,
        epsilon=epsilon,
        weights=items.weights,
        items=items.names,
        spec=learner.spec,
        feedback=learner.feedback or study.feedback,
        order=study.order,
        max_steps=study.max_steps,
        engine=study.engine,
        rewards=study.rewards.shape if study.rewards else None,
    )


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
