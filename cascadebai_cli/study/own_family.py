"""Families of one's own: a function `module:function` of `L`, `K` and its options that returns the weights."""

import inspect
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.own_code import in_words, own_hash, own_module
from cascadebai_cli.model import families
from cascadebai_cli.model.families import Items
from cascadebai_cli.model.instance import FloatArray
from cascadebai_cli.study.fields import context_of, says
from cascadebai_cli.study.instance_entry import ItemsAt, SizedEntry
from cascadebai_cli.study.messages import mistake

OWN = "module:function"
"""How such a name looks, and the tag of the class below."""

Weights = Callable[..., Any]


def _importable(name: str, info: ValidationInfo) -> str:
    if context_of(info).runs:
        try:
            load_family(name)
        except ConfigError as error:
            raise mistake(str(error)) from None
    return name


class Own(SizedEntry):
    """Weights from a function; the keys beyond these are handed to it by name."""

    model_config = ConfigDict(extra="allow")

    family: Annotated[
        str,
        Field(json_schema_extra={"pattern": ":"}),
        AfterValidator(_importable),
        says("A function of your own, `module:function`.", "my_weights:zipf"),
    ]

    @classmethod
    def known_keys(cls, data: dict[str, Any], info: ValidationInfo) -> list[str]:
        """The fields and the options of the function; anything, while the function is not known or not to be run."""
        try:
            options = _options(load_family(str(data.get("family")))) if context_of(info).runs else None
        except ConfigError:
            options = None
        return list(data) if options is None else [*cls.model_fields, *options]

    @property
    def code(self) -> str:
        """Hash of all code that the function runs."""
        return family_code(self.family)

    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """What gives the items at each point of the grid."""
        return self._items

    def _items(self, L: int, K: int) -> Items:
        first, second = self._weights(L, K), self._weights(L, K)
        if not np.array_equal(first, second):
            raise mistake(
                f"{self.family} gives other weights when it is called again; let it draw from a generator with a seed "
                "that is written out, or use family: random",
                "family",
            )
        return families.explicit(first.tolist())

    def _weights(self, L: int, K: int) -> FloatArray:
        function = load_family(self.family)
        try:
            weights = np.array(function(L=L, K=K, **(self.model_extra or {})), dtype=np.float64)
        except (Exception, SystemExit) as error:
            problem = f"{self.family} fails with {in_words(error)} at K = {K}, L = {L}"
            raise mistake(f"{problem}; it is called with L, K and its options", "family") from None
        if weights.shape != (L,):
            raise mistake(f"{self.family} gives weights of shape {weights.shape}; return a list of L = {L}", "family")
        return weights


@lru_cache(maxsize=32)
def load_family(name: str) -> Weights:
    """The function of that name, `module:function`.

    Raises:
        ConfigError: if there is none, or the module cannot be imported.
    """
    module_name, _, function_name = name.partition(":")
    module = own_module(name, "folder.file:function")
    made = getattr(module, function_name, None)
    if not inspect.isfunction(made):
        there = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        own = [key for key in there if vars(module)[key].__module__ == module.__name__]
        raise ConfigError(
            f"{name}: {module_name} has no function '{function_name}'; its functions are {', '.join(own) or 'none'}"
        )
    return made


@lru_cache(maxsize=32)
def family_code(name: str) -> str:
    """Hash of all code that the function runs (`sources`): rows of an older version do not mix with newer ones."""
    return own_hash(name, load_family(name).__module__)


def _options(function: Weights) -> list[str] | None:
    """Names of what a function takes beyond `L` and `K`; `None` if it takes anything."""
    parameters = inspect.signature(function).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return None
    return [name for name in parameters if name not in ("L", "K")]
