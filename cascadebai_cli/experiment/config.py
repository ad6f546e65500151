"""Reading a config: a `Study` that is valid at every point of its grid, or one line that says what is wrong."""

from pathlib import Path

from pydantic import ValidationError

from cascadebai_cli.engines.simulate import resolve_engine
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.experiment.cells import Cell, cells_of
from cascadebai_cli.experiment.instances import GridError
from cascadebai_cli.experiment.messages import path_of, sentence
from cascadebai_cli.experiment.study import Study
from cascadebai_cli.experiment.yaml_lines import Document, load_yaml

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
        found = [(path_of(e, data), sentence(e)) for e in error.errors(include_url=False)]
        path, text = min(found, key=lambda f: document.line(f[0]))
        raise ConfigError(document.message(path, text)) from None


def _check_grid(study: Study, document: Document) -> None:
    try:
        for cell in cells_of(study):
            _check_learner(study, cell)
    except GridError as error:
        raise ConfigError(document.message(error.at, str(error))) from None


def _check_learner(study: Study, cell: Cell) -> None:
    """A learner may refuse values that only it knows about, and so may an engine a learner."""
    try:
        resolve_engine(cell.engine, cell.spec.build(cell.L, cell.K, cell.delta, cell.epsilon), cell.feedback)
    except ConfigError as error:
        position = [entry.name for entry in study.learners].index(cell.learner)
        raise GridError(f"'{cell.learner}': {error}", "learners", position) from None
