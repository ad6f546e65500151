"""`manifest.json`: where rows come from, and whether others may join them."""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import cascadebai_cli
from cascadebai_cli.engines.simulate import ENGINE_VERSION
from cascadebai_cli.errors import CascadeError, ConfigError
from cascadebai_cli.learners.plugins import is_plugin, plugin_code
from cascadebai_cli.store.files import reading_from, write_atomically
from cascadebai_cli.study.cells import Cell
from cascadebai_cli.study.learners import options_of

MANIFEST = "manifest.json"
PACKAGES = ("numpy", "scipy", "pandas", "statsmodels", "joblib", "pydantic")

GRID = ("instance", "learner", "L", "K", "delta", "epsilon")
"""What tells the cells of one config apart; the other keys of `content` are what must not change."""

Manifest = Mapping[str, Any]


def content(cell: Cell) -> dict[str, Any]:
    """Everything that the rows of a cell depend on, and its name.

    Raises:
        ConfigError: if the engine of the cell cannot run its learner.
    """
    return {
        "instance": cell.instance,
        "learner": cell.learner,
        "L": cell.L,
        "K": cell.K,
        "delta": cell.delta,
        "epsilon": cell.epsilon,
        "algorithm": cell.spec.algorithm,
        **{name: option.default for name, option in options_of(cell.spec.algorithm).items()},
        **cell.spec.options,
        "w_star": float(cell.weights.max()),
        "w_prime": float(cell.weights.min()),
        "weights": hashlib.sha256(cell.weights.astype("<f8").tobytes()).hexdigest()[:16],
        "feedback": cell.feedback,
        "order": cell.order,
        "max_steps": cell.max_steps,
        "engine": cell.runs_with,
        **({"rewards": asdict(cell.rewards)} if cell.rewards else {}),
        **({"code": plugin_code(cell.spec.algorithm)} if is_plugin(cell.spec.algorithm) else {}),
    }


def new_manifest(config: Mapping[str, Any], seed: int, cells: Sequence[Cell]) -> dict[str, Any]:
    """Manifest of a sweep that starts now.

    Args:
        config: the resolved study, as JSON.
        seed: the root seed.
        cells: cells of the grid.
    """
    return {
        "config": config,
        "config_hash": hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        "seed": seed,
        "engine_version": ENGINE_VERSION,
        "versions": _versions(),
        "git": _git(Path(cascadebai_cli.__file__).parent),
        "machine": _machine(),
        "start": now(),
        "end": None,
        "complete": False,
        "rows_sha256": None,
        "cells": {cell.cell_id: content(cell) for cell in cells},
    }


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions() -> dict[str, str]:
    found = {"cascadebai": cascadebai_cli.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _machine() -> dict[str, Any]:
    return {
        "node": platform.node(),
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
    }


def _git(directory: Path) -> dict[str, Any] | None:
    """Commit of the code and whether it was changed since; `None` outside a repository that holds the code."""
    try:
        _ask_git(directory, "ls-files", "--error-unmatch", "__init__.py")
        commit = _ask_git(directory, "rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_ask_git(directory, "status", "--porcelain", "-uno"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _ask_git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=10).stdout.strip()


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write `manifest.json`.

    Raises:
        CascadeError: if that is not possible.
    """
    write_atomically(directory / MANIFEST, [json.dumps(manifest, indent=2, ensure_ascii=False), "\n"])


def read_manifest(directory: Path) -> Manifest | None:
    """The manifest of a directory, `None` if there is none.

    Raises:
        CascadeError: if it cannot be read.
    """
    path = directory / MANIFEST
    if not path.exists():
        return None
    with reading_from(path):
        data = path.read_bytes()
    try:
        manifest = json.loads(data)
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict) or not _all_mappings(manifest.get("cells", {})):
        raise CascadeError(f"{path} is not a manifest; use --fresh to move the directory aside and start over")
    return manifest


def _all_mappings(cells: Any) -> bool:
    return isinstance(cells, dict) and all(isinstance(cell, dict) for cell in cells.values())


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
    for key in ("seed", "engine_version"):
        if old.get(key) != new[key]:
            yield f"{key} is {old.get(key)} there and {new[key]} here"
    for cell_id in cell_ids:
        before = old.get("cells", {}).get(cell_id, {})
        if cell_id not in new["cells"]:
            yield from _cell_differences(before, list(new["cells"].values()), new["config"])
        elif before.get("engine") != new["cells"][cell_id]["engine"]:
            yield f"engine is {before.get('engine')} there and {new['cells'][cell_id]['engine']} here"


def _cell_differences(
    before: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], config: Mapping[str, Any]
) -> Iterator[str]:
    """How a cell that is gone differs from the nearest one of the new config."""
    near = min(cells, key=lambda after: (len(_changed(before, after, GRID)), len(_changed(before, after))))
    place = _changed(before, near, GRID)
    for key in place:
        yield f"{key} {_shown(before.get(key))} is there and not here"
    if not place:
        for key in _changed(before, near):
            yield from _content_difference(key, before, near, config)


def _changed(before: Mapping[str, Any], after: Mapping[str, Any], keys: Sequence[str] | None = None) -> list[str]:
    return [key for key in keys or {**before, **after} if before.get(key) != after.get(key)]


def _content_difference(
    key: str, before: Mapping[str, Any], after: Mapping[str, Any], config: Mapping[str, Any]
) -> Iterator[str]:
    if key != "weights":
        yield f"{key} is {_shown(before.get(key))} there and {_shown(after.get(key))} here"
        return
    name = after["instance"]
    path = next((entry.get("path") for entry in config.get("instances", ()) if entry.get("name") == name), None)
    yield f"the content of the data file {path} has changed" if path else f"the weights of {name} have changed"


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
