"""Merging several result directories into one."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import BoolArray, IntArray
from cascadebai_cli.store.columns import LATER, MANIFEST, PLACE, SAME
from cascadebai_cli.store.journal import Stored, each_once, repeats
from cascadebai_cli.store.manifest import (
    MAKERS,
    Manifest,
    Places,
    content_differences,
    grid_of,
    hash_of,
    maker_differences,
)
from cascadebai_cli.study.cells import RULE
from cascadebai_cli.study.config import stored_study
from cascadebai_cli.study.document import show
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
    _refuse_differences(parts)
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


def _refuse_differences(parts: Sequence[_Part]) -> None:
    """Refuse a part that differs from those before it."""
    first: dict[tuple[Any, ...], tuple[Path, Mapping[str, Any]]] = {}
    for path, manifest in parts:
        found = list(maker_differences(parts[0][1], manifest, _places(parts[0][0], path)))
        for key, facts in _facts(manifest):
            where, before = first.setdefault(key, (path, facts))
            if before != facts:
                found += content_differences(before, facts, manifest.config, _places(where, path))
        if found:
            raise ConfigError(
                f"{path} cannot be merged: {'; '.join(dict.fromkeys(found))}; leave it out, or sweep it again"
            )


def _places(one: Path, other: Path) -> Places:
    return Places(f"in {one}", f"in {other}")


def _facts(manifest: Manifest) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """Yield what must be the same in all parts: for each cell, point of the grid, learner and data file."""
    files = {entry["name"] for entry in manifest.config["instances"] if entry.get("path")}
    for cell_id, content in manifest.cells.items():
        yield ("cell", cell_id), {"engine": content.get("engine")}
        yield ("point", *(content.get(key) for key in PLACE)), content
        yield ("learner", content.get("learner")), {"code": content.get("code"), RULE: content.get(RULE, 1)}
        if (instance := content.get("instance")) in files:
            yield ("file", instance, content.get("L")), {"instance": instance, "weights": content.get("weights")}


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


# --- Merging rows: a trial that is in two directories must be the same in both --------------------------------------


def merged_rows(parts: Sequence[tuple[Path, Stored]]) -> Stored:
    """Return the rows of several directories together; the size is 0, as they are in no journal yet.

    Raises:
        ConfigError: if a trial ended differently in two of them.
    """
    places = {name: i for i, name in enumerate(dict.fromkeys(name for _, part in parts for name in part.cell_ids))}
    rows = np.concatenate([part.rows for _, part in parts])
    rows["cell"] = np.concatenate([_renumbered(part, places) for _, part in parts])
    owners = np.repeat(np.arange(len(parts)), [len(part.rows) for _, part in parts])
    lacking = np.sum([_lacks(rows, name) for name in SAME], axis=0)
    order = np.lexsort((owners, lacking, rows["trial"], rows["cell"]))
    rows, owners = rows[order], owners[order]
    unequal = np.flatnonzero(repeats(rows) & _contradict(rows[1:], rows[:-1]))
    if len(unequal):
        one, other = rows[unequal[0] : unequal[0] + 2]
        here, there = (parts[owner][0] for owner in owners[unequal[0] : unequal[0] + 2])
        raise ConfigError(
            f"trial {one['trial']} of cell {list(places)[one['cell']]} has {one['steps']} steps and "
            f"{one['observations']} observations in {here}, but {other['steps']} and {other['observations']} in "
            f"{there}, or ended differently; find out which is wrong and leave it out"
        )
    recorded: dict[tuple[str, int], Mapping[str, str]] = {}
    for key, found in chain(*(part.recorded.items() for _, part in parts)):
        recorded[key] = {**recorded.get(key, {}), **found}
    return Stored(tuple(places), each_once(rows), sum(part.damaged for _, part in parts), 0, recorded)


def _lacks(rows: NDArray[Any], name: str) -> BoolArray:
    """Return which rows lack a value because they are older than their column."""
    return np.asarray((rows[name] < 0) & (name in LATER))


def _contradict(rows: NDArray[Any], others: NDArray[Any]) -> BoolArray:
    """Return `TrialRow.contradicts` for each row and another one of the same trial."""
    unequal = [(rows[name] != others[name]) & ~_lacks(rows, name) & ~_lacks(others, name) for name in SAME]
    return np.asarray(np.any(unequal, axis=0))


def _renumbered(part: Stored, places: dict[str, int]) -> IntArray:
    numbers: IntArray = np.array([places[name] for name in part.cell_ids], dtype=np.int64)[part.rows["cell"]]
    return numbers
