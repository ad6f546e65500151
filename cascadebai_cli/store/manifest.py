"""The manifest of a result directory, and the check that new rows may join those that are there."""

import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.columns import (
    CELL,
    COLUMNS,
    MANIFEST,
    PLACE,
)
from cascadebai_cli.store.files import WRITTEN, reading, write_atomically
from cascadebai_cli.study.cells import Cell, weights_key
from cascadebai_cli.study.fields import FileName, Text, as_written, says, show
from cascadebai_cli.study.instances import is_named_only
from cascadebai_cli.version import __version__

# --- `manifest.json`: where the rows of a directory come from -------------------------------------------------------

_ANEW = "run the sweep again with --fresh"
"""The remedy for a broken manifest: without --fresh, a sweep would not replace it."""
_ELSEWHERE = "sweep into another directory"
"""The remedy for what may be somebody else's."""
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""Beginning of half a character (a surrogate), which JSON can hold and UTF-8 cannot."""
_KINDS = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "greater_than_equal": "0 or more",
    "int_type": "a whole number",
    "string_type": "text",
}
"""Type of pydantic's error -> what the value should be, in words."""
MAKERS = ("git", "versions", "machine", "end")
"""Keys of the manifest that say how the rows were made."""
GAP = "gap"
"""Key of the gap of a cell, which follows from its weights and `K`; older manifests lack it."""
_MOST_WEIGHTS = 100_000
"""Largest number of weights that a manifest holds."""
_PACKAGES = ("numpy", "scipy", "pandas", "statsmodels", "joblib", "pydantic")


def _of_each_engine(value: object) -> object:
    return dict.fromkeys(ENGINES, value) if isinstance(value, int) else value


class Manifest(BaseModel):
    """Where the rows of a directory come from."""

    model_config = ConfigDict(strict=True, frozen=True)

    config: Annotated[dict[str, Any], says("The resolved study.")]
    config_hash: Annotated[str, says("SHA-256 of the resolved study.")]
    seed: Annotated[int, Field(ge=0), says("Root seed of all trials.")]
    engine_version: Annotated[
        dict[str, int],
        BeforeValidator(_of_each_engine, json_schema_input_type=dict[str, int] | int),
        says("Version of each engine that made rows; in older files one number for all of them."),
    ]
    versions: Annotated[
        dict[str, Any], says("Versions of this program, Python and the packages with which the rows were made.")
    ]
    git: Annotated[
        dict[str, Any] | None,
        says("Commit of the program, and whether its files were changed since; none outside a git repository."),
    ]
    machine: Annotated[dict[str, Any], says("Machine on which the rows were made.")]
    start: Annotated[str, says("When the sweep began, in UTC.")]
    end: Annotated[str | None, says("When the tables were written, in UTC; none before that.")]
    complete: Annotated[bool, says("Whether all trials had been run when the tables were written.")]
    rows_sha256: Annotated[
        str | None, says("Hash of the `trials.csv` from which the other tables were made; none before that.")
    ]
    tables: Annotated[dict[str, str], says("Name of each other table and its hash.")] = Field(default_factory=dict)
    cells: Annotated[dict[str, dict[str, Any]], says("Id of each cell, and all that its rows depend on.")]
    parts: Annotated[list[dict[str, Any]], says("For each directory merged into this one, how its rows were made.")] = (
        Field(default_factory=list)
    )
    weights: Annotated[
        dict[str, list[float]], says("Weights by their hash, for instances whose file or code the config only names.")
    ] = Field(default_factory=dict)

    @property
    def engines(self) -> set[str]:
        """Names of the engines that the cells run with."""
        return {str(content.get("engine")) for content in self.cells.values()}


_FIELDS: dict[str, Any] = {name: (Text if COLUMNS[name].type is str else COLUMNS[name].type, ...) for name in CELL}
_FIELDS |= {"study": (FileName, ...), "budget": (int | None, None)}
_GRID_CELL = create_model("_GRID_CELL", __config__=ConfigDict(strict=True), **_FIELDS)
"""The columns that say which cell a row belongs to."""


def grid_of(directory: Path, manifest: Manifest) -> list[dict[str, Any]]:
    """Return the columns of each cell of a manifest, which may have been edited by hand; no code or file is loaded.

    Raises:
        ConfigError: if a cell is not described.
    """
    study = manifest.config.get("study")
    try:
        return [
            _GRID_CELL.model_validate({**content, "study": study, "cell_id": cell_id}).model_dump()
            for cell_id, content in manifest.cells.items()
        ]
    except ValidationError as error:
        fault = _fault(error.errors(include_url=False)[0])
        raise ConfigError(f"{directory / MANIFEST}: cells: {fault}") from None


def hash_of(config: Mapping[str, Any]) -> str:
    """Return the hash of a resolved config."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def new_manifest(config: dict[str, Any], seed: int, cells: Sequence[Cell]) -> Manifest:
    """Return the manifest of a sweep that starts now.

    Args:
        config: the resolved study, as JSON.
    """
    return Manifest(
        config=config,
        config_hash=hash_of(config),
        seed=seed,
        engine_version={name: ENGINES[name].version for name in sorted({cell.runs_with for cell in cells})},
        versions=_versions(),
        git=_git(Path(__file__).parents[1]),
        machine=_machine(),
        start=now(),
        end=None,
        complete=False,
        rows_sha256=None,
        cells={cell.cell_id: cell.content for cell in cells},
        weights=_weights(config, cells),
    )


def _weights(config: Mapping[str, Any], cells: Sequence[Cell]) -> dict[str, list[float]]:
    """Return the weights that do not follow from the config, up to the number that a manifest holds."""
    named = {entry["name"] for entry in config["instances"] if is_named_only(entry)}
    found = {weights_key(cell.weights): cell.weights for cell in cells if cell.instance in named}
    totals = accumulate(map(len, found.values()))
    return {
        key: weights.tolist()
        for (key, weights), total in zip(found.items(), totals, strict=True)
        if total <= _MOST_WEIGHTS
    }


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions() -> dict[str, str]:
    found = {"cascadebai": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
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
    """Return the commit of the code and whether it was changed since; `None` if the code is in no repository."""
    try:
        _ask_git(directory, "ls-files", "--error-unmatch", "__init__.py")
        commit = _ask_git(directory, "rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_ask_git(directory, "status", "--porcelain", "-uno"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _ask_git(directory: Path, *arguments: str) -> str:
    command = ["git", "-C", str(directory), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=10).stdout.strip()


def write_manifest(directory: Path, manifest: Manifest, indent: int = 2) -> None:
    """Write `manifest.json`.

    Raises:
        CascadeError: if that is not possible.
    """
    kept = {key: value for key, value in manifest.model_dump().items() if key != "weights" or value}
    text = json.dumps(kept, indent=indent, ensure_ascii=False)
    write_atomically(directory / MANIFEST, [text, "\n"])


def read_manifest(directory: Path) -> Manifest:
    """Return the manifest of a directory, which may have been edited by hand.

    Raises:
        ConfigError: if it is missing, cannot be read, or holds a value of a kind that no sweep writes.
    """
    path = directory / MANIFEST
    with reading(path) as file:
        return _manifest(path, file.read())


def _manifest(path: Path, content: bytes) -> Manifest:
    try:
        found = json.loads(content)
        if _HALF.search(content):
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: line {getattr(error, 'lineno', 1)}: not JSON; {_ELSEWHERE}") from error
    try:
        return Manifest.model_validate(found if isinstance(found, dict) else {})
    except ValidationError as error:
        raise ConfigError(f"{path}: {_fault(error.errors(include_url=False)[0])}") from None


def _fault(error: ErrorDetails) -> str:
    key = ".".join(map(str, error["loc"]))
    if error["type"] == "missing":
        return f"key {key} is missing, as in no manifest of a sweep; {_ELSEWHERE}"
    return f"{key}: {show(error['input'])} is not {_KINDS.get(error['type'], 'valid')}; {_ANEW}"


# --- What a directory holds before a sweep writes to it: files that no sweep made stay untouched --------------------

_MARKS = {"config", "config_hash", "engine_version"}
"""Keys that every manifest of a sweep has, and other files of this name do not."""


class Earlier:
    """The manifest that a directory has when this is made, if any; the file is read once.

    Raises:
        ConfigError: if the directory has files with names that a sweep writes, and no manifest of a sweep.
    """

    def __init__(self, directory: Path) -> None:
        self._path, self._state, self._content = directory / MANIFEST, _state(directory / MANIFEST), b""
        if self.is_there:
            with reading(self._path) as file:
                self._content = file.read()
        found = [name for name in WRITTEN if (directory / name).exists()]
        if found and not _has_marks(self._content):
            broken = f"{self._path} is damaged, or is not the manifest of a sweep; nothing in {directory}"
            none = f"{directory} holds a {found[0]}, but no {MANIFEST} that says that a sweep made it; nothing there"
            raise ConfigError(f"{broken if self.is_there else none} is touched: name another directory with --out")

    @property
    def is_there(self) -> bool:
        """Whether there is a manifest."""
        return self._state is not None

    @property
    def is_current(self) -> bool:
        """Whether the file has not been changed since."""
        return self._state == _state(self._path)

    @cached_property
    def manifest(self) -> Manifest | None:
        """The manifest, `None` if there is none; errors as for `read_manifest`."""
        return _manifest(self._path, self._content) if self.is_there else None


def _state(path: Path) -> tuple[int, ...] | None:
    """Return numbers that change when a file is written to or replaced; `None` if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _has_marks(content: bytes) -> bool:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and set(found) >= _MARKS


# --- Whether rows may join those of another sweep: all that they depend on must be the same -------------------------

_Content = Mapping[str, Any]
"""A cell as a manifest has it (`Cell.content`)."""


class _Places(NamedTuple):
    """The words for the two sides in a sentence."""

    one: str = "there"
    other: str = "here"


_HERE = _Places()
"""The words for a directory (there) and the sweep that is to write to it (here)."""


def refuse_mixing(directory: Path, old: Manifest | None, new: Manifest, cell_ids: Sequence[str]) -> None:
    """Refuse to add rows to those of another config.

    Every cell that has rows must be in the new config with the same content; the new config may have more cells.
    What rows do not depend on (names, trials, jobs, backend, paths) may differ.

    Args:
        cell_ids: cells with rows in the directory.

    Raises:
        ConfigError: if they differ; the message names every key.
    """
    if not cell_ids:
        return
    found = "; ".join(dict.fromkeys(_differences(old, new, cell_ids))) if old else ""
    if found or old is None:
        why = f"trials of another config: {found}" if old else f"trials but no {MANIFEST}, so nobody knows their config"
        raise ConfigError(f"{directory} holds {why}; use --fresh to move it aside and start over, or another --out")


def refuse_to_merge(parts: Sequence[tuple[Path, Manifest]]) -> None:
    """Refuse a directory that differs from those before it in something that rows depend on.

    Raises:
        ConfigError: if one does; the message names every key.
    """
    first: dict[tuple[Any, ...], tuple[Path, Mapping[str, Any]]] = {}
    for path, manifest in parts:
        found = list(_maker_differences(parts[0][1], manifest, _in_words(parts[0][0], path)))
        for key, facts in _facts(manifest):
            where, before = first.setdefault(key, (path, facts))
            if before != facts:
                found += _content_differences(before, facts, manifest.config, _in_words(where, path))
        if found:
            raise ConfigError(
                f"{path} cannot be merged: {'; '.join(dict.fromkeys(found))}; leave it out, or sweep it again"
            )


def _in_words(one: Path, other: Path) -> _Places:
    return _Places(f"in {one}", f"in {other}")


def _facts(manifest: Manifest) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """Yield what must be the same in all parts: for each cell, point of the grid, learner and data file."""
    files = {entry["name"] for entry in manifest.config["instances"] if entry.get("path")}
    for cell_id, content in manifest.cells.items():
        yield ("cell", cell_id), {"engine": content.get("engine")}
        yield ("point", *(content.get(key) for key in PLACE)), content
        yield ("learner", content.get("learner")), {"code": content.get("code"), Cell.RULE: content.get(Cell.RULE, 1)}
        if (instance := content.get("instance")) in files:
            yield ("file", instance, content.get("L")), {"instance": instance, "weights": content.get("weights")}


def _differences(old: Manifest, new: Manifest, cell_ids: Sequence[str]) -> Iterator[str]:
    yield from _maker_differences(old, new)
    for cell_id in cell_ids:
        before, after = old.cells.get(cell_id, {}), new.cells.get(cell_id)
        if after is None:
            yield from _cell_differences(before, list(new.cells.values()), new.config)
        else:
            yield from _content_differences(before, after, new.config, keys=("engine", Cell.RULE))


def _maker_differences(old: Manifest, new: Manifest, places: _Places = _HERE) -> Iterator[str]:
    """Yield how the seeds of two sweeps differ, and the versions of the engines that both need."""
    if old.seed != new.seed:
        yield f"seed is {old.seed} {places.one} and {new.seed} {places.other}"
    for engine in sorted(old.engines & new.engines):
        one, other = old.engine_version.get(engine), new.engine_version.get(engine)
        if one != other:
            yield f"engine {engine} has version {one} {places.one} and {other} {places.other}"


def _cell_differences(before: _Content, cells: Sequence[_Content], config: _Content) -> Iterator[str]:
    """Yield how a cell that the new config lacks differs from its nearest one, as far as the manifest tells."""
    places = [[key for key in PLACE if before.get(key) != cell.get(key)] for cell in cells]
    least = min(map(len, places))
    nearest = [(cell, place) for cell, place in zip(cells, places, strict=True) if len(place) == least]
    near, place = min(nearest, key=lambda found: len(_changed(before, found[0])))
    for key in place:
        yield f"{key} {_shown(before.get(key))} is there and not here"
    if not place:
        told = list(_content_differences(before, near, config))
        yield from told or [f"{before.get('learner')} has other options than there"]


def _content_differences(
    before: _Content, after: _Content, config: _Content, places: _Places = _HERE, keys: Sequence[str] | None = None
) -> Iterator[str]:
    """Yield how two cells differ in some keys, by default in all; `config` is that of the second."""
    for key in _changed(before, after, keys):
        if key == "weights":
            name = after["instance"]
            path = next((entry.get("path") for entry in config.get("instances", ()) if entry.get("name") == name), None)
            yield f"the content of the data file {path} has changed" if path else f"the weights of {name} have changed"
        else:
            one, other = (_shown(cell.get(key, 1 if key == Cell.RULE else None)) for cell in (before, after))
            yield f"{key} is {one} {places.one} and {other} {places.other}"


def _changed(before: _Content, after: _Content, keys: Sequence[str] | None = None) -> list[str]:
    """Return the keys whose values differ; a key that older manifests lack does not count."""
    differing = (key for key in keys or {**before, **after} if key != GAP and before.get(key) != after.get(key))
    return [key for key in differing if not key.endswith(Cell.OF_THE_LEARNER) or (key in before and key in after)]


def _shown(value: Any) -> str:
    return as_written(value) if isinstance(value, dict) else "none" if value is None else str(value)
