"""The grid of a study: which cells its instances, learners and numbers make together."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import PydanticCustomError

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.families import Items
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.document import KeyPath
from cascadebai_cli.study.fields import (
    ALL_AXES,
    DEFAULT_RISKS,
    DEFAULT_TOLERANCES,
    MOST_ITEMS_OF_CELLS,
    MOST_POINTS,
    MOST_WEIGHTS,
)
from cascadebai_cli.study.instance_entry import ItemsAt
from cascadebai_cli.study.instances import AnyInstance
from cascadebai_cli.study.learners import LearnerEntry
from cascadebai_cli.study.messages import mistake, within

if TYPE_CHECKING:
    from cascadebai_cli.study.study import Study

DEFAULTS = {"L": None, "K": None, "budget": None, "delta": DEFAULT_RISKS, "epsilon": DEFAULT_TOLERANCES}


class Point(NamedTuple):
    """Numbers of the grid; `L` is 0 for families that bring their own number of items."""

    L: int
    K: int
    delta: float
    epsilon: float
    budget: int | None = None


def cells_of(study: "Study", folder: Path) -> Iterator[Cell]:
    """All cells, in the order instance, learner, L, K, delta, epsilon, budget.

    Raises:
        PydanticCustomError: at the first point of the grid that makes no problem, with its key path.
    """
    for i in range(len(study.instances)):
        yield from _Part(study, i, folder).cells()


@dataclass(frozen=True)
class _Axis:
    """Values that vary together: the names, rows with a value of each, and the key path of each name."""

    rows: Sequence[Mapping[str, Any]]
    at: Mapping[str, KeyPath]


@dataclass(frozen=True)
class _Part:
    """The part of a grid that belongs to one instance, number `i` of the study."""

    study: "Study"
    i: int
    folder: Path
    made: dict[tuple[int, int], Items] = field(default_factory=dict)
    """Items at each `L` and `K` so far."""

    @property
    def entry(self) -> AnyInstance:
        return self.study.instances[self.i]

    def cells(self) -> Iterator[Cell]:
        parts = [(learner, self._axes(j)) for j, learner in enumerate(self.study.learners)]
        self._check_number([axes for _, axes in parts])
        with self._located():
            items_at = self.entry.family_in(self.folder, self.study.seed)
        points = [(learner, list(_points(axes)), _paths(axes)) for learner, axes in parts]
        for _, mine, at in points:
            for L, K in dict.fromkeys(point[:2] for point in mine):
                if (L, K) not in self.made:
                    self.made[L, K] = self._items(items_at, L, K, at["K"])
        items = sum(len(self.made[point.L, point.K].weights) for _, mine, _ in points for point in mine)
        self._at_most(items, MOST_ITEMS_OF_CELLS, "items in all its cells together")
        for L, K, epsilon in dict.fromkeys((p.L, p.K, p.epsilon) for _, mine, _ in points for p in mine):
            with self._located():
                Instance(self.made[L, K].weights, K, epsilon)
        for learner, mine, _ in points:
            for point in mine:
                yield self._cell(learner, point)

    def _axes(self, j: int) -> list[_Axis]:
        """What spans the grid of learner number `j`."""
        zipped = self._zipped(j)
        free = [self._axis(name, j) for name in ALL_AXES if not any(name in axis.at for axis in zipped)]
        return sorted([*zipped, *free], key=lambda axis: min(map(ALL_AXES.index, axis.at)))

    def _zipped(self, j: int) -> list[_Axis]:
        """One axis for the values that go in pairs, if any do."""
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
            # the default of the study is nothing that anybody has said
            if values not in (None, DEFAULTS[name]) and not overridden:
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
        """Where values of an axis may stand, what is nearest to a learner first."""
        yield getattr(self.study.learners[j], name, None), ("learners", j, name)
        yield getattr(self.entry, name, None), self._at(name)
        yield getattr(self.study, name), (name,)

    def _at(self, name: str) -> KeyPath:
        return ("instances", self.i, name)

    def _check_number(self, parts: Sequence[Sequence[_Axis]]) -> None:
        self._at_most(sum(prod(len(axis.rows) for axis in axes) for axes in parts), MOST_POINTS, "cells")
        sizes = dict.fromkeys((point.L, point.K) for axes in parts for point in _points(axes))
        self._at_most(sum(L for L, _ in sizes), MOST_WEIGHTS, "weights")

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
        """Mistakes of the instance get the key path of the instance."""
        try:
            yield
        except PydanticCustomError as error:
            raise within(error, "instances", self.i) from None
        except ConfigError as error:
            raise mistake(f"'{self.entry.name}': {error}", "instances", self.i) from None

    def _check_K(self, K: int, L: int, at: KeyPath) -> None:
        if K >= L:
            raise mistake(f"{K} is not less than L = {L} of '{self.entry.name}'; choose a smaller K or more items", *at)

    def _cell(self, learner: LearnerEntry, point: Point) -> Cell:
        study, items = self.study, self.made[point.L, point.K]
        return Cell(
            study=study.study,
            instance=self.entry.name,
            learner=learner.name,
            L=len(items.weights),
            K=point.K,
            delta=point.delta,
            epsilon=point.epsilon,
            budget=point.budget,
            weights=items.weights,
            weights_code=self.entry.code,
            items=items.names,
            spec=learner.spec,
            feedback=study.feedback_of(learner),
            order=study.order,
            max_steps=study.max_steps,
            engine=study.engine,
            rewards=study.rewards.shape if study.rewards else None,
        )


def _points(axes: Sequence[_Axis]) -> Iterator[Point]:
    for rows in product(*(axis.rows for axis in axes)):
        yield Point(**{name: value for row in rows for name, value in row.items()})


def _paths(axes: Sequence[_Axis]) -> dict[str, KeyPath]:
    return {name: path for axis in axes for name, path in axis.at.items()}
