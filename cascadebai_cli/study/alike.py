"""Instances that agree in all but one option, such as `replicate`, the number of a draw: what a mean may be over."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.study.instances import AnyInstance
from cascadebai_cli.study.item_formulas import Random
from cascadebai_cli.study.own_family import Own
from cascadebai_cli.study.spread import as_place

Alike = Mapping[str, tuple[AnyInstance, ...]]
"""The name that instances have in common -> those of them."""


def options_of(entry: AnyInstance) -> dict[str, Any]:
    """Options over which a mean may be taken: the number of a draw, and those of a family of one's own."""
    if isinstance(entry, Random):
        return {"replicate": entry.replicate}
    return dict(entry.model_extra or {}) if isinstance(entry, Own) else {}


def refuse_unknown_option(instances: Sequence[AnyInstance], option: str) -> None:
    """Refuse an option that no instance has.

    Raises:
        ConfigError: with the nearest one that there is.
    """
    known = dict.fromkeys(name for entry in instances for name in options_of(entry))
    if option not in known:
        remedy = suggest(option, known) if known else "draws have replicate, and families of your own their keys"
        raise ConfigError(f"'{option}' is no option of an instance; {remedy}")


def alike(instances: Sequence[AnyInstance], option: str | None) -> Alike:
    """Instances that differ in an option only, together; every other one, and without an option each, alone."""
    if option is None:
        return {entry.name: (entry,) for entry in instances}
    families: dict[str, list[AnyInstance]] = {}
    for entry in instances:
        has = option in options_of(entry)
        key = entry.model_dump_json(exclude={"name", option}) if has else f"alone: {entry.name}"
        families.setdefault(key, []).append(entry)
    taken = {entry.name for entry in instances}
    named: dict[str, tuple[AnyInstance, ...]] = {}
    for entries in families.values():
        named[_name(entries, option, {*named, *taken})] = tuple(entries)
    return named


def _name(entries: Sequence[AnyInstance], option: str, taken: set[str]) -> str:
    """What is left of the names without the option, if that is not `taken`."""
    if len(entries) == 1:
        return entries[0].name
    place = f"{{{option}}}"
    # Where a value stands in a name twice by chance, the name of another value tells which place is that of the option.
    placed = [as_place(entry.name, option, options_of(entry)[option]) for entry in entries]
    found = min((name for name in placed if place in name), key=lambda name: name.count(place), default="")
    left = re.sub(r"\s+", " ", found.replace(place, " ")).strip(" ,;:-_=#")
    return left if left and left not in taken else f"{entries[0].name} to {entries[-1].name}"
