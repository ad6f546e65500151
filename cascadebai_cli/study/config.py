"""Reading a config: a `Study` that is valid at every point of its grid, or one line that says what is wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.own_code import is_own
from cascadebai_cli.study.document import END, Document, KeyPath, Override, load_yaml, read_value
from cascadebai_cli.study.fields import Context
from cascadebai_cli.study.messages import mistakes
from cascadebai_cli.study.plain import plain
from cascadebai_cli.study.spread import spread_out
from cascadebai_cli.study.study import DEFAULT_LEARNER, Study

__all__ = ["Override", "Study", "load_study", "own_learner", "setting", "stored_study", "study_of"]


NOTHING: Mapping[KeyPath, str] = MappingProxyType({})


def load_study(path: Path | str, overrides: Sequence[Override] = ()) -> Study:
    """The study of a YAML file with values of the command line put in.

    Raises:
        ConfigError: one line `file:line: key: value and remedy`, or `option value and remedy`, for the first mistake.
    """
    path = Path(path)
    return _validated(load_yaml(path), overrides, path.stem, path.parent)


def study_of(
    given: Mapping[str, Any],
    overrides: Sequence[Override] = (),
    name: str = "study",
    called: Mapping[KeyPath, str] = NOTHING,
) -> Study:
    """The study of a config that is given as values of Python.

    Args:
        given: keys and values as a YAML file would have them; arrays and numbers of any kind are taken (`plain`).
        overrides: values in place of these.
        name: of the study, if it has none.
        called: what a message about a value begins with, in place of the keys to it.

    Raises:
        ConfigError: `instances.0.name: value and remedy`, or `option value and remedy`, for the first mistake.
    """
    return _validated(Document("", plain(given), {}, called), overrides, name, Path())


def _validated(document: Document, overrides: Sequence[Override], name: str, folder: Path) -> Study:
    document = replace(document, data={"study": name, "learners": [DEFAULT_LEARNER], **document.data})
    document = spread_out(reduce(Document.with_override, overrides, document))
    try:
        return Study.model_validate(document.data, context=Context(folder))
    except ValidationError as error:
        at, text = min(mistakes(error, document.data), key=lambda found: document.line(found[0]))
        raise ConfigError(document.message(at, text)) from None


def own_learner(name: str) -> Override:
    """A further learner, `module:Class`, called by the name of the class.

    Raises:
        ConfigError: if the name is not of that form.
    """
    if not is_own(name):
        raise ConfigError(f"--plugin {name} names no class; write module:Class, such as folder.file:Class")
    return Override("--plugin", ("learners", END), {"name": name.rpartition(":")[2], "algorithm": name})


def setting(text: str) -> Override:
    """A value of a config in place of that of the file, `delta=0.05` or `instances.0.w_star=1/K`.

    Raises:
        ConfigError: if it names no key, or the value is not YAML.
    """
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise ConfigError(f"--set {text}: names no key and value; write KEY=VALUE, such as delta=0.05")
    try:
        return Override(f"--set {key}:", tuple(key.split(".")), read_value(value))
    except ConfigError as error:
        raise ConfigError(f"--set {key}: {error}") from None


def stored_study(config: Mapping[str, Any], where: Path, folder: Path | None = None) -> Study:
    """The study of the resolved config of a manifest, as this code reads it.

    Args:
        config: as `Study.model_dump` gave it.
        where: the file that holds it, for the message.
        folder: from which the paths in it count; without it the study is not to be run: it has no cells, algorithms
            that are not this program's are taken as they are, and nothing that the config names is opened or imported.

    Raises:
        ConfigError: if it is not valid any more.
    """
    try:
        return Study.model_validate(config, context=Context(folder or Path(), runs=folder is not None))
    except ValidationError as error:
        at, text = mistakes(error, config)[0]
        raise ConfigError(f"{where}: the config is not valid any more: {'.'.join(map(str, at))}: {text}") from None
