"""Reading a config: a `Study` that is valid at every point of its grid, or one line that says what is wrong."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cascadebai_cli.engines.simulate import resolve_engine
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.plugins import is_plugin
from cascadebai_cli.study.cells import Cell, cells_of
from cascadebai_cli.study.instances import GridError
from cascadebai_cli.study.messages import path_of, sentence
from cascadebai_cli.study.study import LearnerEntry, Study
from cascadebai_cli.study.yaml_lines import Document, KeyPath, load_yaml

__all__ = ["Study", "load_study"]


def load_study(path: Path | str) -> Study:
    """The study of a YAML file.

    Raises:
        ConfigError: one line `file:line: key: value and remedy` for the first mistake of the file.
    """
    path = Path(path)
    document = load_yaml(path)
    study = _study(document, path.stem)
    study._folder = path.parent
    _check_grid(study, document)
    return study


def _study(document: Document, name: str) -> Study:
    data = {"study": name, **document.data}
    try:
        return Study.model_validate(data)
    except ValidationError as error:
        path, text = min(mistakes(error, data), key=lambda found: document.line(found[0]))
        raise ConfigError(document.message(path, text)) from None


def mistakes(error: ValidationError, data: Any) -> list[tuple[KeyPath, str]]:
    """Place and sentence of each mistake that pydantic found in `data`."""
    return [(path_of(e, data), sentence(e)) for e in error.errors(include_url=False)]


def with_plugins(study: Study, names: Sequence[str]) -> Study:
    """The study with further learners, `module:Class` each, called by the name of the class.

    Raises:
        ConfigError: if one cannot be imported or made, or its name is taken.
    """
    for name in names:
        entry = _plugin_entry(study, name)
        folder, study = study.folder, study.model_copy(update={"learners": (*study.learners, entry)})
        study._folder = folder
        try:
            for cell in cells_of(study):
                check_learner(study, cell)
        except GridError as error:
            raise ConfigError(f"--plugin {name}: {error}") from None
    return study


def _plugin_entry(study: Study, name: str) -> LearnerEntry:
    if not is_plugin(name):
        raise ConfigError(f"--plugin {name} names no class; write module:Class, such as folder.file:Class")
    called = name.rpartition(":")[2]
    if called in [entry.name for entry in study.learners]:
        raise ConfigError(f"--plugin {name}: the study has a learner '{called}' already; rename one of the two")
    try:
        return LearnerEntry.model_validate({"name": called, "algorithm": name})
    except ValidationError as error:
        raise ConfigError(f"--plugin {sentence(error.errors(include_url=False)[0])}") from None


def _check_grid(study: Study, document: Document) -> None:
    try:
        for cell in cells_of(study):
            check_learner(study, cell)
    except GridError as error:
        raise ConfigError(document.message(error.at, str(error))) from None


def check_learner(study: Study, cell: Cell) -> None:
    """A learner may refuse values that only it knows about, and so may an engine a learner.

    Raises:
        GridError: if one does.
    """
    try:
        resolve_engine(cell.engine, cell.spec.build(cell.L, cell.K, cell.delta, cell.epsilon), cell.feedback)
    except ConfigError as error:
        position = [entry.name for entry in study.learners].index(cell.learner)
        raise GridError(f"'{cell.learner}': {error}", "learners", position) from None
