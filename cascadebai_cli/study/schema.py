"""JSON schema of a config, made from the models that validate it.

It accepts everything that they accept, but does not know what depends on several keys together. An entry with
`{option}` in its name may list the values of that option.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from cascadebai_cli.learners.registry import ALGORITHMS
from cascadebai_cli.study.document import read_value
from cascadebai_cli.study.fields import RANGE
from cascadebai_cli.study.instances import Own
from cascadebai_cli.study.learners import (
    LEARNER_OPTIONS,
    LearnerEntry,
    LearnerOption,
    adapter_of,
    default_options,
    options_of,
)
from cascadebai_cli.study.study import Study

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
_RANGE = "Range"


class _Plain(GenerateJsonSchema):
    """A generator that leaves out the titles of keys, which only repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema_of(model: type[BaseModel], title: str) -> Schema:
    """Return the JSON schema of a model."""
    return {"$schema": _DIALECT, **model.model_json_schema(schema_generator=_Plain), "title": title}


def config_schema() -> Schema:
    """Return the JSON schema of a config."""
    schema = schema_of(Study, "A study of cascadebai")
    definitions = schema["$defs"]
    definitions[_RANGE] = RANGE
    schema["required"].remove("study")  # by default the name of the file
    learner = definitions.pop(LearnerEntry.__name__)
    definitions.update({name: _learner(learner, name) for name in ALGORITHMS})
    definitions["module:Class"] = _own(learner, "algorithm")
    definitions["module:function"] = _own(definitions.pop(Own.__name__), "family")
    _choose(schema["properties"]["instances"]["items"], {Own.__name__: "module:function"})
    schema["properties"]["learners"]["items"] = {"anyOf": [_ref(name) for name in (*ALGORITHMS, "module:Class")]}
    for name in _entries(schema):
        definitions[name] = _spread(name, definitions[name])
    read: Schema = _with_examples(schema)
    return read


def _explained(option: str) -> LearnerOption:
    if option not in LEARNER_OPTIONS:
        raise LookupError(f"{option}: this option of a learner has no entry in LEARNER_OPTIONS of study/learners.py")
    return LEARNER_OPTIONS[option]


def learner_options(algorithm: str) -> Mapping[str, Schema]:
    """Return the options of an algorithm of this program: name -> JSON schema."""
    defaults = default_options(algorithm)
    return {
        name: {
            **adapter_of(parameter).json_schema(),
            **({"default": defaults[name]} if name in defaults else {}),
            "description": _explained(name).meaning,
            "examples": [_explained(name).example],
        }
        for name, parameter in options_of(algorithm).items()
    }


def _ref(name: str) -> Schema:
    """Return a reference to a definition, or to a part of one."""
    return {"$ref": f"#/$defs/{name}"}


def _learner(entry: Schema, algorithm: str) -> Schema:
    """Return the schema of an entry with one algorithm and its options."""
    chosen = {**entry["properties"]["algorithm"], "const": algorithm}
    properties = {**entry["properties"], "algorithm": chosen, **learner_options(algorithm)}
    return {**entry, "properties": properties, "additionalProperties": False}


def _own(entry: Schema, chooser: str) -> Schema:
    """Return the schema of an entry that names a user's code, or lists several; its options are not known here."""
    one = {**entry["properties"][chooser], "pattern": ":"}
    meaning = {key: one.pop(key) for key in ("description", "examples")}
    several = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    properties = {**entry["properties"], chooser: {"anyOf": [one, several], **meaning}}
    return {**entry, "properties": properties, "additionalProperties": True}


def _choose(union: Schema, renamed: Mapping[str, str]) -> None:
    """Rename the references of a union, and make it an `anyOf`, which editors handle better than `oneOf`."""
    names = [part["$ref"].rpartition("/")[2] for part in union.pop("oneOf")]
    union["anyOf"] = [_ref(renamed.get(name, name)) for name in names]


def _entries(schema: Schema) -> Iterator[str]:
    """Yield the names of the definitions of instances and learners."""
    for key in ("instances", "learners"):
        for part in schema["properties"][key]["items"]["anyOf"]:
            yield part["$ref"].rpartition("/")[2]


_OUTSIDE = ("description", "default", "examples")


def _spread(name: str, entry: Schema) -> Schema:
    """Return the schema of an entry in which a key may be a list only if the name has its place, `{key}`."""
    keys = [key for key in entry["properties"] if key != "name"]
    listed = {key: _one_or_several(entry["properties"][key], _place_of(name, key)) for key in keys}
    only = [_only_with_place(key, _place_of(name, key)) for key in keys]
    return {**entry, "properties": {**entry["properties"], **listed}, "allOf": only}


def _place_of(name: str, key: str) -> Schema:
    """Return a reference to one value of a key, where `_one_or_several` puts it."""
    return _ref(f"{name}/properties/{key}/anyOf/0")


def _one_or_several(key: Schema, one: Schema) -> Schema:
    value = {part: content for part, content in key.items() if part not in _OUTSIDE}
    several = {"type": "array", "items": one, "minItems": 1}
    return {"anyOf": [value, several, _ref(_RANGE)], **{part: key[part] for part in _OUTSIDE if part in key}}


def _only_with_place(key: str, one: Schema) -> Schema:
    """Return the condition that a key has one value, unless the name has `{key}`."""
    place = {"properties": {"name": {"pattern": rf"\{{{key}\}}"}}}
    return {"if": place, "else": {"properties": {key: one}}}


def _with_examples(node: Any) -> Any:
    """Return a schema with its examples as values instead of text."""
    if isinstance(node, list):
        return [_with_examples(part) for part in node]
    if not isinstance(node, dict):
        return node
    return {
        key: list(map(read_value, part)) if key == "examples" and isinstance(part, list) else _with_examples(part)
        for key, part in node.items()
    }
