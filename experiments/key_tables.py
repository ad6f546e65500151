"""Tables of the documents that are made from the models: keys of configs, columns of results, keys of `plan.json`."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, get_args

from pydantic import BaseModel

from cascadebai_cli.learners.registry import ALGORITHMS
from cascadebai_cli.model.users import USERS
from cascadebai_cli.options import Option, record_options
from cascadebai_cli.planning.files import PlanFile
from cascadebai_cli.store.columns import TABLES, TIMES_CSV
from cascadebai_cli.store.manifest import Manifest
from cascadebai_cli.study.cells import learner_options
from cascadebai_cli.study.instances import SizedEntry
from cascadebai_cli.study.study import Study
from cascadebai_cli.workflows.init import schema_of
from experiments.markdown import table

# --- docs/configs.md: every key of a config with type, default, meaning and example ---------------------------------

HEADER = ["key", "what it may be", "if left out", "meaning", "example"]
FAMILIES = ("TwoLevel", "Linear", "Explicit", "Csv", "ByFormula", "Random", "Own")
MANY = 10**9
"""Limits from here on are no more than what can be counted."""


def _definitions() -> Mapping[str, dict[str, Any]]:
    schema = schema_of(Study, "")
    return {"Study": schema, **schema["$defs"]}


def keys_of(model: str) -> str:
    """The keys of a model of a config."""
    found = _definitions()[model]
    return _table(found["properties"], set(found["required"]) - {"study"} if "required" in found else set())


def instance_keys() -> str:
    """The keys that all instances have."""
    properties = _definitions()["TwoLevel"]["properties"]
    return _table({key: properties[key] for key in SizedEntry.model_fields}, {"name"})


def family_keys() -> str:
    """The keys of each family beyond these."""
    rows = []
    for model in FAMILIES:
        found = _definitions()[model]
        own = {key: value for key, value in found["properties"].items() if key not in SizedEntry.model_fields}
        family = own.pop("family")
        name = family.get("const") or "module:function"
        rows += [[f"`{name}`", *row] for row in _rows(own, set(found["required"]))] or [[f"`{name}`", *_function()]]
    return table(["family", *HEADER], _once(rows))


def _function() -> list[str]:
    return ["its own", "what the function takes", "as the function says", "Options of a function of your own.", ""]


def learner_keys() -> str:
    """The options of each algorithm."""
    rows = []
    for algorithm in ALGORITHMS:
        rows += [[f"`{algorithm}`", *row] for row in _rows(learner_options(algorithm), set())]
    return table(["algorithm", *HEADER], _once(rows))


def users_keys() -> str:
    """The keys of each kind of users."""
    properties = _definitions()["UsersEntry"]["anyOf"][0]["properties"]
    rows = [
        [f"`{kind}`", *_users_row(one, properties[one.name])] for kind in USERS for one in record_options(USERS[kind])
    ]
    return table(["kind", *HEADER], _once(rows))


def _users_row(one: Option, schema: dict[str, Any]) -> list[str]:
    (row,) = _rows({one.name: schema}, set())
    return [row[0], row[1], f"`{one.default:g}`" if isinstance(one.default, float) else f"`{one.default}`", *row[3:]]


def _once(rows: list[list[str]]) -> list[list[str]]:
    """Rows with the first column where it changes."""
    return [[row[0] if i == 0 or rows[i - 1][0] != row[0] else "", *row[1:]] for i, row in enumerate(rows)]


def _table(properties: Mapping[str, dict[str, Any]], required: set[str]) -> str:
    return table(HEADER, list(_rows(properties, required)))


def _rows(properties: Mapping[str, dict[str, Any]], required: set[str]) -> Iterator[list[str]]:
    for key, schema in properties.items():
        examples = "<br>".join(f"`{text}`" for text in schema.get("examples", ()))
        default = "" if key in required else _default(key, schema.get("default"))
        yield [f"`{key}`", _words(schema), default or "needed", schema["description"], examples]


def _default(key: str, value: Any) -> str:
    if key == "study":
        return "name of the file"
    if key == "learners" and value:
        return "Algorithm 1"
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, dict):
        return "as its keys"
    return f"`{json.dumps(value[0] if isinstance(value, list) and len(value) == 1 else value)}`".replace('"', "")


def _words(schema: dict[str, Any]) -> str:
    """What a schema allows, in words."""
    parts = schema.get("anyOf") or schema.get("oneOf")
    if parts and [part.get("type") for part in parts] == ["number", "string"]:
        return "number, or formula"
    if parts:
        said = [
            "a list of them" if part.get("type") == "array" and i else _words(part)
            for i, part in enumerate(parts)
            if part.get("type") != "null"
        ]
        return ", or ".join(dict.fromkeys(said))
    if "$ref" in schema:
        return "keys, see below"
    if "title" in schema:
        return f"`{schema['title']}`"
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    return _PLAIN[schema.get("type", "")](schema)


def _number(kind: str) -> Callable[[dict[str, Any]], str]:
    def words(schema: dict[str, Any]) -> str:
        limits = [
            text.format(f"{schema[key]:,.10g}")
            for key, text in _LIMITS.items()
            if key in schema and abs(schema[key]) < MANY
        ]
        return " ".join([kind, *limits])

    return words


def _list(schema: dict[str, Any]) -> str:
    items = schema.get("items") or {}
    simple = items.get("type") in (*_SIMPLE, "array") or _words(items) == "number, or formula"
    return f"a list, each: {_words(items)}" if simple else "a list of entries, see below"


_LIMITS = {"minimum": "from {}", "exclusiveMinimum": "above {}", "maximum": "to {}", "exclusiveMaximum": "to below {}"}
_SIMPLE = ("integer", "number", "string")
_PLAIN: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "integer": _number("whole number"),
    "number": _number("number"),
    "string": lambda _: "text",
    "boolean": lambda _: "`true`, `false`",
    "array": _list,
    "object": lambda _: "keys and values",
    "": lambda _: "anything",
}


# --- docs/results.md: every column of every file --------------------------------------------------------------------

TYPES = {str: "text", int: "whole number", float: "number", bool: "1 or 0"}
WHEN = {
    "budget": "with a budget",
    "steps": "without a budget",
    "sharp": "with `--sharp`",
    "factor": "with `--factor`",
    "published": "if the config has published values",
    "axis": "if the axis is not `K`",
    "capped": "with `--allow-capped`",
    "aim": "if `trials` is a rule",
    "paired": "with `paired: true`",
}
"""Word for when a table has a column -> the same for readers."""
FILES = [name for name in TABLES if name != TIMES_CSV]
"""Tables of a sweep; `times.csv` is in references only."""


def files() -> str:
    """What one row of each table is."""
    return table(["file", "one row"], [[f"`{name}`", TABLES[name].row] for name in FILES])


def columns_of(file: str) -> str:
    """The columns of a table."""
    columns = TABLES[file].columns
    header, rows = ["column", "type", "what it holds"], [[f"`{c.name}`", TYPES[c.type], c.meaning] for c in columns]
    if not any(column.when for column in columns):
        return table(header, rows)
    only = [WHEN.get(column.when, "") for column in columns]
    return table([*header, "only"], [[*row, when] for row, when in zip(rows, only, strict=True)])


def manifest() -> str:
    """The keys of `manifest.json`."""
    rows = [[f"`{name}`", str(key.description)] for name, key in Manifest.model_fields.items()]
    return table(["key", "what it holds"], rows)


# --- docs/calibration.md: every key of `plan.json` ------------------------------------------------------------------


def plan_keys() -> str:
    """Keys, those inside of one after a dot."""
    return table(["key", "what it holds"], list(_plan_rows(PlanFile, "")))


def _plan_rows(model: type[BaseModel], above: str) -> Iterator[list[str]]:
    for name, field in model.model_fields.items():
        key = f"{above}{field.alias or name}"
        yield [f"`{key}`", str(field.description)]
        for part in _plan_parts(field.annotation):
            yield from _plan_rows(part, f"{key}.")


def _plan_parts(annotation: Any) -> Iterator[type[BaseModel]]:
    """Models of ours with descriptions in an annotation; ranges and intervals explain themselves."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if any(field.description for field in annotation.model_fields.values()):
            yield annotation
        return
    for part in get_args(annotation):
        yield from _plan_parts(part)


BLOCKS: Mapping[str, Callable[[], str]] = {
    "config-study": lambda: keys_of("Study"),
    "config-trials": lambda: keys_of("Enough"),
    "config-zip": lambda: keys_of("Zip"),
    "config-rewards": lambda: keys_of("Rewards"),
    "config-instance": instance_keys,
    "config-families": family_keys,
    "config-learner": lambda: keys_of("LearnerEntry"),
    "config-options": learner_keys,
    "config-users": users_keys,
    "config-fit": lambda: keys_of("Fit"),
    "config-coefficients": lambda: keys_of("Coefficients"),
    "config-plot": lambda: keys_of("Plot"),
    "results-files": files,
    "results-manifest": manifest,
    **{f"results-{name.removesuffix('.csv')}": partial(columns_of, name) for name in FILES},
    "plan-keys": plan_keys,
}
