"""The table of docs/calibration.md: every key of `plan.json`, from the model."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from cascadebai_cli.planning import answer
from cascadebai_cli.planning.answer import PlanFile
from experiments.markdown import table


def keys() -> str:
    """Keys, those inside of one after a dot."""
    return table(["key", "what it holds"], list(_rows(PlanFile, "")))


def _rows(model: type[BaseModel], above: str) -> Iterator[list[str]]:
    for name, field in model.model_fields.items():
        key = f"{above}{field.alias or name}"
        yield [f"`{key}`", str(field.description)]
        for part in _parts(field.annotation):
            yield from _rows(part, f"{key}.")


def _parts(annotation: Any) -> Iterator[type[BaseModel]]:
    """Models of ours with descriptions in an annotation; ranges and intervals explain themselves."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation not in (answer.Range, answer.Interval):
            yield annotation
        return
    for part in get_args(annotation):
        yield from _parts(part)


BLOCKS: Mapping[str, Callable[[], str]] = {"plan-keys": keys}
