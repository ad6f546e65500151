"""What a shell offers behind a tab: configs, result directories, kinds of figures, names of a config."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import typer

SUFFIXES = (".yaml", ".yml")


def configs(incomplete: str) -> list[str]:
    """YAML files, and directories on the way to some."""
    return [text for text, path in _paths(incomplete) if path.is_dir() or path.suffix in SUFFIXES]


def result_directories(incomplete: str) -> list[str]:
    """Directories of sweeps, and others on the way to some."""
    from cascadebai_cli.workflows.choices import is_result_directory

    folders = [(text, path) for text, path in _paths(incomplete) if path.is_dir()]
    return [text.rstrip("/") if is_result_directory(path) else text for text, path in folders]


def kinds(incomplete: str) -> list[str]:
    """Kinds of figures."""
    from cascadebai_cli.workflows.choices import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


def names_in(key: Literal["instances", "learners"]) -> Callable[[typer.Context, str], list[str]]:
    """Names of the entries under a key of the config that stands on the same command line."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        from cascadebai_cli.workflows.choices import names_in

        config = context.params.get("config") or _typed_config(context)
        return [name for name in names_in(Path(str(config)), key) if name.startswith(incomplete)] if config else []

    return complete


def _typed_config(context: typer.Context) -> str | None:
    """The config among the words: behind an option that waits for its value arguments are not parsed."""
    words = context.parent.args if context.parent else []
    return next((word for word in words if Path(word).suffix in SUFFIXES), None)


def _paths(incomplete: str) -> Iterator[tuple[str, Path]]:
    """Visible entries of a folder that begin so, as they would be typed; a directory with a slash behind it."""
    folder, slash, start = incomplete.rpartition("/")
    place = Path(folder or slash or ".")
    try:
        found = sorted(place.iterdir())
    except OSError:
        return
    for path in found:
        if path.name.startswith(start) and not path.name.startswith("."):
            yield f"{folder}{slash}{path.name}{'/' * path.is_dir()}", path
