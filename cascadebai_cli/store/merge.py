"""The manifest of several result directories that are merged into one."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.columns import MANIFEST, PLACE
from cascadebai_cli.store.manifest import MAKERS, Manifest, grid_of, hash_of, refuse_to_merge
from cascadebai_cli.study.config import stored_study
from cascadebai_cli.study.fields import show
from cascadebai_cli.study.kinds import ALL_AXES

# --- Merging the configs of parts of a grid -------------------------------------------------------------------------

_NAMED = ("instances", "learners")
"""Keys that hold entries with names."""
_FREE = ("study", "title", "trials", "plot", "record", "trace_at")
"""Keys that rows do not depend on: the values of the first config are kept, except for the number of trials."""

_Config = Mapping[str, Any]


def _merged_config(configs: Sequence[tuple[Path, _Config]]) -> dict[str, Any]:
    """Return a config with the axes, instances and learners of all configs, and the largest number of trials."""
    first, config = configs[0][0], dict(configs[0][1])
    for path, other in configs[1:]:
        config = _joined(config, other, f"{path} cannot be merged: ", (first, path))
    return {**config, "trials": _trials([(path, other["trials"]) for path, other in configs])}


def _trials(found: Sequence[tuple[Path, Any]]) -> Any:
    """Return the largest number of trials, or the rule that all configs have."""
    if all(isinstance(trials, int) for _, trials in found):
        return max(trials for _, trials in found)
    for path, trials in found:
        if trials != found[0][1]:
            raise ConfigError(f"{path} cannot be merged: trials is {show(trials)} there and not in {found[0][0]}")
    return found[0][1]


def _joined(one: _Config, other: _Config, at: str, places: tuple[Path, Path]) -> dict[str, Any]:
    """Return `one` with what only `other` has added to it; `at` begins the message about a difference."""
    return {key: _value(key, one.get(key), other.get(key), at, places) for key in {**one, **other}}


def _value(key: str, mine: Any, theirs: Any, at: str, places: tuple[Path, Path]) -> Any:
    if mine == theirs or not (mine or theirs) or key in _FREE:
        return mine
    if key in _NAMED:
        return _entries(mine, theirs, f"{at}{key[:-1]} ", places)
    if key in ALL_AXES and mine and theirs:
        return _axis(mine, theirs)
    raise ConfigError(
        f"{at}{key} is {show(mine)} in {places[0]} and {show(theirs)} in {places[1]}; leave it out, or sweep it again"
    )


def _entries(one: Sequence[_Config], other: Sequence[_Config], at: str, places: tuple[Path, Path]) -> list[_Config]:
    entries = {entry["name"]: entry for entry in one}
    for entry in other:
        name = entry["name"]
        entries[name] = _joined(entries.get(name, entry), entry, f"{at}'{name}': ", places)
    return list(entries.values())


def _axis(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    values = list(dict.fromkeys([*one, *other]))
    return sorted(values) if list(one) == sorted(one) and list(other) == sorted(other) else values


# --- Merging manifests: rows must depend on the same things, and the new grid has the cells of all ------------------

_Part = tuple[Path, Manifest]
"""A result directory with its manifest."""


def merged_manifest(parts: Sequence[_Part]) -> Manifest:
    """Return the manifest of all parts together, not complete and without hashes of tables.

    Args:
        parts: one or more; the study is named after the first.

    Raises:
        ConfigError: if two of them differ (the message names every key), or if a manifest does not describe its cells.
    """
    for path, manifest in parts:
        stored_study(manifest.config, path / MANIFEST)
    grids = [grid_of(*part) for part in parts]
    refuse_to_merge(parts)
    manifests = [manifest for _, manifest in parts]
    config = _merged_config([(path, manifest.config) for path, manifest in parts])
    known = {cell_id: content for manifest in manifests[::-1] for cell_id, content in manifest.cells.items()}
    return manifests[0].model_copy(
        update={
            "config": config,
            "config_hash": hash_of(config),
            "engine_version": {
                engine: number
                for manifest in manifests
                for engine, number in manifest.engine_version.items()
                if engine in manifest.engines
            },
            "start": min(manifest.start for manifest in manifests),
            "end": None,
            "complete": False,
            "rows_sha256": None,
            "tables": {},
            "cells": {cell["cell_id"]: known[cell["cell_id"]] for cell in _ordered(grids)},
            "parts": [{key: getattr(manifest, key) for key in MAKERS} for manifest in manifests],
            "weights": {key: weights for manifest in manifests for key, weights in manifest.weights.items()},
        }
    )


def _ordered(grids: Sequence[Sequence[_Config]]) -> Iterator[_Config]:
    """Yield all cells, each once, in the order in which the merged config has them."""
    number = len({cell["cell_id"] for cell in chain(*grids)})
    for grid in grids:
        if len(grid) == number:
            yield from grid
            return
    names = dict.fromkeys(cell["instance"] for cell in chain(*grids))
    for name in names:
        parts = [[cell for cell in grid if cell["instance"] == name] for grid in grids]
        yield from _sorted(parts)


def _sorted(parts: Sequence[Sequence[_Config]]) -> list[_Config]:
    """Return the cells of one instance in the order of the grid."""
    cells = {cell["cell_id"]: cell for part in parts[::-1] for cell in part}
    ranks = [(key, _ranks([[cell[key] for cell in part] for part in parts])) for key in PLACE]
    return sorted(cells.values(), key=lambda cell: [rank[cell[key]] for key, rank in ranks])


def _ranks(parts: Sequence[Sequence[Any]]) -> Mapping[Any, int]:
    """Return the place of each value on its axis: ascending if numbers ascend in every part, else as they come."""
    axes = [list(dict.fromkeys(part)) for part in parts]
    values = list(dict.fromkeys(chain(*axes)))
    if all(not isinstance(value, str) for value in values) and all(axis == sorted(axis) for axis in axes):
        values.sort()
    return {value: place for place, value in enumerate(values)}
