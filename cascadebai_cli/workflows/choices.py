"""Values that a user may choose from, for completion in a shell."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.columns import MANIFEST, SUMMARY_CSV
from cascadebai_cli.study.document import load_yaml, spread_out
from cascadebai_cli.study.kinds import MEASURES


def names_in(config: Path, key: Literal["instances", "learners"]) -> list[str]:
    """Return the names of the entries under a key of a config; none if it cannot be read."""
    try:
        entries = spread_out(load_yaml(config)).data.get(key)
    except CascadeError:
        return []
    listed = entries if isinstance(entries, list) else []
    return [str(entry["name"]) for entry in listed if isinstance(entry, dict) and "name" in entry]


def columns_of(places: Iterable[Path], way: str, incomplete: str) -> list[str]:
    """Return what a word may become that names a column of a result directory; nothing if that cannot be read.

    Args:
        places: words of the command line, the first directory of a sweep among which counts.
        way: `column`, or `condition` for `COLUMN=VALUE`.
        incomplete: the beginning of the word; the last of several names or values with commas is completed.
    """
    directory = next(filter(is_result_directory, places), Path())
    try:
        with (directory / SUMMARY_CSV).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error):
        return []
    column, equals, typed = incomplete.partition("=")
    if way == "condition" and equals:
        before = typed[: typed.rfind(",") + 1]
        words = [f"{column}={before}{row[column]}" for row in rows if column in row]
    else:
        names = [*({} if way == "condition" else MEASURES), *(rows[0] if rows else ()), "gap"]
        before = incomplete[: incomplete.rfind(",") + 1]
        words = [f"{before}{name}{'=' * (way == 'condition')}" for name in names]
    return [word for word in dict.fromkeys(words) if word.startswith(incomplete)]


def is_result_directory(path: Path) -> bool:
    """Return whether a sweep has written to `path`."""
    return (path / MANIFEST).exists()
