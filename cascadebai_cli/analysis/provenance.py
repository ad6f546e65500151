"""What was run and where the numbers come from, as pairs of a name and a text."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from cascadebai_cli.store.directory import Results
from cascadebai_cli.text.numbers import count, parameter

UNKNOWN = "unknown"

Facts = dict[str, str]


def settings(results: Results) -> Facts:
    """The config in words: grid, trials, cap, instances with their weights, learners with their options."""
    config = results.config
    facts = {
        "L": spans(results.summary["L"].unique().tolist()),
        "K": spans(results.summary["K"].unique().tolist()),
        "delta": _listed(config.get("delta")),
        "epsilon": _listed(config.get("epsilon")),
        "trials a cell": str(config.get("trials", UNKNOWN)),
        "cap on the steps": count(config["max_steps"]) if config.get("max_steps") else "none",
        "order of the items": str(config.get("order", "random")),
        "engine": str(config.get("engine", "auto")),
    }
    facts |= {f"instance {name}": _words(entry) for name, entry in results.instances.items()}
    return facts | {f"learner {name}": _words(entry) for name, entry in results.learners.items()}


def provenance(results: Results) -> Facts:
    """Hashes, seed, versions, commit, machine and dates of a sweep."""
    manifest = results.manifest
    return {
        "hash of the config": manifest.config_hash,
        "hash of the rows (trials.csv)": results.rows_sha256,
        "root seed": str(manifest.seed),
        "engine version": _pairs(manifest.engine_version),
        "versions": _pairs(manifest.versions),
        "git commit": commit_text(manifest.git),
        "machine": _machine(manifest.machine),
        "started": manifest.start,
        "ended": manifest.end or UNKNOWN,
        "complete": "yes" if manifest.complete else "no",
    }


def spans(values: Sequence[int]) -> str:
    """Whole numbers in short: `20 to 60`, `20 to 60 in steps of 10`, or a list."""
    ordered = sorted(values)
    steps = {b - a for a, b in pairwise(ordered)}
    if len(ordered) > 2 and len(steps) == 1:
        step = steps.pop()
        return f"{ordered[0]} to {ordered[-1]}" + (f" in steps of {step}" if step > 1 else "")
    return ", ".join(map(str, values))


def _listed(values: Any) -> str:
    return ", ".join(map(parameter, values)) if isinstance(values, list | tuple) else str(values or UNKNOWN)


def _words(entry: Mapping[str, Any]) -> str:
    """The keys of an entry that are set, apart from its name and what it is compared with."""
    return ", ".join(_word(key, value) for key, value in entry.items() if key not in ("name", "fit") and _is_set(value))


def _is_set(value: Any) -> bool:
    return value is not None and value != []


def _word(key: str, value: Any) -> str:
    if key in ("family", "algorithm"):
        return str(value)
    if key == "weights" and isinstance(value, list) and len(value) > 6:
        return f"{len(value)} weights"
    return f"{key} = {', '.join(map(str, value)) if isinstance(value, list) else value}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items()) or UNKNOWN


def commit_text(git: Mapping[str, Any] | None, digits: int | None = None) -> str:
    """A commit, its first digits only if their number is given, and whether the code was changed since."""
    if not git:
        return UNKNOWN
    return f"{str(git.get('commit', UNKNOWN))[:digits]}{', with changes' if git.get('dirty') else ''}"


def _machine(machine: Mapping[str, Any]) -> str:
    """Without the name of the machine, which says nothing about the numbers."""
    return (
        f"{machine.get('system', UNKNOWN)}, {machine.get('processor', UNKNOWN)}, {machine.get('cores', UNKNOWN)} cores"
    )
