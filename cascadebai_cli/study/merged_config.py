"""The configs of parts of a grid as one config."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.study.messages import show

AXES = ("L", "K", "delta", "epsilon", "budget")
"""Keys whose values span the grid, at the top and in each instance."""
NAMED = ("instances", "learners")
"""Keys that hold entries with names."""
FREE = ("study", "title", "trials", "plot")
"""Keys that rows do not depend on: those of the first config stay, but for the number of trials."""

Config = Mapping[str, Any]


def merged_config(configs: Sequence[tuple[Path, Config]]) -> dict[str, Any]:
    """A config that holds the axes, instances and learners of all, and the largest number of trials.

    Args:
        configs: directories with their resolved configs, one or more.

    Raises:
        ConfigError: if two of them differ in anything else.
    """
    first, config = configs[0][0], dict(configs[0][1])
    for path, other in configs[1:]:
        config = _joined(config, other, f"{path} cannot be merged: ", (first, path))
    return {**config, "trials": _trials([(path, other["trials"]) for path, other in configs])}


def _trials(found: Sequence[tuple[Path, Any]]) -> Any:
    """The largest number, or the rule that all have."""
    if all(isinstance(trials, int) for _, trials in found):
        return max(trials for _, trials in found)
    for path, trials in found:
        if trials != found[0][1]:
            raise ConfigError(f"{path} cannot be merged: trials is {show(trials)} there and not in {found[0][0]}")
    return found[0][1]


def _joined(one: Config, other: Config, at: str, places: tuple[Path, Path]) -> dict[str, Any]:
    """`one` with what `other` has beyond it; `at` begins the message about a difference."""
    return {key: _value(key, one.get(key), other.get(key), at, places) for key in {**one, **other}}


def _value(key: str, mine: Any, theirs: Any, at: str, places: tuple[Path, Path]) -> Any:
    if mine == theirs or key in FREE:
        return mine
    if key in NAMED:
        return _entries(mine, theirs, f"{at}{key[:-1]} ", places)
    if key in AXES and mine and theirs:
        return _axis(mine, theirs)
    raise ConfigError(
        f"{at}{key} is {show(mine)} in {places[0]} and {show(theirs)} in {places[1]}; leave it out, or sweep it again"
    )


def _entries(one: Sequence[Config], other: Sequence[Config], at: str, places: tuple[Path, Path]) -> list[Config]:
    entries = {entry["name"]: entry for entry in one}
    for entry in other:
        name = entry["name"]
        entries[name] = _joined(entries.get(name, entry), entry, f"{at}'{name}': ", places)
    return list(entries.values())


def _axis(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    values = list(dict.fromkeys([*one, *other]))
    return sorted(values) if list(one) == sorted(one) and list(other) == sorted(other) else values
