"""Options of a learner, read from its signature, so that a new learner needs no change here."""

import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cascadebai_cli.learners.registry import find_algorithm
from cascadebai_cli.study.messages import mistake, sentence

_OF_THE_GRID = ("L", "K", "delta", "epsilon")
_POSITIVE = ("sigma",)
_LARGEST = 1000
"""Of a positive option: beyond it a run would take more steps than a number can count."""
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def options_of(algorithm: str) -> Mapping[str, inspect.Parameter]:
    """Parameters of an algorithm beyond those that the grid sets; none for an unknown algorithm."""
    made = find_algorithm(algorithm)
    if made is None:
        return {}
    parameters = inspect.signature(made, eval_str=True).parameters
    return {k: p for k, p in parameters.items() if k not in _OF_THE_GRID and p.kind in _NAMED}


def checked_options(algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the annotations of the algorithm want them (`1` becomes `1.0` for a float).

    Raises:
        PydanticCustomError: if a value has the wrong type or range, or a required option is missing.
    """
    known = options_of(algorithm)
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in given:
            raise mistake(f"missing; {algorithm} needs this option", name)
    return {name: _checked(known[name], value) for name, value in given.items()}


def non_default_options(algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options that differ from their default: what makes a cell another one."""
    known = options_of(algorithm)
    return {name: value for name, value in given.items() if value != known[name].default}


def _checked(parameter: inspect.Parameter, value: Any) -> Any:
    annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
    adapter = TypeAdapter(annotation, config=ConfigDict(strict=True, allow_inf_nan=False))
    try:
        checked = adapter.validate_python(value)
    except ValidationError as error:
        raise mistake(sentence(error.errors()[0]), parameter.name) from None
    if parameter.name in _POSITIVE and checked <= 0:
        raise mistake(f"{value} is too small; write a value larger than 0", parameter.name)
    if parameter.name in _POSITIVE and checked > _LARGEST:
        raise mistake(f"{value} is too large; write {_LARGEST} or less", parameter.name)
    return checked
