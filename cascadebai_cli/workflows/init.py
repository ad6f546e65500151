"""The verbs `init` and `schema`."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from cascadebai_cli.errors import CascadeError, ConfigError, of_removed_folder
from cascadebai_cli.learners.registry import ALGORITHMS
from cascadebai_cli.logs.read import rates_in, read_sheet
from cascadebai_cli.logs.sheet import Sheet, floats_of, marks_of
from cascadebai_cli.planning.files import PlanFile
from cascadebai_cli.store.manifest import Manifest
from cascadebai_cli.study.cells import LearnerEntry, learner_options
from cascadebai_cli.study.document import read_value
from cascadebai_cli.study.fields import RANGE, is_one_line, show
from cascadebai_cli.study.instances import Csv, Own, TwoLevel
from cascadebai_cli.study.study import Study
from cascadebai_cli.text import count, for_shell

# --- Guessing which columns of a user's file are items, clicks and views, or rates ----------------------------------

_CLICKS = re.compile(r"click|success|hit|conver|funny|like", re.IGNORECASE)
_VIEWS = re.compile(r"view|impression|shown|serve|rating|trial|total", re.IGNORECASE)
_RATE = re.compile(r"rate|ctr|prob|weight", re.IGNORECASE)
_ITEM = re.compile(r"item|name|id$|^id|title|ad$|^ad", re.IGNORECASE)
_MOST_GUESSED = 1_000
"""Largest number of columns of a file whose columns are guessed."""


def _guessed(sheet: Sheet) -> dict[str, str]:
    """Return the columns that fit best by their names and values, as keys of a config."""
    table = sheet.rows[[name for name in sheet.header if name and is_one_line(name) and sheet.header.count(name) == 1]]
    table = table.apply(lambda texts: texts.str.strip())
    numbers = table.apply(floats_of).dropna(axis=1)
    item = _item(table)
    marks = [str(name) for name in table if not _RATE.search(name) and _holds_marks(table[name])]
    clicked = [name for name in marks if _CLICKS.search(name)]
    if not (item and any(_VIEWS.search(name) for name in numbers if name != item)):
        _refuse_events(sheet, clicked)
    counts = numbers[[name for name in numbers if name != item and (numbers[name] >= 0).all()]]
    rates = [name for name in counts if (counts[name] <= 1).all() and name not in marks]
    pair = _pair(counts[[name for name in counts if name not in rates and (name not in marks or name in clicked)]])
    named = {"item": item} if item else {}
    rate = next((name for name in rates if _RATE.search(name)), rates[0] if rates else None)
    if not _CLICKS.search(pair[0]) if pair else rate is None:
        pair = _pair_by_name([name for name in numbers if name != item]) or pair
    if pair:
        return {**named, "clicks": pair[0], "views": pair[1]}
    if rate is None:
        _refuse_events(sheet, marks)
        raise ConfigError(
            f"{sheet.name}: no two columns can be clicks and views, and none a rate"
            f"{_unread(table, [name for name in table if name not in numbers and name != item])}; "
            "give a file with one row for each item and such columns"
        )
    return {**named, "rate": rate}


def _refuse_events(sheet: Sheet, marks: Sequence[str]) -> None:
    """Refuse a log with one row for each event or page view, by its columns that hold a mark in each row."""
    if marks:
        wide = len(marks) == len(sheet.header)
        raise ConfigError(
            f"{sheet.name}: column {show(marks[0])} holds only 0 and 1, as in a log with one row for each "
            f"{'page view' if wide else 'event'}; give a file with one row for each item, or ask `cascadebai plan` "
            f"with --{'wide' if wide else 'event'}, which reads such logs"
        )


def _unread(table: pd.DataFrame, columns: Sequence[str]) -> str:
    """Return the first value that keeps a column whose name fits from being read, with its line; empty if none does."""
    for name in columns:
        if any(kind.search(name) for kind in (_CLICKS, _VIEWS, _RATE)):
            wrong = table[name][floats_of(table[name]).isna()]
            return f" (line {wrong.index[0]}: {name} {show(wrong.iloc[0])} is not a number such as 1200 or 0.5)"
    return ""


def _holds_marks(texts: "pd.Series[str]") -> bool:
    """Return whether a column holds both marks, of a click and of none, and nothing else."""
    marks = marks_of(texts)
    return bool((marks.notna() | (texts == "")).all() and marks.nunique() == 2)


def _item(table: pd.DataFrame) -> str | None:
    """Return a column of items, with all values there and different: the first with a fitting name, else of words."""
    distinct = [str(name) for name in table if (table[name] != "").all() and table[name].is_unique]
    words = [name for name in distinct if floats_of(table[name]).isna().any()]
    return next((name for name in distinct if _ITEM.search(name)), words[0] if words else None)


def _pair(counts: pd.DataFrame) -> tuple[str, str] | None:
    """Return columns of clicks and of views, with at least as many views as clicks in each row."""
    by_total = counts.sum().sort_values(ascending=False).index
    for views in sorted(map(str, by_total), key=lambda name: not _VIEWS.search(name)):
        fits = counts.le(counts[views], axis=0).all()
        fitting = [name for name in map(str, counts) if name != views and fits[name]]
        if fitting and (counts[views] > 0).all():
            return next((name for name in fitting if _CLICKS.search(name)), fitting[0]), views
    return None


def _pair_by_name(columns: Sequence[str]) -> tuple[str, str] | None:
    """Return columns that are named as clicks and as views, whatever is in them, so that their faults can be told."""
    clicks, views = (
        [name for name in columns if kind.search(name) and not other.search(name) and not _RATE.search(name)]
        for kind, other in ((_CLICKS, _VIEWS), (_VIEWS, _CLICKS))
    )
    return (clicks[0], views[0]) if clicks and views else None


def _clearest_K(weights: np.ndarray, most: int = 10) -> int:
    """Return the number of best items, at most `most`, that the largest gap separates from the others."""
    gaps = -np.diff(np.sort(weights)[::-1])[:most]
    if gaps.max() <= 0:
        raise ConfigError("the best items have the same rate; there is no set of them to find")
    return int(gaps.argmax()) + 1


# --- JSON schemas of what the program reads and writes, made from the models that validate it -----------------------
#
# The schema of a config accepts everything that its models accept, but does not know what depends on several keys
# together. An entry with `{option}` in its name may list the values of that option.

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_Schema = dict[str, Any]
_RANGE = "Range"


class _Plain(GenerateJsonSchema):
    """A generator that leaves out the titles of keys, which only repeat their names."""

    def normalize_name(self, name: str) -> str:
        """Return the name of a model in the schema, without the sign that it has in the module alone."""
        return super().normalize_name(name).lstrip("_")

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema_of(model: type[BaseModel], title: str) -> _Schema:
    """Return the JSON schema of a model."""
    return {"$schema": _DIALECT, **model.model_json_schema(schema_generator=_Plain), "title": title}


def _config_schema() -> _Schema:
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
    read: _Schema = _with_examples(schema)
    return read


def _ref(name: str) -> _Schema:
    """Return a reference to a definition, or to a part of one."""
    return {"$ref": f"#/$defs/{name}"}


def _learner(entry: _Schema, algorithm: str) -> _Schema:
    """Return the schema of an entry with one algorithm and its options."""
    chosen = {**entry["properties"]["algorithm"], "const": algorithm}
    properties = {**entry["properties"], "algorithm": chosen, **learner_options(algorithm)}
    return {**entry, "properties": properties, "additionalProperties": False}


def _own(entry: _Schema, chooser: str) -> _Schema:
    """Return the schema of an entry that names a user's code, or lists several; its options are not known here."""
    one = {**entry["properties"][chooser], "pattern": ":"}
    meaning = {key: one.pop(key) for key in ("description", "examples")}
    several = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    properties = {**entry["properties"], chooser: {"anyOf": [one, several], **meaning}}
    return {**entry, "properties": properties, "additionalProperties": True}


def _choose(union: _Schema, renamed: Mapping[str, str]) -> None:
    """Rename the references of a union, and make it an `anyOf`, which editors handle better than `oneOf`."""
    names = [part["$ref"].rpartition("/")[2] for part in union.pop("oneOf")]
    union["anyOf"] = [_ref(renamed.get(name, name)) for name in names]


def _entries(schema: _Schema) -> Iterator[str]:
    """Yield the names of the definitions of instances and learners."""
    for key in ("instances", "learners"):
        for part in schema["properties"][key]["items"]["anyOf"]:
            yield part["$ref"].rpartition("/")[2]


_OUTSIDE = ("description", "default", "examples")


def _spread(name: str, entry: _Schema) -> _Schema:
    """Return the schema of an entry in which a key may be a list only if the name has its place, `{key}`."""
    keys = [key for key in entry["properties"] if key != "name"]
    listed = {key: _one_or_several(entry["properties"][key], _place_of(name, key)) for key in keys}
    only = [_only_with_place(key, _place_of(name, key)) for key in keys]
    return {**entry, "properties": {**entry["properties"], **listed}, "allOf": only}


def _place_of(name: str, key: str) -> _Schema:
    """Return a reference to one value of a key, where `_one_or_several` puts it."""
    return _ref(f"{name}/properties/{key}/anyOf/0")


def _one_or_several(key: _Schema, one: _Schema) -> _Schema:
    value = {part: content for part, content in key.items() if part not in _OUTSIDE}
    several = {"type": "array", "items": one, "minItems": 1}
    return {"anyOf": [value, several, _ref(_RANGE)], **{part: key[part] for part in _OUTSIDE if part in key}}


def _only_with_place(key: str, one: _Schema) -> _Schema:
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


SCHEMAS: Mapping[str, Callable[[], dict[str, Any]]] = MappingProxyType(
    {
        "config": _config_schema,
        "plan": lambda: schema_of(PlanFile, "plan.json of cascadebai plan"),
        "manifest": lambda: schema_of(Manifest, "manifest.json of a sweep of cascadebai"),
    }
)
"""Kind of a document -> its schema."""


def schema_text(kind: str) -> str:
    """Return the schema of a kind of document, a key of `SCHEMAS`, as JSON."""
    return json.dumps(SCHEMAS[kind](), indent=1, ensure_ascii=False)


# --- A config with comments, to begin with --------------------------------------------------------------------------

_PLAIN = re.compile(r"[A-Za-z][\w .-]*\w|[A-Za-z]")
"""A name that needs no quotes, unless YAML reads something else from it."""

_HEAD = """\
# A study of cascadebai. docs/configs.md explains every key; `cascadebai schema config` prints them for an editor.
#   cascadebai check {file}    is it valid, and what would it run?
#   cascadebai sweep {file}    run it, into {out}
#   cascadebai plot {out}    draw it
{seed}
{trials}
{delta}
{epsilon}

instances:
"""
_LEARNERS = """\

learners:
  - name: CascadeBAI # the paper's Algorithm 1
    algorithm: cascadebai
  - name: CascadeBAI, KL bounds # the same with sharper bounds
    algorithm: cascadebai
    confidence: kl
"""


def write_starter(path: Path | None = None, source: Path | None = None) -> Path:
    """Write a config that is valid and runs in seconds to minutes.

    Args:
        path: file to write; `study.yaml` by default, or the name of `source`.
        source: a CSV file with one row for each item, whose click rates are the weights.

    Raises:
        ConfigError: if there is such a file already, its name cannot stand in a config, or `source` is not usable.
        CascadeError: if the file cannot be written.
    """
    path = path or Path(f"{source.stem if source else 'study'}.yaml")
    for named in filter(None, (path, source)):
        _refuse_name(named)
    text = _head(path) + (_of_file(source, path) if source else _of_two_levels()) + _LEARNERS
    text += f"\nplot: {{kind: {'bars' if source else 'curves'}}} # docs/figures.md\n"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path} is there already and stays as it is; name another file") from None
    except OSError as error:
        gone = of_removed_folder(error)
        raise gone or CascadeError(f"{path} cannot be written ({error.strerror}); choose another place") from None
    return path


def _refuse_name(file: Path) -> None:
    """Refuse names of files that cannot stand in a config, or in the names of results."""
    if not (is_one_line(file.stem) and is_one_line(str(file))):
        raise ConfigError(f"{show(str(file))} has blanks around it or a line break; name a file that is one plain line")


def _head(path: Path) -> str:
    values = {"seed": 1, "trials": 10, "delta": 0.1, "epsilon": 0}
    lines = {key: f"{key}: {value} # {_meaning(Study, key)}" for key, value in values.items()}
    return _HEAD.format(file=for_shell(path), out=for_shell(Path("results") / path.stem), **lines)


def _meaning(model: type[Study] | type[TwoLevel] | type[Csv], key: str) -> str:
    """Return what a key means, as its model says."""
    return str(model.model_fields[key].description).removesuffix(".")


def _of_two_levels() -> str:
    return f"""\
  - name: two levels
    family: two_level # K items with w_star, L - K with w_prime
    L: 32 # {_meaning(Study, "L")}
    K: {{from: 4, to: 12, step: 2}} # {_meaning(Study, "K")}
    w_star: 1/K # {_meaning(TwoLevel, "w_star")}
    w_prime: 1/K**2 # {_meaning(TwoLevel, "w_prime")}
    fit: {{model: K}} # {_meaning(TwoLevel, "fit").replace("`", "")}
"""


def _of_file(source: Path, path: Path) -> str:
    if not source.exists():
        raise ConfigError(f"--from {source}: there is no such file; name a CSV file with one row for each item")
    sheet = read_sheet(source, str(source), most_columns=_MOST_GUESSED)
    columns = _guessed(sheet)
    names, weights = rates_in(sheet, columns)
    lines = {"path": os.path.relpath(source, path.parent).replace(os.sep, "/"), **columns}
    return "".join(
        [
            f"  - name: {_quoted(source.stem)} # {count(len(names))} items\n",
            "    family: csv\n",
            *(f"    {key}: {_quoted(value)} # {_meaning(Csv, key)}\n" for key, value in lines.items()),
            f"    K: {_clearest_K(weights)} # {_meaning(Study, 'K')}; here the clearest set of best items\n",
        ]
    )


def _quoted(text: str) -> str:
    """Return a text as YAML, in quotes if needed."""
    plain = _PLAIN.fullmatch(text.replace("/", "")) and read_value(text) == text
    return text if plain else "'" + text.replace("'", "''") + "'"
