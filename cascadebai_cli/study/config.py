"""Reading a config: values of the command line are put in, and the whole is validated once."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.own import is_own
from cascadebai_cli.study.document import END, Document, Override, load_yaml, read_value, spread_out
from cascadebai_cli.study.fields import Context, KeyPath, mistakes, show
from cascadebai_cli.study.study import DEFAULT_LEARNER, Study
from cascadebai_cli.text import for_table, quoted, shortened

__all__ = ["Override", "Study", "load_study", "setting", "stored_study", "study_of"]

# --- Values of Python, converted to those that YAML would give: arrays, fractions and paths may stand in a study ----

_DEEPEST, _MOST_BITS = 20, 10_000
"""Largest depth of lists and mappings (a config has four levels), and largest size of whole numbers."""


def plain_value(value: Any, *at: str | int) -> Any:
    """Return a value with Python's own numbers, lists, and mappings with keys of text; anything else stays as it is.

    What has a method `tolist`, such as an array or a column of a table, becomes a list or a number; `NA` of pandas
    becomes `None`.

    Args:
        at: where it stands, for messages.

    Raises:
        ConfigError: if it contains itself, or something that no config can hold.
    """
    if len(at) > _DEEPEST:
        raise _no_value(at[:1], "holds itself or is nested too deeply; a config has four levels")
    if isinstance(value, Mapping):
        return {str(key): plain_value(part, *at, str(key)) for key, part in value.items()}
    if hasattr(value, "tolist") and not isinstance(value, type):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [plain_value(part, *at, i) for i, part in enumerate(value)]
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral | Real | Decimal):
        return _plain_number(value, at)
    if type(value).__name__ == "NAType":
        return None
    if isinstance(value, str) and any("\ud800" <= sign <= "\udfff" for sign in value):
        raise _no_value(at, f"{show(value)} has half a character, which no file can hold; write another text")
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _plain_number(value: Any, at: KeyPath) -> int | float:
    try:
        if isinstance(value, Integral):
            if (whole := int(value)).bit_length() > _MOST_BITS:
                raise OverflowError
            return whole
        return float(value)
    except OverflowError:
        raise _no_value(at, "is a number of thousands of digits; write a smaller one") from None
    except (TypeError, ValueError):
        raise _no_value(at, f"{quoted(value)} is not a number; write one such as 0.1") from None


def _no_value(at: KeyPath, text: str) -> ConfigError:
    return ConfigError(f"{for_table(shortened('.'.join(map(str, at))))}: {text}" if at else f"a value {text}")


# --- Reading a config: the result is a `Study` that is valid at every point of its grid, or one line of error -------

_NO_CALLS: Mapping[KeyPath, str] = MappingProxyType({})


def load_study(path: Path | str, overrides: Sequence[Override] = ()) -> Study:
    """Return the study of a YAML file, with values of the command line put in.

    Raises:
        ConfigError: one line `file:line: key: value and remedy`, or `option value and remedy`, for the first mistake.
    """
    path = Path(path)
    return _validated(load_yaml(path), overrides, path.stem, path.parent)


def study_of(
    given: Mapping[str, Any],
    overrides: Sequence[Override] = (),
    name: str = "study",
    called: Mapping[KeyPath, str] = _NO_CALLS,
) -> Study:
    """Return the study of a config that is given as values of Python.

    Args:
        given: keys and values as a YAML file would have them, or values that `plain_value` converts to these.
        overrides: values that replace some of these.
        name: name of the study, if `given` has none.
        called: keys to a value -> the words with which a message about it begins instead.

    Raises:
        ConfigError: `instances.0.name: value and remedy`, or `option value and remedy`, for the first mistake.
    """
    return _validated(Document("", plain_value(given), {}, called), overrides, name, Path())


def _validated(document: Document, overrides: Sequence[Override], name: str, folder: Path) -> Study:
    document = replace(document, data={"study": name, "learners": [DEFAULT_LEARNER], **document.data})
    document = spread_out(reduce(Document.with_override, overrides, document))
    try:
        return Study.model_validate(document.data, context=Context(folder))
    except ValidationError as error:
        at, text = min(mistakes(error, document.data), key=lambda found: document.line(found[0]))
        raise ConfigError(document.message(at, text)) from None


def own_learner(name: str) -> Override:
    """Return the override that adds a learner `module:Class`, named after the class."""
    if not is_own(name):
        raise ConfigError(f"--plugin {name} names no class; write module:Class, such as folder.file:Class")
    return Override("--plugin", ("learners", END), {"name": name.rpartition(":")[2], "algorithm": name})


def setting(text: str) -> Override:
    """Return the override of a text such as `delta=0.05` or `instances.0.w_star=1/K`.

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
    """Return the study of the resolved config of a manifest.

    Args:
        folder: folder to which its paths are relative. Without one the study cannot be run: it has no cells, users'
            algorithms are not checked, and no file or code that the config names is opened or imported.

    Raises:
        ConfigError: if it is not valid any more.
    """
    try:
        return Study.model_validate(config, context=Context(folder or Path(), runs=folder is not None))
    except ValidationError as error:
        at, text = mistakes(error, config)[0]
        raise ConfigError(f"{where}: the config is not valid any more: {'.'.join(map(str, at))}: {text}") from None


# --- A config with values that the caller has given in place of its own ---------------------------------------------


@dataclass(frozen=True)
class Given:
    """Values that replace those of a config, or are added to them.

    Args:
        trials, seed, max_steps: values for the keys of these names.
        plugins: further learners, each as `module:Class`.
        settings: any other values, each as `KEY=VALUE`.
    """

    trials: int | None = None
    seed: int | None = None
    max_steps: int | None = None
    plugins: Sequence[str] = ()
    settings: Sequence[str] = ()

    @property
    def overrides(self) -> list[Override]:
        """The same as overrides for `load_study`; the values with options of their own come after `settings`.

        Raises:
            ConfigError: if a text does not have its form, or two give the same key a value.
        """
        numbers = {"trials": self.trials, "seed": self.seed, "max_steps": self.max_steps}
        named = [(f"--{key.replace('_', '-')}", key, value) for key, value in numbers.items() if value is not None]
        values = [*map(setting, self.settings), *(Override(option, (key,), value) for option, key, value in named)]
        for i, (option, path, _) in enumerate(values):
            if any(path == earlier.path for earlier in values[:i]):
                raise ConfigError(f"{option.rstrip(':')}: {'.'.join(map(str, path))} is given twice; leave one out")
        return [*values, *map(own_learner, self.plugins)]

    @property
    def words(self) -> list[str]:
        """The part that changes cells, as words of a command line."""
        options = {"--set": self.settings, "--plugin": self.plugins}
        words = [word for option, values in options.items() for value in values for word in (option, value)]
        return words + (["--max-steps", str(self.max_steps)] if self.max_steps else [])


NOTHING_GIVEN = Given()
