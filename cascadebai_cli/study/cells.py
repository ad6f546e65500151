"""The grid of a study as a list of cells, each with the hash of its content."""

import hashlib
import json
from collections.abc import Iterator, Sized
from dataclasses import dataclass, field
from itertools import product
from math import prod

from cascadebai_cli.engines.simulate import EngineName
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.plugins import is_plugin, plugin_code
from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.families import Items
from cascadebai_cli.model.instance import FloatArray, Instance
from cascadebai_cli.study.fields import MOST_POINTS, MOST_WEIGHTS
from cascadebai_cli.study.instances import GridError, InstanceEntry
from cascadebai_cli.study.options import non_default_options
from cascadebai_cli.study.study import FeedbackName, LearnerEntry, OrderName, Study
from cascadebai_cli.study.yaml_lines import KeyPath


@dataclass(frozen=True, eq=False)
class Cell:
    """One point of the grid: instance x learner x L x K x delta x epsilon.

    Attributes:
        study, instance, learner: names.
        L, K, delta, epsilon: as in the paper.
        weights: click probabilities in the order of the config or file, shape `(L,)`.
        items: names of the items, in the same order.
        spec: algorithm and options.
        feedback: what a step reveals.
        order: whether each trial draws an order of the items.
        max_steps: cap on the steps, none by default.
        engine: engine asked for.
        cell_id: 16 hexadecimal digits, a hash of the content: no names, number of trials, engine or paths.
    """

    study: str
    instance: str
    learner: str
    L: int
    K: int
    delta: float
    epsilon: float
    weights: FloatArray
    items: tuple[str, ...]
    spec: LearnerSpec
    feedback: FeedbackName
    order: OrderName
    max_steps: int | None
    engine: EngineName
    cell_id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cell_id", _content_hash(self))

    @property
    def problem(self) -> Instance:
        """The instance, with the items in the order of the config."""
        return Instance(self.weights, self.K, self.epsilon)

    @property
    def names(self) -> str:
        """Instance and learner in words."""
        return f"instance '{self.instance}' with learner '{self.learner}'"

    @property
    def label(self) -> str:
        """The whole cell in words."""
        return f"{self.instance}, {self.learner}: {self.point}"

    @property
    def point(self) -> str:
        """The numbers of the grid in words."""
        return f"L = {self.L}, K = {self.K}, delta = {self.delta:g}, epsilon = {self.epsilon:g}"


def cells_of(study: Study) -> list[Cell]:
    """All cells, in the order instance, learner, L, K, delta, epsilon.

    Raises:
        GridError: if a point of the grid is not a valid problem, or two points have the same content.
    """
    cells = [cell for i in range(len(study.instances)) for cell in _cells_of_instance(study, i)]
    _refuse_twins(study, cells)
    return cells


def _cells_of_instance(study: Study, i: int) -> Iterator[Cell]:
    entry = study.instances[i]
    _check_number(study, entry, i)
    points = list(_points(study, entry, i))
    deltas, epsilons = entry.delta or study.delta, entry.epsilon or study.epsilon
    for (K, items), epsilon in product(points, epsilons):
        _check_problem(entry, items, K, epsilon, i)
    for learner, (K, items), delta, epsilon in product(study.learners, points, deltas, epsilons):
        yield _cell(study, entry.name, learner, (K, items), delta, epsilon)


def _check_number(study: Study, entry: InstanceEntry, i: int) -> None:
    L, K = _sizes(study, entry, "L", i), _sizes(study, entry, "K", i)
    axes: list[Sized] = [L, K, study.learners, entry.delta or study.delta, entry.epsilon or study.epsilon]
    for number, most, what in (
        (prod(map(len, axes)), MOST_POINTS, "cells"),
        (sum(L) * len(K), MOST_WEIGHTS, "weights"),
    ):
        if number > most:
            raise GridError(f"'{entry.name}' makes {number} {what}; make {most} or fewer", "instances", i)


def _points(study: Study, entry: InstanceEntry, i: int) -> Iterator[tuple[int, Items]]:
    """`K` and the items at each combination of `L` and `K`."""
    for L, K in product(_sizes(study, entry, "L", i), _sizes(study, entry, "K", i)):
        if entry.needs_L:
            _check_K(study, entry, K, L, i)
        try:
            items = entry.items(L, K, study.folder)
        except GridError as error:
            raise GridError(str(error), "instances", i, *error.at) from None
        except ConfigError as error:
            raise GridError(f"'{entry.name}': {error}", "instances", i) from None
        _check_K(study, entry, K, len(items.weights), i)
        yield K, items


def _sizes(study: Study, entry: InstanceEntry, key: str, i: int) -> tuple[int, ...]:
    if key == "L" and not entry.needs_L:
        return (0,)
    sizes: tuple[int, ...] | None = getattr(entry, key, None) or getattr(study, key)
    if sizes is None:
        raise GridError(f"'{entry.name}' has no {key}; write {key} in the instance or at the top", "instances", i)
    return sizes


def _check_K(study: Study, entry: InstanceEntry, K: int, L: int, i: int) -> None:
    if K >= L:
        at: KeyPath = ("instances", i, "K") if entry.K else ("K",)
        raise GridError(f"{K} is not less than L = {L} of '{entry.name}'; choose a smaller K or more items", *at)


def _check_problem(entry: InstanceEntry, items: Items, K: int, epsilon: float, i: int) -> None:
    try:
        Instance(items.weights, K, epsilon)
    except ConfigError as error:
        raise GridError(f"'{entry.name}': {error}", "instances", i) from None


def _cell(
    study: Study, instance: str, learner: LearnerEntry, point: tuple[int, Items], delta: float, epsilon: float
) -> Cell:
    K, items = point
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
    )


def _content_hash(cell: Cell) -> str:
    # -0.0 is the same problem as 0.0, with other bytes
    weights = (cell.weights + 0.0).astype("<f8")
    content = {
        "weights": hashlib.sha256(weights.tobytes()).hexdigest(),
        "K": cell.K,
        "delta": cell.delta,
        "epsilon": cell.epsilon + 0.0,
        "algorithm": cell.spec.algorithm,
        "options": non_default_options(cell.spec.algorithm, cell.spec.options),
        "feedback": cell.feedback,
        "order": cell.order,
        "max_steps": cell.max_steps,
    }
    if is_plugin(cell.spec.algorithm):
        content["code"] = plugin_code(cell.spec.algorithm)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _refuse_twins(study: Study, cells: list[Cell]) -> None:
    first: dict[str, Cell] = {}
    for cell in cells:
        twin = first.setdefault(cell.cell_id, cell)
        if twin is not cell:
            raise GridError(
                f"{cell.names} at {cell.point} repeats {twin.names}; leave one of them out",
                *_place(study, cell, twin),
            )


def _place(study: Study, cell: Cell, twin: Cell) -> KeyPath:
    """The learner that repeats another one, or else the instance."""
    if cell.instance == twin.instance:
        return ("learners", [entry.name for entry in study.learners].index(cell.learner))
    return ("instances", [entry.name for entry in study.instances].index(cell.instance))
