"""The text of a config: strict YAML with the line of every key, and entries that stand for several."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import yaml
from pydantic_core import PydanticCustomError

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.logs.sheet import read_text
from cascadebai_cli.study.fields import MOST_POINTS, KeyPath, as_written, points_of

# --- A config as a document: strict YAML with the line of every key, with values of the command line put in ---------
#
# Keys are text and unique, there are no aliases and no tags, `1e-3` is a number, `none` is null, and words such as
# `on` or dates stay text.

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


# --- Entries of a config that stand for several: `{option}` in a name makes one entry for each value of the option --
#
# `{name: "sigma {sigma}", algorithm: cascadebai, sigma: [0.25, 0.5]}` are two learners, and an instance with
# `replicate: {from: 1, to: 20}` and `{replicate}` in its name is twenty.

_PLACE = re.compile(r"\{(\w+)\}")

_Mark = TypeVar("_Mark")


def spread_out(document: Document) -> Document:
    """Return the document with every entry that stands for several written out; messages still name lines of the file.

    Raises:
        ConfigError: if an option in a name has no value, or an entry makes too many.
    """
    return reduce(_spread, ("instances", "learners"), document)


def _spread(document: Document, key: str) -> Document:
    entries = document.data.get(key)
    if not isinstance(entries, list):
        return document
    copies = [list(_copies(document, (key, i), entry)) for i, entry in enumerate(entries)]
    origins = [i for i, made in enumerate(copies) for _ in made]
    return replace(
        document,
        data={**document.data, key: [entry for made in copies for entry in made]},
        lines=_moved(document.lines, key, origins),
        options=_moved(document.options, key, origins),
    )


def _copies(document: Document, at: KeyPath, entry: object) -> Iterator[object]:
    """Yield the entries for which one entry stands; anything that is no valid entry is left for later checks."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        yield entry
        return
    places = [place for place in dict.fromkeys(_PLACE.findall(entry["name"])) if place in entry and place != "name"]
    choices = [_values(document, (*at, place), entry[place]) for place in places]
    if prod(map(len, choices)) > MOST_POINTS:
        raise ConfigError(document.message((*at, "name"), f"makes more than {MOST_POINTS} entries; list fewer values"))
    for chosen in product(*choices):
        values = dict(zip(places, chosen, strict=True))
        yield {**entry, **values, "name": _filled(entry["name"], values)}


def _values(document: Document, at: KeyPath, value: Any) -> Sequence[Any]:
    try:
        entries: Sequence[Any] = points_of(value) if isinstance(value, dict) else value
    except PydanticCustomError as error:
        context = error.context or {}
        raise ConfigError(document.message((*at, *context["at"]), context["text"])) from None
    if not isinstance(entries, list):
        return [entries]
    if not entries:
        raise ConfigError(document.message(at, "the list is empty; give at least one entry"))
    return entries


def _filled(name: str, values: Mapping[str, Any]) -> str:
    return _PLACE.sub(lambda found: as_written(values[found[1]]) if found[1] in values else found[0], name)


def _moved(marks: Mapping[KeyPath, _Mark], key: str, origins: Sequence[int]) -> dict[KeyPath, _Mark]:
    """Return the marks of entries with the key paths of their copies."""
    places: dict[str | int, list[int]] = {}
    for new, old in enumerate(origins):
        places.setdefault(old, []).append(new)
    return {
        moved: mark
        for path, mark in marks.items()
        for moved in ([path] if path[0] != key or len(path) == 1 else [(key, i, *path[2:]) for i in places[path[1]]])
    }
