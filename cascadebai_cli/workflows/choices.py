"""Values that a user may choose from, for completion in a shell."""

from pathlib import Path
from typing import Literal

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.columns import MANIFEST
from cascadebai_cli.study.document import load_yaml
from cascadebai_cli.study.fields import spread_out


def names_in(config: Path, key: Literal["instances", "learners"]) -> list[str]:
    """Return the names of the entries under a key of a config; none if it cannot be read."""
    try:
        entries = spread_out(load_yaml(config)).data.get(key)
    except CascadeError:
        return []
    listed = entries if isinstance(entries, list) else []
    return [str(entry["name"]) for entry in listed if isinstance(entry, dict) and "name" in entry]


def is_result_directory(path: Path) -> bool:
    """Return whether a sweep has written to `path`."""
    return (path / MANIFEST).exists()
