"""The text of a config: strict YAML with the line of every key, and plain sentences about mistakes in it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.logs.sheet import read_text
from cascadebai_cli.text import for_table, shortened

# --- A config as a document: strict YAML with the line of every key, with values of the command line put in ---------
#
# Keys are text and unique, there are no aliases and no tags, `1e-3` is a number, `none` is null, and words such as
# `on` or dates stay text.

KeyPath = tuple[str | int, ...]
"""Keys and list positions from the top of a document to a value."""

END = "+"
"""Last part of a key path that adds an entry to a list."""

_PREFIX = "tag:yaml.org,2002:"


class Override(NamedTuple):
    """A value of the command line that takes the place of one of the config, or joins a list in it.

    Attributes:
        option: what a message about it begins with, such as `--trials`.
        path: keys to the value; they need not be there.
        value: the value, as YAML would give it.
    """

    option: str
    path: KeyPath
    value: Any


@dataclass(frozen=True)
class Document:
    """A YAML file, or values of Python that stand for one.

    Attributes:
        source: its path as the user gave it; empty if it is no file.
        lines: key path -> line of the key or list entry, from 1.
        options: key path -> option, for each value that came from the command line.
    """

    source: str
    data: dict[str, Any]
    lines: Mapping[KeyPath, int]
    options: Mapping[KeyPath, str] = field(default_factory=dict)

    def with_override(self, override: Override) -> "Document":
        """Return the document with one value put in.

        Raises:
            ConfigError: if its path leads through a plain value or beyond a list.
        """
        try:
            data, path = _put(self.data, override.path, override.value)
        except (LookupError, ValueError):
            dotted = ".".join(map(str, override.path))
            raise ConfigError(
                f"{override.option} {dotted} leads nowhere in {self.source or 'the study'}; name a key or an entry "
                "that is there"
            ) from None
        lines = {key: line for key, line in self.lines.items() if key[: len(path)] != path}
        return replace(self, data=data, lines=lines, options={**self.options, path: override.option})

    def line(self, path: KeyPath) -> int:
        """Return the line of a value or, if it is not in the file, of what encloses it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def message(self, path: KeyPath, text: str) -> str:
        """Return `file:line: key: text` or `option key: text`, on one line whatever the text quotes.

        An option stands for the whole value that it gave; a key is named only if it lies inside that value. Without a
        file, the message is `instances.0.name: text`.
        """
        given = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in self.options), ())
        if given or self.source:
            key = next((f"{part}: " for part in reversed(path[len(given) :]) if isinstance(part, str)), "")
            where = f"{self.options[given] if given else f'{self.source}:{self.line(path)}:'} {key}"
        else:
            where = f"{'.'.join(map(str, _named(self.data, path)))}: " if path else ""
        line = f"{where}{text}"
        return "".join(c if c.isprintable() else " " for c in line)


def load_yaml(path: Path) -> Document:
    """Read a file whose top level is a mapping.

    Raises:
        ConfigError: if it cannot be read, is not YAML, or repeats a key.
    """
    source = str(path)
    try:
        loader = _Loader(_text(path))
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise ConfigError(f"{source}:1: no keys at the top; write lines such as seed: 1")
        lines = dict(_lines(node, (), source))
        return Document(source, loader.construct_document(node), lines)
    except ConfigError:
        raise
    except yaml.MarkedYAMLError as error:
        raise ConfigError(_not_yaml(source, error)) from None
    except yaml.YAMLError:
        raise ConfigError(f"{source}:1: has a character that YAML does not allow; remove it") from None
    except ValueError:
        raise ConfigError(f"{source}:1: has a number of thousands of digits; shorten it") from None
    except RecursionError:
        raise ConfigError(f"{source}:1: is nested too deeply; a config has four levels") from None


def read_value(text: str) -> Any:
    """Return a single value, read as it would be behind a colon in YAML.

    Raises:
        ConfigError: if it is not YAML.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return None if node is None else loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ConfigError(f"{text} is no value of a config; write a number, a text, [...] or {{...}}") from None


def _put(node: Any, path: KeyPath, value: Any) -> tuple[Any, KeyPath]:
    """Return `node` with `value` at the end of `path`, and that path with `END` replaced by the number of the entry."""
    if not path:
        return value, ()
    part, rest = path[0], path[1:]
    if isinstance(node, dict) and isinstance(part, str):
        inner, below = _put(node.get(part, {}), rest, value)
        return {**node, part: inner}, (part, *below)
    if isinstance(node, list):
        i = len(node) if part == END else range(len(node))[int(part)]
        inner, below = _put(node[i] if part != END else {}, rest, value)
        return [*node[:i], inner, *node[i + 1 :]], (i, *below)
    raise LookupError


def _named(data: Any, path: KeyPath) -> KeyPath:
    """Return the path up to a plain value: what follows counts entries of a list that was made from it."""
    for n, part in enumerate(path):
        if isinstance(part, str):
            data = data.get(part) if isinstance(data, dict) else None
        elif isinstance(data, list):
            data = data[part] if part < len(data) else None
        else:
            return path[:n]
    return path


def _near(path: Path) -> str:
    """Return the remedy for a config that is not there: a file beside it with a name like its own, if there is one."""
    other = {".yml": ".yaml", ".yaml": ".yml"}.get(path.suffix, ".yaml")
    beside = path.with_suffix(other) if path.name else path
    return f"did you mean {beside}?" if beside.is_file() else "name a config such as configs/smoke.yaml"


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; {_near(path)}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); name a YAML file") from None


def _lines(node: yaml.Node, path: KeyPath, source: str) -> Iterator[tuple[KeyPath, int]]:
    if isinstance(node, yaml.MappingNode):
        children = list(_keys(node, source))
    elif isinstance(node, yaml.SequenceNode):
        children = [(i, child.start_mark.line + 1, child) for i, child in enumerate(node.value)]
    else:
        return
    for part, line, child in children:
        yield (*path, part), line
        yield from _lines(child, (*path, part), source)


def _keys(node: yaml.MappingNode, source: str) -> Iterator[tuple[str | int, int, yaml.Node]]:
    first: dict[str, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError(f"{source}:{line}: a key is a list or a mapping; write plain text before the colon")
        if key.value in first:
            raise ConfigError(
                f"{source}:{line}: {key.value}: the key is already on line {first[key.value]}; leave one out"
            )
        first[key.value] = line
        yield key.value, line, value


def _not_yaml(source: str, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    problem = ", ".join(part for part in (error.context, error.problem) if part)
    return f"{source}:{line}: not valid YAML ({problem}); check indentation, colons, quotes and brackets"


def _refused(problem: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


class _Loader(yaml.SafeLoader):
    """A `SafeLoader` that knows only the plain types of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the stub of PyYAML has it so
    yaml_constructors: ClassVar[dict[Any, Any]] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse aliases, which could make a document endless, and tags, which could name any type."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _refused("aliases are not read, write the value out", event)
        if getattr(event, "tag", None) is not None:
            raise _refused(f"tags are not read, remove {event.tag}", event)
        return super().compose_node(parent, index)


def _map(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[str, Any]:
    return {key.value: loader.construct_object(value, deep=True) for key, value in node.value}


def _seq(loader: yaml.SafeLoader, node: yaml.SequenceNode) -> list[Any]:
    return [loader.construct_object(value, deep=True) for value in node.value]


def _float(_: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    # YAML writes .inf and .nan
    return float(re.sub(r"\.(inf|nan)$", r"\1", node.value.lower()))


def _str(_: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    if any("\ud800" <= sign <= "\udfff" for sign in node.value):
        raise _refused("half a character, which no file can hold", node)
    return str(node.value)


_SCALARS: dict[str, tuple[str, Any]] = {
    "null": (r"~|null|Null|NULL|none|None|NONE|", lambda *_: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", lambda _, node: node.value.lower() == "true"),
    "int": (r"[-+]?[0-9][0-9_]*", lambda _, node: int(node.value.replace("_", ""))),
    "float": (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", _float),
}

for _name, (_pattern, _construct) in _SCALARS.items():
    _Loader.add_implicit_resolver(_PREFIX + _name, re.compile(rf"(?:{_pattern})\Z"), None)
    _Loader.add_constructor(_PREFIX + _name, _construct)
_Loader.add_constructor(_PREFIX + "str", _str)
_Loader.add_constructor(_PREFIX + "map", _map)
_Loader.add_constructor(_PREFIX + "seq", _seq)


# --- Mistakes in a config: what pydantic found, as plain sentences for a user ---------------------------------------

_FLOAT = "float"
NUMBER, CONDITION = "number", "rule"
"""Tags by which pydantic tells a number from a rule in its place."""


def mistake(text: str, *at: str | int) -> PydanticCustomError:
    """Return an error to raise in a validator: a sentence about the value, or about the part of it at `at`."""
    return PydanticCustomError("mistake", "{text}", {"text": text, "at": at})


def within(error: PydanticCustomError, *at: str | int) -> PydanticCustomError:
    """Return a mistake in the part at `at` of a value as a mistake in the value."""
    context = error.context or {}
    return mistake(context["text"], *at, *context["at"])


def mistakes(error: ValidationError, data: Any) -> list[tuple[KeyPath, str]]:
    """Return key path and sentence of each mistake that pydantic found in `data`."""
    return [(_path_of(e, data), sentence(e)) for e in error.errors(include_url=False)]


def sentence(error: ErrorDetails) -> str:
    """Return the sentence about one error: the value and the remedy."""
    value, bounds = error["input"], error.get("ctx", {})
    if error["type"] in _SENTENCES:
        return _SENTENCES[error["type"]](value, bounds)
    return f"{show(value)} is not valid; {error['msg'][:1].lower()}{error['msg'][1:]}"


def _path_of(error: ErrorDetails, data: Any) -> KeyPath:
    """Return the keys from the top of `data` to a mistake, without the tags that pydantic adds to them."""
    path: list[str | int] = []
    for part in error["loc"]:
        if isinstance(data, Mapping) and part not in data and _is_tag(part, data.get("family")):
            continue
        if isinstance(part, str) and not isinstance(data, Mapping):
            continue
        path.append(part)
        data = _inside(data, part)
    return (*path, *_further(error))


def _is_tag(tag: object, family: object) -> bool:
    """Return whether a part of a path is a tag and no key; those of users' families have a colon, as their names do."""
    return tag in (NUMBER, CONDITION, _FLOAT, family) or (
        isinstance(tag, str) and ":" in tag and isinstance(family, str) and ":" in family
    )


def show(value: object) -> str:
    """Return a value as it stands in the config, shortened."""
    if value is None:
        return "none"
    text = for_table(f"'{value[:99]}'") if isinstance(value, str) else _as_json(value)
    return shortened(text)


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


def _not_a_list(value: object, _: Mapping[str, Any]) -> str:
    return f"{show(value)} is not a list; write [...] or lines that start with a dash"


def _plain(number: float) -> str:
    return f"{number:.12g}" if isinstance(number, float) else str(number)


def _decimal(text: object) -> str | None:
    """Return the number that a text such as 0x10, 0b1 or 1_000 means in programs; `None` if it means none."""
    try:
        return str(int(text, 0)) if isinstance(text, str) and len(text) < 40 else None
    except ValueError:
        return None


def _not_whole(value: object, _: Mapping[str, Any]) -> str:
    whole = isinstance(value, float) and value.is_integer()
    remedy = f"{value:.0f}" if whole else _decimal(value) or "one without quotes or decimals"
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
    "tuple_type": _not_a_list,
    "list_type": _not_a_list,
    "dict_type": _not_a_mapping,
    "greater_than": lambda v, c: f"{show(v)} is too small; write a value larger than {c['gt']:g}",
    "greater_than_equal": lambda v, c: f"{show(v)} is too small; write {c['ge']:g} or more",
    "less_than": lambda v, c: f"{show(v)} is too large; write a value less than {c['lt']:g}",
    "less_than_equal": lambda v, c: f"{show(v)} is too large; write {_plain(c['le'])} or less",
    "literal_error": lambda v, c: _one_of(v, c["expected"]),
    "union_tag_invalid": lambda v, c: _one_of(v["family"], c["expected_tags"]),
    "union_tag_not_found": _no_family,
}
