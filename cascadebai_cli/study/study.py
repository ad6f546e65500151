"""A study: what a config file says, checked. The grid it spans is made by `cells`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, PrivateAttr, model_validator

from cascadebai_cli.engines.simulate import EngineName
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.registry import ALGORITHMS, LearnerSpec, find_algorithm
from cascadebai_cli.nearest import suggest
from cascadebai_cli.study.fields import (
    MOST_TRIALS,
    Entry,
    FileName,
    List,
    Risks,
    Sizes,
    Text,
    Tolerances,
    not_empty,
)
from cascadebai_cli.study.instances import AnyInstance
from cascadebai_cli.study.messages import mistake, show
from cascadebai_cli.study.options import checked_options, options_of

FeedbackName = Literal["cascading", "semi-bandit"]
OrderName = Literal["random", "as_given"]


def _algorithm(name: str) -> str:
    try:
        known = find_algorithm(name) is not None
    except ConfigError as error:
        raise mistake(str(error)) from None
    if not known:
        raise mistake(f"{show(name)} is not known; {suggest(name, ALGORITHMS)}")
    return name


def _known_algorithm(data: Any) -> str | None:
    name = data.get("algorithm") if isinstance(data, dict) else None
    try:
        return name if isinstance(name, str) and find_algorithm(name) else None
    except ConfigError:
        return None


class LearnerEntry(Entry):
    """An algorithm under a name; the keys beyond these are the options of the algorithm."""

    model_config = ConfigDict(extra="allow")

    name: Text
    algorithm: Annotated[str, AfterValidator(_algorithm)]
    feedback: FeedbackName | None = None

    @classmethod
    def known_keys(cls, data: dict[str, Any]) -> list[str]:
        """The fields and the options of the algorithm; anything, while the algorithm is not known."""
        algorithm = _known_algorithm(data)
        return [*cls.model_fields, *options_of(algorithm)] if algorithm else list(data)

    @model_validator(mode="before")
    @classmethod
    def _check_options(cls, data: Any) -> Any:
        algorithm = _known_algorithm(data)
        if algorithm is None:
            return data
        known = options_of(algorithm)
        return {**data, **checked_options(algorithm, {k: v for k, v in data.items() if k in known})}

    @property
    def spec(self) -> LearnerSpec:
        """The learner with its options."""
        return LearnerSpec(self.algorithm, dict(self.model_extra or {}))


class Plot(Entry):
    """How the results are drawn."""

    kind: Literal["scaling", "curves", "bars"] = "scaling"


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
        order: whether each trial meets the items in an order of its own.
        max_steps: cap on the steps of a trial.
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
    instances: Annotated[tuple[AnyInstance, ...], List, AfterValidator(not_empty), AfterValidator(_distinct_names)]
    learners: Annotated[tuple[LearnerEntry, ...], List, AfterValidator(not_empty), AfterValidator(_distinct_names)] = (
        LearnerEntry(name="CascadeBAI", algorithm="cascadebai"),
    )
    plot: Plot = Plot()

    _folder: Path = PrivateAttr(default=Path())

    @property
    def folder(self) -> Path:
        """Folder of the config, from which the paths in it count; not part of the study's content."""
        return self._folder
