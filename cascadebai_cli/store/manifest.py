"""The manifest of a result directory, whether new rows may join those that are there, and merging directories."""

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
from itertools import accumulate, chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.store.columns import CELL, COLUMNS, MANIFEST, PLACE
from cascadebai_cli.store.files import WRITTEN, reading, write_atomically
from cascadebai_cli.study.cells import Cell, weights_key
from cascadebai_cli.study.config import stored_study
from cascadebai_cli.study.fields import Enough, FileName, Text, as_written, says, show
from cascadebai_cli.study.instances import is_named_only
from cascadebai_cli.study.kinds import ALL_AXES
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
_GAP = "gap"
"""Key of the gap of a cell, which follows from its weights and `K`; older manifests lack it."""
_OPEN: dict[str, Any] = {"end": None, "complete": False, "rows_sha256": None}
"""What a manifest says of the tables before they are written."""
_MOST_WEIGHTS = 100_000
"""Largest number of weights that a manifest holds."""
_PACKAGES = ("numpy", "scipy", "pandas", "statsmodels", "joblib", "pydantic")


def _of_each_engine(value: object) -> object:
    return dict.fromkeys(ENGINES, value) if isinstance(value, int) else value


class Manifest(BaseModel):
    """Where the rows of a directory come from."""

    model_config = ConfigDict(strict=True, frozen=True)
    MAKERS: ClassVar = ("git", "versions", "machine", "end")
    """Keys that say how the rows were made."""

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

    @property
    def trials(self) -> int | Enough:
        """The number of trials of each cell, or the rule for it."""
        trials = self.config["trials"]
        return Enough.model_validate(trials) if isinstance(trials, Mapping) else trials

    @property
    def gaps(self) -> dict[str, float | None]:
        """The gap `w(K) - w(K+1)` of each cell; `None` in older manifests."""
        return {cell_id: content.get(_GAP) for cell_id, content in self.cells.items()}

    @classmethod
    def new(cls, config: dict[str, Any], seed: int, cells: Sequence[Cell]) -> Self:
        """Return the manifest of a sweep that starts now, given the resolved study as JSON."""
        return cls(
            config=config,
            config_hash=_hash_of(config),
            seed=seed,
            engine_version={name: ENGINES[name].version for name in sorted({cell.runs_with for cell in cells})},
            versions=_versions(),
            git=_git(Path(__file__).parents[1]),
            machine={
                "node": platform.node(),
                "system": platform.platform(),
                "processor": platform.machine(),
                "cores": os.cpu_count(),
            },
            start=_now(),
            **_OPEN,
            cells={cell.cell_id: cell.content for cell in cells},
            weights=_weights(config, cells),
        )

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Return the manifest of a directory, which may have been edited by hand.

        Raises:
            ConfigError: if it is missing, cannot be read, or holds a value of a kind that no sweep writes.
        """
        path = directory / MANIFEST
        with reading(path) as file:
            return cls.of_bytes(path, file.read())

    @classmethod
    def of_bytes(cls, path: Path, content: bytes) -> Self:
        """Return the manifest that a file holds; errors as for `read`."""
        try:
            found = json.loads(content)
            if _HALF.search(content):
                json.dumps(found, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path}: line {getattr(error, 'lineno', 1)}: not JSON; {_ELSEWHERE}") from error
        try:
            return cls.model_validate(found if isinstance(found, dict) else {})
        except ValidationError as error:
            raise ConfigError(f"{path}: {_fault(error)}") from None

    @classmethod
    def merged(cls, parts: "Sequence[tuple[Path, Manifest]]") -> "Manifest":
        """Return the manifest of several result directories together, not complete and without hashes of tables.

        Args:
            parts: one or more; the study is named after the first.

        Raises:
            ConfigError: if two of them differ (the message names every key), or if a manifest does not describe its
                cells.
        """
        for path, manifest in parts:
            stored_study(manifest.config, path / MANIFEST)
        grids = [manifest.grid(path) for path, manifest in parts]
        _refuse_to_merge(parts)
        manifests = [manifest for _, manifest in parts]
        config = _merged_config([(path, manifest.config) for path, manifest in parts])
        known = {cell_id: content for manifest in manifests[::-1] for cell_id, content in manifest.cells.items()}
        versions = [pair for one in manifests for pair in one.engine_version.items() if pair[0] in one.engines]
        return manifests[0].model_copy(
            update={
                "config": config,
                "config_hash": _hash_of(config),
                "engine_version": dict(versions),
                "start": min(manifest.start for manifest in manifests),
                **_OPEN,
                "tables": {},
                "cells": {cell["cell_id"]: known[cell["cell_id"]] for cell in _ordered(grids)},
                "parts": [{key: getattr(manifest, key) for key in cls.MAKERS} for manifest in manifests],
                "weights": {key: weights for manifest in manifests for key, weights in manifest.weights.items()},
            }
        )

    def closed(self, **tables: Any) -> Self:
        """Return this manifest with what it says of the tables that are written now, and with the time."""
        return self.model_copy(update={"end": self.end or _now(), **tables})

    def write(self, directory: Path, indent: int = 2) -> None:
        """Write `manifest.json`; raise `CascadeError` if that is not possible."""
        kept = {key: value for key, value in self.model_dump().items() if key != "weights" or value}
        text = json.dumps(kept, indent=indent, ensure_ascii=False)
        write_atomically(directory / MANIFEST, [text, "\n"])

    def refuse_mixing(self, directory: Path, old: "Manifest | None", cell_ids: Sequence[str]) -> None:
        """Refuse to add rows to those of another config, whose manifest is `old`.

        Every cell that has rows, one of `cell_ids`, must be here with the same content; there may be more cells. What
        rows do not depend on (names, trials, jobs, backend, paths) may differ.

        Raises:
            ConfigError: if they differ; the message names every key.
        """
        if not cell_ids:
            return
        why = f"trials but no {MANIFEST}, so nobody knows their config"
        if old:
            found = "; ".join(dict.fromkeys(_differences(old, self, cell_ids)))
            why = f"trials of another config: {found}" if found else ""
        if why:
            raise ConfigError(f"{directory} holds {why}; use --fresh to move it aside and start over, or another --out")

    def grid(self, directory: Path) -> list[dict[str, Any]]:
        """Return the columns of each cell, for a manifest that may have been edited by hand; no code or file is loaded.

        Raises:
            ConfigError: if a cell is not described.
        """
        study = self.config.get("study")
        try:
            return [
                _GRID_CELL.model_validate({**content, "study": study, "cell_id": cell_id}).model_dump()
                for cell_id, content in self.cells.items()
            ]
        except ValidationError as error:
            raise ConfigError(f"{directory / MANIFEST}: cells: {_fault(error)}") from None


_FIELDS: dict[str, Any] = {name: (Text if COLUMNS[name].type is str else COLUMNS[name].type, ...) for name in CELL}
_FIELDS |= {"study": (FileName, ...), "budget": (int | None, None)}
_GRID_CELL = create_model("_GRID_CELL", __config__=ConfigDict(strict=True), **_FIELDS)
"""The columns that say which cell a row belongs to."""


def _hash_of(config: Mapping[str, Any]) -> str:
    """Return the hash of a resolved config."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def _now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


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


def _versions() -> dict[str, str]:
    found = {"cascadebai": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


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


def _fault(found: ValidationError) -> str:
    error = found.errors(include_url=False)[0]
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
        """The manifest, `None` if there is none; errors as for `Manifest.read`."""
        return Manifest.of_bytes(self._path, self._content) if self.is_there else None


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


def _refuse_to_merge(parts: Sequence[tuple[Path, Manifest]]) -> None:
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
    differing = (key for key in keys or {**before, **after} if key != _GAP and before.get(key) != after.get(key))
    return [key for key in differing if not key.endswith(Cell.OF_THE_LEARNER) or (key in before and key in after)]


def _shown(value: Any) -> str:
    return as_written(value) if isinstance(value, dict) else "none" if value is None else str(value)


# --- Merging several directories: the configs of parts of a grid, and the order of the cells of all -----------------

_NAMED = ("instances", "learners")
"""Keys that hold entries with names."""
_FREE = ("study", "title", "trials", "plot", "record", "trace_at")
"""Keys that rows do not depend on: the values of the first config are kept, except for the number of trials."""


def _merged_config(configs: Sequence[tuple[Path, _Content]]) -> dict[str, Any]:
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


def _joined(one: _Content, other: _Content, at: str, places: tuple[Path, Path]) -> dict[str, Any]:
    """Return `one` with what only `other` has added to it; `at` begins the message about a difference."""
    return {key: _joined_value(key, one.get(key), other.get(key), at, places) for key in {**one, **other}}


def _joined_value(key: str, mine: Any, theirs: Any, at: str, places: tuple[Path, Path]) -> Any:
    if mine == theirs or not (mine or theirs) or key in _FREE:
        return mine
    if key in _NAMED:
        return _entries(mine, theirs, f"{at}{key[:-1]} ", places)
    if key in ALL_AXES and mine and theirs:
        return _axis(mine, theirs)
    raise ConfigError(
        f"{at}{key} is {show(mine)} in {places[0]} and {show(theirs)} in {places[1]}; leave it out, or sweep it again"
    )


def _entries(one: Sequence[_Content], other: Sequence[_Content], at: str, places: tuple[Path, Path]) -> list[_Content]:
    entries = {entry["name"]: entry for entry in one}
    for entry in other:
        name = entry["name"]
        entries[name] = _joined(entries.get(name, entry), entry, f"{at}'{name}': ", places)
    return list(entries.values())


def _axis(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    values = list(dict.fromkeys([*one, *other]))
    return sorted(values) if list(one) == sorted(one) and list(other) == sorted(other) else values


def _ordered(grids: Sequence[Sequence[_Content]]) -> Iterator[_Content]:
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


def _sorted(parts: Sequence[Sequence[_Content]]) -> list[_Content]:
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
