"""Code of one's own that a config names `module:object`: imported from the directory of the command, and hashed."""

import os
import sys
from importlib import import_module, invalidate_caches
from types import ModuleType

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.sources import code_hash, is_standard


def is_own(name: str) -> bool:
    """Whether a name is that of code of one's own."""
    return ":" in name


def own_module(name: str, example: str) -> ModuleType:
    """The module of `module:object`, imported.

    Args:
        name: as in the config.
        example: a name of the right form, for the message.

    Raises:
        ConfigError: if there is none that is one's own, or the import fails.
    """
    module_name = name.partition(":")[0]
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise ConfigError(f"{name}: '{module_name}' is not a module; write it as in an import, such as {example}")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # at the end: a file there must not take the place of a module that others import
    try:
        invalidate_caches()
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{name}: no module '{error.name}' in {os.getcwd()} or installed; start where it lies"
        ) from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{name}: importing {module_name} fails with {in_words(error)}; correct the module"
        ) from error
    if is_standard(module.__spec__):
        raise ConfigError(f"{name}: {module_name} is a part of Python or no file; name a module of your own")
    return module


def in_words(error: BaseException) -> str:
    """An error of somebody else's code on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def own_hash(name: str, defined_in: str) -> str:
    """Hash of all code that `module:object` runs (`sources`), the object being defined in a module that may differ."""
    return code_hash(name.partition(":")[0], defined_in)
