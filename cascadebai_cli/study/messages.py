"""Mistakes in a config as plain sentences: what pydantic found, in the words of a user."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from cascadebai_cli.errors import suggest
from cascadebai_cli.study.document import KeyPath
from cascadebai_cli.text.clean import for_table

NUMBER, RULE = "number", "rule"
"""Tags of a number, and of what may stand in its place."""


def mistake(text: str, *at: str | int) -> PydanticCustomError:
    """An error to raise in a validator: a whole sentence, about the value or about what lies `at` inside it."""
    return PydanticCustomError("mistake", "{text}", {"text": text, "at": at})


def within(error: PydanticCustomError, *at: str | int) -> PydanticCustomError:
    """The same mistake, seen from outside of what lies `at`."""
    context = error.context or {}
    return mistake(context["text"], *at, *context["at"])


def mistakes(error: ValidationError, data: Any) -> list[tuple[KeyPath, str]]:
    """Key path and sentence of each mistake that pydantic found in `data`."""
    return [(_path_of(e, data), sentence(e)) for e in error.errors(include_url=False)]


def sentence(error: ErrorDetails) -> str:
    """Value and remedy of one error."""
    value, bounds = error["input"], error.get("ctx", {})
    if error["type"] in _SENTENCES:
        return _SENTENCES[error["type"]](value, bounds)
    return f"{show(value)} is not valid; {error['msg'][:1].lower()}{error['msg'][1:]}"


def _path_of(error: ErrorDetails, data: Any) -> KeyPath:
    """Keys from the top of `data` to the mistake, without the tags by which pydantic names a family or a type."""
    path: list[str | int] = []
    for part in error["loc"]:
        if isinstance(data, Mapping) and part not in data and _is_tag(part, data.get("family")):
            continue
        if isinstance(part, str) and (data is None or isinstance(data, str | float | int)):
            continue
        path.append(part)
        data = _inside(data, part)
    return (*path, *_further(error))


def _is_tag(tag: object, family: object) -> bool:
    """Whether a part of a path is none of the config; a family of one's own has a colon as its tag has."""
    return tag in (NUMBER, RULE, family) or (
        isinstance(tag, str) and ":" in tag and isinstance(family, str) and ":" in family
    )


def show(value: object) -> str:
    """A value as it stands in the config, shortened."""
    if value is None:
        return "none"
    text = for_table(f"'{value}'") if isinstance(value, str) else _as_json(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, default=str)
    except RecursionError:
        return "something nested deeply"


def _inside(data: Any, part: str | int) -> Any:
    try:
        return data[part]
    except (KeyError, IndexError, TypeError):
        return None


def _further(error: ErrorDetails) -> KeyPath:
    if error["type"] == "mistake":
        return tuple(error["ctx"]["at"])
    if error["type"].startswith("union_tag") and isinstance(error["input"], dict):
        return ("family",)
    return ()


def _one_of(value: object, quoted: str) -> str:
    valid = re.findall(r"'([^']*)'", quoted)
    return f"{show(value)} is not known; {suggest(str(value), valid)}"


def _no_family(value: object, _: Mapping[str, Any]) -> str:
    if isinstance(value, dict):
        return "missing; write family: two_level, linear, explicit, csv, formula, random or module:function"
    return _not_a_mapping(value, {})


def _not_a_mapping(value: object, _: Mapping[str, Any]) -> str:
    return f"{show(value)} is not a mapping; write keys and values"


def _plain(number: float) -> str:
    return f"{number:.12g}" if isinstance(number, float) else str(number)


def _not_whole(value: object, _: Mapping[str, Any]) -> str:
    whole = isinstance(value, float) and value.is_integer()
    remedy = f"{value:.0f}" if whole else "one without quotes or decimals"
    return f"{show(value)} is not a whole number; write {remedy}"


_SENTENCES: dict[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "mistake": lambda _, c: str(c["text"]),
    "value_error": lambda _, c: str(c["error"]),
    "missing": lambda _, c: "missing; add this key",
    "model_type": _not_a_mapping,
    "model_attributes_type": _not_a_mapping,
    "int_type": _not_whole,
    "int_from_float": _not_whole,
    "float_type": lambda v, _: f"{show(v)} is not a number; write one such as 0.1",
    "finite_number": lambda v, _: f"{show(v)} is not finite; write a number such as 0.1",
    "bool_type": lambda v, _: f"{show(v)} is not true or false; write one of them",
    "string_type": lambda v, _: f"{show(v)} is not text; put it in quotes",
    "string_too_short": lambda v, _: "the text is empty; write some",
    "tuple_type": lambda v, _: f"{show(v)} is not a list; write [...] or lines that start with a dash",
    "greater_than": lambda v, c: f"{show(v)} is too small; write a value larger than {c['gt']:g}",
    "greater_than_equal": lambda v, c: f"{show(v)} is too small; write {c['ge']:g} or more",
    "less_than": lambda v, c: f"{show(v)} is too large; write a value less than {c['lt']:g}",
    "less_than_equal": lambda v, c: f"{show(v)} is too large; write {_plain(c['le'])} or less",
    "literal_error": lambda v, c: _one_of(v, c["expected"]),
    "union_tag_invalid": lambda v, c: _one_of(v["family"], c["expected_tags"]),
    "union_tag_not_found": _no_family,
}
