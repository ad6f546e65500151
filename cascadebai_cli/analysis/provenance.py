"""Facts about what was run and where its numbers come from: name -> text."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cascadebai_cli.analysis.bounds import weights_of
from cascadebai_cli.analysis.results import StudyResults
from cascadebai_cli.model.problem import CASCADING, FloatArray
from cascadebai_cli.study.axes import AXES
from cascadebai_cli.study.fields import Enough, Entry, as_written
from cascadebai_cli.text import count, number, parameter

_UNKNOWN = "unknown"

_Facts = dict[str, str]


def settings(results: StudyResults) -> _Facts:
    """Return the config in words: grid, trials, cap, instances with their weights, learners with their options."""
    study = results.study
    facts = {name: spans(results.summary[name].unique().tolist()) for name in ("L", "K")}
    facts |= {name: ", ".join(map(parameter, getattr(study, name))) for name in AXES if name not in facts}
    facts |= {
        "trials a cell": _trials(study.trials),
        "cap on the steps": count(study.max_steps) if study.max_steps else "none",
        "order of the items": study.order,
        "engine": study.engine,
        "rewards": str(study.rewards or "independent"),
    }
    facts |= {"feedback": study.feedback} if study.feedback != CASCADING.name else {}
    facts |= {"users": as_written(study.users.model_dump(mode="json"))} if study.users else {}
    facts |= {f"instance {name}": _words(entry) for name, entry in results.instances.items()}
    return facts | {f"learner {name}": _words(entry) for name, entry in results.learners.items()}


def weights_in_words(results: StudyResults) -> Iterator[tuple[str, str, str, str]]:
    """Yield instance, `L`, `K` and the weights in descending order, once for each; nothing where they are not known."""
    seen = set()
    for cell in results.summary.to_dict("records"):
        name, L, K = place = cell["instance"], cell["L"], cell["K"]
        key = str(results.manifest.cells.get(cell["cell_id"], {}).get("weights", ""))
        weights = None if place in seen else weights_of(results, name, L, K, key)
        seen.add(place)
        if weights is not None:
            yield str(name), str(L), str(K), _levels(weights)


def _levels(weights: FloatArray, most: int = 12) -> str:
    """Return weights in descending order, equal ones once with their number."""
    levels, times = np.unique(weights, return_counts=True)
    words = [
        number(float(level)) + (f" ({n} items)" if n > 1 else "")
        for level, n in zip(levels[::-1], times[::-1], strict=True)
    ]
    rest = [f"... {number(float(levels[0]))} ({count(len(words))} different ones)"] if len(words) > most else []
    return ", ".join([*words[:most], *rest])


def _trials(trials: int | Enough) -> str:
    if isinstance(trials, int):
        return count(trials)
    aims = trials.model_dump(exclude_none=True)
    return ", ".join(f"{name.replace('_', ' ')} {parameter(value)}" for name, value in aims.items())


def provenance(results: StudyResults) -> _Facts:
    """Return hashes, seed, versions, commit, machine and dates of a sweep."""
    manifest = results.manifest
    return {
        "hash of the config": manifest.config_hash,
        "hash of the rows (trials.csv)": results.rows_sha256,
        "root seed": str(manifest.seed),
        "engine version": _pairs(manifest.engine_version),
        "versions": _pairs(manifest.versions),
        "git commit": commit_text(manifest.git),
        "machine": _machine(manifest.machine),
        **({"merged from": f"{len(manifest.parts)} directories"} if manifest.parts else {}),
        "started": manifest.start,
        "ended": manifest.end or _UNKNOWN,
        "complete": "yes" if manifest.complete else "no",
    }


def spans(values: Sequence[int]) -> str:
    """Return whole numbers in short: `20 to 60`, `20 to 60 in steps of 10`, or a list."""
    ordered = sorted(values)
    steps = {b - a for a, b in pairwise(ordered)}
    if len(ordered) > 2 and len(steps) == 1:
        step = steps.pop()
        return f"{ordered[0]} to {ordered[-1]}" + (f" in steps of {step}" if step > 1 else "")
    return ", ".join(map(str, values))


def _words(entry: Entry) -> str:
    """Return the keys of an entry that are set, apart from its name and its `fit`."""
    values = entry.model_dump(mode="json", exclude={"name", "fit"})
    return ", ".join(_word(key, value) for key, value in values.items() if value not in (None, []))


def _word(key: str, value: Any) -> str:
    if key in ("family", "algorithm"):
        return str(value)
    if key == "weights" and isinstance(value, list) and len(value) > 6:
        return f"{len(value)} weights"
    return f"{key} = {', '.join(map(str, value)) if isinstance(value, list) else as_written(value)}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items()) or _UNKNOWN


def commit_text(git: Mapping[str, Any] | None, digits: int | None = None) -> str:
    """Return a commit, cut to `digits` if given, and whether the code was changed since."""
    if not git:
        return _UNKNOWN
    return f"{str(git.get('commit', _UNKNOWN))[:digits]}{', with changes' if git.get('dirty') else ''}"


def _machine(machine: Mapping[str, Any]) -> str:
    """Return the machine in words, without its name, which says nothing about the numbers."""
    system, processor, cores = (machine.get(name, _UNKNOWN) for name in ("system", "processor", "cores"))
    return f"{system}, {processor}, {cores} cores"
