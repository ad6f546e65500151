"""Entries of a config that stand for several: `{option}` in a name makes one entry a value of that option.

`{name: "sigma {sigma}", algorithm: cascadebai, sigma: [0.25, 0.5]}` are two learners, and an instance with
`replicate: {from: 1, to: 20}` and `{replicate}` in its name is twenty.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, TypeVar

from pydantic_core import PydanticCustomError

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.study.document import Document, KeyPath
from cascadebai_cli.study.fields import MOST_POINTS, points

LISTS = ("instances", "learners")
"""Keys whose entries have names."""
_PLACE = re.compile(r"\{(\w+)\}")

Mark = TypeVar("Mark")
Entry = dict[str, Any]


def spread_out(document: Document) -> Document:
    """The document with every entry that stands for several written out; messages still name the lines of the file.

    Raises:
        ConfigError: if an option in a name has no value, or an entry makes too many.
    """
    for key in LISTS:
        document = _spread(document, key)
    return document


def as_place(name: str, option: str, value: object) -> str:
    """A name with the place of an option again where its value was filled in."""
    return name.replace(_word(value), f"{{{option}}}")


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
    """The entries that one entry stands for; anything that is no entry stays for others to judge."""
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
        listed: Sequence[Any] = points(value) if isinstance(value, dict) else value
    except PydanticCustomError as error:
        context = error.context or {}
        raise ConfigError(document.message((*at, *context["at"]), context["text"])) from None
    if not isinstance(listed, list):
        return [listed]
    if not listed:
        raise ConfigError(document.message(at, "the list is empty; give at least one entry"))
    return listed


def _filled(name: str, values: Mapping[str, Any]) -> str:
    return _PLACE.sub(lambda found: _word(values[found[1]]) if found[1] in values else found[0], name)


def _word(value: object) -> str:
    """A value as somebody would write it in a config."""
    if value is None or isinstance(value, bool):
        return "none" if value is None else str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _moved(marks: Mapping[KeyPath, Mark], key: str, origins: Sequence[int]) -> dict[KeyPath, Mark]:
    """Marks of the entries in the places where the copies of these are."""
    places: dict[str | int, list[int]] = {}
    for new, old in enumerate(origins):
        places.setdefault(old, []).append(new)
    return {
        moved: mark
        for path, mark in marks.items()
        for moved in ([path] if path[0] != key or len(path) == 1 else [(key, i, *path[2:]) for i in places[path[1]]])
    }
