"""Several result directories as one: what their rows depend on must be the same, and the grid is all of their cells."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.manifest import MAKERS, GridCell, Manifest, grid_of, hash_of
from cascadebai_cli.store.mixing import Places, content_differences, maker_differences
from cascadebai_cli.store.schema import MANIFEST, PLACE
from cascadebai_cli.study.config import stored_study
from cascadebai_cli.study.merged_config import merged_config

Part = tuple[Path, Manifest]
"""A result directory with its manifest."""


def merged_manifest(parts: Sequence[Part]) -> Manifest:
    """The manifest of all parts together, not complete and without hashes of tables.

    Args:
        parts: one or more; names are those of the first.

    Raises:
        ConfigError: with every key in which two of them differ, or if a manifest does not describe its cells.
    """
    for path, manifest in parts:
        stored_study(manifest.config, path / MANIFEST)
    grids = [grid_of(*part) for part in parts]
    _refuse_differences(parts)
    manifests = [manifest for _, manifest in parts]
    config = merged_config([(path, manifest.config) for path, manifest in parts])
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
            "cells": {cell.cell_id: known[cell.cell_id] for cell in _ordered(grids)},
            "parts": [{key: getattr(manifest, key) for key in MAKERS} for manifest in manifests],
        }
    )


def _refuse_differences(parts: Sequence[Part]) -> None:
    """Compare each part with those before it."""
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
    """What must be the same wherever it is found again: of a cell, a point of the grid, a learner, a data file."""
    files = {entry["name"] for entry in manifest.config["instances"] if entry.get("path")}
    for cell_id, content in manifest.cells.items():
        yield ("cell", cell_id), {"engine": content.get("engine")}
        yield ("point", *(content.get(key) for key in PLACE)), content
        yield ("learner", content.get("learner")), {"code": content.get("code")}
        if (instance := content.get("instance")) in files:
            yield ("file", instance, content.get("L")), {"instance": instance, "weights": content.get("weights")}


def _ordered(grids: Sequence[Sequence[GridCell]]) -> Iterator[GridCell]:
    """All cells, each once, in the order in which a config of all of them would have them."""
    number = len({cell.cell_id for cell in chain(*grids)})
    for grid in grids:
        if len(grid) == number:
            yield from grid
            return
    names = dict.fromkeys(cell.instance for cell in chain(*grids))
    for name in names:
        parts = [[cell for cell in grid if cell.instance == name] for grid in grids]
        yield from _sorted(parts)


def _sorted(parts: Sequence[Sequence[GridCell]]) -> list[GridCell]:
    """The cells of one instance."""
    cells = {cell.cell_id: cell for part in parts[::-1] for cell in part}
    ranks = [(key, _ranks([[getattr(cell, key) for cell in part] for part in parts])) for key in PLACE]
    return sorted(cells.values(), key=lambda cell: [rank[getattr(cell, key)] for key, rank in ranks])


def _ranks(parts: Sequence[Sequence[Any]]) -> Mapping[Any, int]:
    """Place of each value on its axis: numbers that ascend in every part ascend, others stand as they come."""
    axes = [list(dict.fromkeys(part)) for part in parts]
    values = list(dict.fromkeys(chain(*axes)))
    if all(not isinstance(value, str) for value in values) and all(axis == sorted(axis) for axis in axes):
        values.sort()
    return {value: place for place, value in enumerate(values)}
