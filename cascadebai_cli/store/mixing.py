"""Whether rows may join those of another sweep: what they depend on must be the same."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.manifest import GAP, Manifest
from cascadebai_cli.store.schema import MANIFEST, PLACE


class Places(NamedTuple):
    """How the two sides are called in a sentence."""

    one: str = "there"
    other: str = "here"


HERE = Places()
"""A directory, and the sweep that is to write to it."""


def refuse_mixing(directory: Path, old: Manifest | None, new: Manifest, cell_ids: Sequence[str]) -> None:
    """Refuse to add rows to those of another config.

    Every cell that has rows must be in the new config, with the same content; further cells may be added.
    What rows do not depend on (names, trials, jobs, backend, paths) may differ.

    Args:
        directory: for the message.
        old: manifest of the directory.
        new: manifest of the sweep that is to run.
        cell_ids: cells with rows in the directory.

    Raises:
        ConfigError: with every key that differs.
    """
    if not cell_ids:
        return
    if old is None:
        raise ConfigError(
            f"{directory} holds trials but no {MANIFEST}, so nobody knows their config; "
            "use --fresh to move it aside and start over, or another --out"
        )
    found = dict.fromkeys(_differences(old, new, cell_ids))
    if found:
        raise ConfigError(
            f"{directory} holds trials of another config: {'; '.join(found)}; "
            "use --fresh to move it aside and start over, or another --out"
        )


def _differences(old: Manifest, new: Manifest, cell_ids: Sequence[str]) -> Iterator[str]:
    yield from maker_differences(old, new)
    for cell_id in cell_ids:
        before, after = old.cells.get(cell_id, {}), new.cells.get(cell_id)
        if after is None:
            yield from _cell_differences(before, list(new.cells.values()), new.config)
        elif before.get("engine") != after["engine"]:
            yield f"engine is {before.get('engine')} there and {after['engine']} here"


def maker_differences(old: Manifest, new: Manifest, places: Places = HERE) -> Iterator[str]:
    """How the seeds of two sweeps differ, and the versions of the engines that both need."""
    if old.seed != new.seed:
        yield f"seed is {old.seed} {places.one} and {new.seed} {places.other}"
    for engine in sorted(old.engines & new.engines):
        one, other = old.engine_version.get(engine), new.engine_version.get(engine)
        if one != other:
            yield f"engine {engine} has version {one} {places.one} and {other} {places.other}"


def _cell_differences(
    before: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], config: Mapping[str, Any]
) -> Iterator[str]:
    """How a cell that is gone differs from the nearest one of the new config."""
    near = min(cells, key=lambda after: (len(_changed(before, after, PLACE)), len(_changed(before, after))))
    place = _changed(before, near, PLACE)
    for key in place:
        yield f"{key} {_shown(before.get(key))} is there and not here"
    if not place:
        yield from content_differences(before, near, config)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any], keys: Sequence[str] | None = None) -> list[str]:
    return [key for key in keys or {**before, **after} if key != GAP and before.get(key) != after.get(key)]


def content_differences(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    config: Mapping[str, Any],
    places: Places = HERE,
) -> Iterator[str]:
    """How two cells differ, key by key; `config` is that of the second."""
    for key in _changed(before, after):
        yield from _content_difference(key, before, after, config, places)


def _content_difference(
    key: str, before: Mapping[str, Any], after: Mapping[str, Any], config: Mapping[str, Any], places: Places
) -> Iterator[str]:
    if key != "weights":
        yield f"{key} is {_shown(before.get(key))} {places.one} and {_shown(after.get(key))} {places.other}"
        return
    name = after["instance"]
    path = next((entry.get("path") for entry in config.get("instances", ()) if entry.get("name") == name), None)
    yield f"the content of the data file {path} has changed" if path else f"the weights of {name} have changed"


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
